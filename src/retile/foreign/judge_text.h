// Verdicts on programs of other systems, in their own text: HLO after XLA's partitioner, StableHLO
// per device, Shardy's collectives, MLIR's mesh and shard, traces of DTensor. docs/reference/foreign.md says
// what is read of each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/foreign/judge.h"
#include "retile/foreign/module.h"
#include "retile/plan/plan.h"

namespace retile::foreign {

/// What a function must do, each in any notation; what is said here goes before what the text says.
struct EndTexts {
  std::optional<std::string> mesh = {};
  std::optional<std::string> shape = {};  ///< of the whole array
  std::optional<std::string> from = {};
  std::optional<std::string> to = {};
};

/// One function of a text.
struct JudgedFunction {
  std::string name;
  FilePlace place;
  Size devices = 1;
  Layout from;
  Layout to;
  std::string from_text;
  std::string to_text;
  std::vector<std::string> notes;  ///< where EndTexts contradict the text, and what was assumed
  Verdict verdict;
  // Where JudgeOptions::explains:
  std::optional<Plan> plan = {};  ///< our own between the same ends, if they can be planned
  /// Of a wrong one: ends that it would be right for, which somebody meant who listed the axes of
  /// `from` or `to` major to minor.
  std::optional<std::pair<std::string, std::string>> right_with = {};
};

/// The verdict on every function of a text, in the order of the text.
/// \param source  how diagnostics call the text: a file's name
/// \error syntax, bad_number, unsupported (an operation that is not read, by name), bad_argument (an
///     end that nobody says), and what the notations refuse. Each points into the text or an end
[[nodiscard]] Result<std::vector<JudgedFunction>> judge_text(std::string_view text,
                                                             std::string_view source,
                                                             const EndTexts& ends = {},
                                                             const JudgeOptions& options = {});

}  // namespace retile::foreign
