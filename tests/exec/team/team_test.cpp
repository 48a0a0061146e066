// Barriers, words, counters and broken teams, between threads.
#include "retile/exec/team/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "exec/team/thread_team.h"

namespace team_test {
namespace {

using retile::Code;
using retile::Result;
using retile::Size;
using retile::team::run_threads;
using retile::team::Team;
using std::chrono::milliseconds;

constexpr int team_sizes[] = {1, 2, 3, 4, 8, 16};

void expect_all_good(const std::vector<Result<void>>& outcomes) {
  for (const auto& outcome : outcomes) {
    EXPECT_TRUE(outcome.has_value()) << retile::render(outcome.error());
  }
}

std::uint64_t number(std::span<std::byte> memory) {
  std::uint64_t out = 0;
  std::memcpy(&out, memory.data(), sizeof out);
  return out;
}
void set_number(std::span<std::byte> memory, std::uint64_t value) {
  std::memcpy(memory.data(), &value, sizeof value);
}

TEST(Team, what_was_written_before_a_barrier_is_seen_after_it) {
  for (const int members : team_sizes) {
    std::atomic<int> wrong{0};
    expect_all_good(run_threads(members, 64, [&](Team& team) -> Result<void> {
      for (std::uint64_t round = 1; round <= 200; ++round) {
        set_number(team.memory(team.member()), round);
        if (auto met = team.barrier(); !met) return met;
        for (int other = 0; other < members; ++other) wrong += number(team.memory(other)) != round;
        if (auto met = team.barrier(); !met) return met;
      }
      return {};
    }));
    EXPECT_EQ(wrong, 0) << members << " members";
  }
}

TEST(Team, all_words_of_a_round_are_heard_and_none_of_the_next) {
  for (const int members : team_sizes) {
    std::atomic<int> wrong{0};
    expect_all_good(run_threads(members, 64, [&](Team& team) -> Result<void> {
      for (std::uint64_t round = 1; round <= 200; ++round) {
        const auto word = [&](int member) {
          return round * 100 + static_cast<std::uint64_t>(member);
        };
        if (auto told = team.tell(word(team.member())); !told) return told;
        if (round % 7 == 0) std::this_thread::yield();
        for (int other = 0; other < members; ++other) wrong += team.told(other) != word(other);
      }
      return {};
    }));
    EXPECT_EQ(wrong, 0) << members << " members";
  }
}

TEST(Team, a_counter_hands_memory_on_from_member_to_member) {
  constexpr std::uint64_t rounds = 100;
  for (const int members : {2, 3, 4, 8, 16}) {
    // A number goes round; each member adds one to what its predecessor has.
    std::uint64_t end = 0;
    expect_all_good(run_threads(members, 64, [&](Team& team) -> Result<void> {
      const int self = team.member();
      const int before = (self + members - 1) % members;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (self != 0 || round > 1) {
          auto ready = team.await(before, self, self == 0 ? round - 1 : round);
          if (!ready) return ready;
          set_number(team.memory(self), number(team.memory(before)) + 1);
        }
        team.advance((self + 1) % members, round);
      }
      if (auto met = team.barrier(); !met) return met;
      if (self == members - 1) end = number(team.memory(self));
      return {};
    }));
    EXPECT_EQ(end, rounds * static_cast<std::uint64_t>(members) - 1) << members << " members";
  }
}

TEST(Team, counters_about_the_same_member_are_two) {
  expect_all_good(run_threads(2, 64, [&](Team& team) -> Result<void> {
    if (team.member() == 0) {
      team.advance(1, 5);
      team.advance(2 + 1, 7);
    }
    if (auto ready = team.await(0, 3, 7); !ready) return ready;
    EXPECT_EQ(team.counter(0, 1), 5U);
    EXPECT_EQ(team.counter(0, 3), 7U);
    EXPECT_EQ(team.counter(1, 1), 0U);
    return team.barrier();
  }));
}

TEST(Team, a_sleeper_is_woken_and_not_left_to_its_time_limit) {
  // A hundred sleeps that all ran into their limit of 50 ms would take five seconds.
  const auto began = std::chrono::steady_clock::now();
  expect_all_good(run_threads(2, 64, [&](Team& team) -> Result<void> {
    for (std::uint64_t round = 1; round <= 100; ++round) {
      if (team.member() == 0) {
        std::this_thread::sleep_for(milliseconds(1));
        team.advance(1, round);
        if (auto ready = team.await(1, 0, round); !ready) return ready;
      } else {
        if (auto ready = team.await(0, 1, round); !ready) return ready;
        team.advance(0, round);
      }
    }
    return {};
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(2500));
}

TEST(Team, a_broken_team_ends_every_wait_now_and_later) {
  for (const bool at_barrier : {true, false}) {
    const auto began = std::chrono::steady_clock::now();
    const auto outcomes = run_threads(4, 64, [&](Team& team) -> Result<void> {
      if (team.member() == 3) {
        std::this_thread::sleep_for(milliseconds(20));
        team.break_team();
        EXPECT_TRUE(team.broken());
        EXPECT_FALSE(team.barrier().has_value());
        return {};
      }
      auto waited = at_barrier ? team.barrier() : team.await(3, team.member(), 1);
      EXPECT_FALSE(team.barrier().has_value());
      EXPECT_FALSE(team.tell(1).has_value());
      EXPECT_FALSE(team.await(0, 1, 1).has_value());
      return waited;
    });
    for (std::size_t member = 0; member < 3; ++member) {
      ASSERT_FALSE(outcomes[member].has_value());
      EXPECT_EQ(outcomes[member].error().code, Code::team_broken);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(2000));
  }
}

TEST(Team, an_exception_in_one_member_ends_the_others) {
  const auto outcomes = run_threads(3, 64, [&](Team& team) -> Result<void> {
    if (team.member() == 1) throw std::runtime_error("on purpose");
    return team.barrier();
  });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().code, Code::team_broken);
  }
}

}  // namespace
}  // namespace team_test
