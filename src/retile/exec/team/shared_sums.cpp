#include "retile/exec/team/shared_sums.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

#include "retile/core/assert.h"
#include "retile/exec/copy/runs.h"
#include "retile/exec/copy/stores.h"
#include "retile/exec/exchange/tile_exchange.h"
#include "retile/exec/team/sums_protocol.h"

namespace retile::team {
namespace {

using copy::line_bytes;

/// Windows that the slots of a member have room for: parcels for every owner and sums, twice.
Size windows(Size members, Size parcels) { return 2 * (members * parcels + 1); }

/// Runs are as long as the boxes are together, which is long enough.
bool streams(const TileSums& tiles, int members) {
  constexpr Size run_bytes = 4096;
  return copy::can_stream() &&
         copy::streams(run_bytes, box_bytes(tiles.out_tiles.largest(), tiles.element_bytes),
                       copy::detected_cache_share_bytes(members));
}

}  // namespace

SharedSums::SharedSums(Team& team, const TileSums& tiles, const SumPlaces& places)
    : team_(&team),
      in_bytes_(box_bytes(tiles.in_tiles.of(team.member()), tiles.element_bytes)),
      out_bytes_(box_bytes(tiles.out_tiles.of(team.member()), tiles.element_bytes)),
      element_bytes_(tiles.element_bytes),
      sources_(static_cast<std::size_t>(team.members()), nullptr) {
  if (places.out_offset) {
    for (int member = 0; member < team.members(); ++member) {
      sources_[static_cast<std::size_t>(member)] = team.memory(member).data();
      targets_.push_back(team.memory(member).data() + *places.out_offset);
    }
    const auto shares = add::shares_of(tiles.sums, element_bytes_);
    pass_.emplace(tiles.sums, shares[static_cast<std::size_t>(team.member())], tiles.in_tiles,
                  tiles.out_tiles, element_bytes_, tiles.adder, streams(tiles, team.members()));
    return;
  }
  const add::Rounds rounds(tiles.sums, element_bytes_);
  Size window = places.slots_bytes / windows(team.members(), rounds.parcels());
  if (window > line_bytes) window = window / line_bytes * line_bytes;
  RETILE_ASSERT(window >= element_bytes_, "slots that are too small for an element");
  sizes_ = rounds.sizes(window / element_bytes_);
  rounds_.emplace(team.member(), tiles.sums, rounds, sizes_, tiles.in_tiles, tiles.out_tiles,
                  element_bytes_, tiles.adder);
}

Size SharedSums::least_slots_bytes(const TileSums& tiles) {
  const add::Rounds rounds(tiles.sums, tiles.element_bytes);
  return windows(tiles.sums.devices, rounds.parcels()) * tiles.element_bytes;
}

Result<void> SharedSums::run(std::span<const std::byte> in, std::span<std::byte> out) {
  UnwatchedSums watch;
  return run(in, out, watch);
}

Result<void> SharedSums::all_fine() const {
  for (int member = 0; member < team_->members(); ++member) {
    if (team_->told(member) != 0) continue;
    try {
      return refuse({.code = Code::bad_argument,
                     .message = fmt::format(
                         "member {} was given tiles of other sizes than the sums have", member)});
    } catch (const std::bad_alloc&) {
      return refuse({.code = Code::bad_argument, .message = "wrong tiles"});  // needs no memory
    }
  }
  return {};
}

std::byte* SharedSums::parcel(int member, Size round, int owner) const {
  const Size number = (round % 2 * team_->members() + owner) * sizes_.parcels;
  return team_->memory(member).data() + number * sizes_.window * element_bytes_;
}

std::byte* SharedSums::sums(int member, Size round) const {
  const Size number = 2 * team_->members() * sizes_.parcels + round % 2;
  return team_->memory(member).data() + number * sizes_.window * element_bytes_;
}

Size SharedSums::held_bytes() const {
  const auto pointers =
      static_cast<Size>((sources_.capacity() + targets_.capacity()) * sizeof(void*));
  return Size{sizeof *this} + pointers + (pass_ ? pass_->held_bytes() - Size{sizeof *pass_} : 0) +
         (rounds_ ? rounds_->held_bytes() - Size{sizeof *rounds_} : 0);
}

Size SharedSums::bound_bytes(const TileSums& tiles, const SumPlaces& places) {
  const auto members = tiles.sums.devices;
  // Both lists of pointers, of which one grows by doubling.
  const Size out = Size{sizeof(SharedSums)} + members * 4 * Size{sizeof(void*)};
  const std::size_t rank = tiles.in_tiles.largest().size();
  if (!places.out_offset) {
    return out + add::Rounds(tiles.sums, tiles.element_bytes).bound_bytes(tiles.sums, rank) -
           Size{sizeof(add::RoundsOf)};
  }
  Size most = 0;
  for (const auto& shares : add::shares_of(tiles.sums, tiles.element_bytes)) {
    most = std::max(most, add::SumPass::bound_bytes(tiles.sums, shares, rank));
  }
  return out + most - Size{sizeof(add::SumPass)};
}

}  // namespace retile::team
