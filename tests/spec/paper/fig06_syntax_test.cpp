#include "spec/paper/fig06_syntax.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/spec/values.h"

namespace spec::fig06_syntax_test {
namespace {

TEST(Fig06, reads_a_type_as_the_figure_says) {
  const Mesh H = mesh("x:4,y:2,z:4");
  const Type tau = type(H, "[8{x}32, 16{y,z}128, 32]");
  EXPECT_EQ(axes(tau[1]), (Names{"y", "z"}));
  EXPECT_EQ(axes(tau), (Names{"x", "y", "z"}));
  EXPECT_EQ(rank(tau), 3U);
  EXPECT_EQ(globaltype(tau), (Sizes{32, 128, 32}));
  EXPECT_EQ(localtype(tau), (Sizes{8, 16, 32}));
  EXPECT_EQ(globalsize(tau), 131072);
  EXPECT_EQ(localsize(tau), 4096);
  EXPECT_EQ(lookup(H, "z"), 4);
  EXPECT_EQ(lookup(H, "w"), std::nullopt);
}

/// E1: rank 0 exists; its one element is on every device.
TEST(Fig06, E1_rank_0_has_one_element) {
  EXPECT_EQ(rank(Type()), 0U);
  EXPECT_EQ(globalsize(Type()), 1);
  EXPECT_EQ(localsize(Type()), 1);
}

TEST(Fig06, sizes_stay_below_2_63) {
  const Size half = Size{1} << 62;
  EXPECT_EQ(product({half, 1}), half);
  EXPECT_EQ(product({half, 2}), std::nullopt);
  EXPECT_EQ(times(half, 2), std::nullopt);
  EXPECT_EQ(size_of({half}), half);
  EXPECT_THROW(size_of({half, 2}), std::overflow_error);
}

}  // namespace
}  // namespace spec::fig06_syntax_test
