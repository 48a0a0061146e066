// The planner that reaches the optimum. See plan.h.
//
// 1. For each possible valley size V the least cost of a weak path (weak_search.h); the least over
//    all levels is W, and the least of path + permutation is what must be beaten (S2).
// 2. Levels whose cheapest path alone beats it, cheapest first: a path that needs no permutation
//    (exact_search.h).
//
// Whether a memory limit can be obeyed is decided before and without a search (`feasible`), so that
// a search that stops at its limit never turns into a "no".
//
// What is proved. In the paper's model: the optimum of all sequences, within the bound eq. (4) or
// not, is a normal form with at most one permutation, in the valley (S3), and both parts are
// complete where the search ends before its limit and each path can be decided; else the lower
// bound says what is proved. For bytes, and under a memory limit: the optimum of these normal forms
// (within the limit). In elements no sequence with larger tiles than both ends' is cheaper, nor
// needs less memory: what takes the place of a peak in the proof of S3 is lower, so no step of it
// holds more. In bytes W bounds those from below, too. So what is proved is proved of them, too.
//
// That the place of the permutation does not matter and that any path becomes
// exact by one (S2) holds in all of them; what differs from model to model, Prices says.
#include "retile/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/primes.h"
#include "retile/plan/adding.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/exact_search.h"
#include "retile/plan/lacking.h"
#include "retile/plan/realise.h"
#include "retile/plan/uneven.h"
#include "retile/plan/weak_search.h"

namespace retile {

namespace {

// Devices times dimensions up to which something is looked up device by device.
constexpr Size most_places = Size{1} << 21;

/// A normal form that always exists, without search: per prime, slice what the target needs and the
/// source lacks, move what is in the wrong dimension, gather the rest. The fallback where a search
/// stops at its limit.
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

/// A normal form through a level that always exists, without search: one bottom, one top, and the
/// moves between them.
/// \param from_source  whether factors that the source has too many of are gathered first, to save
///                     moves; else all gathers are as few and as large as they can be, so that the
///                     last one holds least
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

/// The valleys that the options allow.
std::vector<Level> allowed_levels(const PlanOptions& options, const WeakSpace& space) {
  std::vector<Level> levels = space.levels();
  Size largest = 0;
  for (const Level& level : levels) largest = std::max(largest, level.tile);
  const auto left_out = [&](const Level& level) {
    return level.tile < largest && !options.over_partition;
  };
  levels.erase(std::remove_if(levels.begin(), levels.end(), left_out), levels.end());
  return levels;
}

/// The tile of the bottom of a path.
Wide valley_of(const Problem& problem, const WeakPath& path) {
  Wide tile = problem.from.tile_size();
  for (const auto& slice : path.slices) tile /= slice.factor;
  return tile;
}

/// The most elements that a step of `path` holds, before and after together.
Wide resident_of(const Problem& problem, const WeakPath& path, bool permute) {
  Wide most = std::max(problem.from.tile_size(), problem.to.tile_size());
  Wide tile = valley_of(problem, path);
  if (permute || !path.moves.empty()) most = std::max(most, 2 * tile);
  for (const auto& gather : path.gathers) {
    most = std::max(most, tile + tile * gather.factor);
    tile *= gather.factor;
  }
  return most;
}

/// Turns a path and its choices into a Plan's steps: all but Plan::problem.
/// \error size_overflow
Result<Plan> assemble(const Problem& problem, const PlanOptions& options, const WeakPath& path,
                      const SliceDigits& digits, std::optional<Placement> placement) {
  const Prices prices = prices_of(problem, options);
  Plan plan;
  plan.options = options;
  Shape tile = problem.from.tile();
  Wide cost = 0;
  Wide size = problem.from.tile_size();
  Wide height = std::max(problem.from.tile_size(), problem.to.tile_size());
  Wide valley = std::min(problem.from.tile_size(), problem.to.tile_size());
  Wide resident = height;
  const auto add = [&](PlanStep step, Wide step_cost) {
    Wide after = 1;
    for (const Size extent : tile) after *= extent;
    resident = std::max(resident, step.op == Collective::dynslice ? size : size + after);
    height = std::max(height, after);
    valley = std::min(valley, after);
    step_cost *= prices.element();
    size = after;
    cost += step_cost;
    step.tile = tile;
    step.cost = static_cast<Size>(std::min<Wide>(step_cost, std::numeric_limits<Size>::max()));
    plan.steps.push_back(std::move(step));
  };
  for (std::size_t k = 0; k < path.slices.size(); ++k) {
    const auto& slice = path.slices[k];
    tile[slice.dim] /= slice.factor;
    add({Collective::dynslice, slice.dim, 0, slice.factor, {}, 0, digits[k]},
        prices.dynslice(size));
  }
  for (std::size_t k = 0; k <= path.moves.size(); ++k) {
    if (placement && placement->moves_before == k)
      add({Collective::allpermute, 0, 0, 1, {}, 0, {}}, prices.allpermute(size));
    if (k == path.moves.size()) break;
    const auto& move = path.moves[k];
    tile[move.from_dim] *= move.factor;
    tile[move.to_dim] /= move.factor;
    add({Collective::alltoall, move.from_dim, move.to_dim, move.factor, {}, 0, {}},
        prices.alltoall(size, move.factor));
  }
  for (const auto& gather : path.gathers) {
    tile[gather.dim] *= gather.factor;
    add({Collective::allgather, gather.dim, 0, gather.factor, {}, 0, {}},
        prices.allgather(size, gather.factor));
  }
  RETILE_ASSERT(tile == problem.to.tile(), "a path ends in the target's tile shape");
  constexpr Wide most = std::numeric_limits<Size>::max();
  if (cost > most || resident > most) {
    return refuse({.code = Code::size_overflow,
                   .message = cost > most
                                  ? "the cost of the plan does not fit in 63 bits"
                                  : "a step of the plan holds more elements, before and after "
                                    "together, than fit in 63 bits"});
  }
  if (placement) plan.permutation = std::move(placement->permutation);
  plan.cost = static_cast<Size>(cost);
  plan.height = static_cast<Size>(height);
  plan.bound = std::max(problem.from.tile_size(), problem.to.tile_size());
  plan.valley = static_cast<Size>(valley);
  plan.resident = static_cast<Size>(resident);
  return plan;
}

/// What the search settled on.
struct Choice {
  WeakPath path;
  SliceDigits digits;
  bool permute = false;
  Wide cost = 0;
  Wide weak_cost = 0;    // W, or the best found when the search was not complete
  Wide lower_bound = 0;  // proved
  bool complete = true;
  Size states = 0;
  Size work = 0;
};

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

template <class Key>
class Planner {
 public:
  Planner(const Problem& problem, const PlanOptions& options, const WeakSpace& space,
          std::optional<Wide> resident)
      : problem_(problem),
        options_(options),
        space_(space),
        levels_(allowed_levels(options, space)) {
    limits_.resident = resident;
    limits_.work = options.search_limit;
  }

