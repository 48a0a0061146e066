// Runs of the protocol between threads with delays at its moments, stores held back until the fence
// as streaming stores may be, and one precaution left out where a negative control wants it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "exec/team/exchanges.h"
#include "exec/team/thread_team.h"
#include "retile/exec/team/shared_protocol.h"

namespace team_test {

using retile::Result;
using retile::team::Moment;
using retile::team::SharedExchange;
using retile::team::SharedPath;
using retile::team::Team;

constexpr int moments = static_cast<int>(Moment::drain) + 1;

/// What a negative control does wrong.
enum class Flaw {
  none,
  no_entry,      ///< writes into tiles whose owners may still read or write them
  no_fence,      ///< streaming stores may come after the barrier
  no_exit,       ///< reads its tile before the others have written
  no_slot_wait,  ///< packs into a slot that is still being read
  no_data_wait,  ///< unpacks a slot that is still being written
  early_ready,   ///< says "packed" before packing
  early_taken,   ///< says "unpacked" before unpacking
  no_drain,      ///< leaves before its last slots are read
  one_copy       ///< overwrites a copy that others may still read
};

/// A watch of the library with one precaution left out, or taken too early.
template <Flaw flaw, typename Watch>
struct Flawed : Watch {
  using Watch::Watch;
  Team* team = nullptr;

  void at(Moment moment, int other = -1) {
    const int self = team->member();
    const int members = team->members();
    if constexpr (flaw == Flaw::early_ready) {
      if (moment == Moment::pack) team->advance(other, team->counter(self, other) + 1);
    }
    if constexpr (flaw == Flaw::early_taken) {
      if (moment == Moment::unpack) {
        team->advance(members + other, team->counter(self, members + other) + 1);
      }
    }
    Watch::at(moment, other);
  }
  [[nodiscard]] Result<void> hear(Team& all, std::uint64_t word, std::span<std::uint64_t> words) {
    if constexpr (flaw == Flaw::no_entry) {
      std::fill(words.begin(), words.end(), word);  // takes it that all are where it is itself
      return {};
    } else {
      return Watch::hear(all, word, words);
    }
  }
  [[nodiscard]] Result<void> leave(Team& all) {
    if constexpr (flaw == Flaw::no_exit) return {};
    return Watch::leave(all);
  }
  [[nodiscard]] Result<void> await(Moment moment, Team& all, int owner, int about,
                                   std::uint64_t value) {
    const bool left_out = (flaw == Flaw::no_slot_wait && moment == Moment::slot_wait) ||
                          (flaw == Flaw::no_data_wait && moment == Moment::data_wait) ||
                          (flaw == Flaw::no_drain && moment == Moment::drain);
    if (left_out) return {};
    return Watch::await(moment, all, owner, about, value);
  }
  void advance(Moment moment, Team& all, int about, std::uint64_t value) {
    const bool was_early = (flaw == Flaw::early_ready && moment == Moment::raise_ready) ||
                           (flaw == Flaw::early_taken && moment == Moment::raise_taken);
    if (!was_early) Watch::advance(moment, all, about, value);
  }
  [[nodiscard]] std::uint64_t copy_of(std::uint64_t run) {
    return flaw == Flaw::one_copy ? 0 : Watch::copy_of(run);
  }
  void fence() {
    if constexpr (flaw != Flaw::no_fence) Watch::fence();
  }
};

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

/// Who is slow and where, drawn from a seed: one member always sleeps at one moment, and all sleep
/// now and then.
struct Delays {
  Delays(std::uint64_t seed, int members) : random(seed) {
    slow_moment = static_cast<Moment>(random() % moments);
    slow_member = static_cast<int>(random() % static_cast<std::uint64_t>(members));
  }
  /// The same pattern for all members, with other accidents for each.
  void be(int which) {
    member = which;
    random.seed(random() + static_cast<std::uint64_t>(which));
  }
  void at(Moment moment) {
    const bool slow = moment == slow_moment && member == slow_member;
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
  Moment slow_moment{};
  int slow_member = 0;
  int member = 0;
};

/// The delays, and all that others may read is held back until the fence.
struct StressWatch : retile::team::Unwatched {
  HeldStores held;
  Delays delays;

  StressWatch(std::uint64_t seed, const Team& team) : delays(seed, team.members()) {
    delays.be(team.member());
  }
  StressWatch(const StressWatch&) = delete;
  StressWatch& operator=(const StressWatch&) = delete;
  ~StressWatch() { held.release(); }

  void at(Moment moment, int /*other*/ = -1) {
    delays.at(moment);
    // A store without a fence comes through when others have been told that it has long been there.
    if (moment == Moment::entry || moment == Moment::slot_wait || moment == Moment::data_wait) {
      held.release();
    }
  }
  void fence() { held.release(); }

  /// A pass does not say what it writes. What it makes the same of two different grounds is that.
  void push(const retile::copy::Pass& pass, std::span<const std::byte* const> sources,
            std::span<std::byte* const> targets, Size out_bytes) {
    const auto bytes = static_cast<std::size_t>(out_bytes);
    const auto written_over = [&](std::byte ground) {
      std::vector<std::vector<std::byte>> tiles(targets.size(),
                                                std::vector<std::byte>(bytes, ground));
      std::vector<std::byte*> places;
      for (std::vector<std::byte>& tile : tiles) places.push_back(tile.data());
      pass.run(sources, places);
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
struct PassWatch : retile::team::Unwatched {
  Delays delays;

  PassWatch(std::uint64_t seed, const Team& team) : delays(seed, team.members()) {
    delays.be(team.member());
  }
  void at(Moment moment, int /*other*/ = -1) { delays.at(moment); }
};

/// How the bytes go, made sure of by which tiles are shared.
enum class Route {
  held,  ///< into the new tiles, by stores that are held back
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
                                                   : SharedPath::straight;
  const bool in_shared = route == Route::pulled;
  const bool out_shared = route == Route::held || route == Route::pushed;
  std::vector<StressOutcome> each(static_cast<std::size_t>(members));
  const auto outcomes = retile::team::run_threads(
      members, places.memory_bytes, [&](Team& team) -> retile::Result<void> {
        StressOutcome& mine = each[static_cast<std::size_t>(team.member())];
        const Watchdog watchdog(team, std::chrono::seconds(flaw == Flaw::none ? 60 : 2));
        auto exchange =
            SharedExchange::create(team, test.problem, places.options(route == Route::copied));
        if (!exchange) return retile::refuse(exchange.error());
        const Buffers buffers(test, places, team, in_shared, out_shared);
        const auto in = buffers.in;
        const auto out = buffers.out;
        const auto run_all = [&](auto& watch) -> retile::Result<void> {
          watch.team = &team;
          for (int run = 1; run <= runs; ++run) {
            const auto generation = static_cast<std::uint32_t>(run);
            fill(test.from, team.member(), element, generation, in);
            const auto went = exchange->run(in, out, watch);
            if (!went) return retile::refuse(went.error());
            if (*went != path) mine.error = "took the other path";
            watch.delays.at(Moment::exit);
            mine.wrong += wrong_bytes(test.to, team.member(), element, generation, out);
            mine.checked += static_cast<Size>(out.size());
          }
          return {};
        };
        retile::Result<void> ran;
        if (route == Route::pushed || route == Route::pulled) {
          Flawed<flaw, PassWatch> watch(seed, team);
          ran = run_all(watch);
        } else {
          Flawed<flaw, StressWatch> watch(seed, team);
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
