// What a Program does, followed backwards: from an element of a device after a step to the element
// of a device before it, for any device and any local index at once. Private to this room.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/core/device_table.h"
#include "retile/core/layout.h"
#include "retile/core/layout_facts.h"
#include "retile/program/apply.h"
#include "retile/program/program.h"
#include "retile/prove/digits.h"

namespace retile::symbolic {

/// An element: which device holds it, and at which local index of its tile.
struct Element {
  Number device;
  std::vector<Number> at;
};

/// A device's place in a table of groups.
struct Place {
  Number row;
  Number position;
};

/// Whether an encoding can say a table, a tile map, a whole Program: tables are iota chains, maps
/// are in digits.
[[nodiscard]] bool is_regular(const Program& program);

/// The dimensions of a stage in the order in which its entries are read.
[[nodiscard]] std::vector<std::size_t> reading_order(const IotaStage& stage);
/// The coordinates of a row-major number in a box with these extents.
[[nodiscard]] std::vector<Number> coordinates(Digits& digits, Number number,
                                              const std::vector<Size>& extents);
/// The row-major number of coordinates.
[[nodiscard]] Number row_major(const std::vector<Number>& coordinates);

/// The table of docs/reference/program.md, a rule a function.
///
/// `Self` is the class that has the rules: one rule uses another through it. So a class derived
/// from this one may have a rule of its own in the place of each, and nothing here is virtual.
template <typename Self>
class Rules {
 public:
  Rules() = default;
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  [[nodiscard]] Digits& digits() { return digits_; }

  /// Any element of any device.
  [[nodiscard]] Element any(Size devices, const Shape& tile) {
    Element out{digits_.any(devices), {}};
    for (const Size extent : tile) out.at.push_back(digits_.any(extent));
    return out;
  }
  /// The element at local index 0 of a device.
  [[nodiscard]] Element first(const Number& device, const Shape& tile) {
    Element out{device, {}};
    for (const Size extent : tile) out.at.push_back(digits_.zero(extent));
    return out;
  }

  /// The element before an applicable step of which `after` is a copy; `before`: the tile before.
  [[nodiscard]] Element source(const Step& step, const Shape& before, const Element& after);

  /// The element's global index when the tiles lie as `map` says, one number per dimension.
  [[nodiscard]] std::vector<Number> global(const Layout& map, const Element& element);

  /// The numbers of the tile that a device holds as `map` says, and of its addend.
  [[nodiscard]] std::vector<Number> tile_numbers(const Layout& map, const Number& device);
  [[nodiscard]] Number addend(const Layout& map, const Number& device);

  /// The members that `source` took where a step adds, any of its row, one for every such step since
  /// the last call.
  [[nodiscard]] std::vector<Number> take_members() { return std::exchange(members_, {}); }

  /// Entry of a chain at a position, and the position of an entry.
  [[nodiscard]] Number entry(const IotaChain& chain, const Number& position);
  [[nodiscard]] Number position(const IotaChain& chain, const Number& entry);

