// Sums by messages: addends to who adds them, sums to who needs them. Not a public header.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/exec/add/rounds.h"
#include "retile/exec/add/sums.h"
#include "retile/exec/mpi/task.h"

namespace retile::mpi {

/// In rounds, two of which are under way at a time.
///
/// No deadlock: in step r a process begins the parcels of round r + 1, waits for those of round r,
/// begins the sums of round r and waits for those of round r - 1. Whatever it waits for others begin
/// in an earlier step, or in the same one before they wait for what is begun in it. So the process
/// that is in the least step, and of several the one that waits for parcels, can go on.
class SumMessages {
 public:
  /// \param sums  outlives make_ready()
  SumMessages(const Task& task, const add::Sums& sums);

  /// What this never counts more than, on any process, beside the tiles.
  [[nodiscard]] Size limit_bytes() const { return limit_bytes_; }
  /// Only what can fail on this process alone.
  /// \error mpi_error (out of memory)
  [[nodiscard]] Result<void> make_ready();
  [[nodiscard]] Result<void> run(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  enum class Kind : std::size_t { parcel_out, parcel_in, sums_out, sums_in };
  static constexpr std::size_t kinds = 4;

  /// Room for two rounds: of parcels and sums to and from everyone, and own sums.
  [[nodiscard]] Size windows(Size parcels) const {
    const Size processes = task_.comm.processes();
    return 2 * (2 * processes * parcels + processes + 1);
  }
  /// Where a message to or from `other` lies.
  [[nodiscard]] std::byte* place(Kind kind, Size round, int other) const;
  /// Where a process's own sums of a round lie.
  [[nodiscard]] std::byte* own_sums(Size round) const;
  [[nodiscard]] Result<void> begin(Kind kind, Size round, int other, std::byte* at, Size bytes);
  /// Until none of the kind and of rounds of its parity is under way.
  [[nodiscard]] Result<void> finish(Kind kind, Size round);
  [[nodiscard]] Result<void> begin_parcels(Size round, std::span<const std::byte> in);
  [[nodiscard]] Result<void> make_sums(Size round);
  [[nodiscard]] Result<void> take_sums(Size round, std::span<std::byte> out);

  const Task task_;
  const add::Sums* sums_;
  std::optional<add::Rounds> rounds_;  // until it is ready
  add::RoundSizes sizes_;
  Size window_bytes_ = 0;
  Size limit_bytes_ = 0;
  std::optional<add::RoundsOf> own_;
  Buffer memory_;
  Messages messages_;
  std::array<std::array<Size, 2>, kinds> under_way_{};
  std::vector<const std::byte*> parcels_;
};

}  // namespace retile::mpi
