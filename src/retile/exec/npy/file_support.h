// What reading and writing files share. Not a public header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace retile::detail {

/// The system's words for an error number.
[[nodiscard]] std::string error_text(int error_number);

// FNV-1a, 64 bits: tells files apart that could be mistaken for each other; no defence against
// malice.
inline constexpr std::uint64_t hash_start = 0xcbf29ce484222325U;

[[nodiscard]] inline std::uint64_t hash_bytes(std::uint64_t hash,
                                              std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

[[nodiscard]] inline std::uint64_t hash_number(std::uint64_t hash, std::uint64_t number) {
  return hash_bytes(hash, std::as_bytes(std::span(&number, 1)));
}

}  // namespace retile::detail
