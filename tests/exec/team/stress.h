// Runs of the protocol between threads with delays at its steps, stores held back until the fence
// as streaming stores may be, and one precaution left out where a negative control wants it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "exec/team/exchanges.h"
#include "retile/exec/team/shared_protocol.h"
#include "retile/exec/team/thread_team.h"

namespace team_test {

using retile::team::Flaw;
using retile::team::SharedPath;
using retile::team::Step;
using retile::team::Team;

constexpr int steps = static_cast<int>(Step::drain) + 1;

/// What a member has stored and no other sees yet: the worst that streaming stores may do.
struct HeldStores {
  struct Held {
    std::byte* target;
    std::vector<std::byte> bytes;
  };
  std::vector<Held> held;

  void hold(std::byte* target, const std::byte* source, std::size_t bytes) {
    held.push_back({target, std::vector<std::byte>(source, source + bytes)});
  }
  void release() {
    for (const Held& store : held) {
      std::memcpy(store.target, store.bytes.data(), store.bytes.size());
    }
    held.clear();
  }
};

/// Who is slow and where, drawn from a seed: one member always sleeps in one step, and all sleep
/// now and then.
struct Delays {
  Delays(std::uint64_t seed, int members) : random(seed) {
    slow_step = static_cast<Step>(random() % steps);
    slow_member = static_cast<int>(random() % static_cast<std::uint64_t>(members));
  }
  /// The same pattern for all members, with other accidents for each.
  void be(int which) {
    member = which;
    random.seed(random() + static_cast<std::uint64_t>(which));
  }
  void at(Step step) {
    const bool slow = step == slow_step && member == slow_member;
    const std::uint64_t accident = random() % 32;
    if (slow) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    } else if (accident == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    } else if (accident < 4) {
      std::this_thread::yield();
    }
  }
  std::mt19937_64 random;
  Step slow_step{};
  int slow_member = 0;
  int member = 0;
};

/// The delays, and all that others may read is held back until the fence.
template <Flaw which>
struct StressWatch {
  static constexpr Flaw flaw = which;
  HeldStores held;
  Delays delays;

  StressWatch(std::uint64_t seed, const Team& team) : delays(seed, team.members()) {
    delays.be(team.member());
  }
  StressWatch(const StressWatch&) = delete;
  StressWatch& operator=(const StressWatch&) = delete;
  ~StressWatch() { held.release(); }

  void at(Step step) {
    delays.at(step);
    // A store without a fence comes through when others have been told that it has long been there.
    if (step == Step::entry || step == Step::slot_wait || step == Step::data_wait) held.release();
  }
  void fence() { held.release(); }

  /// A pass does not say what it writes. What it makes the same of two different grounds is that.
  void push(const retile::copy::Pass& pass, const std::byte* in,
            std::span<std::byte* const> targets, Size out_bytes) {
    const auto bytes = static_cast<std::size_t>(out_bytes);
    const auto written_over = [&](std::byte ground) {
      std::vector<std::vector<std::byte>> tiles(targets.size(),
                                                std::vector<std::byte>(bytes, ground));
      std::vector<std::byte*> places;
      for (std::vector<std::byte>& tile : tiles) places.push_back(tile.data());
      pass.push(in, places);
      return tiles;
    };
    const auto tiles = written_over(std::byte{0});
    const auto again = written_over(std::byte{0xff});
    for (std::size_t k = 0; k < targets.size(); ++k) {
      for (std::size_t begin = 0, end = 0; begin < bytes; begin = end + 1) {
        for (end = begin; end < bytes && tiles[k][end] == again[k][end];) ++end;
        if (end > begin) held.hold(targets[k] + begin, tiles[k].data() + begin, end - begin);
      }
    }
  }
  void copy(std::span<const std::byte> tile, std::byte* copy) {
    held.hold(copy, tile.data(), tile.size());
  }
  void pack(retile::copy::BoxStream& boxes, retile::copy::BoxStream::Cursor& cursor,
            const std::byte* tile, std::byte* slot, Size room) {
    std::vector<std::byte> packed(static_cast<std::size_t>(room));
    const Size bytes = boxes.pack(cursor, tile, packed.data(), room);
    held.hold(slot, packed.data(), static_cast<std::size_t>(bytes));
  }
};

/// The same delays around the stores of the library: its passes, which push or pull.
template <Flaw which>
struct PassWatch : retile::team::Unwatched {
  static constexpr Flaw flaw = which;
  Delays delays;

  PassWatch(std::uint64_t seed, const Team& team) : delays(seed, team.members()) {
    delays.be(team.member());
  }
  void at(Step step) { delays.at(step); }
};

