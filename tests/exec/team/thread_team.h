// A team whose members are threads of this process: for tests, and for tools that watch threads but
// not processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/team/team.h"

namespace retile::team {

/// Runs `body(team)` as every member of a team of threads, each with `memory_bytes` bytes of memory
/// aligned to 64 bytes, and waits for all. What an exception leaves behind (the team is broken
/// then, so that the others end) is an error of that member.
template <typename Body>
std::vector<Result<void>> run_threads(int members, Size memory_bytes, const Body& body) {
  constexpr std::size_t alignment = 64;
  // One allocation for all: the control block, then the memories.
  const auto rounded = [](Size bytes) {
    return (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment;
  };
  const std::size_t control_bytes = rounded(Team::control_bytes(members));
  const std::size_t each = rounded(memory_bytes);
  const auto count = static_cast<std::size_t>(members);
  std::vector<std::byte> storage(control_bytes + count * each + alignment);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(storage.data()) % alignment;
  std::byte* const control = storage.data() + (alignment - past) % alignment;

  Team::initialise(control, members);
  std::vector<std::span<std::byte>> memories;
  for (std::size_t k = 0; k < count; ++k) {
    memories.emplace_back(control + control_bytes + k * each,
                          static_cast<std::size_t>(memory_bytes));
  }
  std::vector<Result<void>> outcomes(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (int member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      Team team(control, member, memories);
      Result<void>& outcome = outcomes[static_cast<std::size_t>(member)];
      try {
        outcome = body(team);
      } catch (...) {
        team.break_team();
        outcome = refuse({.code = Code::team_broken, .message = "this member threw an exception"});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace retile::team
