// Every worked example of the paper, from text to verified bytes in one process: plan, lower,
// check, oracle, simulate.
#include "spec/paper/examples.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <optional>

#include "retile/check/check.h"
#include "retile/exec/npy/pattern.h"
#include "retile/exec/sim/sim.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"

namespace retile::examples_test {
namespace {

constexpr Size element_bytes = 4;

TEST(Examples, plan_lower_check_and_run) {
  int count = 0;
  Size elements = 0;
  for (const spec::Example& example : spec::examples()) {
    SCOPED_TRACE(example.name);
    const auto problem = parse_problem(example.mesh, example.from, example.to);
    ASSERT_TRUE(problem.has_value()) << render(problem.error());
    const auto made = plan(*problem);
    ASSERT_TRUE(made.has_value()) << render(made.error());
    EXPECT_LE(made->height, made->bound);
    EXPECT_LE(made->permutes(), 1U);
    if (example.weak_cost) {
      EXPECT_EQ(made->weak_cost, *example.weak_cost);
    }
    if (example.optimum) {
      EXPECT_EQ(made->cost, *example.optimum);
    }
    if (example.permutes && made->cost == example.optimum) {
      EXPECT_EQ(made->permutes(), static_cast<std::size_t>(*example.permutes));
    }

    const Program program = lower(*made);
    const Verdict verdict = check(program);
    EXPECT_EQ(verdict.answer, Answer::right);
    EXPECT_TRUE(verdict.within_bound);
    EXPECT_EQ(verdict.cost, made->cost);
    const auto parsed = spec::parse_programs(to_text(program));
    ASSERT_EQ(parsed.programs.size(), 1U);
    const spec::Verdict oracle = spec::check(parsed.programs.front());
    // The oracle may find the arrays too large; where it decides, it must agree.
    EXPECT_TRUE(!oracle.decided || oracle.right);

    sim::Tiles tiles;
    for (Size d = 0; d < program.devices; ++d) {
      tiles.emplace_back(static_cast<std::size_t>(program.from.tile_size() * element_bytes));
      fill_pattern(program.from, d, element_bytes, tiles.back());
    }
    const auto outcome = sim::run(program, std::move(tiles), element_bytes);
    ASSERT_TRUE(outcome.has_value()) << render(outcome.error());
    for (Size d = 0; d < program.devices; ++d) {
      const auto& tile = outcome->tiles[static_cast<std::size_t>(d)];
      ASSERT_EQ(find_pattern_mismatch(program.to, d, element_bytes, tile), std::nullopt)
          << "device " << d;
      elements += program.to.tile_size();
    }
    ++count;
  }
  std::cout << count << " examples of the paper, " << elements
            << " elements compared after simulation\n";
  EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace retile::examples_test
