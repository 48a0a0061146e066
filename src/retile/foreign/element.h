// Element types of other systems, as far as it matters what numbers do in them.
#pragma once

#include <cstdint>
#include <string_view>

#include "retile/core/size.h"

namespace retile::foreign {

/// Integers of 1 to 64 bits, truth values, and all others.
struct ElementKind {
  enum class Form { truth, integer, other };
  Form form = Form::other;
  Size bits = 0;  ///< 0: nobody knows
  bool is_signed = true;

  [[nodiscard]] bool is_number() const { return form != Form::other; }
  [[nodiscard]] Size bytes() const { return (bits + 7) / 8; }
};

/// Of `pred`, `i1`, `s32`, `ui8`, `i64`, `index`, `f32`, `bf16`, `c64`, `complex<f32>`, ..
[[nodiscard]] ElementKind element_kind(std::string_view name);

/// A number as one of that type holds it: its lowest bits.
/// Precondition: kind.is_number()
[[nodiscard]] std::int64_t wrapped(std::int64_t number, const ElementKind& kind);

}  // namespace retile::foreign
