#include "spec/program/check.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <string>

#include "spec/program/text.h"
#include "support/samples.h"

namespace spec::check_test {
namespace {

Verdict verdict_of(const std::string& text) {
  const Programs read = parse_programs(text);
  EXPECT_FALSE(read.error) << read.error->line << ":" << read.error->column << ": "
                           << read.error->message << "\n"
                           << text;
  return read.error ? Verdict() : check(read.programs.at(0));
}

/// "right", or "reason step", or "undecided: " and why.
std::string outcome(const Verdict& verdict) {
  if (!verdict.decided) return "undecided: " + std::string(verdict.why_undecided);
  if (!verdict.wrong) return verdict.right ? "right" : "neither";
  return verdict.wrong->reason + " " + std::to_string(verdict.wrong->first_wrong_step);
}
std::string outcome(const std::string& text) { return outcome(verdict_of(text)); }

const std::string example_3_1 =
    "retile.program/1\n"
    "mesh x:4,y:6\n"
    "from [3{x}12, 2{y}12]\n"
    "to [2{y}12, 3{x}12]\n"
    "alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]\n"
    "allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, "
    "6{12:2}12]\n"
    "alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]\n";
const std::string replication =
    "retile.program/1\n"
    "mesh a:2,b:2,c:2\n"
    "from [4, 1{a,b}4]\n"
    "to [1{a,c}4, 4]\n"
    "dynslice dim=0 groups=[4,2]<=[8] tile=[2,1] map=[2{c}4, 1{a,b}4]\n"
    "alltoall split=0 concat=1 groups=[[0,4],[1,5],[2,6],[3,7]] tile=[1,2] map=[1{a,c}4, 2{b}4]\n"
    "allgather dim=1 groups=[4,2]<=[2,2,2]T(0,2,1) tile=[1,4] map=[1{a,c}4, 4]\n";
const std::string out_of_order =
    "retile.program/1\n"
    "mesh a:2,b:3,c:5\n"
    "from [1{a,b}6, 3{c}15]\n"
    "to [6, 15]\n"
    "alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]  # [[0,15,5],..]\n"
    "allgather dim=0 groups=[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0) tile=[6,1]\n"
    "allgather dim=1 groups=[2,15]<=[5,2,3]T(1,0,2)<=[2,3,5]T(2,1,0) tile=[6,15] map=[6, 15]\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// Drops the claims KEY=[..] from every step, which balances brackets.
std::string without_claims(std::string text) {
  for (const std::string key : {" tile=[", " map=[", " at=["}) {
    for (std::size_t at; (at = text.find(key)) != std::string::npos;) {
      std::size_t end = at + key.size();
      for (int depth = 1; depth > 0; ++end)
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      text.erase(at, end - at);
    }
  }
  return text;
}

std::string without_line(std::string text, const std::string& beginning) {
  const std::size_t at = text.find("\n" + beginning) + 1;
  return text.erase(at, text.find('\n', at) + 1 - at);
}
std::string with_line_twice(std::string text, const std::string& beginning) {
  const std::size_t at = text.find("\n" + beginning) + 1, end = text.find('\n', at) + 1;
  return text.insert(end, text.substr(at, end - at));
}

TEST(Check, the_three_examples_are_right) {
  const auto expect = [](const std::string& text, Size cost, Size height) {
    for (const std::string& form : {text, without_claims(text)}) {
      const Verdict verdict = verdict_of(form);
      EXPECT_EQ(outcome(verdict), "right") << form;
      EXPECT_EQ(verdict.cost, cost);
      EXPECT_EQ(verdict.height, height);
      EXPECT_EQ(verdict.bound, height);
      EXPECT_TRUE(verdict.within_bound);
      EXPECT_EQ(verdict.steps, 3);
    }
  };
  expect(example_3_1, 18, 6);
  expect(replication, 6, 4);
  expect(out_of_order, 99, 90);
}

// Mutants of right Programs: with the claims the mutated step is the first wrong one; without them
// the first step that leaves a device without a box, or the end.

TEST(Mutants, two_devices_of_a_group_swapped) {
  const std::string mutant = replaced(replication, "[0,4],[1,5]", "[4,0],[1,5]");
  EXPECT_EQ(outcome(mutant), "map_claim 1");
  EXPECT_EQ(outcome(without_claims(mutant)), "not_a_box 1");
}
TEST(Mutants, a_group_of_the_wrong_devices) {
  const std::string mutant = replaced(replication, "[0,4],[1,5]", "[0,5],[1,4]");
  EXPECT_EQ(outcome(mutant), "map_claim 1");
  EXPECT_EQ(outcome(without_claims(mutant)), "not_a_box 1");
}
TEST(Mutants, wrong_dimension) {
  EXPECT_EQ(outcome(replaced(replication, "allgather dim=1", "allgather dim=0")), "tile_claim 2");
  EXPECT_EQ(outcome(without_claims(replaced(replication, "allgather dim=1", "allgather dim=0"))),
            "not_a_box 2");
  EXPECT_EQ(outcome(replaced(replication, "split=0 concat=1", "split=1 concat=0")),
            "indivisible 1");
}
TEST(Mutants, wrong_part_order) {
  const std::string mutant = replaced(replication, "dynslice dim=0 groups=[4,2]<=[8]",
                                      "dynslice dim=0 parts=2 part=[1,0,1,0,1,0,1,0]");
  EXPECT_EQ(outcome(mutant), "map_claim 0");
  EXPECT_EQ(outcome(without_claims(mutant)), "end 3");
  EXPECT_EQ(outcome(replaced(replication, "dynslice dim=0 groups=[4,2]<=[8]",
                             "dynslice dim=0 parts=2 part=[0,1,0,1,0,1,0,1]")),
            "right");
}
TEST(Mutants, a_step_left_out) {
  EXPECT_EQ(outcome(without_line(example_3_1, "allpermute")), "map_claim 1");
  EXPECT_EQ(outcome(without_claims(without_line(example_3_1, "allpermute"))), "not_a_box 1");
  EXPECT_EQ(outcome(without_line(out_of_order, "allgather dim=1")), "end 2");
}
TEST(Mutants, a_step_doubled) {
  EXPECT_EQ(outcome(with_line_twice(example_3_1, "allpermute")), "map_claim 2");
  EXPECT_EQ(outcome(with_line_twice(out_of_order, "allgather dim=0")), "tile_claim 2");
  EXPECT_EQ(outcome(without_claims(with_line_twice(out_of_order, "allgather dim=0"))),
            "not_a_box 2");
}
TEST(Mutants, a_permutation_with_one_pair_changed) {
  const std::string program =
      "retile.program/1\nmesh x:2,y:2\nfrom [2{x,y}8]\nto [2{y,x}8]\n"
      "allpermute pairs=[[1,2],[2,1]] map=[2{y,x}8]\n";
  EXPECT_EQ(outcome(program), "right");
  EXPECT_EQ(outcome(replaced(program, "[[1,2],[2,1]]", "[[1,3],[3,1]]")), "map_claim 0");
  EXPECT_EQ(outcome(without_claims(replaced(program, "[[1,2],[2,1]]", "[[1,3],[3,1]]"))), "end 1");
  EXPECT_EQ(outcome(replaced(program, "[[1,2],[2,1]]", "[[1,2],[2,3]]")), "bijection 0");
}
TEST(Mutants, a_wrong_final_type) {
  EXPECT_EQ(outcome(replaced(example_3_1, "to [2{y}12", "to [2{3:2,1:3}12")), "end 3");
  EXPECT_EQ(outcome(replaced(out_of_order, "to [6, 15]", "to [6, 3{c}15]")), "end 3");
}
TEST(Mutants, a_group_list_that_misses_or_repeats_a_device) {
  const auto missing = verdict_of(replaced(replication, "[3,7]]", "[3,3]]"));
  EXPECT_EQ(outcome(missing), "groups 1");
  EXPECT_TRUE(missing.wrong->device == 3 || missing.wrong->device == 7);
  EXPECT_EQ(outcome(replaced(replication, ",[3,7]]", "]")), "groups 1");
  EXPECT_EQ(outcome(replaced(replication, "[3,7]]", "[3],[7]]")), "groups 1");
  EXPECT_EQ(outcome(replaced(replication, "groups=[4,2]<=[8]", "groups=[2,2]<=[4]")), "groups 0");
  EXPECT_EQ(outcome(replaced(replication, "groups=[4,2]<=[8]", "groups=[]")), "groups 0");
  EXPECT_EQ(outcome(replaced(replication, "groups=[4,2]<=[8]", "groups=[[]]")), "groups 0");
}
/// Swapping two replicas is no mutant: both hold the same tile.
TEST(Mutants, swapped_replicas_are_still_right) {
  const std::string program =
      "retile.program/1\nmesh x:2,y:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 "
      "groups=[[0,2],[1,3]]\n";
  EXPECT_EQ(outcome(program), "right");
  EXPECT_EQ(outcome(replaced(program, "[[0,2],[1,3]]", "[[0,3],[1,2]]")), "right");
  EXPECT_EQ(outcome(replaced(program, "[[0,2],[1,3]]", "[[0,1],[2,3]]")), "not_a_box 0");
}

// Each reason, with its twin.

std::string small(const std::string& step, const std::string& to = "[12]") {
  return "retile.program/1\nmesh x:2,y:3\nfrom [2{x,y}12]\nto " + to + "\n" + step + "\n";
}

TEST(Reasons, groups) {
  EXPECT_EQ(outcome(small("allgather dim=0 groups=[1,6]<=[3,2]T(1,0)")), "not_a_box 0");
  EXPECT_EQ(outcome(small("allgather dim=0 groups=[[0,3,1,4,2,5]]")), "right");
  EXPECT_EQ(outcome(small("allgather dim=0 groups=[[0,3,1,4,2,2]]")), "groups 0");
  EXPECT_EQ(outcome(small("allgather dim=0 groups=[[0,3,1,4,2]]")), "groups 0");
  EXPECT_EQ(outcome(small("allgather dim=0 groups=[[0,3,1,4],[2,5]]")), "groups 0");
  const auto ragged = verdict_of(small("allgather dim=0 groups=[[0,3,1,4],[2,5]]"));
  EXPECT_EQ(ragged.wrong->device, std::nullopt);
  EXPECT_EQ(ragged.wrong->element, std::nullopt);
  EXPECT_EQ(verdict_of(small("allgather dim=0 groups=[[0,3,1,4,2]]")).wrong->device, 5);
}
TEST(Reasons, bijection) {
  const std::string to = "[2{y,x}12]";
  EXPECT_EQ(outcome(small("allpermute source=[0,4,2,3,1,5]")), "end 1");
  EXPECT_EQ(outcome(small("allpermute source=[0,1,2,3,4,4]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute source=[0,1,2,3,4]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute source=[3]<=[3]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute source=[]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute pairs=[[0,1]]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute pairs=[[0,1],[1,0],[1,0]]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute pairs=[[0,0],[0,0]]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute pairs=[[0,1],[1,2]]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute pairs=[[0,1],[2,1],[1,0]]")), "bijection 0");
  EXPECT_EQ(outcome(small("allpermute pairs=[[5,5]]", "[2{x,y}12]")), "right");
  // y,x from x,y: device 3x+y must hold tile y + 3x.
  EXPECT_EQ(outcome(small("allpermute source=[0,3,1,4,2,5]", to)), "right");
  EXPECT_EQ(outcome(small("allpermute pairs=[[3,1],[1,2],[4,3],[2,4]]", to)), "right");
  EXPECT_EQ(outcome(small("allpermute pairs=[[1,3],[2,1],[3,4],[4,2]]", to)),
            "end 1");  // the inverse
}
TEST(Reasons, indivisible) {
  EXPECT_EQ(outcome(small("dynslice dim=0 groups=[3,2]<=[6]")), "end 1");
  EXPECT_EQ(outcome(small("dynslice dim=0 groups=[2,3]<=[6]")), "indivisible 0");
  EXPECT_EQ(outcome(small("dynslice dim=0 parts=3 part=[0,0,0,0,0,0]")), "indivisible 0");
  EXPECT_EQ(outcome(small("alltoall split=0 concat=0 groups=[2,3]<=[6]")), "indivisible 0");
  EXPECT_EQ(outcome(small("dynslice dim=0 parts=9223372036854775807 part=[0,0,0,0,0,0]")),
            "indivisible 0");
}
TEST(Reasons, transfers) {
  const auto exchange = [](const std::string& transfers) {
    return verdict_of(
        "retile.program/1\ndevices 2\nfrom [2{1:2}4]\nto [4]\n"
        "exchange tile=[4] transfers=[[0,0,0,0,2],[0,1,2,0,2],[1,0,0,0,2]," +
        transfers + "]\n");
  };
  const Verdict right = exchange("[1,1,2,0,2]");
  EXPECT_EQ(outcome(right), "right");
  EXPECT_EQ(right.cost, 4);
  EXPECT_EQ(right.height, 4);
  const auto wrong_at = [&](const std::string& transfers, Size device, Size at) {
    const Verdict verdict = exchange(transfers);
    EXPECT_EQ(outcome(verdict), "transfers 0") << transfers;
    if (!verdict.wrong) return;
    EXPECT_EQ(verdict.wrong->device, device) << transfers;
    EXPECT_EQ(verdict.wrong->at, Sizes{at}) << transfers;
    EXPECT_FALSE(verdict.wrong->element || verdict.wrong->found);
  };
  wrong_at("[1,1,3,0,1]", 1, 2);              // a gap
  wrong_at("[1,1,1,0,2],[1,1,3,1,1]", 1, 1);  // twice
  wrong_at("[1,1,3,0,2]", 1, 3);              // outside the new tile
  wrong_at("[1,1,2,1,2]", 1, 1);              // outside the old one
  wrong_at("[1,0,2,9223372036854775807,2]", 0, 9223372036854775807);
  EXPECT_EQ(outcome(exchange("[1,1,2,0,1],[1,0,3,1,1]")), "not_a_box 0");
  EXPECT_EQ(outcome("retile.program/1\ndevices 2\nfrom []\nto []\n"
                    "exchange tile=[] transfers=[[0,1],[1,1]]\n"),
            "right");
  EXPECT_EQ(outcome("retile.program/1\ndevices 2\nfrom []\nto []\n"
                    "exchange tile=[] transfers=[[0,1],[0,0]]\n"),
            "transfers 0");
}

TEST(Reasons, tile_claim) {
  const std::string step = "allgather dim=0 groups=[[0,3,1,4,2,5]]";
  EXPECT_EQ(outcome(small(step + " tile=[12]")), "right");
  EXPECT_EQ(outcome(small(step + " tile=[6]")), "tile_claim 0");
  EXPECT_EQ(outcome(small(step + " tile=[12,1]")), "tile_claim 0");
  EXPECT_EQ(outcome(small(step + " tile=[]")), "tile_claim 0");
}
TEST(Reasons, map_claim) {
  const std::string step = "allgather dim=0 groups=[[0,3],[1,4],[2,5]]";
  EXPECT_EQ(outcome(small(step + " map=[4{y}12]", "[4{y}12]")), "right");
  EXPECT_EQ(outcome(small(step + " map=[4{1:3}12] at=[[0],[4],[8],[0],[4],[8]]", "[4{y}12]")),
            "right");
  EXPECT_EQ(outcome(small(step + " map=[4{2:3}12]", "[4{y}12]")), "map_claim 0");
  EXPECT_EQ(outcome(small(step + " map=[2{x,y}12]", "[4{y}12]")), "map_claim 0");
  EXPECT_EQ(outcome(small(step + " at=[[0],[4],[8],[0],[4],[9]]", "[4{y}12]")), "map_claim 0");
  EXPECT_EQ(outcome(small(step + " at=[[0],[4],[8],[0],[4],[9223372036854775807]]", "[4{y}12]")),
            "map_claim 0");
  EXPECT_EQ(outcome(small(step + " tile=[9] map=[4{2:3}12]", "[4{y}12]")), "tile_claim 0");
}
/// In C order [0,4] is the place of [1,0], but it lies outside of the array.
TEST(Reasons, no_claim_is_true_of_what_lies_outside_of_the_array) {
  for (const char* version : {"1", "2"}) {
    const std::string ends = "tile=[1,4] global=[2,4] at=[[0,0],[1,0]]\n";
    const std::string text = std::string("retile.program/") + version + "\ndevices 2\nfrom " +
                             ends + "to " + ends + "allpermute source=[0,1] at=[[0,0],";
    EXPECT_EQ(outcome(text + "[1,0]]\n"), "right") << version;
    const Verdict verdict = verdict_of(text + "[0,4]]\n");
    EXPECT_EQ(outcome(verdict), "map_claim 0") << version;
    EXPECT_EQ(verdict.wrong->device, 1) << version;
    EXPECT_EQ(verdict.wrong->element, (Sizes{0, 4})) << version;
    EXPECT_EQ(verdict.wrong->found, (Sizes{1, 0})) << version;
  }
}
TEST(Reasons, not_a_box_only_when_the_end_is_wrong) {
  const std::string leave = "alltoall split=0 concat=0 groups=[[0,1],[2,3],[4,5]]\n";
  EXPECT_EQ(outcome(small(leave + leave, "[2{x,y}12]")), "right");
  EXPECT_EQ(outcome(small(leave + leave, "[2{y,x}12]")), "not_a_box 0");
  EXPECT_EQ(outcome(small(leave + leave + leave, "[2{x,y}12]")), "not_a_box 0");
}

TEST(Witness, names_an_element_that_is_really_there) {
  const Verdict verdict =
      verdict_of(small("allgather dim=0 groups=[[0,3],[1,4],[2,5]] at=[[0],[4],[8],[0],[4],[2]]"));
  ASSERT_TRUE(verdict.wrong);
  EXPECT_EQ(verdict.wrong->device, 5);
  EXPECT_EQ(verdict.wrong->at, Sizes{0});
  EXPECT_EQ(verdict.wrong->element, Sizes{2});
  EXPECT_EQ(verdict.wrong->found, Sizes{8});
  const Verdict box = verdict_of(small("allgather dim=0 groups=[[0,3],[1,5],[2,4]]", "[4{y}12]"));
  ASSERT_TRUE(box.wrong);
  EXPECT_EQ(outcome(box), "not_a_box 0");
  EXPECT_EQ(box.wrong->device, 1);
  EXPECT_EQ(box.wrong->at, Sizes{2});
  EXPECT_EQ(box.wrong->element, Sizes{6});
  EXPECT_EQ(box.wrong->found, Sizes{10});
}

TEST(Witness, names_an_element_that_has_no_place_after_the_step) {
  const Verdict groups = verdict_of(small("allgather dim=0 groups=[[0,3,1,4,2]]"));
  EXPECT_EQ(groups.wrong->device, 5);
  EXPECT_EQ(groups.wrong->at, Sizes{0});
  EXPECT_EQ(groups.wrong->element, Sizes{10});
  EXPECT_EQ(groups.wrong->found, std::nullopt);
  const Verdict piece = verdict_of(small("dynslice dim=0 groups=[2,3]<=[6]"));
  EXPECT_EQ(outcome(piece), "indivisible 0");
  EXPECT_EQ(piece.wrong->element, Sizes{0});
}

TEST(Witness, names_device_0_and_no_element_where_tiles_have_another_shape) {
  const auto names_none = [](const std::string& text, const std::string& what) {
    const Verdict verdict = verdict_of(text);
    EXPECT_EQ(outcome(verdict), what);
    ASSERT_TRUE(verdict.wrong);
    EXPECT_EQ(verdict.wrong->device, 0);
    EXPECT_FALSE(verdict.wrong->at || verdict.wrong->element || verdict.wrong->found);
  };
  const std::string step = "allgather dim=0 groups=[[0,3],[1,4],[2,5]]";
  names_none(small(step + " tile=[5]"), "tile_claim 0");
  names_none(small(step + " map=[2{x,y}12]"), "map_claim 0");
  names_none(small(step), "end 1");
}

TEST(Measures, cost_is_0_where_nothing_moves) {
  EXPECT_EQ(verdict_of(small("allgather dim=0 groups=[6,1]<=[6]", "[2{x,y}12]")).cost, 0);
  EXPECT_EQ(verdict_of(small("alltoall split=0 concat=0 groups=[6,1]<=[6]", "[2{x,y}12]")).cost, 0);
  EXPECT_EQ(verdict_of(small("allpermute source=[6]<=[6]", "[2{x,y}12]")).cost, 0);
  EXPECT_EQ(verdict_of(small("allpermute pairs=[[1,1]]", "[2{x,y}12]")).cost, 0);
  EXPECT_EQ(verdict_of(small("allpermute source=[1,0,2,3,4,5]", "[2{x,y}12]")).cost, 2);
  EXPECT_EQ(verdict_of(small("allgather dim=0 groups=[[0,3,1,4,2,5]]")).cost, 12);
}

TEST(Measures, height_counts_every_state_and_both_ends) {
  const std::string gather = "allgather dim=0 groups=[[0,3,1,4,2,5]]\n";
  const Verdict above =
      verdict_of(small(gather + "dynslice dim=0 parts=6 part=[0,2,4,1,3,5]", "[2{x,y}12]"));
  EXPECT_EQ(outcome(above), "right");
  EXPECT_EQ(above.height, 12);
  EXPECT_EQ(above.bound, 2);
  EXPECT_FALSE(above.within_bound);
  // A step that does not apply, or breaks a claim, does not count.
  const Verdict stopped = verdict_of(small(gather + gather + "allgather dim=0 groups=[]"));
  EXPECT_EQ(outcome(stopped), "groups 2");
  EXPECT_EQ(stopped.height, 72);
  EXPECT_EQ(stopped.cost, 84);
  const Verdict claim =
      verdict_of(small("allgather dim=0 groups=[[0,3,1,4,2,5]] tile=[1]", "[2{x,y}12]"));
  EXPECT_EQ(claim.height, 2);
  EXPECT_EQ(claim.cost, 0);
  EXPECT_EQ(verdict_of(small("", "[12]")).height, 12);
}

/// All of four elements come to all, and leave again.
TEST(Measures, an_exchange_counts_for_the_height) {
  std::string transfers;
  for (int to = 0; to < 4; ++to) {
    for (int from = 0; from < 4; ++from) {
      transfers += (transfers.empty() ? "[" : ",[") + std::to_string(to) + "," +
                   std::to_string(from) + "," + std::to_string(from) + ",0,1]";
    }
  }
  for (const char* version : {"1", "2"}) {
    const Verdict verdict =
        verdict_of(std::string("retile.program/") + version +
                   "\ndevices 4\nfrom [1{1:4}4]\nto [1{1:4}4]\nexchange tile=[4] transfers=[" +
                   transfers + "]\ndynslice dim=0 groups=[[0,1,2,3]]\n");
    EXPECT_EQ(outcome(verdict), "right") << version;
    EXPECT_EQ(verdict.height, 4) << version;
    EXPECT_EQ(verdict.bound, 1) << version;
    EXPECT_FALSE(verdict.within_bound) << version;
    EXPECT_EQ(verdict.cost, 4) << version;
  }
}

TEST(Limits, blocks_make_large_tiles_small) {
  const std::string program =
      "retile.program/1\nmesh x:2\nfrom [2305843009213693952{x}4611686018427387904]\n"
      "to [4611686018427387904]\nallgather dim=0 groups=[[0,1]]\n";
  const Verdict verdict = verdict_of(program);
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.height, Size{1} << 62);
  EXPECT_EQ(outcome(replaced(program, "[[0,1]]", "[[1,0]]")), "not_a_box 0");
}
TEST(Limits, too_large_is_undecided) {
  EXPECT_EQ(outcome("retile.program/1\ndevices 2147483648\nfrom [1]\nto [1]\n"),
            "undecided: more than 2^28 tags on all devices together");
  // Coprime tiles do not shrink: 2^31 · 3 tags.
  EXPECT_EQ(
      outcome(
          "retile.program/1\ndevices 2\nfrom tile=[2147483647] global=[2147483648] at=[[0],[1]]\n"
          "to [2147483648]\n"),
      "undecided: more than 2^28 tags on all devices together");
  // A size that does not fit below 2^63.
  EXPECT_EQ(
      outcome("retile.program/1\ndevices 2\nfrom [4611686018427387904]\nto [4611686018427387904]\n"
              "allgather dim=0 groups=[[0,1]]\n"),
      "undecided: a size is not below 2^63");
  // Cost does not fit.
  const std::string swap = "allpermute source=[1,0]\n";
  EXPECT_EQ(
      outcome(
          "retile.program/1\ndevices 2\nfrom [4611686018427387904]\nto [4611686018427387904]\n" +
          swap + swap),
      "undecided: the cost is not below 2^63");
  // Wrong before it is too large: decided.
  EXPECT_EQ(
      outcome("retile.program/1\ndevices 2\nfrom [4611686018427387904]\nto [4611686018427387904]\n"
              "allgather dim=0 groups=[[0],[1,1]]\nallgather dim=0 groups=[[0,1]]\n"),
      "groups 0");
}
TEST(Limits, a_long_chain_of_iotas_over_many_devices_is_undecided_at_once) {
  const std::string D = std::to_string(Size{1} << 20);
  std::string program = "retile.program/1\ndevices " + D + "\nfrom [1]\nto [1]\n";
  program += "allpermute source=[" + D + "]";
  for (int k = 0; k < 5000; ++k) program += "<=[" + D + "]";
  EXPECT_EQ(outcome(program + "\n"), "undecided: more than 2^32 units of work");
  // Many steps over many dimensions, on one device.
  std::string wide = "1";
  for (int k = 0; k < 70000; ++k) wide += ",1";
  program = "retile.program/1\ndevices 1\nfrom [" + wide + "]\nto [" + wide + "]\n";
  for (int k = 0; k < 70000; ++k) program += "allgather dim=0 groups=[[0]]\n";
  EXPECT_EQ(outcome(program), "undecided: more than 2^32 units of work");
}
/// The reasons are written out; the limits that they name are those that hold.
TEST(Limits, reasons_name_the_limits) {
  const auto said = [](Size most, const std::string& of_what) {
    Size power = 0;
    while (Size{1} << power < most) ++power;
    EXPECT_EQ(Size{1} << power, most);
    return "more than 2^" + std::to_string(power) + of_what;
  };
  EXPECT_EQ(too_many_tags.why, said(Replay::most_tags, " tags on all devices together"));
  EXPECT_EQ(too_much_work.why, said(most_units, " units of work"));
}
/// The work that suffices, which is what docs/reference/oracle.md says, and no verdict other than undecided
/// with less. 6 devices, 2 tags each in 2 dimensions; 3 steps, the second with an iota of 3.
TEST(Limits, work_is_counted_per_tag_and_per_entry_of_a_table) {
  const std::string program =
      "retile.program/1\ndevices 6\nfrom tile=[1,2] global=[1,2] at=[[0,0],[0,0],[0,0],[0,0],[0,0],"
      "[0,0]]\nto tile=[1,1] global=[1,2] at=[[0,0],[0,1],[0,0],[0,1],[0,0],[0,1]]\n"
      "dynslice dim=1 parts=2 part=[0,0,0,1,1,1]\n"
      "allpermute source=[6]<=[3,2]T(1,0)<=[6]\n"
      "allpermute pairs=[]\n";
  const Programs read = parse_programs(program);
  ASSERT_FALSE(read.error) << read.error->message;
  // Start: 6 · 2 tags · (1 + 2); then per step 6 · (1 + dimensions of stages) and 6 · 1 · (1 + 2).
  const Size work = 36 + (6 + 18) + (24 + 18) + (6 + 18);
  const auto decides = [&](Size limit) {
    try {
      Replay(read.programs.front(), limit).run();
      return true;
    } catch (const TooLarge&) {
      return false;
    }
  };
  EXPECT_TRUE(decides(work));
  for (Size limit = 0; limit < work; ++limit) EXPECT_FALSE(decides(limit)) << limit;
}
TEST(Limits, a_tile_that_grows_beyond_the_global_array_is_no_box) {
  EXPECT_EQ(
      outcome(
          "retile.program/1\ndevices 2\nfrom [4, 4]\nto [4, 4]\nallgather dim=1 groups=[[0,1]]\n"),
      "not_a_box 0");
  // The row below continues where the tile leaves the array: tags must not run over.
  EXPECT_EQ(outcome("retile.program/1\ndevices 2\nfrom tile=[1,2] global=[2,2] "
                    "at=[[0,0],[1,0]]\nto [1{1:2}2, 2]\n"
                    "allgather dim=1 groups=[[0,1]]\n"),
            "not_a_box 0");
}
TEST(Limits, one_device_and_rank_0) {
  EXPECT_EQ(outcome("retile.program/1\nmesh x:1\nfrom [4{x}4]\nto [4]\n"), "right");
  EXPECT_EQ(outcome("retile.program/1\ndevices 3\nfrom []\nto []\nallpermute source=[2,0,1] "
                    "tile=[] map=[]\n"),
            "right");
  EXPECT_EQ(outcome("retile.program/1\nmesh x:2\nfrom [4]\nto [2{x}4]\n"), "end 0");
}

// A second replay without blocks or tags: a map from local index to global index per device.

struct Naive {
  Sizes c;
  std::vector<std::map<Sizes, Sizes>> held;
};
std::vector<Sizes> box(const Sizes& c) {
  std::vector<Sizes> out = {Sizes()};
  for (const Size extent : c) {
    std::vector<Sizes> longer;
    for (const Sizes& l : out) {
      for (Size x = 0; x < extent; ++x) {
        longer.push_back(l);
        longer.back().push_back(x);
      }
    }
    out = longer;
  }
  return out;
}
Sizes plus(Sizes a, const Sizes& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
Naive placed(const Tiling& tiling, Size devices) {
  Naive out = {tiling.tile, {}};
  for (Size d = 0; d < devices; ++d) {
    out.held.emplace_back();
    for (const Sizes& l : box(out.c)) out.held.back()[l] = plus(base_offset(tiling, d), l);
  }
  return out;
}
/// Concatenates pieces along dimension i, the first at position 0.
std::map<Sizes, Sizes> joined_along(const std::vector<std::map<Sizes, Sizes>>& parts, Index i,
                                    Size extent) {
  std::map<Sizes, Sizes> out;
  for (Index m = 0; m < parts.size(); ++m) {
    for (const auto& [local, global] : parts[m]) {
      Sizes l = local;
      l[i] += static_cast<Size>(m) * extent;
      out[l] = global;
    }
  }
  return out;
}
std::map<Sizes, Sizes> piece_along(const std::map<Sizes, Sizes>& tile, Index j, Size q,
                                   Size extent) {
  std::map<Sizes, Sizes> out;
  for (const auto& [local, global] : tile) {
    Sizes l = local;
    if (l[j] / extent != q) continue;
    l[j] -= q * extent;
    out[l] = global;
  }
  return out;
}
bool is_box(const std::map<Sizes, Sizes>& tile) {
  const Sizes base = tile.begin()->second;
  for (const auto& [l, global] : tile) {
    if (global != plus(base, l)) return false;
  }
  return true;
}
/// The state after a step with sound tables, or nullopt when it does not divide.
std::optional<Naive> stepped(const Naive& s, const Step& step) {
  Naive out = s;
  if (step.p == Op::allpermute) {
    const Sizes P = step.pairs ? Sizes() : row(step.table, 0);
    for (Index d = 0; d < P.size(); ++d) out.held[d] = s.held[static_cast<Index>(P[d])];
    for (const Sizes& pair : step.pairs.value_or(Rows())) {
      out.held[static_cast<Index>(pair[1])] = s.held[static_cast<Index>(pair[0])];
    }
    return out;
  }
  const Size n = pieces(step);
  const bool cuts = step.p != Op::allgather, joins_up = step.p != Op::dynslice;
  if (cuts && s.c[step.split] % n != 0) return std::nullopt;
  if (cuts) out.c[step.split] /= n;
  const Sizes piece_shape = out.c;
  if (joins_up) out.c[step.concat] *= n;
  if (step.parts) {
    const Sizes L = row(step.table, 0);
    for (Index d = 0; d < L.size(); ++d) {
      out.held[d] = piece_along(s.held[d], step.split, L[d], piece_shape[step.split]);
    }
    return out;
  }
  for (Size r = 0; r < row_count(step.table); ++r) {
    const Sizes group = row(step.table, r);
    for (Index q = 0; q < group.size(); ++q) {
      std::vector<std::map<Sizes, Sizes>> parts;
      for (Index m = 0; m < group.size(); ++m) {
        if (!joins_up && m != q) continue;
        const auto& tile = s.held[static_cast<Index>(group[m])];
        parts.push_back(
            cuts ? piece_along(tile, step.split, static_cast<Size>(q), piece_shape[step.split])
                 : tile);
      }
      out.held[static_cast<Index>(group[q])] =
          joins_up ? joined_along(parts, step.concat, piece_shape[step.concat]) : parts.front();
    }
  }
  return out;
}

/// Random Programs, mostly without sense: `check` must agree with the replay above on verdict,
/// step, reason, height and cost, and its witness must be true. `to` is often where the replay ends
/// up.
TEST(Replay, agrees_with_a_replay_element_by_element) {
  std::mt19937 random(20240229);
  const auto pick = [&](Size low, Size high) {
    return low + static_cast<Size>(random() % static_cast<unsigned>(high - low + 1));
  };
  std::map<std::string, int> seen;
  for (int round = 0; round < support::samples(14'000); ++round) {
    const Size D = std::vector<Size>{1, 2, 3, 4, 6}[static_cast<Index>(pick(0, 4))];
    Program program;
    program.devices = D;
    const Index r = static_cast<Index>(pick(1, 2));
    Size stride = 1;
    for (Index i = 0; i < r; ++i) {
      const Size scale = pick(1, 3) * pick(1, 2);
      Size k = stride == 1 && pick(0, 2) > 0 ? D : 1;
      program.from.digits.push_back(k > 1 ? std::vector<Digit>{{1, k}} : std::vector<Digit>());
      program.from.tile.push_back(scale * pick(1, 2));
      program.from.global.push_back(program.from.tile.back() * k);
      stride *= k;
    }
    Naive state = placed(program.from, D);
    const Size start = product(state.c).value();
    Size cost_so_far = 0, height_so_far = start;
    std::string want;
    std::optional<Size> first_not_box;
    const Size steps = pick(0, 3);
    for (Size k = 0; k < steps && want.empty(); ++k) {
      Step step;
      step.p = static_cast<Op>(pick(0, 3));
      step.split = static_cast<Index>(pick(0, static_cast<Size>(r) - 1));
      step.concat = static_cast<Index>(pick(0, static_cast<Size>(r) - 1));
      Sizes order(static_cast<Index>(D));
      std::iota(order.begin(), order.end(), Size{0});
      if (pick(0, 2) > 0) std::shuffle(order.begin(), order.end(), random);
      Size n = 1;
      if (step.p == Op::allpermute && pick(0, 1) == 0) {
        step.pairs = Rows();
        for (Index d = 0; d < order.size(); ++d) {
          if (order[d] != static_cast<Size>(d) || pick(0, 1) == 0) {
            step.pairs->push_back({order[d], static_cast<Size>(d)});
          }
        }
      } else if (step.p == Op::allpermute) {
        step.table.listed = {order};
      } else if (step.p == Op::dynslice && pick(0, 1) == 0) {
        n = pick(1, 3);
        step.parts = n;
        step.table.listed = {Sizes()};
        for (Size d = 0; d < D; ++d) step.table.listed[0].push_back(pick(0, n - 1));
      } else {
        do n = pick(1, D);
        while (D % n != 0);
        for (Size d = 0; d < D; d += n) {
          step.table.listed.emplace_back(order.begin() + d, order.begin() + d + n);
        }
      }
      const Size before = product(state.c).value();
      const auto next = stepped(state, step);
      if (!next) {
        want = "indivisible " + std::to_string(k);
      } else if (product(next->c).value() > 600) {
        break;  // keep it small
      } else {
        state = *next;
        std::vector<bool> boxes;
        for (const auto& tile : state.held) boxes.push_back(is_box(tile));
        const bool all_boxes = std::count(boxes.begin(), boxes.end(), true) == D;
        if (pick(0, 3) == 0) {
          step.at = Rows();
          bool holds = all_boxes;
          for (const auto& tile : state.held) {
            step.at->push_back(tile.begin()->second);
            if (pick(0, 15) == 0) {
              step.at->back()[0] += pick(1, 2);
              holds = false;
            }
          }
          if (!holds) want = "map_claim " + std::to_string(k);
        }
        if (want.empty()) {
          const Size after = product(state.c).value();
          Sizes identity(static_cast<Index>(D));
          std::iota(identity.begin(), identity.end(), Size{0});
          const bool moves = step.p == Op::allpermute ? order != identity : n > 1;
          cost_so_far += !moves || step.p == Op::dynslice ? 0
                         : step.p == Op::allgather        ? after
                                                          : before;
          height_so_far = std::max(height_so_far, after);
          if (!all_boxes && !first_not_box) first_not_box = k;
        }
      }
      program.steps.push_back(step);
    }
    // The target: where the replay ended, if that is a tiling, sometimes with one device moved.
    program.to = program.from;
    bool all_inside = true;
    for (const auto& tile : state.held) {
      all_inside = all_inside && is_box(tile);
      for (Index i = 0; i < r; ++i) {
        all_inside = all_inside && tile.begin()->second[i] + state.c[i] <= program.from.global[i];
      }
    }
    if (want.empty() && all_inside && pick(0, 3) > 0) {
      program.to = {state.c, program.from.global, {}, Rows()};
      for (const auto& tile : state.held) program.to.at->push_back(tile.begin()->second);
      Sizes& moved = program.to.at->back();
      if (pick(0, 2) == 0) moved[0] = pick(0, program.to.global[0] - program.to.tile[0]);
    }
    const Naive target = placed(program.to, D);
    if (want.empty() && (target.c != state.c || target.held != state.held)) {
      want = first_not_box ? "not_a_box " + std::to_string(*first_not_box)
                           : "end " + std::to_string(program.steps.size());
    }
    if (want.empty()) want = "right";
    const Verdict got = check(program);
    ASSERT_EQ(outcome(got), want) << "round " << round;
    ASSERT_EQ(got.cost, cost_so_far) << "round " << round;
    ASSERT_EQ(got.height, std::max(height_so_far, product(target.c).value()));
    ++seen[want.substr(0, want.find(' '))];
    // The witness, by replaying up to its step.
    if (!got.wrong || !got.wrong->element || !got.wrong->found) continue;
    Naive there = placed(program.from, D);
    const Index last =
        std::min(static_cast<Index>(got.wrong->first_wrong_step) + 1, program.steps.size());
    for (Index k = 0; k < last; ++k) there = *stepped(there, program.steps[k]);
    const auto& tile = there.held[static_cast<Index>(*got.wrong->device)];
    ASSERT_EQ(tile.at(*got.wrong->at), *got.wrong->found) << "round " << round;
    ASSERT_NE(*got.wrong->element, *got.wrong->found);
    const Sizes base = got.wrong->reason == "end" ? base_offset(program.to, *got.wrong->device)
                       : got.wrong->reason == "not_a_box"
                           ? tile.begin()->second
                           : (*program.steps[last - 1].at)[static_cast<Index>(*got.wrong->device)];
    ASSERT_EQ(*got.wrong->element, plus(base, *got.wrong->at)) << "round " << round;
  }
  for (const auto& [what, count] : seen) std::cout << what << ": " << count << "\n";
  for (const char* what : {"right", "indivisible", "map_claim", "not_a_box", "end"})
    EXPECT_GT(seen[what], 50);
}

/// Blocks: scaling every extent of a Program scales sizes and witnesses, and changes nothing else.
TEST(Blocks, a_program_scaled_is_judged_alike) {
  for (const std::string& text :
       {example_3_1, replication, out_of_order,
        without_claims(replaced(replication, "[0,4],[1,5]", "[0,5],[1,4]"))}) {
    Program program = parse_programs(text).programs.at(0);
    const Verdict one = check(program);
    const Size s = 7;
    const auto scale = [&](Sizes& sizes) {
      for (Size& size : sizes) size *= s;
    };
    scale(program.from.tile);
    scale(program.from.global);
    scale(program.to.tile);
    scale(program.to.global);
    for (Step& step : program.steps) {
      if (step.tile) scale(*step.tile);
      if (step.map) scale(step.map->tile), scale(step.map->global);
    }
    const Verdict scaled = check(program);
    EXPECT_EQ(outcome(scaled), outcome(one));
    EXPECT_EQ(scaled.height, one.height * s * s);
    EXPECT_EQ(scaled.cost, one.cost * s * s);
    if (!one.wrong) continue;
    Sizes at = *one.wrong->at, element = *one.wrong->element, found = *one.wrong->found;
    scale(at), scale(element), scale(found);
    EXPECT_EQ(scaled.wrong->device, one.wrong->device);
    EXPECT_EQ(scaled.wrong->at, at);
    EXPECT_EQ(scaled.wrong->element, element);
    EXPECT_EQ(scaled.wrong->found, found);
  }
}
/// The pieces of alltoall with split = concat are smaller than any tile: the gcd must see them.
TEST(Blocks, pieces_within_one_dimension_count) {
  const std::string program =
      "retile.program/1\ndevices 2\nfrom [4{1:2}8]\nto [4{1:2}8]\n"
      "alltoall split=0 concat=0 groups=[[0,1]]\n";
  EXPECT_EQ(outcome(program), "not_a_box 0");
  EXPECT_EQ(outcome(program + "alltoall split=0 concat=0 groups=[[0,1]]\n"), "right");
}

/// Shapes are followed through a permutation by pairs, which has no table.
TEST(Blocks, pieces_after_a_permutation_by_pairs_count) {
  const std::string program =
      "retile.program/1\ndevices 1\nfrom [12, 4]\nto tile=[12,1] global=[12,4] at=[[0,3]]\n"
      "allpermute pairs=[[0,0]]\ndynslice dim=1 parts=4 part=[3]\n";
  EXPECT_EQ(outcome(program), "right");
  EXPECT_EQ(outcome(replaced(program, "part=[3]", "part=[2]")), "end 2");
}

}  // namespace
}  // namespace spec::check_test
