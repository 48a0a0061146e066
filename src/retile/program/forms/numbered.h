// Devices by the numbers that a Program calls them. Private to the forms.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "drafts.h"
#include "retile/core/device_numbers.h"
#include "retile/program/ops.h"

namespace retile::forms {

/// The devices of a Program, for who reads their numbers.
class Devices {
 public:
  explicit Devices(Size count, DeviceNumbers numbers = {})
      : count_(count), places_(places_in(numbers.list())), numbers_(std::move(numbers)) {}

  [[nodiscard]] Size count() const { return count_; }
  /// Fails unless a device is called so; it is number `k` among those at `place`.
  [[nodiscard]] Size called(Size number, const Place& place, std::size_t k) const;
  void take_numbers(std::vector<Size>& numbers, const Place& place) const;

 private:
  Size count_;
  std::unordered_map<Size, Size> places_;
  DeviceNumbers numbers_;
};

/// Hands keys on to another sink, and calls the devices that they list by their numbers.
void write_keys(const Op& op, const DeviceNumbers& numbers, KeySink& sink);

}  // namespace retile::forms
