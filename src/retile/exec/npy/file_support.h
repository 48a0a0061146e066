// What reading and writing files share. Not a public header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "retile/core/hash.h"

namespace retile::detail {

/// The system's words for an error number.
[[nodiscard]] std::string error_text(int error_number);

/// hash_bytes() of a number as it lies in memory.
[[nodiscard]] inline std::uint64_t hash_number(std::uint64_t hash, std::uint64_t number) {
  return hash_bytes(hash, std::as_bytes(std::span(&number, 1)));
}

}  // namespace retile::detail
