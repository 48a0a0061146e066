// Modules: values on many devices, local operations on their tiles, and redistributions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/program/forms/layout_reader.h"
#include "retile/program/program.h"
#include "retile/spmd/expression.h"

namespace retile::spmd {

/// What a value is on each device.
struct Type {
  forms::LocalLayout local;
  std::string text;  ///< as written
  text::Place place;

  [[nodiscard]] const Layout& layout() const { return local.layout; }
  /// Of what a device holds.
  [[nodiscard]] Shape shape(Size device) const;
};

struct Value {
  std::string name;
  Type type;
  Below below = {};  ///< of an array of indices, and redistributed ones: `col : [8] below 6`
};

/// `spmd x y { .. }`: values number 0, 1, .. of its expressions are the arguments, and those behind
/// them the definitions.
struct SpmdOp {
  std::vector<std::size_t> arguments;  ///< in Module::values
  std::vector<std::pair<std::string, Expression>> definitions;
  Expression result;
};
/// `redistribute x`, and the Program that says how, if one stands behind it.
struct RedistributeOp {
  std::size_t argument = 0;  ///< in Module::values
  std::optional<Program> program = {};
};
struct Statement {
  std::size_t value = 0;  ///< what it makes, in Module::values
  std::variant<SpmdOp, RedistributeOp> op;
  text::Place place;  ///< of its first word
  text::Place lines;  ///< all of it
};

/// What `main` returns of the values, each with the type behind the arrow.
struct Returned {
  std::size_t value = 0;  ///< in Module::values
  Type type;
};
/// What it means: an expression for each that is returned, of global arrays. Values number 0, 1, .. are the
/// parameters, and those behind them the definitions.
struct Denoted {
  std::vector<std::pair<std::string, Expression>> definitions;
  std::vector<Expression> results;
};

/// A module that has a type (Fig. 9, with layouts in the place of types).
struct Module {
  Mesh mesh;
  bool has_order = false;  ///< an order says which device stands at each position of the mesh
  Size devices = 1;
  std::vector<Value> values;  ///< the parameters, then one for each statement
  std::size_t parameters = 0;
  std::vector<Statement> body;
  std::vector<Returned> returned;  ///< at least one, all of different values
  std::optional<Denoted> denotes;
};

/// A module of more devices, or of more elements of one value on all devices, is not read.
inline constexpr Size most_devices = Size{1} << 16;
inline constexpr Size most_elements = Size{1} << 32;

/// Whether the first word of a text says that it is a module.
[[nodiscard]] bool is_module(std::string_view text);

/// Reads `retile.spmd/1` (docs/reference/modules.md) and types it: T-SPMD on every device, local shapes
/// included, and what redistributions keep.
/// \param input  outlives what is returned
/// \error syntax and those of layouts, with a place; inapplicable (operands that do not fit, or a
///     result that is not its tile) [T-SPMD], (indices of take that may not be some) [T-TAKE];
///     unsupported (limits, stacks)
[[nodiscard]] Result<Module> read_module(const text::Input& input);

}  // namespace retile::spmd
