// The element types of HLO and MLIR: how many bits they have, which values, and what a value is as a
// word of the evaluators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "retile/core/size.h"

namespace retile::operations {

/// The values of a floating-point type. Those of a sign aside they are zero and m 2^e, where m has
/// `precision` bits, up to `largest`; below 2^smallest_exponent m has fewer.
struct FloatFormat {
  std::string_view hlo;   ///< `f8e4m3fn`; empty where HLO has no such type
  std::string_view mlir;  ///< `f8E4M3FN`
  Size bits = 0;
  Size mantissa_bits = 0;
  Size bias = 0;
  double largest = 0;
  bool has_infinity = true;
  bool has_nan = true;
  bool has_minus_zero = true;
  bool is_signed = true;
  bool has_zero = true;  ///< and numbers of fewer bits

  [[nodiscard]] Size precision() const { return mantissa_bits + 1; }
  [[nodiscard]] Size smallest_exponent() const { return (has_zero ? 1 : 0) - bias; }
};

[[nodiscard]] std::span<const FloatFormat> float_formats();

/// What is known of an element type: integers of 1 to 64 bits, truth values, numbers with a point,
/// pairs of these, and others.
struct ElementKind {
  enum class Form { truth, integer, real, complex, other };
  Form form = Form::other;
  Size bits = 0;  ///< 0: nobody knows
  bool is_signed = true;
  const FloatFormat* format = nullptr;  ///< of real and, of each part, of complex

  /// Whether it is a truth value or an integer.
  [[nodiscard]] bool is_number() const { return form == Form::truth || form == Form::integer; }
  [[nodiscard]] bool is_real() const { return form == Form::real; }
  /// Whether a value of it is a word.
  [[nodiscard]] bool has_words() const { return is_number() || is_real(); }
  [[nodiscard]] Size bytes() const { return (bits + 7) / 8; }
  friend bool operator==(const ElementKind&, const ElementKind&) = default;
};

/// Of `pred`, `i1`, `s32`, `ui8`, `i64`, `index`, `f32`, `bf16`, `c64`, `complex<f32>`, ..
[[nodiscard]] ElementKind element_kind(std::string_view name);

/// What HLO and MLIR call it; empty where they have no such type.
[[nodiscard]] std::string hlo_name(const ElementKind& kind);
[[nodiscard]] std::string mlir_name(const ElementKind& kind);

/// Whether every value of one type is a value of another, so that a conversion there loses nothing.
/// Signs of zeros count; which NaN it is does not.
[[nodiscard]] bool holds_all_of(const ElementKind& to, const ElementKind& from);

/// A value of a type with words: an integer itself, of unsigned ones of 64 bits the same bits; of a
/// real the bits of the double that it is.
using Word = std::int64_t;

[[nodiscard]] double real_of(Word word);
[[nodiscard]] Word word_of(double real);

/// A number as one of that type holds it: its lowest bits.
/// Precondition: kind.is_number()
[[nodiscard]] Word wrapped(Word number, const ElementKind& kind);
/// Whether an integer is a value of that type; of truth values all are, and of 64 bits.
/// Precondition: kind.is_number()
[[nodiscard]] bool fits(Word number, const ElementKind& kind);

enum class End { least, largest };
/// Whether a word is the least value of a type, or the largest: an infinity, where the type has one.
/// Precondition: kind.has_words()
[[nodiscard]] bool is_end(Word word, const ElementKind& kind, End end);

/// The nearest value of a format, of two the even one; beyond the largest it is an infinity, else a
/// NaN, else the largest.
[[nodiscard]] double rounded(double real, const FloatFormat& format);
/// The value that these bits are.
[[nodiscard]] double real_of_bits(std::uint64_t bits, const FloatFormat& format);

}  // namespace retile::operations
