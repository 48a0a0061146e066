// What `retile-oracle certify` calls optimal, of verdicts that no replay has to give first.
#include "spec/oracle/certify.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace spec::oracle::certify_test {
namespace {

const std::string program =
    "retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]\n";

std::string answer(const Verdict& verdict) {
  const std::string text = program + "lower_bound 4\npotential [4] 0 4\nend\n";
  CertificateReader reader(text);
  return optimal(reader.program(), verdict, reader);
}

TEST(OracleCertify, only_what_costs_the_bound_and_keeps_within_the_larger_end_is_optimal) {
  const Verdict right = spec::check(ProgramReader(program).programs().front());
  ASSERT_EQ(right.cost, 4);
  EXPECT_EQ(answer(right), "true");
  Verdict other = right;
  other.within_bound = false;
  EXPECT_EQ(answer(other), "false");
  other = right;
  other.cost = 5;
  EXPECT_EQ(answer(other), "false");
  // The lower bound is about other sequences than this one.
  other.cost = 3;
  EXPECT_EQ(answer(other), "not comparable");
}

TEST(OracleCertify, what_a_step_along_several_dimensions_costs_compares_with_nothing) {
  const std::string text = program + "lower_bound 4\npotential [4] 0 4\nend\n";
  CertificateReader reader(text);
  Program along = reader.program();
  const Verdict right = spec::check(along);
  EXPECT_EQ(optimal(along, right, reader), "true");
  along.steps.front().grid = Grid{{}, {0}, {2}};
  EXPECT_EQ(optimal(along, right, reader), "not comparable");
}

TEST(OracleCertify, with_their_scope_steps_along_several_dimensions_are_comparable) {
  const std::string text = program + "scope several_dims\nlower_bound 4\nend\n";
  std::ostringstream out;
  EXPECT_EQ(certify_text(text, true, out), yes);
  EXPECT_NE(out.str().find("along several dimensions"), std::string::npos) << out.str();
  CertificateReader reader(text);
  Program along = reader.program();
  const Verdict right = spec::check(along);
  along.steps.front().grid = Grid{{}, {0}, {2}};
  EXPECT_EQ(optimal(along, right, reader), "true");
  along.steps.front().adding = Adding::embed;
  EXPECT_EQ(optimal(along, right, reader), "not comparable");
  for (const char* const wrong : {"scope one_dim\nlower_bound 4\nend\n",
                                  "scope several_dims\nscope several_dims\nlower_bound 4\nend\n",
                                  "scope several_dims\nlower_bound 4\npotential [4] 0 4\nend\n",
                                  "scope several_dims\nend\n"}) {
    EXPECT_THROW(CertificateReader(program + wrong).program(), ParseError) << wrong;
  }
}

}  // namespace
}  // namespace spec::oracle::certify_test
