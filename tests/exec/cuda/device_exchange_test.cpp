// The executor over a device that is host memory: both paths, what is counted, and what happens
// when something fails on one member.
#include "retile/exec/cuda/device_exchange.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/cuda/host_device.h"
#include "exec/cuda/team_transport.h"
#include "exec/team/exchanges.h"
#include "exec/team/thread_team.h"

namespace retile::cuda::device_exchange_test {
namespace {

using team_test::Case;
using test::DeviceFaults;
using test::HostDevice;

/// What a member saw.
struct Seen {
  Result<void> outcome;
  Path path = Path::automatic;
  std::vector<std::string> reasons;
  Size wrong_bytes = 0;
  Size held_bytes = 0;
  Size limit_bytes = 0;
  Size received_bytes = 0;
  std::size_t left_behind = 0;
};

struct Setting {
  DeviceOptions options;
  bool lazy = false;
  int repetitions = 2;
  std::function<DeviceFaults(int member)> faults = [](int) { return DeviceFaults{}; };
  std::function<int(int member)> machine = [](int) { return 0; };
  std::function<bool(int member)> takes_device_memory = [](int) { return false; };
};

/// A transport between machines, or one that takes memory of a device. The memory of HostDevice may
/// be followed, so that the team's transport serves.
class Elsewhere final : public Transport {
 public:
  Elsewhere(Transport& inner, const Setting& setting) : inner_(inner), setting_(setting) {}
  [[nodiscard]] int member() const override { return inner_.member(); }
  [[nodiscard]] int members() const override { return inner_.members(); }
  [[nodiscard]] int place_on_machine() const override { return inner_.place_on_machine(); }
  [[nodiscard]] bool on_same_machine(int other) const override {
    return setting_.machine(other) == setting_.machine(member());
  }
  [[nodiscard]] bool takes_device_memory() const override {
    return setting_.takes_device_memory(member());
  }
  [[nodiscard]] Result<void> barrier() override { return inner_.barrier(); }
  [[nodiscard]] Result<void> gather(std::span<const std::byte> mine,
                                    std::span<std::byte> all) override {
    return inner_.gather(mine, all);
  }
  [[nodiscard]] Result<void> send_receive(int target, std::span<const std::byte> out, int source,
                                          std::span<std::byte> in) override {
    return inner_.send_receive(target, out, source, in);
  }
  void give_up(const Diagnostic& why) override { inner_.give_up(why); }

