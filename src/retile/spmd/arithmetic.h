// What values are worked out in. Room-internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "products.h"
#include "retile/core/size.h"
#include "tensor.h"

namespace retile::spmd {

/// Numbers modulo the prime 2^61 - 1. They have no order.
struct Modular {
  using Value = std::uint64_t;
  static constexpr Value prime = (Value{1} << 61U) - 1;

  static Value from(Size number) {
    const Value rest = static_cast<Value>(number < 0 ? -(number + 1) : number) % prime;
    return number < 0 ? prime - 1 - rest : rest;
  }
  static Value add(Value a, Value b) {
    const Value sum = a + b;
    return sum >= prime ? sum - prime : sum;
  }
  static Value sub(Value a, Value b) { return a >= b ? a - b : a + prime - b; }
  static Value mul(Value a, Value b) {
    const Wide product = static_cast<Wide>(a) * b;
    const Value folded = static_cast<Value>(product & prime) + static_cast<Value>(product >> 61U);
    return folded >= prime ? folded - prime : folded;
  }
  /// Never asked for: where there are maxima, Integers are drawn.
  static Value max(Value a, Value) { return a; }

 private:
  __extension__ typedef unsigned __int128
      Wide;  // NOLINT(modernize-use-using): the marker needs a typedef
};

/// Integers of 63 bits.
struct Integers {
  using Value = Size;

  static Value from(Size number) { return number; }
  static Value add(Value a, Value b) {
    Value out = 0;
    if (__builtin_add_overflow(a, b, &out)) fail();
    return out;
  }
  static Value sub(Value a, Value b) {
    Value out = 0;
    if (__builtin_sub_overflow(a, b, &out)) fail();
    return out;
  }
  static Value mul(Value a, Value b) {
    Value out = 0;
    if (__builtin_mul_overflow(a, b, &out)) fail();
    return out;
  }
  static Value max(Value a, Value b) { return std::max(a, b); }

 private:
  [[noreturn]] static void fail() { throw Undecided{"numbers of 2^63 and more"}; }
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

 private:
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

/// The same, products of matrices by a BLAS. \tparam T  float or double
template <typename T>
struct Multiplying : Machine<T> {
  static bool multiplies() { return blas_is_built(); }
  static void multiply(const MatrixProduct& product, const T* x, const T* y, T* out) {
    spmd::multiply(product, x, y, out);
  }
};

/// What runs compute in.
template <typename T>
using Fastest = std::conditional_t<std::is_floating_point_v<T>, Multiplying<T>, Machine<T>>;

}  // namespace retile::spmd
