#include "retile/program/apply.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "retile/program/coverage.h"
#include "retile/program/forms/text.h"
#include "support/program_generators.h"
#include "support/samples.h"

namespace apply_test {
namespace {

using retile::Reason;
using retile::Shape;
using retile::Size;
using retile::Step;

/// A step of a Program of `devices` devices over an array of rank 2.
Step step(const std::string& line, Size devices = 6) {
  auto programs = retile::parse_programs("retile.program/1\ndevices " + std::to_string(devices) +
                                         "\nfrom [64, 64]\nto [64, 64]\n" + line + "\n");
  if (!programs) throw std::runtime_error(render(programs.error()));
  return programs->front().steps.at(0);
}

/// Shape after `line` on tiles of [6,4], or the reason why not, with the device that shows it.
std::string after(const std::string& line, const Shape& tile = {6, 4}, Size devices = 6) {
  const auto shape = shape_after(step(line, devices), tile, devices);
  if (!shape) {
    std::string out(reason_name(shape.error().reason));
    if (shape.error().device) out += " " + std::to_string(*shape.error().device);
    return out;
  }
  std::string out;
  for (const Size extent : *shape) out += (out.empty() ? "" : ",") + std::to_string(extent);
  return out;
}

// ---- Shapes -------------------------------------------------------------------------------------

TEST(ShapeAfter, dynslice_divides) {
  EXPECT_EQ(after("dynslice dim=0 groups=[2,3]<=[6]"), "2,4");
  EXPECT_EQ(after("dynslice dim=1 groups=[2,3]<=[6]"), "indivisible");
  EXPECT_EQ(after("dynslice dim=1 parts=4 part=[0,0,3,3,1,1]"), "6,1");
  EXPECT_EQ(after("dynslice dim=1 parts=3 part=[0,0,2,2,1,1]"), "indivisible");
}
TEST(ShapeAfter, allgather_multiplies) {
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1],[2,3],[5,4]]"), "12,4");
  EXPECT_EQ(after("allgather dim=1 groups=[6,1]<=[6]"), "6,4");
}
TEST(ShapeAfter, alltoall_does_both) {
  EXPECT_EQ(after("alltoall split=0 concat=1 groups=[2,3]<=[6]"), "2,12");
  EXPECT_EQ(after("alltoall split=1 concat=0 groups=[2,3]<=[6]"), "indivisible");
  EXPECT_EQ(after("alltoall split=0 concat=0 groups=[2,3]<=[6]"), "6,4");
  EXPECT_EQ(after("alltoall split=1 concat=1 groups=[2,3]<=[6]"), "indivisible");
}
TEST(ShapeAfter, allpermute_keeps) {
  EXPECT_EQ(after("allpermute source=[5,4,3,2,1,0]"), "6,4");
  EXPECT_EQ(after("allpermute pairs=[[0,1],[1,0]]"), "6,4");
  EXPECT_EQ(after("allpermute pairs=[]"), "6,4");
}

// ---- Transfers ----------------------------------------------------------------------------------

/// An exchange to one device of a tile, from a tile of the same shape; boxes are start and shape.
std::string covered(const Shape& tile, const std::vector<std::pair<Shape, Shape>>& boxes) {
  retile::Exchange exchange;
  for (const auto& [start, shape] : boxes) {
    exchange.transfers.push_back({.target = 0,
                                  .source = 0,
                                  .target_start = start,
                                  .source_start = Shape(tile.size(), 0),
                                  .shape = shape});
  }
  const retile::Step step{exchange, {.tile = tile, .map = {}, .at = {}}};
  const auto shape = shape_after(step, tile, 1);
  if (shape) return *shape == tile ? "covered" : "another shape";
  std::string out(reason_name(shape.error().reason));
  if (shape.error().at) {
    for (const Size at : *shape.error().at) out += " " + std::to_string(at);
  }
  return out;
}

