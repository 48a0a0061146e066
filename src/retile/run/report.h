// What a run did.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile::run {

/// The first element found wrong, on the lowest device that has one.
struct Mismatch {
  Size device = 0;
  Size local_index = 0;  ///< linear, in the device's tile
  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// The same on all processes, but for the reasons, which are those of each one's executor. Fields as
/// in the JSON form `retile.run/1`.
struct Report {
  bool right = false;
  std::string way;                   ///< how the data went; empty where there is but one way
  std::vector<std::string> reasons;  ///< why that way, a line each
  Size processes = 0;                ///< devices of the Program
  Size repetitions = 0;
  Size element_bytes = 0;
  Size elements_checked = 0;  ///< summed over processes
  /// Median over repetitions of the slowest process, between barriers, of moving alone.
  double seconds = 0;
  Size bytes_per_process = 0;       ///< most received from others by one, per repetition
  Size peak_bytes_per_process = 0;  ///< largest sum of live buffers
  Size peak_limit_bytes = 0;        ///< what that cannot exceed
  Size resident_bytes = 0;          ///< most of one step, tiles before and after together
  Size bound_bytes = 0;             ///< the larger of the two end tiles
  std::optional<Mismatch> mismatch;
};

/// Most elements that a device holds in one step, tile before and tile after together; a dynslice
/// counts the larger alone, as does a Program without steps. Nothing where that does not fit in 63
/// bits, or a step cannot be applied.
[[nodiscard]] std::optional<Size> resident_elements(const Program& program);

/// The number in the middle, or between the two in the middle. Precondition: not empty.
[[nodiscard]] double median(std::vector<double> numbers);

}  // namespace retile::run
