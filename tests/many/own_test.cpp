#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "many/pairs.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/many/rank.h"
#include "retile/many/traffic.h"
#include "retile/notation/sharding.h"
#include "retile/program/tile_shapes.h"

namespace retile::test::own_test {
namespace {

using many::OwnStep;
using many::Way;

/// The Program in which every step is an exchange of what the devices say that they get.
Program whole_of(const std::vector<std::vector<OwnStep>>& own, const Problem& problem) {
  Program out = ends(problem.from, problem.to);
  for (std::size_t k = 0; k < own.front().size(); ++k) {
    Exchange step;
    TileShapes after;
    for (const std::vector<OwnStep>& steps : own) {
      const OwnStep& mine = steps[k];
      step.transfers.insert(step.transfers.end(), mine.received.begin(), mine.received.end());
      after.push_back(mine.after);
    }
    Claims claims;
    claims.shapes.emplace();
    for (const Shape& shape : after) {
      claims.shapes->insert(claims.shapes->end(), shape.begin(), shape.end());
    }
    out.steps.push_back({std::move(step), std::move(claims)});
  }
  return out;
}

/// What devices give, as rows, and what they get of others; sorted.
std::vector<std::vector<Size>> rows(const std::vector<std::vector<OwnStep>>& own, bool given) {
  std::vector<std::vector<Size>> out;
  for (const std::vector<OwnStep>& steps : own) {
    for (std::size_t k = 0; k < steps.size(); ++k) {
      for (const Transfer& box : given ? steps[k].sent : steps[k].received) {
        if (box.source == box.target) continue;
        std::vector<Size> row = row_of(box);
        row.push_back(static_cast<Size>(k));
        out.push_back(std::move(row));
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// What is wrong with the parts of all devices, and with the counts; empty if nothing is.
std::string fault_of(const Way& way, const Problem& problem) {
  std::vector<std::vector<OwnStep>> own;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    auto mine = many::own_steps(way, problem, d);
    if (!mine) return render(mine.error());
    own.push_back(*std::move(mine));
  }
  if (check(whole_of(own, problem)).answer != Answer::right) return "not right";
  if (rows(own, true) != rows(own, false)) return "somebody gives what nobody gets";
  const auto traffic = many::traffic_of(way, problem);
  if (!traffic || !*traffic) return "not counted";
  std::vector<Size> got(own.size());
  std::vector<Size> gave(own.size());
  for (const std::vector<Size>& row : rows(own, true)) {
    Size elements = 1;
    for (std::size_t k = 0; k < problem.from.rank(); ++k) elements *= row[row.size() - 2 - k];
    got[static_cast<std::size_t>(row[0])] += elements;
    gave[static_cast<std::size_t>(row[1])] += elements;
  }
  if ((*traffic)->received != got || (*traffic)->sent != gave) return "counted otherwise";
  const auto moved = sim::run(many::program_of(way, problem).value(), tags(problem.from), 8);
  const Size most = *std::max_element(got.begin(), got.end());
  return moved && moved->received_bytes == 8 * most ? "" : "the simulator moves another number";
}

TEST(Own, parts_of_all_devices_are_the_whole) {
  int steps = 0;
  for (const Problem& problem : small_pairs()) {
    Way way{.plan = plan(problem).value()};
    steps += way.plan.steps.empty() ? 0 : 1;
    EXPECT_EQ(fault_of(way, problem), "");
    way.direct = true;
    EXPECT_EQ(fault_of(way, problem), "");
  }
  EXPECT_GT(steps, 50);
}

TEST(Own, devices_of_two_meshes) {
  const ProblemText text{
      .mesh = parse_any_mesh("x:4,y:2").value(),
      .mesh_to = parse_any_mesh("DeviceMesh('cuda', [[8, 9], [10, 11]])").value(),
      .shape = Shape{12, 6},
      .from = "(_StridedShard(dim=0, sf=2), Shard(0))",
      .to = "(Replicate(), Shard(1))"};
  const Problem problem = parse_problem(text).value();
  const Way way{.plan = plan(problem).value()};
  ASSERT_TRUE(way.is_exchange());
  std::vector<std::vector<OwnStep>> own;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    own.push_back(many::own_steps(way, problem, d).value());
  }
  EXPECT_EQ(check(whole_of(own, problem)).answer, Answer::right);
  EXPECT_EQ(rows(own, true), rows(own, false));
  own.front().front().sent.pop_back();
  EXPECT_NE(rows(own, true), rows(own, false));
}

TEST(Own, steps_that_add_say_so) {
  const Problem problem = parse_problem("x:2", "sum{x}[8]", "[4{x}8]").value();
  const Way way{.plan = plan(problem).value()};
  const auto own = many::own_steps(way, problem, 1).value();
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own.front().name, "reducescatter");
  EXPECT_TRUE(own.front().adds);
  EXPECT_EQ(own.front().received.size(), 2U);
}

TEST(Own, a_sum_for_all_counts_as_pieces_that_are_added_and_gathered) {
  const Problem problem = parse_problem("x:4", "sum{x}[8]", "[8]").value();
  const auto counts = many::traffic_of({.plan = plan(problem).value()}, problem).value().value();
  EXPECT_EQ(counts.received, (std::vector<Size>{12, 12, 12, 12}));
  EXPECT_EQ(counts.sent, counts.received);
}

}  // namespace
}  // namespace retile::test::own_test