  /// A plan without search. Some plan obeys the limit.
  Choice without_search() {
    choice_.complete = false;
    open_.push_back(0);
    return settled();
  }

  /// Some plan obeys the limit.
  Choice run() {
    search_levels();
    std::stable_sort(searches_.begin(), searches_.end(), [&](const auto& a, const auto& b) {
      const Wide a_cost = space_.absolute(*a->best(), a->level());
      const Wide b_cost = space_.absolute(*b->best(), b->level());
      return std::pair{a_cost, a->level().tile} < std::pair{b_cost, b->level().tile};
    });
    choose_permuted();
    choose_exact();
    return settled();
  }

 private:
  using Search = LevelSearch<Key>;

  [[nodiscard]] bool permutable(const Level& level) const {
    return !limits_.resident || 2 * static_cast<Wide>(level.tile) <= *limits_.resident;
  }

  /// Part 1. Levels that cannot give a plan below what is known are left out.
  void search_levels() {
    const WeakPath path = direct_path(problem_);
    std::optional<Wide> known;  // a plan of this cost exists
    for (const Level& level : levels_) {
      if (!known && !limits_.resident && is_allowed(path)) known = cost_of(path, true);
      Relative cutoff = no_cost;
      if (known) {
        if (space_.absolute(level.bound, level) > *known) continue;
        cutoff = space_.relative(*known, level);
      }
      auto search = std::make_unique<Search>(space_, level, limits_, cutoff);
      search->settle_best();
      choice_.states += search->states();
      if (!search->complete()) {
        choice_.complete = false;
        open_.push_back(space_.absolute(level.bound, level));
      }
      if (!search->best()) continue;
      const Wide weak = space_.absolute(*search->best(), level);
      weak_ = weak_ ? std::min(*weak_, weak) : weak;
      if (permutable(level)) {
        const Wide cost = weak + space_.absolute(space_.permute_cost(), level);
        known = known ? std::min(*known, cost) : cost;
      }
      searches_.push_back(std::move(search));
    }
  }

