// The syntax of MLIR's text, whatever dialect: operations in their generic form and in their own, as
// one tree. Room-internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/operations/table.h"
#include "retile/text/place.h"

namespace retile::foreign::mlir {

using text::Place;

/// `tensor<4x8xf32>`, `index`, `(tensor<4xf32>) -> tensor<4xf32>`, ..
struct Type {
  enum class Kind { tensor, scalar, function, other };
  Kind kind = Kind::other;
  std::string element = {};  ///< of a tensor; of others the type's text
  Shape extents = {};
  bool is_known = true;  ///< no extent is `?`, the rank no `*`
  std::vector<Type> inputs = {};
  std::vector<Type> outputs = {};
  Place place = {};
};

struct Attribute;
using AttributePtr = std::shared_ptr<const Attribute>;  // shared: an alias may stand in many places

struct NamedAttribute {
  std::string name;
  AttributePtr value;
  Place place;
};

struct Attribute {
  enum class Kind {
    unit,
    number,  ///< integers and truth values
    real,    ///< any other number
    text,
    symbol,      ///< `@m`
    list,        ///< `[..]`
    dictionary,  ///< `{..}`
    numbers,     ///< `dense<..>`, `array<..>`, and lists of integers
    type,
    dialect,  ///< `#sdy.sharding<..>`: its name, and the text in its brackets, these included
  };
  Kind kind = Kind::unit;
  Place place = {};
  std::int64_t number = 0;
  std::string text = {};  ///< of a text, a symbol, a dialect's attribute
  std::vector<AttributePtr> items = {};
  std::vector<NamedAttribute> entries = {};
  /// One where all are alike: words of the type (operations/element.h), or, where it has none, 1 for
  /// any number but 0.
  std::vector<std::int64_t> numbers = {};
  std::vector<Place> value_places = {};  ///< of values `%0` that stand among numbers
  std::shared_ptr<const Type> written_type = {};
  Place body = {};

  /// Of numbers, if it is written; of a type. Beside most attributes none is, and they are many.
  [[nodiscard]] const Type& type() const {
    static const Type none;
    return written_type == nullptr ? none : *written_type;
  }
  void set_type(Type type) { written_type = std::make_shared<const Type>(std::move(type)); }
};

/// Whether it is a function of CHLO, number by number, that HLO has no name for: compilers put a
/// formula in its place.
[[nodiscard]] bool is_unnamed_function(std::string_view name);

/// Whether an operation of this name ends a block.
[[nodiscard]] inline bool is_return(std::string_view name) {
  return name == "return" || name == "func.return" || name == "stablehlo.return" ||
         name == "sdy.return";
}

[[nodiscard]] inline AttributePtr shared(Attribute attribute) {
  return std::make_shared<const Attribute>(std::move(attribute));
}

/// `%0` or `%0:2` before the `=`.
struct ResultName {
  std::string name;
  std::size_t count = 1;
  Place place;
};

/// `%0` or `%0#1`.
struct ValueName {
  std::string name;
  std::size_t number = 0;
  Place place;
};

struct Argument {
  std::string name;
  Type type;
  std::vector<NamedAttribute> attributes;
  Place place;
};

struct Op;
/// A list, so that a reader can let go of what it has read: a tree is larger than its text.
using Ops = std::list<Op>;
struct Block {
  std::vector<Argument> arguments;
  Ops ops;
};
struct Region {
  std::vector<Block> blocks;
};

struct Op {
  std::string name;  ///< `stablehlo.add`
  Place place;
  std::vector<ResultName> results = {};
  std::vector<ValueName> operands = {};
  /// Under the names of the generic form, or those of the own form where these differ.
  std::vector<NamedAttribute> attributes = {};
  std::vector<Region> regions = {};
  std::vector<Type> operand_types = {};
  std::vector<Type> result_types = {};
  Place location = {};  ///< what stands in the brackets of `loc(..)`, if it stands there
};

[[nodiscard]] inline const Attribute* find_in(const std::vector<NamedAttribute>& attributes,
                                              std::string_view name) {
  for (const NamedAttribute& attribute : attributes) {
    if (attribute.name == name) return attribute.value.get();
  }
  return nullptr;
}

/// Refuses an operation by name, as what reads operations of a scope.
[[noreturn]] void fail_unread(const std::string& name, const Place& place,
                              operations::Scope scope = operations::Scope::moves);

/// The operations of a text outside of all others, of every part of it: `// -----` parts what knows
/// nothing of each other.
/// \param scope  whose operations' own forms are read
[[nodiscard]] std::vector<Ops> parse(const text::Input& input,
                                     operations::Scope scope = operations::Scope::moves);

}  // namespace retile::foreign::mlir
