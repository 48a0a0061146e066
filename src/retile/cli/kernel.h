// What retile-kernel says, the checker and certifier that is proved in Rocq, beside what retile says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/result.h"
#include "retile/plan/plan.h"
#include "retile/report/json.h"

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

/// What retile-kernel says of the lower bound of a plan.
enum class KernelBound {
  certified,
  no_theorem,      ///< none is about sums
  trivial,         ///< 0, which needs no proof
  no_certificate,  ///< retile has no proof of it that could be checked
  nothing,         ///< a limit was reached
};

struct KernelOnPlan {
  KernelSays program = KernelSays::nothing;  ///< whether it calls the plan's Program right
  KernelBound lower_bound = KernelBound::nothing;
  Scope scope = Scope::one_dim;  ///< the steps of which the bound is certified
  [[nodiscard]] bool reached_limit() const {
    return program == KernelSays::nothing || lower_bound == KernelBound::nothing;
  }
};

/// Asks retile-kernel for the verdict on a plan's Program, and for its lower bound.
/// \error of ask_kernel and program_of; disagreement: it calls the certificate refuted
[[nodiscard]] Result<KernelOnPlan> ask_kernel(const Plan& plan, double seconds);

/// The field `kernel` of retile.plan/1.
[[nodiscard]] report::Json kernel_object(const KernelOnPlan& says);
/// The same in a line that ends.
[[nodiscard]] std::string kernel_line(const KernelOnPlan& says, const Plan& plan);

}  // namespace retile::cli