  /// The cheapest path + permutation; fewest steps among equals, then the smallest valley.
  void choose_permuted() {
    for (const auto& search : searches_) {
      const Level& level = search->level();
      if (!permutable(level)) continue;
      const Relative cost = *search->best() + space_.permute_cost();
      offer(space_.absolute(cost, level), search->best_steps() + 1, true,
            [&] { return path_from(*search, search->best_bottom()); });
    }
  }

  /// Part 2. At equal cost fewer steps win, then no permutation.
  void choose_exact() {
    std::optional<DigitAlphabet> alphabet;
    for (const auto& search : searches_) {
      const Level& level = search->level();
      const Wide weak = space_.absolute(*search->best(), level);
      if (found_ && weak > choice_.cost) break;
      if (!alphabet) {
        std::vector<std::size_t> dims;
        for (std::size_t i = 0; i < space_.rank(); ++i) dims.push_back(space_.dim(i));
        alphabet.emplace(problem_, dims);
      }
      // Where the permutation that makes a cheapest path exact costs no more than a dearer path
      // does, that one is no better. Not so where there is none.
      const bool tight = space_.prices().differ_by_a_permutation() && permutable(level);
      const Relative limit = tight    ? *search->best()
                             : found_ ? space_.relative(choice_.cost, level)
                                      : no_cost;
      bool complete = false;
      if (alphabet->usable()) {
        const Size states = search->states();
        ExactSearch<Key> exact(space_, *search, *alphabet, limits_);
        const auto got = exact.run(
            limit, tight, [&](const WeakPath& path) { return decide(problem_, path, limits_); });
        choice_.states += search->states() - states;
        complete = exact.complete() && !exact.undecided();
        if (got) {
          offer(space_.absolute(got->cost, level), got->steps, false, [&] { return got->path; });
        }
      }
      if (!complete && (!found_ || weak < choice_.cost)) {
        choice_.complete = false;
        open_.push_back(weak);
      }
    }
  }

  template <class Path>
  void offer(Wide cost, std::int32_t steps, bool permute, const Path& path) {
    if (found_ &&
        std::tuple{cost, steps, permute} >= std::tuple{choice_.cost, steps_, choice_.permute})
      return;
    choice_.path = path();
    choice_.permute = permute;
    choice_.cost = cost;
    steps_ = steps;
    found_ = true;
  }

  /// Follows least costs from a bottom, first way in a fixed order.
  WeakPath path_from(const Search& search, std::uint32_t bottom) const {
    WeakPath path;
    std::uint32_t at = bottom;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane slice = search.lane(search.node(at).key, i) - space_.source(i);
      if (slice != 0) path.slices.push_back({space_.dim(i), space_.factor(slice)});
    }
    while (true) {
      const auto& node = search.node(at);
      std::int32_t gathers = 0;
      for (std::size_t i = 0; i < space_.rank(); ++i) {
        gathers += search.lane(node.key, i) != space_.target(i) ? 1 : 0;
      }
      if (gathers == node.steps && search.gather_cost(node.key) == node.cost) break;
      const bool moved =
          search.for_each_move(node.key, [&](std::size_t i, std::size_t j, const Block& block) {
            const auto next = search.find(search.moved(node.key, i, j, block.lane));
            if (!next || search.node(*next).cost + block.cost != node.cost ||
                search.node(*next).steps + 1 != node.steps)
              return false;
            path.moves.push_back({space_.dim(i), space_.dim(j), block.factor});
            at = *next;
            return true;
          });
      RETILE_ASSERT(moved, "a state that has a cost has a way on or gathers of that cost");
    }
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane gather = search.lane(search.node(at).key, i) - space_.target(i);
      if (gather != 0) path.gathers.push_back({space_.dim(i), space_.factor(gather)});
    }
    path.sort_gathers();
    return path;
  }

