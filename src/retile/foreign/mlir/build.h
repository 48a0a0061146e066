// From the tree to operations on tiles: what the dialects share. Room-internal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "retile/foreign/list_count.h"
#include "retile/foreign/mlir/along.h"
#include "retile/foreign/mlir/tree.h"
#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/notation/sharding.h"

namespace retile::foreign::mlir {

[[noreturn]] void refuse_at(const Place& place, Code code, std::string message,
                            std::vector<std::string> notes = {});

/// What all functions of a module see.
struct ModuleContext {
  const text::Input* input = nullptr;
  const std::vector<std::size_t>* lines = nullptr;  ///< where every line begins
  ListCount* lists = nullptr;                       ///< of all functions together
  std::map<std::string, PlacedMesh, std::less<>> meshes = {};
  std::map<std::string, const Op*, std::less<>> functions = {};
  std::optional<Size> replicas = {};
  std::optional<Size> partitions = {};
};

/// Where every line of a text begins.
[[nodiscard]] std::vector<std::size_t> line_begins(std::string_view text);
[[nodiscard]] FilePlace file_place(const ModuleContext& context, const Place& place);

/// An attribute of an operation under one of two names; nothing where neither stands there.
[[nodiscard]] const Attribute* find(const Op& op, std::string_view name,
                                    std::string_view other = "");
/// It must stand there.
[[nodiscard]] const Attribute& need(const Op& op, std::string_view name,
                                    std::string_view other = "");
[[nodiscard]] std::int64_t number_of(const Attribute& attribute);
/// A number that may be the number of a dimension; refuses negative ones.
[[nodiscard]] std::size_t dim_of(const Attribute& attribute);
/// Integers, as many as they are.
[[nodiscard]] const std::vector<std::int64_t>& numbers_of(const Attribute& attribute);
/// The same, where one stands for `count` alike.
[[nodiscard]] Shape shape_of(const Attribute& attribute, std::size_t count);
[[nodiscard]] std::vector<std::size_t> dims_of(const Attribute& attribute);

/// What stands in the brackets of a dialect's attribute, these included.
[[nodiscard]] const Place& body_of(const Attribute& attribute);
[[nodiscard]] std::string_view text_at(const Place& place);

/// A sharding of an array of that shape, at a place in the text.
[[nodiscard]] Sharding sharding_at(const ModuleContext& context, const Place& place,
                                   std::optional<Shape> shape);

/// As Shardy's verifier: parts of an axis that are one part are written as one.
void check_parts(const Sharding& sharding, const Place& place);

/// Makes a Function, operation after operation.
class Builder {
 public:
  Builder(const ModuleContext& context, const Op& function);

  Function out;

  [[nodiscard]] const ModuleContext& context() const { return context_; }
  /// The tiles of a type; refuses what is none, or not known.
  [[nodiscard]] TileType tile_of(const Type& type) const;

  ValueId add(Action action, const Op& op, std::string name, std::vector<ValueId> operands,
              TileType type);
  ValueId add_parameter(const std::string& name, TileType type, const Place& place);

  // Names of values, which regions of their own may use again.

  [[nodiscard]] ValueId look_up(const ValueName& name) const;
  [[nodiscard]] std::vector<ValueId> operands(const Op& op) const;
  [[nodiscard]] std::vector<TileType> types_of(const std::vector<ValueId>& ids) const;
  /// What a terminator hands on, which has the types that stand there.
  [[nodiscard]] std::vector<ValueId> returned(const Op& terminator) const;
  void know(const Op& op, const std::vector<ValueId>& values);
  void know(const std::string& name, std::vector<ValueId> values, const Place& place);
  using Scope = std::unordered_map<std::string, std::vector<ValueId>>;
  [[nodiscard]] Scope& scope() { return scope_; }

  /// How a result is called.
  [[nodiscard]] static std::string result_name(const Op& op, std::size_t number = 0);

 private:
  const ModuleContext& context_;
  Scope scope_;
};

/// That a function says these types of its results. Who has partitioned it may have left it the whole
/// array's extents.
enum class Extents { said, any };
void check_results(const Builder& builder, const Op& function, const std::vector<TileType>& types,
                   Extents extents = Extents::said);

/// The block of a function, and what its attributes say.
[[nodiscard]] const Block& body_of(const Op& function);
[[nodiscard]] std::string name_of(const Op& function);
/// `sdy.sharding` of an argument or of a result; nothing where there is none.
[[nodiscard]] const Attribute* sharding_attribute(const Op& function, std::string_view list,
                                                  std::size_t number);

// The dialects.

[[nodiscard]] Function read_tiles(const ModuleContext& context, const Op& function,
                                  const ReadOptions& options);
/// Takes the operations away: of long functions the tree is most of what is held.
[[nodiscard]] Function read_shardy(const ModuleContext& context, Op& function);
[[nodiscard]] Function read_mesh(const ModuleContext& context, const Op& function);

}  // namespace retile::foreign::mlir