 private:
  Transport& inner_;
  const Setting& setting_;
};

Result<void> exchange(const Case& test, const Setting& setting, HostDevice& device,
                      Transport& transport, Seen& seen) {
  auto made = DeviceExchange::create(device, transport, test.problem, setting.options);
  if (!made) return refuse(made.error());
  DeviceExchange& moves = **made;
  const int member = transport.member();
  const Size element = test.problem.element_bytes;
  seen.path = moves.path();
  seen.reasons = moves.reasons();
  seen.held_bytes = moves.held_bytes();
  seen.limit_bytes = moves.limit_bytes();
  seen.received_bytes = moves.received_bytes();
  for (int run = 0; run < setting.repetitions; ++run) {
    const auto generation = static_cast<std::uint32_t>(run);
    team_test::fill(test.from, member, element, generation,
                    {moves.input(), static_cast<std::size_t>(moves.in_bytes())});
    if (auto moved = moves.run(); !moved) return moved;
    seen.wrong_bytes +=
        team_test::wrong_bytes(test.to, member, element, generation,
                               {moves.output(), static_cast<std::size_t>(moves.out_bytes())});
  }
  return {};
}

std::vector<Seen> run_all(const Case& test, const Setting& setting) {
  std::vector<Seen> seen(static_cast<std::size_t>(test.members()));
  team::run_threads(test.members(), TeamTransport::memory_bytes,
                    [&](team::Team& team) -> Result<void> {
                      Seen& mine = seen[static_cast<std::size_t>(team.member())];
                      HostDevice device(setting.lazy, setting.faults(team.member()));
                      auto transport = TeamTransport::create(team, 1000);
                      if (!transport) return refuse(transport.error());
                      Elsewhere elsewhere(**transport, setting);
                      mine.outcome = exchange(test, setting, device, elsewhere, mine);
                      mine.left_behind = device.left_behind();
                      return {};
                    });
  return seen;
}

void expect_right(const Case& test, const Setting& setting, Path path) {
  SCOPED_TRACE(test.name);
  for (const Seen& seen : run_all(test, setting)) {
    ASSERT_TRUE(seen.outcome) << render(seen.outcome.error());
    EXPECT_EQ(seen.path, path);
    EXPECT_EQ(seen.wrong_bytes, 0);
    EXPECT_EQ(seen.held_bytes, seen.limit_bytes);
    EXPECT_EQ(seen.left_behind, std::size_t{0});
    EXPECT_FALSE(seen.reasons.empty());
  }
}

TEST(DeviceExchange, every_small_problem_is_right_on_both_paths) {
  int runs = 0;
  for (const Case& test : team_test::small_cases()) {
    for (const bool lazy : {false, true}) {
      for (const Size chunk : {Size{1}, Size{1} << 16}) {
        expect_right(test, {.options = {.path = Path::staged, .chunk_bytes = chunk}, .lazy = lazy},
                     Path::staged);
        ++runs;
      }
      expect_right(test, {.options = {}, .lazy = lazy}, Path::peer);
      ++runs;
    }
  }
  EXPECT_EQ(runs, 6 * static_cast<int>(team_test::small_cases().size()));
}

TEST(DeviceExchange, tiles_of_many_chunks_and_portions_are_right) {
  const Case test = team_test::make_case("x:4", "[96{x}384, 200]", "[384, 50{x}200]");
  for (const bool lazy : {false, true}) {
    expect_right(test, {.options = {.path = Path::staged, .chunk_bytes = 4096}, .lazy = lazy},
                 Path::staged);
    expect_right(test, {.options = {.path = Path::peer}, .lazy = lazy}, Path::peer);
  }
}

TEST(DeviceExchange, longer_runs_decide_who_writes) {
  const auto reason = [](std::string_view from, std::string_view to) {
    const auto seen = run_all(team_test::make_case("x:2", from, to), {});
    return seen.front().reasons.back();
  };
  EXPECT_NE(reason("[4{x}8, 8]", "[8, 4{x}8]").find("writes into"), std::string::npos);
  EXPECT_NE(reason("[8, 4{x}8]", "[4{x}8, 8]").find("reads from"), std::string::npos);
}

TEST(DeviceExchange, what_is_received_is_counted) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  for (const Path path : {Path::peer, Path::staged}) {
    for (const Seen& seen : run_all(test, {.options = {.path = path}})) {
      EXPECT_EQ(seen.received_bytes, 3 * 8 * 8 * 4);
      // Tiles, descriptions; and chunks in and out, on both sides, twice.
      const Size tiles = 2 * 8 * 32 * 4;
      EXPECT_GT(seen.held_bytes, tiles);
      const Size chunks = path == Path::staged ? Size{8} << 22 : 0;
      EXPECT_LT(seen.held_bytes, tiles + chunks + 4096 + 8192);
      EXPECT_GE(seen.held_bytes, tiles + chunks);
    }
  }
}

TEST(DeviceExchange, peers_out_of_reach_mean_the_staged_path) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  for (const bool shares : {false, true}) {
    Setting setting;
    setting.faults = [&](int member) {
      return DeviceFaults{.refuse_share = !shares && member == 2,
                          .refuse_open = shares && member == 2};
    };
    for (const Seen& seen : run_all(test, setting)) {
      ASSERT_TRUE(seen.outcome) << render(seen.outcome.error());
      EXPECT_EQ(seen.path, Path::staged);
      EXPECT_EQ(seen.wrong_bytes, 0);
      EXPECT_EQ(seen.left_behind, std::size_t{0});
      EXPECT_NE(seen.reasons.front().find("told to fail"), std::string::npos);
    }
    setting.options.path = Path::peer;
    for (const Seen& seen : run_all(test, setting)) {
      ASSERT_FALSE(seen.outcome);
      EXPECT_EQ(seen.outcome.error().code, Code::cuda_error);
      EXPECT_EQ(seen.left_behind, std::size_t{0});
    }
  }
}

TEST(DeviceExchange, peers_on_another_machine_mean_the_staged_path) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  Setting setting;
  setting.machine = [](int member) { return member / 2; };
  for (const Seen& seen : run_all(test, setting)) {
    ASSERT_TRUE(seen.outcome) << render(seen.outcome.error());
    EXPECT_EQ(seen.path, Path::staged);
    EXPECT_EQ(seen.wrong_bytes, 0);
    EXPECT_EQ(seen.left_behind, std::size_t{0});
    EXPECT_NE(seen.reasons.front().find("another machine"), std::string::npos);
  }
  setting.options.path = Path::peer;
  for (const Seen& seen : run_all(test, setting)) {
    ASSERT_FALSE(seen.outcome);
    EXPECT_EQ(seen.outcome.error().code, Code::cuda_error);
  }
  // Machines do not matter where nothing goes between them.
  const Case within = team_test::make_case("x:2,y:2", "[16{x}32, 16{y}32]", "[16{x}32, 16{y}32]");
  expect_right(within, setting, Path::peer);
}

