#include "copy_limit.h"

#include <algorithm>
#include <cstdint>

#include "retile/core/assert.h"
#include "retile/exec/copy/kernels.h"

namespace retile::copy {

void copy_limit(std::byte* target, const std::byte* source, Size bytes, Size streams) {
  constexpr Size page_bytes = 4096;
  constexpr Size piece_bytes = 256;
  RETILE_ASSERT(bytes % line_bytes == 0 && streams >= 1 && aligned(target, line_bytes),
                "the copy limit is one of whole lines");
  const Kernels& kernel = kernels();
  for (Size base = 0; base < bytes; base += streams * page_bytes) {
    for (Size offset = 0; offset < page_bytes; offset += piece_bytes) {
      for (Size stream = 0; stream < streams; ++stream) {
        const Size at = base + stream * page_bytes + offset;
        if (at >= bytes) break;
        kernel.lines(target + at, source + at, std::min(piece_bytes, bytes - at));
      }
    }
  }
  kernel.fence();
}

}  // namespace retile::copy
