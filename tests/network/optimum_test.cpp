// The planner of a network against brute force over types (spec/search/network.h): on meshes of up to 16
// devices every plan takes the least time that any sequence takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/network/plan.h"
#include "retile/network/timed_search.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/program/forms/text.h"
#include "spec/search/network.h"
#include "support/bridge.h"
#include "support/samples.h"

namespace retile::test::network_optimum_test {
namespace {

/// The links of the axes of a mesh, as both sides have them.
struct Links {
  network::Network ours;
  spec::Network theirs;
};

/// \param link_of  that of every axis, from 0 without gaps
Links links(const Mesh& mesh, const std::vector<std::size_t>& link_of,
            const std::vector<network::Link>& links) {
  std::vector<network::Level> levels(links.size());
  spec::Network theirs;
  for (std::size_t l = 0; l < links.size(); ++l) {
    levels[l].link = links[l];
    theirs.links.push_back({links[l].bytes_per_second, links[l].latency});
  }
  for (std::size_t k = mesh.axes().size(); k-- > 0;) {
    const Axis& axis = mesh.axes()[k];
    levels[link_of[k]].digits.push_back(*mesh.digit(axis.name));
    theirs.link[axis.name] = link_of[k];
  }
  return {network::Network(mesh.device_count(), levels), theirs};
}

struct Row {
  const char* mesh;
  std::vector<std::size_t> link_of;
  Shape global;
  bool one_order = true;  ///< no axis has several primes in either order
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.mesh; }

DistType type_of(const Mesh& mesh, const spec::Type& tau) {
  std::vector<DistDim> dims;
  for (const spec::Dim& d : tau) dims.push_back({d.c, {d.xs.begin(), d.xs.end()}, d.s});
  return DistType::make(mesh, dims).value();
}

class EveryPair : public ::testing::TestWithParam<Row> {};

TEST_P(EveryPair, takes_the_least_time) {
  const Mesh mesh = parse_mesh(GetParam().mesh).value();
  const spec::Mesh H = support::to_spec(mesh);
  // The search that is compared with looks at all pairs of types, and is none of the rooms'.
  if (support::instrumented && mesh.device_count() > 6) GTEST_SKIP() << "instrumented";
  std::mt19937_64 random(7);
  Size pairs = 0;
  Size faster = 0;  // than the plan that does not know the network
  for (const bool latency_counts : {false, true}) {
    if (latency_counts && mesh.device_count() > 12) continue;  // which takes as long as all others
    // A fast link inside and slower ones around it.
    std::vector<network::Link> speeds;
    Size rate = latency_counts ? Size{1} << 30 : Size{1} << 16;
    for (std::size_t l = 0; l <= GetParam().link_of.front(); ++l) {
      speeds.push_back({rate, latency_counts ? static_cast<Size>(l + 1) * 1'000'000 : 0});
      rate /= 2 + static_cast<Size>(random() % 8);
    }
    const Links network = links(mesh, GetParam().link_of, speeds);
    const spec::Sizes global(GetParam().global.begin(), GetParam().global.end());
    const spec::TimedTypes timed(H, network.theirs, global, 4);
    std::vector<DistType> types;
    for (const spec::Type& tau : timed.types()) types.push_back(type_of(mesh, tau));
    for (std::size_t a = 0; a < types.size(); ++a) {
      if (random() % static_cast<std::uint64_t>(types.size() / 12 + 1) != 0) continue;
      for (std::size_t b = 0; b < types.size(); ++b) {
        if (random() % static_cast<std::uint64_t>(types.size() / 40 + 1) != 0) continue;
        const Problem problem = make_problem(mesh, types[a], types[b]).value();
        const auto least = timed.least(a, spec::localsize(timed.types()[b]))[b].value();
        const auto made = network::plan(problem, network.ours, {}).value();
        const std::string text = to_text(types[a]) + " ~> " + to_text(types[b]);
        ASSERT_TRUE(made.optimal) << text;
        if (GetParam().one_order) {
          ASSERT_EQ(static_cast<spec::Picoseconds>(made.time), least) << text;
        } else {
          ASSERT_LE(static_cast<spec::Picoseconds>(made.time), least) << text;
        }
        const Verdict verdict = check(made.program);
        ASSERT_EQ(verdict.answer, Answer::right) << text << to_text(made.program);
        ASSERT_LE(verdict.height, std::max(problem.from.tile_size(), problem.to.tile_size()));
        ++pairs;
        faster += made.time < made.usual_time ? 1 : 0;
      }
    }
  }
  std::cout << "mesh " << GetParam().mesh << ": " << pairs << " pairs, " << faster
            << " of them faster than the plan of fewest elements\n";
  // Control: that plan is not the fastest one.
  EXPECT_GT(faster, pairs / 20);
}

INSTANTIATE_TEST_SUITE_P(Meshes, EveryPair,
                         ::testing::Values(Row{"n:2,a:2", {1, 0}, {8, 8}},
                                           Row{"n:2,a:2,b:2", {1, 0, 0}, {16, 8}},
                                           Row{"n:2,a:3", {1, 0}, {12, 6}},
                                           Row{"n:3,a:2,b:2", {1, 0, 0}, {24, 12}},
                                           Row{"r:2,n:2,a:2", {2, 1, 0}, {8, 16}},
                                           Row{"n:2,m:2,a:2,b:2", {1, 1, 0, 0}, {16, 16}},
                                           Row{"n:2,a:3,b:2", {1, 0, 0}, {12, 12}, false}));

TEST(Optimum, a_price_that_is_wrong_is_noticed) {
  // Control of both sides: the same problem on a network whose links are the other way round.
  const Mesh mesh = parse_mesh("n:2,a:2").value();
  const Links right = links(mesh, {1, 0}, {{1'000, 0}, {10, 0}});
  const Links wrong = links(mesh, {0, 1}, {{1'000, 0}, {10, 0}});
  const spec::TimedTypes timed(support::to_spec(mesh), wrong.theirs, {8, 8}, 4);
  Size differ = 0;
  for (std::size_t a = 0; a < timed.types().size(); ++a) {
    for (std::size_t b = 0; b < timed.types().size(); ++b) {
      const Problem problem =
          make_problem(mesh, type_of(mesh, timed.types()[a]), type_of(mesh, timed.types()[b]))
              .value();
      const auto made = network::plan(problem, right.ours, {}).value();
      const auto least = timed.least(a, spec::localsize(timed.types()[b]))[b].value();
      differ += static_cast<spec::Picoseconds>(made.time) == least ? 0 : 1;
    }
  }
  EXPECT_GT(differ, 20);
}

}  // namespace
}  // namespace retile::test::network_optimum_test
