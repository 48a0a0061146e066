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
#include "retile/plan/over_dims.h"
#include "retile/plan/paths.h"
#include "retile/plan/realise.h"
#include "retile/plan/uneven.h"
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

/// A step along the dimensions of its parts, one at least.
PlanStep step_of(Collective op, std::vector<PlanStep::Part> parts) {
  PlanStep step;
  step.op = op;
  step.dim = parts.front().dim;
  step.to_dim = parts.front().to_dim;
  for (const PlanStep::Part& part : parts) step.factor *= part.factor;
  if (parts.size() > 1) step.parts = std::move(parts);
  return step;
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
/// \param steps  where one step gathers all, it holds no tile but the smallest one and the target's
Wide least_resident(const Problem& problem, const PlanOptions& options, const WeakSpace& space,
                    Scope steps) {
  const std::vector<Level> levels = allowed_levels(options, space);
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
bool feasible(const Problem& problem, const PlanOptions& options, const WeakSpace& space,
              Wide limit) {
  if (least_resident(problem, options, space, Scope::one_dim) <= limit) return true;
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

std::string step_name(const PlanStep& step) {
  std::string name(collective_name(step.op));
  return step.parts.empty() ? name : name + "_dims";
}

std::string_view scope_name(Scope scope) {
  return scope == Scope::one_dim ? "one_dim" : "several_dims";
}

std::string_view scope_words(Scope scope) {
  return scope == Scope::one_dim ? "collectives along one dimension each"
                                 : "collectives along one or several dimensions";
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

/// What the search for steps along one dimension found, as a path.
std::optional<RealisedPath> path_of(const Result<Choice>& choice) {
  if (!choice) return std::nullopt;
  return RealisedPath{choice->path, choice->digits, choice->permute, choice->cost};
}

/// In bytes received one alltoall is cheaper than several, but one allgather is not.
std::optional<RealisedPath> merged_in_bytes(const Problem& problem, const Prices& prices,
                                            const RealisedPath& known) {
  RealisedPath out = known;
  out.path = merged(known.path);
  out.path.gathers_together = false;
  if (out.path.alltoalls().size() == known.path.moves.size()) return std::nullopt;
  const Wide tile = valley_of(problem, known.path);
  for (const auto& move : known.path.moves) {
    out.cost -= prices.alltoall(tile, move.factor) * prices.element();
  }
  for (const auto& moves : out.path.alltoalls()) {
    Size factor = 1;
    for (const auto& move : moves) factor *= move.factor;
    out.cost += prices.alltoall(tile, factor) * prices.element();
  }
  return out;
}

/// The cheaper plan with steps along several dimensions, if there is one, and what is proved of all
/// such.
OverDimsAnswer over_dims(const Problem& problem, const PlanOptions& options, const Prices& prices,
                         const std::optional<RealisedPath>& known, Wide least, Size& work) {
  if (prices.in_bytes()) {
    OverDimsAnswer out{.best = {}, .lower_bound = least};
    if (known) out.best = merged_in_bytes(problem, prices, *known);
    return out;
  }
  if (known && known->cost <= problem.to.tile_size()) return {.best = {}, .lower_bound = least};
  const WeakSpace space(problem, options);
  return search_over_dims(problem, options, space, allowed_levels(options, space), known, work);
}

/// What every sequence costs at least that is not slices alone.
Wide least_of_any(const Problem& problem, const Prices& prices,
                  const std::optional<RealisedPath>& known) {
  if (known && known->cost == 0) return 0;
  const Size lacking = prices.in_bytes() ? most_lacking(problem, most_places).value_or(0) : 0;
  return static_cast<Wide>(prices.least_of_any_sequence(problem.to.tile_size(), lacking)) *
         prices.element();
}

/// What the searches proved of the plan that came of them, and in which scope.
void set_proved(Plan& plan, const Result<Choice>& choice, const OverDimsAnswer& all, Wide least) {
  const PlanOptions& options = plan.options;
  plan.scope = Scope::several_dims;
  plan.lower_bound = static_cast<Size>(std::min<Wide>(all.lower_bound, plan.cost));
  plan.weak_cost = plan.cost;
  if (all.best) {
    for (const PlanStep& step : plan.steps) {
      if (step.op == Collective::allpermute) plan.weak_cost -= step.cost;
    }
  } else {
    plan.weak_cost = static_cast<Size>(choice->weak_cost);  // at most the cost, which fits
  }
  if (!all.best && plan.cost > plan.lower_bound) {
    const Prices prices = prices_of(plan.problem, options);
    const Wide bound = bound_along_one_dim(options, prices, *choice, least);
    if (options.steps == Scope::one_dim || bound == choice->cost) {
      plan.scope = Scope::one_dim;
      plan.lower_bound = static_cast<Size>(bound);
    }
  }
  plan.optimal = plan.cost == plan.lower_bound;
}

/// Precondition: both ends are compact.
Result<Plan> plan_digits(Problem problem, const PlanOptions& options) {
  const auto choice = choose(problem, options, resident_limit(options));
  const bool may_merge = options.steps == Scope::several_dims;
  if (!choice && !(may_merge && choice.error().code == Code::infeasible)) {
    return refuse(choice.error());
  }
  const Prices prices = prices_of(problem, options);
  const auto known = path_of(choice);
  const Wide least = least_of_any(problem, prices, known);
  Size work = options.search_limit - (choice ? choice->work : 0);
  OverDimsAnswer all{.best = {}, .lower_bound = least};
  if (may_merge) all = over_dims(problem, options, prices, known, least, work);
  if (!known && !all.best) return refuse(choice.error());
  auto made = plan_of(problem, options, all.best ? *all.best : *known);
  if (!made) return made;
  made->problem = std::move(problem);
  made->states = choice ? choice->states : 0;
  made->work = options.search_limit - work;
  made->complete = !choice || choice->complete;
  set_proved(*made, choice, all, least);
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

Result<Plan> plan_even(Problem problem, const PlanOptions& options) {
  auto made = plan_digits(std::move(problem), options);
  if (!made) return made;
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

Result<Size> smallest_feasible_bytes(const Problem& asked, Size element_bytes, bool collectives,
                                     Scope steps) {
  if (auto good = check_element(element_bytes); !good) return refuse(good.error());
  if (asked.from.addends() || asked.to.addends()) {
    return smallest_feasible_adding(asked, element_bytes, collectives);
  }
  const auto renamed = in_digits(asked);
  if (!renamed) return smallest_feasible_uneven(asked, element_bytes, collectives);
  const Problem& problem = renamed->problem(asked);
  if (!is_even(problem)) return smallest_feasible_uneven(problem, element_bytes, collectives);
  const WeakSpace space(problem, {});
  Wide least = least_resident(problem, {}, space, steps);
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
