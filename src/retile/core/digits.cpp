#include "retile/core/digits.h"

#include <algorithm>
#include <numeric>

#include "retile/core/assert.h"

namespace retile {

std::vector<Digit> joined(const std::vector<Digit>& digits) {
  std::vector<Digit> out;
  for (const Digit& digit : digits) {
    if (digit.size == 1) continue;
    if (!out.empty() && out.back().stride * out.back().size == digit.stride) {
      out.back().size *= digit.size;
    } else {
      out.push_back(digit);
    }
  }
  return out;
}

std::optional<std::vector<Digit>> take_minor(std::vector<Digit>& digits, Size n) {
  std::vector<Digit> out;
  while (n > 1) {
    if (digits.empty()) return std::nullopt;
    Digit& first = digits.front();
    const Size take = std::min(first.size, n);
    if (first.size % take != 0 || n % take != 0) return std::nullopt;
    out.push_back({first.stride, take});
    first = {first.stride * take, first.size / take};
    n /= take;
    if (first.size == 1) digits.erase(digits.begin());
  }
  return out;
}

std::vector<Digit> take_any(std::vector<Digit>& digits, Size n) {
  std::vector<Digit> out;
  for (Digit& digit : digits) {
    const Size part = std::gcd(n, digit.size);
    if (part == 1) continue;
    out.push_back({digit.stride, part});
    digit = {digit.stride * part, digit.size / part};
    n /= part;
  }
  RETILE_ASSERT(n == 1, "there are digits of the product that is taken");
  return out;
}

std::vector<Digit> without(const std::vector<Digit>& digits, const Digit& taken) {
  std::vector<Digit> out;
  const Size top = taken.stride * taken.size;
  for (const Digit& digit : digits) {
    const Size end = digit.stride * digit.size;
    if (end <= taken.stride || top <= digit.stride) {
      out.push_back(digit);
      continue;
    }
    if (digit.stride < taken.stride) out.push_back({digit.stride, taken.stride / digit.stride});
    if (top < end) out.push_back({top, end / top});
  }
  return out;
}

std::optional<std::vector<Digit>> common_factors(Size count, const std::vector<Digit>& digits) {
  std::vector<Size> bounds = {1, count};
  for (const Digit& digit : digits) {
    bounds.push_back(digit.stride);
    bounds.push_back(digit.stride * digit.size);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<Digit> out;
  for (std::size_t k = bounds.size() - 1; k > 0; --k) {
    if (bounds[k] % bounds[k - 1] != 0) return std::nullopt;
    out.push_back({bounds[k - 1], bounds[k] / bounds[k - 1]});
  }
  return out;
}

}  // namespace retile
