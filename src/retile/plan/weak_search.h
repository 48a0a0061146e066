// Shortest paths over weak types (Sec. 7.2), one valley level at a time.
//
// A weak type is a tile shape c (Lemma 5.1); here it is held as the numbers of tiles N_i = g_i /
// c_i. Every cheapest weak sequence is a normal form: slices from the source to a *bottom*,
// alltoalls that keep the tile size V, gathers from a *top* to the target. For one V the search
// runs backwards from all tops at once over alltoall edges.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "retile/core/problem.h"
#include "retile/core/size.h"
#include "retile/plan/plan.h"

namespace retile {

/// Costs on the way: sums may pass 63 bits before the answer is known not to.
__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): the marker needs a typedef

/// Numbers of tiles per dimension, as indices into WeakSpace::counts.
using WeakState = std::u16string;

/// One alltoall edge, forwards: dimension `from_dim` loses `factor` to `to_dim`.
struct WeakMove {
  std::size_t from_dim = 0;
  std::size_t to_dim = 0;
  Size factor = 1;
  WeakState next;
};

/// The weak types between two tile shapes and what steps cost there.
class WeakSpace {
 public:
  WeakSpace(const Problem& problem, const PlanOptions& options);

  [[nodiscard]] std::size_t rank() const { return counts_.size(); }
  [[nodiscard]] Size count(const WeakState& state, std::size_t i) const {
    return counts_[i][state[i]];
  }
  [[nodiscard]] Shape tile(const WeakState& state) const;

  /// Possible valley sizes V (elements per tile), largest first: both ends' tile counts divide G/V,
  /// which divides the devices.
  [[nodiscard]] std::vector<Size> levels() const;

  /// Appends the states of level V whose tile counts are multiples of the target's.
  /// Returns false when there are more than `limit`.
  [[nodiscard]] bool tops(Size level, std::size_t limit, std::vector<WeakState>& out) const;

  [[nodiscard]] bool is_bottom(const WeakState& state) const;
  [[nodiscard]] bool is_top(const WeakState& state) const;

  /// All alltoall edges out of a state, in a fixed order. They are the edges into it as well,
  /// reversed.
  void moves(const WeakState& state, std::vector<WeakMove>& out) const;

  /// Gathers from a top to the target: one per dimension, smallest factor first (S8).
  struct Gather {
    std::size_t dim = 0;
    Size factor = 1;
  };
  [[nodiscard]] std::vector<Gather> gathers(const WeakState& top) const;
  [[nodiscard]] Wide gather_cost(const WeakState& top, Size level) const;
  /// Largest tile before + tile after of the gathers, in elements; 0 when there is none.
  [[nodiscard]] Wide gather_resident(const WeakState& top, Size level) const;

  [[nodiscard]] Wide alltoall_cost(Size level, Size factor) const;
  [[nodiscard]] Wide permute_cost(Size level) const;

 private:
  Shape global_;
  std::vector<Size> source_;  // N_i of the source
  std::vector<Size> target_;  // N_i of the target
  std::vector<std::vector<Size>>
      counts_;  // per dimension the divisors of both g_i and the devices, ascending
  Size devices_ = 1;
  Size global_size_ = 1;
  CostModel cost_model_ = CostModel::paper;
  Size element_bytes_ = 1;
};

/// What the search found at one level: least costs to the target by alltoalls and gathers, for the
/// states it settled.
struct LevelResult {
  Size level = 0;                                  // V
  std::unordered_map<WeakState, Wide> cost_to_go;  // settled states only
  std::optional<Wide> best;  // least over bottoms; nothing when none lies below the cutoff
  std::vector<WeakState> best_bottoms;  // bottoms that reach it, sorted
  Size states = 0;
  Size work = 0;         // how much of the limit it took
  bool complete = true;  // false: stopped at the work limit
};

struct SearchLimits {
  std::optional<Wide> resident;  // elements: no step may hold more
  Size work = 0;  // edges to look at; PlanOptions::search_limit says how states count
};

/// Dijkstra from all tops of `level`, up to and including cost `cutoff`.
[[nodiscard]] LevelResult search_level(const WeakSpace& space, Size level,
                                       std::optional<Wide> cutoff, const SearchLimits& limits);

}  // namespace retile
