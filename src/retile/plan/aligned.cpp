// Where both ends cut every dimension into as many blocks of as many elements as make up one number
// P, the problem is the even one over P, restricted to the indices below the global size (U1). Else
// one exchange takes the place of a plan: no device receives less (U3). Where only collectives may
// be used, dimensions that are not cut so are whole on the way: what is whole is cut like anything.
#include "retile/plan/aligned.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/collective_cost.h"
#include "retile/plan/joined_steps.h"
#include "retile/plan/lacking.h"
#include "retile/plan/method.h"
#include "retile/plan/nesting.h"

namespace retile {
namespace {

/// How every dimension nests.
using Nestings = std::vector<Nesting>;

/// The even problem that stands for one whose tiles are not all alike.
struct Even {
  Problem problem;
  Nestings dims;
};

/// How dimension i nests; the error names it.
/// \error size_overflow, inapplicable (the cuts do not nest)
Result<Nesting> nesting_of(const Problem& problem, std::size_t i) {
  auto out = Nesting::make(problem.from.cuts()[i], problem.to.cuts()[i]);
  if (!out && out.error().code == Code::inapplicable) {
    out.error().message = fmt::format("dim {}: {}", i, out.error().message);
  }
  return out;
}

/// Why an end is no tiling by blocks in digits of the device number, if so.
std::optional<std::string> no_blocks(const Layout& end, std::string_view name) {
  if (end.is_listed()) return fmt::format("{} lists its tiles one by one", name);
  if (!end.in_boxes()) return fmt::format("tiles of {} are made of several boxes", name);
  if (!end.halos().empty()) return fmt::format("tiles of {} have halos", name);
  if (!end.is_compact()) return fmt::format("{} is no tiling in digits", name);
  return std::nullopt;
}

tl::unexpected<Diagnostic> none(std::string reason) {
  return refuse({.code = Code::inapplicable, .message = std::move(reason)});
}

tl::unexpected<Diagnostic> no_bytes() {
  return refuse({.code = Code::unsupported, .message = "bytes are planned for even tiles only"});
}

/// Whether both ends are blocks in digits of the device number, or which is not, and why.
Result<void> check_ends(const Problem& problem) {
  for (const auto& [end, name, scattered] :
       {std::tuple(&problem.from, "from", &Spelling::scattered),
        std::tuple(&problem.to, "to", &Spelling::scattered_to)}) {
    const auto reason = no_blocks(*end, name);
    if (!reason) continue;
    if (end->is_compact() || !problem.spelling) return none(*reason);
    return none((*problem.spelling.*scattered).value_or(*reason));
  }
  return {};
}

/// How all dimensions nest, or why one does not.
Result<Nestings> nestings_of(const Problem& problem) {
  if (const auto ends = check_ends(problem); !ends) return tl::unexpected(ends.error());
  Nestings out;
  out.reserve(problem.from.rank());
  for (std::size_t i = 0; i < problem.from.rank(); ++i) {
    Result<Nesting> nesting = nesting_of(problem, i);
    if (!nesting && nesting.error().code == Code::inapplicable) {
      return none(nesting.error().message + ", so no collective ends there");
    }
    if (!nesting) return tl::unexpected(nesting.error());
    out.push_back(*std::move(nesting));
  }
  return out;
}

/// The shape of the tiles filled up. \param smaller  as of Nesting::size
/// \error size_overflow
Result<Shape> filled_shape(const Nestings& dims, bool smaller) {
  Shape out;
  out.reserve(dims.size());
  for (const Nesting& dim : dims) {
    const Result<Size> one = dim.size(smaller);
    if (!one) return tl::unexpected(one.error());
    out.push_back(*one);
  }
  if (!checked_product(out)) return filled_up_too_long();
  return out;
}

/// The even problems over the tiles filled up that may stand for one, the first first, or why there is
/// none: where cuts nest that no blocks are, tiles may become smaller than those of both ends, but no
/// step need lead there.
Result<std::vector<Even>> alignments(const Problem& problem) {
  Result<Nestings> dims = nestings_of(problem);
  if (!dims) return tl::unexpected(dims.error());
  const Result<Shape> first = filled_shape(*dims, true);
  const Result<Shape> other = filled_shape(*dims, false);
  if (!other) return tl::unexpected(other.error());
  const auto even = [&](const Shape& size, Nestings nestings) {
    return Even{{problem.from.filled_up(size), problem.to.filled_up(size)}, std::move(nestings)};
  };
  std::vector<Even> out;
  const bool differ = first && *first != *other;
  if (differ) out.push_back(even(*first, *dims));
  out.push_back(even(*other, *std::move(dims)));
  return out;
}

Size size_of(const Shape& tile) {
  const auto size = checked_product(tile);
  RETILE_ASSERT(size.has_value(), "a tile is no larger than its array");
  return *size;
}

/// What a step costs by Fig. 11.
CollectiveKind kind_of(Collective op) {
  switch (op) {
    case Collective::dynslice:
      return CollectiveKind::slice;
    case Collective::alltoall:
      return CollectiveKind::all_to_all;
    case Collective::allpermute:
      return CollectiveKind::permute;
    case Collective::reducescatter:
      return CollectiveKind::reduce_scatter;
    case Collective::allreduce:
      return CollectiveKind::all_reduce;
    case Collective::allgather:
      break;
  }
  return CollectiveKind::gather;
}

/// What the steps cost but for permutations.
Size weak_part(const Plan& plan) {
  Size out = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.op != Collective::allpermute) out += step.cost;
  }
  return out;
}

