// What the devices hold of a value beside what a layout says that they hold.
#pragma once

#include <optional>

#include "retile/core/layout.h"
#include "retile/foreign/coarse.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/judge.h"

namespace retile::foreign {

/// What sums of addends are divided by, where the array is their average: at the start, and where they are
/// compared.
struct Divisors {
  Size from = 1;
  Size claim = 1;
};

/// The first place where a value of tiles of these extents is not what `claim` says, of an array that
/// began as `from`. As docs/reference/program.md says it of addends; what lies behind the boxes is not looked at.
/// \param places  where state and type are those of a coarse function: what they are in the array; the
///     place is then one of the whole tile
/// Preconditions: tiles of elements, with place for the boxes; as many devices; one global shape.
/// Throws LimitReached.
[[nodiscard]] std::optional<Mismatch> find_mismatch(const State& state, const TileType& type,
                                                    const Layout& from, const Layout& claim,
                                                    Sums& sums, const Divisors& divisors = {},
                                                    const CoarsePlaces* places = nullptr);

/// The first device of which the own tile of a value is not that of the layout; tiles without elements
/// are alike. Nothing where no device has one.
[[nodiscard]] std::optional<Size> other_tile(const Value& value, const Layout& layout);

/// Whether the devices hold, where `claim` has an element, one of the argument, always the same and each
/// once. Preconditions as above, and without addends at either end.
[[nodiscard]] bool is_rearranged(const State& state, const Shape& extents, const Layout& claim);
/// The same of coarse tiles. Precondition: the claim covers the array once.
[[nodiscard]] bool is_rearranged(const State& state, const Shape& extents, const Layout& claim,
                                 const CoarsePlaces& places);

}  // namespace retile::foreign
