// What is true of a step and what it means, whatever it is called: the second half of the table in ops.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/collective_cost.h"
#include "retile/core/cuts.h"
#include "retile/core/device_table.h"
#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace retile {

/// What is true of a step, whatever it is called. It points into the op, which outlives it.
struct OpFacts {
  CollectiveKind kind{};                    ///< as which it is priced
  std::span<const std::size_t> cuts = {};   ///< dimensions along which tiles are cut
  std::span<const std::size_t> joins = {};  ///< dimensions along which pieces are put together
  const Shape* counts = nullptr;        ///< the grid of a step along several dimensions, or null
  const DeviceTable* groups = nullptr;  ///< or null
  const KeptPieces* pieces = nullptr;   ///< where a device keeps a part of its own tile, else null
  const Sources* sources = nullptr;     ///< where it gets the whole tile of one device, else null
  const std::vector<Transfer>* transfers = nullptr;  ///< where it gets these boxes, else null
  std::optional<PieceSize> piece = {};               ///< the size that the step says of its pieces
  std::optional<Addition> add = {};                  ///< how it adds, if it does

  /// Whether it copies along one dimension at most, by a table: what all replay as numbers.
  [[nodiscard]] bool is_plain() const { return !add && counts == nullptr && transfers == nullptr; }
  /// Whether it is of a form that all who ask for facts take: boxes; whole tiles; or pieces of tiles, put
  /// together along dimensions or added up. The struct of the step decides that, whatever is in it.
  [[nodiscard]] bool is_known() const;
  /// Whether it makes addends of what is held alike: nothing moves, and the rest is zeros.
  [[nodiscard]] bool spreads() const { return add && kind == CollectiveKind::slice; }
};
[[nodiscard]] OpFacts facts_of(const Op& op);

/// Number of pieces or members of a step that has groups or parts; 1 for others. Precondition: applicable.
[[nodiscard]] Size group_size(const OpFacts& facts);

/// Number of members whose elements it adds up, or whose addends it makes; 1 where nothing is added. Precondition:
/// applicable.
[[nodiscard]] Size members_added(const OpFacts& facts);

/// The extent, along a dimension, of what one device gets of another where all tiles have this shape.
/// Precondition: the step is applicable, has a table, and is along one dimension.
[[nodiscard]] Size moved_extent(const OpFacts& facts, const Shape& tile, std::size_t dim);

// ---- What steps mean ----------------------------------------------------------------------------
//
// What the array of a device is made of after an applicable step. The op outlives its meaning.

/// Device d keeps one piece of its own array: `width` elements along `dim`.
struct Keep {
  const KeptPieces* pieces = nullptr;
  std::size_t dim = 0;
  Size width = 1;
};

/// Position q of a row gets piece q (or, without a split, all) of every member's array along
/// `split`, put together along `concat`, `stride` apart. An allgather has width = the whole extent
/// and one piece.
struct Regroup {
  const DeviceTable* groups = nullptr;
  std::size_t split = 0;
  Size width = 1;  ///< extent of a piece along `split`
  std::size_t concat = 0;
  Size stride = 0;      ///< extent of a piece along `concat`
  bool splits = false;  ///< false: all positions get the same array
};

/// Device d gets the array of one device.
struct Fetch {
  const Sources* sources = nullptr;
};

/// Arrays are put together from boxes.
struct Assemble {
  const std::vector<Transfer>* transfers = nullptr;
};

using Meaning = std::variant<Keep, Regroup, Fetch, Assemble>;

/// \param tile  the shape of every tile before the step, which can be applied to it, adds nothing, and
///              is along one dimension
[[nodiscard]] Meaning meaning(const Op& op, const Shape& tile);

}  // namespace retile
