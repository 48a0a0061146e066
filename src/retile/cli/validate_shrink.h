// retile validate --shrink: the smallest program that a pass still gets wrong.
#pragma once

#include <optional>
#include <string>

#include "retile/cli/common.h"
#include "retile/whole/validate.h"

namespace retile::cli {

struct ProgramShrinkArguments {
  bool wanted = false;
  std::optional<std::string> peer;
  std::optional<std::string> runs;
  std::optional<std::string> peer_timeout;
  std::optional<std::string> out;

  /// What it lacks, or what lacks it; empty where nothing does.
  [[nodiscard]] std::string complaint() const;
};

struct ShrunkTexts {
  std::string before;
  std::string before_name;
  std::optional<std::string> after = {};
  std::string after_name = {};
};

/// With --peer: makes a text before a pass smaller for as long as what the command makes of it is wrong,
/// or for as long as the command ends in the same way. Without: makes both texts smaller for as long as
/// they are wrong.
[[nodiscard]] Outcome shrink_programs(const ShrunkTexts& texts,
                                      const whole::ValidateOptions& options,
                                      const ProgramShrinkArguments& arguments, bool json);

}  // namespace retile::cli
