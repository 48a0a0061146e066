// What devices hold of one value: cells, which are numbers, or tags of elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/size.h"
#include "retile/core/walk.h"
#include "retile/operations/element.h"

namespace retile::foreign {

/// What is in one place: an atom from 0 (addend * global size + index of the element, row by row), a
/// sum (sums.h), or one of these.
using Tag = std::int32_t;
inline constexpr Tag zero_tag = -1;
inline constexpr Tag undefined_tag = -2;  ///< anything may be there
inline constexpr Tag nothing_tag = -3;    ///< what adds nothing to a maximum or a minimum

/// What cells are: tags, or words (operations/element.h) that are known.
enum class Content { tags, integers, reals };

/// A limit at which nobody knows the answer. Thrown inside of the room.
struct LimitReached {
  std::string what;
};

/// How many elements a tensor has.
/// Precondition: its type was checked.
[[nodiscard]] inline Size count_of(const Shape& extents) {
  const auto out = checked_product(extents);
  RETILE_ASSERT(out, "types were checked");
  return *out;
}

/// Counts the bytes of all cells that live.
/// Precondition: outlives them.
class Budget {
 public:
  explicit Budget(Size most_bytes) : most_(most_bytes) {}
  /// Throws LimitReached.
  void take(Size bytes);
  void give_back(Size bytes) { used_ -= bytes; }

 private:
  Size most_;
  Size used_ = 0;
};

/// The cells of one device's tile, row by row. Devices that hold the same share them.
class Cells {
 public:
  using Tags = std::vector<Tag>;
  using Numbers = std::vector<std::int64_t>;

  Cells(Budget& budget, Content content, Size count, std::int64_t fill);
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;
  ~Cells();

  [[nodiscard]] Content content() const { return content_; }
  [[nodiscard]] bool are_tags() const { return content_ == Content::tags; }
  [[nodiscard]] const Tags& tags() const { return std::get<Tags>(of_); }
  [[nodiscard]] Tags& tags() { return std::get<Tags>(of_); }
  /// Of integers and of reals.
  [[nodiscard]] const Numbers& numbers() const { return std::get<Numbers>(of_); }
  [[nodiscard]] Numbers& numbers() { return std::get<Numbers>(of_); }

 private:
  Budget* budget_;
  Content content_;
  Size bytes_;
  std::variant<Tags, Numbers> of_;
};

using Block = std::shared_ptr<const Cells>;

/// A number as the tag of an element; signs of zeros are not followed.
/// Precondition: they are no tags.
[[nodiscard]] inline Tag tag_of(operations::Word word, Content content) {
  const bool is_zero = content == Content::reals ? operations::real_of(word) == 0 : word == 0;
  return is_zero ? zero_tag : undefined_tag;
}

/// Where the cells of a box lie in an array: its first one, and how far neighbours are apart.
struct Lane {
  Size offset = 0;
  Shape strides;
};

/// The lane of a box at `start` in an array of these extents.
[[nodiscard]] Lane lane_at(const Shape& start, const Shape& extents);
/// The lane of the first box.
[[nodiscard]] Lane lane_of(const Shape& extents);

/// Copies a box of these extents; numbers become tags where they go among tags.
/// Precondition: it lies inside of both.
void copy(const Cells& source, const Lane& from, const Shape& extents, Cells& target,
          const Lane& to);

}  // namespace retile::foreign
