// The reference that every way of moving bytes is measured against.
#pragma once

#include <cstddef>

#include "retile/core/size.h"

namespace retile::copy {

/// Copies a tile as fast as memory lets through when all processes do so at once: streaming stores,
/// dealt out in pieces of 256 bytes over `streams` neighbouring pages of 4 KiB at a time.
///
/// Ends with the store fence. `bytes` is a multiple of 64 and `target` aligned to 64 bytes.
/// With one stream the copy goes straight through. Which of the two is the harder reference
/// depends on the machine, so benchmarks report both; the limit of the tables is four.
void copy_limit(std::byte* target, const std::byte* source, Size bytes, Size streams = 4);

}  // namespace retile::copy
