// Programs of other systems on the command line.
#pragma once

#include <string>
#include <string_view>

#include "retile/cli/common.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/judge_text.h"
#include "retile/foreign/reader.h"

namespace retile::cli {

struct ForeignArguments {
  foreign::EndTexts ends;
  bool within_bound = false;
  bool json = false;
  bool program = false;  ///< print Programs in the place of verdicts

  /// Whether an option is given that only they have.
  [[nodiscard]] bool has_ends() const { return ends.mesh || ends.from || ends.to || ends.shape; }
};

/// Judging within what is left of the time, and of the memory: a quarter of it is for tags, but never less
/// than what judging takes anyway.
[[nodiscard]] foreign::JudgeOptions judging();

/// A verdict for every function of a text.
[[nodiscard]] Outcome check_foreign(std::string_view text, const std::string& source,
                                    foreign::Language language, const ForeignArguments& arguments);

}  // namespace retile::cli
