#include "primes.h"

#include <algorithm>
#include <array>

#include "modular.h"

namespace retile::spmd {

namespace {

/// One round of Miller and Rabin: number - 1 = odd 2^twos.
bool passes(const Modular& field, std::uint64_t base, std::uint64_t odd, int twos) {
  const auto one = field.from(1);
  const auto minus_one = field.sub(field.from(0), one);
  auto power = field.power(field.from(static_cast<Size>(base)), odd);
  if (power == one || power == minus_one) return true;
  for (int k = 1; k < twos; ++k) {
    power = field.mul(power, power);
    if (power == minus_one) return true;
  }
  return false;
}

}  // namespace

bool is_prime(std::uint64_t number) {
  // These bases decide all numbers below 3 * 10^24 (Sorenson and Webster 2017).
  static constexpr std::array<std::uint64_t, 12> bases = {2,  3,  5,  7,  11, 13,
                                                          17, 19, 23, 29, 31, 37};
  for (const std::uint64_t base : bases) {
    if (number % base == 0) return false;
  }
  const Modular field(number);
  std::uint64_t odd = number - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  return std::all_of(bases.begin(), bases.end(),
                     [&](std::uint64_t base) { return passes(field, base, odd, twos); });
}

std::uint64_t drawn_prime(std::mt19937_64& random) {
  for (;;) {
    const std::uint64_t number = (std::uint64_t{1} << 61U) | (random() >> 3U);
    if (number % 2 == 1 && is_prime(number)) return number;
  }
}

}  // namespace retile::spmd