/// The largest tile in the array after a step of the even plan that leaves so many tiles in every
/// dimension, and before it those many.
/// \error inapplicable (no step cuts so)
Result<Shape> tile_after(const Nestings& dims, const Shape& before, const Shape& after) {
  Shape out;
  out.reserve(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto cuts = dims[i].cuts(after[i]);
    if (!cuts) return none(fmt::format("dim {}: no steps lead to {} tiles", i, after[i]));
    out.push_back(cuts->largest());
    if (after[i] > before[i] && !dims[i].pieces(before[i], after[i])) {
      return none(fmt::format("dim {}: no step cuts at {}", i, cuts_text(*cuts)));
    }
  }
  return out;
}

/// How many tiles of that shape every dimension of the even problem has.
Shape counts_of(const Problem& even, const Shape& tile) {
  Shape out = even.from.global();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= tile[i];
  return out;
}

/// What steps come to in the array.
struct Totals {
  Size cost = 0;
  Size height = 0;
  Size bound = 0;
  Size valley = 0;
  Size resident = 0;
};

/// Whether a plan, or what its steps come to, is lower than another one, or as low and cheaper. May be
/// higher than the ends, where one of them is whole in a dimension.
template <class T>
bool is_better(const T& one, const T& than) {
  const auto rank = [](const T& each) { return std::pair(each.height > each.bound, each.cost); };
  return rank(one) < rank(than);
}

/// Whether nobody wants other steps where he can have these.
bool is_enough(const Totals& one, const Totals& other) {
  return !is_better(other, one) && one.resident <= other.resident;
}

/// Gives the steps of a plan of the even problem the costs that they have in the array, and what they
/// come to.
/// \error inapplicable (no step cuts as these do)
Result<Totals> totals_of(std::vector<PlanStep>& steps, const Problem& even, const Nestings& dims,
                         const Problem& problem) {
  Shape before = counts_of(even, even.from.tile());
  Size size = problem.from.tile_size();
  const auto [least, most] = std::minmax({size, problem.to.tile_size()});
  Totals out{.height = most, .bound = most, .valley = least, .resident = most};
  for (PlanStep& step : steps) {
    Shape now = counts_of(even, step.tile);
    const Result<Shape> tile = tile_after(dims, before, now);
    if (!tile) return tl::unexpected(tile.error());
    const Size after = size_of(*tile);
    step.cost = collective_cost(kind_of(step.op), size, after);
    out.cost += step.cost;
    out.height = std::max(out.height, after);
    out.valley = std::min(out.valley, after);
    out.resident = std::max(out.resident, step.op == Collective::dynslice ? size : size + after);
    size = after;
    before = std::move(now);
  }
  return out;
}

/// Says of the plan of an even problem what its steps come to in the array.
void set_totals(Plan& plan, const Totals& totals) {
  plan.cost = totals.cost;
  plan.height = totals.height;
  plan.bound = totals.bound;
  plan.valley = totals.valley;
  plan.resident = totals.resident;
  // What is proved of the even problem is said of its tiles, and those that reach beyond the array
  // cost less here.
  plan.weak_cost = weak_part(plan);
  plan.lower_bound = 0;
  plan.optimal = plan.cost == 0;
}

