// Base offsets as weighted sums of digits of the device number: what the planner's Programs keep,
// step by step, in a size that does not grow with the devices. Private to this room.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/layout.h"
#include "retile/program/op_facts.h"

namespace retile {

/// One base offset per device: in dimension k the sum over the digits of weight[k] * digit.
///
/// Two such sums are the same function iff their weights agree, as every digit is 1 for some device
/// that has no other. What cannot be said like this is refused, and nothing has changed then.
/// Running example: [3{x}12, 2{y}12] over x:4,y:6 has the digits 1:6 with weights 0,2 and 6:4 with
/// weights 3,0.
class DigitWeights {
 public:
  /// Of a compact map, nothing for the others.
  [[nodiscard]] static std::optional<DigitWeights> of(const Layout& map);

  // Applicable steps on tables. False, and the same function as before, when a table is no one
  // stage of an iota whose digits fit, or when devices of a group do not hold neighbours in order.

  [[nodiscard]] bool slice(const DeviceTable& groups, std::size_t dim, Size width);
  [[nodiscard]] bool exchange(const DeviceTable& groups, const Regroup& what);
  [[nodiscard]] bool permute(const DeviceTable& source);

  /// Whether both are the same function. Nothing when their digits do not fit.
  [[nodiscard]] std::optional<bool> equal(DigitWeights other) const;

  /// The base offset of one device in one dimension.
  [[nodiscard]] Size base_offset(Size device, std::size_t dim) const;

  /// The base offsets of all devices, one vector per dimension.
  [[nodiscard]] std::vector<std::vector<Size>> columns() const;
  /// How many numbers that is.
  [[nodiscard]] Size numbers() const { return static_cast<Size>(digits_.size() * (rank_ + 2)); }

 private:
  /// Larger than 1. All of them, minor to major, make up the device number.
  struct WeightedDigit {
    Size stride = 1;
    Size size = 1;
    Shape weight;
  };
  /// A digit of positions in a table: position = sum of value * digit.
  struct Place {
    std::size_t digit = 0;  ///< which one of the device that stands there
    Size value = 1;
  };

  /// Makes `number` the stride of a digit (or all devices) by cutting one in two; false if it does
  /// not fit.
  [[nodiscard]] bool cut(Size number);
  /// Minor to major. Digits are cut so that rows end between them.
  [[nodiscard]] std::optional<std::vector<Place>> places(const DeviceTable& table, Size row);

  Size devices_ = 1;
  std::size_t rank_ = 0;
  std::vector<WeightedDigit> digits_;
};

}  // namespace retile
