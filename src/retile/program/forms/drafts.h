// What is known about a Program before it is built: values as written, with the places they stand
// at. Private to the forms.
//
// A reader turns its syntax into drafts and hands them to a Builder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/notation/paper/grammar.h"
#include "retile/program/ops.h"
#include "retile/text/place.h"

namespace retile::forms {

using text::Place;
using text::Token;

/// `[[0,4],[1,5]]`, flat.
struct RowsDraft {
  std::vector<Size> entries;
  std::vector<std::size_t> lengths;
};

struct StageDraft {
  Shape shape;
  std::optional<std::vector<Size>> transpose;
};

/// Rows, or an iota: then `stages` is not empty and `left` stands before its first `<=`. Stages as
/// written, left to right.
struct TableDraft {
  RowsDraft rows;
  Shape left;
  std::vector<StageDraft> stages;
  [[nodiscard]] bool is_iota() const { return !stages.empty(); }
};

/// `name`, `name:4` or `6:4`; the stride of a name is looked up when the tiling is read.
struct DigitDraft {
  Digit digit;
  std::string name;  ///< empty for stride:size
  bool named = false;
  Place place;
  bool is_part = false;  ///< of an axis
};

using DimDraft = paper::WrittenDim<DigitDraft>;

/// `sum{x,6:4}` before the bracket.
struct AddendsDraft {
  Addition addition = Addition::sum;
  std::vector<DigitDraft> parts;
  Place place;
};

/// Dimensions in brackets, or three or four lists.
struct TilingDraft {
  Place place;
  std::optional<AddendsDraft> addends = {};
  std::vector<DimDraft> dims;
  std::optional<Token<Size>> root = {};  ///< the device that alone holds it
  bool is_listed = false;
  Token<Shape> tile = {};
  Token<Shape> global = {};
  Token<RowsDraft> at = {};
  std::optional<Token<RowsDraft>> shapes = {};
};

/// The value of a key of any kind.
using ValueDraft =
    std::variant<Token<Size>, Token<TableDraft>, Token<RowsDraft>, Token<std::vector<Size>>,
                 TilingDraft, Token<Addition>, Token<PieceSize>>;

/// A step with the keys that it has; which ones it needs is the Builder's question.
struct StepDraft {
  std::size_t op = 0;  ///< the row of op_table()
  Place place;
  std::vector<std::pair<std::string_view, ValueDraft>> keys;

  [[nodiscard]] bool has(std::string_view key) const;
  /// The value of a key of type T, or null when the step has none.
  template <typename T>
  [[nodiscard]] const T* find(std::string_view key) const {
    for (const auto& [name, value] : keys) {
      if (name == key) return &std::get<T>(value);
    }
    return nullptr;
  }
  /// The same. Precondition: the step has the key.
  template <typename T>
  [[nodiscard]] const T& get(std::string_view key) const {
    return *find<T>(key);
  }
};

/// The row of op_table() with that name, in that version of the forms. Unknown and reserved names
/// fail at `place`.
[[nodiscard]] std::size_t op_row(std::string_view word, const Place& place, int version);
/// The key of that name that a step of this row can have in that version of the forms. Fails at
/// `place` where it has none.
[[nodiscard]] const Key& op_key(std::size_t row, std::string_view name, const Place& place,
                                int version);

}  // namespace retile::forms