// ---- Steps along several dimensions -------------------------------------------------------------
//
// They take tiles of one shape in every row (docs/reference/program.md). So where they go along a dimension, those
// that it puts together are alike, or those that it cuts one into.

/// More tiles of a list are not compared one by one.
constexpr Size most_compared = Size{1} << 16;

/// Whether each n tiles in a row are equally wide. Precondition: n > 1 divides their number.
bool are_alike(const Cuts& cuts, Size n) {
  if (cuts.is_balanced()) return cuts.global() % cuts.count() % n == 0;  // those are wider by one
  if (cuts.is_blocks()) {
    const Size full = cuts.global() / cuts.block();
    return cuts.global() % cuts.block() == 0 && full % n == 0;
  }
  if (cuts.count() > most_compared) return false;
  for (Size t = 0; t < cuts.count(); ++t) {
    if (cuts.width(t) != cuts.width(t - t % n)) return false;
  }
  return true;
}

/// Whether the tiles of the array allow such a step along several dimensions where the even problem has
/// so many of them before it.
bool may_go_along(const Nestings& dims, Collective op, const StepParts& parts,
                  const Shape& before) {
  Shape joins(before.size(), 1);
  Shape cuts(before.size(), 1);
  for (const PlanStep::Part& part : parts) {
    joins[part.dim] *= part.factor;
    if (op == Collective::alltoall) cuts[part.to_dim] *= part.factor;
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Size n = joins[i] * cuts[i];  // one of them is 1
    const auto finer = n == 1 ? std::nullopt : dims[i].cuts(before[i] * cuts[i]);
    if (n > 1 && !(finer && are_alike(*finer, n))) return false;
  }
  return true;
}

/// The steps of a plan of the even problem with those along several dimensions where the array allows them,
/// and with those alone; nothing where it does not allow one that nothing can take the place of.
std::optional<std::vector<PlanStep>> allowed_together(const Plan& plan, const Nestings& dims) {
  std::vector<Shape> before;
  before.reserve(plan.steps.size());
  Shape tile = plan.problem.from.tile();
  for (const PlanStep& step : plan.steps) {
    before.push_back(counts_of(plan.problem, tile));
    run_on_tile(step, tile);
  }
  const auto allows = [&](Collective op, const StepParts& parts, std::size_t first) {
    return may_go_along(dims, op, parts, before[first]);
  };
  for (std::size_t k = 0; k < plan.steps.size(); ++k) {
    const PlanStep& step = plan.steps[k];
    if (step.op != Collective::alltoall || step.parts.empty()) continue;
    if (!allows(step.op, step.parts, k)) return std::nullopt;
  }
  std::vector<PlanStep> out = joined(plan.steps, allows);
  tile = plan.problem.from.tile();
  for (PlanStep& step : out) {
    run_on_tile(step, tile);
    step.tile = tile;
  }
  return out;
}

/// Whether two dimensions or more have tiles that may be alike: else no step goes along several.
bool may_have_several_dims(const Even& even) {
  const Size devices = even.problem.from.devices();
  return std::count_if(even.dims.begin(), even.dims.end(),
                       [&](const Nesting& dim) { return dim.may_be_alike(devices); }) > 1;
}

/// Whether a step might be made one with the next.
bool may_join(const std::vector<PlanStep>& steps) {
  const auto is_like_next = [](const PlanStep& one, const PlanStep& next) {
    return one.op == next.op && (one.op == Collective::alltoall || one.op == Collective::allgather);
  };
  return std::adjacent_find(steps.begin(), steps.end(), is_like_next) != steps.end();
}

/// A plan of an even problem, and its steps with those along several dimensions in their place.
struct Candidate {
  Plan plan;
  std::optional<std::vector<PlanStep>> together = {};
};

/// The plan of the even problem with steps along one dimension, alone.
/// \error as of plan_even()
Result<std::vector<Candidate>> plan_of_even(Problem even, PlanOptions options) {
  options.steps = Scope::one_dim;
  Result<Plan> single = plan_even(std::move(even), options);
  if (!single) return refuse(single.error());
  std::vector<Candidate> out;
  out.push_back({*std::move(single)});
  return out;
}

