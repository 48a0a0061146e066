// The operations of HLO and StableHLO, in one table: what each is called, what it takes, what its
// attributes say, and what it does to elements and to numbers.
//
// An operation is an `Id` and a `Row`. Readers of moves have what they make of every `Id` up to
// `reduce_scatter`, and a static_assert that none is missing: whoever adds one is told by the compiler
// where it must be read. Behind these stand the operations of whole programs. Typing asks the row which
// types an operand may have, and whether the operand is moved or decides where elements go.
// docs/reference/operations.md is this table for people; a test writes it and compares.
//
// An evaluator needs nothing else: `Effect` says what an operation is to elements of any kind,
// `InField` what it is to numbers of a prime field, `Row::arithmetic` and arithmetic.h what it is to
// machine numbers.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "retile/operations/arithmetic.h"
#include "retile/operations/element.h"

namespace retile::operations {

enum class Id {
  // What is there at the beginning.
  parameter,
  constant,
  iota,
  partition_id,
  replica_id,
  // What puts values together.
  tuple,
  get_tuple_element,
  optimization_barrier,
  call,
  // What moves elements on a device.
  copy,
  bitcast,
  reshape,
  transpose,
  reverse,
  slice,
  pad,
  concatenate,
  broadcast,
  dynamic_slice,
  dynamic_update_slice,
  select,
  // What makes other elements.
  convert,
  compare,
  clamp,
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
  bit_not,
  negate,
  absolute,
  sign,
  population_count,
  leading_zeros,
  shift_left,
  shift_right_arithmetic,
  shift_right_logical,
  // What moves elements between devices.
  all_gather,
  all_to_all,
  collective_permute,
  all_reduce,
  reduce_scatter,

  // From here on, what stands in whole programs alone: Scope::computes.
  collective_broadcast,
  // What runs computations, and what orders or reinterprets.
  fusion,
  while_loop,
  conditional,
  map,
  custom_call,
  after_all,
  bitcast_convert,
  reduce_precision,
  // Functions of one number.
  exponential,
  exponential_minus_one,
  log,
  log_plus_one,
  logistic,
  tanh,
  tan,
  sine,
  cosine,
  sqrt,
  rsqrt,
  cbrt,
  erf,
  floor,
  ceil,
  round_nearest_afz,
  round_nearest_even,
  is_finite,
  acos,
  acosh,
  asin,
  asinh,
  atanh,
  cosh,
  sinh,
  // Of complex numbers, and functions of two numbers.
  real,
  imag,
  complex,
  power,
  atan2,
  // Of whole arrays.
  dot,
  convolution,
  reduce,
  reduce_window,
  select_and_scatter,
  gather,
  scatter,
  sort,
  top_k,
  fft,
  rng,
  rng_bit_generator,
  triangular_solve,
  cholesky,
};

inline constexpr std::size_t id_count = static_cast<std::size_t>(Id::cholesky) + 1;
/// How many of them, from the first one on, readers of moves know: Scope::moves.
inline constexpr std::size_t moved_count = static_cast<std::size_t>(Id::reduce_scatter) + 1;

/// Whose readers know an operation.
enum class Scope {
  moves,     ///< those of moves, and those of whole programs
  computes,  ///< those of whole programs alone
};

/// A set of element types, by their forms.
struct Types {
  bool truth = false;
  bool signed_integer = false;
  bool unsigned_integer = false;
  bool real = false;
  bool complex = false;
  bool other = false;  ///< of which nothing is known

