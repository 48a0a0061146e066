// Programs with addends: the worked examples, what every step does to sums, every reason with its
// witness, and what is no Program.
#include "spec/program/check_addends.h"

#include <gtest/gtest.h>

#include "spec/program/check.h"
#include "spec/program/text.h"

namespace spec::check_addends_test {
namespace {

Program program_of(const std::string& text) {
  const Programs read = parse_programs(text);
  EXPECT_FALSE(read.error) << read.error->line << ":" << read.error->column << ": "
                           << read.error->message << "\n"
                           << text;
  return read.error ? Program() : read.programs.at(0);
}
std::string program(const std::string& mesh, const std::string& from, const std::string& to,
                    const std::string& steps = "") {
  return "retile.program/2\nmesh " + mesh + "\nfrom " + from + "\nto " + to + "\n" + steps + "\n";
}

std::string text_of(const std::optional<Sizes>& numbers) {
  if (!numbers) return "-";
  std::string out;
  for (const Size number : *numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return "[" + out + "]";
}
std::string text_of(const std::optional<Size>& number) {
  return number ? std::to_string(*number) : "-";
}

/// "right cost height bound", "undecided: " and why, or "reason step" and what the witness names:
/// device D, at, element, found, addend and times, replica and its times.
std::string outcome(const Verdict& verdict) {
  if (!verdict.decided) return "undecided: " + std::string(verdict.why_undecided);
  if (verdict.right) {
    return "right " + std::to_string(verdict.cost) + " " + std::to_string(verdict.height) + " " +
           std::to_string(verdict.bound);
  }
  const Wrong& wrong = verdict.wrong.value();
  std::string out = wrong.reason + " " + std::to_string(wrong.first_wrong_step);
  if (wrong.device) out += " device " + text_of(wrong.device);
  if (wrong.at) out += " at " + text_of(wrong.at);
  if (wrong.element) out += " element " + text_of(wrong.element);
  if (wrong.found) out += " found " + text_of(wrong.found);
  if (wrong.addend) out += " addend " + text_of(wrong.addend) + " times " + text_of(wrong.times);
  if (wrong.replica) {
    out += " replica " + text_of(wrong.replica) + " times " + text_of(wrong.replica_times);
  }
  return out;
}
std::string outcome(const std::string& text) { return outcome(check(program_of(text))); }
std::string outcome(const std::string& mesh, const std::string& from, const std::string& to,
                    const std::string& steps = "") {
  return outcome(program(mesh, from, to, steps));
}

/// Why the text is no Program, or nothing when it is one.
std::string refusal(const std::string& text) {
  const Programs read = parse_programs(text);
  if (!read.error) return "";
  return std::to_string(read.error->line) + ": " + read.error->message;
}
bool says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

// Over x:2,y:2 device d is 2x + y.
const std::string square = "x:2,y:2", over_x = "groups=[[0,2],[1,3]]",
                  over_y = "groups=[[0,1],[2,3]]";

// The worked examples.

TEST(AddendExamples, A1_a_sum_over_all_devices) {
  EXPECT_EQ(outcome("x:4", "sum{x}[8]", "[8]",
                    "reducescatter dim=0 groups=[1,4]<=[4] tile=[2] map=[2{x}8]\n"
                    "allgather dim=0 groups=[1,4]<=[4] tile=[8] map=[8]"),
            "right 16 8 8");
  EXPECT_EQ(outcome("x:4", "sum{x}[8]", "[8]", "allreduce groups=[1,4]<=[4] tile=[8] map=[8]"),
            "right 16 8 8");
}

TEST(AddendExamples, A2_replicas_share_the_work) {
  EXPECT_EQ(outcome(square, "sum{x}[8]", "[8]",
                    "dynslice dim=0 groups=[2,2]<=[4] tile=[4] map=sum{x}[4{y}8]\n"
                    "reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0) tile=[2] map=[2{x,y}8]\n"
                    "allgather dim=0 groups=[1,4]<=[2,2]T(1,0) tile=[8] map=[8]"),
            "right 12 8 8");
  EXPECT_EQ(outcome(square, "sum{x}[8]", "[8]", "allreduce " + over_x), "right 16 8 8");
}

TEST(AddendExamples, A3_slice_then_add) {
  EXPECT_EQ(outcome(square, "sum{x}[8]", "[2{x,y}8]",
                    "dynslice dim=0 " + over_y + "\nreducescatter dim=0 " + over_x),
            "right 4 8 8");
  EXPECT_EQ(outcome(square, "sum{x}[8]", "[2{x,y}8]",
                    "reducescatter dim=0 " + over_x + "\ndynslice dim=0 " + over_y),
            "end 2 device 1 at [0] element [4] found [2]");
}

TEST(AddendExamples, A4_addends_change_places) {
  EXPECT_EQ(outcome(square, "sum{x}[8]", "sum{y}[8]", "allpermute source=[0,2,1,3]"),
            "right 8 8 8");
}

TEST(AddendExamples, A5_addends_and_two_dimensions) {
  const std::string scatter = "reducescatter dim=0 " + over_x + " map=[2{x}4, 2{y}4]\n";
  EXPECT_EQ(outcome(square, "sum{x}[4, 2{y}4]", "[1{y,x}4, 4]",
                    scatter + "alltoall split=0 concat=1 " + over_y + " map=[1{y,x}4, 4]"),
            "right 12 8 8");
  EXPECT_EQ(outcome(square, "sum{x}[4, 2{y}4]", "[2{y}4, 4]",
                    scatter + "allpermute source=[0,2,1,3] map=[2{y}4, 2{x}4]\nallgather dim=1 " +
                        over_x),
            "right 20 8 8");
}

TEST(AddendExamples, A6_a_sum_of_three_elements) {
  EXPECT_EQ(outcome(square, "sum{y}[3]", "[3]", "allreduce " + over_y), "right 6 3 3");
  EXPECT_EQ(outcome(square, "sum{y}[3]", "[3]",
                    "reducescatter dim=0 " + over_y +
                        " piece=2 tile=[2] map=[2{y}3]\n"
                        "allgather dim=0 " +
                        over_y),
            "right 6 3 3");
  EXPECT_EQ(outcome(square, "sum{y}[3]", "[3]", "reducescatter dim=0 " + over_y),
            "indivisible 0 device 0");
}

TEST(AddendExamples, A7_two_axes_of_different_size) {
  EXPECT_EQ(outcome("x:2,y:3", "sum{x}[6]", "[6]",
                    "dynslice dim=0 groups=[2,3]<=[6] map=sum{x}[2{y}6]\n"
                    "reducescatter dim=0 groups=[3,2]<=[2,3]T(1,0) map=[1{x,y}6]\n"
                    "allgather dim=0 groups=[1,6]<=[2,3]T(1,0)"),
            "right 8 6 6");
  EXPECT_EQ(outcome("x:2,y:3", "sum{y}[6]", "[6]",
                    "dynslice dim=0 groups=[3,2]<=[2,3]T(1,0) map=sum{y}[3{x}6]\n"
                    "reducescatter dim=0 groups=[2,3]<=[6] map=[1{y,x}6]\n"
                    "allgather dim=0 groups=[1,6]<=[6]"),
            "right 9 6 6");
}

TEST(AddendExamples, A8_an_allreduce_over_replicas) {
  const Verdict verdict =
      check(program_of(program(square, "sum{x}[2]", "[2]", "allreduce groups=[[0,1,2,3]]")));
  EXPECT_EQ(outcome(verdict), "addends 1 device 0 at [0] element [0] addend 0 times 2");
  EXPECT_EQ(verdict.cost, 4);
  EXPECT_EQ(verdict.steps, 1);
}

TEST(AddendExamples, A9_a_slice_in_the_place_of_a_sum) {
  EXPECT_EQ(outcome(square, "sum{x}[4]", "[2{x}4]", "dynslice dim=0 " + over_x),
            "addends 1 device 0 at [0] element [0] addend 1 times 0");
}

TEST(AddendExamples, A10_an_allreduce_over_the_wrong_axis) {
  EXPECT_EQ(outcome(square, "sum{x}[4]", "[4]", "allreduce " + over_y),
            "replicas 1 device 2 at [0] element [0] addend 0 times 0 replica 0 times 2");
}

// Layouts.

TEST(AddendLayouts, digits_of_addends) {
  // Two addends per axis, minor first; in another order they are others, but their sum is the same.
  EXPECT_EQ(outcome("x:2,y:3", "sum{x,y}[2]", "sum{y,x}[2]"), "right 0 2 2");
  EXPECT_EQ(outcome("x:2,y:3", "stack{x,y}[2]", "stack{y,x}[2]"),
            "addends 0 device 1 at [0] element [0] addend 1 times 0");
  EXPECT_EQ(outcome("x:2,y:3", "stack{x,y}[2]", "stack{3:2,1:3}[2]"), "right 0 2 2");
  EXPECT_EQ(outcome("x:6", "sum{x:(2)3}[2]", "[2]", "allreduce groups=[[0,1,2],[3,4,5]]"),
            "right 4 2 2");
  EXPECT_EQ(outcome("x:6", "sum{x:(1)2}[2]", "[2]", "allreduce groups=[[0,3],[1,4],[2,5]]"),
            "right 4 2 2");
  EXPECT_EQ(outcome("x:6", "sum { x : 6 } [ 2 ]", "[2]", "allreduce groups=[1,6]<=[6]"),
            "right 4 2 2");
  EXPECT_EQ(outcome("x:2", "sum{x}[]", "[]", "allreduce groups=[[0,1]]"), "right 2 1 1");
}

TEST(AddendLayouts, an_addend_alone_is_the_array) {
  // So this is a Program without addends, in which a step may be at fault for the end.
  EXPECT_EQ(outcome("x:1,y:2", "sum{x}[1{y}2]", "stack{x}[2]", "allgather dim=0 groups=[[0,1]]"),
            "right 2 2 2");
  EXPECT_EQ(outcome("x:1,y:2", "sum{x}[1{y}2]", "[2]", "allgather dim=0 groups=[[1,0]]"),
            "not_a_box 0 device 0 at [1] element [2] found [0]");
  EXPECT_EQ(outcome("x:2", "sum{x}[2]", "[2]", "allreduce groups=[[1,0]]"), "right 4 2 2");
}

TEST(AddendLayouts, what_is_refused) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"sum{}[8]", "expected a name"},
      {"sum[8]", "expected '{'"},
      {"sum{x[8]", "expected '}'"},
      {"sum{x}", "expected '['"},
      {"sum{z}[8]", "not in the mesh"},
      {"sum{x:3}[8]", "has size 2"},
      {"sum{x,x}[8]", "overlap"},
      {"sum{x}[4{x}8]", "overlap"},
      {"max{2:2}[4{x}8]", "overlap"},
      {"sum{4:2}[8]", "overlap"},
      {"sum{9223372036854775807:2,1:9223372036854775807}[8]", "overlap"},
      {"sum{x}[8]@0", "unexpected text"},
      {"sum{x}tile=[8] global=[8] at=[[0],[0],[0],[0]]", "expected '['"},
      {"sum{x}sum{y}[8]", "expected '['"},
      {"avg{x}[8]", "expected 'tile'"},
  };
  for (const auto& [layout, words] : all) {
    const std::string message = refusal(program(square, layout, "[8]"));
    EXPECT_TRUE(says(message, "3: ")) << layout << message;
    EXPECT_TRUE(says(message, words)) << layout << ": " << message;
    EXPECT_NE(refusal(program(square, "[8]", "[8]", "allreduce " + over_x + " map=" + layout)), "")
        << layout;
  }
  EXPECT_NE(refusal("retile.program/1\nmesh x:2\nfrom sum{x}[8]\nto [8]\n"), "");
  EXPECT_NE(refusal("retile.program/1\nmesh x:2\nfrom [8]\nto [8]\nallreduce groups=[[0,1]]\n"),
            "");
}

