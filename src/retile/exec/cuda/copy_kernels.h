// The kernels as functions of plain numbers: all that the rest sees of what nvcc compiles.
#pragma once

#include <cstdint>

#include "retile/exec/cuda/box_math.h"
#include "retile/exec/cuda/pattern_math.h"

namespace retile::cuda {

/// What a tile without a mismatch leaves in the place for the first.
inline constexpr std::uint64_t no_mismatch = ~std::uint64_t{0};

/// Whether the device can run these kernels. Returns a cudaError_t as a number.
int find_kernels();

// Each puts one kernel into a stream (a cudaStream_t) and returns a cudaError_t as a number.

/// Precondition: portions.
int launch_copy(const Batch& batch, void* stream);

/// \param blocks  how many run at once; they share the elements among them
int launch_fill(const PatternTile& tile, void* memory, unsigned blocks, void* stream);

/// Lowers *first, which begins as no_mismatch, to the number of the first element that differs.
int launch_find_mismatch(const PatternTile& tile, const void* memory, std::uint64_t* first,
                         unsigned blocks, void* stream);

}  // namespace retile::cuda
