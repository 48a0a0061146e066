// Planning: the cheapest sequence of collectives between two types within the memory bound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile {

/// The four collectives p of the paper, and the two that add.
enum class Collective { dynslice, alltoall, allpermute, allgather, reducescatter, allreduce };

/// `dynslice`, ...
[[nodiscard]] std::string_view collective_name(Collective collective);

/// One step of a plan: a weak label, the tile shape after it, and the choices that lowering needs.
struct PlanStep {
  /// Of an allgather or an alltoall along several dimensions: what it does along them, as `dim`,
  /// `to_dim` and `factor` say it of one. The digits of a device's place in its group, slowest first.
  struct Part {
    std::size_t dim = 0;
    std::size_t to_dim = 0;
    Size factor = 1;
    friend bool operator==(const Part&, const Part&) = default;
  };
  Collective op{};
  /// dynslice, allgather: the dimension; alltoall: the one that loses the factor (its tile grows);
  /// reducescatter: the one whose tile shrinks
  std::size_t dim = 0;
  std::size_t to_dim = 0;  ///< alltoall: the one that gains the factor (its tile shrinks)
  Size factor = 1;         ///< product of the axes moved; 1 for allpermute
  Shape tile;              ///< localtype after the step
  Size cost = 0;           ///< in the plan's cost model
  /// dynslice: the digits it introduces; reducescatter, allreduce: those that count addends no more;
  /// minor to major, over positions of the running tile map's order.
  std::vector<Digit> digits = {};
  /// Two or more where the step goes along several dimensions; then `factor` is their product, and
  /// `dim` and `to_dim` are those of the first.
  std::vector<Part> parts = {};
};

/// `alltoall`, or `alltoall_dims` where it goes along several dimensions.
[[nodiscard]] std::string step_name(const PlanStep& step);

/// Among which sequences of steps a plan is sought, or no sequence is cheaper than a lower bound.
/// Collectives are here the four of the paper and the two that add, between tiles of one size that
/// equally many devices hold each.
enum class Scope {
  one_dim,       ///< collectives each along one dimension, as in the paper
  several_dims,  ///< allgathers and alltoalls along any number of dimensions at once as well (S13)
  any,           ///< whatever Programs have, exchanges and uneven tiles, too: of a bound of 0 alone
};

/// `one_dim`, `several_dims`, `any`: as JSON names it.
[[nodiscard]] std::string_view scope_name(Scope scope);
/// `collectives along one dimension each`, as sentences name it.
[[nodiscard]] std::string_view scope_words(Scope scope);

/// The two tile maps that the plan's one permutation joins; of a problem with addends with these as
/// their last dimension (Layout::stacked).
struct Permutation {
  Layout before;
  Layout after;
};

/// A slice that mixes: where it introduces the digit `sliced` it keeps piece (sliced + addend) mod
/// size, of two digits of the device number of one size. From then on, within a tile, the digit
/// `sliced` tells addends apart as well as `addend` did, and takes its place. So addends come to be
/// counted by a digit that counted replicas, without a permutation.
struct Twist {
  Digit sliced;
  Digit addend;
};

/// What steps cost.
enum class CostModel {
  paper,  ///< Fig. 11, elements per device
  bytes,  ///< exact bytes one device receives from others
};

struct PlanOptions {
  CostModel cost_model = CostModel::paper;
  Size element_bytes = 4;  ///< for bytes costs and the memory limit
  /// bound on resident bytes: tile before + tile after of the worst step
  std::optional<Size> memory_limit_bytes = {};
  /// Whether to look at valleys below the largest one that the ends allow. Without them less is
  /// proved: only what holds for every sequence (S5).
  bool over_partition = true;
  /// Only collectives, also between tiles that are not all alike. Where no aligned plan does, the
  /// dimensions whose cuts do not nest are gathered whole, at whatever height that costs: each of up
  /// to six of them before all else or after it, and every leg of such a way has a search of its own.
  bool collectives = false;
  /// Which steps the plan may have. Those along several dimensions are taken where they are cheaper;
  /// not everything that takes Programs takes them (docs/reference/program.md), so they are asked for. Never `any`.
  Scope steps = Scope::one_dim;
  /// How much all parts of the search together may look at, in alltoall edges between weak types;
  /// what takes longer counts as more of them (a weak type or digit lists kept, a tile run to see
  /// where it ends). Past it the plan is the best found so far, still right and within the bound.
  Size search_limit = Size{1} << 24;
};

/// One exchange in the place of collectives: every element goes straight from a device that holds it
/// to those that need it. Nobody receives what it holds already, and nobody holds more than its two
/// ends (docs/ledger/statements.md, U3).
struct PlannedExchange {
  std::string reason;       ///< why collectives do not do
  Shape tile;               ///< the largest extents of the new tiles
  bool of_addends = false;  ///< every addend is brought
};

