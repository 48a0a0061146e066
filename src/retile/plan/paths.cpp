// Normal forms that need no search. See paths.h.
#include "retile/plan/paths.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/primes.h"

namespace retile {

WeakPath direct_path(const Problem& problem) {
  const std::size_t rank = problem.from.rank();
  std::vector<Size> slice(rank, 1);
  std::vector<Size> gather(rank, 1);
  std::map<std::pair<std::size_t, std::size_t>, Size> move;
  for (const PrimePower& power : factorize(problem.from.devices())) {
    const Size p = power.prime;
    std::vector<Size> surplus(
        rank, 0);  // factors of p that dimension i has too many (or, negative, too few)
    Size balance = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      for (Size n = problem.from.cuts()[i].count(); n % p == 0; n /= p) ++surplus[i];
      for (Size n = problem.to.cuts()[i].count(); n % p == 0; n /= p) --surplus[i];
      balance += surplus[i];
    }
    // Slices go where factors are missing, gathers where there are too many; what is left cancels
    // out.
    for (std::size_t i = 0; i < rank; ++i) {
      for (; balance < 0 && surplus[i] < 0; ++balance, ++surplus[i]) slice[i] *= p;
      for (; balance > 0 && surplus[i] > 0; --balance, --surplus[i]) gather[i] *= p;
    }
    for (std::size_t i = 0, j = 0; i < rank; ++i) {
      while (surplus[i] > 0) {
        while (surplus[j] >= 0) ++j;
        --surplus[i];
        ++surplus[j];
        move.try_emplace({i, j}, 1).first->second *= p;
      }
    }
  }
  WeakPath path;
  for (std::size_t i = 0; i < rank; ++i) {
    if (slice[i] > 1) path.slices.push_back({i, slice[i]});
    if (gather[i] > 1) path.gathers.push_back({i, gather[i]});
  }
  for (const auto& [dims, factor] : move) path.moves.push_back({dims.first, dims.second, factor});
  path.sort_gathers();
  return path;
}

WeakPath greedy_path(const WeakSpace& space, const Level& level, bool from_source) {
  const std::size_t rank = space.rank();
  const std::size_t primes = space.primes().size();
  // What the level has more of each prime than these dimensions.
  const auto missing = [&](const std::vector<Lane>& lanes) {
    std::vector<int> out(level.totals);
    for (const Lane lane : lanes) {
      for (std::size_t q = 0; q < primes; ++q) out[q] -= space.exponent(lane, q);
    }
    return out;
  };
  const auto put = [&](std::vector<Lane>& lanes, std::size_t i, Lane room) {
    const std::vector<int> left = missing(lanes);
    for (std::size_t q = 0; q < primes; ++q) {
      lanes[i] += space.lane_of(q, std::min(space.exponent(room, q), left[q]));
    }
  };
  std::vector<Lane> source;
  std::vector<Lane> target;
  for (std::size_t i = 0; i < rank; ++i) {
    source.push_back(space.source(i));
    target.push_back(space.target(i));
  }
  std::vector<Lane> top = target;
  for (std::size_t i = 0; i < rank && from_source; ++i) {
    put(top, i, space.excess(source[i], top[i]));
  }
  std::size_t widest = 0;
  Size most = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    std::vector<Lane> tried = top;
    put(tried, i, space.cap(i) - top[i]);
    const Size factor = space.factor(tried[i] - target[i]);
    if (factor > most) widest = i;
    most = std::max(most, factor);
  }
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t i = (widest + k) % rank;
    put(top, i, space.cap(i) - top[i]);
  }
  std::vector<Lane> here = source;
  for (std::size_t i = 0; i < rank; ++i) put(here, i, space.excess(top[i], here[i]));
  for (std::size_t i = 0; i < rank; ++i) put(here, i, space.cap(i) - here[i]);

  WeakPath path;
  for (std::size_t i = 0; i < rank; ++i) {
    if (here[i] != source[i])
      path.slices.push_back({space.dim(i), space.factor(here[i] - source[i])});
  }
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t j = 0; j < rank; ++j) {
      const Lane block = space.min(space.excess(here[i], top[i]), space.excess(top[j], here[j]));
      if (block == 0) continue;
      path.moves.push_back({space.dim(i), space.dim(j), space.factor(block)});
      here[i] -= block;
      here[j] += block;
    }
  }
  RETILE_ASSERT(here == top, "within a level moves lead from any weak type to any other");
  for (std::size_t i = 0; i < rank; ++i) {
    if (top[i] != target[i])
      path.gathers.push_back({space.dim(i), space.factor(top[i] - target[i])});
  }
  path.sort_gathers();
  return path;
}

/// The path that only slices, where tiles of the target can be cut out of the source's.
std::optional<WeakPath> slicing_path(const WeakSpace& space) {
  WeakPath path;
  for (std::size_t i = 0; i < space.rank(); ++i) {
    if (!space.covers(space.target(i), space.source(i))) return std::nullopt;
    const Lane slice = space.target(i) - space.source(i);
    if (slice != 0) path.slices.push_back({space.dim(i), space.factor(slice)});
  }
  return path;
}

Wide valley_of(const Problem& problem, const WeakPath& path) {
  Wide tile = problem.from.tile_size();
  for (const auto& slice : path.slices) tile /= slice.factor;
  return tile;
}

Wide resident_of(const Problem& problem, const WeakPath& path, bool permute) {
  Wide most = std::max(problem.from.tile_size(), problem.to.tile_size());
  Wide tile = valley_of(problem, path);
  if (permute || !path.moves.empty()) most = std::max(most, 2 * tile);
  Wide before = tile;
  for (const auto& gather : path.gathers) {
    tile *= gather.factor;
    most = std::max(most, before + tile);
    if (!path.gathers_together) before = tile;
  }
  return most;
}

/// Whether `path` needs no permutation, where digit lists alone do not say it. A slice that no
/// digits can say is no answer: lowering could not follow it.
std::optional<bool> decide(const Problem& problem, const WeakPath& path, SearchLimits& limits) {
  if (unify(problem, path)) return true;
  // Slices leave lists of which the target's are refinements: no digit of a list is a function of
  // what comes out of the middle of another (S5).
  if (path.moves.empty() && path.gathers.empty()) return false;
  limits.spend(static_cast<Size>(16 * (path.moves.size() + problem.from.rank())));
  const std::optional<bool> possible = can_do_without(problem, path, limits.work);
  if (!possible || !*possible) return possible;
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(problem.from.rank()));
  if (places && *places <= limits.work / 4 && limits.spend(4 * *places) &&
      reaches_target(problem, path, default_digits(problem, path)))
    return true;
  return std::nullopt;
}

}  // namespace retile
