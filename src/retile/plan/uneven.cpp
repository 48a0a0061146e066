// Where both ends cut every dimension into as many blocks of as many elements as make up one number
// P, the problem is the even one over P, restricted to the indices below the global size (U1). Else
// one exchange takes the place of a plan: no device receives less (U3).
#include "retile/plan/uneven.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
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

/// The size of the dimension whose even tiling both cuts are part of; nothing where there is none.
/// One tile is part of any.
std::optional<Size> filled_up(const Cuts& from, const Cuts& to) {
  if (from.is_listed() || to.is_listed()) return std::nullopt;
  const auto size = [](const Cuts& cuts) { return checked_mul(cuts.block(), cuts.count()); };
  const auto before = size(from);
  const auto after = size(to);
  if (!before || !after) return std::nullopt;
  if (from.count() == 1 && to.count() == 1) return from.global();
  if (from.count() == 1) return after;
  if (to.count() == 1 || before == after) return before;
  return std::nullopt;
}

/// Why an end is no tiling by blocks, if so.
std::optional<std::string> no_blocks(const Layout& end, std::string_view name) {
  if (end.is_listed()) return fmt::format("{} lists its tiles one by one", name);
  if (!end.halos().empty()) return fmt::format("tiles of {} have halos", name);
  return std::nullopt;
}

/// The dimension `cuts` of a layout filled up to `size`.
Layout filled_up(const Layout& end, const Shape& size) {
  Shape tile;
  for (std::size_t i = 0; i < size.size(); ++i) tile.push_back(size[i] / end.cuts()[i].count());
  auto out = Layout::compact(end.devices(), size, tile, end.digits());
  RETILE_ASSERT(out.has_value(), "blocks that are filled up are an even tiling");
  return std::move(*out);
}

/// The even problem over the tiles filled up, or why there is none.
Result<Problem> aligned(const Problem& problem) {
  const auto none = [](std::string reason) {
    return refuse({.code = Code::inapplicable, .message = std::move(reason)});
  };
  for (const auto& [end, name] : {std::pair{&problem.from, "from"}, std::pair{&problem.to, "to"}}) {
    if (auto reason = no_blocks(*end, name)) return none(*std::move(reason));
    if (!end->is_compact()) return none(fmt::format("{} is no tiling in digits", name));
  }
  Shape size;
  for (std::size_t i = 0; i < problem.from.rank(); ++i) {
    const Cuts& from = problem.from.cuts()[i];
    const Cuts& to = problem.to.cuts()[i];
    const auto one = filled_up(from, to);
    if (!one) {
      return none(fmt::format("dim {}: cuts {} and {} do not nest, so no collective ends there", i,
                              cuts_text(from), cuts_text(to)));
    }
    size.push_back(*one);
  }
  if (!checked_product(size)) return none("the tiles filled up have 2^63 elements or more");
  return Problem::make(filled_up(problem.from, size), filled_up(problem.to, size));
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
      return before;
    case Collective::allgather:
      break;
  }
  return after;
}

/// The plan of the even problem with the sizes that its tiles have in the array.
Plan restricted(Plan even, const Problem& problem) {
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
  even.weak_cost = even.cost;
  even.lower_bound = 0;
  even.optimal = even.cost == 0;
  even.uneven = problem;
  return even;
}

/// Boxes that are looked at device by device have at most so many numbers: some seconds.
constexpr Size most_places = Size{1} << 26;

/// The most elements that a device receives; the largest new tile where devices are too many to look
/// at each.
Size most_received(const Problem& problem) {
  return most_lacking(problem, most_places).value_or(problem.to.tile_size());
}

/// The most elements that a device holds in an exchange, its old tile and its new one.
/// \param received  the most that one receives
std::optional<Size> held_in_exchange(const Problem& problem, Size received) {
  const Size before = problem.from.tile_size();
  return received == 0 ? std::max(before, problem.to.tile_size())
                       : checked_add(before, problem.to.tile_size());
}

Result<Plan> exchange(const Problem& problem, const PlanOptions& options, std::string reason) {
  Plan out;
  out.problem = problem;
  out.device_at = IotaChain(problem.from.devices());
  out.options = options;
  const Size before = problem.from.tile_size();
  const Size after = problem.to.tile_size();
  const Size received = most_received(problem);
  const bool moves = received > 0;
  if (!moves) reason = "every device holds its new tile already";
  out.exchange = PlannedExchange{std::move(reason), problem.to.tile()};
  const bool bytes = options.cost_model == CostModel::bytes;
  const auto cost =
      bytes ? checked_mul(received, options.element_bytes) : std::optional(moves ? after : 0);
  const auto resident = held_in_exchange(problem, received);
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
  out.height = out.bound = std::max(before, after);
  out.valley = std::min(before, after);
  out.resident = *resident;
  out.optimal = !moves;
  return out;
}

}  // namespace

Result<Plan> plan_uneven(const Problem& problem, const PlanOptions& options) {
  Result<Problem> even = aligned(problem);
  if (!even) return exchange(problem, options, std::move(even.error().message));
  // What obeys a memory limit with tiles filled up obeys it without.
  Result<Plan> planned = plan(*even, options);
  if (!planned) return exchange(problem, options, planned.error().message);
  if (options.cost_model == CostModel::bytes && even->from.global() != problem.from.global()) {
    return exchange(problem, options, "bytes are planned for even tiles only");
  }
  Plan out = restricted(*std::move(planned), problem);
  if (out.height <= out.bound) return out;
  return exchange(problem, options, "collectives need a tile above the larger end");
}

Result<Size> smallest_feasible_uneven(const Problem& problem, Size element_bytes) {
  const auto elements = held_in_exchange(problem, most_received(problem));
  const auto held = elements ? checked_mul(*elements, element_bytes) : std::nullopt;
  if (!held) {
    return refuse({.code = Code::size_overflow,
                   .message = "the smallest feasible limit does not fit in 63 bits"});
  }
  const Result<Problem> even = aligned(problem);
  if (!even) return *held;
  const Result<Size> steps = smallest_feasible_bytes(*even, element_bytes);
  return steps ? std::min(*held, *steps) : *held;
}

}  // namespace retile
