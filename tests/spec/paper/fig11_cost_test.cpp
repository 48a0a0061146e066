#include "spec/paper/fig11_cost.h"

#include <gtest/gtest.h>

#include <limits>

#include "spec/paper/def4_sequences.h"

namespace spec::fig11_cost_test {
namespace {

TEST(Fig11, each_label_has_its_price) {
  EXPECT_EQ(cost(Op::allpermute, 6, 6), 6);
  EXPECT_EQ(cost(Op::dynslice, 6, 2), 0);
  EXPECT_EQ(cost(Op::allgather, 2, 6), 6);
  EXPECT_EQ(cost(Op::alltoall, 6, 6), 6);
}

TEST(Fig11, a_sequence_costs_the_sum) {
  EXPECT_EQ(cost({Op::dynslice, Op::alltoall, Op::allpermute, Op::allgather}, {8, 4, 4, 4, 12}),
            20);
  EXPECT_EQ(cost(std::vector<Op>(), {8}), 0);
  EXPECT_EQ(cost({Op::alltoall}, {8}), std::nullopt);
  const Size most = std::numeric_limits<Size>::max();
  EXPECT_EQ(cost({Op::alltoall, Op::alltoall}, {most, most, most}), std::nullopt);
}

}  // namespace
}  // namespace spec::fig11_cost_test