TEST(ShapeAfter, transfers_write_every_element_once) {
  EXPECT_EQ(covered({4}, {{{2}, {2}}, {{0}, {2}}}), "covered");
  EXPECT_EQ(covered({4}, {{{2}, {2}}, {{0}, {1}}}), "transfers 1");
  EXPECT_EQ(covered({4}, {{{2}, {2}}, {{0}, {3}}}), "transfers 2");
  EXPECT_EQ(covered({4}, {}), "transfers 0");
  EXPECT_EQ(covered({2, 2}, {{{0, 0}, {2, 1}}, {{0, 1}, {1, 1}}}), "transfers 1 1");
  EXPECT_EQ(covered({}, {{{}, {}}}), "covered");
  EXPECT_EQ(covered({}, {{{}, {}}, {{}, {}}}), "transfers");
  // Five boxes that interlock like a pinwheel; then one of them a row too high.
  EXPECT_EQ(covered({3, 3}, {{{0, 0}, {1, 2}},
                             {{0, 2}, {2, 1}},
                             {{2, 1}, {1, 2}},
                             {{1, 0}, {2, 1}},
                             {{1, 1}, {1, 1}}}),
            "covered");
  EXPECT_EQ(covered({3, 3}, {{{0, 0}, {1, 2}},
                             {{0, 2}, {2, 1}},
                             {{1, 1}, {1, 2}},
                             {{1, 0}, {2, 1}},
                             {{1, 1}, {1, 1}}}),
            "transfers 1 1");
}
TEST(ShapeAfter, boxes_lie_inside_both_tiles) {
  EXPECT_EQ(covered({4}, {{{1}, {4}}}), "transfers 1");
  EXPECT_EQ(covered({4}, {{{9223372036854775807}, {9223372036854775807}}}),
            "transfers 9223372036854775807");
  EXPECT_EQ(after("exchange tile=[9,9] transfers=[[0,5,0,0,0,0,7,1]]"), "transfers 5");
  EXPECT_EQ(after("exchange tile=[9,9] transfers=[[3,5,3,0,0,0,7,1]]"), "transfers 3");
}
TEST(ShapeAfter, large_tiles_take_no_time) {
  const Size most = Size{1} << 62;
  EXPECT_EQ(covered({most}, {{{0}, {most - 1}}, {{most - 1}, {1}}}), "covered");
  EXPECT_EQ(after("exchange tile=[4294967296,4294967296] transfers=[]"), "limit");
}
TEST(ShapeAfter, transfers_of_very_many_dimensions) {
  constexpr std::size_t rank = 200'000;
  const Shape first(rank, 0);
  const Shape ones(rank, 1);
  EXPECT_EQ(covered(ones, {{first, ones}}), "covered");
  Shape tile = ones;
  tile.back() = 2;
  Shape second = first;
  second.back() = 1;
  EXPECT_EQ(covered(tile, {{first, ones}, {second, ones}}), "covered");
  EXPECT_EQ(covered(tile, {{second, ones}}).substr(0, 14), "transfers 0 0 ");
}
TEST(ShapeAfter, a_deadline_ends_the_look_at_transfers) {
  // Columns, each cut elsewhere, as below.
  constexpr Size columns = support::instrumented ? 1000 : 3000;
  retile::Exchange comb;
  for (Size k = 0; k < columns; ++k) {
    comb.transfers.push_back({0, 0, {0, k}, {0, k}, {k + 1, 1}});
    comb.transfers.push_back({0, 0, {k + 1, k}, {k + 1, k}, {columns - k, 1}});
  }
  const Shape tile = {columns + 1, columns};
  const retile::Step step{std::move(comb), {.tile = tile, .map = {}, .at = {}}};
  const auto late = shape_after(step, tile, 1, retile::Deadline::in(0));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().reason, retile::Reason::limit);
  EXPECT_TRUE(shape_after(step, tile, 1, retile::Deadline::in(1000)).has_value());
}
TEST(ShapeAfter, irregular_transfers_may_take_too_much_work) {
  // Columns, each cut elsewhere: every one of them has a box over each stretch between two cuts.
  constexpr Size columns = 30;
  std::vector<std::pair<Shape, Shape>> boxes;
  for (Size column = 0; column < columns; ++column) {
    boxes.push_back({{0, column}, {column + 1, 1}});
    boxes.push_back({{column + 1, column}, {columns - column, 1}});
  }
  const Shape tile = {columns + 1, columns};
  EXPECT_EQ(covered(tile, boxes), "covered");
  std::vector<retile::detail::Box> views;
  for (const auto& [start, shape] : boxes) views.push_back({.start = &start, .shape = &shape});
  Size work_left = 10'000;
  const auto found = retile::detail::first_not_covered_once(tile, views, work_left);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, std::nullopt);
  EXPECT_LT(work_left, 10'000 - columns * columns);
  work_left = columns * columns;
  EXPECT_FALSE(retile::detail::first_not_covered_once(tile, views, work_left));
}
TEST(WellMade, an_exchange_says_its_tile_and_boxes_of_the_rank) {
  const auto made = [](const retile::Transfer& transfer, std::optional<Shape> tile) {
    return retile::well_made(
        {retile::Exchange{{transfer}}, {.tile = std::move(tile), .map = {}, .at = {}}}, 1, 2);
  };
  const retile::Transfer good{0, 1, {0}, {0}, {1}};
  EXPECT_TRUE(made(good, Shape{1}));
  EXPECT_FALSE(made(good, std::nullopt));
  EXPECT_FALSE(made(good, Shape{1, 1}));
  EXPECT_FALSE(made(good, Shape{0}));
  EXPECT_FALSE(made({2, 1, {0}, {0}, {1}}, Shape{1}));
  EXPECT_FALSE(made({0, -1, {0}, {0}, {1}}, Shape{1}));
  EXPECT_FALSE(made({0, 1, {0, 0}, {0}, {1}}, Shape{1}));
  EXPECT_FALSE(made({0, 1, {0}, {-1}, {1}}, Shape{1}));
  EXPECT_FALSE(made({0, 1, {0}, {0}, {0}}, Shape{1}));
}

