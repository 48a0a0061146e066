// The same exchanges between processes, and what becomes of a team whose members are killed or get
// no memory.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

#include "exec/team/exchanges.h"
#include "exec/team/fork_team.h"
#include "retile/exec/copy/stores.h"
#include "retile/exec/team/memory.h"
#include "retile/exec/team/shared_protocol.h"

namespace fork_test {
namespace {

using namespace team_test;
using retile::Code;
using retile::team::MemberEnd;
using retile::team::Moment;
using retile::team::run_forked;
using retile::team::SharedExchange;
using retile::team::SharedPath;
using retile::team::Team;
using retile::team::Unwatched;
using std::chrono::seconds;
using std::chrono::steady_clock;

// What a member's exit code says.
constexpr int wrong_bytes_found = 10;
constexpr int refused = 20;  ///< plus the code where it matters
constexpr int team_was_broken = 21;
constexpr int no_memory = 22;

int code_of(const retile::Diagnostic& diagnostic) {
  if (diagnostic.code == Code::team_broken) return team_was_broken;
  if (diagnostic.code == Code::shared_memory_error) return no_memory;
  return refused;
}

int run_three_times(const Case& test, const Places& places, SharedPath path, Team& team) {
  auto exchange =
      SharedExchange::create(team, test.problem, places.options(path == SharedPath::copied));
  if (!exchange) return code_of(exchange.error());
  const Buffers buffers(test, places, team, false, path == SharedPath::straight);
  const Size element = test.problem.element_bytes;
  for (std::uint32_t generation = 1; generation <= 3; ++generation) {
    fill(test.from, team.member(), element, generation, buffers.in);
    const auto went = exchange->run(buffers.in, buffers.out);
    if (!went) return code_of(went.error());
    if (*went != path) return refused;
    if (wrong_bytes(test.to, team.member(), element, generation, buffers.out) != 0) {
      return wrong_bytes_found;
    }
  }
  return 0;
}

TEST(ForkedTeam, moves_every_element_of_all_small_problems) {
  int cases = 0;
  for (const Case& test : small_cases()) {
    for (const SharedPath path : {SharedPath::straight, SharedPath::staged, SharedPath::copied}) {
      const Places places(test, Size{2} * std::max(test.members() - 1, 1) * 64);
      const auto ends = run_forked(test.members(), places.memory_bytes, [&](Team& team) {
        return run_three_times(test, places, path, team);
      });
      ASSERT_TRUE(ends.has_value()) << retile::render(ends.error());
      for (const MemberEnd& end : *ends) EXPECT_EQ(end, MemberEnd{}) << test.name;
      ++cases;
    }
  }
  std::cout << cases << " cases\n";
  EXPECT_GE(cases, 40);
}

TEST(ForkedTeam, whose_members_see_different_caches_goes_one_way) {
  // Member 1 cannot read how large the caches are, so that it would stream what member 0 does not.
  const auto in_child = [](const auto& body) {
    return run_forked(2, Size{1} << 20, [&](Team& team) {
      if (team.member() == 1) {
        rlimit none{};
        getrlimit(RLIMIT_NOFILE, &none);
        none.rlim_cur = 0;
        if (setrlimit(RLIMIT_NOFILE, &none) != 0) return refused;
      }
      return body(team);
    });
  };
  const Case test = make_case("x:2", "[128, 16{x}32, 32]", "[128, 32, 16{x}32]");
  const Places places(test, 0);
  ASSERT_LE(places.memory_bytes, Size{1} << 20);
  const auto streams = in_child([&](Team& /*team*/) {
    const Size share = retile::copy::detected_cache_share_bytes(2);
    return retile::copy::streams(64, tile_bytes(test.from, 4), share) ? 1 : 0;
  });
  ASSERT_TRUE(streams.has_value());
  if (*streams != std::vector<MemberEnd>{{0, 0}, {1, 0}}) {
    GTEST_SKIP() << "the last cache of this machine is too small, or found without a file";
  }
  const auto ends = in_child([&](Team& team) {
    auto exchange = SharedExchange::create(team, test.problem, places.options());
    if (!exchange) return code_of(exchange.error());
    const Buffers buffers(test, places, team, true, true);
    fill(test.from, team.member(), 4, 1, buffers.in);
    if (!exchange->run(buffers.in, buffers.out)) return refused;
    return wrong_bytes(test.to, team.member(), 4, 1, buffers.out) == 0 ? 0 : wrong_bytes_found;
  });
  ASSERT_TRUE(ends.has_value());
  for (const MemberEnd& end : *ends) EXPECT_EQ(end, MemberEnd{});
}

TEST(ForkedTeam, says_how_each_member_ended) {
  const auto ends = run_forked(4, 64, [](Team& team) {
    if (team.member() == 1) kill(getpid(), SIGTERM);
    if (team.member() == 2) throw std::runtime_error("on purpose");
    return team.member() == 3 ? 7 : 0;
  });
  ASSERT_TRUE(ends.has_value());
  EXPECT_EQ((*ends)[0], (MemberEnd{0, 0}));
  EXPECT_EQ((*ends)[1], (MemberEnd{0, SIGTERM}));
  EXPECT_EQ((*ends)[2], (MemberEnd{1, 0}));
  EXPECT_EQ((*ends)[3], (MemberEnd{7, 0}));
}

/// Kills the process at the nth time that it comes to a moment.
struct KillingWatch : Unwatched {
  Moment moment{};
  int times = 0;  ///< 0: never
  void at(Moment now, int /*other*/ = -1) {
    if (now == moment && times > 0 && --times == 0) kill(getpid(), SIGKILL);
  }
  void fence() {}
};

TEST(ForkedTeam, a_member_killed_at_any_moment_ends_the_others_soon) {
  const Case test = make_case("x:4", "[8{x}32, 16]", "[32, 4{x}16]");
  const Places places(test, Size{2} * 3 * 64);
  const auto kill_at = [&](SharedPath path, Moment moment) {
    const auto began = steady_clock::now();
    const auto ends = run_forked(4, places.memory_bytes, [&](Team& team) {
      auto exchange =
          SharedExchange::create(team, test.problem, places.options(path == SharedPath::copied));
      if (!exchange) return code_of(exchange.error());
      const Buffers buffers(test, places, team, false, path == SharedPath::straight);
      KillingWatch watch;
      watch.moment = moment;
      watch.times = team.member() == 1 ? 2 : 0;
      // More runs than the member that is killed can finish.
      for (int run = 0; run < 1000; ++run) {
        const auto went = exchange->run(buffers.in, buffers.out, watch);
        if (!went) return code_of(went.error());
      }
      return 0;
    });
    const auto took = steady_clock::now() - began;
    ASSERT_TRUE(ends.has_value());
    for (int member = 0; member < 4; ++member) {
      const MemberEnd expected =
          member == 1 ? MemberEnd{0, SIGKILL} : MemberEnd{team_was_broken, 0};
      EXPECT_EQ((*ends)[static_cast<std::size_t>(member)], expected)
          << "moment " << static_cast<int>(moment);
    }
    EXPECT_LT(took, seconds(5));
  };
  for (const Moment moment : {Moment::entry, Moment::copy, Moment::fence, Moment::exit}) {
    kill_at(SharedPath::straight, moment);
    kill_at(SharedPath::copied, moment);
  }
  for (const Moment moment :
       {Moment::entry, Moment::slot_wait, Moment::pack, Moment::raise_ready, Moment::copy,
        Moment::data_wait, Moment::unpack, Moment::raise_taken, Moment::drain}) {
    kill_at(SharedPath::staged, moment);
  }
}

/// Own segments made by every member after the fork, as unrelated processes make them.
int exchange_over_own_segments(const Case& test, const Places& places, Team& control) {
  auto segments = retile::team::share_memory(control, places.memory_bytes);
  if (!segments) return code_of(segments.error());
  // The counters are in the control block that all have already.
  Team team(control, retile::team::spans_of(*segments));
  return run_three_times(test, places, SharedPath::straight, team);
}

TEST(ForkedTeam, members_reach_segments_that_others_made) {
  for (const int members : {1, 2, 8}) {
    const Case test = make_case(
        "x:" + std::to_string(members), "[2{x}" + std::to_string(2 * members) + ", 24]",
        "[" + std::to_string(2 * members) + ", " + std::to_string(24 / members) + "{x}24]");
    const Places places(test, Size{3} << 20);  // more than a huge page
    const auto ends = run_forked(
        members, 64, [&](Team& team) { return exchange_over_own_segments(test, places, team); });
    ASSERT_TRUE(ends.has_value());
    for (const MemberEnd& end : *ends) EXPECT_EQ(end, MemberEnd{});
  }
}

TEST(ForkedTeam, memory_that_one_member_does_not_get_is_an_error_for_all) {
  const Case test = make_case("x:4", "[2{x}8, 24]", "[8, 6{x}24]");
  const Places places(test, Size{3} << 20);
  for (int who = 0; who < 4; ++who) {
    const auto began = steady_clock::now();
    const auto ends = run_forked(4, 64, [&](Team& team) {
      if (team.member() == who) {
        const rlimit limit{4096, 4096};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
      }
      return exchange_over_own_segments(test, places, team);
    });
    ASSERT_TRUE(ends.has_value());
    for (const MemberEnd& end : *ends)
      EXPECT_EQ(end, (MemberEnd{no_memory, 0})) << "member " << who;
    EXPECT_LT(steady_clock::now() - began, seconds(5));
  }
}

TEST(ForkedTeam, members_hear_why_another_one_gets_no_memory) {
  const std::string why =
      "cannot make 3145728 bytes of shared memory: more than the limit of file sizes, 4096 bytes";
  const auto ends = run_forked(3, 64, [&](Team& control) {
    if (control.member() == 1) {
      const rlimit limit{4096, 4096};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    }
    const auto segments = retile::team::share_memory(control, Size{3} << 20);
    if (segments) return 2;
    const std::string others =
        "member 1 cannot make or reach 3145728 bytes of shared memory: " + why;
    const std::string& message = segments.error().message;
    if (message != (control.member() == 1 ? why : others)) return 3;
    return control.barrier() ? 0 : team_was_broken;
  });
  ASSERT_TRUE(ends.has_value());
  for (const MemberEnd& end : *ends) EXPECT_EQ(end, MemberEnd{});
}

/// Makes this process one whose descriptors nobody else may open, as processes of other containers
/// are.
bool hide() {
  if (geteuid() == 0 && setuid(65534) != 0) return false;
  return prctl(PR_SET_DUMPABLE, 0) == 0;
}

TEST(ForkedTeam, members_that_may_not_open_each_others_descriptors_share_by_name) {
  const auto ends = run_forked(3, 64, [&](Team& control) {
    if (!hide()) return 1;
    auto segments = retile::team::share_memory(control, 8192);
    if (!segments) return code_of(segments.error());
    for (const auto& segment : *segments) {
      if (segment.handle().place >> 63 != 1) return 2;  // it was not by name
    }
    Team team(control, retile::team::spans_of(*segments));
    const int self = team.member();
    team.memory(self)[0] = static_cast<std::byte>(self);
    if (!team.barrier()) return team_was_broken;
    for (int other = 0; other < 3; ++other) {
      if (team.memory(other)[0] != static_cast<std::byte>(other)) return wrong_bytes_found;
    }
    // The names are gone although all still use what they named.
    const std::string mine = "retile-" + std::to_string(getpid()) + "-";
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (entry.path().filename().string().rfind(mine, 0) == 0) return 3;
    }
    return 0;
  });
  ASSERT_TRUE(ends.has_value());
  for (const MemberEnd& end : *ends) EXPECT_EQ(end, MemberEnd{});
}

TEST(ForkedTeam, members_that_cannot_reach_each_other_at_all_get_an_error) {
  constexpr int may_not_mount = 77;
  const auto ends = run_forked(3, 64, [&](Team& control) {
    // Each with a /dev/shm of its own.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
      return may_not_mount;
    }
    if (!hide()) return 1;
    const auto segments = retile::team::share_memory(control, 8192);
    if (segments) return 2;
    // The team itself is as good as before.
    return control.barrier() ? code_of(segments.error()) : 3;
  });
  ASSERT_TRUE(ends.has_value());
  if ((*ends)[0].exit_code == may_not_mount) {
    GTEST_SKIP() << "this process may not mount a file system";
  }
  for (const MemberEnd& end : *ends) EXPECT_EQ(end, (MemberEnd{no_memory, 0}));
}

TEST(ForkedTeam, a_member_killed_before_it_shares_its_memory_ends_the_others) {
  const Case test = make_case("x:4", "[2{x}8, 24]", "[8, 6{x}24]");
  const Places places(test, 4096);
  const auto ends = run_forked(4, 64, [&](Team& team) {
    if (team.member() == 2) kill(getpid(), SIGKILL);
    return exchange_over_own_segments(test, places, team);
  });
  ASSERT_TRUE(ends.has_value());
  for (std::size_t member = 0; member < 4; ++member) {
    EXPECT_EQ((*ends)[member],
              member == 2 ? (MemberEnd{0, SIGKILL}) : (MemberEnd{team_was_broken, 0}));
  }
}

}  // namespace
}  // namespace fork_test
