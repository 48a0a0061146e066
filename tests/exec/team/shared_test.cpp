// Exchanges between threads: every element of every tile, on both paths, and what is refused.
#include "retile/exec/team/shared.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>

#include "exec/team/exchanges.h"
#include "exec/team/thread_team.h"

namespace shared_test {
namespace {

using namespace team_test;
using retile::Code;
using retile::Result;
using retile::team::run_threads;
using retile::team::SharedExchange;
using retile::team::SharedOptions;
using retile::team::SharedPath;
using retile::team::Team;

/// Which tiles lie in shared memory.
enum class Tiles { both_shared, only_out_shared, only_in_shared, both_private };

/// Runs a case three times between threads; the bytes that were looked at.
Size expect_right(const Case& test, Tiles tiles, Size slots_bytes) {
  const Size element = test.problem.element_bytes;
  const Places places(test, slots_bytes);
  const bool in_shared = tiles == Tiles::both_shared || tiles == Tiles::only_in_shared;
  const bool out_shared = tiles == Tiles::both_shared || tiles == Tiles::only_out_shared;
  std::vector<Size> checked(static_cast<std::size_t>(test.members()), 0);
  const auto outcomes =
      run_threads(test.members(), places.memory_bytes, [&](Team& team) -> Result<void> {
        auto exchange = SharedExchange::create(
            team, test.problem, {.slots_offset = 0, .slots_bytes = places.slots_bytes});
        if (!exchange) return retile::refuse(exchange.error());
        const Buffers buffers(test, places, team, in_shared, out_shared);
        const auto in = buffers.in;
        const auto out = buffers.out;
        for (std::uint32_t generation = 1; generation <= 3; ++generation) {
          fill(test.from, team.member(), element, generation, in);
          const auto path = exchange->run(in, out);
          if (!path) return retile::refuse(path.error());
          // Old tiles alone are enough where pulling is the better way.
          if (out_shared || !in_shared) {
            EXPECT_EQ(*path, out_shared ? SharedPath::straight : SharedPath::staged);
          }
          EXPECT_EQ(wrong_bytes(test.to, team.member(), element, generation, out), 0);
          EXPECT_EQ(wrong_bytes(test.from, team.member(), element, generation, in), 0);
          checked[static_cast<std::size_t>(team.member())] += static_cast<Size>(out.size());
        }
        return {};
      });
  Size sum = 0;
  for (std::size_t member = 0; member < outcomes.size(); ++member) {
    EXPECT_TRUE(outcomes[member].has_value()) << test.name << "\n"
                                              << retile::render(outcomes[member].error());
    sum += checked[member];
  }
  return sum;
}

TEST(SharedExchange, copies_of_small_tiles_bring_every_element_too) {
  std::vector<Size> checked(8, 0);
  for (const Case& test : small_cases()) {
    const Size element = test.problem.element_bytes;
    const Places places(test, 0);
    const auto outcomes =
        run_threads(test.members(), places.memory_bytes, [&](Team& team) -> Result<void> {
          auto exchange = SharedExchange::create(team, test.problem, places.options(true));
          if (!exchange) return retile::refuse(exchange.error());
          std::vector<std::byte> in(static_cast<std::size_t>(tile_bytes(test.from, element)));
          std::vector<std::byte> out(static_cast<std::size_t>(tile_bytes(test.to, element)));
          for (std::uint32_t generation = 1; generation <= 5; ++generation) {
            // A run that is refused leaves nothing behind.
            const bool refused = generation == 3;
            const bool empty = refused && team.member() == 0;
            fill(test.from, team.member(), element, generation, in);
            const auto path = exchange->run(
                empty ? std::span<const std::byte>() : std::span<const std::byte>(in), out);
            if (refused) {
              EXPECT_FALSE(path);
              continue;
            }
            if (!path) return retile::refuse(path.error());
            EXPECT_EQ(*path, SharedPath::copied);
            EXPECT_EQ(wrong_bytes(test.to, team.member(), element, generation, out), 0);
            EXPECT_EQ(wrong_bytes(test.from, team.member(), element, generation, in), 0);
            checked[static_cast<std::size_t>(team.member())] += static_cast<Size>(out.size());
          }
          return {};
        });
    for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.has_value()) << test.name;
  }
  for (const Size bytes : checked) EXPECT_GT(bytes, 0);
}

Size smallest_slots(const Case& test) { return Size{2} * std::max(test.members() - 1, 1) * 64; }

TEST(SharedExchange, moves_every_element_of_all_small_problems) {
  Size checked = 0;
  int cases = 0;
  for (const Case& test : small_cases()) {
    SCOPED_TRACE(test.name);
    for (const Tiles tiles :
         {Tiles::both_shared, Tiles::only_out_shared, Tiles::only_in_shared, Tiles::both_private}) {
      // Slots of 64 bytes cut rows and leave odd rests; the large ones hold a whole stream.
      for (const Size slots : {smallest_slots(test), 5 * smallest_slots(test), Size{1} << 20}) {
        checked += expect_right(test, tiles, slots);
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, 200);
  std::cout << cases << " cases, " << checked << " bytes right\n";
}

TEST(SharedExchange, old_tiles_are_read_only_where_that_jumps_less) {
  // Long runs, for which nobody takes lines from anybody. Only old tiles are shared, and there are
  // no slots, so that who would write into new ones cannot.
  const auto reads = [](std::string_view from, std::string_view to) {
    const Case test = make_case("x:2", from, to);
    const Places places(test, 0);
    const auto outcomes = run_threads(2, places.memory_bytes, [&](Team& team) -> Result<void> {
      auto exchange = SharedExchange::create(team, test.problem, places.options());
      if (!exchange) return retile::refuse(exchange.error());
      const Buffers buffers(test, places, team, true, false);
      fill(test.from, team.member(), 4, 1, buffers.in);
      if (auto went = exchange->run(buffers.in, buffers.out); !went) {
        return retile::refuse(went.error());
      }
      EXPECT_EQ(wrong_bytes(test.to, team.member(), 4, 1, buffers.out), 0);
      return {};
    });
    for (const auto& outcome : outcomes) {
      EXPECT_EQ(outcome.has_value(), outcomes.front().has_value());
      if (!outcome) {
        EXPECT_EQ(outcome.error().code, Code::bad_argument);
      }
    }
    return outcomes.front().has_value();
  };
  EXPECT_TRUE(reads("[8, 2048{x}4096]", "[4{x}8, 4096]"));
  EXPECT_FALSE(reads("[4{x}8, 4096]", "[8, 2048{x}4096]"));
}

TEST(SharedExchange, one_private_tile_sends_all_through_the_slots) {
  const Case test = make_case("x:4", "[8{x}32, 16]", "[32, 4{x}16]");
  const Places places(test, 4096);
  for (int who = 0; who < 4; ++who) {
    const auto outcomes = run_threads(4, places.memory_bytes, [&](Team& team) -> Result<void> {
      auto exchange =
          SharedExchange::create(team, test.problem, {.slots_offset = 0, .slots_bytes = 4096});
      if (!exchange) return retile::refuse(exchange.error());
      std::vector<std::byte> in(512), own(512);
      const std::span<std::byte> shared =
          team.memory(team.member()).subspan(static_cast<std::size_t>(places.out_offset), 512);
      // In turn, so that each path starts from what the other leaves behind.
      for (std::uint32_t generation = 1; generation <= 6; ++generation) {
        const bool one_private = generation % 2 == 0;
        const std::span<std::byte> out =
            one_private && team.member() == who ? std::span(own) : shared;
        fill(test.from, team.member(), 4, generation, in);
        const auto path = exchange->run(in, out);
        if (!path) return retile::refuse(path.error());
        EXPECT_EQ(*path, one_private ? SharedPath::staged : SharedPath::straight);
        EXPECT_EQ(wrong_bytes(test.to, team.member(), 4, generation, out), 0);
      }
      return {};
    });
    for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.has_value());
  }
}

TEST(SharedExchange, two_exchanges_take_turns_on_one_team) {
  const Case there = make_case("x:3", "[3{x}9, 24]", "[9, 8{x}24]");
  const Case back = make_case("x:3", "[9, 8{x}24]", "[3{x}9, 24]");
  const SharedOptions options{.slots_offset = 0, .slots_bytes = 2 * 2 * 64};
  const auto outcomes = run_threads(3, 4096, [&](Team& team) -> Result<void> {
    auto first = SharedExchange::create(team, there.problem, options);
    auto second = SharedExchange::create(team, back.problem, options);
    if (!first || !second) return retile::refuse((first ? second.error() : first.error()));
    std::vector<std::byte> a(288), b(288);
    for (std::uint32_t generation = 1; generation <= 5; ++generation) {
      fill(there.from, team.member(), 4, generation, a);
      if (auto went = first->run(a, b); !went) return retile::refuse(went.error());
      EXPECT_EQ(wrong_bytes(there.to, team.member(), 4, generation, b), 0);
      std::fill(a.begin(), a.end(), std::byte{0});
      if (auto went = second->run(b, a); !went) return retile::refuse(went.error());
      EXPECT_EQ(wrong_bytes(there.from, team.member(), 4, generation, a), 0);
    }
    return {};
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.has_value());
}

void expect_all(const std::vector<Result<void>>& outcomes, Code code) {
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().code, code) << retile::render(outcome.error());
  }
}

TEST(SharedExchange, tiles_that_one_member_cannot_use_are_refused_by_all_and_nothing_moves) {
  const Case test = make_case("x:2", "[6{x}12, 10]", "[12, 5{x}10]");
  const Places places(test, 1024);
  enum class Wrong { none, short_in, no_slots };
  for (const Wrong wrong : {Wrong::short_in, Wrong::no_slots, Wrong::none}) {
    const auto outcomes = run_threads(2, places.memory_bytes, [&](Team& team) -> Result<void> {
      auto exchange = SharedExchange::create(
          team, test.problem,
          {.slots_offset = 0, .slots_bytes = wrong == Wrong::no_slots ? 0 : places.slots_bytes});
      if (!exchange) return retile::refuse(exchange.error());
      const std::size_t bytes = 240;
      std::vector<std::byte> both(2 * bytes), untouched(2 * bytes);
      std::span<std::byte> in = std::span(both).first(bytes);
      std::span<std::byte> out = std::span(both).last(bytes);
      if (team.member() == 1 && wrong == Wrong::short_in) in = in.first(bytes - 1);
      const auto path = exchange->run(in, out);
      EXPECT_TRUE(wrong == Wrong::none || both == untouched);
      // The team is as good as before.
      const auto again = team.barrier();
      EXPECT_TRUE(again.has_value());
      if (!path) return retile::refuse(path.error());
      return {};
    });
    if (wrong != Wrong::none) {
      expect_all(outcomes, Code::bad_argument);
    } else {
      for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.has_value());
    }
  }
}

