// Many arrays in one run, with tiles that are spoiled after a move, and arrays of a kind as one.
#include "retile/run/many.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/spoiling.h"
#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/sim/executor.h"
#include "retile/many/stack.h"
#include "retile/notation/paper/problem.h"

namespace many_run_test {
namespace {

using retile::Program;
using retile::Size;
using retile::run::Batch;
using retile::run::WrongArray;

/// So many arrays of a problem over x:2 as one, whose devices are those at `at` of four.
Program program_of(std::string_view from, std::string_view to, Size count,
                   const std::vector<Size>& at) {
  const auto problem = retile::parse_problem("x:2", from, to).value();
  return retile::direct(retile::many::stacked(problem, count, at, 4).value()).value();
}

Batch batch_of(const Program& program, Size count) {
  return {
      .program = &program,
      .executor =
          retile::sim::make_executor(program, {retile::ElementKind::unsigned_integer, 2}).value(),
      .element_bytes = 2,
      .arrays = count};
}

TEST(ManyRun, arrays_of_a_kind_are_one) {
  const Program program = program_of("[3{x}6, 4]", "[6, 2{x}4]", 5, {3, 1});
  EXPECT_EQ(program.from.global(), (retile::Shape{5, 6, 4}));
  EXPECT_EQ(program.from.box(3), (retile::Box{{0, 0, 0}, {5, 3, 4}}));
  EXPECT_EQ(program.from.box(1), (retile::Box{{0, 3, 0}, {5, 3, 4}}));
  EXPECT_EQ(program.to.box(1), (retile::Box{{0, 0, 2}, {5, 6, 2}}));
  EXPECT_TRUE(program.from.box(0).is_empty());
  EXPECT_EQ(check(program).answer, retile::Answer::right);
}

TEST(ManyRun, what_cannot_be_one_is_refused) {
  for (const char* const from : {"sum{x}[8]", "[1@{x}8]"}) {
    const auto problem = retile::parse_problem("x:2", from, "[8]").value();
    const auto made = retile::many::stacked(problem, 2, {0, 1}, 2);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, retile::Code::unsupported);
  }
}

TEST(ManyRun, every_element_is_compared) {
  const Program one = program_of("[3{x}6, 4]", "[6, 2{x}4]", 5, {0, 1});
  const Program other = program_of("[8]", "[4{x}8]", 2, {2, 3});
  std::vector<Batch> batches;
  batches.push_back(batch_of(one, 5));
  batches.push_back(batch_of(other, 2));
  int told = 0;
  const auto report = retile::run::run_many(
      batches, 3,
      [&told](std::string_view, Size done, Size total) { told += done <= total ? 1 : -100; });
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->wrong);
  EXPECT_EQ(report->elements_checked, 2 * 5 * 12 + 2 * 2 * 4);
  EXPECT_EQ(report->repetitions, 3);
  EXPECT_EQ(report->bytes_per_process, 2 * 5 * 6);
  EXPECT_EQ(report->peak_bytes_per_process, 2 * (5 * 24 + 2 * 12));
  EXPECT_GT(told, 5);
}

TEST(ManyRun, wrong_elements_are_found_in_their_array) {
  const Program one = program_of("[3{x}6, 4]", "[6, 2{x}4]", 5, {0, 1});
  const Program other = program_of("[8]", "[4{x}8]", 3, {2, 3});
  for (const Size array : {0, 2}) {
    std::vector<Batch> batches;
    batches.push_back(batch_of(one, 5));
    batches.push_back(batch_of(other, 3));
    batches.back().executor = std::make_unique<retile::test::Spoiling>(
        std::move(batches.back().executor),
        std::vector<retile::run::Mismatch>{{.device = 3, .local_index = 4 * array + 1}}, 2);
    const auto report = retile::run::run_many(batches, 1, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->wrong,
              (WrongArray{.batch = 1, .array = array, .device = 3, .local_index = 1}));
    EXPECT_LT(report->elements_checked, 2 * 5 * 12 + 2 * 3 * 4);
  }
}

}  // namespace
}  // namespace many_run_test
