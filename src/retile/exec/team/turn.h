// Turning a matrix of runs where it lies.
#pragma once

#include <cstddef>
#include <span>

#include "retile/core/size.h"

namespace retile::team {

/// What turning may write to besides the data. More is faster; any size is right.
struct Scratch {
  std::span<std::byte> panel;  ///< at least one row of a panel; ideally half a level-2 cache
  std::span<std::byte> marks;  ///< a bit per block; with fewer, cycles are found by walking them
};

/// [rows][columns] becomes [columns][rows], both in C order, elements being runs of `run_bytes`.
///
/// Two passes over the data: whole blocks of several runs follow the cycles of their permutation,
/// then every panel of blocks is turned through the scratch. One pass when a run is as large as a
/// block may be, or when the matrix fits the scratch. No memory beyond the scratch, whatever the
/// sizes. Preconditions: all >= 1, rows * columns * run_bytes < 2^63, a panel of at least one byte.
void turn(std::byte* data, Size rows, Size columns, Size run_bytes, const Scratch& scratch);

/// The same out of place: run [c][r] of the target is run [r][c] of the source. They do not
/// overlap.
void turn_into(std::byte* target, const std::byte* source, Size rows, Size columns, Size run_bytes);

/// How wide a panel of `rows` rows should be: the largest divisor of `columns` with which it fits
/// `panel_bytes`, or 1.
[[nodiscard]] Size panel_columns(Size rows, Size columns, Size run_bytes, Size panel_bytes);

}  // namespace retile::team
