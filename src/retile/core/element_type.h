// Element types: what an element is, and how many bytes it has.
//
// Moving bytes needs the size alone. Files say the kind too, and so must whoever adds elements.
#pragma once

#include <span>
#include <string_view>

#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile {

enum class ElementKind {
  signed_integer,
  unsigned_integer,
  floating,        ///< IEEE 754; of 16 bytes what the machine calls long double
  brain_floating,  ///< the upper half of a floating of 4 bytes
  complex,         ///< two floatings
  boolean,
  datetime,   ///< 8 bytes since 1970, in a unit that the file names
  timedelta,  ///< a difference of two of these
};

struct ElementType {
  ElementKind kind = ElementKind::floating;
  Size bytes = 4;
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

/// Whether elements of this size can be moved: 1, 2, 4, 8 or 16 bytes.
[[nodiscard]] constexpr bool is_element_size(Size bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/// Refuses a size that is none.
/// \error bad_argument
[[nodiscard]] Result<void> check_element_size(Size bytes);

/// A type with the name that people type: `f32`.
struct NamedElementType {
  std::string_view name;
  ElementType type;
};

/// i8 u8 i16 u16 f16 bf16 i32 u32 f32 i64 u64 f64 c64 c128.
[[nodiscard]] std::span<const NamedElementType> named_element_types();

}  // namespace retile
