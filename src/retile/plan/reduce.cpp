// Plans of problems with addends. See reduce.h.
//
// 1. The least of weak path + permutation before the gathers (reduce_types.h). There tiles are
//    smallest, so that is where a permutation costs least.
// 2. A path that needs no permutation and costs no more (reduce_digits.h).
//
// Addends may be named anew at every step, and for every tile: nobody sees which is which. So a
// permutation need not bring addends to where the target's digits say, only tiles.
#include "retile/plan/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/primes.h"
#include "retile/core/tile_stretches.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/joined_steps.h"
#include "retile/plan/lacking.h"
#include "retile/plan/realise.h"
#include "retile/plan/reduce_digits.h"
#include "retile/plan/reduce_types.h"

namespace retile {
namespace {

constexpr Wide most_size = std::numeric_limits<Size>::max();

tl::unexpected<Diagnostic> stopped() {
  return refuse({.code = Code::limit_reached,
                 .message = "the search for a plan with addends stopped at its limit"});
}

/// What a search settled on.
struct DigitsChosen {
  AddingPath path;
  std::optional<Permutation> permutation;
};

std::vector<WeakPath::Move> moves_of(const AddingStep& step) {
  std::vector<WeakPath::Move> out;
  for_each_part(step, [&](const PlanStep::Part& part) {
    out.push_back({part.dim, part.to_dim, part.factor});
  });
  return out;
}

/// Gives digits to a weak path with a permutation: any, as the permutation mends what they do.
DigitsChosen with_digits(const Problem& problem, Layout map, const Layout& target,
                         std::vector<AddingStep> steps) {
  const std::size_t stack = problem.from.rank();
  DigitsChosen out;
  Layout after = target;
  std::vector<Digit> free = target.unused();
  for (const AddingStep& step : steps) {
    if (step.op != Collective::allgather) continue;
    for_each_part(step, [&](const PlanStep::Part& part) {
      after.push(part.dim, take_any(free, part.factor));
    });
  }
  for (const AddingStep& step : steps) {
    std::vector<Digit> digits;
    switch (step.op) {
      case Collective::dynslice: {
        std::vector<Digit> unused = map.unused();
        digits = take_any(unused, step.factor);
        map.push(step.dim, digits);
        break;
      }
      case Collective::reducescatter:
      case Collective::allreduce: {
        std::vector<Digit> addends = map.digits()[stack];
        digits = take_any(addends, step.factor);
        map.pull(stack, digits);
        if (step.op == Collective::reducescatter) map.push(step.dim, digits);
        break;
      }
      case Collective::alltoall:
        run_alltoall(map, moves_of(step));
        break;
      case Collective::allpermute:
        out.permutation = Permutation{map, after};
        break;
      case Collective::allgather:
        break;
    }
    map.compact_in_place();
    out.path.digits.push_back(std::move(digits));
  }
  out.path.steps = std::move(steps);
  return out;
}

/// The plan's steps and what they come to.
Result<Plan> assemble(const Problem& problem, const PlanOptions& options, const KindSpace& space,
                      DigitsChosen choice) {
  Plan plan;
  plan.problem = problem;
  plan.options = options;
  plan.permutation = std::move(choice.permutation);
  plan.twists = choice.path.twists;
  const auto [least, most] = std::minmax({problem.from.tile_size(), problem.to.tile_size()});
  Wide cost = 0;
  Wide resident = most;
  plan.height = plan.bound = most;
  plan.valley = least;
  Kind kind = space.source();
  for (std::size_t k = 0; k < choice.path.steps.size(); ++k) {
    const AddingStep& step = choice.path.steps[k];
    const auto price = space.price(kind, step);
    RETILE_ASSERT(price.has_value(), "every step of a path can be taken");
    const Wide before = space.tile(kind);
    kind = space.after(std::move(kind), step);
    const Wide after = space.tile(kind);
    PlanStep out{step.op, step.dim, step.to_dim,           step.factor,
                 {},      0,        choice.path.digits[k], step.parts};
    for (std::size_t i = 0; i < space.rank(); ++i) out.tile.push_back(space.extent(kind, i));
    const Wide paid = *price * space.prices().element();
    out.cost = static_cast<Size>(std::min(paid, most_size));
    cost += paid;
    resident = std::max(resident, step.op == Collective::dynslice ? before : before + after);
    plan.valley = std::min(plan.valley, static_cast<Size>(after));
    plan.steps.push_back(std::move(out));
  }
  if (cost > most_size || resident > most_size) {
    return refuse({.code = Code::size_overflow,
                   .message = "the plan costs or holds more than fits in 63 bits"});
  }
  plan.cost = static_cast<Size>(cost);
  plan.resident = static_cast<Size>(resident);
  return plan;
}

/// How many addends a device adds up.
Size addends_added(const Problem& problem) {
  return problem.from.addend_count() / problem.to.addend_count();
}

/// Whether every device holds its new tile already, of an addend that its replicas hold, too, and
/// other addends of the tile are others. False where devices are too many to look at each.
bool addends_stay(const Problem& problem) {
  if (addends_added(problem) != 1 || most_lacking(problem, most_looked_at) != Size{0}) return false;
  const bool stays = problem.from.addends()->addition == Addition::stack;
  const TileStretches to(problem.to);
  std::map<std::pair<Shape, Size>, Size> before;  // by new tile and its addend
  std::map<std::pair<Shape, Size>, Size> after;   // the other way round
  for (Size d = 0; d < problem.from.devices(); ++d) {
    // Two tiles of one layout that begin alike and are of one extent are the same.
    Shape tile = to.first(d);
    for (std::size_t i = 0; i < problem.to.rank(); ++i) tile.push_back(to.extent(d, i));
    const Size old_addend = problem.from.addend(d);
    const Size new_addend = problem.to.addend(d);
    if (stays && old_addend != new_addend) return false;
    if (before.emplace(std::pair{tile, new_addend}, old_addend).first->second != old_addend ||
        after.emplace(std::pair{tile, old_addend}, new_addend).first->second != new_addend) {
      return false;
    }
  }
  return true;
}

// ---- What is proved -----------------------------------------------------------------------------

/// The smallest tile of so many addends: for every prime, its power in a number of tiles is at most that
/// in what is left of the number of devices, and at most those in the extents together.
Wide smallest_tile(const Problem& problem, Size addends) {
  Wide tile = problem.from.global_size();
  for (const PrimePower& power : factorize(problem.from.devices() / addends)) {
    Size left = power.exponent;
    for (Size extent : problem.from.global()) {
      for (; left > 0 && extent % power.prime == 0; extent /= power.prime, --left) {
        tile /= power.prime;
      }
    }
  }
  return tile;
}

/// What no sequence costs less than that adds, of steps along several dimensions, too (PS6).
Wide least_of_adding(const Problem& problem) {
  const Wide tile = problem.to.tile_size();
  const Wide first = smallest_tile(problem, problem.from.addend_count());
  const Wide one_reducescatter = std::max(addends_added(problem) * tile, first);
  const Wide one_allreduce = 2 * std::max(tile, first);
  return std::min({first + tile, one_reducescatter, one_allreduce});
}

/// Whether two dimensions or more can be cut: else no step goes along several.
bool has_several_dims(const Problem& problem) {
  const Shape& global = problem.from.global();
  return std::count_if(global.begin(), global.end(), [](Size extent) { return extent > 1; }) > 1;
}

/// What is proved of the cost, and among which steps.
/// \param weak  W of steps along one dimension, if it is known
void set_proved(Plan& plan, std::optional<Size> weak) {
  const Problem& problem = plan.problem;
  plan.lower_bound = 0;
  plan.scope = Scope::several_dims;
  if (plan.cost > 0 && plan.options.cost_model == CostModel::paper) {
    // PS1, and the new tile where slices alone do not lead to the end (PS5).
    const Size tile = problem.to.tile_size();
    const Size along_one =
        weak.value_or(0) >= tile || addends_stay(problem) ? weak.value_or(0) : tile;
    Wide least = std::min(along_one, tile);
    if (addends_added(problem) > 1) least = least_of_adding(problem);
    if (!has_several_dims(problem)) least = std::max<Wide>(least, along_one);
    const bool asked = plan.options.steps == Scope::one_dim;
    if (along_one > least && (asked || along_one == plan.cost)) plan.scope = Scope::one_dim;
    // Certificates, which are of steps along one dimension, have no other bound than W.
    const Wide bound = asked || plan.scope == Scope::one_dim ? along_one : least;
    plan.lower_bound = static_cast<Size>(std::min<Wide>(bound, plan.cost));
  }
  plan.optimal = plan.cost == plan.lower_bound;
  plan.searched = !plan.optimal;
}

// ---- Searches -----------------------------------------------------------------------------------

/// What a search among some steps settled on.
struct Settled {
  std::optional<DigitsChosen> path;
  PathPrice price;
  std::optional<PathPrice> weak;  ///< W, or what no path without a permutation costs less than
  bool all_kinds = false;         ///< W is that
  bool complete = false;          ///< nothing that the search could find is cheaper
};

class AddingSearch {
 public:
  AddingSearch(const Problem& problem, const Layout& source, const Layout& target, WorkLimit& work)
      : problem_(problem), source_(source), target_(target), work_(work) {}

