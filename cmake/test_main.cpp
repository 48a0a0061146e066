// main() of every test program that has none of its own. A program in which all tests were skipped
// ends with code 77, which CTest shows as "skipped": a test without its device must not count as
// passed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "only_file.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  retile_tests::narrow_to_file(argc, argv);
  const int status = RUN_ALL_TESTS();
  const auto& tests = *testing::UnitTest::GetInstance();
  if (tests.test_to_run_count() == 0) return 1;  // a program without tests checks nothing
  const bool all_skipped = tests.skipped_test_count() == tests.test_to_run_count();
  return status == 0 && all_skipped ? 77 : status;
}