TEST(DeviceExchange, messages_lie_on_the_device_where_all_transports_take_them_there) {
  const Case test = team_test::make_case("x:4", "[96{x}384, 200]", "[384, 50{x}200]");
  const Size chunk = 4096;
  Size held[2] = {};
  for (const int takers : {3, 4}) {
    for (const bool lazy : {false, true}) {
      Setting setting{.options = {.path = Path::staged, .chunk_bytes = chunk}, .lazy = lazy};
      setting.takes_device_memory = [takers](int member) { return takers == 4 || member != 1; };
      expect_right(test, setting, Path::staged);
      const Seen seen = run_all(test, setting).front();
      held[takers - 3] = seen.held_bytes;
      EXPECT_EQ(seen.reasons.back().find("from device to device") != std::string::npos,
                takers == 4);
    }
  }
  EXPECT_EQ(held[0] - held[1], 4 * chunk);
}

TEST(DeviceExchange, an_allocation_that_fails_fails_for_all_and_leaves_nothing) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  int failures = 0;
  for (const Path path : {Path::automatic, Path::staged}) {
    const int allocations = path == Path::staged ? 11 : 3;
    for (int number = 0; number < allocations; ++number) {
      Setting setting{.options = {.path = path, .chunk_bytes = 4096}};
      setting.faults = [&](int member) {
        return DeviceFaults{.refuse_allocation = member == 1 ? number : -1};
      };
      for (const Seen& seen : run_all(test, setting)) {
        ASSERT_FALSE(seen.outcome) << "allocation " << number;
        EXPECT_EQ(seen.outcome.error().code, Code::cuda_error);
        EXPECT_EQ(seen.left_behind, std::size_t{0});
        ++failures;
      }
    }
  }
  EXPECT_EQ(failures, 4 * 14);
}

TEST(DeviceExchange, a_device_that_fails_midway_ends_all) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  for (const Path path : {Path::peer, Path::staged}) {
    Setting setting{.options = {.path = path, .chunk_bytes = 4096}};
    setting.faults = [&](int member) {
      return DeviceFaults{.refuse_copy = member == 3 ? (path == Path::peer ? 0 : 2) : -1};
    };
    const auto all = run_all(test, setting);
    for (std::size_t k = 0; k < all.size(); ++k) {
      ASSERT_FALSE(all[k].outcome);
      EXPECT_EQ(all[k].outcome.error().code, k == 3 ? Code::cuda_error : Code::team_broken);
      EXPECT_EQ(all[k].left_behind, std::size_t{0});
    }
  }
}

TEST(DeviceExchange, the_memory_limit_is_obeyed_before_anything_is_allocated) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  for (const Path path : {Path::peer, Path::staged}) {
    const Size needed = run_all(test, {.options = {.path = path}}).front().held_bytes;
    for (const Size missing : {0, 1}) {
      Setting setting{.options = {.path = path, .memory_limit_bytes = needed - missing}};
      if (missing == 1) {
        // An allocation would be another error.
        setting.faults = [](int) { return DeviceFaults{.refuse_allocation = 0}; };
      }
      for (const Seen& seen : run_all(test, setting)) {
        ASSERT_EQ(seen.outcome.has_value(), missing == 0);
        if (missing == 1) {
          EXPECT_EQ(seen.outcome.error().code, Code::infeasible);
        }
      }
    }
  }
}

TEST(DeviceExchange, a_box_that_is_copied_to_a_wrong_place_is_noticed) {
  const Case test = team_test::make_case("x:4", "[8{x}32, 32]", "[32, 8{x}32]");
  for (const Path path : {Path::peer, Path::staged}) {
    Setting setting{.options = {.path = path, .chunk_bytes = 4096}};
    setting.faults = [](int member) { return DeviceFaults{.wrong_box = member == 0}; };
    Size wrong = 0;
    for (const Seen& seen : run_all(test, setting)) wrong += seen.wrong_bytes;
    EXPECT_GT(wrong, 0);
  }
}

}  // namespace
}  // namespace retile::cuda::device_exchange_test