// ---- Tables -------------------------------------------------------------------------------------

TEST(ShapeAfter, groups_hold_every_device_once) {
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2,3,4,5]]"), "36,4");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2,3,4]]"), "groups 5");
  EXPECT_EQ(after("allgather dim=0 groups=[[1,2,3,4,5]]"), "groups 0");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2,3,4,5,2,1]]"), "groups 2");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2],[3,4,2]]"), "groups 2");
  EXPECT_EQ(after("allgather dim=0 groups=[]"), "groups 0");
  EXPECT_EQ(after("allgather dim=0 groups=[[],[]]"), "groups 0");
  EXPECT_EQ(after("dynslice dim=0 groups=[[0,1,2],[3,4,2]]"), "groups 2");
  EXPECT_EQ(after("alltoall split=0 concat=0 groups=[[0,1,2],[3,4,2]]"), "groups 2");
}
TEST(ShapeAfter, rows_have_one_length) {
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1],[2,3],[4,5]]"), "12,4");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1],[2,3,4],[5]]"), "groups");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1],[2,3,3],[5]]"), "groups 3");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2,3,4,5],[]]"), "groups");
}
TEST(ShapeAfter, iotas_cover_all_devices) {
  EXPECT_EQ(after("allgather dim=0 groups=[3,2]<=[2,3]T(1,0)"), "12,4");
  EXPECT_EQ(after("allgather dim=0 groups=[2,2]<=[2,2]T(1,0)"), "groups 4");
  EXPECT_EQ(after("allpermute source=[6]<=[2,3]T(1,0)"), "6,4");
  EXPECT_EQ(after("allpermute source=[5]<=[5]"), "bijection 5");
}
TEST(ShapeAfter, sources_are_a_permutation) {
  EXPECT_EQ(after("allpermute source=[0,1,2,3,4,5]"), "6,4");
  EXPECT_EQ(after("allpermute source=[0,1,2,3,4]"), "bijection 5");
  EXPECT_EQ(after("allpermute source=[0,1,2,3,4,5,0]"), "bijection 0");
  EXPECT_EQ(after("allpermute source=[0,1,2,3,4,4]"), "bijection 4");
  EXPECT_EQ(after("allpermute source=[]"), "bijection 0");
}
TEST(ShapeAfter, pairs_have_one_set_of_sources_and_targets) {
  EXPECT_EQ(after("allpermute pairs=[[0,1],[1,2],[2,0],[5,5]]"), "6,4");
  EXPECT_EQ(after("allpermute pairs=[[0,1],[1,2],[2,3]]"), "bijection 0");
  EXPECT_EQ(after("allpermute pairs=[[0,1],[1,0],[0,0]]"), "bijection 0");
  EXPECT_EQ(after("allpermute pairs=[[0,1],[1,1]]"), "bijection 1");
  EXPECT_EQ(after("allpermute pairs=[[3,4]]"), "bijection 3");
}
TEST(ShapeAfter, the_table_comes_before_divisibility) {
  EXPECT_EQ(after("dynslice dim=1 groups=[[0,1,2],[3,4,5]]"), "indivisible");
  EXPECT_EQ(after("dynslice dim=1 groups=[[0,1,2],[3,4,4]]"), "groups 4");
}
TEST(ShapeAfter, sizes_do_not_wrap) {
  constexpr Size huge = Size{1} << 61;
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2],[3,4,5]]", {huge, 1}), "6917529027641081856,1");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1,2,3,4,5]]", {huge, 1}), "limit");
  EXPECT_EQ(after("allgather dim=1 groups=[[0,1,2,3,4,5]]", {huge, 1}), "limit");
  EXPECT_EQ(after("alltoall split=0 concat=0 groups=[1,4]<=[4]", {Size{1} << 62, 1}, 4),
            "4611686018427387904,1");
}
TEST(ShapeAfter, two_billion_devices_take_no_time) {
  constexpr Size devices = retile::max_devices;
  EXPECT_EQ(after("allgather dim=0 groups=[1,2147483648]<=[65536,32768]T(1,0)", {1, 1}, devices),
            "2147483648,1");
  EXPECT_EQ(after("allgather dim=0 groups=[[0,1]]", {1, 1}, devices), "groups 2");
  EXPECT_EQ(after("allpermute source=[2147483647]", {1, 1}, devices), "bijection 0");
  EXPECT_EQ(after("allpermute pairs=[[2147483647,0],[0,2147483647]]", {1, 1}, devices), "1,1");
}