  [[nodiscard]] Wide cost_of(const WeakPath& path, bool permute) const {
    Wide tile = valley_of(problem_, path);
    const Prices& prices = space_.prices();
    Wide cost = permute ? prices.allpermute(tile) : 0;
    for (const auto& move : path.moves) cost += prices.alltoall(tile, move.factor);
    for (const auto& gather : path.gathers) {
      cost += prices.allgather(tile, gather.factor);
      tile *= gather.factor;
    }
    return cost * prices.element();
  }

  /// Where the search stopped at its limit: paths that need no search.
  void offer_fallbacks() {
    offer_fallback(direct_path(problem_));
    if (const auto path = slicing_path(space_)) offer_fallback(*path);
    for (const Level& level : levels_) {
      offer_fallback(greedy_path(space_, level, true));
      offer_fallback(greedy_path(space_, level, false));
    }
  }

  [[nodiscard]] bool is_allowed(const WeakPath& path) const {
    const Wide valley = valley_of(problem_, path);
    return std::any_of(levels_.begin(), levels_.end(),
                       [&](const Level& level) { return level.tile == valley; });
  }

  void offer_fallback(const WeakPath& path) {
    if (!is_allowed(path)) return;
    const Wide weak = cost_of(path, false);
    if (limits_.resident && resident_of(problem_, path, false) > *limits_.resident) return;
    weak_ = weak_ ? std::min(*weak_, weak) : weak;
    if (found_ && weak >= choice_.cost) return;
    const bool permute = !unify(problem_, path);
    if (limits_.resident && resident_of(problem_, path, permute) > *limits_.resident) return;
    const auto steps = path.slices.size() + path.moves.size() + path.gathers.size();
    offer(cost_of(path, permute), static_cast<std::int32_t>(steps) + (permute ? 1 : 0), permute,
          [&] { return path; });
  }

  Choice settled() {
    if (!choice_.complete) offer_fallbacks();
    RETILE_ASSERT(found_ && weak_, "where a plan obeys the limit, one is found");
    const auto digits = choice_.permute ? std::nullopt : unify(problem_, choice_.path);
    choice_.digits = digits ? *digits : default_digits(problem_, choice_.path);
    choice_.weak_cost = *weak_;
    choice_.work = options_.search_limit - limits_.work;
    choice_.lower_bound = choice_.cost;
    for (const Wide bound : open_) choice_.lower_bound = std::min(choice_.lower_bound, bound);
    return choice_;
  }

  const Problem& problem_;
  const PlanOptions& options_;
  const WeakSpace& space_;
  std::vector<Level> levels_;
  SearchLimits limits_;
  std::vector<std::unique_ptr<Search>> searches_;
  std::optional<Wide> weak_;
  std::vector<Wide> open_;  // bounds of what was not searched to its end
  Choice choice_;
  std::int32_t steps_ = 0;
  bool found_ = false;
};

/// The least that plans which may move and permute hold at most: an end, two tiles of the smallest
/// valley, or the last gather up from there. A smaller valley makes none of them larger, but for a
/// last gather where there was none, and that holds less than two tiles of the target.
Wide least_resident(const Problem& problem, const PlanOptions& options, const WeakSpace& space) {
  const std::vector<Level> levels = allowed_levels(options, space);
  const auto smallest = std::min_element(
      levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.tile < b.tile; });
  return resident_of(problem, greedy_path(space, *smallest, false), true);
}

/// Whether slices alone, which hold no more than the source's tile, reach the target.
bool slices_suffice(const Problem& problem, const WeakSpace& space) {
  const auto path = slicing_path(space);
  return path && unify(problem, *path);
}

/// Whether some plan holds at most `limit` elements at every step. Below two tiles of its valley it
/// can neither move nor permute, nor gather: a gather holds the target's tile, of at least two
/// valleys, and more.
bool feasible(const Problem& problem, const PlanOptions& options, const WeakSpace& space,
              Wide limit) {
  if (least_resident(problem, options, space) <= limit) return true;
  if (std::max(problem.from.tile_size(), problem.to.tile_size()) > limit) return false;
  return slices_suffice(problem, space);
}

