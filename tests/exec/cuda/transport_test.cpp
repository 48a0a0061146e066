// The transport between members that share memory: threads and forked processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "exec/cuda/messages.h"
#include "exec/cuda/team_transport.h"
#include "exec/team/fork_team.h"
#include "exec/team/thread_team.h"

namespace retile::cuda::transport_test {
namespace {

TEST(TeamTransport, all_messages_arrive_between_threads) {
  for (const int members : {1, 2, 3, 8}) {
    for (const Size slot : {Size{7}, TeamTransport::slot_bytes}) {
      const auto outcomes = team::run_threads(
          members, TeamTransport::memory_bytes, [&](team::Team& team) -> Result<void> {
            // Twice: the second begins where the first left the counters.
            for (int again = 0; again < 2; ++again) {
              auto transport = TeamTransport::create(team, slot);
              if (!transport) return refuse(transport.error());
              const auto wrong = test::send_messages(**transport, 10);
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
      const auto wrong = test::send_messages(**transport, 10);
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
            (*transport)->give_up({});
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
}  // namespace retile::cuda::transport_test