/// Plans of the even problem that may stand for one: first that of steps along one dimension, then
/// those with steps along several, where these are wanted and may be cheaper.
/// \error as of plan_even()
Result<std::vector<Candidate>> plans_of_even(Even& even, const PlanOptions& options) {
  const bool several = options.steps != Scope::one_dim && may_have_several_dims(even);
  if (!several) return plan_of_even(std::move(even.problem), options);
  const Size target = even.problem.to.tile_size();
  Result<EvenPlans> plans = plan_even_twice(std::move(even.problem), options);
  if (!plans) return refuse(plans.error());
  auto& [single, cheaper] = *plans;
  std::vector<Candidate> out;
  out.reserve(2);  // plans are dear to copy
  if (single) {
    const bool joins = single->cost > target && may_join(single->steps);
    auto together = joins ? allowed_together(*single, even.dims) : std::nullopt;
    out.push_back({*std::move(single), std::move(together)});
  }
  auto steps = cheaper ? allowed_together(*cheaper, even.dims) : std::nullopt;
  if (steps) {
    out.push_back({*std::move(cheaper)});
    out.back().plan.steps = *std::move(steps);
  }
  // Which says why there is none.
  if (out.empty()) return plan_of_even(std::move(cheaper->problem), options);
  return out;
}

/// The same as steps in the array.
/// \error as of plan_even(); inapplicable (no step cuts so)
Result<std::vector<Plan>> restricted(Even even, const Problem& problem,
                                     const PlanOptions& options) {
  auto candidates = plans_of_even(even, options);
  if (!candidates) return refuse(candidates.error());
  std::vector<Plan> out;
  out.reserve(candidates->size() + 1);
  std::optional<Diagnostic> why;
  for (auto& [plan, together] : *candidates) {
    const auto totals = totals_of(plan.steps, plan.problem, even.dims, problem);
    if (!totals && !why) why = totals.error();
    std::optional<Totals> others;
    if (together) {
      if (const auto made = totals_of(*together, plan.problem, even.dims, problem)) others = *made;
    }
    const bool takes_others = others && !(totals && is_enough(*totals, *others));
    const bool takes_steps = totals && !(takes_others && is_enough(*others, *totals));
    if (takes_steps) {
      out.push_back(takes_others ? Plan(plan) : std::move(plan));
      set_totals(out.back(), *totals);
    }
    if (takes_others) {
      plan.steps = *std::move(together);
      out.push_back(std::move(plan));
      set_totals(out.back(), *others);
    }
  }
  if (out.empty()) return refuse(*std::move(why));
  return out;
}

/// The most elements that a device receives; the largest new tile where devices are too many to look
/// at each.
Size most_received(const Problem& problem) {
  return most_lacking(problem, most_looked_at).value_or(problem.to.tile_size());
}

/// Whether every device holds its new tile already; ends with the first that does not. False where
/// devices are too many to look at each.
/// Precondition: both ends in boxes.
bool moves_nothing(const Problem& problem) {
  const std::size_t rank = problem.from.rank();
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(rank));
  if (!places || *places > most_looked_at) return false;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    const Box before = problem.from.box(d);
    const Box after = problem.to.box(d);
    for (std::size_t i = 0; i < rank; ++i) {
      if (after.extent[i] > 0 &&
          (after.at[i] < before.at[i] ||
           after.at[i] + after.extent[i] > before.at[i] + before.extent[i])) {
        return false;
      }
    }
  }
  return true;
}

/// A plan without a step, of which only the ends are known.
Plan begun(const Problem& problem, const PlanOptions& options) {
  Plan out;
  out.problem = problem;
  out.options = options;
  const auto [least, most] = std::minmax({problem.from.tile_size(), problem.to.tile_size()});
  out.height = out.bound = out.resident = most;
  out.valley = least;
  return out;
}

Result<Plan> exchange(const Problem& problem, const PlanOptions& options, std::string reason) {
  Plan out = begun(problem, options);
  const Size received = most_received(problem);
  const bool moves = received > 0;
  if (!moves) reason = "every device holds its new tile already";
  out.exchange = PlannedExchange{std::move(reason), problem.to.tile()};
  const bool bytes = options.cost_model == CostModel::bytes;
  const auto cost = bytes ? checked_mul(received, options.element_bytes)
                          : std::optional(moves ? problem.to.tile_size() : 0);
  const auto resident = held_in_exchange(problem);
  const auto held = resident ? checked_mul(*resident, options.element_bytes) : std::nullopt;
  if (!cost || !held) {
    return refuse({.code = Code::size_overflow,
                   .message = "the exchange holds or moves more than fits in 63 bits"});
  }
  if (options.memory_limit_bytes && *held > *options.memory_limit_bytes) {
    return refuse(
        {.code = Code::infeasible,
         .message = fmt::format("one exchange holds {} bytes, old and new tile together", *held)});
  }
  out.cost = *cost;
  out.resident = *resident;
  out.optimal = !moves;
  return out;
}

