// Every pair of types by ceil blocks over 2x3 and 2x2x2 devices, of ranks 1 and 2 and sizes to 12: planned, lowered, right by
// both checkers and within the bound; one exchange of each moves just what is missing. By default every twentieth pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/ceil_types.h"

namespace retile::uneven_pairs_test {
namespace {

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t every = 1;
#else
constexpr std::size_t every = 20;
#endif
constexpr Size most = 12;

Size elements(const Shape& extent) { return checked_product(extent).value(); }

/// Elements of the new box that the old one lacks.
Size missing(const Box& from, const Box& to) {
  Size kept = 1;
  for (std::size_t i = 0; i < to.at.size(); ++i) {
    const Size begin = std::max(from.at[i], to.at[i]);
    const Size end = std::min(from.at[i] + from.extent[i], to.at[i] + to.extent[i]);
    kept *= std::max(Size{0}, end - begin);
  }
  return elements(to.extent) - kept;
}

struct Totals {
  std::size_t pairs = 0;
  std::size_t uneven = 0;
  std::size_t exchanges = 0;
  std::size_t aligned = 0;
};

void judge(const Program& program, const Plan& planned) {
  const Verdict verdict = check(program);
  ASSERT_EQ(verdict.answer, Answer::right) << to_text(program);
  ASSERT_TRUE(verdict.within_bound) << to_text(program);
  ASSERT_EQ(verdict.cost, planned.cost) << to_text(program);
  ASSERT_EQ(verdict.height, planned.height) << to_text(program);
  const auto read = spec::parse_programs(to_text(program));
  ASSERT_EQ(read.programs.size(), 1U) << to_text(program);
  const spec::Verdict oracle = spec::check(read.programs.front());
  ASSERT_TRUE(oracle.decided && oracle.right && oracle.within_bound) << to_text(program);
  ASSERT_EQ(oracle.cost, verdict.cost) << to_text(program);
}

void moves_what_is_missing(const Problem& problem) {
  const Program program = direct(problem).value();
  std::vector<Size> received(static_cast<std::size_t>(program.devices), 0);
  for (const Transfer& transfer : std::get<Exchange>(program.steps.front().op).transfers) {
    if (transfer.source == transfer.target) continue;
    received[static_cast<std::size_t>(transfer.target)] += elements(transfer.shape);
  }
  for (Size d = 0; d < program.devices; ++d) {
    ASSERT_EQ(received[static_cast<std::size_t>(d)],
              missing(problem.from.box(d), problem.to.box(d)));
  }
}

void hold(const Layout& from, const Layout& to, Totals& totals) {
  const Problem problem = Problem::make(from, to).value();
  const Plan planned = plan(problem).value();
  totals.exchanges += planned.exchange ? 1U : 0U;
  totals.aligned += planned.uneven ? 1U : 0U;
  judge(program_of(planned).value(), planned);
  moves_what_is_missing(problem);
}

void hold_all(const Mesh& mesh, const Shape& global, Totals& totals) {
  std::vector<Layout> layouts;
  for (const std::string& text : support::ceil_types(mesh, global)) {
    layouts.push_back(parse_layout(text, mesh).value());
  }
  for (const Layout& from : layouts) {
    for (const Layout& to : layouts) {
      if (totals.pairs++ % every != 0 || (from.is_even() && to.is_even())) continue;
      ++totals.uneven;
      hold(from, to, totals);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(UnevenPairs, all_are_right_within_the_bound_and_move_what_is_missing) {
  Totals totals;
  for (const char* text : {"a:2,b:3", "a:2,b:2,c:2"}) {
    const Mesh mesh = parse_mesh(text).value();
    for (Size rows = 1; rows <= most; ++rows) {
      hold_all(mesh, {rows}, totals);
      for (Size columns = 1; columns <= most; ++columns) hold_all(mesh, {rows, columns}, totals);
      if (HasFatalFailure()) return;
    }
  }
  std::cout << totals.uneven << " uneven of " << totals.pairs << " pairs, " << totals.aligned
            << " by collectives, " << totals.exchanges << " by one exchange\n";
  EXPECT_GT(totals.pairs, 300'000U);
  EXPECT_GT(totals.uneven, 300'000U / every);
  EXPECT_GT(totals.aligned, totals.uneven / 10);
  EXPECT_GT(totals.exchanges, totals.uneven / 10);
}

}  // namespace
}  // namespace retile::uneven_pairs_test
