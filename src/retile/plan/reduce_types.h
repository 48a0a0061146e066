// Weak types of problems with addends: how many tiles each dimension has, and how many addends there
// are. Private to this room.
//
// A weak normal form is slices, then alltoalls, reducescatters and allreduces in any order, then
// gathers, smallest factor first (S8). What is between slices and gathers a search finds backwards
// from the target.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/problem.h"
#include "retile/core/size.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/joined_steps.h"
#include "retile/plan/plan.h"

namespace retile {

/// The number of tiles of every dimension, and then that of addends.
using Kind = Shape;

/// A step without digits.
struct AddingStep {
  Collective op{};
  std::size_t dim = 0;  ///< as of a PlanStep
  std::size_t to_dim = 0;
  Size factor = 1;
  /// dynslice, reducescatter, of an exact path: what the factor is made of, minor to major.
  std::vector<Size> made_of = {};
  StepParts parts = {};  ///< along several dimensions, as of a PlanStep
  /// While an alltoall along several dimensions is looked for: it goes on with this.
  bool goes_on = false;
};

/// What a path costs, in elements of Prices; of two that cost the same fewer steps are better.
struct PathPrice {
  Wide cost = 0;
  int steps = 0;
  friend bool operator<(const PathPrice& a, const PathPrice& b) {
    return std::tie(a.cost, a.steps) < std::tie(b.cost, b.steps);
  }
  friend PathPrice operator+(const PathPrice& a, const PathPrice& b) {
    return {a.cost + b.cost, a.steps + b.steps};
  }
};

/// What is known of a problem without looking at digits. The problem outlives it. With the options'
/// steps along several dimensions all gathers are one, and so is what an alltoall may do.
class KindSpace {
 public:
  KindSpace(const Problem& problem, const PlanOptions& options, std::optional<Wide> resident);

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] const Prices& prices() const { return prices_; }
  [[nodiscard]] bool several_dims() const { return several_dims_; }
  [[nodiscard]] const Kind& source() const { return source_; }
  [[nodiscard]] const Kind& target() const { return target_; }
  /// The divisors of the number of devices but 1, ascending.
  [[nodiscard]] const std::vector<Size>& factors() const { return factors_; }
  /// Those that are prime.
  [[nodiscard]] const std::vector<Size>& primes() const { return primes_; }
  [[nodiscard]] Size extent(const Kind& kind, std::size_t dim) const {
    return global_[dim] / kind[dim];
  }
  [[nodiscard]] Wide tile(const Kind& kind) const;
  [[nodiscard]] Size tiles(const Kind& kind) const;
  /// How many devices hold the same tile of the same addend.
  [[nodiscard]] Size replicas(const Kind& kind) const;
  /// Whether a step may hold so much, before and after together.
  [[nodiscard]] bool fits(Wide elements) const { return !resident_ || elements <= *resident_; }
  [[nodiscard]] bool covers(const Kind& above, const Kind& below) const;

  /// What a step that can be taken costs by the tile before it and its factor, if it fits.
  [[nodiscard]] std::optional<Wide> price(Wide before, Collective op, Size factor) const;
  /// Whether the tiles before it allow the step, be there memory or not.
  [[nodiscard]] bool can_take(const Kind& before, const AddingStep& step) const;
  /// What the step costs on tiles before it, if it can be taken there and fits.
  [[nodiscard]] std::optional<Wide> price(const Kind& before, const AddingStep& step) const;
  /// Whether one alltoall along several dimensions leads from one kind to another one with as many tiles.
  [[nodiscard]] bool may_move(const Kind& before, const Kind& after) const;
  [[nodiscard]] Kind after(Kind kind, const AddingStep& step) const;
  /// What steps between the source's slices and a kind cost at least: nothing, or an alltoall of its tile, or
  /// where addends were added an allreduce of it or a reducescatter from twice as large ones. No step
  /// costs less than by how much this differs before and after it.
  /// \param tile  of the kind
  [[nodiscard]] PathPrice least_before(const Kind& kind, Wide tile) const;
  /// The same where the steps end with an alltoall to the kind.
  [[nodiscard]] PathPrice least_with_alltoall(const Kind& kind, Wide tile) const;
  /// The gathers from a kind to the target, if they lead there and fit.
  [[nodiscard]] std::optional<PathPrice> gathers(const Kind& top) const;
  [[nodiscard]] std::vector<AddingStep> gather_steps(const Kind& top) const;

