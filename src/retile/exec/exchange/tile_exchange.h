// An exchange with the tiles that it is between: what everyone is given who moves one.
#pragma once

#include <cstdint>
#include <optional>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace retile {

/// What is exchanged; the same on all members.
struct TileExchange {
  Exchange exchange;
  Shape in_tile;   ///< every member's tile before
  Shape out_tile;  ///< and after
  Size element_bytes = 0;
  /// Whether the exchange fills the new tiles; else what it does not write is left as it is.
  bool whole = true;

  /// What is wrong with it for that many members, if anything: bad_device, bad_dimension,
  /// bad_argument, size_overflow. Overlaps of boxes are not looked for.
  [[nodiscard]] std::optional<Diagnostic> fault(int members) const;
  /// A number by which members find out that they were given different ones by mistake.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  [[nodiscard]] std::optional<Diagnostic> fault_of_tiles() const;
  [[nodiscard]] std::optional<Diagnostic> fault_of_transfer(std::size_t k, Size members) const;
};

/// Bytes of a tile or of a box. Precondition: they fit.
[[nodiscard]] Size box_bytes(const Shape& shape, Size element_bytes);

}  // namespace retile
