#include "retile/core/deadline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace retile::deadline_test {
namespace {

TEST(Deadline, passes_when_its_time_is_up_and_not_before) {
  EXPECT_FALSE(Deadline().passed());
  EXPECT_TRUE(std::isinf(Deadline().seconds_left()));
  EXPECT_FALSE(Deadline::in(1000).passed());
  EXPECT_LE(Deadline::in(1000).seconds_left(), 1000);
  EXPECT_GT(Deadline::in(1000).seconds_left(), 900);
  const Deadline soon = Deadline::in(0.02);
  EXPECT_FALSE(soon.passed());
  while (!soon.passed()) {
  }
  EXPECT_EQ(soon.seconds_left(), 0);
}

TEST(Deadline, any_number_of_seconds_will_do) {
  for (const double never : {std::numeric_limits<double>::infinity(), 1e300, std::nan("")}) {
    EXPECT_FALSE(Deadline::in(never).passed()) << never;
  }
  for (const double at_once : {0.0, -1.0, -std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(Deadline::in(at_once).passed()) << at_once;
  }
}

TEST(Watch, sees_a_deadline_within_a_millisecond_of_work) {
  Watch late(Deadline::in(0));
  EXPECT_FALSE(late.in_time());
  EXPECT_FALSE(late.in_time());
  Watch never{Deadline()};
  EXPECT_TRUE(never.in_time(Size{1} << 60));
  const Deadline soon = Deadline::in(0.01);
  Watch watch(soon);
  Size rounds = 0;
  while (watch.in_time(100)) ++rounds;
  EXPECT_TRUE(soon.passed());
  EXPECT_GT(rounds, 0);
}

}  // namespace
}  // namespace retile::deadline_test
