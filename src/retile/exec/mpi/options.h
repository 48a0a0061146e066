// How the MPI executor may use memory.
#pragma once

#include "retile/core/size.h"

namespace retile::mpi {

/// The same on all processes. Small values are slow, never wrong.
struct Options {
  /// Most bytes of the buffers through which tiles are packed and unpacked; 2 * n elements (n:
  /// largest group) are always allowed. >= 1.
  Size chunk_bytes = Size{8} << 20;
  /// Most bytes that one process sends or receives in one MPI call made without such a buffer;
  /// larger ones are split. 1 <= message_bytes <= 2^30; one element per process is always allowed.
  Size message_bytes = Size{1} << 30;
};

}  // namespace retile::mpi
