// Steps along several dimensions: where pieces and members stand in their grids.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "retile/core/size.h"
#include "retile/program/op_facts.h"
#include "retile/program/ops.h"
#include "retile/program/program.h"

namespace retile {

/// Whether dimensions lie below the rank and are as many as counts, which are at least 1 and whose
/// product is a size: what readers of Programs guarantee. An allgather cuts along none.
/// Precondition here and below: the step goes along several dimensions.
[[nodiscard]] bool has_grid(const OpFacts& facts, std::size_t rank);

/// Into how many parts the dimensions of an array are cut, or of how many they are put together: the
/// product of the counts of a dimension, 1 where it is not named. Precondition: has_grid.
[[nodiscard]] Shape parts_along(std::span<const std::size_t> dims, const Shape& counts,
                                std::size_t rank);

/// Which of these parts, dimension by dimension, is that of a place in the grid of `counts`.
[[nodiscard]] Shape part_along(std::span<const std::size_t> dims, const Shape& counts,
                               std::size_t rank, Size place);

/// Whether every extent is a multiple of the number of its parts.
[[nodiscard]] bool divides(const Shape& parts, const Shape& tile);

/// The tile of a device after the step; nothing where it is too large.
/// Precondition: the cuts divide the tile.
[[nodiscard]] std::optional<Shape> tile_over(const OpFacts& facts, const Shape& tile);

/// A Program with steps along one dimension each in the place of those along several: it is right if and
/// only if that one is, which is quicker to see of it. What a Program says about steps is about the
/// last of those that stand for one.
struct AlongOneDim {
  Program program;
  Size saved = 0;  ///< so much more its steps cost
};
/// Nothing where there is no step to replace; where tiles are not all alike or addends; where a step does
/// not fit its tiles, or no order of steps along one dimension does what it does.
[[nodiscard]] std::optional<AlongOneDim> along_one_dim(const Program& program);

}  // namespace retile
