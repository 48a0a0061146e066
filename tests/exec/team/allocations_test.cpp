// What an exchange takes from the heap, and what becomes of it when there is none. Programs of
// ThreadSanitizer have an operator new of their own, so these tests stand apart.
#include "exec/allocations.h"

#include <gtest/gtest.h>

#include "exec/team/exchanges.h"
#include "exec/team/thread_team.h"
#include "retile/exec/team/shared.h"

namespace allocations_test {
namespace {

using namespace team_test;
using retile::Code;
using retile::Result;
using retile::team::run_threads;
using retile::team::SharedExchange;
using retile::team::SharedPath;
using retile::team::Team;

TEST(SharedAllocations, running_allocates_nothing) {
  const Case test = make_case("x:4", "[8{x}32, 16]", "[32, 4{x}16]");
  const Places places(test, Size{2} * 3 * 64);
  for (const SharedPath wanted : {SharedPath::straight, SharedPath::staged, SharedPath::copied}) {
    std::size_t during = 1;
    const auto outcomes = run_threads(4, places.memory_bytes, [&](Team& team) -> Result<void> {
      auto exchange =
          SharedExchange::create(team, test.problem, places.options(wanted == SharedPath::copied));
      if (!exchange) return retile::refuse(exchange.error());
      std::vector<std::byte> in(512), own(512);
      const std::span<std::byte> out =
          wanted == SharedPath::staged
              ? std::span(own)
              : team.memory(team.member())
                    .subspan(static_cast<std::size_t>(places.out_offset), 512);
      if (auto met = team.barrier(); !met) return met;
      const std::size_t before = retile::test::allocations();
      if (auto met = team.barrier(); !met) return met;
      for (int run = 0; run < 10; ++run) {
        const auto went = exchange->run(in, out);
        if (!went) return retile::refuse(went.error());
        EXPECT_EQ(*went, wanted);
      }
      if (auto met = team.barrier(); !met) return met;
      if (team.member() == 0) during = retile::test::allocations() - before;
      return team.barrier();
    });
    for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.has_value());
    EXPECT_EQ(during, 0U);
  }
}

TEST(SharedAllocations, a_member_without_heap_makes_all_refuse) {
  const Case test = make_case("x:3", "[3{x}9, 24]", "[9, 8{x}24]");
  for (int who = 0; who < 3; ++who) {
    for (int allowed = 0; allowed < 20; ++allowed) {
      const auto outcomes = run_threads(3, 4096, [&](Team& team) -> Result<void> {
        if (team.member() == who) retile::test::fail_after(allowed);
        auto made =
            SharedExchange::create(team, test.problem, {.slots_offset = 0, .slots_bytes = 1024});
        retile::test::fail_after(-1);
        if (auto met = team.barrier(); !met) return met;
        if (!made) return retile::refuse(made.error());
        return {};
      });
      // How many allocations it takes is not the test's business: all succeed or all refuse.
      for (const auto& outcome : outcomes) {
        ASSERT_EQ(outcome.has_value(), outcomes[0].has_value());
        if (!outcome) {
          EXPECT_EQ(outcome.error().code, Code::limit_reached);
        }
      }
      if (allowed == 0) {
        EXPECT_FALSE(outcomes[0].has_value());
      }
    }
  }
}

}  // namespace
}  // namespace allocations_test