TEST(AddendLayouts, an_order_and_missing_positions_are_refused_with_addends) {
  const auto said = [](const std::string& mesh, const std::string& from, const std::string& to,
                       const std::string& more = "") {
    return refusal(program(mesh, from, to).insert(17, more));
  };
  EXPECT_EQ(said("x:2", "sum{x}[8]", "sum{x}[8]"), "");
  EXPECT_EQ(said("x:2,y:2 order=[4]<=[4]", "sum{x}[8]", "[8]"), "");
  EXPECT_EQ(said("x:2,y:2 order=[4]<=[2,2]T(0,1)<=[4]", "sum{x}[8]", "[8]"), "");
  EXPECT_EQ(said("x:2,y:2 order=[4]<=[2,2]T(1,0)<=[2,2]T(1,0)", "sum{x}[8]", "[8]"), "");
  EXPECT_TRUE(says(said("x:2,y:2 order=[4]<=[2,2]T(1,0)", "sum{x}[8]", "[8]"), "position"));
  EXPECT_TRUE(says(said("x:2,y:2 order=[4]<=[2,2]T(1,0)", "[8]", "sum{x}[8]"), "position"));
  EXPECT_TRUE(says(said("x:2,y:2 order=[0,1,2,3]", "sum{x}[8]", "[8]"), "position"));
  EXPECT_EQ(said("x:2,y:2 order=[0,2,1,3]", "[4{x}8]", "[8]"), "");
  EXPECT_TRUE(says(said("x:2", "sum{x}[8]", "[8]", "devices 3\n"), "position"));
  EXPECT_EQ(said("x:2", "[8]", "[8]", "devices 3\n"), "");
}

