// A team: members that share memory, be they processes of one node or threads of one process, and
// the few ways in which they wait for each other. All protocols that move bytes through shared
// memory are written over it, so that what runs between processes can be watched between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile::team {

/// One member's view of the team.
///
/// Every member has a *memory* that all others can read and write, and a row of *counters*, one per
/// member, that only grow: counter (owner, about) is written by `owner` alone. Waiting sleeps after
/// a short spin, so that more members than cores make progress. A wait ends with an error when the
/// team is broken: some member called break_team(), or is known to have died.
///
/// Happens-before: what a member wrote before it entered a barrier or advanced a counter is seen by
/// whoever left that barrier or waited for that value. Streaming stores need a fence of their own
/// (copy room) before either.
class Team {
 public:
  /// Bytes of the control block that all members share.
  [[nodiscard]] static Size control_bytes(int members);
  /// Makes the control block ready; one member does it before any other attaches.
  static void initialise(std::byte* control, int members);

  /// \param control   shared, aligned to 64 bytes, initialised
  /// \param memories  per member, where its memory lies in this member's address space
  Team(std::byte* control, int member, std::vector<std::span<std::byte>> memories);

  [[nodiscard]] int member() const;
  [[nodiscard]] int members() const;
  [[nodiscard]] std::span<std::byte> memory(int member) const;

  /// Waits until all members have called it. \error team_broken
  [[nodiscard]] Result<void> barrier();
  /// Sets this member's counter about `about` to `value`, larger than before, and wakes who waits.
  void advance(int about, std::uint64_t value);
  /// Waits until counter (owner, about) is at least `value`. \error team_broken
  [[nodiscard]] Result<void> await(int owner, int about, std::uint64_t value);
  /// Ends all waits of all members with an error, now and later.
  void break_team();

 private:
  std::byte* control_ = nullptr;
  int member_ = 0;
  std::vector<std::span<std::byte>> memories_;
};

}  // namespace retile::team
