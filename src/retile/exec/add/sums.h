// What every element of the end is a sum of: all steps of a Program as one, for who has all tiles of
// the start at hand and so needs none between.
//
// A sum is written down as the steps make it: in their order and with their brackets. Who adds it up
// as it is written gets the bytes that the steps give.
#pragma once

#include <compare>
#include <limits>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/program.h"
#include "retile/program/tile_shapes.h"

namespace retile::add {

/// A part of a sum that is written with its plus behind what it adds: `a b + c +` is (a + b) + c.
struct Term {
  static constexpr Size neutral = -1;  ///< in the place of a device: what changes nothing
  static constexpr Size plus = -2;     ///< adds what is before it to what is before that

  Size device = 0;   ///< whose tile of the start the element lies in
  Size element = 0;  ///< its number there, of the first element of the box
  [[nodiscard]] bool is_element() const { return device >= 0; }
  friend auto operator<=>(const Term&, const Term&) = default;
};

/// A box of elements, all of one sum.
struct SumBox {
  Shape shape;
  std::vector<Term> terms;
  /// Where it belongs: a device and the number of the first element in its tile of the end.
  std::vector<Term> targets;
};

/// The boxes are disjoint, and fill the tiles of the end. No box is for two places of one device.
struct Sums {
  std::vector<SumBox> boxes;
  Size devices = 0;
  Size making_bytes = 0;  ///< most that was held while they were made, at least what they hold
};

/// \param shapes  tile_shapes() of the Program
/// \param most_bytes  that may be held while they are made
/// \error limit_reached
[[nodiscard]] Result<Sums> sums_of(const Program& program, const std::vector<DeviceShapes>& shapes,
                                   Size most_bytes = Size{512} << 20);

}  // namespace retile::add
