// What `check` asks of its caller. The replay is judge.h.
#include "retile/check/check.h"

#include <algorithm>

#include "retile/check/arrays.h"
#include "retile/check/judge.h"
#include "retile/check/sum_pieces.h"
#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/program/apply.h"
#include "retile/program/grid.h"

namespace retile {
namespace {

/// Who builds a Program by hand must keep what its header says; claims and tables are read, never
/// trusted.
void assert_well_formed(const Program& program) {
  const std::size_t rank = program.from.rank();
  const auto fits = [&program](const Layout& map) {
    return map.devices() == program.devices && map.global() == program.from.global();
  };
  RETILE_ASSERT(fits(program.from) && fits(program.to),
                "from and to are of one array and all devices");
  const auto is_view = [](const Layout& array, const Layout& view) {
    const auto same = array.viewed(view.global());
    return same && same->equivalent(view);
  };
  RETILE_ASSERT(!program.array || (is_view(program.array->from, program.from) &&
                                   is_view(program.array->to, program.to)),
                "from and to are views of the tiles of the array");
  for (const Step& step : program.steps) {
    const OpFacts facts = facts_of(step.op);
    // What tables say of steps that are replayed as numbers is for the verdict.
    const bool names_what_is_there =
        facts.is_plain() ? has_dims(facts, rank) : well_made(step, rank, program.devices);
    RETILE_ASSERT(
        names_what_is_there,
        "dimensions are below the rank; an exchange says the shape of the new tiles and of "
        "every box");
    RETILE_ASSERT(!step.claims.map || fits(*step.claims.map), "a map claim is of the same array");
    RETILE_ASSERT(!step.claims.at ||
                      step.claims.at->size() == static_cast<std::size_t>(program.devices) * rank,
                  "an at claim has a row per device");
  }
}

/// The verdict on the same Program without steps along several dimensions, if that is right: such steps
/// are then replayed quickly. Undecided if the time is up.
std::optional<Verdict> right_along_one_dim(const Program& program, const CheckOptions& options) {
  const auto single = along_one_dim(program);
  if (!single) return std::nullopt;
  Verdict verdict = check_with(single->program, options, Forms{});
  if (verdict.answer != Answer::right && !verdict.out_of_time) return std::nullopt;
  verdict.cost = std::max(verdict.cost - single->saved, Size{0});
  verdict.steps = static_cast<Size>(program.steps.size());
  return verdict;
}

/// With devices as they are counted.
Verdict verdict_on(const Program& program, const CheckOptions& options) {
  const Traits traits = traits_of(program);
  if (traits.addition || !traits.in_boxes) {
    const Limits limits = limits_of(options);
    return judged(program, limits, *sums_of(program.from, traits.addition, limits));
  }
  if (const auto verdict = right_along_one_dim(program, options)) return *verdict;
  if (!traits.beyond_first_version()) return check_with(program, options, Forms{});
  const Limits limits = limits_of(options);
  return judged(program, limits, *arrays_of(program.from, limits));
}

}  // namespace

Verdict check(const Program& program, const CheckOptions& options) {
  assert_well_formed(program);
  Verdict out = verdict_on(program, options);
  if (out.wrong) out.wrong->witness = called(std::move(out.wrong->witness), program.numbers);
  return out;
}

}  // namespace retile