  /// The dimensions in which found and expected index are compared.
  [[nodiscard]] std::vector<std::size_t> compared(std::size_t rank) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < rank; ++i) all.push_back(i);
    return all;
  }

  /// Row and position of a device in a table of groups, and the member at a place.
  [[nodiscard]] Place place(const DeviceTable& groups, const Number& device) {
    auto [low, high] = digits_.split(self().position(*groups.chain(), device), groups.columns());
    return {.row = std::move(high), .position = std::move(low)};
  }
  [[nodiscard]] Number member(const DeviceTable& groups, const Place& place) {
    return self().entry(*groups.chain(), Digits::join(place.position, place.row));
  }
  /// An index along a dimension in which tiles of `extent` were concatenated: the index in the
  /// sender's tile, and the sender's position.
  [[nodiscard]] std::pair<Number, Number> sender(const Number& at, Size extent) {
    return digits_.split(at, extent);
  }
  /// The index in the whole tile of index `at` of piece number `piece`.
  [[nodiscard]] Number whole(const Number& at, const Number& piece) {
    return Digits::join(at, piece);
  }
  /// The device whose tile `device` gets.
  [[nodiscard]] Number permuted(const DeviceTable& source, const Number& device) {
    return self().entry(*source.chain(), device);
  }
  /// The piece that a device keeps, by its place in a group or by a list.
  [[nodiscard]] Number kept(const KeptPieces& pieces, const Number& device) {
    return match(
        pieces, [&](const DeviceTable& groups) { return self().place(groups, device).position; },
        [&](const PartList& list) { return self().entry(*list.part.chain(), device); });
  }
  /// The number of a tile along a dimension: digits of the device number, minor to major.
  [[nodiscard]] Number tile_number(const std::vector<Digit>& digits, const Number& device) {
    Number out;
    for (const Digit& digit : digits) {
      const Number above = digits_.split(device, digit.stride).second;
      out = Digits::join(out, digits_.split(above, digit.size).first);
    }
    return out;
  }

 protected:
  ~Rules() = default;

  Digits digits_;
  std::vector<Number> members_;

 private:
  [[nodiscard]] Self& self() { return static_cast<Self&>(*this); }
};

/// The rules as they are.
class Encoder final : public Rules<Encoder> {};

template <typename Self>
Number Rules<Self>::entry(const IotaChain& chain, const Number& position) {
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

template <typename Self>
Number Rules<Self>::position(const IotaChain& chain, const Number& entry) {
  Number number = entry;
  for (const IotaStage& stage : chain.stages()) {
    const std::vector<Number> before = coordinates(digits_, number, stage.shape);
    std::vector<Number> read;
    for (const std::size_t old : reading_order(stage)) read.push_back(before[old]);
    number = row_major(read);
  }
  return number;
}

template <typename Self>
Element Rules<Self>::source(const Step& step, const Shape& before, const Element& after) {
  Element out = after;
  const OpFacts facts = facts_of(step.op);
  if (facts.sources != nullptr) {
    out.device = self().permuted(std::get<DeviceTable>(*facts.sources), after.device);
    return out;
  }
  if (facts.pieces != nullptr) {
    Number& at = out.at[facts.cuts.front()];
    at = self().whole(at, self().kept(*facts.pieces, after.device));
    return out;
  }
  RETILE_ASSERT(facts.groups != nullptr, "a regular Program has no exchange");
  const Place own = self().place(*facts.groups, after.device);
  Number from;
  if (facts.add) {
    from = members_.emplace_back(digits_.any(facts.groups->columns()));
  } else {
    Number& joined = out.at[facts.joins.front()];
    auto sent = self().sender(joined, moved_extent(facts, before, facts.joins.front()));
    joined = std::move(sent.first);
    from = std::move(sent.second);
  }
  for (const std::size_t dim : facts.cuts) out.at[dim] = self().whole(out.at[dim], own.position);
  out.device = self().member(*facts.groups, {own.row, from});
  return out;
}

template <typename Self>
std::vector<Number> Rules<Self>::tile_numbers(const Layout& map, const Number& device) {
  const Number place = self().position(map.order(), device);
  std::vector<Number> out;
  for (const auto& digits : map.digits()) out.push_back(self().tile_number(digits, place));
  return out;
}

template <typename Self>
std::vector<Number> Rules<Self>::global(const Layout& map, const Element& element) {
  std::vector<Number> out = self().tile_numbers(map, element.device);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = Digits::join(element.at[i], out[i]);
  return out;
}

template <typename Self>
Number Rules<Self>::addend(const Layout& map, const Number& device) {
  const TileMap numbers = addend_numbers(map);
  return self().tile_number(numbers.digits().front(), self().position(numbers.order(), device));
}

extern template class Rules<Encoder>;

}  // namespace retile::symbolic
