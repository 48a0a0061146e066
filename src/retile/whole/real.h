// Numbers with a point as numbers of 64 bits: what a wrong verdict is confirmed in. Room-internal.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>

#include "retile/operations/arithmetic.h"
#include "retile/operations/table.h"

namespace retile::whole {

using operations::Comparison;
using operations::ElementKind;
using operations::Id;
using operations::Order;
using operations::Word;

/// The same calls as of Field. Types are not rounded to: what differs only there is no mistake.
class Real {
 public:
  /// \param largest  one in eight numbers that are drawn is up to so large, and the others are up to 1
  /// \param shaken  by that part of itself each sum, product and quotient is off
  /// \param least  of numbers that are drawn, where they are not wider: -1, or 0
  explicit Real(std::uint64_t seed, double largest = 1, double shaken = 0, double least = -1)
      : key_(seed), largest_(largest), shaken_(shaken), least_(least) {}

  static constexpr bool is_exact = false;

  static double real(Word a) { return operations::real_of(a); }
  static Word word(double a) { return operations::word_of(a); }

  [[nodiscard]] static bool is_finite(Word a) { return std::isfinite(real(a)); }
  [[nodiscard]] static Word from(std::int64_t number) { return word(static_cast<double>(number)); }
  [[nodiscard]] static Word from_unsigned(std::uint64_t number) {
    return word(static_cast<double>(number));
  }
  [[nodiscard]] static Word of_literal(double number) { return word(number); }
  [[nodiscard]] Word drawn(std::mt19937_64& random) const {
    const double out = std::uniform_real_distribution<double>(least_, 1)(random);
    if (largest_ > 1 && random() % 8 == 0) return word(largest_ * out);
    return word(out);
  }

  [[nodiscard]] Word add(Word a, Word b) const { return computed(real(a) + real(b)); }
  [[nodiscard]] Word sub(Word a, Word b) const { return computed(real(a) - real(b)); }
  [[nodiscard]] Word mul(Word a, Word b) const { return computed(real(a) * real(b)); }
  [[nodiscard]] Word div(Word a, Word b) const { return computed(real(a) / real(b)); }
  [[nodiscard]] static Word neg(Word a) { return word(-real(a)); }
  [[nodiscard]] static bool less(Word a, Word b) { return real(a) < real(b); }
  [[nodiscard]] static bool compared(Comparison comparison, Order order, Word a, Word b) {
    static const ElementKind kind = operations::element_kind("f64");
    return operations::compared(comparison, order, a, b, kind);
  }
  [[nodiscard]] static Word max(Word a, Word b) {
    if (std::isnan(real(a)) || std::isnan(real(b))) return no_number();
    return less(a, b) ? b : a;
  }
  [[nodiscard]] static Word min(Word a, Word b) {
    if (std::isnan(real(a)) || std::isnan(real(b))) return no_number();
    return less(b, a) ? b : a;
  }

  [[nodiscard]] static Word unary(Id id, Word a);
  [[nodiscard]] static Word binary(Id id, Word a, Word b);
  [[nodiscard]] Word unknown(std::uint64_t function, std::span<const Word> arguments) const;
  [[nodiscard]] std::uint64_t hash(std::uint64_t function, std::span<const Word> arguments) const;
  static void unary(Id id, std::span<const Word> a, Word* out) {
    for (std::size_t k = 0; k < a.size(); ++k) out[k] = unary(id, a[k]);
  }
  void divide(std::span<const Word> a, const Word* b, Word* out) const {
    for (std::size_t k = 0; k < a.size(); ++k) out[k] = div(a[k], b[k]);
  }
  [[nodiscard]] static bool is_kept(const ElementKind& /*from*/, const ElementKind& /*to*/) {
    return true;
  }
  [[nodiscard]] static Word converted(Word a, const ElementKind& /*from*/,
                                      const ElementKind& /*to*/) {
    return a;
  }
  [[nodiscard]] static Word rounded(Word a, Size /*exponent_bits*/, Size /*mantissa_bits*/) {
    return a;
  }
  [[nodiscard]] static Word to_integer(Word a, const ElementKind& to);
  [[nodiscard]] static Word to_bits(Word a, const ElementKind& from);
  [[nodiscard]] static Word of_bits(Word bits, const ElementKind& to) {
    return word(number_of_bits(bits, to));
  }
  [[nodiscard]] static double number_of_bits(Word bits, const ElementKind& to);
  /// The bits of the nearest value of a format; of what is no number those of one such, or 0.
  [[nodiscard]] static std::uint64_t bits_of(double a, const operations::FloatFormat& format);
  /// A number rounded to an integer by floor, ceil or one of both kinds of rounding.
  [[nodiscard]] static double whole(Id id, double a);
  /// The nearest number of such a format, and 0 for those that it has only with fewer bits.
  [[nodiscard]] static double rounded_to(double a, Size exponent_bits, Size mantissa_bits);
  [[nodiscard]] static std::array<Word, 2> root_parts(Size order, Size number);
  void products(const Word* x, Size rows, const Word* y, Size columns, Size depth, Word* out) const;
  [[nodiscard]] static bool are_finite(std::span<const Word> /*words*/) { return true; }

 private:
  [[nodiscard]] Word computed(double a) const {
    return word(shaken_ > 0 ? a + (word(a) % 2 == 0 ? shaken_ : -shaken_) * a : a);
  }
  static Word no_number() { return word(std::numeric_limits<double>::quiet_NaN()); }

  std::uint64_t key_;
  double largest_;
  double shaken_;
  double least_;
};

}  // namespace retile::whole
