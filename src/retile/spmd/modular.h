// Numbers modulo primes. Room-internal.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "retile/core/size.h"
#include "retile/core/wide.h"

namespace retile::spmd {

/// Numbers modulo an odd number below 2^62. They have no order. A number x is kept as x 2^64, which
/// makes products cheap (Montgomery 1985).
class Modular {
 public:
  using Value = std::uint64_t;

  explicit Modular(Value modulus) : modulus_(modulus) {
    for (int k = 0; k < 5; ++k) inverse_ *= 2 - modulus * inverse_;  // 3, 6, .. bits are right
    const auto rest = static_cast<Value>((static_cast<Wide>(1) << 64U) % modulus);
    square_ = static_cast<Value>(static_cast<Wide>(rest) * rest % modulus);
  }

  [[nodiscard]] Value modulus() const { return modulus_; }
  [[nodiscard]] Value from(Size number) const {
    auto rest = static_cast<Value>(number < 0 ? -(number + 1) : number);
    if (rest >= modulus_) rest %= modulus_;  // a division takes longer than all the rest
    return mul(number < 0 ? modulus_ - 1 - rest : rest, square_);
  }
  /// The number itself, from 0 to modulus - 1.
  [[nodiscard]] Value plain(Value a) const { return mul(a, 1); }

  [[nodiscard]] Value add(Value a, Value b) const {
    const Value sum = a + b;
    return sum >= modulus_ ? sum - modulus_ : sum;
  }
  [[nodiscard]] Value sub(Value a, Value b) const { return a >= b ? a - b : a + modulus_ - b; }
  [[nodiscard]] Value mul(Value a, Value b) const {
    const Wide product = static_cast<Wide>(a) * b;
    const Value multiple = static_cast<Value>(product) * inverse_;
    const auto low = static_cast<Value>((static_cast<Wide>(multiple) * modulus_) >> 64U);
    return sub(static_cast<Value>(product >> 64U), low);
  }

  /// Products that are added up before they are numbers again: 8 are below 2^127.
  using Gathered = UInt128;
  static constexpr std::size_t most_gathered = 8;
  static void gather(Gathered& sum, Value a, Value b) { sum += static_cast<Gathered>(a) * b; }
  /// The same modulo the modulus p, and small enough for most_gathered more: 8 p^2 < 2 p 2^64, so that
  /// what was below 2 p 2^64 before is below 4 p 2^64 with them.
  [[nodiscard]] Gathered lowered(Gathered sum) const {
    const auto high = static_cast<Value>(sum >> 64U);
    const Value most = 2 * modulus_;
    const Value lower = high >= most ? high - most : high;
    return static_cast<Gathered>(lower) << 64U | static_cast<Value>(sum);
  }
  [[nodiscard]] Value gathered(Gathered sum) const {
    const Value multiple = static_cast<Value>(sum) * inverse_;
    const auto low = static_cast<Value>((static_cast<Wide>(multiple) * modulus_) >> 64U);
    Value out = static_cast<Value>(sum >> 64U) + modulus_ - low;  // below 3 times the modulus
    if (out >= 2 * modulus_) out -= 2 * modulus_;
    return out >= modulus_ ? out - modulus_ : out;
  }

  [[nodiscard]] Value power(Value a, std::uint64_t exponent) const {
    Value out = from(1);
    for (; exponent > 0; exponent /= 2) {
      if (exponent % 2 == 1) out = mul(out, a);
      a = mul(a, a);
    }
    return out;
  }
  /// 1 / a. Precondition: the modulus is a prime, and a is not 0.
  [[nodiscard]] Value reciprocal(Value a) const { return power(a, modulus_ - 2); }

  void begin_family(std::mt19937_64& /*random*/) const {}
  /// Of 2^64 numbers each rest has at most 8 where the modulus is above 2^61.
  [[nodiscard]] Value drawn(std::mt19937_64& random) const { return random() % modulus_; }
  /// Never asked for: where there are maxima, functions or indices, Formal works them out.
  [[nodiscard]] static Value max(Value a, Value /*b*/) { return a; }
  /// Likewise of functions.
  [[nodiscard]] static Value div(Value a, Value /*b*/) { return a; }
  [[nodiscard]] static Value exp(Value a) { return a; }
  [[nodiscard]] static Value sqrt(Value a) { return a; }
  [[nodiscard]] static Value step(Value a) { return a; }
  [[nodiscard]] static Value equal(Value a, Value /*b*/) { return a; }

 private:
  using Wide = Gathered;

  Value modulus_;
  Value inverse_ = modulus_;  // of the modulus, modulo 2^64; the modulus itself has 3 bits right
  Value square_ = 0;          // 2^128
};

/// Pairs of numbers modulo two primes: what is equal in both is hardly different.
class Twofold {
 public:
  struct Value {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    bool operator==(const Value&) const = default;
    auto operator<=>(const Value&) const = default;
  };

  Twofold(const Modular& first, const Modular& second) : first_(first), second_(second) {}

  [[nodiscard]] Value from(Size number) const {
    return {first_.from(number), second_.from(number)};
  }
  [[nodiscard]] Value add(Value a, Value b) const {
    return {first_.add(a.first, b.first), second_.add(a.second, b.second)};
  }
  [[nodiscard]] Value sub(Value a, Value b) const {
    return {first_.sub(a.first, b.first), second_.sub(a.second, b.second)};
  }
  [[nodiscard]] Value mul(Value a, Value b) const {
    return {first_.mul(a.first, b.first), second_.mul(a.second, b.second)};
  }
  struct Gathered {
    Modular::Gathered first = 0;
    Modular::Gathered second = 0;
  };
  static constexpr std::size_t most_gathered = Modular::most_gathered;
  static void gather(Gathered& sum, const Value& a, const Value& b) {
    Modular::gather(sum.first, a.first, b.first);
    Modular::gather(sum.second, a.second, b.second);
  }
  [[nodiscard]] Value gathered(const Gathered& sum) const {
    return {first_.gathered(sum.first), second_.gathered(sum.second)};
  }
  [[nodiscard]] Value reciprocal(Value a) const {
    return {first_.reciprocal(a.first), second_.reciprocal(a.second)};
  }
  [[nodiscard]] Value drawn(std::mt19937_64& random) const {
    const std::uint64_t first = first_.drawn(random);
    return {first, second_.drawn(random)};
  }
  /// Integers up to this magnitude are told from other numbers.
  static constexpr Size most_constant = (Size{1} << 24) - 1;
  /// The integer that this is modulo both primes.
  [[nodiscard]] std::optional<Size> constant(Value a) const {
    const auto small = constant(first_, a.first);
    return small && small == constant(second_, a.second) ? small : std::nullopt;
  }

 private:
  static std::optional<Size> constant(const Modular& field, std::uint64_t a) {
    const std::uint64_t plain = field.plain(a);
    if (plain <= most_constant) return static_cast<Size>(plain);
    const std::uint64_t below = field.modulus() - plain;
    if (below <= most_constant) return -static_cast<Size>(below);
    return std::nullopt;
  }

  Modular first_;
  Modular second_;
};

}  // namespace retile::spmd
