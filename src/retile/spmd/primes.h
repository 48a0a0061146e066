// Primes that are drawn, so that nobody knows them when a module is written. Room-internal.
#pragma once

#include <cstdint>
#include <random>

namespace retile::spmd {

/// Whether an odd number above 40 and below 2^62 is a prime.
[[nodiscard]] bool is_prime(std::uint64_t number);

/// One of all primes between 2^61 and 2^62, each as likely as the others. They are more than 2^54: by
/// Rosser and Schoenfeld (1962) there are more than 3 x / (5 ln x) between x and 2 x.
[[nodiscard]] std::uint64_t drawn_prime(std::mt19937_64& random);

}  // namespace retile::spmd
