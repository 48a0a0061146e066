// Which of several cheapest plans is taken: one of the fewest steps. Against all normal forms, by
// counting (optimum/by_counting.h), for every pair of types on small meshes.
#include <gtest/gtest.h>

#include <iostream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "plan/optimum/by_counting.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "spec/search/path.h"
#include "support/bridge.h"

namespace retile::ties_test {
namespace {

struct Row {
  const char* mesh;
  std::vector<Shape> shapes;
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.mesh; }

class EveryTie : public ::testing::TestWithParam<Row> {};

TEST_P(EveryTie, is_decided_for_fewer_steps) {
  const Mesh mesh = parse_mesh(GetParam().mesh).value();
  const spec::Mesh H = support::to_spec(mesh);
  Size pairs = 0, permuted = 0, several = 0;
  for (const Shape& shape : GetParam().shapes) {
    std::vector<DistType> types;
    std::vector<spec::TileMap> f;
    for (const spec::Type& tau : spec::all_types(H, spec::Sizes(shape.begin(), shape.end()))) {
      std::vector<DistDim> dims;
      for (const spec::Dim& d : tau) dims.push_back({d.c, {d.xs.begin(), d.xs.end()}, d.s});
      types.push_back(DistType::make(mesh, dims).value());
      f.push_back(spec::tiles(H, tau).value());
    }
    for (std::size_t a = 0; a < types.size(); ++a) {
      for (std::size_t b = 0; b < types.size(); ++b) {
        const Plan made = plan(make_problem(mesh, types[a], types[b]).value()).value();
        optimum::ByCounting counting(f[a], f[b], Size{1} << 30);
        const optimum::Form least = counting.least_form().value();
        const std::string text = to_text(types[a]) + " ~> " + to_text(types[b]);
        ASSERT_EQ(made.cost, least.cost) << text;
        ASSERT_EQ(made.steps.size(), least.steps) << text;
        ++pairs;
        permuted += least.permutes ? 1 : 0;
        // Control: where it is cheapest to permute, one that permutes may have more steps.
        several += least.permutes && counting.most_steps() > least.steps ? 1 : 0;
      }
    }
  }
  std::cout << "mesh " << GetParam().mesh << ": " << pairs << " pairs, " << permuted
            << " with a permutation, " << several
            << " of which others that cost as much have more steps\n";
  EXPECT_GT(permuted, 0);
  EXPECT_TRUE(several > 0 || mesh.device_count() <= 6);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryTie,
                         ::testing::Values(Row{"a:2,b:2",
                                               {{4}, {4, 4}, {8, 4}, {2, 4, 4}, {4, 4, 4}}},
                                           Row{"a:2,b:2,c:2", {{8, 8}, {2, 8}, {4, 4, 2}}},
                                           Row{"a:2,b:3", {{6}, {6, 6}, {12, 6}, {6, 3, 2}}},
                                           Row{"a:2,b:2,c:3", {{12, 6}, {12, 12}}}));

}  // namespace
}  // namespace retile::ties_test
