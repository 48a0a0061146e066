// Where both ends cut every dimension into as many blocks of as many elements as make up one number
// P, the problem is the even one over P, restricted to the indices below the global size (U1). Else
// one exchange takes the place of a plan: no device receives less (U3). Where only collectives may
// be used, dimensions that are not cut so are whole on the way: what is whole is cut like anything.
#include "retile/plan/uneven.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/plan/lacking.h"

namespace retile {
namespace {

/// `0 6 12 16`, at most eight of them.
std::string cuts_text(const Cuts& cuts) {
  constexpr Size most = 8;
  std::string out;
  for (Size t = 0; t <= cuts.count(); ++t) {
    if (t == most) return out + fmt::format(" .. {}", cuts.global());
    out += fmt::format("{}{}", t == 0 ? "" : " ", cuts.at(t));
  }
  return out;
}

tl::unexpected<Diagnostic> too_long() {
  return refuse(
      {.code = Code::size_overflow, .message = "the tiles filled up have 2^63 elements or more"});
}

/// The size of dimension i whose even tiling the cuts of both ends are part of. One tile is part of
/// any.
/// \error size_overflow, inapplicable (the cuts do not nest)
Result<Size> filled_up(const Problem& problem, std::size_t i) {
  const Cuts& from = problem.from.cuts()[i];
  const Cuts& to = problem.to.cuts()[i];
  // Of listed cuts the largest tile, which is no more than the array.
  const auto size = [](const Cuts& cuts) {
    return cuts.is_listed() ? cuts.global() : checked_mul(cuts.block(), cuts.count());
  };
  const auto before = size(from);
  const auto after = size(to);
  if (!before || !after) return too_long();
  if (!from.is_listed() && !to.is_listed()) {
    if (from.count() == 1 && to.count() == 1) return from.global();
    if (from.count() == 1) return *after;
    if (to.count() == 1 || before == after) return *before;
  }
  return refuse({.code = Code::inapplicable,
                 .message = fmt::format("dim {}: cuts {} and {} do not nest", i, cuts_text(from),
                                        cuts_text(to))});
}

/// Why an end is no tiling by blocks in digits of the device number, if so.
std::optional<std::string> no_blocks(const Layout& end, std::string_view name) {
  if (end.is_listed()) return fmt::format("{} lists its tiles one by one", name);
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

/// The even problem over the tiles filled up, or why there is none.
Result<Problem> aligned(const Problem& problem) {
  if (const auto ends = check_ends(problem); !ends) return tl::unexpected(ends.error());
  Shape size;
  size.reserve(problem.from.rank());
  for (std::size_t i = 0; i < problem.from.rank(); ++i) {
    const Result<Size> one = filled_up(problem, i);
    if (!one && one.error().code == Code::inapplicable) {
      return none(one.error().message + ", so no collective ends there");
    }
    if (!one) return tl::unexpected(one.error());
    size.push_back(*one);
  }
  if (!checked_product(size)) return too_long();
  return Problem{problem.from.filled_up(size), problem.to.filled_up(size)};
}

/// The part of a tile that lies in the array, of the device that holds most of it.
Shape clipped(Shape tile, const Shape& global) {
  for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = std::min(tile[i], global[i]);
  return tile;
}

Size size_of(const Shape& tile) {
  const auto size = checked_product(tile);
  RETILE_ASSERT(size.has_value(), "a tile is no larger than its array");
  return *size;
}

/// What a step costs by Fig. 11.
Size cost_of(Collective op, Size before, Size after) {
  switch (op) {
    case Collective::dynslice:
      return 0;
    case Collective::alltoall:
    case Collective::allpermute:
    case Collective::reducescatter:
      return before;
    case Collective::allreduce:
      return 2 * before;
    case Collective::allgather:
      break;
  }
  return after;
}

/// What the steps cost but for permutations.
Size weak_part(const Plan& plan) {
  Size out = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.op != Collective::allpermute) out += step.cost;
  }
  return out;
}

/// Gives the plan of the even problem the sizes that its tiles have in the array.
void restrict(Plan& even, const Problem& problem) {
  const Shape& global = problem.from.global();
  Size size = problem.from.tile_size();
  even.height = std::max(problem.from.tile_size(), problem.to.tile_size());
  even.bound = even.height;
  even.valley = std::min(problem.from.tile_size(), problem.to.tile_size());
  even.resident = even.height;
  even.cost = 0;
  for (PlanStep& step : even.steps) {
    const Size after = size_of(clipped(step.tile, global));
    if (even.options.cost_model == CostModel::paper) step.cost = cost_of(step.op, size, after);
    even.cost += step.cost;
    even.height = std::max(even.height, after);
    even.valley = std::min(even.valley, after);
    even.resident = std::max(even.resident, step.op == Collective::dynslice ? size : size + after);
    size = after;
  }
  // What is proved of the even problem is said of its tiles, and those that reach beyond the array
  // cost less here.
  even.weak_cost = weak_part(even);
  even.lower_bound = 0;
  even.optimal = even.cost == 0;
  even.uneven = problem;
}

/// Boxes that are looked at device by device have at most so many numbers: some seconds.
constexpr Size most_places = Size{1} << 26;

/// The most elements that a device receives; the largest new tile where devices are too many to look
/// at each.
Size most_received(const Problem& problem) {
  return most_lacking(problem, most_places).value_or(problem.to.tile_size());
}

/// The most elements that a device holds in an exchange, its old tile and its new one.
std::optional<Size> held_in_exchange(const Problem& problem) {
  return checked_add(problem.from.tile_size(), problem.to.tile_size());
}

/// Whether every device holds its new tile already; ends with the first that does not. False where
/// devices are too many to look at each.
bool moves_nothing(const Problem& problem) {
  const std::size_t rank = problem.from.rank();
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(rank));
  if (!places || *places > most_places) return false;
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
std::vector<Plan> lean_plans(const Problem& even, const Problem& problem, PlanOptions options) {
  std::vector<std::optional<Size>> limits = {std::nullopt};
  if (options.memory_limit_bytes) limits.push_back(options.memory_limit_bytes);
  if (const auto least = smallest_feasible_bytes(even, options.element_bytes)) {
    limits.emplace_back(*least);
  }
  std::vector<Plan> out;
  for (const auto& limit : limits) {
    options.memory_limit_bytes = limit;
    Result<Plan> planned = plan(even, options);
    if (!planned) continue;
    Plan& lean = *planned;
    restrict(lean, problem);
    if (options.collectives || lean.height <= lean.bound) out.push_back(std::move(lean));
  }
  return out;
}

std::optional<Size> resident_bytes(const Plan& plan) {
  return checked_mul(plan.resident, plan.options.element_bytes);
}

/// The plan of the even problem over the tiles filled up, or why it does not do. May be higher than
/// the ends, where one of them is whole in a dimension.
Result<Plan> plan_filled_up(Problem even, const Problem& problem, const PlanOptions& options) {
  if (options.cost_model == CostModel::bytes && even.from.global() != problem.from.global()) {
    return no_bytes();
  }
  if (!options.memory_limit_bytes) {
    Result<Plan> planned = plan_even(std::move(even), options);
    if (planned) restrict(*planned, problem);
    return planned;
  }
  Result<Plan> best = refuse(
      {.code = Code::infeasible,
       .message = fmt::format("collectives hold more than {} bytes", *options.memory_limit_bytes)});
  for (Plan& lean : lean_plans(even, problem, options)) {
    const auto bytes = resident_bytes(lean);
    if (!bytes || *bytes > *options.memory_limit_bytes) continue;
    lean.options = options;
    if (!best || lean.cost < best->cost) best = std::move(lean);
  }
  return best;
}

tl::unexpected<Diagnostic> limit_overflows() {
  return refuse({.code = Code::size_overflow,
                 .message = "the smallest feasible limit does not fit in 63 bits"});
}

/// The least limit for which plan_filled_up() finds a plan.
Result<Size> smallest_filled_up(const Problem& even, const Problem& problem, Size element_bytes,
                                bool collectives) {
  std::optional<Size> least;
  for (const Plan& lean :
       lean_plans(even, problem, {.element_bytes = element_bytes, .collectives = collectives})) {
    if (const auto bytes = resident_bytes(lean)) least = std::min(least.value_or(*bytes), *bytes);
  }
  if (least) return *least;
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
    const Result<Size> one = filled_up(problem, i);
    if (one) continue;
    for (const auto& [end, name] :
         {std::pair{&problem.from, "from"}, std::pair{&problem.to, "to"}}) {
      if (!end->cuts()[i].is_listed()) continue;
      return none(fmt::format("dim {} of {} has its cuts in a list", i, name));
    }
    if (one.error().code != Code::inapplicable) return tl::unexpected(one.error());
    dims.push_back(i);
    out.reason += (out.reason.empty() ? "" : "; ") + one.error().message;
  }
  if (dims.empty()) return too_long();
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
  if (is_even(leg)) return plan(leg, options);
  Result<Problem> even = aligned(leg);
  if (!even) return tl::unexpected(even.error());
  return plan_filled_up(*std::move(even), leg, options);
}