/// The definition, by sets.
bool is_partition(const retile::DeviceTable& table, Size devices) {
  const auto entries = table.entries();
  const std::set<Size> distinct(entries.begin(), entries.end());
  std::set<std::size_t> lengths;
  for (const auto& row : table.to_rows()) lengths.insert(row.size());
  return static_cast<Size>(entries.size()) == devices &&
         static_cast<Size>(distinct.size()) == devices && lengths.size() == 1;
}

RC_GTEST_PROP(ShapeAfterProperty, tables_apply_iff_they_are_partitions, (std::uint64_t seed)) {
  const auto choose = support::seeded(seed);
  const Size devices = 1 + choose(12);
  const auto table = support::choose_groups(choose, devices);
  const bool right = is_partition(table, devices);
  RC_CLASSIFY(right, "right");
  const Step gather{.op = retile::Allgather{.dim = 0, .groups = table}, .claims = {}};
  const auto shape = shape_after(gather, {5}, devices);
  RC_ASSERT(shape.has_value() == right);
  if (shape) {
    RC_ASSERT(*shape == (Shape{5 * table.columns()}));
  } else {
    RC_ASSERT(shape.error().reason == Reason::groups);
    if (const auto device = shape.error().device) {
      const auto entries = table.entries();
      RC_ASSERT(std::count(entries.begin(), entries.end(), *device) != 1);  // a true witness
    }
  }
}

