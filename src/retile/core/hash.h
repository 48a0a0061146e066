// A hash that tells things apart that could be mistaken for each other; no defence against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace retile {

/// Where a hash begins. FNV-1a, 64 bits.
inline constexpr std::uint64_t hash_start = 0xcbf29ce484222325U;
inline constexpr std::uint64_t hash_prime = 0x100000001b3U;

/// `hash` with these bytes behind what it has seen.
[[nodiscard]] inline std::uint64_t hash_bytes(std::uint64_t hash,
                                              std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * hash_prime;
  }
  return hash;
}

/// `hash` with a number behind what it has seen: one step, where its bytes would take eight.
/// Products carry differences upwards only, so some are brought down again.
[[nodiscard]] inline std::uint64_t hash_number(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * hash_prime;
  return hash ^ hash >> 29;
}

}  // namespace retile