/// How the bytes go, made sure of by which tiles are shared.
enum class Route {
  direct,  ///< into the new tiles, by stores that are held back
  staged,
  pushed,  ///< into the new tiles, by a pass
  pulled,  ///< out of the old tiles, by a pass; the new ones are private
  copied   ///< out of copies of the old tiles
};

/// Breaks the team when a protocol that is wrong on purpose hangs.
class Watchdog {
 public:
  Watchdog(const Team& team, std::chrono::milliseconds patience)
      : team_(team), thread_([this, patience] {
          std::unique_lock lock(mutex_);
          if (!over_.wait_for(lock, patience, [this] { return done_; })) team_.break_team();
        }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  Team team_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

struct StressOutcome {
  Size wrong = 0;    ///< bytes that were not those of their run
  Size checked = 0;  ///< bytes looked at
  std::string error;
  [[nodiscard]] bool good() const { return wrong == 0 && error.empty() && checked > 0; }
};

/// `runs` runs one after the other with the delays of `seed`; every byte of every run is looked at.
/// Slots are as small as they may be, so that every stream has many chunks.
template <Flaw flaw>
StressOutcome stress(const Case& test, Route route, int runs, std::uint64_t seed) {
  const int members = test.members();
  const Size element = test.problem.element_bytes;
  const Places places(test, Size{2} * std::max(members - 1, 1) * 64);
  const SharedPath path = route == Route::staged   ? SharedPath::staged
                          : route == Route::copied ? SharedPath::copied
                                                   : SharedPath::direct;
  const bool in_shared = route == Route::pulled;
  const bool out_shared = route == Route::direct || route == Route::pushed;
  std::vector<StressOutcome> each(static_cast<std::size_t>(members));
  const auto outcomes = retile::team::run_threads(
      members, places.memory_bytes, [&](Team& team) -> retile::Result<void> {
        StressOutcome& mine = each[static_cast<std::size_t>(team.member())];
        const Watchdog watchdog(team, std::chrono::seconds(flaw == Flaw::none ? 60 : 2));
        auto protocol = retile::team::SharedProtocol::create(
            team, test.problem, places.options(route == Route::copied));
        if (!protocol) return retile::refuse(protocol.error());
        const Buffers buffers(test, places, team, in_shared, out_shared);
        const auto in = buffers.in;
        const auto out = buffers.out;
        const auto run_all = [&](auto& watch) -> retile::Result<void> {
          for (int run = 1; run <= runs; ++run) {
            const auto generation = static_cast<std::uint32_t>(run);
            fill(test.from, team.member(), element, generation, in);
            const auto went = (*protocol)->run(in, out, watch);
            if (!went) return retile::refuse(went.error());
            if (*went != path) mine.error = "took the other path";
            watch.delays.at(Step::exit);
            mine.wrong += wrong_bytes(test.to, team.member(), element, generation, out);
            mine.checked += static_cast<Size>(out.size());
          }
          return {};
        };
        retile::Result<void> ran;
        if (route == Route::pushed || route == Route::pulled) {
          PassWatch<flaw> watch(seed, team);
          ran = run_all(watch);
        } else {
          StressWatch<flaw> watch(seed, team);
          ran = run_all(watch);
        }
        if (!ran) return ran;
        // The memory may go only when nobody writes into it any more, also in a wrong protocol.
        return team.barrier();
      });
  StressOutcome sum;
  for (std::size_t k = 0; k < each.size(); ++k) {
    sum.wrong += each[k].wrong;
    sum.checked += each[k].checked;
    if (!each[k].error.empty()) sum.error = each[k].error;
    if (!outcomes[k]) sum.error = outcomes[k].error().message;
  }
  return sum;
}

/// The problems that are put under stress: everybody with everybody, in unequal amounts too. Where
/// they are pulled, such as jump less that way.
inline std::vector<Case> stress_cases(Route route) {
  if (route == Route::pulled) {
    return {make_case("x:2", "[12, 10{x}20]", "[6{x}12, 20]"),
            make_case("x:3", "[9, 8{x}24]", "[3{x}9, 24]"),
            make_case("x:4", "[32, 4{x}16]", "[8{x}32, 16]")};
  }
  return {make_case("x:2", "[6{x}12, 20]", "[12, 10{x}20]"),
          make_case("x:3", "[3{x}9, 24]", "[9, 8{x}24]"),
          make_case("x:4", "[8{x}32, 16]", "[32, 4{x}16]"),
          make_case("x:2,y:2", "[4{x}8, 20]", "[8, 10{y}20]"),
          make_case("x:4", "[16{x}64, 3]", "[64, 3]", 8)};
}

}  // namespace team_test