  /// \param most  what a path may cost; nothing: anything
  Settled run(const KindSpace& space, std::optional<PathPrice> most) {
    Settled out;
    KindSearch permuted(space, true, work_);
    if (!permuted.run(most, true)) return out;
    const auto with = permuted.price_before_slices(space.source());
    if (with && (!most || *with < *most)) most = with;
    KindSearch kinds(space, false, work_);
    out.all_kinds = kinds.run(most, false);
    ExactAnswer exact = find_exact(problem_, space, kinds, most, work_);
    out.complete = out.all_kinds && exact.complete;
    out.weak = kinds.price_before_slices(space.source());
    states_ += permuted.kinds() + kinds.kinds() + exact.states;
    if (!exact.path && !with) return out;
    // A permutation's table is regular, what a slice that mixes does is not.
    const bool twisted = exact.path && !exact.path->twists.empty();
    const bool permutes = !exact.path || (twisted && with && exact.price.cost == with->cost);
    out.price = permutes ? *with : exact.price;
    out.path = permutes ? with_digits(problem_, source_, target_, permuted.path())
                        : DigitsChosen{*std::move(exact.path), std::nullopt};
    return out;
  }

  [[nodiscard]] Size states() const { return states_; }

 private:
  const Problem& problem_;
  const Layout& source_;
  const Layout& target_;
  WorkLimit& work_;
  Size states_ = 0;
};

/// The path with those steps made one that one step can do.
DigitsChosen joined(DigitsChosen chosen) {
  std::vector<PlanStep> steps;
  for (std::size_t k = 0; k < chosen.path.steps.size(); ++k) {
    const AddingStep& step = chosen.path.steps[k];
    steps.push_back({step.op, step.dim, step.to_dim, step.factor, {}, 0, chosen.path.digits[k]});
  }
  const auto always = [](Collective, const StepParts&, std::size_t) { return true; };
  chosen.path.steps.clear();
  chosen.path.digits.clear();
  for (PlanStep& step : joined(steps, always)) {
    chosen.path.steps.push_back({step.op, step.dim, step.to_dim, step.factor, {}, step.parts});
    chosen.path.digits.push_back(std::move(step.digits));
  }
  return chosen;
}

/// The cheaper plan with steps along several dimensions; `single` where there is none.
/// \error size_overflow
Result<Plan> along_several(const Problem& problem, const PlanOptions& options, AddingSearch& search,
                           const KindSpace& space, Result<Plan> single,
                           const std::optional<DigitsChosen>& path) {
  if (path) {
    Result<Plan> all = assemble(problem, options, space, joined(*path));
    if (all && (!single || all->cost < single->cost)) single = std::move(all);
  }
  const bool in_bytes = space.prices().in_bytes();
  if (in_bytes || !has_several_dims(problem)) return single;
  std::optional<PathPrice> most;
  if (single) {
    const Wide least =
        addends_added(problem) > 1 ? least_of_adding(problem) : Wide{problem.to.tile_size()};
    if (single->cost <= least) return single;
    most = PathPrice{Wide{single->cost} - 1, std::numeric_limits<int>::max()};
  }
  Settled found = search.run(space, most);
  if (!found.path && !single && !found.complete) return stopped();
  if (!found.path) return single;
  return assemble(problem, options, space, *std::move(found.path));
}

/// Precondition: both ends are types of the paper.
Result<Plan> plan_steps(const Problem& problem, const PlanOptions& options) {
  const Size addends = problem.from.addend_count();
  const auto source = problem.from.stacked(addends);
  const auto target = problem.to.stacked(addends);
  if (!source || !target) return refuse((source ? target : source).error());
  std::optional<Wide> resident;
  if (options.memory_limit_bytes) resident = *options.memory_limit_bytes / options.element_bytes;
  const auto infeasible = [&] {
    return refuse({.code = Code::infeasible,
                   .message = fmt::format("no plan holds at most {} bytes at every step",
                                          options.memory_limit_bytes.value_or(0))});
  };
  if (resident && *resident < std::max(problem.from.tile_size(), problem.to.tile_size())) {
    return infeasible();
  }
  WorkLimit work{options.search_limit};
  AddingSearch search(problem, *source, *target, work);
  PlanOptions singly = options;
  singly.steps = Scope::one_dim;
  const KindSpace space(problem, singly, resident);
  Settled settled = search.run(space, std::nullopt);
  const bool several = options.steps != Scope::one_dim;
  Result<Plan> made = !settled.path ? Result<Plan>(settled.complete ? infeasible() : stopped())
                      : several     ? assemble(problem, singly, space, *settled.path)
                                    : assemble(problem, singly, space, *std::move(settled.path));
  if (several && (made || made.error().code == Code::infeasible)) {
    made = along_several(problem, options, search, KindSpace(problem, options, resident),
                         std::move(made), settled.path);
  }
  if (!made) return made;
  made->options = options;
  std::optional<Size> weak;
  if (settled.weak) {
    const Wide paid = settled.weak->cost * space.prices().element();
    weak = static_cast<Size>(std::min(paid, most_size));
  }
  made->weak_cost = std::min(weak.value_or(made->cost), cost_without_permutations(*made));
  set_proved(*made, settled.all_kinds ? weak : std::nullopt);
  made->complete = settled.complete;
  made->states = search.states();
  made->work = options.search_limit - work.left;
  return made;
}

// ---- One exchange -------------------------------------------------------------------------------

/// One exchange, in which every device gets all addends of its box from those that hold them.
Result<Plan> plan_exchange(const Problem& problem, const PlanOptions& options) {
  const bool moves = !addends_stay(problem);
  const std::string reason = moves ? "steps that add are planned only where all tiles are alike"
                                   : "every device holds its new tile already";
  if (options.collectives) {
    return refuse({.code = Code::infeasible,
                   .message = "no plan of collectives alone: there are none yet for addends whose "
                              "tiles are not all alike"});
  }
  if (options.cost_model == CostModel::bytes) {
    return refuse({.code = Code::unsupported,
                   .message = "costs in bytes are not known of an exchange that adds"});
  }
  const auto cost = checked_mul(moves ? problem.to.tile_size() : 0, addends_added(problem));
  const auto resident = held_in_exchange(problem);
  const auto bytes = resident ? checked_mul(*resident, options.element_bytes) : std::nullopt;
  if (!cost || !bytes) {
    return refuse({.code = Code::size_overflow,
                   .message = "the exchange holds or moves more than fits in 63 bits"});
  }
  if (options.memory_limit_bytes && *bytes > *options.memory_limit_bytes) {
    return refuse(
        {.code = Code::infeasible,
         .message = fmt::format("one exchange holds {} bytes, old and new tile together", *bytes)});
  }
  Plan out;
  out.problem = problem;
  out.options = options;
  out.exchange = PlannedExchange{reason, problem.to.tile(), true};
  const auto [least, most] = std::minmax({problem.from.tile_size(), problem.to.tile_size()});
  out.height = out.bound = most;
  out.valley = least;
  out.cost = *cost;
  out.resident = *resident;
  out.optimal = !moves;
  return out;
}

/// The least limit under which there is a plan.
template <Result<Plan> (*plan)(const Problem&, const PlanOptions&)>
Result<Size> smallest_feasible(const Problem& problem, const PlanOptions& unlimited) {
  PlanOptions options = unlimited;
  Result<Plan> made = plan(problem, options);
  if (!made) return refuse(made.error());
  // A plan under a limit needs less than the one before it, until there is none.
  while (true) {
    const auto bytes = checked_mul(made->resident, options.element_bytes);
    if (!bytes) {
      return refuse({.code = Code::size_overflow,
                     .message = "the smallest feasible limit does not fit in 63 bits"});
    }
    options.memory_limit_bytes = *bytes - 1;
    Result<Plan> next = plan(problem, options);
    if (!next && next.error().code == Code::infeasible) return *bytes;
    if (!next) return refuse(next.error());
    made = std::move(next);
  }
}

}  // namespace

constinit const PlanMethod adding_in_steps{plan_steps, smallest_feasible<plan_steps>};
constinit const PlanMethod adding_at_once{plan_exchange, smallest_feasible<plan_exchange>};

}  // namespace retile