/// The least limit for which plan_leg() finds a plan.
Result<Size> smallest_of_leg(const Problem& leg, Size element_bytes) {
  if (is_even(leg)) return smallest_feasible_bytes(leg, element_bytes);
  const Result<Problem> even = aligned(leg);
  if (!even) return tl::unexpected(even.error());
  return smallest_filled_up(*even, leg, element_bytes, true);
}

/// The plans of the legs as one.
Result<Plan> joined(const Problem& problem, const Legs& legs, const PlanOptions& options) {
  Plan out = begun(problem, options);
  for (const Problem& leg : legs) {
    Result<Plan> planned = plan_leg(leg, options);
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

/// The lowest of the ways round, and of these the cheapest.
Result<Plan> plan_round(const Problem& problem, const PlanOptions& options) {
  const auto infeasible = [](const std::string& reason) {
    return refuse({.code = Code::infeasible, .message = "no plan of collectives alone: " + reason});
  };
  const Result<Detours> found = detours(problem);
  if (!found) return infeasible(found.error().message);
  if (options.cost_model == CostModel::bytes) return no_bytes();
  Result<Plan> best = infeasible("on every way " + too_long().value().message);
  for (const Legs& legs : found->ways) {
    Result<Plan> way = joined(problem, legs, options);
    const auto is_better = [](const Plan& a, const Plan& b) {
      return std::tie(a.height, a.cost) < std::tie(b.height, b.cost);
    };
    if (way && (!best || is_better(*way, *best))) best = std::move(way);
    // Of several reasons the memory limit says most.
    if (!best && !way && way.error().code == Code::infeasible) best = std::move(way);
  }
  if (best) best->reason = found->reason + ", so they are whole on the way";
  return best;
}

/// What the least memory hungry way round needs.
Result<Size> smallest_feasible_round(const Problem& problem, Size element_bytes) {
  const auto found = detours(problem);
  if (!found) return refuse({.code = Code::infeasible, .message = found.error().message});
  std::optional<Size> least;
  for (const Legs& legs : found->ways) {
    Size most = 0;
    bool possible = true;
    for (const Problem& leg : legs) {
      const Result<Size> bytes = smallest_of_leg(leg, element_bytes);
      possible = possible && bytes.has_value();
      if (possible) most = std::max(most, *bytes);
    }
    if (possible) least = std::min(least.value_or(most), most);
  }
  if (least) return *least;
  return refuse({.code = Code::infeasible, .message = "there is no way"});
}

}  // namespace

bool is_even(const Problem& problem) { return problem.from.is_even() && problem.to.is_even(); }

Result<Plan> plan_uneven(const Problem& problem, const PlanOptions& options) {
  if (options.collectives && problem.from.equivalent(problem.to)) {
    return nothing_to_do(problem, options);
  }
  Result<Problem> even = aligned(problem);
  if (!even) {
    return options.collectives ? plan_round(problem, options)
                               : exchange(problem, options, even.error().message);
  }
  Result<Plan> made = plan_filled_up(*std::move(even), problem, options);
  if (options.collectives) return made;
  if (!made) return exchange(problem, options, made.error().message);
  if (made->cost > 0 && moves_nothing(problem)) {
    Result<Plan> free = exchange(problem, options, "");
    if (free) return free;  // else the steps alone are within the memory limit
  }
  if (made->height <= made->bound) return made;
  return exchange(problem, options, "collectives need a tile above the larger end");
}

Result<Size> smallest_feasible_uneven(const Problem& problem, Size element_bytes,
                                      bool collectives) {
  if (collectives && problem.from.equivalent(problem.to)) {
    const auto held = checked_mul(problem.from.tile_size(), element_bytes);
    return held ? Result<Size>(*held) : limit_overflows();
  }
  const Result<Problem> even = aligned(problem);
  if (collectives && !even) return smallest_feasible_round(problem, element_bytes);
  const Result<Size> steps = even ? smallest_filled_up(*even, problem, element_bytes, collectives)
                                  : tl::unexpected(even.error());
  if (collectives) return steps;
  const auto elements = held_in_exchange(problem);
  const auto held = elements ? checked_mul(*elements, element_bytes) : std::nullopt;
  if (!held) return limit_overflows();
  return steps ? std::min(*held, *steps) : *held;
}

}  // namespace retile
