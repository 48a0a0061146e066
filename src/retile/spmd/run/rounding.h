// Numbers, and how far from them a run in elements of a machine's type may end. Room-internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "retile/core/size.h"
#include "retile/spmd/arithmetic.h"
#include "retile/spmd/tensor.h"

namespace retile::spmd {

/// Thrown where a value is no finite number.
struct NotFinite {};

/// Numbers in doubles, with what rounding may make of them in a type whose numbers have a relative error
/// of `unit`. A value is a sum of products. Its terms' magnitudes add up to `magnitude`, and so many sums
/// and products stand behind each other. Whatever the order of a sum of n terms is, these are n - 1 at
/// most, and each is off by at most unit times that much (Higham 2002, chapter 3). What functions are off
/// by is `off`, and comes on top.
///
/// Whether a number is above 0, or two are equal, may be decided otherwise where they are so near. But a maximum
/// is equal to the argument that it is, however either is rounded, unless it is contested.
class Rounding {
 public:
  struct Value {
    double number = 0;
    double magnitude = 0;
    double roundings = 0;
    double off = 0;
    bool is_contested = false;  ///< a maximum that may be another of its arguments
  };

  /// \param most  values may come out as infinities where they could be larger; NotFinite is thrown then
  /// \param least  what is not 0 and smaller may come out as 0
  explicit Rounding(double unit, double most = std::numeric_limits<double>::infinity(),
                    double least = 0)
      : unit_(unit), most_(most), least_(least) {}

  /// How far from the number a value may be that was worked out in another order.
  [[nodiscard]] double tolerance(const Value& a) const {
    // Once for the run, once for these doubles, and twice for operations in another order.
    return 4 * error(a) + std::numeric_limits<double>::min();
  }

  /// A value that is worked out as it stands, whatever its terms are: rounding begins anew.
  [[nodiscard]] Value settled(const Value& a) const {
    Value out{a.number, std::abs(a.number), 0, error(a)};
    out.is_contested = a.is_contested;
    return out;
  }

  /// What is written or drawn has at most one rounding.
  [[nodiscard]] static Value from(Size number) { return of(static_cast<double>(number)); }
  [[nodiscard]] static Value of(double number) { return {number, std::abs(number), 1, 0}; }
  [[nodiscard]] Value add(const Value& a, const Value& b) const {
    return within({a.number + b.number, a.magnitude + b.magnitude,
                   std::max(a.roundings, b.roundings) + 1, a.off + b.off});
  }
  [[nodiscard]] Value sub(const Value& a, const Value& b) const {
    return within({a.number - b.number, a.magnitude + b.magnitude,
                   std::max(a.roundings, b.roundings) + 1, a.off + b.off});
  }
  [[nodiscard]] Value mul(const Value& a, const Value& b) const {
    const bool is_zero = a.magnitude + a.off == 0 || b.magnitude + b.off == 0;
    return within({a.number * b.number, a.magnitude * b.magnitude, a.roundings + b.roundings + 1,
                   a.off * (b.magnitude + b.off) + a.magnitude * b.off + (is_zero ? 0 : least_)});
  }
  [[nodiscard]] Value max(const Value& a, const Value& b) const {
    if (!are_near(a, b)) return a.number > b.number ? a : b;
    return {std::max(a.number, b.number), std::max(a.magnitude, b.magnitude),
            std::max(a.roundings, b.roundings), std::max(a.off, b.off),
            a.is_contested || b.is_contested || error(a) + error(b) > 0};
  }
  [[nodiscard]] Value step(const Value& a) const {
    return indicator(a.number > 0, error(a) > 0 && std::abs(a.number) <= error(a));
  }
  [[nodiscard]] Value equal(const Value& a, const Value& b) const {
    const bool is_same = a.number == b.number;
    return indicator(is_same, is_same ? a.is_contested || b.is_contested : are_near(a, b));
  }
  [[nodiscard]] static Size index(const Value& a) { return Machine<double>::index(a.number); }
  [[nodiscard]] Value div(const Value& a, const Value& b) const {
    const double least = std::abs(b.number) - error(b);
    if (!(least > 0)) throw NotFinite{};
    const double number = a.number / b.number;
    return made(number, (error(a) + std::abs(number) * error(b)) / least);
  }
  [[nodiscard]] Value exp(const Value& a) const {
    const double number = std::exp(a.number);
    return made(number, number * std::expm1(error(a)));
  }
  [[nodiscard]] Value sqrt(const Value& a) const {
    const double least = a.number - error(a);
    if (!(least >= 0)) throw NotFinite{};
    const double number = std::sqrt(a.number);
    return made(number, number > 0 ? error(a) / (number + std::sqrt(least)) : 0);
  }

 private:
  [[nodiscard]] double error(const Value& a) const {
    const double all = a.roundings * unit_;
    if (!(all < 0.5)) throw NotFinite{};
    return all / (1 - all) * (a.magnitude + a.off) + a.off;
  }
  [[nodiscard]] bool are_near(const Value& a, const Value& b) const {
    return std::abs(a.number - b.number) <= error(a) + error(b);
  }
  [[nodiscard]] static Value indicator(bool holds, bool is_open) {
    const double number = holds ? 1 : 0;
    return {number, number, 0, is_open ? 1.0 : 0.0};
  }
  /// A number that is off by so much before it is rounded, by a function to two units.
  [[nodiscard]] Value made(double number, double off) const {
    if (!std::isfinite(number) || !std::isfinite(off)) throw NotFinite{};
    return within({number, std::abs(number), 2, number == 0 && off == 0 ? 0 : off + least_});
  }
  /// What is not sure to be a number of the type is none.
  [[nodiscard]] Value within(const Value& a) const {
    if (a.magnitude + a.off > most_) throw NotFinite{};
    return a;
  }

  double unit_;
  double most_;
  double least_;
};

}  // namespace retile::spmd
