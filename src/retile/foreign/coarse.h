// A function on tiles of strips instead of elements. Room-internal.
//
// Where no operation cuts a strip (strips.h), it moves as one element does. So a function is evaluated as
// one of an array in which every box of strips is one element; docs/dev/strips.md says why nothing is lost.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/module.h"
#include "retile/foreign/strips.h"

namespace retile::foreign {

/// What a place of a coarse tile is, in the tile and in the array.
struct Coarse {
  Function
      function;  ///< with coarse extents, and the same values and operations; others stand behind
  Start start;
  Strips strips;
  std::vector<std::vector<DimId>> dims;  ///< of every value
  std::vector<DimId> array;              ///< of the array
};

/// A function on strips. Nothing where these are too many, or where strips of one value follow each other
/// along different dimensions of the array.
/// \param to  the end, whose boxes the result is cut at
/// \param most_work  as Strips::close()
/// Preconditions: as judge()
[[nodiscard]] std::optional<Coarse> coarsened(const Function& function, const Layout& from,
                                              const Layout& to, std::size_t most_work);

/// A step along a digit of a tile, as far as places are apart there; none without a digit.
struct CoarseStep {
  std::optional<DigitId> digit = {};
  Shape place = {};
};

/// The places of one coarse value.
class CoarsePlaces {
 public:
  CoarsePlaces(const Coarse& coarse, ValueId value);

  /// How many places are left of a box at the beginning of the tile. Precondition: it is cut there.
  [[nodiscard]] Shape left_of(const Shape& extents) const;
  /// The first place of the tile in one that is left.
  [[nodiscard]] Shape first(const Shape& left) const;
  /// How many places of the tile are in one that is left.
  [[nodiscard]] Size size(const Shape& left) const;
  /// The extents of the coarse array.
  [[nodiscard]] const Shape& array() const { return coarse_.start.global; }
  /// The element of the array that is in a place that is left after a step from its first one.
  [[nodiscard]] Shape element(const Shape& coarse_element, const CoarseStep& step = {}) const;
  /// How many elements are in one of the coarse array.
  [[nodiscard]] Size element_size(const Shape& coarse_element) const;

  /// The shortest step inside of one that is left, after which the element is not as far on as the place;
  /// nothing where it always is.
  [[nodiscard]] std::optional<CoarseStep> step_aside(const Shape& left,
                                                     const Shape& coarse_element) const;

 private:
  [[nodiscard]] std::optional<DigitId> array_digit(DigitId digit) const;

  const Coarse& coarse_;
  const std::vector<DimId>& dims_;
};

}  // namespace retile::foreign
