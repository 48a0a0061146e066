// The steps of Programs as C: what a program of MPI calls has to have, and a call for each step.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile::emit {

/// The functions that calls need, in a C program that has `element`, its MPI type ELEMENT, and RANK, the
/// number of dimensions of every array; they define `rank`, this process's number.
[[nodiscard]] std::string_view c_helpers();

/// `MPI_SUM` and others.
[[nodiscard]] std::string_view c_operation(Addition addition);

/// The shape in front of which there are as many more numbers as RANK asks for.
[[nodiscard]] Shape with_rank(const Shape& shape, std::size_t rank, Size number);

/// What calls are made of.
struct CNames {
  std::string_view tile;        ///< the variable of the tile, which a call reads and replaces
  std::string_view from_shape;  ///< of an exchange: `int64_t` arrays of the tile's extents before
  std::string_view to_shape;    ///< and after it
  std::size_t rank = 1;         ///< RANK, at least the Program's own and 1
};

/// A line for each step, `tile = allgather(tile, ..);`.
/// \error unsupported: tiles that are not all alike, steps along several dimensions, an exchange between
///     other steps; limit_reached: more devices than are listed, or more elements than MPI counts
[[nodiscard]] Result<std::string> c_steps(const Program& program, const CNames& names);

}  // namespace retile::emit
