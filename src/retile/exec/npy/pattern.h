// The generated array: every element's bytes follow from its global index, so that each process can
// verify its tile alone.
//
// An element's bytes are the low bytes of splitmix64(linear global index), least significant first,
// moved as bytes. A 16-byte element is followed by the 8 bytes of splitmix64(index ^
// pattern_second_half). Linear indices count in C order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/exec/npy/splitmix.h"

namespace retile {

/// The bytes of the element with linear global index `index`; the first `element_bytes` of them
/// count.
[[nodiscard]] std::array<std::byte, 16> pattern_element(Size index);

/// Writes the tile that `device` holds. Preconditions (asserted): element_bytes is 1, 2, 4, 8 or
/// 16, and `tile` has the bytes of the device's box. Streams through the tile's runs;
/// allocates nothing of the tile's size.
void fill_pattern(const Layout& map, Size device, Size element_bytes, std::span<std::byte> tile);

/// Compares every element of the tile that `device` should hold. Preconditions as above.
/// Returns the local linear index of the first element that differs, or nothing.
[[nodiscard]] std::optional<Size> find_pattern_mismatch(const Layout& map, Size device,
                                                        Size element_bytes,
                                                        std::span<const std::byte> tile);

}  // namespace retile