TEST(AddendLayouts, all_tilings_of_a_Program_add_in_one_way) {
  const auto said = [](const std::string& from, const std::string& to, const std::string& map = "",
                       const std::string& map2 = "") {
    std::string steps;
    for (const std::string& each : {map, map2}) {
      if (!each.empty()) steps += "allpermute source=[4]<=[4] map=" + each + "\n";
    }
    return refusal(program(square, from, to, steps));
  };
  EXPECT_EQ(said("sum{x}[8]", "sum{y}[8]", "sum{x,y}[8]", "[8]"), "");
  EXPECT_EQ(said("max{x}[8]", "[8]", "max{x}[8]"), "");
  EXPECT_EQ(said("[8]", "[8]", "min{x}[8]", "min{y}[8]"), "");
  EXPECT_TRUE(says(said("sum{x}[8]", "max{x}[8]"), "4: a tiling above adds in another way"));
  EXPECT_TRUE(says(said("sum{x}[8]", "[8]", "max{x}[8]"), "5: a tiling above adds"));
  EXPECT_TRUE(says(said("[8]", "min{x}[8]", "max{x}[8]"), "5: a tiling above adds"));
  EXPECT_TRUE(says(said("[8]", "[8]", "min{x}[8]", "max{x}[8]"), "6: a tiling above adds"));
  EXPECT_TRUE(says(said("sum{x}[8]", "stack{x}[8]"), "4: a tiling above adds"));
  EXPECT_EQ(said("stack{x}[8]", "stack{y}[8]", "stack{x}[4{y}8]"), "");
  EXPECT_TRUE(says(said("stack{x}[8]", "stack{x,y}[8]"), "4: where one tiling is a stack"));
  EXPECT_TRUE(says(said("stack{x}[8]", "[8]"), "4: where one tiling is a stack"));
  EXPECT_TRUE(says(said("[8]", "stack{x}[8]"), "4: where one tiling is a stack"));
  EXPECT_TRUE(says(said("[8]", "[8]", "stack{x}[8]"), "5: where one tiling is a stack"));
  EXPECT_TRUE(says(said("stack{x}[8]", "stack{x}[8]", "[8]"), "5: where one tiling is a stack"));
  // `to` may stand before `from`, and a second Program has its own way.
  EXPECT_TRUE(says(refusal("retile.program/2\nmesh x:2\nto max{x}[8]\nfrom sum{x}[8]\n"),
                   "3: a tiling above adds"));
  EXPECT_EQ(refusal(program(square, "sum{x}[8]", "[8]") + program(square, "max{x}[8]", "[8]")), "");
  // The axes of `to` may be those of a mesh of its own.
  EXPECT_EQ(outcome("retile.program/2\nmesh x:2\nfrom sum{x}[8]\nmesh z:2\nto sum{z}[8]\n"),
            "right 0 8 8");
}

