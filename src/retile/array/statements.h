// Statements on arrays, with affine subscripts, and how their work is cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/spmd/expression.h"
#include "retile/text/place.h"

namespace retile::array {

/// A subscript: `constant` and for each variable that it has (a number in Statement::variables) a
/// factor, which is not 0. Variables ascend. Or an element of an array of indices: `x[col[j]]`.
struct Subscript {
  std::vector<std::pair<std::size_t, Size>> factors;
  Size constant = 0;
  std::optional<std::size_t> index = {};  ///< in Statement::reads; nothing else is in it then
  friend bool operator==(const Subscript&, const Subscript&) = default;
};

/// NAME[subscripts]
struct Access {
  std::size_t array = 0;  ///< in Statements::arrays
  std::vector<Subscript> subscripts;
  text::Place place;
};

enum class TermKind { access, number, operation };

/// The right side of a statement.
struct Term {
  TermKind kind = TermKind::number;
  std::size_t access = 0;  ///< in Statement::reads
  Size number = 0;
  spmd::LocalOp op =
      {};  ///< of elements: add, sub, mul, div, max, min, neg, relu, exp, sqrt, step or equal
  std::vector<Term> args;

  [[nodiscard]] bool is(spmd::LocalOp other) const {
    return kind == TermKind::operation && op == other;
  }
};

/// How values meet that are written to one element.
enum class Meeting { assign, add, max, min };

struct Variable {
  std::string name;
  Size extent = 0;  ///< it takes the values 0 .. extent - 1
};

/// `h[i,j] += x[i,k] * w[k,j]`
struct Statement {
  Access out;
  Meeting meeting = Meeting::assign;
  std::vector<Access> reads;
  Term body;
  std::vector<Variable> variables;
  text::Place place;
};

struct Array {
  std::string name;
  std::optional<Shape> shape;         ///< nothing before the statement that makes it
  std::optional<std::string> layout;  ///< as it stands in the text, or `at root`
  text::Place layout_place = {};      ///< where it stands
  bool at_root = false;
  bool is_input = true;
  /// Of a variable that no array has: `for n:1000` reads an input of which only the extent counts.
  bool is_range = false;
  /// Of an array of indices: the extent of all dimensions that it is a subscript of.
  spmd::Below below = {};
  text::Place place;
};

/// `schedule NAME i:2,j:2`: into how many pieces each variable of the statement that makes NAME is cut.
struct Schedule {
  std::string array;
  std::vector<std::pair<text::Token<std::string>, Size>> pieces;
  text::Place place;
};

/// `tactic tile NAME DIM by AXIS:INT`, or `tactic propagate` without a name.
struct Tactic {
  std::string array;
  Size dim = 0;
  std::string axis;
  Size pieces = 1;
  text::Place place;
};

/// `return NAME`, and where it is wanted: in a layout, on device 0, or just as an input is given.
struct Returned {
  std::size_t array = 0;  ///< in Statements::arrays
  std::optional<std::string> layout = {};
  text::Place layout_place = {};
  bool at_root = false;
  std::optional<std::size_t> as = {};  ///< the input
};

struct Statements {
  std::vector<Array> arrays;
  std::vector<Statement> statements;
  std::vector<Schedule> schedules;
  std::vector<Tactic> tactics;
  std::vector<Returned> returned;  ///< at least one
};

/// Reads `retile.array/1`. Every variable gets its extent: that of a range behind the statement, else the
/// most for which every access is inside its array; arrays that are not declared get the extents of the variables that they are written at.
/// \param input  outlives what is returned
/// \error syntax and others, with a place; limit_reached
[[nodiscard]] Result<Statements> read_statements(const text::Input& input);
/// What an option `--schedule 'h=i:2,j:2;y=i:2,k:2'` says. \param input  outlives what is returned
[[nodiscard]] Result<std::vector<Schedule>> read_schedules(const text::Input& input);

}  // namespace retile::array
