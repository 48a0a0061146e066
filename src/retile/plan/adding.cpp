// Plans of problems with addends. See adding.h.
//
// 1. The least of weak path + permutation before the gathers (adding_kinds.h). There tiles are
//    smallest, so that is where a permutation costs least.
// 2. A path that needs no permutation and costs no more (adding_letters.h).
//
// Addends may be named anew at every step, and for every tile: nobody sees which is which. So a
// permutation need not bring addends to where the target's digits say, only tiles.
#include "retile/plan/adding.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "retile/core/assert.h"
#include "retile/plan/adding_kinds.h"
#include "retile/plan/adding_letters.h"
#include "retile/plan/cost_model.h"

namespace retile {
namespace {

constexpr Wide most_size = std::numeric_limits<Size>::max();

/// Both ends are digits of the device number, of tiles that are all alike.
bool is_planned_by_steps(const Problem& problem) {
  for (const Layout* end : {&problem.from, &problem.to}) {
    if (!end->is_compact() || !end->is_even()) return false;
  }
  return true;
}

tl::unexpected<Diagnostic> stopped() {
  return refuse({.code = Code::limit_reached,
                 .message = "the search for a plan with addends stopped at its limit"});
}

/// Takes digits of product n out of some, minor parts first. The caller knows by counting that there
/// are enough.
std::vector<Digit> take_any(std::vector<Digit>& from, Size n) {
  std::vector<Digit> taken;
  for (Digit& digit : from) {
    const Size part = std::gcd(n, digit.size);
    if (part == 1) continue;
    taken.push_back({digit.stride, part});
    digit = {digit.stride * part, digit.size / part};
    n /= part;
  }
  RETILE_ASSERT(n == 1, "a step's factor divides the number of those that it takes from");
  return taken;
}

/// What a search settled on.
struct DigitsChosen {
  AddingPath path;
  std::optional<Permutation> permutation;
};

/// Gives digits to a weak path with a permutation: any, as the permutation mends what they do.
DigitsChosen with_digits(const Problem& problem, Layout map, const Layout& target,
                         std::vector<AddingStep> steps) {
  const std::size_t stack = problem.from.rank();
  DigitsChosen out;
  Layout after = target;
  std::vector<Digit> free = target.unused();
  for (const AddingStep& step : steps) {
    if (step.op == Collective::allgather) after.push(step.dim, take_any(free, step.factor));
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
        map.push(step.to_dim, map.pop(step.dim, step.factor));
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
    PlanStep out{step.op, step.dim, step.to_dim, step.factor, {}, 0, choice.path.digits[k]};
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

/// Whether a box lies in another.
bool lies_in(const Box& inner, const Box& outer) {
  for (std::size_t i = 0; i < inner.at.size(); ++i) {
    if (inner.extent[i] == 0) return true;
    if (inner.at[i] < outer.at[i] ||
        inner.at[i] + inner.extent[i] > outer.at[i] + outer.extent[i]) {
      return false;
    }
  }
  return true;
}

/// Whether every device holds its new tile already, of an addend that its replicas hold, too, and
/// other addends of the tile are others.
bool moves_nothing(const Problem& problem) {
  if (addends_added(problem) != 1) return false;
  const bool stays = problem.from.addends()->addition == Addition::stack;
  std::map<std::pair<Shape, Size>, Size> before;  // by new tile and its addend
  std::map<std::pair<Shape, Size>, Size> after;   // the other way round
  for (Size d = 0; d < problem.from.devices(); ++d) {
    const Box box = problem.to.box(d);
    if (!lies_in(box, problem.from.box(d))) return false;
    Shape tile = box.at;
    tile.insert(tile.end(), box.extent.begin(), box.extent.end());
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

/// What no sequence is cheaper than: W, if it is known (PS1), and the new tile where slices alone do not
/// lead to the end (PS5).
Size lower_bound_of(const Plan& plan, bool weak_is_known) {
  if (plan.cost == 0 || plan.options.cost_model != CostModel::paper) return 0;
  const Size weak = weak_is_known ? plan.weak_cost : 0;
  const Size tile = plan.problem.to.tile_size();
  return weak >= tile || moves_nothing(plan.problem) ? weak : tile;
}

/// Precondition: is_planned_by_steps().
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
  const KindSpace space(problem, options, resident);
  WorkLimit work{options.search_limit};
  KindSearch permuted(space, true, work);
  if (!permuted.run(std::nullopt, true)) return stopped();
  const auto most = permuted.price_before_slices(space.source());
  KindSearch kinds(space, false, work);
  const bool all_kinds = kinds.run(most, false);
  ExactAnswer exact = find_exact(problem, space, kinds, most, work);
  if (!exact.path && !most) return all_kinds && exact.complete ? infeasible() : stopped();
  // A permutation's table is regular, what a slice that mixes does is not.
  const bool twisted = exact.path && !exact.path->twists.empty();
  const bool permutes = !exact.path || (twisted && most && exact.price.cost == most->cost);
  auto made = assemble(problem, options, space,
                       permutes ? with_digits(problem, *source, *target, permuted.path())
                                : DigitsChosen{*std::move(exact.path), std::nullopt});
  if (!made) return made;
  const auto weak = kinds.price_before_slices(space.source());
  made->weak_cost = made->cost;
  if (weak) {
    made->weak_cost = static_cast<Size>(std::min(weak->cost * space.prices().element(), most_size));
  }
  made->complete = all_kinds && exact.complete;
  made->lower_bound = lower_bound_of(*made, weak && all_kinds);
  // PS5 holds of all steps, PS1 is about those along one dimension.
  made->scope = made->lower_bound <= problem.to.tile_size() ? Scope::several_dims : Scope::one_dim;
  made->optimal = made->cost == made->lower_bound;
  made->searched = !made->optimal;
  made->states = permuted.kinds() + kinds.kinds() + exact.states;
  made->work = options.search_limit - work.left;
  return made;
}

// ---- One exchange -------------------------------------------------------------------------------

std::optional<Size> held_in_exchange(const Problem& problem) {
  return checked_add(problem.from.tile_size(), problem.to.tile_size());
}

/// One exchange, in which every device gets all addends of its box from those that hold them.
Result<Plan> plan_exchange(const Problem& problem, const PlanOptions& options) {
  const bool moves = !moves_nothing(problem);
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
  out.exchange = PlannedExchange{reason, problem.to.tile()};
  const auto [least, most] = std::minmax({problem.from.tile_size(), problem.to.tile_size()});
  out.height = out.bound = most;
  out.valley = least;
  out.cost = *cost;
  out.resident = *resident;
  out.optimal = !moves;
  return out;
}

}  // namespace

Result<Plan> plan_adding(const Problem& problem, const PlanOptions& options) {
  if (auto good = check_addends(problem.from, problem.to); !good) return refuse(good.error());
  return is_planned_by_steps(problem) ? plan_steps(problem, options)
                                      : plan_exchange(problem, options);
}

Result<Size> smallest_feasible_adding(const Problem& problem, Size element_bytes,
                                      bool collectives) {
  PlanOptions options{.element_bytes = element_bytes, .collectives = collectives};
  Result<Plan> made = plan_adding(problem, options);
  if (!made) return refuse(made.error());
  // A plan under a limit needs less than the one before it, until there is none.
  while (true) {
    const auto bytes = checked_mul(made->resident, element_bytes);
    if (!bytes) {
      return refuse({.code = Code::size_overflow,
                     .message = "the smallest feasible limit does not fit in 63 bits"});
    }
    options.memory_limit_bytes = *bytes - 1;
    Result<Plan> next = plan_adding(problem, options);
    if (!next && next.error().code == Code::infeasible) return *bytes;
    if (!next) return refuse(next.error());
    made = std::move(next);
  }
}

}  // namespace retile
