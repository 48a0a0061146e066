// What values are worked out in. Room-internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/core/wide.h"
#include "tensor.h"

namespace retile::spmd {

/// Integers of 127 bits, drawn as the constants of a module ask for: near each of them, and from ranges
/// that reach beyond, since what a constant parts lies below it and above.
class Integers {
 public:
  using Value = Int128;

  /// \param magnitudes  of ranges, at least one
  Integers(std::vector<Value> magnitudes, std::vector<Size> constants)
      : magnitudes_(std::move(magnitudes)), constants_(std::move(constants)) {}

  [[nodiscard]] static Value from(Size number) { return number; }
  [[nodiscard]] static Value add(Value a, Value b) {
    Value out = 0;
    if (__builtin_add_overflow(a, b, &out)) fail();
    return out;
  }
  [[nodiscard]] static Value sub(Value a, Value b) {
    Value out = 0;
    if (__builtin_sub_overflow(a, b, &out)) fail();
    return out;
  }
  [[nodiscard]] static Value mul(Value a, Value b) {
    Value out = 0;
    if (__builtin_mul_overflow(a, b, &out)) fail();
    return out;
  }
  [[nodiscard]] static Value max(Value a, Value b) { return std::max(a, b); }
  /// Never asked for: where there are functions, Enclosures are drawn.
  [[nodiscard]] static Value div(Value /*a*/, Value /*b*/) { fail(); }
  [[nodiscard]] static Value exp(Value /*a*/) { fail(); }
  [[nodiscard]] static Value sqrt(Value /*a*/) { fail(); }
  [[nodiscard]] static Value step(Value a) { return a > 0 ? 1 : 0; }
  [[nodiscard]] static Value equal(Value a, Value b) { return a == b ? 1 : 0; }
  [[nodiscard]] static Size index(Value a) { return static_cast<Size>(a); }

  /// Arrays that are all positive, all negative, or near zero tell maxima apart that others do not.
  void begin_family(std::mt19937_64& random) {
    const std::uint64_t signs = random() % 3;
    least_ = signs == 0 ? 0 : -1;
    most_ = signs == 1 ? 0 : 1;
    const std::uint64_t kind = random() % 8;
    is_mixed_ = kind == 0;
    // One number may tell maxima apart, of all those beside constants, so every second family is there.
    is_near_ = kind < 5 && !is_mixed_ && !constants_.empty();
    magnitude_ = drawn_magnitude(random);
  }
  [[nodiscard]] Value drawn(std::mt19937_64& random) {
    if (is_near_) {
      const Value constant = constants_[random() % constants_.size()];
      const Value beside = static_cast<Value>(random() % 5) - 2;
      return (random() % 2 == 0 ? constant : -constant) + beside;
    }
    if (is_mixed_) magnitude_ = drawn_magnitude(random);
    const Value least = least_ * magnitude_;
    const Value high = static_cast<Value>(random() >> 2U) << 64U;
    return least + (high | static_cast<Value>(random())) % (most_ * magnitude_ - least + 1);
  }

 private:
  [[noreturn]] static void fail() { throw Undecided{"numbers of 2^127 and more"}; }
  [[nodiscard]] Value drawn_magnitude(std::mt19937_64& random) const {
    return magnitudes_[random() % magnitudes_.size()];
  }

  std::vector<Value> magnitudes_;
  std::vector<Size> constants_;
  Value magnitude_ = 1;
  Value least_ = -1;  // times the magnitude
  Value most_ = 1;
  bool is_mixed_ = false;  // a magnitude for each element
  bool is_near_ = false;   // numbers beside constants
};

/// Numbers of a machine's type T; integers wrap.
template <typename T>
struct Machine {
  using Value = T;

  static T from(Size number) { return static_cast<T>(number); }
  static T add(T a, T b) {
    return wrapped(a, b, [](auto p, auto q) { return p + q; });
  }
  static T sub(T a, T b) {
    return wrapped(a, b, [](auto p, auto q) { return p - q; });
  }
  static T mul(T a, T b) {
    return wrapped(a, b, [](auto p, auto q) { return p * q; });
  }
  static T max(T a, T b) { return std::max(a, b); }
  static T step(T a) { return static_cast<T>(a > 0 ? 1 : 0); }
  static T equal(T a, T b) { return static_cast<T>(a == b ? 1 : 0); }
  /// -1 of what is no index.
  static Size index(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T most = static_cast<T>(Size{1} << 53);
      return a >= 0 && a <= most && std::trunc(a) == a ? static_cast<Size>(a) : -1;
    } else {
      return static_cast<Size>(a);
    }
  }
  /// Of integers never asked for: runs refuse them where there are functions.
  static T div(T a, T b) {
    return of_point([](auto p, auto q) { return p / q; }, a, b);
  }
  static T exp(T a) {
    return of_point([](auto p) { return std::exp(p); }, a);
  }
  static T sqrt(T a) {
    return of_point([](auto p) { return std::sqrt(p); }, a);
  }

 private:
  template <typename F, typename... Ts>
  static T of_point(F f, Ts... all) {
    if constexpr (std::is_floating_point_v<T>) {
      return f(all...);
    } else {
      throw Undecided{"a function of integers"};
    }
  }
  template <typename F>
  static T wrapped(T a, T b, F f) {
    if constexpr (std::is_floating_point_v<T>) {
      return f(a, b);
    } else {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
    }
  }
};

}  // namespace retile::spmd
