// The protocol of SharedSums, written over a watch, by which members wait for each other: tests put
// in one that delays members or forgets to wait. The room's own.
#pragma once

#include "retile/exec/team/shared_sums.h"

namespace retile::team {

/// The watch of the library.
struct UnwatchedSums {
  void at(SumMoment, Size = 0) const {}
  [[nodiscard]] Result<void> tell(Team& team, std::uint64_t word) const { return team.tell(word); }
  [[nodiscard]] Result<void> wait(Team& team, Size /*round*/) const { return team.barrier(); }
};

template <typename Watch>
Result<void> SharedSums::run(std::span<const std::byte> in, std::span<std::byte> out,
                             Watch& watch) {
  const bool fine =
      static_cast<Size>(in.size()) == in_bytes_ && static_cast<Size>(out.size()) == out_bytes_;
  return pass_ ? straight(fine, watch) : staged(fine, in, out, watch);
}

// Entry: who has told is in run(), so its old tile is complete and its new one may be written. Exit:
// nobody leaves before all have read and written. No two members write the same element.
template <typename Watch>
Result<void> SharedSums::straight(bool fine, Watch& watch) {
  watch.at(SumMoment::entry);
  if (auto told = watch.tell(*team_, fine ? 1 : 0); !told) return told;
  if (auto all = all_fine(); !all) return all;
  watch.at(SumMoment::make);
  pass_->run(sources_, targets_);
  watch.at(SumMoment::exit);
  return watch.wait(*team_, 0);
}

// Between two barriers every member packs for round r + 1, adds up round r and takes from round
// r - 1. Parcels and sums are in two places in turn, so what is read between two barriers is not
// what is written. The next run packs its round 0 while others may still take sums of the last round
// of this one, which lie elsewhere than parcels, and writes sums behind the barrier of its entry.
template <typename Watch>
Result<void> SharedSums::staged(bool fine, std::span<const std::byte> in, std::span<std::byte> out,
                                Watch& watch) {
  const int members = team_->members();
  const auto pack = [&](Size round) {
    watch.at(SumMoment::pack, round);
    for (int owner = 0; owner < members; ++owner) {
      rounds_->pack(round, owner, in.data(), parcel(team_->member(), round, owner));
    }
  };
  if (fine && sizes_.rounds > 0) pack(0);
  watch.at(SumMoment::entry);
  if (auto told = watch.tell(*team_, fine ? 1 : 0); !told) return told;
  if (auto all = all_fine(); !all) return all;
  for (Size round = 0; round <= sizes_.rounds; ++round) {
    if (round + 1 < sizes_.rounds) pack(round + 1);
    if (round < sizes_.rounds) {
      watch.at(SumMoment::make, round);
      for (int member = 0; member < members; ++member) {
        sources_[static_cast<std::size_t>(member)] = parcel(member, round, team_->member());
      }
      rounds_->make(round, sources_, sums(team_->member(), round));
    }
    if (round > 0) {
      watch.at(SumMoment::take, round - 1);
      for (int owner = 0; owner < members; ++owner) {
        rounds_->take(round - 1, owner, sums(owner, round - 1), out.data());
      }
    }
    if (round == sizes_.rounds) return {};
    if (auto met = watch.wait(*team_, round); !met) return met;
  }
  return {};
}

}  // namespace retile::team