  [[nodiscard]] bool has(const ElementKind& kind) const;
  friend bool operator==(const Types&, const Types&) = default;
};

enum class Role {
  moved,    ///< its elements go to the result
  decides,  ///< its numbers say where elements go: they must be known
};

struct Operand {
  std::string_view name;
  Types types;
  Role role = Role::moved;
  bool is_scalar = false;
  bool is_repeated = false;  ///< one, or several
};

/// What the element type of a result is.
enum class Result {
  as_moved,  ///< that of the first operand that is moved
  written,   ///< what the text says
  truth,
};

/// What an operation does to elements of the array.
enum class Effect {
  makes,       ///< there are none yet
  moves,       ///< every place of the result holds what one place of an operand holds
  converts,    ///< the same element as another type, where that has all values
  adds,        ///< a formal sum, maximum or minimum; numbers by arithmetic
  calculates,  ///< numbers alone: with elements the operation is refused
  computes,    ///< what stands in whole programs alone, where nothing is a mere element
};

/// What an operation is to numbers with a point, where these are numbers of a prime field. Integers
/// and truth values stay what they are; those of unknown operations are as little known.
enum class InField {
  nothing,  ///< it makes, moves or reads them as they are, or takes none
  exact,    ///< sums, products and quotients, which the field has
  ordered,  ///< decided by one order of all numbers of the field
  unknown,  ///< a function of which is known alone that equal operands have equal results
  called,   ///< what the computations that it calls are
};

struct Attribute {
  std::string_view hlo;         ///< empty where HLO has none
  std::string_view stablehlo;   ///< empty where StableHLO has none
  std::string_view short_name;  ///< in StableHLO's own form, where that is another
  std::string_view missing;     ///< what is meant where it is missing; empty: it must be there
  std::string_view meaning;
  bool decides = true;  ///< whether another value of it may make another result
};

struct Row {
  Id id{};
  std::string_view hlo;        ///< empty where HLO has no such operation
  std::string_view stablehlo;  ///< without the dialect's name
  std::vector<Operand> operands;
  Result result = Result::as_moved;
  std::vector<Attribute> attributes;
  Effect effect{};
  std::optional<Arithmetic> arithmetic;
  std::string_view meaning;    ///< of `r` what is at index i, of operands as they are called
  std::string_view spec;       ///< the section of the specification of StableHLO
  std::string_view semantics;  ///< the section of XLA's Operation Semantics
  InField in_field = InField::nothing;
  Scope scope = Scope::moves;
  /// What else StableHLO's texts call it, with the dialect's name.
  std::vector<std::string_view> others = {};
};

/// In the order of `Id`.
[[nodiscard]] std::span<const Row> rows();
[[nodiscard]] const Row& row_of(Id id);
/// The row of an operation on numbers.
[[nodiscard]] const Row& row_of(Arithmetic arithmetic);
/// By names; null where the table has none that the readers of a scope know.
[[nodiscard]] const Row* find_hlo(std::string_view name, Scope scope = Scope::computes);
[[nodiscard]] const Row* find_stablehlo(std::string_view name, Scope scope = Scope::computes);
/// By a name with its dialect, `stablehlo.add` or `chlo.erf`: also by those of `Row::others`.
[[nodiscard]] const Row* find_mlir(std::string_view name);

[[nodiscard]] bool has_hlo_attribute(const Row& row, std::string_view name);
/// Attributes that any instruction of HLO may have, and that say nothing about where elements go, nor
/// about numbers. An operation for which one of them says something has it in its row.
[[nodiscard]] std::span<const std::string_view> hlo_attributes_without_meaning();
/// Whether another value of an attribute of HLO may make another result; so it is of one that nobody knows.
[[nodiscard]] bool decides_in_hlo(const Row& row, std::string_view name);
[[nodiscard]] bool has_stablehlo_attribute(const Row& row, std::string_view name);

/// Whether every operation of a reader's scope stands in one of two lists, of what it makes of it, and in
/// one only.
template <typename A, typename B, std::size_t count>
[[nodiscard]] constexpr bool are_all_read(const std::array<A, count>& some,
                                          const std::array<B, count>& others) {
  static_assert(count == moved_count || count == id_count);
  for (std::size_t k = 0; k < count; ++k) {
    if ((some[k] != nullptr) == (others[k] != nullptr)) return false;
  }
  return true;
}

/// The role of an operand, counted from 0; what is repeated goes on.
[[nodiscard]] const Operand& operand_of(const Row& row, std::size_t number);

}  // namespace retile::operations