// Steps.

TEST(AddendSteps, keys) {
  const auto said = [](const std::string& step) {
    return refusal(program(square, "[4, 4]", "[4, 4]", step));
  };
  for (const std::string step :
       {"reducescatter dim=0 groups=[2,2]<=[4]", "reducescatter groups=[2,2]<=[4] dim=1 piece=3",
        "reducescatter dim=0 groups=[2,2]<=[4] piece=3 add=max", "allreduce groups=[2,2]<=[4]",
        "allreduce add=sum groups=[2,2]<=[4]", "unreduce groups=[2,2]<=[4] add=min",
        "embed dim=0 groups=[2,2]<=[4]", "embed dim=1 groups=[2,2]<=[4] add=max tile=[4,8]",
        "exchange transfers=[] tile=[4,4] add=sum", "exchange transfers=[] add=max tile=[4,4]",
        "allreduce groups=[2,2]<=[4] tile=[4,4] map=sum{x}[4,4] at=[[0,0],[0,0],[0,0],[0,0]] "
        "shapes=[[4,4],[4,4],[4,4],[4,4]]",
        "exchange transfers=[] shapes=[[0,0],[0,0],[0,0],[0,0]] add=min"}) {
    EXPECT_EQ(said(step), "") << step;
  }
  for (const std::string step : {"reducescatter groups=[2,2]<=[4]",
                                 "reducescatter dim=0",
                                 "reducescatter dim=2 groups=[2,2]<=[4]",
                                 "reducescatter dim=0 groups=[2,2]<=[4] piece=0",
                                 "allreduce dim=0 groups=[2,2]<=[4]",
                                 "allreduce groups=[2,2]<=[4] piece=1",
                                 "allreduce",
                                 "unreduce dim=0 groups=[2,2]<=[4]",
                                 "unreduce groups=[2,2]<=[4] piece=1",
                                 "embed groups=[2,2]<=[4]",
                                 "embed dim=0 groups=[2,2]<=[4] piece=1",
                                 "allreduce groups=[2,2]<=[4] add=stack",
                                 "allreduce groups=[2,2]<=[4] add=",
                                 "allreduce groups=[2,2]<=[4] add=sums",
                                 "allreduce groups=[2,2]<=[4] add=sum add=sum",
                                 "allgather dim=0 groups=[2,2]<=[4] add=sum",
                                 "dynslice dim=0 groups=[2,2]<=[4] add=sum",
                                 "allpermute source=[4]<=[4] add=sum",
                                 "alltoall split=0 concat=1 groups=[2,2]<=[4] add=sum",
                                 "reducescatter split=0 groups=[2,2]<=[4]",
                                 "reducescatter dim=0 parts=2 part=[0,1,0,1]",
                                 "exchange add=sum tile=[4,4]",
                                 "allreduce groups=[2,2]<=[4] shapes=[[4,4],[4,4],[4,4],[4,4]]",
                                 "reducescatter dim=0 concat=0 groups=[2,2]<=[4]",
                                 "reduce_scatter dim=0 groups=[2,2]<=[4]"}) {
    EXPECT_NE(said(step), "") << step;
  }
  EXPECT_NE(refusal(program(square, "[]", "[]", "embed dim=0 groups=[2,2]<=[4]")), "");
  EXPECT_EQ(refusal(program(square, "[]", "[]", "unreduce groups=[2,2]<=[4]")), "");
}

