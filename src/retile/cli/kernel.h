// The verdicts of retile-kernel, the checker that is proved in Rocq, beside those of retile.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/result.h"

namespace retile::cli {

inline constexpr std::string_view kernel_program = "retile-kernel";

/// What retile-kernel says of a Program, beside retile's own verdict.
enum class KernelSays {
  the_same,
  nothing,  ///< a limit was reached
};

/// Asks retile-kernel for the verdicts on a text of Programs, one for each.
/// \param verdicts  what retile says of them
/// \error file_error: the program is not there or cannot be started; disagreement: it refuses the text, or says
///     anything else than retile of a Program
[[nodiscard]] Result<std::vector<KernelSays>> ask_kernel(const std::string& text,
                                                         std::span<const Verdict> verdicts,
                                                         double seconds);

}  // namespace retile::cli