/// A plan in normal form (Def. 4.5): dynslices, alltoalls, allgathers, and at most one allpermute,
/// in the valley; reducescatters and allreduces stand among the alltoalls; or an exchange, or legs that are such plans. Sizes and (in the paper's model) costs
/// count elements per device.
struct Plan {
  /// What was planned: the problem asked for, its devices renamed where that makes both ends digits
  /// of the device number.
  Problem problem;
  /// Device p of `problem` is device `device_at->at(p)` of the problem asked for, in one row; nothing:
  /// they have the same numbers.
  std::optional<DeviceTable> device_at = {};
  /// The problem asked for, where `problem` is the even one over its tiles filled up (U1): the steps
  /// are the same, and every tile of a step is what lies in the array of the one in `problem`.
  std::optional<Problem> uneven = {};
  /// The problem asked for, where `problem` is that of a view of the array (common_view): what is dealt out
  /// is cut evenly there, and tiles have the same bytes.
  std::optional<Problem> array = {};
  /// Instead of steps.
  std::optional<PlannedExchange> exchange = {};
  /// Instead of steps: plans, each from where the one before it ends, where only collectives may be
  /// used (PlanOptions::collectives) and no one plan does.
  std::vector<Plan> legs = {};
  std::string reason;  ///< why there are legs
  PlanOptions options;
  std::vector<PlanStep> steps;
  /// Slices that mix. From the slice on, the place of the digit `addend` in the device number stands
  /// for the sum of the two: so are digits of later steps and the running tile map to be read.
  std::vector<Twist> twists = {};
  std::optional<Permutation> permutation;  ///< present iff a step is an allpermute

  Size cost = 0;
  Size height = 0;  ///< largest tile size, both ends included (Def. 4.4)
  Size bound = 0;   ///< the larger of the two ends' tile sizes, eq. (4)
  Size valley = 0;  ///< least tile size
  /// max over steps of tile before + tile after; a dynslice counts only the larger
  Size resident = 0;
  /// W: least cost of a weak sequence (within the memory limit, if there is one). Not `complete`, or
  /// tiles that are not all alike: only what the steps cost but for permutations.
  Size weak_cost = 0;
  bool complete = true;  ///< the search ended before its limit
  /// Steps between addends that are not proved optimal: the cheapest that a search found, but no
  /// theorem says that all that could be cheaper was searched (docs/ledger/statements.md, PS3).
  bool searched = false;
  /// The steps among which nothing costs less than `lower_bound`, the most of which that is proved:
  /// `any` of a bound of 0, and of no other. Where all steps were searched but only those along one
  /// dimension decided, it is one_dim.
  Scope scope = Scope::several_dims;
  /// Proved: no sequence of the scope within the memory limit, if there is one, is cheaper, be its
  /// tiles within the bound eq. (4) or not. For bytes: W, or what some device lacks, whichever is more. Between
  /// addends W, or the new tile where slices alone do not do (PS1, PS5); for bytes 0.
  Size lower_bound = 0;
  bool optimal = false;  ///< cost == lower_bound
  Size states = 0;       ///< weak types visited by the search
  Size work = 0;         ///< what the search looked at, as PlanOptions::search_limit counts

  [[nodiscard]] std::size_t permutes() const;
  /// What a dynslice of this plan makes of the running tile map.
  void slice(Layout& map, const PlanStep& step) const;
};

/// Finds a cheapest plan from problem.from to problem.to that needs no more memory than the larger
/// tile, but for PlanOptions::collectives.
///
/// Axes are split into prime factors first, so one step may move part of an axis.
/// The same problem and options give the same plan, in every process and build.
/// Where tiles are not all alike the plan is that of the even problem over the tiles filled up, where
/// both ends are cut alike (U1); else one exchange. So are layouts that are listed, and ordered ones
/// without Problem::placed that no renaming of the devices makes compact at both ends.
/// Where blocks are dealt out and all cuts nest, the plan is that of a view of the array (common_view).
/// Addends are added up on the way: the plan is the best that a search found, proved or not
/// (Plan::searched), or one exchange where tiles are not all alike.
/// \error infeasible (the memory limit; `smallest_feasible_bytes` says the least one; or an end that
///        collectives alone do not reach; or addends that adding does not make), size_overflow
///        (costs), bad_argument (an element without a byte), limit_reached (addends: the search looked
///        at too much before there was a plan)
/// \paper Sec. 7.2; placement of the permutation S2; bound from Thm. 6.7 with valley for
/// localsize(t2)
[[nodiscard]] Result<Plan> plan(const Problem& problem, const PlanOptions& options = {});

/// The smallest memory limit, in bytes, for which `plan` finds a plan; decided without a search where
/// tiles are even.
/// \param collectives, steps  as of PlanOptions
/// \error size_overflow, bad_argument, infeasible (collectives alone do not reach an end)
[[nodiscard]] Result<Size> smallest_feasible_bytes(const Problem& problem, Size element_bytes,
                                                   bool collectives = false,
                                                   Scope steps = Scope::one_dim);

}  // namespace retile
