// The simulator: runs a Program on all devices in one process, with real bytes. Slow and simple;
// the reference for mpi and cuda.
#pragma once

#include <cstddef>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile::sim {

/// One buffer per device: a tile in C order, elements of `element_bytes` bytes.
using Tiles = std::vector<std::vector<std::byte>>;

/// What a run did, besides the result.
struct Outcome {
  Tiles tiles;              ///< what each device holds at the end
  Size received_bytes = 0;  ///< most bytes that one device received from others
  Size peak_bytes_per_device =
      0;  ///< largest tile before + tile after over all steps and devices, in bytes
};

/// Applies every step to `tiles`.
/// \param tiles  program.devices buffers, each of its tile's bytes
/// \error as tile_shapes(); bad_argument (buffers or element size do not fit); unsupported (a Program
///     with addends: bytes alone cannot be added)
[[nodiscard]] Result<Outcome> run(const Program& program, Tiles tiles, Size element_bytes);
/// The same of elements of a type, for any Program: what is added, is added in the order of
/// add/order.h.
/// \error as there; unsupported (as Adder::make)
[[nodiscard]] Result<Outcome> run(const Program& program, Tiles tiles, const ElementType& type);

}  // namespace retile::sim