/// Plans that may hold little enough: what is best without a limit, and with it, and what holds least
/// where tiles are filled up. In the array they hold less.
std::vector<Plan> lean_plans(const Even& even, const Problem& problem, PlanOptions options) {
  std::vector<std::optional<Size>> limits = {std::nullopt};
  if (options.memory_limit_bytes) limits.push_back(options.memory_limit_bytes);
  if (const auto least =
          smallest_feasible_bytes(even.problem, options.element_bytes, false, options.steps)) {
    limits.emplace_back(*least);
  }
  std::vector<Plan> out;
  for (const auto& limit : limits) {
    options.memory_limit_bytes = limit;
    Result<std::vector<Plan>> lean = restricted(even, problem, options);
    if (!lean) continue;
    for (Plan& plan : *lean) {
      if (options.collectives || plan.height <= plan.bound) out.push_back(std::move(plan));
    }
  }
  return out;
}

std::optional<Size> resident_bytes(const Plan& plan) {
  return checked_mul(plan.resident, plan.options.element_bytes);
}

/// The plan of the even problem over the tiles filled up, or why it does not do.
Result<Plan> plan_alignment(Even even, const Problem& problem, const PlanOptions& options) {
  Result<std::vector<Plan>> plans{std::vector<Plan>()};
  if (options.memory_limit_bytes) {
    *plans = lean_plans(even, problem, options);
  } else {
    plans = restricted(std::move(even), problem, options);
    if (!plans) return refuse(plans.error());
  }
  Result<Plan> best = refuse({.code = Code::infeasible,
                              .message = fmt::format("collectives hold more than {} bytes",
                                                     options.memory_limit_bytes.value_or(0))});
  for (Plan& plan : *plans) {
    const auto bytes = resident_bytes(plan);
    if (options.memory_limit_bytes && (!bytes || *bytes > *options.memory_limit_bytes)) continue;
    plan.options = options;
    if (!best || is_better(plan, *best)) best = std::move(plan);
  }
  if (best) best->uneven = problem;
  return best;
}

/// The best of all even problems.
Result<Plan> plan_filled_up(std::vector<Even> evens, const Problem& problem,
                            const PlanOptions& options) {
  const bool bytes = options.cost_model == CostModel::bytes;
  if (bytes && !options.collectives) return no_bytes();
  // That no step cuts so holds whatever it would cost.
  PlanOptions in_elements = options;
  in_elements.cost_model = CostModel::paper;
  std::optional<Result<Plan>> best;
  for (Even& even : evens) {
    Result<Plan> made = plan_alignment(std::move(even), problem, in_elements);
    if (!best || (made && (!*best || is_better(*made, **best)))) best = std::move(made);
  }
  if (bytes && (*best || best->error().code != Code::inapplicable)) return no_bytes();
  return *std::move(best);
}

tl::unexpected<Diagnostic> limit_overflows() {
  return refuse({.code = Code::size_overflow,
                 .message = "the smallest feasible limit does not fit in 63 bits"});
}

/// The least limit for which plan_filled_up() finds a plan.
Result<Size> smallest_filled_up(const std::vector<Even>& evens, const Problem& problem,
                                const PlanOptions& options) {
  std::optional<Size> least;
  bool any = false;
  for (const Even& even : evens) {
    for (const Plan& lean : lean_plans(even, problem, options)) {
      any = true;
      if (const auto bytes = resident_bytes(lean)) least = std::min(least.value_or(*bytes), *bytes);
    }
  }
  if (least) return *least;
  if (!any) return refuse({.code = Code::infeasible, .message = "no step cuts so"});
  return limit_overflows();
}

// ---- Collectives alone --------------------------------------------------------------------------

