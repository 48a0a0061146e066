// What measured figures come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

/// The value below which such a part of them lies.
inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part)];
}

/// The value in the middle; of two in the middle their mean. Precondition: one value at least.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace bench
