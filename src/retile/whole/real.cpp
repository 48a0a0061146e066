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

double computed(Id id, double a) {
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
      return std::floor(a);
    case Id::ceil:
      return std::ceil(a);
    case Id::round_nearest_afz:
      return std::round(a);
    case Id::round_nearest_even:
      return std::nearbyint(a);
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

Word Real::unary(Id id, Word a) { return word(computed(id, real(a))); }

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
  const auto narrow = static_cast<float>(real(a));
  const auto bits = std::bit_cast<std::int32_t>(narrow);
  return from.bits == 32 ? bits : bits >> 16U;
}

Word Real::of_bits(Word bits, const ElementKind& to) {
  const auto raw = static_cast<std::uint64_t>(bits);
  const std::uint64_t mask = to.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << to.bits) - 1;
  return word(operations::real_of_bits(raw & mask, *to.format));
}

std::array<Word, 2> Real::root_parts(Size order, Size number) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(number % order) / static_cast<double>(order);
  return {word(std::cos(angle)), word(std::sin(angle))};
}

void Real::products(const Word* x, Size rows, const Word* y, Size columns, Size depth, Word* out) {
  for (Size m = 0; m < rows; ++m) {
    for (Size n = 0; n < columns; ++n) {
      double sum = 0;
      for (Size k = 0; k < depth; ++k) sum += real(x[m * depth + k]) * real(y[n * depth + k]);
      out[m * columns + n] = word(sum);
    }
  }
}

}  // namespace retile::whole
