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

/// How many cores this process may use.
[[nodiscard]] int cores();

/// One member's view of the team.
///
/// Every member has a *memory* that all others can read and write, and a row of *counters*, two per
/// member, that only grow: counter (owner, about) is written by `owner` alone; `about` is below
/// 2 * members(). By convention (a, b) counts what a has given to b, (a, members() + b) what a has
/// taken from b. Waiting gives up the core after a short spin, and sleeps after a while, so that
/// more members than cores make progress. A wait ends with an error when the team is broken: some
/// member called break_team(), or is known to have died.
///
/// Happens-before: what a member wrote before it entered a barrier or advanced a counter is seen by
/// whoever left that barrier or waited for that value. Streaming stores need a fence of their own
/// (copy room) before either.
///
/// Several protocols may use one team in turn. Each leaves no counter (owner, me) moving when it
/// returns to me, and reads where counters stand before its first tell() or barrier(): there they
/// stand still, since nobody has left that barrier yet.
class Team {
 public:
  /// Bytes of the control block that all members share.
  [[nodiscard]] static Size control_bytes(int members);
  /// Makes the control block ready; one member does it before any other attaches.
  static void initialise(std::byte* control, int members);

  /// \param control   shared, aligned to 64 bytes, initialised
  /// \param memories  per member, where its memory lies in this member's address space
  Team(std::byte* control, int member, std::vector<std::span<std::byte>> memories);
  /// The same member of the same team with other memories.
  Team(const Team& team, std::vector<std::span<std::byte>> memories);

  [[nodiscard]] int member() const { return member_; }
  [[nodiscard]] int members() const { return static_cast<int>(memories_.size()); }
  [[nodiscard]] std::span<std::byte> memory(int member) const;

  /// Waits until all members have called it.
  /// \error team_broken
  [[nodiscard]] Result<void> barrier();
  /// A barrier to which every member brings a word.
  /// \error team_broken
  [[nodiscard]] Result<void> tell(std::uint64_t word);
  /// The word that `member` brought to the last tell().
  [[nodiscard]] std::uint64_t told(int member) const;

  /// Sets this member's counter about `about` to `value`, larger than before, and wakes who waits.
  void advance(int about, std::uint64_t value);
  /// Waits until counter (owner, about) is at least `value`.
  /// \error team_broken
  [[nodiscard]] Result<void> await(int owner, int about, std::uint64_t value);
  /// Where counter (owner, about) stands.
  [[nodiscard]] std::uint64_t counter(int owner, int about) const;

  /// Ends all waits of all members with an error, now and later.
  void break_team();
  [[nodiscard]] bool broken() const;

 private:
  template <typename Ready>
  [[nodiscard]] Result<void> wait(Ready ready, std::atomic<std::uint32_t>& event,
                                  std::atomic<std::uint32_t>& sleepers);

  std::byte* control_ = nullptr;
  int member_ = 0;
  int spins_ = 0;
  std::vector<std::span<std::byte>> memories_;
};

/// Collective: tells all a word and hears theirs, by member.
/// \error team_broken
[[nodiscard]] Result<std::vector<std::uint64_t>> tell_all(Team& team, std::uint64_t word);

/// Collective: tells the others whether this member is well; the first one that is not, or -1.
/// \error team_broken
[[nodiscard]] Result<int> first_failed(Team& team, bool well);

}  // namespace retile::team
