#include "retile/operations/element.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

namespace retile::operations {
namespace {

// OCP 8-bit Floating Point Specification, OCP Microscaling Formats, IEEE 754; the names with `fnuz` are those of
// https://arxiv.org/abs/2206.02915.
constexpr std::array<FloatFormat, 16> formats = {{
    {.hlo = "f64",
     .mlir = "f64",
     .bits = 64,
     .mantissa_bits = 52,
     .bias = 1023,
     .largest = std::numeric_limits<double>::max()},
    {.hlo = "f32",
     .mlir = "f32",
     .bits = 32,
     .mantissa_bits = 23,
     .bias = 127,
     .largest = std::numeric_limits<float>::max()},
    {.hlo = "f16", .mlir = "f16", .bits = 16, .mantissa_bits = 10, .bias = 15, .largest = 65504},
    {.hlo = "bf16",
     .mlir = "bf16",
     .bits = 16,
     .mantissa_bits = 7,
     .bias = 127,
     .largest = 0x1.fep127},
    {.hlo = "",
     .mlir = "tf32",
     .bits = 19,
     .mantissa_bits = 10,
     .bias = 127,
     .largest = 0x1.ffcp127},
    {.hlo = "f8e5m2",
     .mlir = "f8E5M2",
     .bits = 8,
     .mantissa_bits = 2,
     .bias = 15,
     .largest = 57344},
    {.hlo = "f8e4m3", .mlir = "f8E4M3", .bits = 8, .mantissa_bits = 3, .bias = 7, .largest = 240},
    {.hlo = "f8e3m4", .mlir = "f8E3M4", .bits = 8, .mantissa_bits = 4, .bias = 3, .largest = 15.5},
    {.hlo = "f8e4m3fn",
     .mlir = "f8E4M3FN",
     .bits = 8,
     .mantissa_bits = 3,
     .bias = 7,
     .largest = 448,
     .has_infinity = false},
    {.hlo = "f8e4m3b11fnuz",
     .mlir = "f8E4M3B11FNUZ",
     .bits = 8,
     .mantissa_bits = 3,
     .bias = 11,
     .largest = 30,
     .has_infinity = false,
     .has_minus_zero = false},
    {.hlo = "f8e5m2fnuz",
     .mlir = "f8E5M2FNUZ",
     .bits = 8,
     .mantissa_bits = 2,
     .bias = 16,
     .largest = 57344,
     .has_infinity = false,
     .has_minus_zero = false},
    {.hlo = "f8e4m3fnuz",
     .mlir = "f8E4M3FNUZ",
     .bits = 8,
     .mantissa_bits = 3,
     .bias = 8,
     .largest = 240,
     .has_infinity = false,
     .has_minus_zero = false},
    {.hlo = "",
     .mlir = "f6E3M2FN",
     .bits = 6,
     .mantissa_bits = 2,
     .bias = 3,
     .largest = 28,
     .has_infinity = false,
     .has_nan = false},
    {.hlo = "",
     .mlir = "f6E2M3FN",
     .bits = 6,
     .mantissa_bits = 3,
     .bias = 1,
     .largest = 7.5,
     .has_infinity = false,
     .has_nan = false},
    {.hlo = "f4e2m1fn",
     .mlir = "f4E2M1FN",
     .bits = 4,
     .mantissa_bits = 1,
     .bias = 1,
     .largest = 6,
     .has_infinity = false,
     .has_nan = false},
    {.hlo = "f8e8m0fnu",
     .mlir = "f8E8M0FNU",
     .bits = 8,
     .mantissa_bits = 0,
     .bias = 127,
     .largest = 0x1p127,
     .has_infinity = false,
     .has_minus_zero = false,
     .is_signed = false,
     .has_zero = false},
}};

const FloatFormat* format_of(std::string_view name) {
  const auto* const found = std::find_if(formats.begin(), formats.end(), [&](const auto& one) {
    return name == one.mlir || (!one.hlo.empty() && name == one.hlo);
  });
  return found == formats.end() ? nullptr : found;
}

/// The first number in a name, 0 where there is none.
Size first_number(std::string_view name) {
  const std::size_t begin = name.find_first_of("0123456789");
  if (begin == std::string_view::npos) return 0;
  Size out = 0;
  const auto read = std::from_chars(name.data() + begin, name.data() + name.size(), out);
  return read.ec == std::errc() && out <= 4096 ? out : 0;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// What stands before the digits of a name that is nothing more: `ui` of `ui32`.
std::string_view letters(std::string_view name) {
  const std::size_t digits = name.find_first_of("0123456789");
  return digits != std::string_view::npos && all_digits(name.substr(digits))
             ? name.substr(0, digits)
             : std::string_view();
}

ElementKind complex_of(std::string_view part) {
  const FloatFormat* format = format_of(part);
  if (format == nullptr) return {.bits = 2 * first_number(part)};
  return {.form = ElementKind::Form::complex, .bits = 2 * format->bits, .format = format};
}

/// How many bits the largest magnitude of an integer type has, a power of two aside.
Size magnitude_bits(const ElementKind& kind) { return kind.bits - (kind.is_signed ? 1 : 0); }

bool format_holds_integers(const FloatFormat& format, const ElementKind& from) {
  const Size bits = magnitude_bits(from);
  if (!format.has_zero || (from.is_signed && !format.is_signed)) return false;
  const double most = from.is_signed ? std::ldexp(1.0, static_cast<int>(bits))
                                     : std::ldexp(1.0, static_cast<int>(bits)) - 1;
  return bits <= format.precision() && most <= format.largest;
}

/// 2 to the power of this divides all values.
Size smallest_step(const FloatFormat& format) {
  return format.smallest_exponent() - (format.has_zero ? format.mantissa_bits : 0);
}

bool format_holds_format(const FloatFormat& to, const FloatFormat& from) {
  const auto has = [](bool to_has, bool from_has) { return to_has || !from_has; };
  return from.precision() <= to.precision() && smallest_step(from) >= smallest_step(to) &&
         from.largest <= to.largest && has(to.has_infinity, from.has_infinity) &&
         has(to.has_nan, from.has_nan) && has(to.has_minus_zero, from.has_minus_zero) &&
         has(to.is_signed, from.is_signed) && has(to.has_zero, from.has_zero);
}

bool integers_hold(const ElementKind& to, const ElementKind& from) {
  if (from.is_signed) return to.is_signed && from.bits <= to.bits;
  return from.bits <= magnitude_bits(to);
}

}  // namespace

std::span<const FloatFormat> float_formats() { return formats; }

ElementKind element_kind(std::string_view name) {
  using Form = ElementKind::Form;
  if (name == "pred" || name == "i1") return {.form = Form::truth, .bits = 1, .is_signed = false};
  if (name == "index") return {.form = Form::integer, .bits = 64};
  if (const FloatFormat* format = format_of(name)) {
    return {
        .form = Form::real, .bits = format->bits, .is_signed = format->is_signed, .format = format};
  }
  if (name == "c64") return complex_of("f32");
  if (name == "c128") return complex_of("f64");
  if (name.rfind("complex<", 0) == 0) return complex_of(name.substr(8, name.size() - 9));
  const Size bits = first_number(name);
  const std::string_view front = letters(name);
  if (bits < 1 || bits > 64) return {.bits = bits};
  if (front == "s" || front == "i" || front == "si") return {.form = Form::integer, .bits = bits};
  if (front == "u" || front == "ui") {
    return {.form = Form::integer, .bits = bits, .is_signed = false};
  }
  return {.bits = bits};
}

std::string hlo_name(const ElementKind& kind) {
  using Form = ElementKind::Form;
  if (kind.form == Form::truth) return "pred";
  if (kind.form == Form::real) return std::string(kind.format->hlo);
  // Of two f32 or f64, which alone have their bits; of integers those of powers of two.
  if (kind.form == Form::complex) {
    return kind.bits == 64 || kind.bits == 128 ? "c" + std::to_string(kind.bits) : "";
  }
  constexpr std::array<Size, 6> integer_bits = {2, 4, 8, 16, 32, 64};
  const bool is_known =
      std::find(integer_bits.begin(), integer_bits.end(), kind.bits) != integer_bits.end();
  if (kind.form != Form::integer || !is_known) return "";
  return (kind.is_signed ? "s" : "u") + std::to_string(kind.bits);
}

std::string mlir_name(const ElementKind& kind) {
  using Form = ElementKind::Form;
  if (kind.form == Form::truth) return "i1";
  if (kind.form == Form::real) return std::string(kind.format->mlir);
  if (kind.form == Form::complex) return "complex<" + std::string(kind.format->mlir) + ">";
  // i1 is a truth value.
  if (kind.form != Form::integer || (kind.is_signed && kind.bits == 1)) return "";
  return (kind.is_signed ? "i" : "ui") + std::to_string(kind.bits);
}

bool holds_all_of(const ElementKind& to, const ElementKind& from) {
  using Form = ElementKind::Form;
  if (from.form == Form::other || to.form == Form::other) return false;
  if (to.form == Form::truth) return from.form == Form::truth;
  if (to.form == Form::integer) {
    return from.form == Form::truth || (from.form == Form::integer && integers_hold(to, from));
  }
  if (from.is_number()) return format_holds_integers(*to.format, from);
  if (from.form == Form::complex && to.form != Form::complex) return false;
  return format_holds_format(*to.format, *from.format);
}

double real_of(Word word) {
  double out = 0;
  std::memcpy(&out, &word, sizeof out);
  return out;
}

Word word_of(double real) {
  Word out = 0;
  std::memcpy(&out, &real, sizeof out);
  return out;
}

Word wrapped(Word number, const ElementKind& kind) {
  if (kind.form == ElementKind::Form::truth) return number != 0 ? 1 : 0;
  if (kind.bits >= 64) return number;
  const auto mask = (std::uint64_t{1} << kind.bits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(number) & mask;
  const bool negative = kind.is_signed && (low >> (kind.bits - 1)) != 0;
  return static_cast<Word>(negative ? low | ~mask : low);
}

bool fits(Word number, const ElementKind& kind) {
  if (kind.form == ElementKind::Form::truth) return true;
  return wrapped(number, kind) == number;
}

bool is_end(Word word, const ElementKind& kind, End end) {
  if (kind.is_real()) {
    const double largest =
        kind.format->has_infinity ? std::numeric_limits<double>::infinity() : kind.format->largest;
    if (end == End::largest) return real_of(word) == largest;
    // Of a type without signs the least is zero, or the one of the fewest digits.
    if (kind.format->is_signed) return real_of(word) == -largest;
    return real_of(word) ==
           (kind.format->has_zero ? 0.0 : std::ldexp(1.0, static_cast<int>(-kind.format->bias)));
  }
  if (kind.form == ElementKind::Form::truth) return word == (end == End::largest ? 1 : 0);
  if (!kind.is_signed) return word == (end == End::largest ? wrapped(-1, kind) : 0);
  // The sign alone, or all bits but that.
  const auto sign = static_cast<Word>(std::uint64_t{1} << static_cast<unsigned>(kind.bits - 1));
  return wrapped(word, kind) == wrapped(end == End::largest ? ~sign : sign, kind);
}

double rounded(double real, const FloatFormat& format) {
  if (std::isnan(real)) return format.has_nan ? real : format.largest;
  if (!format.is_signed && real <= 0) return std::numeric_limits<double>::quiet_NaN();
  const double beyond = format.has_infinity ? std::numeric_limits<double>::infinity()
                        : format.has_nan    ? std::numeric_limits<double>::quiet_NaN()
                                            : format.largest;
  if (std::isinf(real)) return std::copysign(beyond, real);
  if (real == 0) return format.has_minus_zero ? real : 0.0;
  int exponent = 0;
  static_cast<void>(std::frexp(real, &exponent));
  const Size step =
      std::max(static_cast<Size>(exponent) - format.precision(), smallest_step(format));
  const double scaled = std::nearbyint(std::ldexp(real, -static_cast<int>(step)));
  const double out = std::ldexp(scaled, static_cast<int>(step));
  if (std::abs(out) > format.largest) return std::copysign(beyond, real);
  if (out == 0 && !format.has_minus_zero) return 0.0;
  return out;
}

double real_of_bits(std::uint64_t bits, const FloatFormat& format) {
  const auto mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const Size exponent_bits = format.bits - format.mantissa_bits - (format.is_signed ? 1 : 0);
  const auto top = (std::uint64_t{1} << exponent_bits) - 1;
  const auto exponent = (bits >> format.mantissa_bits) & top;
  const bool negative = format.is_signed && ((bits >> (format.bits - 1)) & 1) != 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const bool unsigned_zero = format.has_zero && !format.has_minus_zero;  // its sign means NaN
  if (unsigned_zero && negative && exponent == 0 && mantissa == 0) return nan;
  const auto full = std::uint64_t{1} << format.mantissa_bits;
  const bool small = format.has_zero && exponent == 0;
  const double out = std::ldexp(static_cast<double>(small ? mantissa : mantissa + full),
                                static_cast<int>((small ? 1 : static_cast<Size>(exponent)) -
                                                 format.bias - format.mantissa_bits));
  if (out > format.largest) {
    const bool infinite = format.has_infinity && mantissa == 0;
    if (!infinite) return nan;
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  return negative ? -out : out;
}

}  // namespace retile::operations