 private:
  std::size_t rank_;
  Size devices_;
  const Shape& global_;
  Kind source_;
  Kind target_;
  std::vector<Size> factors_;
  std::vector<Size> primes_;
  Prices prices_;
  std::optional<Wide> resident_;
  bool several_dims_;
};

/// What is left of PlanOptions::search_limit.
struct WorkLimit {
  Size left = 0;
  bool spend(Size amount) {
    left -= amount;
    return left >= 0;
  }
};

/// Cheapest weak paths to the target from every kind, with one permutation before the gathers or
/// without any.
class KindSearch {
 public:
  KindSearch(const KindSpace& space, bool permuted, WorkLimit& work)
      : space_(space), permuted_(permuted), work_(work) {}

  /// Finds what costs at most `most` (all, without it); ends with the source's price if `first`.
  /// False where the limit came first.
  bool run(std::optional<PathPrice> most, bool first);

  /// From a kind after the slices.
  [[nodiscard]] std::optional<PathPrice> price(const Kind& kind) const;
  /// From a kind before or among the slices, which cost nothing; they are no steps here.
  std::optional<PathPrice> price_before_slices(const Kind& kind);
  /// From any kind of that tile and so many addends, after the slices.
  [[nodiscard]] std::optional<PathPrice> least_price(Wide tile, Size addends) const;
  /// The steps from the source; an allpermute where there is one. Precondition: it has a price.
  std::vector<AddingStep> path();

  [[nodiscard]] Size kinds() const { return settled_; }

 private:
  struct Hash {
    std::size_t operator()(const Kind& kind) const {
      std::size_t out = 0;
      for (const Size count : kind) {
        out = (out ^ static_cast<std::size_t>(count)) * 0x9e3779b97f4a7c15U;
        out ^= out >> 29U;
      }
      return out;
    }
  };
  /// The step from a kind: as an AddingStep says it.
  struct Next {
    Collective op{};
    std::size_t dim = 0;
    std::size_t to_dim = 0;
    Size factor = 1;
    const Kind* together = nullptr;  ///< where an alltoall along several dimensions leads
  };
  struct Node {
    PathPrice price;
    std::optional<Next> next;  ///< nothing: the gathers
    bool settled = false;
  };
  /// What is still to be looked at, the cheapest first.
  struct Open {
    PathPrice price;
    const Kind* kind;
    friend bool operator<(const Open& a, const Open& b) {
      return std::tie(b.price, *b.kind) < std::tie(a.price, *a.kind);
    }
  };
  using Alike = std::pair<Wide, Size>;  ///< tile and addends

  void add_tops(Kind top, std::size_t dim);
  /// \param tile  of the kind
  void offer(const Kind& kind, Wide tile, const Node& node);
  void expand(const Kind& kind, const PathPrice& price);
  /// Alltoalls along several dimensions that lead to a kind, from kinds that none leads to the target from
  /// yet. They all cost the tile, and kinds are expanded cheapest first, so no later one is cheaper.
  void expand_together(const Kind& kind, Wide tile, const PathPrice& price);
  /// Appends the kinds that have so many more tiles in the dimensions from `dim` on.
  void add_alike(std::vector<Kind>& out, Kind& kind, std::size_t dim, Size more);
  /// A step from a kind of this tile to one of this price.
  void relax(const Kind& before, Wide tile, const Next& step, const PathPrice& price);
  /// The first of the cheapest kinds that slices of the source reach. Precondition: it has a price.
  [[nodiscard]] const Kind& bottom();

  const KindSpace& space_;
  bool permuted_;
  WorkLimit& work_;
  bool complete_ = true;
  std::optional<PathPrice> most_;
  std::unordered_map<Kind, Node, Hash> nodes_;
  std::priority_queue<Open> queue_;
  Size settled_ = 0;
  std::map<Alike, PathPrice> least_;
  std::map<Alike, std::vector<Kind>> unreached_;  // by an alltoall along several dimensions
  std::unordered_map<Kind, std::optional<PathPrice>, Hash> before_slices_;
};

}  // namespace retile
