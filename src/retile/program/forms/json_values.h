// JSON values with their places, as far as Programs hold them. Private to the forms.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "drafts.h"
#include "retile/text/place.h"

namespace retile::forms {

/// One JSON value. Arrays of numbers and arrays of such arrays are kept flat: tables may be long.
struct JsonValue {
  enum class Kind { null, number, string, array, object };
  Kind kind = Kind::null;
  Span where;
  std::string key;  ///< of a member of an object
  Span key_where;
  std::string text;
  Size number = 0;
  RowsDraft rows;  ///< an array: numbers have no lengths, rows of numbers have one per row
  std::vector<JsonValue> items;  ///< an array's other elements, an object's members

  [[nodiscard]] bool is_numbers() const {
    return kind == Kind::array && items.empty() && rows.lengths.empty();
  }
  [[nodiscard]] bool is_rows() const {
    return kind == Kind::array && items.empty() && (rows.entries.empty() || !rows.lengths.empty());
  }
};

/// Reads the value that begins at or after `position`, and moves past it. What no Program can hold
/// fails at once, so that nothing useless is kept: objects elsewhere than at the top and in `steps`,
/// unknown and doubled keys, deep nesting, numbers that are no sizes.
[[nodiscard]] JsonValue read_json(const text::Input& input, std::size_t& position);

}  // namespace retile::forms
