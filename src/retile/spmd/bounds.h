// How large the polynomials of a module can be, and so how seldom a wrong one passes. Room-internal.
#pragma once

#include <optional>
#include <vector>

#include "module.h"

namespace retile::spmd {

/// Beyond these nothing is counted any more.
inline constexpr Size most_degree = Size{1} << 40;
inline constexpr Size most_bits = Size{1} << 40;

/// Of all polynomials of a module together: in elements of parameters, in what is drawn for addends, and in
/// maxima and results of functions as variables of their own.
struct Bounds {
  Size degree = 1;
  /// No coefficient of a difference is above 2^bits, once all are over one denominator.
  Size bits = 1;
};
/// \param factors  those that Maxima is given; denominators are products of them
[[nodiscard]] Bounds bounds_of(const Module& module, const std::vector<Size>& factors);

/// A wrong module passes with probability at most 2^-this; docs/ledger/statements.md derives it. Nothing where
/// that would be above 2^-20.
/// \param has_variables  maxima, functions or indices, judged modulo two primes; else modulo one
[[nodiscard]] std::optional<int> error_exponent(const Bounds& bounds, bool has_variables);

/// The numbers behind all operations of one kind, `denotes` included.
[[nodiscard]] std::vector<Size> numbers_in(const Module& module, LocalOp op);

}  // namespace retile::spmd