/// \param resident  most elements a step may hold, before and after together
/// \error infeasible
Result<Choice> choose(const Problem& problem, const PlanOptions& options,
                      std::optional<Wide> resident) {
  const WeakSpace space(problem, options);
  if (allowed_levels(options, space).empty())
    return refuse({.code = Code::infeasible, .message = "no plan has another valley"});
  if (resident) {
    if (!feasible(problem, options, space, *resident)) {
      return refuse({.code = Code::infeasible,
                     .message = fmt::format("no plan holds at most {} bytes at every step",
                                            options.memory_limit_bytes.value_or(0))});
    }
  }
  if (space.key_bits() > 128) {
    // More dimensions than any state holds: a right plan, and no search.
    return Planner<Key128>(problem, options, space, resident).without_search();
  }
  if (space.key_bits() <= 64)
    return Planner<std::uint64_t>(problem, options, space, resident).run();
  return Planner<Key128>(problem, options, space, resident).run();
}

/// A problem whose ends are digits of the device number, and who its devices are.
struct Renamed {
  /// Nothing where no device needs another name: then it is the problem asked for.
  std::optional<Problem> other;
  std::optional<DeviceTable> device_at;

  [[nodiscard]] const Problem& problem(const Problem& asked) const {
    return other ? *other : asked;
  }
};

/// The problem with its devices renamed so that both ends are digits of the device number: by the
/// positions of one of them, as all that the planner does happens to positions. Nothing where that
/// does not help the other end.
std::optional<Renamed> in_digits(const Problem& problem) {
  const Layout& from = problem.from;
  const Layout& to = problem.to;
  if (problem.placed) {
    const auto& [by_position, to_position, device_at] = *problem.placed;
    return Renamed{Problem{by_position, to_position, problem.spelling}, device_at};
  }
  if (from.is_compact() && to.is_compact()) return Renamed{};
  if (from.is_listed() || to.is_listed()) return std::nullopt;
  for (const IotaChain& device_at : {from.order(), to.order()}) {
    Problem other{from.renamed(device_at), to.renamed(device_at)};
    if (other.from.is_compact() && other.to.is_compact())
      return Renamed{std::move(other), DeviceTable::iota(device_at, device_at.size())};
  }
  return std::nullopt;
}

Result<void> check_element(Size element_bytes) {
  if (element_bytes >= 1) return {};
  return refuse({.code = Code::bad_argument, .message = "an element has at least one byte"});
}

std::optional<Wide> resident_limit(const PlanOptions& options) {
  if (!options.memory_limit_bytes) return std::nullopt;
  return *options.memory_limit_bytes / options.element_bytes;
}

}  // namespace

std::string_view collective_name(Collective collective) {
  switch (collective) {
    case Collective::dynslice:
      return "dynslice";
    case Collective::alltoall:
      return "alltoall";
    case Collective::allpermute:
      return "allpermute";
    case Collective::allgather:
      return "allgather";
    case Collective::reducescatter:
      return "reducescatter";
    case Collective::allreduce:
      return "allreduce";
  }
  return "";
}

namespace {

/// All but Plan::problem. Precondition: both ends are compact.
Result<Plan> plan_digits(const Problem& problem, const PlanOptions& options) {
  const auto choice = choose(problem, options, resident_limit(options));
  if (!choice) return refuse(choice.error());
  std::optional<Placement> placement;
  if (choice->permute) placement = place_permutation(problem, choice->path, choice->digits);
  auto made = assemble(problem, options, choice->path, choice->digits, std::move(placement));
  if (!made) return made;
  made->states = choice->states;
  made->work = choice->work;
  made->weak_cost = static_cast<Size>(choice->weak_cost);  // at most the cost, which fits
  made->complete = choice->complete;
  if (const auto limit = resident_limit(options)) {
    RETILE_ASSERT(made->resident <= *limit, "a plan under a memory limit obeys it");
  }

  // Where normal forms suffice a search that came to its end proves the cost, else the levels that
  // it left open bound it. Where they do not only W is proved. What every sequence pays is proved
  // anyway; slices alone are free.
  const bool searched_all = choice->complete && options.over_partition;
  Wide bound = searched_all ? static_cast<Wide>(made->cost) : choice->lower_bound;
  if (!options.over_partition) bound = 0;
  const Prices prices = prices_of(problem, options);
  if (!prices.normal_forms_suffice()) bound = std::min(bound, choice->weak_cost);
  if (made->cost > 0 && (!searched_all || !prices.normal_forms_suffice())) {
    const Wide least = prices.least_of_any_sequence(problem.to.tile_size(),
                                                    most_lacking(problem, most_places).value_or(0));
    bound = std::max(bound, least * prices.element());
  }
  made->lower_bound = static_cast<Size>(std::min<Wide>(bound, made->cost));
  made->optimal = made->cost == made->lower_bound;
  return made;
}

}  // namespace