TEST(SharedExchange, holds_no_more_bytes_than_its_bound_says) {
  for (const Case& test : small_cases()) {
    SCOPED_TRACE(test.name);
    for (const Size slots : {Size{0}, smallest_slots(test), Size{1} << 20}) {
      const SharedOptions options{.slots_offset = 0, .slots_bytes = slots};
      const auto outcomes = run_threads(test.members(), 64, [&](Team& team) -> Result<void> {
        const auto exchange = SharedExchange::create(team, test.problem, options);
        if (!exchange) return retile::refuse(exchange.error());
        Size transfers = 0;
        for (const retile::Transfer& transfer : test.problem.exchange.transfers) {
          transfers += (transfer.source == team.member()) + (transfer.target == team.member());
        }
        const Size bound =
            options.bound_bytes(test.members(), transfers, test.problem.in_tiles.largest().size());
        EXPECT_LE(exchange->held_bytes(), bound);
        // A bound that allows much more than is held says nothing. Beside descriptions only slots
        // are held, and of the smallest ones every byte.
        if (slots > smallest_slots(test)) return {};
        const Size described = exchange->held_bytes() - (test.members() > 1 ? slots : 0);
        EXPECT_GE(3 * described, bound - slots);
        return {};
      });
      for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.has_value());
    }
  }
}

}  // namespace
}  // namespace shared_test
