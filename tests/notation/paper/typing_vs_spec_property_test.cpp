// src and spec agree on random types over random meshes; and the same comparison catches rules with
// a premise dropped.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "notation/paper/rule_comparison.h"
#include "support/bridge.h"
#include "support/generators.h"

namespace typing_vs_spec_property_test {
namespace {

using comparison::compare;
using comparison::Outcome;
using support::Bounds;
using support::Choose;
using support::TypedStep;
using support::TypeOverMesh;

// A rule has many ways not to apply, so every one of RapidCheck's cases holds several steps.
constexpr std::size_t steps_per_case = 20;
// Draws after which a mutant that was not caught counts as missed.
constexpr int most_draws = 20000;

const char* op_name(const retile::TypedCollective& collective) {
  constexpr const char* names[] = {"allgather", "dynslice", "alltoall", "allpermute"};
  return names[collective.index()];
}

RC_GTEST_PROP(TypingVsSpec, apply_agrees_with_fig_8_and_sec_7_1, ()) {
  const auto steps =
      *rc::gen::container<std::vector<TypedStep>>(steps_per_case, rc::gen::arbitrary<TypedStep>());
  for (const TypedStep& step : steps) {
    const Outcome outcome = compare(step.mesh, step.from, step.collective);
    if (!outcome.difference.empty()) RC_FAIL(outcome.difference);
    if (&step == &steps.front()) {  // one step stands for its case in the distribution
      RC_TAG(std::string(op_name(step.collective)) +
             (outcome.applies ? " applies" : " does not apply"));
    }
  }
}

/// Dimensions that are a type, or one step away from it.
std::vector<retile::DistDim> nearly_a_type(const Choose& choose, const retile::Mesh& mesh,
                                           const Bounds& bounds) {
  std::vector<retile::DistDim> dims = support::choose_type(choose, mesh, bounds).dims();
  if (dims.empty() || choose(3) == 0) return dims;
  retile::DistDim& dim = dims[support::detail::pick_index(choose, dims.size())];
  std::vector<std::string> names = {support::no_axis};
  for (const retile::Axis& axis : mesh.axes()) names.push_back(axis.name);
  const std::string& name = support::detail::pick(choose, names);
  const retile::Size size = mesh.digit(name) ? mesh.digit(name)->size : 1;
  switch (choose(5)) {
    case 0:
      dim.tile += choose(3) - 1;
      break;
    case 1:
      dim.global = choose(2) == 0 ? 0 : dim.global + 1;
      break;
    case 2:
      dim.axes.push_back(name);
      break;
    default:  // one more axis, wherever it stands already, and the sizes add up
      dim.axes.push_back(name);
      dim.global *= size;
      break;
  }
  return dims;
}

struct NearlyAType {
  retile::Mesh mesh;
  std::vector<retile::DistDim> dims;
};
void showValue(const NearlyAType& drawn, std::ostream& os) {
  os << "--mesh '" << to_text(drawn.mesh) << "'";
  for (const retile::DistDim& dim : drawn.dims) {
    os << ' ' << dim.tile << '{';
    for (const std::string& axis : dim.axes) os << axis << ',';
    os << '}' << dim.global;
  }
}
NearlyAType choose_nearly_a_type(const Choose& choose) {
  NearlyAType out;
  out.mesh = support::choose_mesh(choose);
  out.dims = nearly_a_type(choose, out.mesh, {});
  return out;
}

RC_GTEST_PROP(TypingVsSpec, well_formedness_agrees_with_fig_7b, ()) {
  const auto types = *rc::gen::container<std::vector<NearlyAType>>(
      steps_per_case, support::decoded(choose_nearly_a_type));
  RC_CLASSIFY(retile::DistType::make(types.front().mesh, types.front().dims).has_value(),
              "well formed");
  for (const NearlyAType& drawn : types) {
    RC_ASSERT(comparison::same_wellformedness(drawn.mesh, drawn.dims));
  }
}

RC_GTEST_PROP(TypingVsSpec, tile_map_agrees_with_fig_7a, (const TypeOverMesh& drawn)) {
  support::tag(drawn.mesh, drawn.type);
  RC_ASSERT(comparison::same_base_offsets(drawn.mesh, drawn.type));
}

// ---- Negative controls: the same draws must tell every mutant from the rule.

/// Draws until `differs` holds; the number of draws needed, or 0 when `most` are not enough.
template <typename Differs>
int draws_until(Differs differs) {
  const Choose choose = support::seeded_choices(20240517);
  for (int draws = 1; draws <= most_draws; ++draws) {
    if (differs(choose)) return draws;
  }
  return 0;
}

TEST(TypingVsSpecControl, every_rule_with_a_premise_dropped_is_caught) {
  for (const comparison::Mutant& mutant : comparison::rule_mutants()) {
    const int draws = draws_until([&](const Choose& choose) {
      const TypedStep step = support::choose_typed_step(choose);
      return !compare(step.mesh, step.from, step.collective, mutant.oracle).difference.empty();
    });
    std::cout << mutant.name << ": caught after " << draws << " draws\n";
    EXPECT_GT(draws, 0) << mutant.name;
  }
}

TEST(TypingVsSpecControl, every_well_formedness_rule_with_a_premise_dropped_is_caught) {
  for (const comparison::WfMutant& mutant : comparison::wf_mutants()) {
    const int draws = draws_until([&](const Choose& choose) {
      const NearlyAType drawn = choose_nearly_a_type(choose);
      return !comparison::same_wellformedness(drawn.mesh, drawn.dims, mutant.oracle);
    });
    std::cout << mutant.name << ": caught after " << draws << " draws\n";
    EXPECT_GT(draws, 0) << mutant.name;
  }
}

TEST(TypingVsSpecControl, every_wrong_reading_of_base_offsets_is_caught) {
  for (const comparison::OffsetMutant& mutant : comparison::offset_mutants()) {
    const int draws = draws_until([&](const Choose& choose) {
      const retile::Mesh mesh = support::choose_mesh(choose);
      return !comparison::same_base_offsets(mesh, support::choose_type(choose, mesh),
                                            mutant.oracle);
    });
    std::cout << mutant.name << ": caught after " << draws << " draws\n";
    EXPECT_GT(draws, 0) << mutant.name;
  }
}

}  // namespace
}  // namespace typing_vs_spec_property_test
