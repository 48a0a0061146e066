// Equally long runs from strided to strided places: the innermost loop of everything that copies
// boxes by ordinary stores.
#pragma once

#include <cstddef>
#include <vector>

#include "retile/core/size.h"

namespace retile::copy {

/// A line of the caches, which is what a streaming store writes at once: less costs more than an
/// ordinary store.
inline constexpr Size line_bytes = 64;

/// Run i of `count` goes from source + i * source_stride to target + i * target_stride, all in
/// bytes. No run is written where another is read.
struct Rows {
  std::byte* target = nullptr;
  Size target_stride = 0;
  const std::byte* source = nullptr;
  Size source_stride = 0;
  Size run_bytes = 0;
  Size count = 0;
  Size more = 0;  ///< so many of the same will be written soon after
};

void copy_runs(const Rows& rows);

/// Steps from run to run, in bytes.
struct Loop {
  Size count = 1;
  Size source_stride = 0;
  Size target_stride = 0;
};

/// Takes in the next loop around runs of `run_bytes` and `loops`, the innermost first. As long as a
/// loop continues the one inside it on both sides, they are one.
inline void put_around(Size& run_bytes, std::vector<Loop>& loops, const Loop& next) {
  if (next.count == 1) return;
  if (loops.empty() && next.source_stride == run_bytes && next.target_stride == run_bytes) {
    run_bytes *= next.count;
  } else if (!loops.empty() &&
             next.source_stride == loops.back().source_stride * loops.back().count &&
             next.target_stride == loops.back().target_stride * loops.back().count) {
    loops.back().count *= next.count;
  } else {
    loops.push_back(next);
  }
}

/// Asks for the first KiB of `bytes` that will be read soon, where no processor would foresee it.
inline void fetch(const std::byte* source, Size bytes) {
  constexpr Size most = 1024;
  for (Size at = 0; at < bytes && at < most; at += line_bytes) __builtin_prefetch(source + at);
}

}  // namespace retile::copy
