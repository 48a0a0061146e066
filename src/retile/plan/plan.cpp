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
#include "retile/core/layout_facts.h"
#include "retile/core/primes.h"
#include "retile/plan/aligned.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/exact_search.h"
#include "retile/plan/joined_steps.h"
#include "retile/plan/joint_search.h"
#include "retile/plan/lacking.h"
#include "retile/plan/method.h"
#include "retile/plan/paths.h"
#include "retile/plan/realise.h"
#include "retile/plan/reduce.h"
#include "retile/plan/reduce_certificate.h"
#include "retile/plan/weak_search.h"

namespace retile {

namespace {

// Devices times dimensions up to which something is looked up device by device.
constexpr Size most_places = Size{1} << 21;

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
  const auto alltoalls = path.alltoalls();
  for (std::size_t k = 0; k <= alltoalls.size(); ++k) {
    if (placement && placement->alltoalls_before == k)
      add({Collective::allpermute, 0, 0, 1, {}, 0, {}}, prices.allpermute(size));
    if (k == alltoalls.size()) break;
    std::vector<PlanStep::Part> parts;
    for (const auto& move : alltoalls[k]) {
      tile[move.from_dim] *= move.factor;
      tile[move.to_dim] /= move.factor;
      parts.push_back({move.from_dim, move.to_dim, move.factor});
    }
    PlanStep step = step_of(Collective::alltoall, std::move(parts));
    const Wide price = prices.alltoall(size, step.factor);
    add(std::move(step), price);
  }
  std::vector<PlanStep::Part> gathered;
  for (std::size_t k = 0; k < path.gathers.size(); ++k) {
    const auto& gather = path.gathers[k];
    tile[gather.dim] *= gather.factor;
    gathered.push_back({gather.dim, 0, gather.factor});
    if (path.gathers_together && k + 1 < path.gathers.size()) continue;
    PlanStep step = step_of(Collective::allgather, std::exchange(gathered, {}));
    const Wide price = prices.allgather(size, step.factor);
    add(std::move(step), price);
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

/// What a search for steps along one dimension is about.
struct Task {
  const Problem& problem;
  const PlanOptions& options;
  const WeakSpace& space;
  const std::vector<Level>& levels;  // the valleys that the options allow
  LazyAlphabet& alphabet;
  std::optional<Wide> resident = {};  // most elements a step may hold, before and after together
  Size work = 0;
  /// What a plan with steps along several dimensions costs: dearer ones are of no interest.
  std::optional<Wide> most_cost = {};
  Wide least_cost = 0;  // proved of all plans
  bool ties = false;    // whether to look for a plan that costs as much and sends less
};

/// What choose_tied() may look at.
constexpr Size most_tied_work = 1200;

template <class Key>
class Planner {
 public:
  explicit Planner(const Task& task)
      : task_(task),
        problem_(task.problem),
        space_(task.space),
        levels_(task.levels),
        alphabet_(task.alphabet) {
    limits_.resident = task.resident;
    limits_.work = task.work;
  }

  /// A plan without search. Some plan obeys the limit.
  Choice without_search() {
    choice_.complete = false;
    open_.push_back(0);
    return settled();
  }

  /// Some plan obeys the limit. Nothing: all are dearer than `most_cost`.
  std::optional<Choice> run() {
    search_levels();
    std::stable_sort(searches_.begin(), searches_.end(), [&](const auto& a, const auto& b) {
      const Wide a_cost = space_.absolute(*a->best(), a->level());
      const Wide b_cost = space_.absolute(*b->best(), b->level());
      return std::pair{a_cost, a->level().tile} < std::pair{b_cost, b->level().tile};
    });
    choose_permuted();
    choose_exact();
    choose_tied();
    if (!found_ && choice_.complete && task_.most_cost) return std::nullopt;
    return settled();
  }

 private:
  using Search = LevelSearch<Key>;

  [[nodiscard]] bool permutable(const Level& level) const {
    return !limits_.resident || 2 * static_cast<Wide>(level.tile) <= *limits_.resident;
  }

  /// Part 1. Levels that cannot give a plan below what is known are left out.
  void search_levels() {
    std::optional<Wide> known = task_.most_cost;  // a plan of this cost exists
    if (!known && !limits_.resident) {
      const WeakPath path = direct_path(problem_);
      if (is_allowed(path)) known = cost_of(path, true);
    }
    for (const Level& level : levels_) {
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
      const auto made = [&] { return path_from(*search, search->best_bottom()); };
      if (offer(space_.absolute(cost, level), search->best_steps() + 1, true, made)) {
        permuted_ = search.get();
      }
    }
  }

  /// Part 2. At equal cost fewer steps win, then no permutation.
  void choose_exact() {
    for (const auto& search : searches_) {
      const Level& level = search->level();
      const Wide weak = space_.absolute(*search->best(), level);
      if (found_ && weak > choice_.cost) break;
      // Where the permutation that makes a cheapest path exact costs no more than a dearer path
      // does, that one is no better. Not so where there is none.
      const bool tight = space_.prices().differ_by_a_permutation() && permutable(level);
      const Relative limit = tight    ? *search->best()
                             : found_ ? space_.relative(choice_.cost, level)
                                      : no_cost;
      if (tight && weak < task_.least_cost) continue;  // none is exact
      DigitAlphabet& alphabet = alphabet_.get();
      bool complete = false;
      if (alphabet.usable()) {
        const Size states = search->states();
        ExactSearch<Key> exact(space_, *search, alphabet, limits_);
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

  /// Where the cheapest plan permutes, one in its valley that moves digits instead may cost as much in as
  /// many steps. With groups that are no larger it sends less, and seldom farther. Nothing is proved by it, so
  /// it is sought for little work, and only where slices leave a choice of digits.
  void choose_tied() {
    if (!task_.ties || !choice_.permute || permuted_ == nullptr || !choice_.complete) return;
    if (!space_.prices().differ_by_a_permutation() || !alphabet_.is_made()) return;
    if (!alphabet_.get().usable() || choice_.path.slices.empty() || choice_.path.moves.empty())
      return;
    const Size left = limits_.work;  // which the level takes its work off, too
    limits_.work = std::min(left, most_tied_work);
    const Size allowed = limits_.work;
    ExactSearch<Key> exact(space_, *permuted_, alphabet_.get(), limits_);
    const auto got = exact.run(*permuted_->best() + space_.permute_cost(), false,
                               [](const WeakPath&) { return std::optional<bool>(false); });
    limits_.work = left - (allowed - limits_.work);
    if (!got || largest_group(got->path) > largest_group(choice_.path)) return;
    offer(space_.absolute(got->cost, permuted_->level()), got->steps, false,
          [&] { return got->path; });
  }

  [[nodiscard]] static Size largest_group(const WeakPath& path) {
    Size out = 1;
    for (const auto& move : path.moves) out = std::max(out, move.factor);
    for (const auto& gather : path.gathers) out = std::max(out, gather.factor);
    return out;
  }

  /// Whether it is taken.
  template <class Path>
  bool offer(Wide cost, std::int32_t steps, bool permute, const Path& path) {
    if (found_ &&
        std::tuple{cost, steps, permute} >= std::tuple{choice_.cost, steps_, choice_.permute})
      return false;
    choice_.path = path();
    choice_.permute = permute;
    choice_.cost = cost;
    steps_ = steps;
    found_ = true;
    return true;
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
    choice_.work = task_.work - limits_.work;
    choice_.lower_bound = choice_.cost;
    for (const Wide bound : open_) choice_.lower_bound = std::min(choice_.lower_bound, bound);
    return choice_;
  }

  const Task& task_;
  const Problem& problem_;
  const WeakSpace& space_;
  const std::vector<Level>& levels_;
  LazyAlphabet& alphabet_;
  SearchLimits limits_;
  std::vector<std::unique_ptr<Search>> searches_;
  Search* permuted_ = nullptr;  // that of the cheapest plan with a permutation
  std::optional<Wide> weak_;
  std::vector<Wide> open_;  // bounds of what was not searched to its end
  Choice choice_;
  std::int32_t steps_ = 0;
  bool found_ = false;
};

/// The least that plans which may move and permute hold at most: an end, two tiles of the smallest
/// valley, or the last gather up from there. A smaller valley makes none of them larger, but for a
/// last gather where there was none, and that holds less than two tiles of the target.
/// \param steps  where one step gathers all, it holds no tile but the smallest one and the target's
Wide least_resident(const Problem& problem, const WeakSpace& space,
                    const std::vector<Level>& levels, Scope steps) {
  const auto smallest = std::min_element(
      levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.tile < b.tile; });
  WeakPath path = greedy_path(space, *smallest, false);
  path.gathers_together = steps == Scope::several_dims;
  return resident_of(problem, path, true);
}

/// Whether slices alone, which hold no more than the source's tile, reach the target.
bool slices_suffice(const Problem& problem, const WeakSpace& space) {
  const auto path = slicing_path(space);
  return path && unify(problem, *path);
}

/// Whether some plan of steps along one dimension holds at most `limit` elements at every step. Below two tiles of its valley it
/// can neither move nor permute, nor gather: a gather holds the target's tile, of at least two
/// valleys, and more.
bool feasible(const Problem& problem, const WeakSpace& space, const std::vector<Level>& levels,
              Wide limit) {
  if (least_resident(problem, space, levels, Scope::one_dim) <= limit) return true;
  if (std::max(problem.from.tile_size(), problem.to.tile_size()) > limit) return false;
  return slices_suffice(problem, space);
}

/// Nothing: all plans of steps along one dimension are dearer than Task::most_cost.
/// \error infeasible
Result<std::optional<Choice>> choose(const Task& task) {
  if (task.resident && !feasible(task.problem, task.space, task.levels, *task.resident)) {
    return refuse({.code = Code::infeasible,
                   .message = fmt::format("no plan holds at most {} bytes at every step",
                                          task.options.memory_limit_bytes.value_or(0))});
  }
  if (task.space.key_bits() > 128) {
    // More dimensions than any state holds: a right plan, and no search.
    return Planner<Key128>(task).without_search();
  }
  if (task.space.key_bits() <= 64) return Planner<std::uint64_t>(task).run();
  return Planner<Key128>(task).run();
}

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
  auto named = renamed_to_digits(from, to);
  if (!named) return std::nullopt;
  return Renamed{Problem{std::move(named->from), std::move(named->to)},
                 DeviceTable::iota(named->device_at, named->device_at.size())};
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

std::string step_name(const PlanStep& step) {
  std::string name(collective_name(step.op));
  return step.parts.empty() ? name : name + "_dims";
}

std::string_view scope_name(Scope scope) {
  switch (scope) {
    case Scope::one_dim:
      return "one_dim";
    case Scope::several_dims:
      return "several_dims";
    case Scope::any:
      return "any";
  }
  return "";
}

std::string_view scope_words(Scope scope) {
  switch (scope) {
    case Scope::one_dim:
      return "collectives along one dimension each";
    case Scope::several_dims:
      return "collectives along one or several dimensions";
    case Scope::any:
      return "steps of any kind";
  }
  return "";
}

namespace {

/// A plan of a path. \error size_overflow
Result<Plan> plan_of(const Problem& problem, const PlanOptions& options, const RealisedPath& way) {
  std::optional<Placement> placement;
  if (way.permute) placement = place_permutation(problem, way.path, way.digits);
  auto made = assemble(problem, options, way.path, way.digits, std::move(placement));
  if (!made) return made;
  if (const auto limit = resident_limit(options)) {
    RETILE_ASSERT(made->resident <= *limit, "a plan under a memory limit obeys it");
  }
  return made;
}

/// What no sequence of steps along one dimension costs less than. Where normal forms suffice a search
/// that came to its end proves the cost, else the levels that it left open bound it. Where they do not
/// only W is proved. What every sequence pays is proved anyway; slices alone are free.
Wide bound_along_one_dim(const PlanOptions& options, const Prices& prices, const Choice& choice,
                         Wide least) {
  const bool searched_all = choice.complete && options.over_partition;
  Wide bound = searched_all ? choice.cost : choice.lower_bound;
  if (!options.over_partition) bound = 0;
  if (!prices.normal_forms_suffice()) bound = std::min(bound, choice.weak_cost);
  return std::min(std::max(bound, least), choice.cost);
}

/// What a path costs whose alltoalls and gathers may be made together.
Wide cost_of_merged(const Problem& problem, const Prices& prices, const RealisedPath& way) {
  Wide tile = valley_of(problem, way.path);
  Wide cost = way.permute ? prices.allpermute(tile) : 0;
  for (const auto& moves : way.path.alltoalls()) {
    Size factor = 1;
    for (const auto& move : moves) factor *= move.factor;
    cost += prices.alltoall(tile, factor);
  }
  Size gathered = 1;
  for (std::size_t k = 0; k < way.path.gathers.size(); ++k) {
    gathered *= way.path.gathers[k].factor;
    if (way.path.gathers_together && k + 1 < way.path.gathers.size()) continue;
    cost += prices.allgather(tile, gathered);
    tile *= std::exchange(gathered, 1);
  }
  return cost * prices.element();
}

/// Makes one of several steps of a path along one dimension each, where that is cheaper than what is known.
void merge_known(const Problem& problem, const Prices& prices, const PlanOptions& options,
                 const Choice& known, OverDimsAnswer& answer) {
  if (answer.proved()) return;
  RealisedPath out{merged(known.path), known.digits, known.permute, 0};
  // In bytes received one alltoall is cheaper than several, but one allgather is not.
  if (prices.in_bytes()) out.path.gathers_together = false;
  out.cost = cost_of_merged(problem, prices, out);
  const auto limit = resident_limit(options);
  if (limit && resident_of(problem, out.path, out.permute) > *limit) return;
  if (out.cost >= known.cost || (answer.best && out.cost >= answer.best->cost)) return;
  answer.best = std::move(out);
  answer.joins_known = true;
}

/// What every sequence costs at least that is not slices alone.
Wide least_of_any(const Problem& problem, const Prices& prices, const std::optional<Wide>& known) {
  if (known == 0) return 0;
  const Size lacking = prices.in_bytes() ? most_lacking(problem, most_places).value_or(0) : 0;
  return static_cast<Wide>(prices.least_of_any_sequence(problem.to.tile_size(), lacking)) *
         prices.element();
}

/// What the searches found.
struct Found {
  std::optional<Choice>
      along_one;  // the cheapest of steps along one dimension, but for Task::most_cost
  OverDimsAnswer over_dims;
  bool takes_over_dims = false;
  Wide least = 0;  // what every sequence costs at least
  Size work = 0;   // what was looked at

  [[nodiscard]] RealisedPath way() const {
    if (takes_over_dims) return *over_dims.best;
    return {along_one->path, along_one->digits, along_one->permute, along_one->cost};
  }
};

/// What the searches proved of the plan that came of them, and in which scope.
void set_proved(Plan& plan, const Found& found) {
  const PlanOptions& options = plan.options;
  plan.scope = Scope::several_dims;
  plan.lower_bound = static_cast<Size>(std::min<Wide>(found.over_dims.lower_bound, plan.cost));
  // That of a search is at most the cost, which fits.
  plan.weak_cost = found.takes_over_dims ? cost_without_permutations(plan)
                                         : static_cast<Size>(found.along_one->weak_cost);
  if (!found.takes_over_dims && plan.cost > plan.lower_bound) {
    const Prices prices = prices_of(plan.problem, options);
    const Wide bound = bound_along_one_dim(options, prices, *found.along_one, found.least);
    if (options.steps == Scope::one_dim || bound == found.along_one->cost) {
      plan.scope = Scope::one_dim;
      plan.lower_bound = static_cast<Size>(bound);
    }
  }
  plan.optimal = plan.cost == plan.lower_bound;
}

/// Whether the plan is proved, and no other of steps along one dimension costs as little in as few
/// steps: slices alone, or with one permutation or one gather of tiles that are no smaller than they
/// must be (S13).
bool is_alone(const OverDimsAnswer& answer, const Problem& problem) {
  if (!answer.proved()) return false;
  return answer.no_other ||
         (answer.best->cost <= problem.to.tile_size() && answer.best->path.moves.empty());
}

/// Steps along several dimensions first, which are soon decided: then those along one have little left
/// to look at, in which they could be as cheap.
/// \error infeasible
Result<Found> search_steps(const Problem& problem, const PlanOptions& options, bool ties) {
  const WeakSpace space(problem, options);
  const std::vector<Level> levels = allowed_levels(options, space);
  if (levels.empty())
    return refuse({.code = Code::infeasible, .message = "no plan has another valley"});
  LazyAlphabet alphabet(problem, space.dims());
  const Prices prices = space.prices();
  const bool may_merge = options.steps == Scope::several_dims;
  Found out;
  Task task{
      problem, options, space, levels, alphabet, resident_limit(options), options.search_limit};
  task.ties = ties;
  if (may_merge && !prices.in_bytes()) {
    out.over_dims = search_over_dims(problem, options, space, levels, alphabet, task.work);
    task.least_cost = out.over_dims.lower_bound;
    task.most_cost = out.over_dims.proved();
    if (is_alone(out.over_dims, problem)) {
      out.takes_over_dims = true;
      out.work = options.search_limit - task.work;
      return out;
    }
  }
  const auto choice = choose(task);
  if (!choice && !(may_merge && choice.error().code == Code::infeasible)) {
    return refuse(choice.error());
  }
  if (choice) out.along_one = *choice;
  std::optional<Wide> known;
  if (out.along_one) known = out.along_one->cost;
  out.least = least_of_any(problem, prices, known);
  if (!may_merge || prices.in_bytes()) out.over_dims.lower_bound = out.least;
  if (may_merge && known) merge_known(problem, prices, options, *out.along_one, out.over_dims);
  const std::optional<RealisedPath>& merged = out.over_dims.best;
  if (!known && !merged) return refuse(choice.error());
  out.takes_over_dims = merged && (!known || merged->cost < *known);
  out.work = options.search_limit - task.work + (out.along_one ? out.along_one->work : 0);
  return out;
}

/// Steps along one dimension first, which are wanted in any case, then those along several where they could
/// be cheaper.
/// \error infeasible
Result<Found> search_one_then_several(const Problem& problem, const PlanOptions& options) {
  const WeakSpace space(problem, options);
  const std::vector<Level> levels = allowed_levels(options, space);
  if (levels.empty())
    return refuse({.code = Code::infeasible, .message = "no plan has another valley"});
  LazyAlphabet alphabet(problem, space.dims());
  Task task{
      problem, options, space, levels, alphabet, resident_limit(options), options.search_limit};
  const auto choice = choose(task);
  if (!choice && choice.error().code != Code::infeasible) return refuse(choice.error());
  Found out;
  std::optional<Wide> known;
  if (choice) {
    out.along_one = *choice;
    known = out.along_one->cost;
    task.work -= out.along_one->work;
  }
  out.least = least_of_any(problem, space.prices(), known);
  if (!known || *known > problem.to.tile_size()) {
    out.over_dims = search_over_dims(problem, options, space, levels, alphabet, task.work, known);
    if (known) merge_known(problem, space.prices(), options, *out.along_one, out.over_dims);
  }
  const std::optional<RealisedPath>& merged = out.over_dims.best;
  if (!known && !merged) return refuse(choice.error());
  out.takes_over_dims = merged && (!known || merged->cost < *known);
  out.work = options.search_limit - task.work;
  return out;
}

/// The plan of what the searches found.
Result<Plan> plan_found(Problem problem, const PlanOptions& options, const Found& found) {
  auto made = plan_of(problem, options, found.way());
  if (!made) return made;
  made->problem = std::move(problem);
  made->states = found.along_one ? found.along_one->states : 0;
  made->work = found.work;
  made->complete = !found.along_one || found.along_one->complete;
  set_proved(*made, found);
  return made;
}

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
  plan.lower_bound = std::min(plan.lower_bound, plan.cost);
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

Result<Plan> plan_even(Problem problem, const PlanOptions& options, bool ties) {
  const auto found = search_steps(problem, options, ties);
  if (!found) return refuse(found.error());
  auto made = plan_found(std::move(problem), options, *found);
  if (made) drop_idle_permutation(*made);
  return made;
}

Result<EvenPlans> plan_even_twice(Problem problem, PlanOptions options) {
  options.steps = Scope::several_dims;
  auto found = search_one_then_several(problem, options);
  if (!found) return refuse(found.error());
  EvenPlans out;
  if (found->takes_over_dims && !found->over_dims.joins_known) {
    auto made = plan_found(problem, options, *found);
    if (!made) return refuse(made.error());
    out.cheaper = *std::move(made);
  }
  if (found->along_one) {
    options.steps = Scope::one_dim;
    found->takes_over_dims = false;
    found->over_dims.lower_bound = found->least;
    auto made = plan_found(std::move(problem), options, *found);
    if (!made) return refuse(made.error());
    out.single = *std::move(made);
  }
  for (std::optional<Plan>* plan : {&out.single, &out.cheaper}) {
    if (*plan) drop_idle_permutation(**plan);
  }
  return out;
}

namespace {

Result<Plan> plan_types(const Problem& problem, const PlanOptions& options) {
  return plan_even(problem, options, true);
}

Result<Size> smallest_feasible_types(const Problem& problem, const PlanOptions& options) {
  const WeakSpace space(problem, {});
  Wide least = least_resident(problem, space, allowed_levels({}, space), options.steps);
  const Wide ends = std::max(problem.from.tile_size(), problem.to.tile_size());
  if (ends < least) {
    if (slices_suffice(problem, space)) least = ends;
  }
  if (least > std::numeric_limits<Size>::max() / options.element_bytes) {
    return refuse({.code = Code::size_overflow,
                   .message = "the smallest feasible limit does not fit in 63 bits"});
  }
  return static_cast<Size>(least) * options.element_bytes;
}

/// Addends are digits of the numbers that the devices have.
std::optional<Renamed> not_renamed(const Problem& /*problem*/) { return Renamed{}; }

}  // namespace

constinit const PlanMethod method_of_types{plan_types, smallest_feasible_types};

PlanMethod method_of(const Problem& problem, const PlanMethod& other, const PlanMethod& of_types) {
  return are_paper_types(problem.from, problem.to) ? of_types : other;
}

const Methods& methods_of(const Problem& problem) {
  static const Methods array{
      .of_types = method_of_types,
      .other = {plan_uneven, smallest_feasible_uneven},
      .renamed = in_digits,
      .certify = certify_types,
      .certified = std::nullopt,
      .receive_what_they_lack = true,
  };
  static const Methods addends{
      .of_types = adding_in_steps,
      .other = adding_at_once,
      .renamed = not_renamed,
      .certify = certify_adding,
      .certified = Scope::one_dim,
      .receive_what_they_lack = false,
  };
  return addition_of(problem.from, problem.to) ? addends : array;
}

std::optional<Size> least_received(const Problem& problem) {
  if (!methods_of(problem).receive_what_they_lack) return std::nullopt;
  return most_lacking(problem, most_looked_at);
}

namespace {

/// The problem in a view of the array in which nothing is dealt out. Nothing where the array is that view, and
/// where there is none.
std::optional<Problem> problem_viewed(const Problem& problem) {
  const auto shape = common_view(problem.from, problem.to);
  if (!shape || *shape == problem.from.global()) return std::nullopt;
  auto from = problem.from.viewed(*shape);
  auto to = problem.to.viewed(*shape);
  if (!from || !to) return std::nullopt;
  return Problem{*std::move(from), *std::move(to), problem.spelling};
}

/// The plan of a view as one of the array. Where nothing is done, no view is needed, but for the digits of
/// addends.
Plan seen_from_array(Plan plan, const Problem& problem) {
  if (!plan.steps.empty() || !plan.legs.empty() || problem.from.addends()) {
    plan.array = problem;
    return plan;
  }
  plan.problem = problem;
  plan.device_at.reset();
  plan.uneven.reset();
  return plan;
}

/// What plans a problem, and under which names of its devices.
struct PlannedBy {
  PlanMethod method;
  Renamed renamed = {};
};

PlannedBy planned_by(const Problem& problem) {
  const Methods& methods = methods_of(problem);
  auto renamed = methods.renamed(problem);
  if (!renamed) return {methods.other};
  const PlanMethod method = method_of(renamed->problem(problem), methods.other, methods.of_types);
  return {method, *std::move(renamed)};
}

/// A plan but for what a bound of 0 says of all steps.
Result<Plan> plan_of_kind(const Problem& problem, const PlanOptions& options) {
  if (auto good = check_element(options.element_bytes); !good) return refuse(good.error());
  if (auto good = check_addends(problem.from, problem.to); !good) return refuse(good.error());
  if (const auto viewed = problem_viewed(problem)) {
    auto made = plan_of_kind(*viewed, options);
    if (made && !made->exchange) return seen_from_array(*std::move(made), problem);
  }
  auto [method, renamed] = planned_by(problem);
  auto made = method.plan(renamed.problem(problem), options);
  if (!made) return made;
  if (made->exchange) {  // which needs no other names
    made->problem = problem;
    return made;
  }
  made->device_at = std::move(renamed.device_at);
  return made;
}

}  // namespace

Result<Plan> plan(const Problem& problem, const PlanOptions& options) {
  Result<Plan> made = plan_of_kind(problem, options);
  if (!made) return made;
  if (made->lower_bound == 0) made->scope = Scope::any;
  made->problem.numbers = problem.numbers;
  made->problem.divisor = problem.divisor;
  return made;
}

Result<Size> smallest_feasible_bytes(const Problem& problem, Size element_bytes, bool collectives,
                                     Scope steps) {
  if (auto good = check_element(element_bytes); !good) return refuse(good.error());
  if (auto good = check_addends(problem.from, problem.to); !good) return refuse(good.error());
  const PlanOptions options{
      .element_bytes = element_bytes, .collectives = collectives, .steps = steps};
  if (const auto viewed = problem_viewed(problem)) {
    const auto least = smallest_feasible_bytes(*viewed, element_bytes, collectives, steps);
    if (least) return least;
  }
  const auto [method, renamed] = planned_by(problem);
  return method.smallest(renamed.problem(problem), options);
}

}  // namespace retile