TEST(AddendSteps, unreduce_and_embed_make_zeros) {
  EXPECT_EQ(outcome(square, "[4]", "sum{x}[4]", "unreduce " + over_x), "right 0 4 4");
  EXPECT_EQ(outcome(square, "[4]", "sum{x}[4]"),
            "addends 0 device 0 at [0] element [0] addend 0 times 2");
  EXPECT_EQ(outcome(square, "[4]", "sum{y}[4]", "unreduce " + over_x),
            "replicas 1 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
  EXPECT_EQ(outcome("x:4", "[4]", "[4]", "unreduce groups=[1,4]<=[4]\nallreduce groups=[1,4]<=[4]"),
            "right 8 4 4");
  EXPECT_EQ(outcome(square, "[2{x}4]", "sum{x}[4]", "embed dim=0 " + over_x + " tile=[4]"),
            "right 0 4 4");
  EXPECT_EQ(outcome(square, "[2{x}4]", "[4]", "embed dim=0 " + over_x + "\nallreduce " + over_x),
            "right 8 4 4");
  EXPECT_EQ(outcome(square, "[2{x}4]", "sum{x}[4]", "embed dim=0 groups=[[2,0],[3,1]]"),
            "end 1 device 0 at [2] element [2] found [0]");
  EXPECT_EQ(outcome(square, "[3, 2{x}4]", "sum{x}[3, 4]", "embed dim=1 " + over_x),
            "right 0 12 12");
}

TEST(AddendSteps, rows_of_one_device_cost_nothing) {
  for (const char* step : {"reducescatter dim=0 groups=[4,1]<=[4]", "allreduce groups=[4,1]<=[4]",
                           "unreduce groups=[4,1]<=[4]", "embed dim=0 groups=[4,1]<=[4]"}) {
    EXPECT_EQ(outcome(square, "[4]", "[4]", step), "right 0 4 4") << step;
  }
}

TEST(AddendSteps, all_others_move_sums_as_they_are) {
  EXPECT_EQ(outcome(square, "sum{x}[4]", "sum{x}[2{y}4]", "dynslice dim=0 " + over_y),
            "right 0 4 4");
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", "sum{x}[4]", "allgather dim=0 " + over_y),
            "right 4 4 4");
  EXPECT_EQ(outcome(square, "sum{x}[4, 2{y}4]", "sum{x}[2{y}4, 4]",
                    "alltoall split=0 concat=1 " + over_y),
            "right 8 8 8");
  EXPECT_EQ(outcome(square, "sum{x}[2]", "sum{x}[2]", "allpermute pairs=[[0,1],[1,0]]"),
            "right 2 2 2");
  EXPECT_EQ(outcome(square, "sum{x}[2]", "sum{x}[2]", "allpermute pairs=[[0,2],[2,0]]"),
            "replicas 1 device 1 at [0] element [0] addend 0 times 1 replica 0 times 0");
  EXPECT_EQ(outcome("x:2", "sum{x}[2]", "sum{x}[2]",
                    "exchange transfers=[[0,1,0,0,2],[1,0,0,0,2]] tile=[2]"),
            "right 2 2 2");
  // A gather that mixes addends: one half of each.
  EXPECT_EQ(outcome("x:2", "sum{x}[2]", "[2]",
                    "dynslice dim=0 groups=[[0,1]]\nallgather dim=0 groups=[[0,1]]"),
            "addends 2 device 0 at [0] element [0] addend 1 times 0");
}

TEST(AddendSteps, an_exchange_that_adds) {
  const std::string both = "exchange transfers=[[0,0,0,0,4],[0,1,0,0,4],[1,0,0,0,4],[1,1,0,0,4]]";
  EXPECT_EQ(outcome("x:2", "sum{x}[4]", "[4]", both + " tile=[4] add=sum"), "right 8 4 4");
  EXPECT_EQ(outcome("x:2", "sum{x}[4]", "[4]", both + " tile=[4]"), "transfers 0 device 0 at [0]");
  EXPECT_EQ(outcome("x:2", "sum{x}[4]", "[4]", both + " tile=[4] add=max"), "addends 0");
  EXPECT_EQ(outcome("x:2", "max{x}[4]", "[4]", both + " tile=[4] add=max"), "right 8 4 4");
  EXPECT_EQ(outcome("x:2", "sum{x}[4]", "[2{x}4]",
                    "exchange transfers=[[0,0,0,0,2],[0,1,0,0,2],[1,0,0,2,2],[1,1,0,2,2]] "
                    "add=sum tile=[2]"),
            "right 4 4 4");
  // Where nothing is put there is zero, and own elements cost as others do.
  EXPECT_EQ(outcome("x:2", "[2{x}4]", "sum{x}[4]",
                    "exchange transfers=[[0,0,0,0,2],[1,1,2,0,2]] tile=[4] add=sum"),
            "right 0 4 4");
  EXPECT_EQ(outcome("x:2", "[4]", "sum{x}[4]",
                    "exchange transfers=[[0,0,0,0,2],[0,1,2,2,1],[1,0,3,3,1]] tile=[4] add=sum"),
            "right 3 4 4");
  EXPECT_EQ(outcome("x:2", "[4]", "[4]", "exchange transfers=[] tile=[4] add=sum"),
            "addends 1 device 0 at [0] element [0] addend 0 times 0");
  EXPECT_EQ(outcome("x:2", "[2]", "[2]",
                    "exchange transfers=[[0,0,0,0,2],[0,0,1,1,1],[1,1,0,0,2]] tile=[2] add=sum"),
            "replicas 1 device 1 at [1] element [1] addend 0 times 1 replica 0 times 2");
  EXPECT_EQ(outcome("x:2", "[2]", "[2]",
                    "exchange transfers=[[0,0,0,0,2],[0,0,1,1,1],[1,1,0,0,2]] tile=[2] add=max"),
            "right 0 2 2");
  EXPECT_EQ(outcome("x:2", "[2]", "[2]", "exchange transfers=[[0,1,1,0,2]] tile=[2] add=sum"),
            "transfers 0 device 0 at [1]");
  EXPECT_EQ(outcome("x:2", "[2]", "[2]", "exchange transfers=[[0,1,0,1,2]] tile=[2] add=sum"),
            "transfers 0 device 1 at [1]");
  EXPECT_EQ(outcome("x:2", "sum{x}[3]", "[2{x}3]",
                    "exchange transfers=[[0,0,0,0,2],[0,1,0,0,2],[1,0,0,2,1],[1,1,0,2,1]] "
                    "shapes=[[2],[1]] add=sum"),
            "right 4 3 3");
}