namespace {

/// Leaves out a permutation of which every device is its own source: where the digits of the two
/// ends do not nest, the search cannot see that one is.
void drop_idle_permutation(Plan& plan) {
  if (!plan.permutation || plan.optimal) return;
  const Layout& before = plan.permutation->before;
  const auto places = checked_mul(before.devices(), static_cast<Size>(before.rank()));
  if (!places || *places > most_places || !before.equivalent(plan.permutation->after)) return;
  plan.permutation.reset();
  Size size = plan.problem.from.tile_size();
  plan.resident = std::max(size, plan.problem.to.tile_size());
  std::vector<PlanStep> steps;
  for (PlanStep& step : plan.steps) {
    if (step.op == Collective::allpermute) {
      plan.cost -= step.cost;
      continue;
    }
    const Size after = checked_product(step.tile).value();
    const Size both = step.op == Collective::dynslice ? size : size + after;
    plan.resident = std::max(plan.resident, both);
    size = after;
    steps.push_back(std::move(step));
  }
  plan.steps = std::move(steps);
  plan.optimal = plan.cost == plan.lower_bound;
}

}  // namespace

std::size_t Plan::permutes() const {
  std::size_t out = permutation ? 1 : 0;
  for (const Plan& leg : legs) out += leg.permutes();
  return out;
}

void Plan::slice(Layout& map, const PlanStep& step) const {
  std::vector<Digit> digits = step.digits;
  for (const Twist& twist : twists) {
    const auto at = std::find(digits.begin(), digits.end(), twist.sliced);
    if (at == digits.end()) continue;
    const std::size_t addends = map.rank() - 1;
    map.pull(addends, {twist.addend});
    map.push(addends, {twist.sliced});
    *at = twist.addend;
  }
  map.push(step.dim, digits);
}

Result<Plan> plan_even(Problem problem, const PlanOptions& options) {
  auto made = plan_digits(problem, options);
  if (!made) return made;
  made->problem = std::move(problem);
  drop_idle_permutation(*made);
  return made;
}

Result<Plan> plan(const Problem& problem, const PlanOptions& options) {
  if (auto good = check_element(options.element_bytes); !good) return refuse(good.error());
  if (problem.from.addends() || problem.to.addends()) return plan_adding(problem, options);
  auto renamed = in_digits(problem);
  if (!renamed) return plan_uneven(problem, options);
  const Problem& named = renamed->problem(problem);
  auto made = is_even(named) ? plan_even(named, options) : plan_uneven(named, options);
  if (!made) return made;
  if (made->exchange) {  // which needs no other names
    made->problem = problem;
    return made;
  }
  made->device_at = std::move(renamed->device_at);
  return made;
}

Result<Size> smallest_feasible_bytes(const Problem& asked, Size element_bytes, bool collectives) {
  if (auto good = check_element(element_bytes); !good) return refuse(good.error());
  if (asked.from.addends() || asked.to.addends()) {
    return smallest_feasible_adding(asked, element_bytes, collectives);
  }
  const auto renamed = in_digits(asked);
  if (!renamed) return smallest_feasible_uneven(asked, element_bytes, collectives);
  const Problem& problem = renamed->problem(asked);
  if (!is_even(problem)) return smallest_feasible_uneven(problem, element_bytes, collectives);
  const WeakSpace space(problem, {});
  Wide least = least_resident(problem, {}, space);
  const Wide ends = std::max(problem.from.tile_size(), problem.to.tile_size());
  if (ends < least) {
    if (slices_suffice(problem, space)) least = ends;
  }
  if (least > std::numeric_limits<Size>::max() / element_bytes) {
    return refuse({.code = Code::size_overflow,
                   .message = "the smallest feasible limit does not fit in 63 bits"});
  }
  return static_cast<Size>(least) * element_bytes;
}

}  // namespace retile
