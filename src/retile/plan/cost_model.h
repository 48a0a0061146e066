// Cost models: what steps cost, and what a search may conclude from it.
//
// A third model is a third answer to each question below: the search asks these, never which model
// it has.
#pragma once

#include "retile/core/collective_cost.h"
#include "retile/core/problem.h"
#include "retile/core/size.h"
#include "retile/core/wide.h"
#include "retile/plan/plan.h"

namespace retile {

/// Sums of costs: they may pass 63 bits before the answer is known not to.
using Wide = Int128;

/// A cost model on a mesh. Prices of steps are in elements, for the size of the tile before the
/// step and the step's factor n; whoever reports a cost multiplies by element().
///
/// Prices are linear in the tile, so that one price holds for all tiles of a size: as a multiple of
/// the tile's unit()-th part it is a whole number.
class Prices {
 public:
  constexpr Prices(CostModel model, Size devices, Size element_bytes)
      : received_(model == CostModel::bytes), devices_(devices), element_bytes_(element_bytes) {}

  template <class Number>
  [[nodiscard]] constexpr Number alltoall(Number tile, Size n) const {
    return price(CollectiveKind::all_to_all, tile, n);
  }
  template <class Number>
  [[nodiscard]] constexpr Number allgather(Number tile, Size n) const {
    return price(CollectiveKind::gather, tile, n);
  }
  template <class Number>
  [[nodiscard]] constexpr Number allpermute(Number tile) const {
    return price(CollectiveKind::permute, tile, 1);
  }
  template <class Number>
  [[nodiscard]] constexpr Number reducescatter(Number tile, Size n) const {
    return price(CollectiveKind::reduce_scatter, tile, n);
  }
  template <class Number>
  [[nodiscard]] constexpr Number allreduce(Number tile, Size n) const {
    return price(CollectiveKind::all_reduce, tile, n);
  }
  template <class Number>
  [[nodiscard]] constexpr Number dynslice(Number tile) const {
    return price(CollectiveKind::slice, tile, 1);
  }

  /// Into so many parts a tile is cut to count prices in: every factor on the mesh divides it.
  [[nodiscard]] constexpr Size unit() const { return received_ ? devices_ : 1; }
  /// What one element counts as in a reported cost.
  [[nodiscard]] constexpr Size element() const { return received_ ? element_bytes_ : 1; }
  [[nodiscard]] constexpr bool in_bytes() const { return received_; }

  /// So many dimensions at most can gathers serve that an alltoall would have to serve otherwise,
  /// without paying for it: in elements each gather but the last costs more than an alltoall; what
  /// several gathers receive is what one receives.
  [[nodiscard]] constexpr Size dimensions_served_by_gathers(Size rank) const {
    return received_ ? rank : 1;
  }
  /// Whether two paths with the same valley that differ in cost differ by at least what a
  /// permutation costs there. Then a path that is not a cheapest one is never worth taking to do
  /// without a permutation.
  [[nodiscard]] constexpr bool differ_by_a_permutation() const { return !received_; }
  /// S3: whether no sequence is cheaper than every normal form with at most one permutation, in its
  /// valley. Not so in bytes: gathering and slicing with factor 2 receives less than an alltoall
  /// and a permutation.
  [[nodiscard]] constexpr bool normal_forms_suffice() const { return !received_; }
  /// No sequence that is not slices alone costs less, in elements.
  /// \param lacking  elements of its new tile that some device does not hold
  /// \paper S5
  [[nodiscard]] constexpr Size least_of_any_sequence(Size target_tile, Size lacking) const {
    return received_ ? lacking : target_tile;
  }

 private:
  template <class Number>
  [[nodiscard]] constexpr Number price(CollectiveKind kind, Number tile, Size n) const {
    const auto members = static_cast<Number>(n);
    if (received_) return collective_received(kind, tile, members);
    // A gathered tile alone is known to be no larger than the array.
    return collective_cost(kind, tile, kind == CollectiveKind::gather ? tile * members : tile);
  }

  bool received_;
  Size devices_;
  Size element_bytes_;
};

/// The cost model that the options choose.
[[nodiscard]] inline Prices prices_of(const Problem& problem, const PlanOptions& options) {
  return {options.cost_model, problem.from.devices(), options.element_bytes};
}

}  // namespace retile
