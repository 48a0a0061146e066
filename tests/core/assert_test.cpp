#include "retile/core/assert.h"

#include <gtest/gtest.h>

#include <string>

namespace assert_test {
namespace {

TEST(AssertDeathTest, a_false_condition_aborts_with_condition_place_and_facts) {
  const int devices = 3;
  EXPECT_DEATH(RETILE_ASSERT(devices == 4, "3 devices"),
               "devices == 4 .*assert_test.cpp:.*: 3 devices");
}

TEST(Assert, a_true_condition_goes_on_and_does_not_build_the_facts) {
  bool built = false;
  const auto facts = [&] {
    built = true;
    return std::string("facts");
  };
  RETILE_ASSERT(1 + 1 == 2, facts());
  EXPECT_FALSE(built);
}

}  // namespace
}  // namespace assert_test
