// The transport between members that share memory: threads and forked processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "retile/exec/cuda/team_transport.h"
#include "retile/exec/npy/splitmix.h"
#include "retile/exec/team/fork_team.h"
#include "retile/exec/team/thread_team.h"

namespace retile::cuda {
namespace {

std::byte byte_of(int from, int to, int message, std::size_t i) {
  const auto number = static_cast<std::uint64_t>((from * 64 + to) * 1024 + message) << 24U;
  return static_cast<std::byte>(splitmix64(number + i));
}

/// Bytes of a message; some are empty, some fill many slots, and the two directions differ.
std::size_t size_of(int from, int to, int message) {
  const auto drawn = splitmix64(static_cast<std::uint64_t>((from * 64 + to) * 1024 + message));
  return drawn % 4 == 0 ? 0 : static_cast<std::size_t>(drawn >> 8U) % 3000;
}

/// All to all in rounds, gathers between them; what is wrong is counted.
Result<int> work(Transport& transport, int messages) {
  const int me = transport.member();
  const int members = transport.members();
  int wrong = 0;
  for (int message = 0; message < messages; ++message) {
    for (int round = 1; round < members; ++round) {
      const int target = (me + round) % members;
      const int source = (me - round + members) % members;
      std::vector<std::byte> out(size_of(me, target, message));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = byte_of(me, target, message, i);
      std::vector<std::byte> in(size_of(source, me, message));
      auto moved = transport.send_receive(target, out, source, in);
      if (!moved) return refuse(moved.error());
      std::fill(out.begin(), out.end(), std::byte{0});  // it has left
      for (std::size_t i = 0; i < in.size(); ++i) {
        wrong += in[i] != byte_of(source, me, message, i) ? 1 : 0;
      }
    }
    const int mine = me * 1000 + message;
    std::vector<int> all(static_cast<std::size_t>(members));
    auto gathered = transport.gather(std::as_bytes(std::span(&mine, 1)),
                                     std::as_writable_bytes(std::span(all)));
    if (!gathered) return refuse(gathered.error());
    for (int k = 0; k < members; ++k) {
      wrong += all[static_cast<std::size_t>(k)] != k * 1000 + message ? 1 : 0;
    }
  }
  return wrong;
}

TEST(TeamTransport, all_messages_arrive_between_threads) {
  for (const int members : {1, 2, 3, 8}) {
    for (const Size slot : {Size{7}, TeamTransport::slot_bytes}) {
      const auto outcomes = team::run_threads(
          members, TeamTransport::memory_bytes, [&](team::Team& team) -> Result<void> {
            // Twice: the second begins where the first left the counters.
            for (int again = 0; again < 2; ++again) {
              auto transport = TeamTransport::create(team, slot);
              if (!transport) return refuse(transport.error());
              const auto wrong = work(**transport, 10);
              if (!wrong) return refuse(wrong.error());
              EXPECT_EQ(*wrong, 0) << members << " members, slots of " << slot;
            }
            return {};
          });
      for (const auto& outcome : outcomes) EXPECT_TRUE(outcome);
    }
  }
}

TEST(TeamTransport, all_messages_arrive_between_processes) {
  for (const int members : {1, 2, 5, 8}) {
    const auto ends = team::run_forked(members, TeamTransport::memory_bytes, [&](team::Team& team) {
      auto transport = TeamTransport::create(team, 256);
      if (!transport) return 2;
      const auto wrong = work(**transport, 10);
      return wrong && *wrong == 0 ? 0 : 1;
    });
    ASSERT_TRUE(ends);
    for (const team::MemberEnd& end : *ends) EXPECT_EQ(end, team::MemberEnd{});
  }
}

TEST(TeamTransport, who_gives_up_ends_the_waits_of_all) {
  for (const bool in_message : {false, true}) {
    const auto outcomes =
        team::run_threads(3, TeamTransport::memory_bytes, [&](team::Team& team) -> Result<void> {
          auto transport = TeamTransport::create(team);
          if (!transport) return refuse(transport.error());
          if (team.member() == 1) {
            (*transport)->give_up();
            return {};
          }
          std::vector<std::byte> out(100), in(100);
          if (!in_message) return (*transport)->barrier();
          return (*transport)->send_receive(1, out, 1, in);
        });
    EXPECT_TRUE(outcomes[1]);
    for (const int k : {0, 2}) {
      const auto& outcome = outcomes[static_cast<std::size_t>(k)];
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, Code::team_broken);
    }
  }
}

TEST(TeamTransport, all_agree_on_the_first_failure) {
  const auto outcomes =
      team::run_threads(4, TeamTransport::memory_bytes, [&](team::Team& team) -> Result<void> {
        auto transport = TeamTransport::create(team);
        if (!transport) return refuse(transport.error());
        if (auto good = agree(**transport, {}); !good) return good;
        Result<void> mine;
        if (team.member() == 2) {
          mine = refuse({.code = Code::cuda_error, .message = std::string(5000, 'x')});
        }
        return agree(**transport, mine);
      });
  for (int k = 0; k < 4; ++k) {
    const auto& outcome = outcomes[static_cast<std::size_t>(k)];
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::cuda_error);
    EXPECT_EQ(outcome.error().message.rfind(k == 2 ? "xxx" : "process 2: xxx", 0), 0U);
  }
}

}  // namespace
}  // namespace retile::cuda
