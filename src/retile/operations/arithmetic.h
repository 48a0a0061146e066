// What operations do to numbers, as the types of programs do it: integers modulo two to the power of
// their bits, numbers with a point rounded to their type after every operation.
#pragma once

#include <cstdint>

#include "retile/operations/element.h"

namespace retile::operations {

enum class Arithmetic {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  maximum,
  minimum,
  bit_and,
  bit_or,
  bit_xor,
  negate,
  bit_not,
  absolute,
  sign,
  population_count,
  leading_zeros,
  shift_left,
  shift_right_arithmetic,
  shift_right_logical,
};

enum class Comparison { eq, ne, lt, le, gt, ge };
/// As what the numbers are compared.
enum class Order {
  of_type,  ///< as their type says: truth values as unsigned integers, reals as `floating`
  as_signed,
  as_unsigned,
  floating,  ///< a NaN is unequal to all, and -0 equals 0
  total,     ///< -NaN < -infinity < .. < -0 < 0 < .. < infinity < NaN
};

/// Whether numbers of a type may be compared so: integers as of either sign, reals as of a point.
[[nodiscard]] bool may_order(Order order, const ElementKind& kind);

/// Of numbers of one type.
/// Precondition: may_order(order, kind)
[[nodiscard]] bool compared(Comparison comparison, Order order, Word a, Word b,
                            const ElementKind& kind);

/// Whether an operation has one operand.
[[nodiscard]] bool is_unary(Arithmetic arithmetic);

/// Of numbers of one type; the second one counts only where there are two. A division of integers by
/// zero gives -1, a remainder by zero the number itself, and a shift by the type's bits or more zero
/// (an arithmetic one to the right the sign), as in XLA. In an arithmetic shift the highest bit of an
/// unsigned number is a sign, too.
/// Precondition: the table's row allows the type (table.h).
[[nodiscard]] Word calculate(Arithmetic arithmetic, Word a, Word b, const ElementKind& kind);

/// The number between both ends; `high` where they are the wrong way round.
[[nodiscard]] Word clamped(Word low, Word number, Word high, const ElementKind& kind);

/// A value of one type as one of another: towards zero to an integer, the nearest end where it is
/// beyond, and 0 for a NaN; not 0 to a truth value.
[[nodiscard]] Word converted(Word word, const ElementKind& from, const ElementKind& to);

}  // namespace retile::operations
