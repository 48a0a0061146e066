#include "retile/foreign/calculate.h"

#include <limits>

#include "retile/core/assert.h"

namespace retile::foreign {
namespace {

using Unsigned = std::uint64_t;

Unsigned bits(std::int64_t number) { return static_cast<Unsigned>(number); }
std::int64_t number(Unsigned bits) { return static_cast<std::int64_t>(bits); }

bool less(std::int64_t a, std::int64_t b, const ElementKind& kind) {
  return kind.is_signed ? a < b : bits(a) < bits(b);
}

std::int64_t quotient(std::int64_t a, std::int64_t b, const ElementKind& kind) {
  if (b == 0) return -1;
  if (!kind.is_signed) return number(bits(a) / bits(b));
  return b == -1 ? number(0 - bits(a)) : a / b;
}

std::int64_t remainder(std::int64_t a, std::int64_t b, const ElementKind& kind) {
  if (b == 0) return a;
  if (!kind.is_signed) return number(bits(a) % bits(b));
  return b == -1 ? 0 : a % b;
}

std::int64_t shifted_left(std::int64_t a, std::int64_t b, const ElementKind& kind) {
  return bits(b) >= static_cast<Unsigned>(kind.bits) ? 0 : number(bits(a) << bits(b));
}

/// An arithmetic shift of a signed number, a logical one of any other.
std::int64_t shifted_right(std::int64_t a, std::int64_t b, const ElementKind& kind) {
  const bool all = bits(b) >= static_cast<Unsigned>(kind.bits);
  if (!kind.is_signed) return all ? 0 : number(bits(a) >> bits(b));
  return a >> (all ? 63 : b);
}

std::int64_t unwrapped(Arithmetic arithmetic, std::int64_t a, std::int64_t b,
                       const ElementKind& kind) {
  switch (arithmetic) {
    case Arithmetic::add:
      return kind.form == ElementKind::Form::truth ? a | b : number(bits(a) + bits(b));
    case Arithmetic::subtract:
      return number(bits(a) - bits(b));
    case Arithmetic::multiply:
      return number(bits(a) * bits(b));
    case Arithmetic::divide:
      return quotient(a, b, kind);
    case Arithmetic::remainder:
      return remainder(a, b, kind);
    case Arithmetic::maximum:
      return less(a, b, kind) ? b : a;
    case Arithmetic::minimum:
      return less(a, b, kind) ? a : b;
    case Arithmetic::bit_and:
      return a & b;
    case Arithmetic::bit_or:
      return a | b;
    case Arithmetic::bit_xor:
      return a ^ b;
    case Arithmetic::negate:
      return number(0 - bits(a));
    case Arithmetic::bit_not:
      return kind.form == ElementKind::Form::truth ? (a == 0 ? 1 : 0) : ~a;
    case Arithmetic::shift_left:
      return shifted_left(a, b, kind);
    case Arithmetic::shift_right:
      return shifted_right(a, b, kind);
  }
  RETILE_ASSERT(false, "every case is above");
  return 0;
}

}  // namespace

bool compared(Comparison comparison, std::int64_t a, std::int64_t b, const ElementKind& kind) {
  switch (comparison) {
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return a != b;
    case Comparison::lt:
      return less(a, b, kind);
    case Comparison::le:
      return !less(b, a, kind);
    case Comparison::gt:
      return less(b, a, kind);
    case Comparison::ge:
      return !less(a, b, kind);
  }
  RETILE_ASSERT(false, "every case is above");
  return false;
}

std::int64_t calculate(Arithmetic arithmetic, std::int64_t a, std::int64_t b,
                       const ElementKind& kind) {
  return wrapped(unwrapped(arithmetic, a, b, kind), kind);
}

}  // namespace retile::foreign
