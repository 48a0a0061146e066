// What users call the devices of a group: process groups and meshes are of any ranks of a job.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "retile/core/size.h"

namespace retile {

/// The numbers of D devices. In all else that we say of them they are 0..D-1, in the order of this list:
/// so a group is planned, checked and proved as any other of its size.
class DeviceNumbers {
 public:
  /// Devices are called as they are counted.
  DeviceNumbers() = default;
  /// Precondition: distinct, each at least 0. A list of 0..D-1 in order is none.
  explicit DeviceNumbers(std::vector<Size> list);

  /// Whether devices have other numbers than those that they are counted by.
  [[nodiscard]] bool are_listed() const { return !list_.empty(); }
  /// Empty: none are listed.
  [[nodiscard]] const std::vector<Size>& list() const { return list_; }
  [[nodiscard]] Size of(Size device) const {
    return list_.empty() ? device : list_[static_cast<std::size_t>(device)];
  }
  /// The place of the device that is called so; of none nothing, where they are listed.
  [[nodiscard]] std::optional<Size> place_of(Size number) const;
  /// The place of the device of the least number, and so on: where process p, of processes as they are
  /// ranked, is to stand. Empty: where it is.
  [[nodiscard]] std::vector<Size> places_by_number() const;
  /// `4..7`, or `[0,2,4,6]`. Precondition: listed.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const DeviceNumbers&, const DeviceNumbers&) = default;

 private:
  std::vector<Size> list_;
};

/// 0, 1, .., count - 1: devices as they are counted.
[[nodiscard]] std::vector<Size> from_zero(Size count);

/// The place of each number in a list of distinct ones.
[[nodiscard]] std::unordered_map<Size, Size> places_in(const std::vector<Size>& list);

}  // namespace retile
