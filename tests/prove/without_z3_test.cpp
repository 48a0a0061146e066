// The room without a solver: it says so, and no Program gets a wrong answer.
#include <gtest/gtest.h>

#include "retile/program/forms/text.h"
#include "retile/prove/prove.h"

namespace retile {
namespace {

TEST(WithoutZ3, refuses_every_program_and_says_why) {
  const auto programs = parse_programs(
      "retile.program/1\nmesh x:2\nfrom [1{x}2]\nto [2]\nallgather dim=0 groups=[1,2]<=[2]\n");
  ASSERT_TRUE(programs);
  EXPECT_FALSE(solver_is_built());
  const auto proof = prove(programs->front());
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, Code::unsupported);
  EXPECT_EQ(render(proof.error()),
            "error: no solver: this library was built without Z3\n"
            "note: check replays a Program without a solver\n");
}

TEST(WithoutZ3, says_what_was_proved_elsewhere) {
  EXPECT_EQ(method_name(ProofMethod::symbolic), "symbolic");
  EXPECT_EQ(method_name(ProofMethod::evaluation), "evaluation");
}

}  // namespace
}  // namespace retile