RC_GTEST_PROP(ShapeAfterProperty, pairs_apply_iff_they_permute, (std::uint64_t seed)) {
  const auto choose = support::seeded(seed);
  const Size devices = 1 + choose(5);
  retile::PairList pairs(static_cast<std::size_t>(choose(4)));
  for (auto& pair : pairs) pair = {choose(devices), choose(devices)};
  std::multiset<Size> from;
  std::multiset<Size> to;
  for (const auto& pair : pairs) {
    from.insert(pair[0]);
    to.insert(pair[1]);
  }
  const bool right = from == to && std::set<Size>(from.begin(), from.end()).size() == from.size();
  RC_CLASSIFY(right, "right");
  const retile::Allpermute permute{.source = pairs};
  const auto shape = shape_after(Step{.op = permute, .claims = {}}, {5}, devices);
  RC_ASSERT(shape.has_value() == right);
  if (!right) {
    RC_ASSERT(shape.error().reason == Reason::bijection);
    const Size device = shape.error().device.value();
    RC_ASSERT(from.count(device) != 1U || to.count(device) != 1U);
    return;
  }
  auto sources = sources_of(permute.source, devices);
  for (const auto& pair : pairs) RC_ASSERT(sources[static_cast<std::size_t>(pair[1])] == pair[0]);
  std::sort(sources.begin(), sources.end());
  for (Size d = 0; d < devices; ++d) RC_ASSERT(sources[static_cast<std::size_t>(d)] == d);
}

// ---- Places -------------------------------------------------------------------------------------

RC_GTEST_PROP(MembershipProperty, is_the_row_and_the_place_in_it, (std::uint64_t seed)) {
  const auto choose = support::seeded(seed);
  const Size devices = 1 + choose(24);
  const auto table = support::choose_groups(choose, devices);
  RC_PRE(is_partition(table, devices));
  for (const auto& row : table.to_rows()) {
    for (std::size_t q = 0; q < row.size(); ++q) {
      const auto found = membership(table, row[q]);
      RC_ASSERT(found.members == row);
      RC_ASSERT(found.position == q);
      const retile::Dynslice slice{.dim = 0, .pieces = table};
      RC_ASSERT(piece_of(slice.pieces, row[q]) == static_cast<Size>(q));
      RC_ASSERT(group_size(slice.pieces) == static_cast<Size>(row.size()));
    }
  }
}

TEST(PieceOf, parts_say_it_for_every_device) {
  const auto listed =
      std::get<retile::Dynslice>(step("dynslice dim=0 parts=3 part=[2,0,1,1,0,2]").op);
  EXPECT_EQ(group_size(listed.pieces), 3);
  for (Size d = 0; d < 6; ++d)
    EXPECT_EQ(piece_of(listed.pieces, d),
              (std::vector<Size>{2, 0, 1, 1, 0, 2})[static_cast<std::size_t>(d)]);
  const auto iota =
      std::get<retile::Dynslice>(step("dynslice dim=0 parts=6 part=[6]<=[2,3]T(1,0)").op);
  EXPECT_EQ(piece_of(iota.pieces, 1), 3);
}

