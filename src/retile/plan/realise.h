// From a weak normal form to choices that lowering can follow: digits for the dynslices, and where
// the one permutation goes if there must be one (Theorem 6.4 with S2 and S4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/problem.h"
#include "retile/plan/plan.h"

namespace retile {

/// A weak normal form: slices per dimension, then alltoalls, then gathers, as factors without
/// digits. Steps along several dimensions take several moves, or all gathers, at once (S13).
struct WeakPath {
  struct Slice {
    std::size_t dim = 0;
    Size factor = 1;
  };
  struct Move {
    std::size_t from_dim = 0;
    std::size_t to_dim = 0;
    Size factor = 1;
  };
  struct Gather {
    std::size_t dim = 0;
    Size factor = 1;
  };
  std::vector<Slice> slices;
  std::vector<Move> moves;
  std::vector<Gather> gathers;
  /// How many moves each alltoall makes at once, their digits slowest first; empty: one each.
  std::vector<std::size_t> together = {};
  bool gathers_together = false;  ///< all gathers are one step

  /// The moves of each alltoall. They point into `moves`.
  [[nodiscard]] std::vector<std::span<const Move>> alltoalls() const {
    std::vector<std::span<const Move>> out;
    const std::span<const Move> all(moves);
    std::size_t first = 0;
    while (first < moves.size()) {
      const std::size_t count = together.empty() ? 1 : together[out.size()];
      out.push_back(all.subspan(first, count));
      first += count;
    }
    return out;
  }

  /// The cheapest order of the gathers (S8).
  void sort_gathers() {
    std::stable_sort(gathers.begin(), gathers.end(),
                     [](const Gather& a, const Gather& b) { return a.factor < b.factor; });
  }
};

/// The digits of each slice of a path, minor to major, over device numbers.
using SliceDigits = std::vector<std::vector<Digit>>;

/// Slice digits with which `path` leads from problem.from to problem.to without a permutation, by
/// the axis-list test: run the path on digit lists with fresh names for the slices, and unify with
/// the target's lists. A factor that cuts across digits mixes them; side by side again they are
/// digits. Nothing when the lists do not unify. Complete on meshes of one prime (S4), sound on all.
[[nodiscard]] std::optional<SliceDigits> unify(const Problem& problem, const WeakPath& path);

/// Whether some choice of slices, not always sayable in digits, makes `path` reach the target: the
/// contingency criterion S4, decided by running all tiles of the bottom. Nothing when they are too
/// many for `work`, of which what was looked at is taken off.
[[nodiscard]] std::optional<bool> can_do_without(const Problem& problem, const WeakPath& path,
                                                 Size& work);

/// Any digits for the slices of a path, from those that problem.from leaves unused.
[[nodiscard]] SliceDigits default_digits(const Problem& problem, const WeakPath& path);

/// Whether `path` with these digits ends in the target's tile map; decided by running it. O(devices
/// * rank).
[[nodiscard]] bool reaches_target(const Problem& problem, const WeakPath& path,
                                  const SliceDigits& digits);

/// What an alltoall does to a tile map: pops the factors of all its moves, then pushes them, the
/// slowest first. Returns the digits popped, move by move.
std::vector<std::vector<Digit>> run_alltoall(Layout& map, std::span<const WeakPath::Move> moves);

/// The permutation that makes `path` with these digits reach the target, and the number of alltoalls
/// before it. It goes where both halves stay compact, if there is such a place (S2: any place in
/// the valley is right).
struct Placement {
  std::size_t alltoalls_before = 0;
  Permutation permutation;
};
[[nodiscard]] Placement place_permutation(const Problem& problem, const WeakPath& path,
                                          const SliceDigits& digits);

}  // namespace retile