/// The layout with some dimensions whole on all devices.
Layout gathered(const Layout& end, const std::vector<std::size_t>& dims) {
  if (dims.empty()) return end;
  std::vector<Cuts> cuts = end.cuts();
  std::vector<std::vector<Digit>> digits = end.digits();
  for (const std::size_t i : dims) {
    cuts[i] = Cuts::even(end.global()[i], 1);
    digits[i].clear();
  }
  auto out = Layout::numbered(end.devices(), std::move(cuts), std::move(digits));
  RETILE_ASSERT(out.has_value(), "fewer cuts and digits are a layout, too");
  return *std::move(out);
}

/// Problems, each from where the one before it ends.
using Legs = std::vector<Problem>;

/// The ways round cuts that do not nest, and these cuts.
struct Detours {
  std::vector<Legs> ways;
  std::string reason;
};

/// Each of the dimensions is whole either before anything else happens, or until everything else
/// has.
Result<Detours> detours(const Problem& problem) {
  if (const auto ends = check_ends(problem); !ends) return tl::unexpected(ends.error());
  Detours out;
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < problem.from.rank(); ++i) {
    const Result<Nesting> one = nesting_of(problem, i);
    if (one) continue;
    if (one.error().code != Code::inapplicable) return tl::unexpected(one.error());
    dims.push_back(i);
    out.reason += (out.reason.empty() ? "" : "; ") + one.error().message;
  }
  if (dims.empty()) return filled_up_too_long();
  constexpr std::size_t most_dims = 6;  // of which all choices are looked at
  const std::size_t choices = std::size_t{1} << std::min(dims.size(), most_dims);
  for (std::size_t choice = 0; choice < choices; ++choice) {
    std::vector<std::size_t> before;
    std::vector<std::size_t> after;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      (choice >> std::min(k, most_dims - 1) & 1U ? before : after).push_back(dims[k]);
    }
    const std::vector<Layout> stops = {problem.from, gathered(problem.from, before),
                                       gathered(problem.to, after), problem.to};
    Legs legs;
    for (std::size_t k = 1; k < stops.size(); ++k) {
      if (stops[k - 1] == stops[k]) continue;
      auto leg = Problem::make(stops[k - 1], stops[k]);
      if (!leg) return tl::unexpected(leg.error());
      legs.push_back(*std::move(leg));
    }
    out.ways.push_back(std::move(legs));
  }
  return out;
}

Result<Plan> plan_leg(const Problem& leg, const PlanOptions& options) {
  Result<std::vector<Even>> evens = alignments(leg);
  if (!evens) return tl::unexpected(evens.error());
  return plan_filled_up(*std::move(evens), leg, options);
}

/// The least limit for which plan_leg() finds a plan.
Result<Size> smallest_of_leg(const Problem& leg, const PlanOptions& options) {
  const Result<std::vector<Even>> evens = alignments(leg);
  if (!evens) return tl::unexpected(evens.error());
  return smallest_filled_up(*evens, leg, options);
}

/// Of legs that are not between types of the paper.
constexpr PlanMethod method_of_legs{plan_leg, smallest_of_leg};

/// The plans of the legs as one.
Result<Plan> joined(const Problem& problem, const Legs& legs, const PlanOptions& options) {
  Plan out = begun(problem, options);
  for (const Problem& leg : legs) {
    Result<Plan> planned = method_of(leg, method_of_legs).plan(leg, options);
    if (!planned) return planned;
    const auto cost = checked_add(out.cost, planned->cost);
    if (!cost) {
      return refuse({.code = Code::size_overflow, .message = "the cost does not fit in 63 bits"});
    }
    out.cost = *cost;
    out.height = std::max(out.height, planned->height);
    out.valley = std::min(out.valley, planned->valley);
    out.resident = std::max(out.resident, planned->resident);
    out.complete = out.complete && planned->complete;
    out.states += planned->states;
    out.work += planned->work;
    out.legs.push_back(*std::move(planned));
  }
  for (const Plan& leg : out.legs) out.weak_cost += weak_part(leg);
  out.optimal = out.cost == 0;
  return out;
}

/// Whether both ends are one layout. Other forms of it are seen only where devices are not too many to look at
/// each.
bool has_equal_ends(const Problem& problem) {
  if (problem.from == problem.to) return true;
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(problem.from.rank()));
  return places && *places <= most_looked_at && problem.from.equivalent(problem.to);
}

