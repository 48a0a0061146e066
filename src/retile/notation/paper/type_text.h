// Types as text together with where each dimension stands, for diagnostics that point.
// Room-internal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/diagnostic.h"
#include "retile/core/size.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/wellformed.h"

namespace retile {

/// A type's text and the places of its dimensions.
struct TypeText {
  std::string text;
  std::vector<Span> dims;  ///< one span per dimension
  Span closing;            ///< the closing bracket
};

/// `3{x,6:4}72`, whatever says the cuts; without parts `12`.
[[nodiscard]] std::string dim_text(const std::string& cuts, const std::vector<std::string>& parts,
                                   const std::string& global);

/// `12`, or with parts `3{x,6:4}72`.
[[nodiscard]] std::string dim_text(Size tile, const std::vector<std::string>& parts, Size global);

/// One dimension in canonical form: `12`, `3{x,y}72`.
[[nodiscard]] std::string dim_text(const DistDim& dim);

/// `3{x,y}72<1,1>`; `12` where nothing splits it.
[[nodiscard]] std::string dim_text(const CutDim& dim);
/// `x`, `x:(2)3`
[[nodiscard]] std::string part_text(const AxisPart& part);

/// The canonical text of a type.
[[nodiscard]] TypeText type_text(const DistType& type);

}  // namespace retile
