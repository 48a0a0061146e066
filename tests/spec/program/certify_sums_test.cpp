// Certificates of Programs with addends: what each check refuses, and which texts are read. That plans are
// certified and forgeries are not, tests/plan/adding_optimum_test.cpp sees.
#include "spec/program/certify_sums.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "spec/oracle/certify.h"

namespace spec::certify_sums_test {
namespace {

std::string row_text(const Sizes& row) {
  std::string out;
  for (const Size n : row) out += (out.empty() ? "[" : ",") + std::to_string(n);
  return out + "]";
}

/// The reason why not, with the state; "certified"; or what the reader says.
std::string outcome(const std::string& text, Size most = most_units) {
  const std::string whole = text + "end\n";
  try {
    CertificateReader reader(whole);
    const Program program = reader.program();
    SumsCertifier(program, reader.lines.C, reader.sums, most).run();
    return "certified";
  } catch (const ParseError& error) {
    return error.message;
  } catch (const Unproved& why) {
    return why.reason + " " + row_text(why.c);
  } catch (const TooLarge& what) {
    return what.why;
  }
}

const std::string program =
    "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[8]\nto [8]\n"
    "dynslice dim=0 groups=[2,2]<=[4]\nreducescatter dim=0 groups=[2,2]<=[2,2]T(1,0)\n"
    "allgather dim=0 groups=[1,4]<=[2,2]T(1,0)\n";
const std::string lines = "addends [2] 1 8\naddends [4] 1 8\naddends [8] 1 0\n";

TEST(SumsCertifier, a_proof_by_potentials) {
  EXPECT_EQ(outcome(program + "lower_bound 12\n" + lines), "certified");
  EXPECT_EQ(outcome(program + "lower_bound 11\n" + lines), "certified");
  EXPECT_EQ(outcome(program + "lower_bound 13\n" + lines), "potential [2,1]");
  // At most the new tile needs no line.
  EXPECT_EQ(outcome(program + "lower_bound 8\n"), "certified");
  EXPECT_EQ(outcome(program + "lower_bound 9\n"), "target [8,1]");
  EXPECT_EQ(outcome(program + "lower_bound 9\naddends [8] 1 0\n"), "potential [8,1]");
}

TEST(SumsCertifier, the_source_costs_the_bound) {
  const std::string more = lines + "addends [8] 2 ";
  EXPECT_EQ(outcome(program + "lower_bound 12\n" + more + "12\n"), "certified");
  EXPECT_EQ(outcome(program + "lower_bound 12\n" + more + "11\n"), "source [8,2]");
}

TEST(SumsCertifier, a_potential_is_of_a_state_and_no_more_than_the_bound) {
  const auto with = [&](const std::string& line) {
    return outcome(program + "lower_bound 12\n" + lines + line);
  };
  EXPECT_EQ(with("addends [1] 1 12\n"), "localtype [1,1]");      // 8 tiles on 4 devices
  EXPECT_EQ(with("addends [2] 2 12\n"), "localtype [2,2]");      // 4 tiles of 2 addends
  EXPECT_EQ(with("addends [3] 1 12\n"), "localtype [3,1]");      // does not divide
  EXPECT_EQ(with("addends [16] 1 12\n"), "localtype [16,1]");    // more than the array
  EXPECT_EQ(with("addends [8] 4 12\n"), "localtype [8,4]");      // more than at the start
  EXPECT_EQ(with("addends [4,1] 1 12\n"), "localtype [4,1,1]");  // another rank
  EXPECT_EQ(with("addends [4] 2 12\n"), "certified");
  EXPECT_EQ(with("addends [2] 1 13\n"), "localtype [2,1]");
}

TEST(SumsCertifier, addends_do_not_fall_below_those_of_the_end) {
  const std::string to_addends =
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x,y}[2]\nto sum{x}[2]\n"
      "allreduce groups=[2,2]<=[4]\nlower_bound 4\n";
  EXPECT_EQ(outcome(to_addends + "addends [1] 2 2\naddends [2] 2 0\n"), "certified");
  EXPECT_EQ(outcome(to_addends + "addends [1] 2 2\naddends [2] 2 0\naddends [2] 1 4\n"),
            "localtype [2,1]");
}

TEST(SumsCertifier, no_tile_is_above_the_bound) {
  const std::string small =
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[4{y}8]\nto [2{x,y}8]\n"
      "reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0)\nlower_bound 4\n";
  EXPECT_EQ(outcome(small + "addends [2] 1 0\naddends [4] 1 0\n"), "certified");
  EXPECT_EQ(outcome(small + "addends [2] 1 0\naddends [4] 1 0\naddends [8] 1 4\n"),
            "localtype [8,1]");
}

TEST(SumsCertifier, slices_alone_cost_nothing) {
  const auto bound = [](const std::string& ends) {
    return outcome("retile.program/2\nmesh x:2,y:2\n" + ends + "lower_bound 2\n");
  };
  const std::string sliced = "target [4,2]";
  EXPECT_EQ(bound("from sum{x}[8]\nto sum{x}[4{y}8]\n"), sliced);
  EXPECT_EQ(bound("from max{x}[8]\nto max{x}[4{y}8]\n"), sliced);
  EXPECT_EQ(bound("from sum{x,y}[8]\nto sum{y,x}[8]\n"), "target [8,4]");
  EXPECT_EQ(bound("from stack{x,y}[8]\nto stack{y,x}[8]\n"), "certified");
  EXPECT_EQ(bound("from sum{x}[8]\nto sum{y}[8]\n"), "certified");      // others have one addend
  EXPECT_EQ(bound("from sum{x}[8]\nto sum{y}[4{x}8]\n"), "certified");  // a tile lacks an addend
  EXPECT_EQ(bound("from sum{x}[8]\nto [4{y}8]\n"), "certified");        // fewer addends
  EXPECT_EQ(bound("from sum{x}[4{y}8]\nto sum{x}[8]\n"), "certified");  // larger tiles
}

TEST(SumsCertifier, what_is_above_the_new_tile_needs_lines) {
  const std::string small =
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[8]\nto [2{x,y}8]\n"
      "reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0)\n";
  EXPECT_EQ(outcome(small + "lower_bound 2\n"), "certified");
  EXPECT_EQ(outcome(small + "lower_bound 3\n"), "target [2,1]");
  EXPECT_EQ(outcome(small + "lower_bound 4\naddends [2] 1 0\naddends [4] 1 0\naddends [8] 1 0\n"),
            "certified");
  EXPECT_EQ(outcome(small + "lower_bound 5\naddends [2] 1 0\naddends [4] 1 0\naddends [8] 1 0\n"),
            "potential [2,1]");
  EXPECT_EQ(outcome(small + "lower_bound 5\naddends [2] 1 0\naddends [4] 1 0\naddends [8] 1 0\n"
                            "addends [4] 2 4\n"),
            "potential [4,2]");
}

TEST(SumsCertifier, an_allreduce_costs_twice_its_tile) {
  const std::string odd =
      "retile.program/2\nmesh x:2\nfrom sum{x}[3]\nto [3]\nallreduce groups=[[0,1]]\n";
  EXPECT_EQ(outcome(odd + "lower_bound 6\naddends [3] 1 0\n"), "certified");
  EXPECT_EQ(outcome(odd + "lower_bound 7\naddends [3] 1 0\n"), "potential [3,1]");
}

TEST(SumsCertifier, tiles_are_all_alike) {
  const auto of = [](const std::string& from, const std::string& to) {
    return outcome("retile.program/2\nmesh x:2,y:2\nfrom " + from + "\nto " + to +
                   "\nlower_bound 1\n");
  };
  EXPECT_EQ(of("sum{x}[4{y}8]", "[2{x,y}8]"), "certified");
  EXPECT_EQ(of("sum{x}[5{y}9]", "[9]"), "tiling [9]");
  EXPECT_EQ(of("sum{x}[5~{y}8]", "[8]"), "tiling [8]");
  EXPECT_EQ(of("sum{x}[(0,4,8){y}8]", "[8]"), "tiling [8]");
  EXPECT_EQ(of("sum{x}[8]", "[4{y}8<1,0>]"), "tiling [8]");
  EXPECT_EQ(of("sum{x}[8]", "[4{y}8<0,1>]"), "tiling [8]");
  EXPECT_EQ(of("sum{x}[8]", "[8]@1"), "tiling [8]");
}

TEST(SumsCertifier, counts_its_work) {
  // For each line a unit for every number up to that of the devices, and for the factors 2 and 4 the
  // 6 steps with 2 numbers.
  const Size work = 3 * (4 + 2 * 6 * 2);
  EXPECT_EQ(outcome(program + "lower_bound 12\n" + lines, work), "certified");
  EXPECT_EQ(outcome(program + "lower_bound 12\n" + lines, work - 1), too_much_work.why);
}

TEST(SumsCertifier, other_texts_are_refused_by_name) {
  const std::string whole = "retile.program/2\nmesh x:2\nfrom [2{x}4]\nto [4]\n";
  const std::string sums = "retile.program/2\nmesh x:2\nfrom sum{x}[4]\nto [4]\n";
  EXPECT_EQ(outcome(whole + "lower_bound 4\n"),
            "certify reads retile.program/1 alone, and /2 where `from` has addends or the scope is "
            "several_dims");
  EXPECT_EQ(outcome(sums + "lower_bound 4\nfact cost [4]\n"), "there are no facts about addends");
  EXPECT_EQ(outcome(sums + "lower_bound 4\n"), "certified");
}

std::string said(const std::string& text) {
  std::ostringstream out;
  oracle::certify_text(text + "end\n", false, out);
  return out.str();
}

TEST(SumsCertifier, what_the_verb_says) {
  EXPECT_NE(
      said(program + "lower_bound 12\n" + lines).find("(Fig. 10), reducescatter, allreduce, "),
      std::string::npos);
  EXPECT_NE(said(program + "lower_bound 12\n" + lines).find("optimal: true"), std::string::npos);
  EXPECT_NE(said(program + "lower_bound 8\n").find("optimal: false"), std::string::npos);
  EXPECT_NE(said(program + "lower_bound 13\n" + lines).find("localtype_and_addends: [2,1]"),
            std::string::npos);
  // Who makes zeros is beyond the scope.
  const std::string zeros =
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[8]\nto [8]\nunreduce groups=[2,2]<=[4]\n"
      "allreduce groups=[1,4]<=[4]\nlower_bound 8\n";
  EXPECT_NE(said(zeros).find("optimal: not comparable"), std::string::npos);
}

}  // namespace
}  // namespace spec::certify_sums_test