TEST(AddendSteps, uneven_tiles) {
  const std::string piece = "reducescatter dim=0 groups=[1,3]<=[3] piece=";
  EXPECT_EQ(outcome("x:3", "sum{x}[7]", "[3{x}7]", piece + "3 tile=[3]"), "right 7 7 7");
  EXPECT_EQ(outcome("x:3", "sum{x}[4]", "[2{x}4]", piece + "2"), "right 4 4 4");
  EXPECT_EQ(outcome("x:3", "sum{x}[7]", "[3{x}7]", piece + "2"), "end 1 device 0");
  EXPECT_EQ(outcome("x:3", "sum{x}[7]", "[3{x}7]", "reducescatter dim=0 groups=[1,3]<=[3]"),
            "indivisible 0 device 0");
  EXPECT_EQ(outcome(square, "sum{y}[3{x}5]", "[3{x}5]", "allreduce " + over_y), "right 6 3 3");
  EXPECT_EQ(outcome(square, "sum{y}[3{x}5]", "[3{x}5]", "allreduce " + over_x),
            "ragged 0 device 2");
  EXPECT_EQ(outcome(square, "sum{y}[3{x}5]", "[(0,2,3,5,5){y,x}5]",
                    "reducescatter dim=0 " + over_y + " piece=2"),
            "right 3 3 3");
  EXPECT_EQ(outcome(square, "[3{x}5]", "sum{y}[3{x}5]", "unreduce " + over_y), "right 0 3 3");
  EXPECT_EQ(outcome(square, "[3{x}5]", "[3{x}5]", "unreduce " + over_x),
            "addends 1 device 2 at [0] element [3] addend 0 times 0");
}

TEST(AddendSteps, empty_tiles) {
  // p:4 over 9 in tiles of 3: device 3 of a row holds nothing.
  EXPECT_EQ(outcome("x:2,p:4", "sum{x}[3{p}9]", "[3{p}9]",
                    "allreduce groups=[4,2]<=[2,4]T(1,0) map=[3{p}9]"),
            "right 6 3 3");
  EXPECT_EQ(outcome("x:2,p:4", "sum{x}[3{p}9]", "[(0,2,3,5,6,8,9,9,9){x,p}9]",
                    "reducescatter dim=0 groups=[4,2]<=[2,4]T(1,0) piece=2"),
            "right 3 3 3");
  EXPECT_EQ(outcome("p:4", "[3{p}9]", "[3{p}9]", "allreduce groups=[2,2]<=[4]"),
            "ragged 0 device 3");
  EXPECT_EQ(outcome("p:4", "[3{p}9]", "[3{p}9]", "allreduce groups=[[3,2],[0,1]]"),
            "ragged 0 device 2");
  EXPECT_EQ(outcome("p:4", "[3{p}9]", "[3{p}9]", "embed dim=0 groups=[[3,2],[0,1]]"),
            "ragged 0 device 2");
  EXPECT_EQ(outcome("p:4", "[1{p}2]", "[2~{2:2}2]", "reducescatter dim=0 groups=[[0,1],[2,3]]"),
            "indivisible 0 device 0");
  EXPECT_EQ(outcome("p:4", "[1{p}2]", "[1{p}2]", "embed dim=0 groups=[[0,1],[2,3]] tile=[2]"),
            "end 1 device 0");
}

// Reasons.

TEST(AddendReasons, come_in_order) {
  const auto said = [](const std::string& step) {
    return outcome(square, "sum{y}[3{x}5]", "[3{x}5]", step);
  };
  EXPECT_EQ(said("allreduce groups=[[0,1],[2]]"), "groups 0 device 3");
  EXPECT_EQ(said("allreduce groups=[[0,1],[2,2]] add=max"), "groups 0 device 2");
  EXPECT_EQ(said("allreduce groups=[[0,1,2],[3]]"), "groups 0");
  EXPECT_EQ(said("reducescatter dim=0 groups=[[3,1],[2,0]] add=max"), "indivisible 0 device 0");
  EXPECT_EQ(said("reducescatter dim=0 groups=[[3,1],[2,0]] piece=2 add=max"), "ragged 0 device 1");
  EXPECT_EQ(said("reducescatter dim=0 groups=[[1,3],[0,2]] piece=2 add=max"), "ragged 0 device 3");
  EXPECT_EQ(said("reducescatter dim=0 groups=[[0,1],[2,3]] piece=2 add=max tile=[1]"), "addends 0");
  EXPECT_EQ(said("allreduce groups=[[0,1],[2,3]] add=min"), "addends 0");
  EXPECT_EQ(said("unreduce groups=[[0,1],[2,3]] add=min"), "addends 0");
  EXPECT_EQ(said("allreduce groups=[[0,1],[2,3]] tile=[2] map=[5]"), "tile_claim 0 device 0");
  EXPECT_EQ(said("allreduce groups=[[0,1],[2,3]] tile=[3] map=[5] at=[[1],[1],[1],[1]]"),
            "map_claim 0 device 0");
  EXPECT_EQ(said("allreduce groups=[[0,1],[2,3]] tile=[3] map=[3{x}5] at=[[1],[1],[1],[1]]"),
            "map_claim 0 device 0 at [0] element [1] found [0]");
}

TEST(AddendReasons, the_end_is_looked_at_in_order) {
  // (a) before (b): a later device has another shape.
  EXPECT_EQ(outcome("x:2", "sum{x}[4]", "[(0,4,4){x}4]", "allpermute source=[1,0]"),
            "end 1 device 1");
  // (b) before (c): replicas differ on device 2, and it holds another element.
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", "[2{y}4]", ""),
            "replicas 0 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", "[2{y}4]", "allpermute source=[0,1,2,0]"),
            "bijection 0 device 0");
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", "[2{y}4]", "allpermute source=[0,1,3,2]"),
            "end 1 device 2 at [0] element [0] found [2]");
  // (c) before (d): device 0 lacks addend 1, and 3 is no replica of 1.
  EXPECT_EQ(outcome(square, "sum{x}[2]", "sum{y}[2]", ""),
            "replicas 0 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
}

