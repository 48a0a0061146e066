// Local operations: what stands in the blocks of a module and behind `denotes`.
//
//   einsum "ik,kj->ij" x y   add x y ..   sub x y   mul x y ..   div x y   max x y ..   min x y ..
//   neg x   relu x   exp x   sqrt x   step x   equal x y   scale INT x   fill INT x   reduce_sum D x
//   reduce_max D x   transpose [..] x   trim D LO HI x   take D x c
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/size.h"
#include "retile/operations/table.h"
#include "retile/text/place.h"

namespace retile::spmd {

enum class LocalOp {
  value,  ///< an operand by name
  einsum,
  add,
  sub,
  mul,
  div,
  max,
  min,
  neg,
  relu,
  exp,
  sqrt,
  step,   ///< 1 where x > 0, else 0
  equal,  ///< 1 where x = y, else 0
  scale,
  fill,
  reduce_sum,
  reduce_max,
  transpose,
  trim,
  take  ///< x[i, c[j], l]: the dimensions of c in the place of one of x
};
inline constexpr LocalOp last_op = LocalOp::take;

/// What a module may write for it.
[[nodiscard]] std::string_view name_of(LocalOp op);
/// Nothing where no operation has the name.
[[nodiscard]] std::optional<LocalOp> op_of(std::string_view name);
/// How many numbers stand behind the operation; of transpose a list does.
[[nodiscard]] std::size_t numbers_of(LocalOp op);
/// What works element by element as an operation of whole programs does: that operation.
[[nodiscard]] std::optional<operations::Id> id_of(LocalOp op);
/// Whether its result is decided by an order of all numbers: max, relu, step, equal and others.
[[nodiscard]] bool is_maximum(LocalOp op);
/// Whether it is 1 where something holds, and 0 elsewhere.
[[nodiscard]] bool is_indicator(LocalOp op);
/// Whether it is a function of which is known alone that equal arguments have equal results; of div
/// that is the function 1/x.
[[nodiscard]] bool is_function(LocalOp op);
/// How many operands it has; 0: two or more, or of einsum one for each subscript.
[[nodiscard]] std::size_t operands_of(LocalOp op);

/// "ik,kj->ij": for every dimension of every operand its labels, whose indices are added up, and the
/// labels of the result. A label with a factor stands so often: 2i+k is iik.
struct Einsum {
  std::vector<std::vector<std::string>> in;
  std::string out;
};
/// Nothing where the text is none, a factor is above 4096, or a label of the result stands there twice.
[[nodiscard]] std::optional<Einsum> einsum_of(std::string_view text);

struct Expression {
  LocalOp op = LocalOp::value;
  std::size_t value = 0;        ///< which of the values that are known here
  std::string subscripts = {};  ///< of einsum, as written
  Einsum einsum = {};           ///< likewise
  std::vector<Size> numbers =
      {};  ///< behind the operation; those of scale and fill may be negative
  std::vector<Expression> operands = {};
  text::Place place = {};  ///< of the operation's name
};

/// How many values every label takes. A dimension f i+k of n elements has n - 1 = f (n_i - 1) + n_k - 1.
/// Nothing where operands disagree, or where a label stays unknown.
[[nodiscard]] std::optional<std::map<char, Size>> label_extents(const Einsum& einsum,
                                                                const std::vector<Shape>& operands);

/// The shape of an operation on operands of these shapes, or nothing where they do not fit.
[[nodiscard]] std::optional<Shape> shape_of(const Expression& expression,
                                            const std::vector<Shape>& operands);

/// The shape of an expression whose values have these shapes. Fails at the operation whose operands
/// do not fit (text::Failure). \param where  follows "do not fit": " on device 3"
[[nodiscard]] Shape typed(const Expression& expression, const std::vector<Shape>& values,
                          std::string_view where = "");

/// How many whole numbers from 0 on an array's elements may be; nothing where they may be any numbers.
using Below = std::optional<Size>;
/// What an expression is below, whose values have these shapes and are below these. Fails at a take whose
/// indices are not known to be below the extent of its dimension (text::Failure). [T-TAKE]
/// Known are: values of which it is said, parts of them, what is taken of them, and a sum of one.
/// Precondition: the expression has a shape. \param where  as of typed()
[[nodiscard]] Below indices_of(const Expression& expression, const std::vector<Shape>& values,
                               const std::vector<Below>& below, std::string_view where = "");

/// How an expression depends on values of which only the sum counts.
enum class Dependence { none, linear, other };
/// \param is_partial  of each value
[[nodiscard]] Dependence dependence_of(const Expression& expression,
                                       const std::vector<Dependence>& values);

/// Whether there is an operation in it that is_maximum().
[[nodiscard]] bool has_maxima(const Expression& expression);
/// Whether there is one that is_function().
[[nodiscard]] bool has_functions(const Expression& expression);
/// Whether there is a take.
[[nodiscard]] bool has_takes(const Expression& expression);

}  // namespace retile::spmd
