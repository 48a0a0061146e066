// SHA-512, which makes the state of a Drawing of a text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retile::problems {

/// The digest of a text, its first byte first. FIPS 180-4.
[[nodiscard]] std::array<std::uint8_t, 64> sha512(std::string_view text);

}  // namespace retile::problems