TEST(AddendReasons, the_least_offending_term_is_found) {
  // On every device at [0]: elements 0 and 2 of addend 0, and 0 and 2 of addend 1.
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", "[(0,2,4){y}4]", "allreduce groups=[1,4]<=[4]"),
            "end 1 device 0 at [0] element [0] found [2]");
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", "[(0,2,4){y}4]",
                    "allpermute source=[1,0,2,3]\nallreduce " + over_x),
            "end 2 device 0 at [0] element [0] found [2]");
}

TEST(AddendReasons, no_step_is_blamed_for_a_wrong_end) {
  EXPECT_EQ(
      outcome("x:2,y:2", "sum{x}[1{y}2]", "sum{x}[2]", "allgather dim=0 groups=[[1,0],[3,2]]"),
      "end 1 device 0 at [0] element [0] found [1]");
}

TEST(AddendReasons, maximum_and_minimum_count_once) {
  for (const std::string way : {"max", "min"}) {
    const std::string all = "allreduce groups=[[0,1,2,3]] add=" + way;
    EXPECT_EQ(outcome(square, way + "{x}[2]", "[2]", all), "right 4 2 2");
    EXPECT_EQ(outcome(square, way + "{x}[2]", "[2]", all + "\n" + all), "right 8 2 2");
    EXPECT_EQ(outcome(square, way + "{x}[2]", way + "{y}[2]", all), "right 4 2 2");
    EXPECT_EQ(outcome(square, "[2]", way + "{y}[2]"), "right 0 2 2");
    EXPECT_EQ(outcome(square, way + "{x}[2]", "[2]"),
              "replicas 0 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
    EXPECT_EQ(outcome(square, way + "{x}[4]", "[2{x}4]", "dynslice dim=0 " + over_x),
              "addends 1 device 0 at [0] element [0] addend 1 times 0");
    EXPECT_EQ(outcome(square, way + "{x}[2]", "[2]", "allreduce groups=[[0,1,2,3]]"), "addends 0");
  }
}

TEST(AddendReasons, a_stack_is_kept_apart) {
  EXPECT_EQ(outcome(square, "stack{x}[4]", "stack{x}[4]"), "right 0 4 4");
  EXPECT_EQ(outcome(square, "stack{x}[4]", "stack{y}[4]", "allpermute source=[0,2,1,3]"),
            "right 4 4 4");
  EXPECT_EQ(outcome(square, "stack{x}[4]", "stack{x}[2{y}4]", "dynslice dim=0 " + over_y),
            "right 0 4 4");
  EXPECT_EQ(outcome(square, "stack{x}[4]", "stack{x}[4]", "allpermute source=[2,3,0,1]"),
            "addends 1 device 0 at [0] element [0] addend 0 times 0");
  EXPECT_EQ(outcome(square, "sum{x}[4]", "sum{x}[4]", "allpermute source=[2,3,0,1]"),
            "right 4 4 4");
  EXPECT_EQ(outcome(square, "stack{x}[4]", "stack{y}[4]"),
            "replicas 0 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
  for (const std::string add : {"", " add=max", " add=min", " add=sum"}) {
    EXPECT_EQ(outcome(square, "stack{x}[4]", "stack{x}[4]", "unreduce groups=[4,1]<=[4]" + add),
              "addends 0");
  }
}

TEST(AddendReasons, claims_on_the_way) {
  const std::string slice = "dynslice dim=0 " + over_y;
  const auto said = [&](const std::string& claim) {
    return outcome(square, "sum{x}[4]", "sum{x}[2{y}4]", slice + " " + claim);
  };
  EXPECT_EQ(said("map=sum{x}[2{y}4]"), "right 0 4 4");
  EXPECT_EQ(said("map=[2{y}4]"),
            "map_claim 0 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
  EXPECT_EQ(said("map=sum{y}[2{x}4]"), "map_claim 0 device 1 at [0] element [0] found [2]");
  EXPECT_EQ(outcome("x:2", "sum{x}[2]", "sum{x}[2]", "allpermute source=[2]<=[2] map=[1{x}2]"),
            "map_claim 0 device 0");
  EXPECT_EQ(outcome("x:2", "sum{x}[2]", "[1{x}2]", "dynslice dim=0 groups=[[0,1]] map=[1{x}2]"),
            "map_claim 0 device 0 at [0] element [0] addend 1 times 0");
  // `at` and `shapes` say nothing of addends.
  EXPECT_EQ(said("at=[[0],[2],[0],[2]]"), "right 0 4 4");
  EXPECT_EQ(said("at=[[0],[2],[0],[2]] shapes=[[2],[2],[2],[2]]"), "right 0 4 4");
  EXPECT_EQ(said("at=[[1],[2],[0],[2]] shapes=[[2],[2],[2],[1]]"), "map_claim 0 device 3");
  EXPECT_EQ(said("at=[[0],[2],[0],[1]]"), "map_claim 0 device 3 at [0] element [1] found [2]");
  // Zeros are anywhere.
  const std::string far = std::to_string(std::numeric_limits<Size>::max());
  EXPECT_EQ(outcome("x:2", "[2]", "sum{x}[2]", "unreduce groups=[[0,1]] at=[[0],[7]]"),
            "right 0 2 2");
  EXPECT_EQ(outcome("x:2", "[2]", "sum{x}[2]", "unreduce groups=[[0,1]] at=[[0],[" + far + "]]"),
            "right 0 2 2");
  EXPECT_EQ(
      outcome("x:2", "[1{x}2]", "sum{x}[2]", "embed dim=0 groups=[[0,1]] at=[[0],[" + far + "]]"),
      "map_claim 0 device 1 at [1] found [1]");
}

TEST(AddendReasons, ends_that_have_no_digits) {
  EXPECT_EQ(outcome("x:2", "sum{x}[4]", "[4]@1",
                    "exchange transfers=[[1,0,0,0,4],[1,1,0,0,4]] shapes=[[0],[4]] add=sum"),
            "right 8 4 4");
  EXPECT_EQ(
      outcome("x:2", "sum{x}[4]", "[4]@1", "exchange transfers=[[1,1,0,0,4]] shapes=[[0],[4]]"),
      "addends 1 device 1 at [0] element [0] addend 0 times 0");
  // Devices with one box are replicas.
  const std::string listed = "tile=[2] global=[4] at=[[0],[2],[0],[2]]";
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", listed, "allreduce " + over_x), "right 4 2 2");
  EXPECT_EQ(outcome(square, "sum{x}[2{y}4]", listed),
            "replicas 0 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
  EXPECT_EQ(outcome(square, listed, "sum{x}[2{y}4]", "unreduce " + over_x), "right 0 2 2");
  // A device at no position holds nothing, and is no replica.
  EXPECT_EQ(outcome("retile.program/2\nmesh x:2\ndevices 3\nfrom [1{x}2]\nto [1{x}2]\n"
                    "unreduce groups=[[0],[1],[2]]\n"),
            "right 0 1 1");
  EXPECT_EQ(outcome("retile.program/2\nmesh x:2 order=[2,0]\ndevices 3\nfrom [1{x}2]\nto [2]\n"
                    "exchange transfers=[[0,0,1,0,1],[0,2,0,0,1],[2,0,1,0,1]] "
                    "shapes=[[2],[0],[2]] add=sum\n"),
            "replicas 1 device 2 at [0] element [0] addend 0 times 0 replica 0 times 1");
}

TEST(AddendReasons, the_way_of_a_Program_is_the_first_that_is_said) {
  EXPECT_EQ(addition_of(program_of(program(square, "[2]", "[2]"))), Addition::none);
  EXPECT_EQ(addition_of(program_of(program(square, "[2]", "[2]", "allreduce " + over_x))),
            Addition::sum);
  EXPECT_EQ(addition_of(program_of(program(
                square, "[2]", "[2]", "unreduce " + over_x + " add=min\nallreduce " + over_x))),
            Addition::min);
  EXPECT_EQ(addition_of(program_of(
                program(square, "[2]", "[2]",
                        "allreduce " + over_x + "\nallreduce " + over_x + " map=max{x}[2]"))),
            Addition::max);
  EXPECT_EQ(addition_of(program_of(program(square, "[2]", "min{x}[2]", "allreduce " + over_x))),
            Addition::min);
  EXPECT_EQ(addition_of(program_of("retile.program/1\ndevices 1\nfrom [1]\nto [1]\n")),
            Addition::none);
  EXPECT_EQ(outcome(square, "[2]", "[2]", "unreduce " + over_x + " add=min\nallreduce " + over_x),
            "addends 1");
}

TEST(AddendLimits, counts_and_terms) {
  std::string doubled;
  for (int k = 0; k < 62; ++k) doubled += "allreduce groups=[[0,1]]\n";
  EXPECT_EQ(outcome("x:2", "[1]", "[1]", doubled),
            "addends 62 device 0 at [0] element [0] addend 0 times 4611686018427387904");
  const std::string too_large = "undecided: how often an addend is added is not below 2^63";
  EXPECT_EQ(outcome("x:2", "[1]", "[1]", doubled + "allreduce groups=[[0,1]]"), too_large);
  EXPECT_EQ(outcome("x:2", "[1]", "[1]", doubled + "allreduce groups=[[0,1]] tile=[2]"),
            "tile_claim 62 device 0");
  EXPECT_EQ(outcome("x:2", "[1]", "[1]", doubled + "allreduce groups=[[0,1]] add=max"),
            "addends 62");
  EXPECT_EQ(outcome("x:2", "[1]", "sum{x}[1]", doubled), too_large);  // a total
}

/// Millions of tags each, so they do not run every day (RETILE_CASES_WITH_ALL).
TEST(AddendLimits, millions_of_terms) {
  EXPECT_EQ(outcome("x:2900", "[2900]", "[2900]", "allreduce groups=[1,2900]<=[2900]").substr(0, 9),
            "addends 1");
  EXPECT_EQ(outcome("x:2", "sum{x}[4200000]", "sum{x}[4200000]"),
            "undecided: more than 2^23 terms in different formal sums");
  EXPECT_EQ(outcome("x:1024", "[1024]", "[1024]", "embed dim=0 groups=[1,1024]<=[1024]"),
            "undecided: more than 2^28 tags on all devices together");
}

}  // namespace
}  // namespace spec::check_addends_test
