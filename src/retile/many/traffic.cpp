#include "retile/many/traffic.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/collective_cost.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/exchange/routes.h"
#include "retile/lower/lower.h"
#include "retile/many/nodes.h"
#include "retile/program/apply.h"
#include "retile/program/moves.h"

namespace retile::many {
namespace {

/// Notes boxes that go from one device to another.
class Counter {
 public:
  Counter(const Problem& problem, Size node_devices)
      : numbers_(problem.numbers), node_devices_(node_devices) {
    for (auto* const counts : {&counts_.received, &counts_.sent, &counts_.crossed}) {
      counts->resize(static_cast<std::size_t>(problem.from.devices()));
    }
  }

  void note(const Transfer& box) {
    if (box.source == box.target) return;
    Size elements = 1;
    for (const Size extent : box.shape) elements *= extent;
    counts_.received[static_cast<std::size_t>(box.target)] += elements;
    counts_.sent[static_cast<std::size_t>(box.source)] += elements;
    if (crosses(box)) counts_.crossed[static_cast<std::size_t>(box.target)] += elements;
  }
  /// Sums are made piece by piece and then gathered, as libraries do it, and not of whole tiles.
  void note(const Allreduce& step, const TileShapes& tiles) {
    const Size members = step.groups.ragged() ? 1 : std::max(step.groups.columns(), Size{1});
    for (std::size_t d = 0; d < tiles.size(); ++d) {
      const Size tile = checked_product(tiles[d]).value_or(0);  // of an array that fits
      const Size moved = collective_received(CollectiveKind::all_reduce, tile, members);
      counts_.received[d] += moved;
      counts_.sent[d] += moved;
    }
  }
  [[nodiscard]] Traffic take() { return std::move(counts_); }

 private:
  [[nodiscard]] bool crosses(const Transfer& box) const {
    return node_devices_ > 0 &&
           numbers_.of(box.source) / node_devices_ != numbers_.of(box.target) / node_devices_;
  }

  const DeviceNumbers& numbers_;
  Size node_devices_;
  Traffic counts_;
};

/// Of an exchange whose boxes follow from device numbers.
std::optional<Traffic> traffic_of_routes(const Routes& routes, const Problem& problem,
                                         Size node_devices) {
  Size boxes = 0;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    boxes += std::min(routes.boxes(d), most_boxes);
    if (boxes > most_boxes) return std::nullopt;
  }
  Counter counter(problem, node_devices);
  for (Size d = 0; d < problem.from.devices(); ++d) {
    routes.received(d, [&counter](const Transfer& box) { counter.note(box); });
  }
  return counter.take();
}

/// At most so many boxes a step moves, in which groups work together.
Size boxes_of(const Step& step, Size devices) {
  if (const auto* exchange = std::get_if<Exchange>(&step.op)) {
    return static_cast<Size>(exchange->transfers.size());
  }
  const DeviceTable* const groups = keeps_part(step.op) ? nullptr : groups_of(step.op);
  const Size members = groups == nullptr || groups->ragged() ? 1 : groups->columns();
  return std::min(checked_mul(devices, std::max(members, Size{1})).value_or(most_boxes + 1),
                  most_boxes + 1);
}

/// Most elements beside the old tile in one step, as devices hold a tile before it and one after it; a
/// slice of anything but the old tile stays where it is.
class Held {
 public:
  void note(const Shape& tile, bool is_slice) {
    const Size after = checked_product(tile).value_or(0);  // it is a tile of an array that fits
    most_ = std::max(most_, is_slice && before_ > 0 ? before_ : before_ + after);
    before_ = after;
  }
  void note(const Plan& plan) {
    for (const PlanStep& step : plan.steps) note(step.tile, step.op == Collective::dynslice);
  }
  [[nodiscard]] Size most() const { return most_; }

 private:
  Size most_ = 0;
  Size before_ = 0;
};

Size held_on_the_way(const Way& way) {
  Held held;
  if (way.program) {
    for (const Step& step : way.program->steps) {
      held.note(*step.claims.tile, keeps_part(step.op));
    }
    return held.most();
  }
  held.note(way.plan);
  for (const Plan& leg : way.plan.legs) held.note(leg);
  return held.most();
}

/// The elements of every device's tile.
std::vector<Size> tile_sizes(const Layout& layout) {
  const auto devices = static_cast<std::size_t>(layout.devices());
  const auto extents = layout.extents();
  if (!extents) return std::vector<Size>(devices, layout.tile_size());
  const std::size_t rank = layout.rank();
  std::vector<Size> out(devices, 1);
  for (std::size_t at = 0; at < extents->size(); ++at) out[at / rank] *= (*extents)[at];
  return out;
}

}  // namespace

std::optional<Routes> routes_of(const Way& way, const Problem& problem) {
  if (!way.is_one_exchange() || !Routes::knows(problem.from, problem.to)) return std::nullopt;
  if (way.nearest > 1 && problem.numbers.are_listed()) return std::nullopt;
  Routes out(problem.from, problem.to, way.nearest);
  if (!out.keeps_to_nodes()) return std::nullopt;
  return out;
}

Result<Program> program_of(const Way& way, const Problem& problem) {
  if (way.node_devices > 0) {
    return by_nodes(problem, way.node_devices).map([](std::optional<Program>&& made) {
      RETILE_ASSERT(made.has_value(), "arrays go so where devices of a node need the same");
      return *std::move(made);
    });
  }
  if (way.is_exchange()) return direct(problem, {.node_devices = way.nearest});
  return way.program ? Result<Program>(*way.program) : retile::program_of(way.plan);
}

std::optional<Traffic> traffic_of(const Program& program, const Problem& problem,
                                  Size node_devices) {
  Counter counter(problem, node_devices);
  TileShapes tiles = shapes_of(program.from);
  Size boxes = 0;
  for (const Step& step : program.steps) {
    boxes += boxes_of(step, program.devices);
    if (boxes > most_boxes) return std::nullopt;
    if (const auto* sum = std::get_if<Allreduce>(&step.op)) {
      counter.note(*sum, tiles);
      continue;  // which leaves the tiles as large as they are
    }
    auto after = each_move(step, tiles, [&counter](Transfer&& box) { counter.note(box); });
    if (!after) return std::nullopt;  // a size overflows on the way
    tiles = *std::move(after);
  }
  return counter.take();
}

Result<std::optional<Traffic>> traffic_of(const Way& way, const Problem& problem,
                                          Size node_devices) {
  if (const auto routes = routes_of(way, problem)) {
    return traffic_of_routes(*routes, problem, node_devices);
  }
  const auto program = program_of(way, problem);
  if (!program) {
    if (program.error().code == Code::limit_reached) return std::optional<Traffic>();
    return refuse(program.error());
  }
  return traffic_of(*program, problem, node_devices);
}

Result<Holding> holding_of(const Way& way, const Kind& kind) {
  const Size bytes = kind.element_bytes;
  Holding out{
      .from = tile_sizes(kind.problem.from), .to = tile_sizes(kind.problem.to), .going = {}};
  const Size on_the_way = way.is_exchange() ? 0 : held_on_the_way(way);
  const Size most =
      std::max({kind.problem.from.tile_size(), kind.problem.to.tile_size(), on_the_way});
  if (!checked_mul(most, bytes)) {
    return refuse(Code::size_overflow, "the bytes of a tile do not fit in 63 bits");
  }
  for (auto* sizes : {&out.from, &out.to}) {
    for (Size& size : *sizes) size *= bytes;
  }
  out.going = out.to;
  for (Size& size : out.going) size = std::max(size, on_the_way * bytes);
  return out;
}

}  // namespace retile::many
