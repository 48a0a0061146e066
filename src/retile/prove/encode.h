// What a Program does, followed backwards: from an element of a device after a step to the element
// of a device before it, for any device and any local index at once.
//
// The rules are the table of docs/program.md. They are virtual so that tests can put a wrong one in
// the place of each and see it caught.
#pragma once

#include <utility>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/layout.h"
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

class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  virtual ~Encoder() = default;

  [[nodiscard]] Digits& digits() { return digits_; }

  /// Any element of any device.
  [[nodiscard]] virtual Element any(Size devices, const Shape& tile);
  /// The element at local index 0 of a device.
  [[nodiscard]] Element first(const Number& device, const Shape& tile);

  /// The element before an applicable step of which `after` is a copy; `before`: the tile before.
  [[nodiscard]] Element source(const Step& step, const Shape& before, const Element& after);

  /// The element's global index when the tiles lie as `map` says, one number per dimension.
  [[nodiscard]] std::vector<Number> global(const Layout& map, const Element& element);

  /// Entry of a chain at a position, and the position of an entry.
  [[nodiscard]] virtual Number entry(const IotaChain& chain, const Number& position);
  [[nodiscard]] virtual Number position(const IotaChain& chain, const Number& entry);

  /// The dimensions in which found and expected index are compared.
  [[nodiscard]] virtual std::vector<std::size_t> compared(std::size_t rank) const;

 protected:
  /// Row and position of a device in a table of groups, and the member at a place.
  [[nodiscard]] virtual Place place(const DeviceTable& groups, const Number& device);
  [[nodiscard]] virtual Number member(const DeviceTable& groups, const Place& place);
  /// An index along a dimension in which tiles of `extent` were concatenated: the index in the
  /// sender's tile, and the sender's position.
  [[nodiscard]] virtual std::pair<Number, Number> sender(const Number& at, Size extent);
  /// The index in the whole tile of index `at` of piece number `piece`.
  [[nodiscard]] virtual Number whole(const Number& at, const Number& piece);
  /// The device whose tile `device` gets.
  [[nodiscard]] virtual Number permuted(const DeviceTable& source, const Number& device);
  /// The piece that a device keeps, by its place in a group or by a list.
  [[nodiscard]] virtual Number kept(const Dynslice& step, const Number& device);
  /// Dimension along which tiles are cut, and along which they are concatenated.
  [[nodiscard]] virtual std::pair<std::size_t, std::size_t> dimensions(const Regroup& step) const;
  /// The number of a tile along a dimension: digits of the device number, minor to major.
  [[nodiscard]] virtual Number tile_number(const std::vector<Digit>& digits, const Number& device);

  Digits digits_;
};

}  // namespace retile::symbolic