TEST(Sources, come_from_lists_iotas_and_pairs) {
  const auto of = [](const std::string& line) {
    return sources_of(std::get<retile::Allpermute>(step(line).op).source, 6);
  };
  EXPECT_EQ(of("allpermute source=[1,0,2,3,5,4]"), (std::vector<Size>{1, 0, 2, 3, 5, 4}));
  EXPECT_EQ(of("allpermute source=[6]<=[2,3]T(1,0)"), (std::vector<Size>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(of("allpermute pairs=[[0,1],[1,2],[2,0]]"), (std::vector<Size>{2, 0, 1, 3, 4, 5}));
  EXPECT_EQ(of("allpermute pairs=[]"), (std::vector<Size>{0, 1, 2, 3, 4, 5}));
}

// ---- Cost ---------------------------------------------------------------------------------------

Size cost(const std::string& line, Size before, Size after_it, Size devices = 6) {
  return step_cost(step(line, devices), before, after_it).value();
}

TEST(StepCost, is_that_of_fig_11) {
  EXPECT_EQ(cost("dynslice dim=0 groups=[3,2]<=[6]", 8, 4), 0);
  EXPECT_EQ(cost("allgather dim=0 groups=[3,2]<=[6]", 8, 16), 16);
  EXPECT_EQ(cost("alltoall split=0 concat=1 groups=[3,2]<=[6]", 8, 8), 8);
  EXPECT_EQ(cost("alltoall split=0 concat=0 groups=[3,2]<=[6]", 8, 8), 8);
  EXPECT_EQ(cost("allpermute source=[1,0,2,3,4,5]", 8, 8), 8);
  EXPECT_EQ(cost("allpermute pairs=[[0,1],[1,0]]", 8, 8), 8);
}
TEST(StepCost, is_0_when_nothing_moves) {
  EXPECT_EQ(cost("allgather dim=0 groups=[6,1]<=[6]", 8, 8), 0);
  EXPECT_EQ(cost("alltoall split=0 concat=1 groups=[[0],[1],[2],[3],[4],[5]]", 8, 8), 0);
  EXPECT_EQ(cost("allpermute source=[0,1,2,3,4,5]", 8, 8), 0);
  EXPECT_EQ(cost("allpermute source=[6]<=[6]", 8, 8), 0);
  EXPECT_EQ(cost("allpermute pairs=[]", 8, 8), 0);
  EXPECT_EQ(cost("allpermute pairs=[[1,1]]", 8, 8), 0);
}
TEST(StepCost, a_slice_into_pieces_changes_what_a_device_holds_though_it_costs_nothing) {
  EXPECT_FALSE(moves_nothing(step("dynslice dim=0 groups=[3,2]<=[6]")));
  EXPECT_TRUE(moves_nothing(step("dynslice dim=0 groups=[6,1]<=[6]")));
  EXPECT_TRUE(moves_nothing(step("dynslice dim=0 parts=1 part=[0,0,0,0,0,0]")));
  EXPECT_FALSE(moves_nothing(step("dynslice dim=0 parts=2 part=[0,0,0,0,0,0]")));
}
TEST(StepCost, chains_that_are_the_identity_are_seen) {
  EXPECT_EQ(cost("allpermute source=[6]<=[3,2]", 8, 8), 0);
  EXPECT_EQ(cost("allpermute source=[6]<=[1,6,1]T(2,1,0)", 8, 8), 0);
  EXPECT_EQ(cost("allpermute source=[6]<=[3,2]T(1,0)<=[2,3]T(1,0)", 8, 8), 0);
  EXPECT_EQ(cost("allpermute source=[6]<=[2,3]T(1,0)<=[2,3]T(1,0)", 8, 8), 8);
  // 2^31 devices: decided without a look at each.
  const std::string identity =
      "allpermute source=[2147483648]<=[32768,65536]T(1,0)<=[65536,32768]T(1,0)";
  EXPECT_EQ(cost(identity, 8, 8, retile::max_devices), 0);
  EXPECT_EQ(cost("allpermute source=[2147483648]<=[2,1073741824]T(1,0)", 8, 8, retile::max_devices),
            8);
}

RC_GTEST_PROP(StepCostProperty, permutations_cost_iff_a_device_gets_another_tile,
              (std::uint64_t seed)) {
  const auto choose = support::seeded(seed);
  const Size devices = 1 + choose(12);
  const auto table = retile::DeviceTable::iota(support::choose_chain(choose, devices), devices);
  const retile::Allpermute permute{.source = table};
  std::vector<Size> identity(static_cast<std::size_t>(devices));
  std::iota(identity.begin(), identity.end(), Size{0});
  const bool moves = sources_of(permute.source, devices) != identity;
  RC_CLASSIFY(moves, "moves");
  RC_ASSERT(retile::step_cost({.op = permute, .claims = {}}, 7, 7) == (moves ? 7 : 0));
}

TEST(ReasonName, is_the_verdicts_word) {
  const std::vector<std::string_view> names = {
      "groups",    "bijection", "indivisible", "ragged",   "transfers", "tile_claim",
      "map_claim", "not_a_box", "addends",     "replicas", "end",       "limit"};
  for (std::size_t r = 0; r < names.size(); ++r)
    EXPECT_EQ(reason_name(static_cast<Reason>(r)), names[r]);
}

}  // namespace
}  // namespace apply_test
