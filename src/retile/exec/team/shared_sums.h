// Sums of the tiles of a team's members: straight from all tiles to all places where these lie in
// shared memory, in rounds through small shared slots where they are private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/rounds.h"
#include "retile/exec/add/sum_pass.h"
#include "retile/exec/add/sums.h"
#include "retile/exec/team/team.h"
#include "retile/program/tile_shapes.h"

namespace retile::team {

/// What is added up; the same on all members, who are the devices.
struct TileSums {
  const add::Sums& sums;
  const DeviceShapes& in_tiles;
  const DeviceShapes& out_tiles;
  Size element_bytes = 0;
  std::optional<add::Adder> adder = {};  ///< of a Program that adds
};

/// Where in every member's memory what is; the same on all.
struct SumPlaces {
  /// Whether all tiles lie in their members' memories: the old one where it begins, the new one here.
  std::optional<Size> out_offset = {};
  /// Else the slots are where it begins, of so many bytes: at least least_slots_bytes().
  Size slots_bytes = 0;
};

/// Built once, run many times; running is collective, and allocates nothing.
class SharedSums {
 public:
  /// Not collective. Preconditions: all members give the same, and have room in their memories.
  /// \param team  outlives it
  SharedSums(Team& team, const TileSums& tiles, const SumPlaces& places);

  /// Adds up what all members' `in` hold; `out` is complete on return, and nobody reads `in` any
  /// more. Precondition: the tiles lie where the places say.
  /// \error bad_argument (tiles of other sizes, on whichever member; before anything moves, on all),
  ///     team_broken (`out` is undefined)
  [[nodiscard]] Result<void> run(std::span<const std::byte> in, std::span<std::byte> out);
  /// The same with somebody who watches: at(SumMoment) is called before what the moment says,
  /// tell(Team&, word) and wait(Team&, round) wait for the others.
  template <typename Watch>
  [[nodiscard]] Result<void> run(std::span<const std::byte> in, std::span<std::byte> out,
                                 Watch& watch);

  /// Bytes that this member holds beside tiles and slots, and what that never exceeds.
  [[nodiscard]] Size held_bytes() const;
  [[nodiscard]] static Size bound_bytes(const TileSums& tiles, const SumPlaces& places);
  [[nodiscard]] static Size least_slots_bytes(const TileSums& tiles);

 private:
  [[nodiscard]] Result<void> all_fine() const;
  /// Of two parts of the slots of `member`, in turn: parcels by owner, then the sums.
  [[nodiscard]] std::byte* parcel(int member, Size round, int owner) const;
  [[nodiscard]] std::byte* sums(int member, Size round) const;
  template <typename Watch>
  [[nodiscard]] Result<void> straight(bool fine, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> staged(bool fine, std::span<const std::byte> in,
                                    std::span<std::byte> out, Watch& watch);

  Team* team_;
  Size in_bytes_;
  Size out_bytes_;
  Size element_bytes_;
  std::optional<add::SumPass> pass_;
  std::optional<add::RoundsOf> rounds_;
  add::RoundSizes sizes_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> targets_;
};

/// Where a watch is called.
enum class SumMoment { pack, entry, make, take, exit };

}  // namespace retile::team
