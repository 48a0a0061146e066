#include "retile/prove/encode.h"

#include <algorithm>

#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile::symbolic {

namespace {

bool is_regular(const DeviceTable& table) { return table.chain() != nullptr; }

bool is_regular(const Step& step) {
  if (step.claims.at || (step.claims.map && step.claims.map->is_listed())) return false;
  return match(
      step.op,
      [](const Dynslice& op) {
        return match(
            op.pieces, [](const DeviceTable& groups) { return is_regular(groups); },
            [](const PartList& list) {
              return is_regular(list.part) && list.parts == list.part.size();
            });
      },
      [](const Allgather& op) { return is_regular(op.groups); },
      [](const Alltoall& op) { return is_regular(op.groups); },
      [](const Allpermute& op) {
        return match(
            op.source, [](const DeviceTable& table) { return is_regular(table); },
            [](const PairList&) { return false; });
      },
      [](const Exchange&) { return false; });
}

/// The dimensions of a stage in the order in which its entries are read.
std::vector<std::size_t> reading_order(const IotaStage& stage) {
  std::vector<std::size_t> order = stage.transpose;
  for (std::size_t k = order.size(); k < stage.shape.size(); ++k) order.push_back(k);
  return order;
}

/// The coordinates of a row-major number in a box with these extents.
std::vector<Number> coordinates(Digits& digits, Number number, const std::vector<Size>& extents) {
  std::vector<Number> out(extents.size());
  for (std::size_t k = extents.size(); k-- > 0;) {
    auto [low, high] = digits.split(number, extents[k]);
    out[k] = std::move(low);
    number = std::move(high);
  }
  return out;
}

/// The row-major number of coordinates.
Number row_major(const std::vector<Number>& coordinates) {
  Number out;
  for (std::size_t k = coordinates.size(); k-- > 0;) out = Digits::join(out, coordinates[k]);
  return out;
}

}  // namespace

bool is_regular(const Program& program) {
  return !program.from.is_listed() && !program.to.is_listed() &&
         std::all_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return is_regular(step); });
}

Element Encoder::any(Size devices, const Shape& tile) {
  Element out{digits_.any(devices), {}};
  for (const Size extent : tile) out.at.push_back(digits_.any(extent));
  return out;
}

Element Encoder::first(const Number& device, const Shape& tile) {
  Element out{device, {}};
  for (const Size extent : tile) out.at.push_back(digits_.zero(extent));
  return out;
}

Number Encoder::entry(const IotaChain& chain, const Number& position) {
  Number number = position;
  for (auto stage = chain.stages().rbegin(); stage != chain.stages().rend(); ++stage) {
    const std::vector<std::size_t> order = reading_order(*stage);
    std::vector<Size> extents;
    for (const std::size_t old : order) extents.push_back(stage->shape[old]);
    const std::vector<Number> read = coordinates(digits_, number, extents);
    std::vector<Number> before(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) before[order[k]] = read[k];
    number = row_major(before);
  }
  return number;
}

Number Encoder::position(const IotaChain& chain, const Number& entry) {
  Number number = entry;
  for (const IotaStage& stage : chain.stages()) {
    const std::vector<Number> before = coordinates(digits_, number, stage.shape);
    std::vector<Number> read;
    for (const std::size_t old : reading_order(stage)) read.push_back(before[old]);
    number = row_major(read);
  }
  return number;
}

std::vector<std::size_t> Encoder::compared(std::size_t rank) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < rank; ++i) all.push_back(i);
  return all;
}

Place Encoder::place(const DeviceTable& groups, const Number& device) {
  auto [low, high] = digits_.split(position(*groups.chain(), device), groups.columns());
  return {.row = std::move(high), .position = std::move(low)};
}

Number Encoder::member(const DeviceTable& groups, const Place& place) {
  return entry(*groups.chain(), Digits::join(place.position, place.row));
}

std::pair<Number, Number> Encoder::sender(const Number& at, Size extent) {
  return digits_.split(at, extent);
}

Number Encoder::whole(const Number& at, const Number& piece) { return Digits::join(at, piece); }

Number Encoder::permuted(const DeviceTable& source, const Number& device) {
  return entry(*source.chain(), device);
}

Number Encoder::kept(const Dynslice& step, const Number& device) {
  return match(
      step.pieces, [&](const DeviceTable& groups) { return place(groups, device).position; },
      [&](const PartList& list) { return entry(*list.part.chain(), device); });
}

std::pair<std::size_t, std::size_t> Encoder::dimensions(const Regroup& step) const {
  return {step.split, step.concat};
}

Number Encoder::tile_number(const std::vector<Digit>& digits, const Number& device) {
  Number out;
  for (const Digit& digit : digits) {
    const Number above = digits_.split(device, digit.stride).second;
    out = Digits::join(out, digits_.split(above, digit.size).first);
  }
  return out;
}

Element Encoder::source(const Step& step, const Shape& before, const Element& after) {
  Element out = after;
  match(
      meaning(step.op, before),
      [&](const Keep& keep) {
        out.at[keep.dim] = whole(after.at[keep.dim], kept(*keep.op, after.device));
      },
      [&](const Regroup& regroup) {
        const auto [split, concat] = dimensions(regroup);
        const Place own = place(*regroup.groups, after.device);
        auto [at, from] = sender(after.at[concat], regroup.stride);
        out.at[concat] = std::move(at);
        if (regroup.splits) out.at[split] = whole(out.at[split], own.position);
        out.device = member(*regroup.groups, {own.row, from});
      },
      [&](const Fetch& fetch) {
        out.device = permuted(std::get<DeviceTable>(fetch.op->source), after.device);
      },
      [](const Assemble&) { RETILE_ASSERT(false, "a regular Program has no exchange"); });
  return out;
}

std::vector<Number> Encoder::global(const Layout& map, const Element& element) {
  const Number place = position(map.order(), element.device);
  std::vector<Number> out;
  for (std::size_t i = 0; i < map.rank(); ++i) {
    out.push_back(Digits::join(element.at[i], tile_number(map.digits()[i], place)));
  }
  return out;
}

}  // namespace retile::symbolic
