#include "retile/operations/arithmetic.h"

#include <bit>
#include <cmath>
#include <limits>

#include "retile/core/assert.h"

namespace retile::operations {
namespace {

using Unsigned = std::uint64_t;

Unsigned bits(Word number) { return static_cast<Unsigned>(number); }
Word number(Unsigned bits) { return static_cast<Word>(bits); }

// ---- Integers and truth values ------------------------------------------------------------------

bool less(Word a, Word b, bool is_signed) { return is_signed ? a < b : bits(a) < bits(b); }

/// The bits of the type, and nothing above them.
Unsigned low_bits(Word a, const ElementKind& kind) {
  return kind.bits >= 64 ? bits(a) : bits(a) & ((Unsigned{1} << kind.bits) - 1);
}
/// The number that these bits are where the highest one is a sign.
Word as_signed(Word a, const ElementKind& kind) {
  return wrapped(a, {.form = ElementKind::Form::integer, .bits = kind.bits, .is_signed = true});
}

Word quotient(Word a, Word b, const ElementKind& kind) {
  if (b == 0) return -1;
  if (!kind.is_signed) return number(bits(a) / bits(b));
  return b == -1 ? number(0 - bits(a)) : a / b;
}

Word remainder(Word a, Word b, const ElementKind& kind) {
  if (b == 0) return a;
  if (!kind.is_signed) return number(bits(a) % bits(b));
  return b == -1 ? 0 : a % b;
}

/// Whether a shift goes by all bits, or more; a negative amount is a large one.
bool shifts_all(Word amount, const ElementKind& kind) {
  return low_bits(amount, kind) >= bits(kind.bits);
}

Word shifted_left(Word a, Word b, const ElementKind& kind) {
  return shifts_all(b, kind) ? 0 : number(bits(a) << low_bits(b, kind));
}

Word shifted_right(Word a, Word b, const ElementKind& kind, bool arithmetic) {
  const bool all = shifts_all(b, kind);
  if (arithmetic) return as_signed(a, kind) >> (all ? 63 : number(low_bits(b, kind)));
  return all ? 0 : number(low_bits(a, kind) >> low_bits(b, kind));
}

Word leading_zeros(Word a, const ElementKind& kind) {
  return std::countl_zero(low_bits(a, kind)) - (64 - kind.bits);
}

Word unwrapped(Arithmetic arithmetic, Word a, Word b, const ElementKind& kind) {
  const bool truth = kind.form == ElementKind::Form::truth;
  switch (arithmetic) {
    case Arithmetic::add:
      return truth ? a | b : number(bits(a) + bits(b));
    case Arithmetic::subtract:
      return number(bits(a) - bits(b));
    case Arithmetic::multiply:
      return number(bits(a) * bits(b));
    case Arithmetic::divide:
      return quotient(a, b, kind);
    case Arithmetic::remainder:
      return remainder(a, b, kind);
    case Arithmetic::maximum:
      return less(a, b, kind.is_signed) ? b : a;
    case Arithmetic::minimum:
      return less(a, b, kind.is_signed) ? a : b;
    case Arithmetic::bit_and:
      return a & b;
    case Arithmetic::bit_or:
      return a | b;
    case Arithmetic::bit_xor:
      return a ^ b;
    case Arithmetic::negate:
      return number(0 - bits(a));
    case Arithmetic::bit_not:
      return truth ? (a == 0 ? 1 : 0) : ~a;
    case Arithmetic::absolute:
      return kind.is_signed && a < 0 ? number(0 - bits(a)) : a;
    case Arithmetic::sign:
      return a == 0 ? 0 : kind.is_signed && a < 0 ? -1 : 1;
    case Arithmetic::population_count:
      return std::popcount(low_bits(a, kind));
    case Arithmetic::leading_zeros:
      return leading_zeros(a, kind);
    case Arithmetic::shift_left:
      return shifted_left(a, b, kind);
    case Arithmetic::shift_right_arithmetic:
      return shifted_right(a, b, kind, true);
    case Arithmetic::shift_right_logical:
      return shifted_right(a, b, kind, false);
  }
  RETILE_ASSERT(false, "every case is above");
  return 0;
}

// ---- Numbers with a point -----------------------------------------------------------------------

/// Of two the larger; NaN where one is; 0 is larger than -0.
double larger(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

double sign_of(double a) {
  if (std::isnan(a) || a == 0) return a;
  return a < 0 ? -1 : 1;
}

/// Exact, or rounded to a double: two roundings are one, as a double has more than twice the bits of
/// all shorter types.
double unrounded(Arithmetic arithmetic, double a, double b) {
  switch (arithmetic) {
    case Arithmetic::add:
      return a + b;
    case Arithmetic::subtract:
      return a - b;
    case Arithmetic::multiply:
      return a * b;
    case Arithmetic::divide:
      return a / b;
    case Arithmetic::remainder:
      return std::fmod(a, b);
    case Arithmetic::maximum:
      return larger(a, b);
    case Arithmetic::minimum:
      return -larger(-a, -b);
    case Arithmetic::negate:
      return -a;
    case Arithmetic::absolute:
      return std::abs(a);
    case Arithmetic::sign:
      return sign_of(a);
    case Arithmetic::bit_and:
    case Arithmetic::bit_or:
    case Arithmetic::bit_xor:
    case Arithmetic::bit_not:
    case Arithmetic::population_count:
    case Arithmetic::leading_zeros:
    case Arithmetic::shift_left:
    case Arithmetic::shift_right_arithmetic:
    case Arithmetic::shift_right_logical:
      break;
  }
  RETILE_ASSERT(false, "bits are not those of a number with a point");
  return 0;
}

/// In the order of Order::total.
Word place_in_order(double a) {
  const Word word = word_of(a);
  return word < 0 ? word ^ std::numeric_limits<Word>::max() : word;
}

template <typename T>
bool holds(Comparison comparison, T a, T b) {
  switch (comparison) {
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return a != b;
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      return a <= b;
    case Comparison::gt:
      return a > b;
    case Comparison::ge:
      return a >= b;
  }
  RETILE_ASSERT(false, "every case is above");
  return false;
}

Word integer_of(double real, const ElementKind& to) {
  if (std::isnan(real)) return 0;
  const double whole = std::trunc(real);
  const int magnitude = static_cast<int>(to.bits - (to.is_signed ? 1 : 0));
  const double end = std::ldexp(1.0, magnitude);
  const Unsigned most = magnitude >= 64 ? ~Unsigned{0} : (Unsigned{1} << magnitude) - 1;
  if (whole >= end) return number(most);
  if (!to.is_signed) return whole <= 0 ? 0 : number(static_cast<Unsigned>(whole));
  return whole < -end ? number(~most) : static_cast<Word>(whole);
}

/// The nearest value of the format, with one rounding: a double may lack bits of a large integer.
double real_of_integer(Word word, const ElementKind& from, const FloatFormat& format) {
  const bool negative = from.is_signed && word < 0;
  const Unsigned magnitude = negative ? 0 - bits(word) : bits(word);
  Unsigned odd = magnitude;
  if (format.precision() < 53 && magnitude >> 53 != 0) {
    // What is cut off below goes into the last bit, so that no tie is made.
    odd = (magnitude & ~Unsigned{0xfff}) | ((magnitude & 0xfff) != 0 ? 0x800 : 0);
  }
  const double real = static_cast<double>(odd);
  return rounded(negative ? -real : real, format);
}

}  // namespace

bool may_order(Order order, const ElementKind& kind) {
  switch (order) {
    case Order::of_type:
      return kind.has_words();
    case Order::as_signed:
    case Order::as_unsigned:
      return kind.is_number();
    case Order::floating:
    case Order::total:
      return kind.is_real();
  }
  RETILE_ASSERT(false, "every case is above");
  return false;
}

bool compared(Comparison comparison, Order order, Word a, Word b, const ElementKind& kind) {
  if (kind.is_real()) {
    if (order != Order::total) return holds(comparison, real_of(a), real_of(b));
    return holds(comparison, place_in_order(real_of(a)), place_in_order(real_of(b)));
  }
  const bool is_own = order == Order::of_type || order == Order::total;
  const bool is_signed = is_own ? kind.is_signed : order == Order::as_signed;
  if (is_signed) return holds(comparison, as_signed(a, kind), as_signed(b, kind));
  return holds(comparison, low_bits(a, kind), low_bits(b, kind));
}

bool is_unary(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::negate:
    case Arithmetic::bit_not:
    case Arithmetic::absolute:
    case Arithmetic::sign:
    case Arithmetic::population_count:
    case Arithmetic::leading_zeros:
      return true;
    case Arithmetic::add:
    case Arithmetic::subtract:
    case Arithmetic::multiply:
    case Arithmetic::divide:
    case Arithmetic::remainder:
    case Arithmetic::maximum:
    case Arithmetic::minimum:
    case Arithmetic::bit_and:
    case Arithmetic::bit_or:
    case Arithmetic::bit_xor:
    case Arithmetic::shift_left:
    case Arithmetic::shift_right_arithmetic:
    case Arithmetic::shift_right_logical:
      return false;
  }
  RETILE_ASSERT(false, "every case is above");
  return false;
}

Word calculate(Arithmetic arithmetic, Word a, Word b, const ElementKind& kind) {
  if (kind.is_real()) {
    return word_of(rounded(unrounded(arithmetic, real_of(a), real_of(b)), *kind.format));
  }
  return wrapped(unwrapped(arithmetic, a, b, kind), kind);
}

Word clamped(Word low, Word number, Word high, const ElementKind& kind) {
  return calculate(Arithmetic::minimum, calculate(Arithmetic::maximum, number, low, kind), high,
                   kind);
}

Word converted(Word word, const ElementKind& from, const ElementKind& to) {
  if (from.is_real()) {
    if (to.is_real()) return word_of(rounded(real_of(word), *to.format));
    if (to.form == ElementKind::Form::truth) return real_of(word) != 0 ? 1 : 0;
    return integer_of(real_of(word), to);
  }
  if (to.is_real()) return word_of(real_of_integer(word, from, *to.format));
  return wrapped(word, to);
}

}  // namespace retile::operations
