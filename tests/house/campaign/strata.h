// The strata of plans, Programs and walks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "house/campaign/cases.h"
#include "retile/plan/plan.h"
#include "spec/program/program.h"

namespace campaign {

/// Counts alltoalls by what they do to tile shapes: one dimension gains what another one loses.
class Moves {
 public:
  explicit Moves(std::size_t rank) : brought_(rank, 1) {}

  /// A step from one tile shape to another; steps of other kinds change nothing.
  void note(const std::vector<retile::Size>& before, const std::vector<retile::Size>& after) {
    std::size_t from = brought_.size();  // its tile grows
    std::size_t to = brought_.size();
    for (std::size_t i = 0; i < brought_.size(); ++i) {
      if (after[i] > before[i]) from = i;
      if (after[i] < before[i]) to = i;
    }
    if (from == brought_.size() || to == brought_.size()) return;
    const retile::Size n = after[from] / before[from];
    const retile::Size in_transit = std::gcd(n, brought_[from]);
    transships_ = transships_ || in_transit > 1;
    brought_[from] /= in_transit;
    brought_[to] *= n;
    ++count_;
  }
  [[nodiscard]] Strata strata() const {
    return (count_ > 1 ? only(Stratum::moves) : 0U) |
           (transships_ ? only(Stratum::transshipment) : 0U);
  }

 private:
  std::vector<retile::Size> brought_;  ///< by dimension: what alltoalls brought there
  int count_ = 0;
  bool transships_ = false;
};

[[nodiscard]] inline Strata strata_of(const retile::Plan& plan) {
  const retile::Layout& from = plan.problem.from;
  Strata out = strata_of_space(from.devices(), from.rank());
  if (plan.permutation) out |= only(Stratum::permutation);
  if (plan.valley < std::min(from.tile_size(), plan.problem.to.tile_size())) {
    out |= only(Stratum::over_partitioned);
  }
  Moves moves(from.rank());
  const retile::Shape* before = &from.tile();
  for (const retile::PlanStep& step : plan.steps) {
    moves.note(*before, step.tile);
    before = &step.tile;
  }
  return out | moves.strata();
}

/// Of the steps up to the first one that does not fit its tile.
[[nodiscard]] inline Strata strata_of(const spec::Program& program) {
  const auto size = [](const spec::Sizes& c) { return spec::product(c).value_or(INT64_MAX); };
  Strata out = strata_of_space(program.devices, program.from.global.size());
  const spec::Size smaller_end = std::min(size(program.from.tile), size(program.to.tile));
  Moves moves(program.from.global.size());
  spec::Sizes c = program.from.tile;
  for (const spec::Step& step : program.steps) {
    const auto cut = spec::piece(step, c);
    const auto next = cut ? spec::joined(step, *cut) : std::nullopt;
    if (!next) break;
    if (step.p == spec::Op::allpermute && !step.transfers) out |= only(Stratum::permutation);
    if (step.p == spec::Op::alltoall) moves.note(c, *next);
    c = *next;
    if (size(c) < smaller_end) out |= only(Stratum::over_partitioned);
  }
  return out | moves.strata();
}

/// What tells layouts over as many devices apart: the box of every device.
[[nodiscard]] inline std::uint64_t hash_of(const retile::Layout& layout) {
  return Hash().add(layout.tile()).add(layout.global()).add(layout.base_offsets()).value();
}

inline void add(Hash& hash, const spec::Tiling& tiling) {
  hash.add(tiling.tile).add(tiling.global);
  if (tiling.at) hash.add(*tiling.at);
}

/// Of a Program whose tables and tilings are listed, so that its spelling does not matter.
[[nodiscard]] inline std::uint64_t hash_of(const spec::Program& program) {
  Hash hash;
  hash.add(program.devices);
  add(hash, program.from);
  add(hash, program.to);
  for (const spec::Step& step : program.steps) {
    hash.add(static_cast<std::uint64_t>(step.p));
    if (spec::splits(step)) hash.add(static_cast<std::uint64_t>(step.split));
    if (spec::joins(step)) hash.add(static_cast<std::uint64_t>(step.concat));
    hash.add(step.table.listed).add(step.parts.value_or(0));
    constexpr std::uint64_t none = 0xFFFF;
    step.pairs ? hash.add(*step.pairs) : hash.add(none);
    step.transfers ? hash.add(*step.transfers) : hash.add(none);
    step.tile ? hash.add(*step.tile) : hash.add(none);
    step.at ? hash.add(*step.at) : hash.add(none);
    step.map ? add(hash, *step.map) : static_cast<void>(hash.add(none));
  }
  return hash.value();
}

}  // namespace campaign
