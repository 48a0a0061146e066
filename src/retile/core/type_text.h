// Types as text together with where each part stands, for diagnostics that point. Room-internal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/diagnostic.h"
#include "retile/core/dist_type.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"

namespace retile {

/// A type's text and the places of its parts.
struct TypeText {
  std::string text;
  std::vector<Span> dims;  ///< one span per dimension
  Span closing;            ///< the closing bracket
};

/// One dimension in canonical form: `12`, `3{x,y}72`.
[[nodiscard]] std::string dim_text(const DistDim& dim);

/// The canonical text of a type.
[[nodiscard]] TypeText type_text(const DistType& type);

/// A type and its text as it was written.
struct WrittenType {
  DistType type;
  TypeText text;
};

/// parse_type that keeps the places.
[[nodiscard]] Result<WrittenType> parse_written_type(std::string_view text, const Mesh& mesh,
                                                     std::string_view source);

}  // namespace retile
