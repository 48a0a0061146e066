#include "retile/core/primes.h"

#include "retile/core/assert.h"

namespace retile {

std::vector<PrimePower> factorize(Size n) {
  RETILE_ASSERT(n >= 1, "only positive numbers have prime factors");
  std::vector<PrimePower> factors;
  const auto divide_out = [&](Size prime) {
    Size exponent = 0;
    while (n % prime == 0) {
      n /= prime;
      ++exponent;
    }
    if (exponent > 0) factors.push_back({prime, exponent});
  };
  divide_out(2);
  divide_out(3);
  // Every other prime is 6k - 1 or 6k + 1. Comparing quotients keeps `candidate` squared out of the
  // arithmetic.
  for (Size candidate = 5; candidate <= n / candidate; candidate += 6) {
    divide_out(candidate);
    divide_out(candidate + 2);
  }
  if (n > 1) factors.push_back({n, 1});
  return factors;
}

}  // namespace retile
