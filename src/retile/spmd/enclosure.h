// Intervals that hold a number, drawn to show that functions differ. Room-internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "tensor.h"

namespace retile::spmd {

/// Arithmetic on intervals whose ends are doubles, moved outwards by more than an operation can round.
/// Two that do not meet hold different numbers. Throws Undecided where a number has no interval: where a
/// divisor may be 0, a root's argument below 0, or a result beyond all doubles.
class Enclosures {
 public:
  struct Value {
    double low = 0;
    double high = 0;
    std::uint64_t id = 0;  ///< the same one: the same number, worked out in the same way
  };

  /// \param magnitudes  of what is drawn, at least one
  explicit Enclosures(std::vector<double> magnitudes) : magnitudes_(std::move(magnitudes)) {}

  [[nodiscard]] static Value from(Size number) {
    const auto near = static_cast<double>(number);
    // Up to 2^53 a double is the number itself.
    const bool is_exact = near >= -0x1p53 && near <= 0x1p53;
    return named(is_exact ? Value{near, near} : around(near, near), 1,
                 static_cast<std::uint64_t>(number));
  }
  [[nodiscard]] static Value add(Value a, Value b) {
    return named(around(a.low + b.low, a.high + b.high), 2, a.id, b.id);
  }
  [[nodiscard]] static Value sub(Value a, Value b) {
    return named(around(a.low - b.high, a.high - b.low), 3, a.id, b.id);
  }
  [[nodiscard]] static Value mul(Value a, Value b) {
    const auto [least, most] =
        std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return named(around(least, most), 4, a.id, b.id);
  }
  [[nodiscard]] static Value div(Value a, Value b) {
    if (b.low <= 0 && b.high >= 0) throw Undecided{"a divisor that may be 0"};
    return named(mul(a, around(1 / b.high, 1 / b.low)), 5, a.id, b.id);
  }
  [[nodiscard]] static Value max(Value a, Value b) {
    // Where it is known which one is larger, that one.
    if (a.low >= b.high) return a;
    if (b.low >= a.high) return b;
    return named({std::max(a.low, b.low), std::max(a.high, b.high)}, 6, a.id, b.id);
  }
  [[nodiscard]] static Value exp(Value a) {
    // The C library's is off by less than one double, which is 2^-52 of it unless it is tiny.
    constexpr double off = 0x1p-49, tiny = 0x1p-1000;
    const double least = std::exp(a.low) * (1 - off), most = std::exp(a.high) * (1 + off);
    return named(around(least < tiny ? 0 : least, std::max(most, tiny)), 7, a.id);
  }
  [[nodiscard]] static Value sqrt(Value a) {
    if (a.low < 0) throw Undecided{"the root of a number that may be below 0"};
    return named(around(std::sqrt(a.low), std::sqrt(a.high)), 8, a.id);
  }

  [[nodiscard]] static Value step(Value a) {
    return named({a.low > 0 ? 1.0 : 0.0, a.high > 0 ? 1.0 : 0.0}, 9, a.id);
  }
  [[nodiscard]] static Value equal(Value a, Value b) {
    const bool are_points = a.low == a.high && b.low == b.high;
    const bool same = (a.id != 0 && a.id == b.id) || (are_points && a.low == b.low);
    return named({same ? 1.0 : 0.0, differ(a, b) ? 0.0 : 1.0}, 10, a.id, b.id);
  }

  /// Of what is drawn as an index, and moved.
  [[nodiscard]] static Size index(Value a) {
    constexpr double most = 0x1p53;
    if (a.low != a.high || !(a.low >= 0 && a.low <= most))
      throw Undecided{"indices of 2^53 and more"};
    return static_cast<Size>(a.low);
  }

  /// Whether the numbers are known to be different.
  [[nodiscard]] static bool differ(Value a, Value b) { return a.high < b.low || b.high < a.low; }

  /// Arrays that are all positive, all negative, or both.
  void begin_family(std::mt19937_64& random) {
    const std::uint64_t signs = random() % 3;
    least_ = signs == 0 ? 0 : -1;
    most_ = signs == 1 ? 0 : 1;
    magnitude_ = magnitudes_[random() % magnitudes_.size()];
  }
  [[nodiscard]] Value drawn(std::mt19937_64& random) const {
    const std::uint64_t id = random();
    const double part = (static_cast<double>(random() % 1021) + 0.5) / 1021;
    const double number = magnitude_ * (least_ + (most_ - least_) * part);
    return {number, number, id};
  }

 private:
  /// What an operation made of operands with these names.
  static Value named(Value value, std::uint64_t operation, std::uint64_t a, std::uint64_t b = 0) {
    const auto mixed = [](std::uint64_t x) {
      x *= 0x9e3779b97f4a7c15U;
      return x ^ (x >> 29U);
    };
    value.id = mixed(mixed(mixed(operation) ^ a) + 1) ^ mixed(b);
    return value;
  }
  /// What a sum, a product, a quotient or a root rounded to nearest is moved outwards.
  static Value around(double low, double high) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Value out = {std::nextafter(low, -infinity), std::nextafter(high, infinity)};
    if (!std::isfinite(out.low) || !std::isfinite(out.high)) {
      throw Undecided{"numbers beyond all doubles"};
    }
    return out;
  }

  std::vector<double> magnitudes_;
  double magnitude_ = 1;
  double least_ = -1;  // times the magnitude
  double most_ = 1;
};

}  // namespace retile::spmd
