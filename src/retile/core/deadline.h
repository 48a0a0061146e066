// When somebody who was given limited time must stop.
#pragma once

#include <chrono>
#include <cmath>
#include <limits>

#include "retile/core/size.h"

namespace retile {

/// A point in time, or never.
class Deadline {
 public:
  /// Never.
  Deadline() = default;
  /// So many seconds from now; never for infinity and for more than a century, at once for 0 and
  /// less.
  [[nodiscard]] static Deadline in(double seconds) {
    constexpr double century = 3.2e9;
    Deadline out;
    if (std::isnan(seconds) || seconds > century) return out;
    out.never_ = false;
    out.at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(seconds > 0 ? seconds : 0));
    return out;
  }

  [[nodiscard]] bool passed() const { return !never_ && Clock::now() >= at_; }
  /// Until then; infinity when it never comes, 0 when it has passed.
  [[nodiscard]] double seconds_left() const {
    if (never_) return std::numeric_limits<double>::infinity();
    const std::chrono::duration<double> left = at_ - Clock::now();
    return left.count() > 0 ? left.count() : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool never_ = true;
  Clock::time_point at_;
};

/// Looks at a deadline now and then, for loops whose rounds are too short to look every time.
class Watch {
 public:
  explicit Watch(const Deadline& deadline) : deadline_(deadline) {}

  /// Counts work, in steps of about a nanosecond. False once the deadline has passed; it is looked
  /// at every millisecond of work.
  [[nodiscard]] bool in_time(Size work = 1) {
    if (passed_) return false;
    left_ -= work;
    if (left_ > 0) return true;
    left_ = between_looks;
    passed_ = deadline_.passed();
    return !passed_;
  }

 private:
  static constexpr Size between_looks = Size{1} << 20;

  Deadline deadline_;
  Size left_ = 0;
  bool passed_ = false;
};

}  // namespace retile
