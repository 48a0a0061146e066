// Equally long runs from strided to strided places: the innermost loop of everything that copies
// boxes by ordinary stores.
#pragma once

#include <cstddef>

#include "retile/core/size.h"

namespace retile::copy {

/// A line of the caches, which is what a streaming store writes at once: less costs more than an
/// ordinary store.
inline constexpr Size line_bytes = 64;

/// Run i of `count` goes from source + i * source_stride to target + i * target_stride, all in
/// bytes. No run is written where another is read. Runs of up to 64 bytes are loads and stores.
void copy_runs(std::byte* target, Size target_stride, const std::byte* source, Size source_stride,
               Size run_bytes, Size count);

/// Asks for the first KiB of `bytes` that will be read soon, where no processor would foresee it.
inline void fetch(const std::byte* source, Size bytes) {
  constexpr Size most = 1024;
  for (Size at = 0; at < bytes && at < most; at += line_bytes) __builtin_prefetch(source + at);
}

}  // namespace retile::copy