/// The ends are equal.
Result<Plan> nothing_to_do(const Problem& problem, const PlanOptions& options) {
  Plan out = begun(problem, options);
  out.optimal = true;
  const auto bytes = resident_bytes(out);
  if (options.memory_limit_bytes && (!bytes || *bytes > *options.memory_limit_bytes)) {
    return refuse({.code = Code::infeasible, .message = "the tile alone is above the limit"});
  }
  return out;
}

tl::unexpected<Diagnostic> no_plan(const std::string& reason) {
  return refuse({.code = Code::infeasible, .message = "no plan of collectives alone: " + reason});
}

/// The lowest of the ways round, and of these the cheapest.
Result<Plan> plan_round(const Problem& problem, const PlanOptions& options) {
  const Result<Detours> found = detours(problem);
  if (!found) return no_plan(found.error().message);
  if (options.cost_model == CostModel::bytes) return no_bytes();
  Result<Plan> best = no_plan("on every way " + filled_up_too_long().value().message);
  bool limited = false;
  for (const Legs& legs : found->ways) {
    Result<Plan> way = joined(problem, legs, options);
    const auto is_better = [](const Plan& a, const Plan& b) {
      return std::tie(a.height, a.cost) < std::tie(b.height, b.cost);
    };
    if (way && (!best || is_better(*way, *best))) best = std::move(way);
    // Of several reasons the memory limit says most, and then where no step cuts.
    if (best || way) continue;
    const bool no_room = way.error().code == Code::infeasible;
    if (no_room) best = std::move(way);
    if (!no_room && !limited && way.error().code == Code::inapplicable) {
      best = no_plan(way.error().message);
    }
    limited = limited || no_room;
  }
  if (best) best->reason = found->reason + ", so they are whole on the way";
  return best;
}

/// What the least memory hungry way round needs.
Result<Size> smallest_feasible_round(const Problem& problem, const PlanOptions& options) {
  const auto found = detours(problem);
  if (!found) return refuse({.code = Code::infeasible, .message = found.error().message});
  std::optional<Size> least;
  for (const Legs& legs : found->ways) {
    Size most = 0;
    bool possible = true;
    for (const Problem& leg : legs) {
      const Result<Size> bytes = method_of(leg, method_of_legs).smallest(leg, options);
      possible = possible && bytes.has_value();
      if (possible) most = std::max(most, *bytes);
    }
    if (possible) least = std::min(least.value_or(most), most);
  }
  if (least) return *least;
  return refuse({.code = Code::infeasible, .message = "there is no way"});
}

}  // namespace

Result<Plan> plan_uneven(const Problem& problem, const PlanOptions& options) {
  if (has_equal_ends(problem)) return nothing_to_do(problem, options);
  Result<std::vector<Even>> evens = alignments(problem);
  if (!evens) {
    return options.collectives ? plan_round(problem, options)
                               : exchange(problem, options, evens.error().message);
  }
  Result<Plan> made = plan_filled_up(*std::move(evens), problem, options);
  if (options.collectives)
    return made || made.error().code != Code::inapplicable ? made : no_plan(made.error().message);
  if (!made) return exchange(problem, options, made.error().message);
  if (made->cost > 0 && moves_nothing(problem)) {
    Result<Plan> free = exchange(problem, options, "");
    if (free) return free;  // else the steps alone are within the memory limit
  }
  if (made->height <= made->bound) return made;
  return exchange(problem, options, "collectives need a tile above the larger end");
}

Result<Size> smallest_feasible_uneven(const Problem& problem, const PlanOptions& options) {
  const bool collectives = options.collectives;
  const Size element_bytes = options.element_bytes;
  if (has_equal_ends(problem)) {
    const auto held = checked_mul(problem.from.tile_size(), element_bytes);
    return held ? Result<Size>(*held) : limit_overflows();
  }
  const Result<std::vector<Even>> evens = alignments(problem);
  if (collectives && !evens) return smallest_feasible_round(problem, options);
  const Result<Size> steps =
      evens ? smallest_filled_up(*evens, problem, options) : tl::unexpected(evens.error());
  if (collectives) return steps;
  const auto elements = held_in_exchange(problem);
  const auto held = elements ? checked_mul(*elements, element_bytes) : std::nullopt;
  if (!held) return limit_overflows();
  return steps ? std::min(*held, *steps) : *held;
}

}  // namespace retile
