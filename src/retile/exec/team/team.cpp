// The control block, and waiting in it. std::atomic::wait sleeps on a futex of one process only;
// members may be processes, so the sleeping is done here.
#include "retile/exec/team/team.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <new>
#include <thread>
#include <utility>

#include "retile/core/assert.h"
#include "retile/exec/copy/runs.h"

// How writes are published. The tests' negative controls build this file with weaker orders, which
// ThreadSanitizer has to report.
#ifndef RETILE_TEAM_COUNTER_ORDER
#define RETILE_TEAM_COUNTER_ORDER std::memory_order_seq_cst
#endif
#ifndef RETILE_TEAM_ARRIVAL_ORDER
#define RETILE_TEAM_ARRIVAL_ORDER std::memory_order_acq_rel
#endif

namespace retile::team {
namespace {

using Word = std::atomic<std::uint32_t>;
using Long = std::atomic<std::uint64_t>;
// An atomic with a lock would keep the lock in one process.
static_assert(Word::is_always_lock_free && Long::is_always_lock_free);
static_assert(sizeof(Word) == 4 && sizeof(Long) == 8);

using copy::line_bytes;

/// The longest sleep before a member looks again whether the team is broken. Whoever breaks it also
/// wakes the sleepers, but one that is just falling asleep may miss that.
constexpr long sleep_ns = 50'000'000;

// A member on a core of its own answers within a microsecond. Where there are more members than
// cores, spinning keeps the core from who is waited for.
constexpr int spins_on_own_core = 200;
constexpr int spins_on_shared_core = 5;

/// How long a member then gives up its core and looks again when it gets it back, which costs a
/// tenth of a sleep and its end. For longer, it would only take the core from others now and then.
constexpr std::chrono::microseconds yielding{500};

struct alignas(line_bytes) State {
  Word broken{0};
};

struct alignas(line_bytes) Barrier {
  Word arrived{0};
  Word generation{0};  ///< also what sleepers sleep on
  Word sleepers{0};
};

/// The words that one member brought to the last two tell()s; nobody can be two behind.
struct alignas(line_bytes) Words {
  Long told[2]{};
  Long tells{0};
};

struct Counter {
  Long value{0};
  Word event{0};  ///< changes after every advance that somebody sleeps for
  Word sleepers{0};
};

Size row_bytes(int members) {
  const Size counters = 2 * Size{members} * Size{sizeof(Counter)};
  return Size{sizeof(Words)} + (counters + line_bytes - 1) / line_bytes * line_bytes;
}

template <typename T>
T& at(std::byte* control, Size offset) {
  return *std::launder(static_cast<T*>(static_cast<void*>(control + offset)));
}

State& state(std::byte* control) { return at<State>(control, 0); }
Barrier& barrier_of(std::byte* control) { return at<Barrier>(control, sizeof(State)); }
Size row(int owner, int members) {
  return Size{sizeof(State)} + Size{sizeof(Barrier)} + owner * row_bytes(members);
}
Words& words(std::byte* control, int owner, int members) {
  return at<Words>(control, row(owner, members));
}
Counter& counter_of(std::byte* control, int owner, int about, int members) {
  return at<Counter>(control,
                     row(owner, members) + Size{sizeof(Words)} + about * Size{sizeof(Counter)});
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleeps until `event` is no longer `seen`, somebody wakes it, or the time is over.
void sleep_on(Word& event, std::uint32_t seen) {
  timespec time{};
  time.tv_nsec = sleep_ns;
  // Not FUTEX_PRIVATE_FLAG: the word may lie in memory of several processes.
  syscall(SYS_futex, static_cast<void*>(&event), FUTEX_WAIT, seen, &time, nullptr, 0);
}

void wake(Word& event) {
  syscall(SYS_futex, static_cast<void*>(&event), FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

tl::unexpected<Diagnostic> broken_team() {
  return refuse({.code = Code::team_broken, .message = "a member of the team gave up or died"});
}

}  // namespace

int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

Size Team::control_bytes(int members) { return row(members, members); }

void Team::initialise(std::byte* control, int members) {
  RETILE_ASSERT(members >= 1, "a team without members");
  RETILE_ASSERT(reinterpret_cast<std::uintptr_t>(control) % line_bytes == 0,
                "the control block is not aligned");
  new (control) State;
  new (control + sizeof(State)) Barrier;
  for (int owner = 0; owner < members; ++owner) {
    std::byte* const begin = control + row(owner, members);
    new (begin) Words;
    for (int about = 0; about < 2 * members; ++about) {
      new (begin + sizeof(Words) + static_cast<std::size_t>(about) * sizeof(Counter)) Counter;
    }
  }
}

Team::Team(std::byte* control, int member, std::vector<std::span<std::byte>> memories)
    : control_(control), member_(member), memories_(std::move(memories)) {
  RETILE_ASSERT(member >= 0 && member < members(), "no such member");
  spins_ = members() <= cores() ? spins_on_own_core : spins_on_shared_core;
}

Team::Team(const Team& team, std::vector<std::span<std::byte>> memories)
    : Team(team.control_, team.member_, std::move(memories)) {
  RETILE_ASSERT(members() == team.members(), "another number of members");
}

std::span<std::byte> Team::memory(int member) const {
  return memories_[static_cast<std::size_t>(member)];
}

template <typename Ready>
Result<void> Team::wait(Ready ready, Word& event, Word& sleepers) {
  for (int spin = 0; spin < spins_; ++spin) {
    if (ready()) return {};
    relax();
  }
  const auto began = std::chrono::steady_clock::now();
  do {
    if (ready()) return {};
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() - began < yielding);
  while (true) {
    // What is waited for counts, also when somebody has given up since.
    if (broken()) return ready() ? Result<void>() : broken_team();
    // Either this member sees what it waits for, or the other sees the sleeper: both sides write
    // one word and then read the other's, in one total order.
    sleepers.fetch_add(1);
    const std::uint32_t seen = event.load();
    const bool done = ready();
    if (!done) sleep_on(event, seen);
    sleepers.fetch_sub(1);
    if (done || ready()) return {};
  }
}

Result<void> Team::barrier() {
  if (broken()) return broken_team();
  Barrier& barrier = barrier_of(control_);
  // Nobody can end this generation before this member has arrived.
  const std::uint32_t generation = barrier.generation.load();
  const auto everybody = static_cast<std::uint32_t>(members());
  if (barrier.arrived.fetch_add(1, RETILE_TEAM_ARRIVAL_ORDER) + 1 < everybody) {
    return wait([&] { return barrier.generation.load() != generation; }, barrier.generation,
                barrier.sleepers);
  }
  barrier.arrived.store(0, std::memory_order_relaxed);
  barrier.generation.store(generation + 1);
  if (barrier.sleepers.load() != 0) wake(barrier.generation);
  return {};
}

Result<void> Team::tell(std::uint64_t word) {
  Words& mine = words(control_, member_, members());
  // Two words suffice: who reads the last one has not entered the barrier after it, and the one
  // before that is overwritten only behind it.
  const std::uint64_t tells = mine.tells.load(std::memory_order_relaxed) + 1;
  mine.told[tells % 2].store(word, std::memory_order_relaxed);
  mine.tells.store(tells, std::memory_order_relaxed);
  return barrier();
}

std::uint64_t Team::told(int member) const {
  const std::uint64_t tells =
      words(control_, member_, members()).tells.load(std::memory_order_relaxed);
  return words(control_, member, members()).told[tells % 2].load(std::memory_order_relaxed);
}

void Team::advance(int about, std::uint64_t value) {
  Counter& counter = counter_of(control_, member_, about, members());
  RETILE_ASSERT(value > counter.value.load(std::memory_order_relaxed), "a counter must grow");
  counter.value.store(value, RETILE_TEAM_COUNTER_ORDER);
  if (counter.sleepers.load() == 0) return;
  counter.event.fetch_add(1);
  wake(counter.event);
}

Result<void> Team::await(int owner, int about, std::uint64_t value) {
  if (broken()) return broken_team();
  Counter& counter = counter_of(control_, owner, about, members());
  return wait([&] { return counter.value.load() >= value; }, counter.event, counter.sleepers);
}

std::uint64_t Team::counter(int owner, int about) const {
  return counter_of(control_, owner, about, members()).value.load();
}

void Team::break_team() {
  state(control_).broken.store(1);
  wake(barrier_of(control_).generation);
  for (int owner = 0; owner < members(); ++owner) {
    for (int about = 0; about < 2 * members(); ++about) {
      Counter& counter = counter_of(control_, owner, about, members());
      counter.event.fetch_add(1);
      wake(counter.event);
    }
  }
}

bool Team::broken() const { return state(control_).broken.load() != 0; }

Result<std::vector<std::uint64_t>> tell_all(Team& team, std::uint64_t word) {
  if (auto told = team.tell(word); !told) return refuse(told.error());
  std::vector<std::uint64_t> words;
  for (int member = 0; member < team.members(); ++member) words.push_back(team.told(member));
  return words;
}

Result<int> first_failed(Team& team, bool well) {
  if (auto told = team.tell(well ? 1 : 0); !told) return refuse(told.error());
  for (int member = 0; member < team.members(); ++member) {
    if (team.told(member) == 0) return member;
  }
  return -1;
}

}  // namespace retile::team
