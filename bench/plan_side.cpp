// One side of plan_pairs: the planner of one checkout, as a shared object of its own.
#include <string>

#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {

/// As the command line plans: with steps along several dimensions, where a checkout knows them.
template <class Options>
Options options_of(bool several_dims) {
  Options options;
  if constexpr (requires { options.steps; }) {
    using Scope = decltype(options.steps);
    options.steps = several_dims ? Scope::several_dims : Scope::one_dim;
  }
  return options;
}

/// Bit 0: proved optimal. Bit 1: among steps along one dimension alone.
template <class Plan>
int words_of(const Plan& plan) {
  int words = plan.optimal ? 1 : 0;
  if constexpr (requires { plan.scope; }) words |= plan.scope == decltype(plan.scope){} ? 2 : 0;
  return words;
}

}  // namespace

extern "C" {

/// A problem to plan again and again; it is never freed.
[[gnu::visibility("default")]] void* plan_side_problem(const char* mesh, const char* from,
                                                       const char* to) {
  auto problem = retile::parse_problem(mesh, from, to);
  return problem ? new retile::Problem(*std::move(problem)) : nullptr;
}

/// Its cost; negative: there is no plan.
[[gnu::visibility("default")]] long plan_side_plan(const void* problem, bool several_dims) {
  const auto made = retile::plan(*static_cast<const retile::Problem*>(problem),
                                 options_of<retile::PlanOptions>(several_dims));
  return made ? static_cast<long>(made->cost) : -1;
}

/// What a plan says of itself (words_of).
[[gnu::visibility("default")]] int plan_side_words(const void* problem) {
  const auto made = retile::plan(*static_cast<const retile::Problem*>(problem),
                                 options_of<retile::PlanOptions>(true));
  return made ? words_of(*made) : 0;
}
}
