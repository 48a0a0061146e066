// One tile map on both sides, src's in digits and spec's in tile numbers, and the steps of Fig. 10
// (physical form) made on both at once. Who walks compares the base offsets where it likes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "spec/paper/fig10_low_level.h"
#include "support/generators.h"

namespace support {

/// A tile map on both sides; steps are made on both.
struct Walk {
  retile::Layout ours;
  spec::TileMap theirs;
  std::string steps;  ///< what was done, for the reader of a disagreement
};

/// Whether every device's tile lies in the same place on both sides.
inline bool same_offsets(const retile::Layout& ours, const spec::TileMap& theirs) {
  if (ours.tile() != theirs.c || ours.global() != theirs.g) return false;
  const std::vector<retile::Size> at = ours.base_offsets();
  const std::size_t rank = ours.rank();
  if (at.size() != theirs.t.size() * rank) return false;
  for (std::size_t k = 0; k < at.size(); ++k) {
    if (at[k] != theirs.t[k / rank][k % rank] * theirs.c[k % rank]) return false;
  }
  return true;
}

/// e(d) for every device of digits over the positions of `order`.
inline spec::Sizes digit_values(const retile::IotaChain& order,
                                const std::vector<retile::Digit>& digits) {
  const std::vector<retile::Size> device_at = order.list();
  spec::Sizes e(device_at.size(), 0);
  for (std::size_t v = 0; v < device_at.size(); ++v) {
    retile::Size weight = 1;
    for (const retile::Digit& digit : digits) {
      e[static_cast<std::size_t>(device_at[v])] +=
          weight * (static_cast<retile::Size>(v) / digit.stride % digit.size);
      weight *= digit.size;
    }
  }
  return e;
}

/// False when spec refused.
inline bool step_allgather(Walk& walk, std::size_t i, retile::Size n) {
  walk.steps += " allgather(" + std::to_string(i) + "," + std::to_string(n) + ")";
  auto next = spec::allgather(walk.theirs, i, n);
  if (!next) return false;
  walk.theirs = std::move(*next);
  walk.ours.pop(i, n);
  return true;
}
inline bool step_alltoall(Walk& walk, std::size_t i, std::size_t j, retile::Size n) {
  walk.steps +=
      " alltoall(" + std::to_string(i) + "," + std::to_string(j) + "," + std::to_string(n) + ")";
  auto next = spec::alltoall(walk.theirs, i, j, n);
  if (!next) return false;
  walk.theirs = std::move(*next);
  walk.ours.push(j, walk.ours.pop(i, n));
  return true;
}
inline bool step_dynslice(Walk& walk, std::size_t i, const retile::Digit& digit) {
  walk.steps += " dynslice(" + std::to_string(i) + "," + std::to_string(digit.stride) + ":" +
                std::to_string(digit.size) + ")";
  auto next = spec::dynslice(walk.theirs, i, digit.size, digit_values(walk.ours.order(), {digit}));
  if (!next) return false;
  walk.theirs = std::move(*next);
  walk.ours.push(i, {digit});
  return true;
}

/// The divisors of n from 2 on, cached: they are asked for all the time.
inline const std::vector<retile::Size>& factors_of(retile::Size n) {
  static std::map<retile::Size, std::vector<retile::Size>> known;
  auto& out = known[n];
  if (out.empty()) {
    for (retile::Size d = 2; d <= n; ++d) {
      if (n % d == 0) out.push_back(d);
    }
  }
  return out;
}

/// The factors that dimension i may lose, and of those the ones that dimension j can take.
inline std::vector<retile::Size> movable(const Walk& walk, std::size_t i,
                                         std::optional<std::size_t> j) {
  std::vector<retile::Size> out;
  for (const retile::Size n : factors_of(walk.theirs.g[i] / walk.theirs.c[i])) {
    if (!j || walk.theirs.c[*j] % n == 0) out.push_back(n);
  }
  return out;
}

/// Every piece of the digits that no dimension uses and that divides the tile of dimension i.
inline std::vector<retile::Digit> sliceable(const Walk& walk, std::size_t i) {
  std::vector<retile::Digit> out;
  for (const retile::Digit& digit : walk.ours.unused()) {
    for (const retile::Size n : factors_of(digit.size)) {
      if (walk.theirs.c[i] % n != 0) continue;
      out.push_back({digit.stride, n});
      if (n != digit.size) out.push_back({digit.stride * (digit.size / n), n});
    }
  }
  return out;
}

/// One random step on both sides. Nothing when the draw met a step that cannot be made, else
/// whether spec makes it, too.
inline std::optional<bool> choose_walk_step(const Choose& choose, Walk& walk) {
  const std::size_t rank = walk.ours.rank();
  if (rank == 0) return std::nullopt;
  const std::size_t i = detail::pick_index(choose, rank);
  const std::size_t j = detail::pick_index(choose, rank);
  if (choose(3) == 0) {
    const auto digits = sliceable(walk, i);
    if (digits.empty()) return std::nullopt;
    return step_dynslice(walk, i, detail::pick(choose, digits));
  }
  const bool moves = i != j && choose(3) != 0;
  const auto factors = movable(walk, i, moves ? std::optional(j) : std::nullopt);
  if (factors.empty()) return std::nullopt;
  const retile::Size n = detail::pick(choose, factors);
  return moves ? step_alltoall(walk, i, j, n) : step_allgather(walk, i, n);
}

}  // namespace support
