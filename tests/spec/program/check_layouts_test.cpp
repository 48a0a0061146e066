// Programs of version 2: the worked examples, the meaning of every step on tiles that differ, every
// reason, and that version 1 means the same in the replay of version 2.
#include "spec/program/check_layouts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <sstream>

#include "spec/program/check.h"
#include "spec/program/text.h"
#include "spec/search/search.h"
#include "support/samples.h"

namespace spec::check_layouts_test {
namespace {

Program program_of(const std::string& text) {
  const Programs read = parse_programs(text);
  EXPECT_FALSE(read.error) << read.error->line << ":" << read.error->column << ": "
                           << read.error->message << "\n"
                           << text;
  return read.error ? Program() : read.programs.at(0);
}
Verdict verdict_of(const std::string& text) { return check(program_of(text)); }

/// "right", or "reason step", or "undecided: " and why.
std::string outcome(const Verdict& verdict) {
  if (!verdict.decided) return "undecided: " + std::string(verdict.why_undecided);
  if (!verdict.wrong) return verdict.right ? "right" : "neither";
  return verdict.wrong->reason + " " + std::to_string(verdict.wrong->first_wrong_step);
}
std::string outcome(const std::string& text) { return outcome(verdict_of(text)); }

std::string program(const std::string& mesh, const std::string& from, const std::string& to,
                    const std::string& steps = "") {
  return "retile.program/2\nmesh " + mesh + "\nfrom " + from + "\nto " + to + "\n" + steps + "\n";
}

std::string text_of(const Sizes& numbers) {
  std::string out;
  for (const Size number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return "[" + out + "]";
}

// A problem as one exchange, from boxes as intervals.

struct Interval {
  Size begin = 0, end = 0;
  auto operator<=>(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;

Size elements(const Intervals& box) {
  Size out = 1;
  for (const auto& [begin, end] : box) out *= std::max<Size>(0, end - begin);
  return out;
}
Intervals both(Intervals a, const Intervals& b) {
  for (Index i = 0; i < a.size(); ++i) {
    a[i] = {std::max(a[i].begin, b[i].begin), std::min(a[i].end, b[i].end)};
  }
  return a;
}

struct Exchange {
  Rows transfers, shapes;
  Sizes received, sent, held, to_hold;
};

/// The intersection of every target box with every different source box, from the target itself
/// where that holds it, else from the lowest holder.
Exchange one_exchange(const std::vector<Intervals>& from, const std::vector<Intervals>& to) {
  Exchange out;
  out.received = out.sent = Sizes(from.size(), 0);
  for (const Intervals& box : from) out.held.push_back(elements(box));
  for (Index t = 0; t < to.size(); ++t) {
    out.to_hold.push_back(elements(to[t]));
    out.shapes.emplace_back();
    for (const auto& [begin, end] : to[t]) {
      out.shapes.back().push_back(elements(to[t]) > 0 ? end - begin : 0);
    }
    std::set<Intervals> seen;
    for (Index k = 0; k < from.size(); ++k) {
      const Index s = k == 0 ? t : k <= t ? k - 1 : k;  // the target first
      const Intervals part = both(from[s], to[t]);
      if (elements(from[s]) == 0 || elements(part) == 0 || !seen.insert(from[s]).second) continue;
      Sizes row = {static_cast<Size>(t), static_cast<Size>(s)};
      for (Index i = 0; i < part.size(); ++i) row.push_back(part[i].begin - to[t][i].begin);
      for (Index i = 0; i < part.size(); ++i) row.push_back(part[i].begin - from[s][i].begin);
      for (const auto& [begin, end] : part) row.push_back(end - begin);
      out.transfers.push_back(row);
      if (s != t) out.received[t] += elements(part), out.sent[s] += elements(part);
    }
  }
  return out;
}

std::string rows_text(const Rows& rows) {
  std::string out;
  for (const Sizes& row : rows) out += (out.empty() ? "" : ",") + text_of(row);
  return "[" + out + "]";
}
std::string step_text(const Exchange& step) {
  return "exchange transfers=" + rows_text(step.transfers) + " shapes=" + rows_text(step.shapes);
}

/// Boxes over a mesh of two axes that cut one dimension each: axis a cuts dimension `of_a`.
std::vector<Intervals> grid(const Sizes& mesh, const Sizes& global, Index of_a) {
  std::vector<Intervals> out;
  for (Size a = 0; a < mesh[0]; ++a) {
    for (Size b = 0; b < mesh[1]; ++b) {
      Intervals box(2);
      for (Index i = 0; i < 2; ++i) {
        const Size N = mesh[i == of_a ? 0 : 1], t = i == of_a ? a : b;
        const Size c = (global[i] + N - 1) / N;
        box[i] = {std::min(c * t, global[i]), std::min(c * (t + 1), global[i])};
      }
      out.push_back(box);
    }
  }
  return out;
}

Size most(const Sizes& numbers) { return *std::max_element(numbers.begin(), numbers.end()); }
Size empties(const Sizes& numbers) {
  return static_cast<Size>(std::count(numbers.begin(), numbers.end(), 0));
}

/// Right with these figures, and wrong in every way in which one exchange can be spoilt.
void expect_right(const std::string& name, const std::string& head, const Exchange& step,
                  const std::string& map) {
  const std::string text = head + step_text(step) + " map=" + map + "\n";
  const Verdict verdict = verdict_of(text);
  ASSERT_EQ(outcome(verdict), "right") << name << "\n" << text;
  EXPECT_EQ(verdict.bound, std::max(most(step.held), most(step.to_hold))) << name;
  EXPECT_EQ(verdict.height, verdict.bound) << name;
  const bool moves = most(step.received) > 0;
  EXPECT_EQ(verdict.cost, moves ? most(step.to_hold) : 0) << name;
  for (Index k = 0; k < step.transfers.size(); ++k) {
    const auto with = [&](auto change) {
      Exchange wrong = step;
      change(wrong.transfers);
      return outcome(head + step_text(wrong) + "\n");
    };
    const auto at = static_cast<std::ptrdiff_t>(k);
    EXPECT_EQ(with([&](Rows& rows) { rows.erase(rows.begin() + at); }), "transfers 0") << name;
    EXPECT_EQ(with([&](Rows& rows) { rows.push_back(rows[k]); }), "transfers 0") << name;
    const Index r = (step.transfers[k].size() - 2) / 3;
    for (Index n = 2; n < 2 + 2 * r; ++n) {
      const std::string said = with([&](Rows& rows) { ++rows[k][n]; });
      EXPECT_NE(said, "right") << name;
      if (n < 2 + r) {
        EXPECT_EQ(said, "transfers 0") << name;
      }
    }
    EXPECT_EQ(with([&](Rows& rows) { rows[k].back() += 100; }), "transfers 0") << name;
  }
}

struct Swap {
  const char* name;
  Sizes mesh, global;
  const char *from, *to;
  Size held, to_hold, transfers, received, sent, empty, to_empty;
};

TEST(WorkedExamples, swaps_as_one_exchange) {
  const std::vector<Swap> all = {
      {"W1", {2, 3}, {6, 6}, "[3{a}6, 2{b}6]", "[2{b}6, 3{a}6]", 6, 6, 16, 6, -1, 0, 0},
      {"W2", {2, 6}, {6, 6}, "[3{a}6, 1{b}6]", "[1{b}6, 3{a}6]", 3, 3, 36, 3, -1, 0, 0},
      {"W3", {3, 4}, {16, 23}, "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]", 36, 32, 30, 32, 36, 0, 0},
      {"W4", {5, 2}, {27, 14}, "[6{a}27, 7{b}14]", "[14{b}27, 3{a}14]", 42, 42, 36, -1, -1, 0, 0},
      {"W6", {2, 6}, {9, 4}, "[5{a}9, 1{b}4]", "[2{b}9, 2{a}4]", 5, 4, 24, -1, -1, 4, 2},
      {"W7", {3, 4}, {1, 1}, "[1{a}1, 1{b}1]", "[1{b}1, 1{a}1]", 1, 1, 1, 0, 0, 11, 11}};
  for (const Swap& swap : all) {
    const Exchange step =
        one_exchange(grid(swap.mesh, swap.global, 0), grid(swap.mesh, swap.global, 1));
    EXPECT_EQ(most(step.held), swap.held) << swap.name;
    EXPECT_EQ(most(step.to_hold), swap.to_hold) << swap.name;
    EXPECT_EQ(static_cast<Size>(step.transfers.size()), swap.transfers) << swap.name;
    if (swap.received >= 0) {
      EXPECT_EQ(most(step.received), swap.received) << swap.name;
    }
    if (swap.sent >= 0) {
      EXPECT_EQ(most(step.sent), swap.sent) << swap.name;
    }
    EXPECT_EQ(empties(step.held), swap.empty) << swap.name;
    EXPECT_EQ(empties(step.to_hold), swap.to_empty) << swap.name;
    const std::string mesh =
        "a:" + std::to_string(swap.mesh[0]) + ",b:" + std::to_string(swap.mesh[1]);
    expect_right(swap.name, program(mesh, swap.from, swap.to), step, swap.to);
  }
}

TEST(WorkedExamples, W5_rows_to_columns) {
  std::vector<Intervals> from, to;
  for (Size d = 0; d < 3; ++d) {
    from.push_back({{3 * d, std::min<Size>(3 * d + 3, 8)}, {0, 11}});
    to.push_back({{0, 8}, {4 * d, std::min<Size>(4 * d + 4, 11)}});
  }
  const Exchange step = one_exchange(from, to);
  EXPECT_EQ(step.held, (Sizes{33, 33, 22}));
  EXPECT_EQ(step.to_hold, (Sizes{32, 32, 24}));
  EXPECT_EQ(step.received, (Sizes{20, 20, 18}));
  EXPECT_EQ(step.sent, (Sizes{21, 21, 16}));
  EXPECT_EQ(step.transfers.size(), 9U);
  expect_right("W5", program("x:3", "[3{x}8, 11]", "[8, 4{x}11]"), step, "[8, 4{x}11]");
}

TEST(WorkedExamples, W8_an_aligned_gather) {
  const std::string text = program("x:2,y:2", "[3{y,x}11]", "[6{x}11]",
                                   "allgather dim=0 groups=[2,2]<=[4] tile=[6] map=[6{x}11]");
  const Verdict verdict = verdict_of(text);
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.cost, 6);
  EXPECT_EQ(verdict.height, 6);
  EXPECT_EQ(verdict.bound, 6);
}

TEST(WorkedExamples, W9_a_gather_that_ends_in_blocks) {
  const std::string step = "allgather dim=0 groups=[2,2]<=[4] tile=[6]";
  const std::string from = "[3{y,x}10]";
  const Verdict verdict = verdict_of(program("x:2,y:2", from, "[5{x}10]", step + " map=[6~{x}10]"));
  EXPECT_EQ(outcome(verdict), "end 1");
  EXPECT_EQ(outcome(program("x:2,y:2", from, "[6~{x}10]", step + " map=[6~{x}10]")), "right");
  EXPECT_EQ(outcome(program("x:2,y:2", from, "[6~{x}10]", step + " map=[5{x}10]")), "map_claim 0");
  const Exchange right = one_exchange({{{0, 3}}, {{3, 6}}, {{6, 9}}, {{9, 10}}},
                                      {{{0, 5}}, {{0, 5}}, {{5, 10}}, {{5, 10}}});
  expect_right("W9", program("x:2,y:2", from, "[5{x}10]"), right, "[5{x}10]");
}

TEST(WorkedExamples, W10_parts_of_an_axis) {
  const std::string gather = "allgather dim=0 groups=[[0,1],[2,3],[4,5]] tile=[2] map=[2{x:(1)3}6]";
  const std::string slice = "dynslice dim=0 groups=[2,3]<=[6] tile=[1] map=[1{x}6]\n";
  const std::string from = "[3{x:(1)2}6]", to = "[2{x:(1)3}6]";
  const Verdict verdict = verdict_of(program("x:6", from, to, slice + gather));
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.cost, 2);
  EXPECT_EQ(verdict.height, 3);
  EXPECT_EQ(outcome(program("x:6", from, "[2{x:(2)3}6]", slice + gather)), "end 2");
  EXPECT_EQ(outcome(program("x:6", from, to, gather)), "tile_claim 0");
}

TEST(WorkedExamples, W11_a_gather_to_one_device) {
  const Exchange step = one_exchange({{{0, 3}}, {{3, 6}}, {{6, 9}}, {{9, 9}}},
                                     {{{0, 9}}, {{0, 0}}, {{0, 0}}, {{0, 0}}});
  EXPECT_EQ(step.transfers.size(), 3U);
  EXPECT_EQ(step.received, (Sizes{6, 0, 0, 0}));
  EXPECT_EQ(step.held, (Sizes{3, 3, 3, 0}));
  expect_right("W11", program("p:4", "[3{p}9]", "[9]@0"), step, "[9]@0");
  EXPECT_EQ(outcome(program("p:4", "[3{p}9]", "[9]@1", step_text(step))), "end 1");
}

/// docs/reference/program.md: what it says of its Programs is checked by the test of that page; here, that a
/// spoilt one is not.
TEST(WorkedExamples, the_scatter_of_the_document) {
  const std::string head =
      "retile.program/2\nmesh p:4 order=[1,2,3,0]\ndevices 5\nfrom [9]@2\nto [3{p}9]\n";
  const std::string step =
      "exchange transfers=[[1,2,0,0,3],[2,2,0,3,3],[3,2,0,6,3]] shapes=[[0],[3],[3],[3],[0]]";
  EXPECT_EQ(outcome(head + step + " at=[[0],[0],[3],[6],[0]]"), "right");
  EXPECT_EQ(outcome(head + step + " at=[[0],[0],[3],[5],[0]]"), "map_claim 0");
  EXPECT_EQ(outcome("retile.program/2\nmesh p:4 order=[1,2,0,3]\ndevices 5\nfrom [9]@2\nto "
                    "[3{p}9]\n" +
                    step),
            "end 1");
  EXPECT_EQ(outcome(head + "allpermute source=[5]<=[5]"), "end 1");
}

// Steps.

TEST(Steps, a_gather_of_blocks_is_blocks) {
  Size ceil = 0, all = 0;
  for (Size n = 1; n <= 24; ++n) {
    for (Size a = 2; a <= 4; ++a) {
      for (Size k = 2; k <= 4; ++k) {
        const auto said = [](Size c) { return std::to_string(c); };
        const Size c = (n + a * k - 1) / (a * k), whole = (n + a - 1) / a;
        const std::string mesh = "x:" + said(a) + ",y:" + said(k);
        const std::string from = "[" + said(c) + "{y,x}" + said(n) + "]";
        const std::string gather =
            "allgather dim=0 groups=[" + said(a) + "," + said(k) + "]<=[" + said(a * k) + "]";
        const std::string blocks = "[" + said(c * k) + "~{x}" + said(n) + "]";
        const std::string type = "[" + said(whole) + "{x}" + said(n) + "]";
        EXPECT_EQ(outcome(program(mesh, from, blocks, gather)), "right");
        const std::string as_type = outcome(program(mesh, from, type, gather));
        bool same = true;  // the cuts
        for (Size t = 0; t <= a; ++t)
          same = same && std::min(t * c * k, n) == std::min(t * whole, n);
        EXPECT_EQ(as_type, same ? "right" : "end 1") << mesh << from;
        ceil += same ? 1 : 0;
        ++all;
        // And back: pieces of c, of which the last may be short or none.
        EXPECT_EQ(outcome(program(mesh, blocks, from,
                                  "dynslice dim=0 groups=[" + said(a) + "," + said(k) + "]<=[" +
                                      said(a * k) + "] piece=" + said(c))),
                  "right");
      }
    }
  }
  EXPECT_GT(ceil, all / 4);
  EXPECT_LT(ceil, all);
}

TEST(Steps, a_gather_passes_over_empty_tiles_of_higher_rank) {
  EXPECT_EQ(outcome(program("p:4", "[3{p}9, 2]", "[9, 2]",
                            "allgather dim=0 groups=[1,4]<=[4] tile=[9,2] map=[9, 2]")),
            "right");
  EXPECT_EQ(outcome(program("p:4", "[3{p}9, 2]", "[9, 2]", "allgather dim=0 groups=[[3,0,1,2]]")),
            "right");
  EXPECT_EQ(outcome(program("p:4", "[3{p}9, 2]", "[9, 2]", "allgather dim=0 groups=[[1,0,3,2]]")),
            "not_a_box 0");
  // A whole row may be empty.
  EXPECT_EQ(outcome(program("x:2,p:4", "[1{x}1, 3{p}9]", "[1{x}1, 9]",
                            "allgather dim=1 groups=[2,4]<=[8] tile=[1,9]")),
            "right");
}

TEST(Steps, an_alltoall_of_uneven_tiles_needs_a_piece) {
  const std::string from = "[3{x}8, 11]", to = "[8, 4{x}11]", step = "alltoall split=1 concat=0 ";
  EXPECT_EQ(outcome(program("x:3", from, to, step + "groups=[1,3]<=[3] piece=4")), "right");
  EXPECT_EQ(outcome(program("x:3", from, to, step + "groups=[1,3]<=[3]")), "indivisible 0");
  EXPECT_EQ(outcome(program("x:3", from, to, step + "groups=[1,3]<=[3] piece=5")), "end 1");
  EXPECT_EQ(outcome(program("x:3", from, to, step + "groups=[[1,0,2]] piece=4")), "not_a_box 0");
  const Verdict verdict = verdict_of(
      program("x:3", from, to, step + "groups=[1,3]<=[3] piece=4 tile=[8,4] map=[8, 4{x}11]"));
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.cost, 33);
  EXPECT_EQ(verdict.height, 33);
  // W3 by two alltoalls: no sequence of types, but a Program.
  EXPECT_EQ(outcome(program("x:2", "[3{x}5, 5]", "[5, 3{x}5]",
                            "alltoall split=1 concat=0 groups=[[0,1]] piece=3\n"
                            "alltoall split=0 concat=1 groups=[[0,1]] piece=3\n"
                            "alltoall split=1 concat=0 groups=[[0,1]] piece=3")),
            "right");
}

/// Split and concatenated along one dimension: row members need not agree there.
TEST(Steps, an_alltoall_within_one_dimension) {
  EXPECT_EQ(outcome(program("x:2", "[4{x}7]", "tile=[4] global=[7] at=[[0],[2]] shapes=[[4],[3]]",
                            "alltoall split=0 concat=0 groups=[[0,1]] piece=2")),
            "not_a_box 0");
  const std::string step = "alltoall split=0 concat=0 groups=[[0,1]] piece=4";
  EXPECT_EQ(outcome(program("x:2", "[4{x}7]", "[7]@0", step)), "right");
}

TEST(Steps, a_permutation_takes_shapes_along) {
  const std::string to = "[3{x}10]", mesh = "x:4 order=[1,0,3,2]\nfrom ";
  const std::string head =
      "retile.program/2\nmesh x:4\nfrom [3{x}10]\nmesh x:4 order=[3,0,1,2]\n"
      "to [3{x}10]\n";
  EXPECT_EQ(outcome(head + "allpermute source=[1,2,3,0] map=[3{x}10] tile=[3]"), "right");
  EXPECT_EQ(outcome(head + "allpermute source=[3,0,1,2]"), "end 1");
  EXPECT_EQ(outcome(head + "allpermute pairs=[[1,0],[2,1],[3,2],[0,3]]"), "right");
}

/// x:2,y:3 with order [6]<=[3,2]T(1,0): a change of order alone is one allpermute by phi^-1.
TEST(Steps, a_change_of_order_is_one_permutation) {
  const std::string head =
      "retile.program/2\nmesh x:2,y:3\nfrom [2{y,x}11]\nmesh x:2,y:3 order=[6]<=[3,2]T(1,0)\n"
      "to [2{y,x}11]\n";
  EXPECT_EQ(outcome(head + "allpermute source=[0,3,1,4,2,5]"), "right");
  EXPECT_EQ(outcome(head + "allpermute source=[0,2,4,1,3,5]"), "end 1");
}

TEST(Steps, halos_are_boxes_that_overlap) {
  const std::string mesh = "x:4", from = "[3{x}10]", to = "[3{x}10<1,1>]";
  std::vector<Intervals> cores, halos;
  for (Size d = 0; d < 4; ++d) {
    cores.push_back({{3 * d, std::min<Size>(3 * d + 3, 10)}});
    halos.push_back({{std::max<Size>(0, 3 * d - 1), std::min<Size>(3 * d + 4, 10)}});
  }
  const Exchange widen = one_exchange(cores, halos);
  EXPECT_EQ(widen.received, (Sizes{1, 2, 2, 1}));
  expect_right("halo", program(mesh, from, to), widen, to);
  EXPECT_EQ(outcome(program(mesh, to, to)), "right");
  EXPECT_EQ(outcome(program(mesh, from, to)), "end 0");
}

TEST(Steps, pieces_behind_the_end_are_empty) {
  const std::string from = "[9]", slice = "dynslice dim=0 parts=4 part=[0,1,2,3] piece=4";
  EXPECT_EQ(outcome(program("x:4", from, "[(0,4,8,9,9){x}9]", slice)), "right");
  EXPECT_EQ(outcome(program("x:4", from, "[3{x}9]", slice)), "end 1");
  EXPECT_EQ(outcome(program("x:4", from, "[4~{x}9]", slice)), "right");
  EXPECT_EQ(outcome(program("x:2", from, "[9]@0",
                            "dynslice dim=0 parts=9223372036854775807 "
                            "part=[0,9223372036854775806] piece=9223372036854775807")),
            "right");
  EXPECT_EQ(outcome(program("x:2", "[9]@0", "[9]@0", "dynslice dim=0 parts=2 part=[0,0]")),
            "indivisible 0");
  EXPECT_EQ(outcome(program("x:2", "[8]@0", "tile=[4] global=[8] at=[[4],[0]] shapes=[[4],[0]]",
                            "dynslice dim=0 parts=2 part=[1,0] tile=[4]")),
            "right");
}

// Reasons, with their witnesses.

TEST(Reasons, ragged) {
  const std::string head = "retile.program/2\nmesh x:2,y:2\nfrom [3{x}5, 3{y}5]\nto [5, 3{y}5]\n";
  EXPECT_EQ(outcome(head + "allgather dim=0 groups=[[0,2],[1,3]] map=[5, 3{y}5]"), "right");
  const Verdict rows = verdict_of(head + "allgather dim=0 groups=[[0,1],[2,3]]");
  EXPECT_EQ(outcome(rows), "ragged 0");
  EXPECT_EQ(rows.wrong->device, 1);
  EXPECT_EQ(rows.wrong->at, (Sizes{0, 0}));
  EXPECT_EQ(rows.wrong->element, (Sizes{0, 3}));
  EXPECT_EQ(rows.wrong->found, std::nullopt);
  // Also where pieces would fit, and not where only the joined dimension differs.
  EXPECT_EQ(outcome(head + "alltoall split=1 concat=0 groups=[[0,1],[2,3]] piece=1"), "ragged 0");
  EXPECT_EQ(outcome(head + "alltoall split=1 concat=1 groups=[[0,1],[2,3]] piece=2"),
            "not_a_box 0");
  EXPECT_EQ(outcome(head + "allgather dim=1 groups=[[0,1],[2,3]]"), "end 1");
  EXPECT_EQ(outcome(head + "dynslice dim=0 groups=[[0,1],[2,3]] piece=2"), "end 1");
}

TEST(Reasons, of_devices_that_hold_nothing) {
  const std::string head = "retile.program/2\nmesh p:4\nfrom [3{p}9]\nto [9]\n";
  const Verdict groups = verdict_of(head + "allgather dim=0 groups=[[0,1,2]]");
  EXPECT_EQ(outcome(groups), "groups 0");
  EXPECT_EQ(groups.wrong->device, 3);
  EXPECT_EQ(groups.wrong->at, std::nullopt);
  EXPECT_EQ(groups.wrong->element, std::nullopt);
  const Verdict bijection = verdict_of(head + "allpermute pairs=[[3,0]]");
  EXPECT_EQ(outcome(bijection), "bijection 0");
  EXPECT_EQ(bijection.wrong->device, 0);
  EXPECT_EQ(bijection.wrong->element, (Sizes{0}));
  EXPECT_EQ(outcome(head + "allgather dim=0 groups=[[0,1],[2],[3]]"), "groups 0");
  EXPECT_EQ(verdict_of(head + "allgather dim=0 groups=[[0,1],[2],[3]]").wrong->device,
            std::nullopt);
}

TEST(Reasons, indivisible) {
  const std::string head = "retile.program/2\nmesh x:2,y:2\nfrom [6{x}10]\nto [3{y,x}10]\n";
  std::string text = head;
  text.replace(text.find("6{x}"), 4, "6~{x}");
  EXPECT_EQ(outcome(text + "dynslice dim=0 groups=[2,2]<=[4]"), "end 1");
  EXPECT_EQ(outcome(text + "dynslice dim=0 groups=[2,2]<=[4] piece=3"), "right");
  const Verdict verdict = verdict_of(
      "retile.program/2\nmesh x:2,y:2\nfrom [(0,4,9){x}9]\nto [3{y,x}9]\n"
      "dynslice dim=0 groups=[2,2]<=[4]");
  EXPECT_EQ(outcome(verdict), "indivisible 0");
  EXPECT_EQ(verdict.wrong->device, 2);
  EXPECT_EQ(verdict.wrong->element, (Sizes{4}));
}

TEST(Reasons, claims) {
  const std::string head = "retile.program/2\nmesh x:4\nfrom [3{x}10]\nto [10]\n";
  const std::string step = "allpermute source=[4]<=[4] ";
  EXPECT_EQ(outcome(head + step + "tile=[3]"), "end 1");
  EXPECT_EQ(outcome(head + step + "tile=[4]"), "tile_claim 0");
  EXPECT_EQ(outcome(head + step + "tile=[3,1]"), "tile_claim 0");
  EXPECT_EQ(outcome(head + step + "tile=[]"), "tile_claim 0");
  EXPECT_EQ(outcome(head + step + "map=[3~{x}10]"), "end 1");
  EXPECT_EQ(outcome(head + step + "map=[4~{x}10]"), "map_claim 0");
  EXPECT_EQ(outcome(head + step + "map=[10]@0"), "map_claim 0");
  EXPECT_EQ(outcome(head + step + "at=[[0],[3],[6],[9]]"), "end 1");
  EXPECT_EQ(outcome(head + step + "at=[[0],[3],[6],[9]] shapes=[[3],[3],[3],[1]]"), "end 1");
  EXPECT_EQ(outcome(head + step + "at=[[0],[3],[6],[9]] shapes=[[3],[3],[3],[3]]"), "map_claim 0");
  const Verdict at = verdict_of(head + step + "at=[[0],[3],[9223372036854775807],[9]]");
  EXPECT_EQ(outcome(at), "map_claim 0");
  EXPECT_EQ(at.wrong->device, 2);
  EXPECT_EQ(at.wrong->element, (Sizes{9223372036854775807}));
  EXPECT_EQ(at.wrong->found, (Sizes{6}));
  const Verdict shape = verdict_of(head + step + "map=[4~{x}10]");
  EXPECT_EQ(shape.wrong->device, 0);
  EXPECT_EQ(shape.wrong->element, std::nullopt);
  const Verdict element = verdict_of(head + "allpermute source=[1,0,2,3] map=[3{x}10]");
  EXPECT_EQ(element.wrong->device, 0);
  EXPECT_EQ(element.wrong->at, (Sizes{0}));
  EXPECT_EQ(element.wrong->element, (Sizes{0}));
  EXPECT_EQ(element.wrong->found, (Sizes{3}));
  // A row of `at` says nothing of an empty tile.
  EXPECT_EQ(outcome("retile.program/2\nmesh x:4\nfrom [3{x}9]\nto [3{x}9]\n" + step +
                    "at=[[0],[3],[6],[7]]"),
            "right");
}

/// Device 1 has the largest tile.
TEST(Reasons, the_claimed_tile_is_the_largest_of_all_devices) {
  const std::string head = "retile.program/2\nmesh x:2\nfrom [(0,1,4){x}4]\nto [(0,1,4){x}4]\n";
  EXPECT_EQ(outcome(head + "allpermute source=[0,1] tile=[3]"), "right");
  EXPECT_EQ(outcome(head + "allpermute source=[0,1] tile=[1]"), "tile_claim 0");
  EXPECT_EQ(verdict_of(head + "allpermute source=[0,1]").height, 3);
  EXPECT_EQ(verdict_of(head + "allpermute source=[0,1]").bound, 3);
}

TEST(Reasons, the_end_is_the_list_of_indices_in_order) {
  // Box 0..3 in another order, which only an exchange can make.
  const std::string head = "retile.program/2\nmesh x:2\nfrom [3{x}5]\nto [3{x}5]\n";
  const Verdict verdict =
      verdict_of(head +
                 "exchange transfers=[[0,0,0,1,1],[0,0,1,0,1],[0,0,2,2,1],[1,1,0,0,2]] "
                 "shapes=[[3],[2]]");
  EXPECT_EQ(outcome(verdict), "not_a_box 0");
  EXPECT_EQ(verdict.wrong->at, (Sizes{1}));
  EXPECT_EQ(verdict.wrong->element, (Sizes{2}));
  EXPECT_EQ(verdict.wrong->found, (Sizes{0}));
  EXPECT_EQ(verdict.cost, 0);  // nothing left a device
  EXPECT_EQ(outcome("retile.program/2\nmesh x:2\nfrom [3{x}5]\nto [5]@0\n"), "end 0");
}

TEST(Reasons, limits) {
  EXPECT_EQ(outcome("retile.program/2\ndevices 2147483648\nfrom [1]\nto [1]\n"),
            "undecided: more than 2^22 devices and sides of their boxes");
  EXPECT_EQ(outcome("retile.program/2\nmesh x:2147483648 order=[2147483648]<=[2147483648]\n"
                    "from [1]\nto [1]\n"),
            "undecided: more than 2^22 devices and sides of their boxes");
  EXPECT_EQ(outcome("retile.program/2\ndevices 2\nfrom [1000000000]\nto [1000000000]\n"),
            "undecided: more than 2^28 tags on all devices together");
  const Program small =
      program_of(program("x:4", "[3{x}10]", "[3{x}10]", "allpermute source=[4]<=[4]"));
  EXPECT_EQ(LayoutReplay(small, 1000).run().right, true);
  EXPECT_THROW(LayoutReplay(small, 50).run(), TooLarge);
}

// Version 1 in the replay of version 2.

/// A step of version 1 in text, often one that applies; `at_random` may be any.
std::string random_step(std::mt19937& random, Size D, const Sizes& global) {
  const auto below = [&](Size n) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
  };
  const auto dim = [&] { return std::to_string(below(static_cast<Size>(global.size()))); };
  Sizes devices(static_cast<Index>(D));
  for (Index d = 0; d < devices.size(); ++d) devices[d] = static_cast<Size>(d);
  if (below(3) == 0) std::shuffle(devices.begin(), devices.end(), random);
  if (below(12) == 0) devices[0] = devices[1];
  if (below(4) == 0) return "allpermute source=" + text_of(devices) + "\n";
  Sizes lengths;
  for (Size n = 1; n <= D; ++n) {
    if (D % n == 0) lengths.push_back(n);
  }
  const Size n = lengths[static_cast<Index>(below(static_cast<Size>(lengths.size())))];
  const bool strided = below(2) == 0;
  Rows rows(static_cast<Index>(D / n));
  for (Index k = 0; k < devices.size(); ++k) {
    rows[strided ? k % rows.size() : k / static_cast<Index>(n)].push_back(devices[k]);
  }
  const std::string groups = " groups=" + rows_text(rows) + "\n";
  const Size kind = below(3);
  if (kind == 0) return "allgather dim=" + dim() + groups;
  if (kind == 1) return "dynslice dim=" + dim() + groups;
  return "alltoall split=" + dim() + " concat=" + dim() + groups;
}

std::string text_of(const Type& tau) {
  std::string out;
  for (const auto& [c, xs, s] : tau) {
    std::string axes;
    for (const Name& x : xs) axes += (axes.empty() ? "" : ",") + x;
    out += (out.empty() ? "" : ", ") + std::to_string(c) + "{" + axes + "}" + std::to_string(s);
  }
  return "[" + out + "]";
}

struct Compared {
  std::map<std::string, Size> outcomes;
  Size differ = 0;
};

/// Random Programs of version 1 by both replays. `spoil` may change what the second one is given.
template <class Spoil>
Compared compared(Size count, Spoil spoil) {
  std::mt19937 random(7);
  Compared out;
  const std::vector<std::pair<std::string, Mesh>> meshes = {{"x:2,y:2", {{"x", 2}, {"y", 2}}},
                                                            {"x:2,y:3", {{"x", 2}, {"y", 3}}}};
  for (const auto& [mesh_text, H] : meshes) {
    const Size D = device_count(H).value();
    for (const Sizes& global : Rows{{6}, {4, 6}, {2, 2, 3}}) {
      const auto types = all_types(H, global);
      const auto any = [&] { return text_of(types[random() % types.size()]); };
      for (Size k = 0; k < count; ++k) {
        std::string text = "retile.program/1\nmesh " + mesh_text + "\nfrom " + any();
        text += "\nto " + any() + "\n";
        for (Size steps = static_cast<Size>(random() % 4); steps > 0; --steps) {
          text += random_step(random, D, global);
        }
        const Verdict one = check(program_of(text));
        const Verdict two = check(program_of(spoil(text.replace(text.find("/1"), 2, "/2"))));
        ++out.outcomes[one.wrong ? one.wrong->reason : "right"];
        const auto all = [](const Verdict& v) {
          const Wrong wrong = v.wrong.value_or(Wrong());
          return std::tuple(v.decided, v.right, v.within_bound, v.height, v.bound, v.cost, v.steps,
                            wrong.first_wrong_step, wrong.reason, wrong.device, wrong.at,
                            wrong.element, wrong.found);
        };
        if (all(one) != all(two)) ++out.differ;
      }
    }
  }
  return out;
}

TEST(Version1, means_the_same_in_the_replay_of_version_2) {
  const Compared all =
      compared(support::instrumented ? 150 : 400, [](const std::string& text) { return text; });
  EXPECT_EQ(all.differ, 0);
  for (const auto& [reason, count] : all.outcomes) std::cout << reason << " " << count << "; ";
  std::cout << "\n";
  for (const char* reason : {"right", "end", "not_a_box", "groups", "bijection", "indivisible"}) {
    EXPECT_GT(all.outcomes.count(reason), 0U) << reason;
  }
}

TEST(Version1, control_another_program_is_noticed) {
  const Compared all = compared(100, [](std::string text) {
    const std::size_t at = text.find("dynslice dim=0");
    return at == std::string::npos ? text : text.replace(at, 8, "allgather");
  });
  EXPECT_GT(all.differ, 20);
}

}  // namespace
}  // namespace spec::check_layouts_test
