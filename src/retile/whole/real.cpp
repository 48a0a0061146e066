#include "retile/whole/real.h"

#include <bit>
#include <numbers>

#include "retile/core/assert.h"

namespace retile::whole {
namespace {

std::uint64_t stirred(std::uint64_t a) {
  a ^= a >> 30U;
  a *= 0xbf58476d1ce4e5b9U;
  a ^= a >> 27U;
  a *= 0x94d049bb133111ebU;
  return a ^ (a >> 31U);
}

double sign_of(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }

double function_of(Id id, double a) {
  switch (id) {
    case Id::negate:
      return -a;
    case Id::absolute:
      return std::fabs(a);
    case Id::sign:
      return sign_of(a);
    case Id::exponential:
      return std::exp(a);
    case Id::exponential_minus_one:
      return std::expm1(a);
    case Id::log:
      return std::log(a);
    case Id::log_plus_one:
      return std::log1p(a);
    case Id::logistic:
      return 1 / (1 + std::exp(-a));
    case Id::tanh:
      return std::tanh(a);
    case Id::tan:
      return std::tan(a);
    case Id::sine:
      return std::sin(a);
    case Id::cosine:
      return std::cos(a);
    case Id::sqrt:
      return std::sqrt(a);
    case Id::rsqrt:
      return 1 / std::sqrt(a);
    case Id::cbrt:
      return std::cbrt(a);
    case Id::erf:
      return std::erf(a);
    case Id::floor:
    case Id::ceil:
    case Id::round_nearest_afz:
    case Id::round_nearest_even:
      return Real::whole(id, a);
    case Id::acos:
      return std::acos(a);
    case Id::acosh:
      return std::acosh(a);
    case Id::asin:
      return std::asin(a);
    case Id::asinh:
      return std::asinh(a);
    case Id::atanh:
      return std::atanh(a);
    case Id::cosh:
      return std::cosh(a);
    case Id::sinh:
      return std::sinh(a);
    default:
      RETILE_ASSERT(false, "a function of one number with a point");
      return 0;
  }
}

}  // namespace

Word Real::unary(Id id, Word a) { return word(function_of(id, real(a))); }

Word Real::binary(Id id, Word a, Word b) {
  switch (id) {
    case Id::power:
      return word(std::pow(real(a), real(b)));
    case Id::atan2:
      return word(std::atan2(real(a), real(b)));
    case Id::remainder:
      return word(std::fmod(real(a), real(b)));
    default:
      RETILE_ASSERT(false, "a function of two numbers with a point");
      return 0;
  }
}

std::uint64_t Real::hash(std::uint64_t function, std::span<const Word> arguments) const {
  std::uint64_t out = stirred(key_ ^ function * 0x9e3779b97f4a7c15U);
  for (const Word one : arguments) out = stirred(out ^ stirred(static_cast<std::uint64_t>(one)));
  return out;
}

Word Real::unknown(std::uint64_t function, std::span<const Word> arguments) const {
  constexpr double scale = 1.0 / 9007199254740992.0;
  return word(static_cast<double>(hash(function, arguments) >> 11U) * scale);
}

Word Real::to_integer(Word a, const ElementKind& to) {
  static const ElementKind kind = operations::element_kind("f64");
  return operations::converted(a, kind, to);
}

Word Real::to_bits(Word a, const ElementKind& from) {
  if (from.bits == 64) return a;
  return static_cast<Word>(bits_of(real(a), *from.format));
}

std::uint64_t Real::bits_of(double a, const operations::FloatFormat& format) {
  const double value = operations::rounded(a, format);
  const Size exponent_bits = format.bits - format.mantissa_bits - (format.is_signed ? 1 : 0);
  const std::uint64_t top = ((std::uint64_t{1} << exponent_bits) - 1) << format.mantissa_bits;
  const std::uint64_t full = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t sign = std::uint64_t{1} << (format.bits - 1);
  if (std::isnan(value)) {
    if (!format.has_nan) return 0;
    if (format.has_infinity) return top | full / 2;
    return format.has_zero && !format.has_minus_zero ? sign : top | (full - 1);
  }
  const bool has_sign =
      format.is_signed && std::signbit(value) && (value != 0 || format.has_minus_zero);
  std::uint64_t out = std::isinf(value) ? top : 0;
  if (std::isfinite(value) && value != 0) {
    const Size exponent = std::max(Size{std::ilogb(value)}, format.smallest_exponent());
    const auto scaled = static_cast<std::uint64_t>(
        std::ldexp(std::fabs(value), static_cast<int>(format.mantissa_bits - exponent)));
    const auto place = static_cast<std::uint64_t>(exponent + format.bias) << format.mantissa_bits;
    out = scaled < full ? scaled : place + (scaled - full);
  }
  return out | (has_sign ? sign : 0);
}

double Real::whole(Id id, double a) {
  switch (id) {
    case Id::floor:
      return std::floor(a);
    case Id::ceil:
      return std::ceil(a);
    case Id::round_nearest_afz:
      return std::round(a);
    default:
      return std::nearbyint(a);
  }
}

double Real::rounded_to(double a, Size exponent_bits, Size mantissa_bits) {
  constexpr Size most_exponent_bits = 11;
  constexpr Size most_mantissa_bits = 52;
  if (exponent_bits > most_exponent_bits || mantissa_bits > most_mantissa_bits) return a;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double full = std::ldexp(1, static_cast<int>(mantissa_bits));
  operations::FloatFormat format;
  format.bits = 1 + exponent_bits + mantissa_bits;
  format.mantissa_bits = mantissa_bits;
  format.bias = bias;
  format.largest = std::ldexp((2 * full - 1) / full, bias);
  const double out = operations::rounded(a, format);
  return std::fabs(out) < std::ldexp(1, 1 - bias) ? std::copysign(0.0, a) : out;
}

double Real::number_of_bits(Word bits, const ElementKind& to) {
  const auto raw = static_cast<std::uint64_t>(bits);
  const std::uint64_t mask = to.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << to.bits) - 1;
  return operations::real_of_bits(raw & mask, *to.format);
}

std::array<Word, 2> Real::root_parts(Size order, Size number) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(number % order) / static_cast<double>(order);
  return {word(std::cos(angle)), word(std::sin(angle))};
}

void Real::products(const Word* x, Size rows, const Word* y, Size columns, Size depth,
                    Word* out) const {
  for (Size m = 0; m < rows; ++m) {
    for (Size n = 0; n < columns; ++n) {
      double sum = 0;
      for (Size k = 0; k < depth; ++k) sum += real(x[m * depth + k]) * real(y[n * depth + k]);
      out[m * columns + n] = computed(sum);
    }
  }
}

}  // namespace retile::whole
