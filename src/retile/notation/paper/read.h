// Reading meshes, types and layouts with their places. Room-internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/type_text.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/place.h"

namespace retile::paper {

/// A type and its text as it was written.
struct WrittenType {
  DistType type;
  TypeText text;
};

/// A layout and the text that it was written as.
struct WrittenLayout {
  Layout layout;
  std::string spelling;  ///< canonical
  TypeText text;
  std::vector<CutDim> dims;
  /// The device that alone holds it: a layout of devices. Else it is of the positions of its mesh.
  std::optional<Size> root = {};
};

/// As parse_mesh, parse_type and parse_layout, but the first mistake is thrown.
[[nodiscard]] Mesh read_mesh(const text::Input& input);
[[nodiscard]] WrittenType read_type(const text::Input& input, const Mesh& mesh);
/// \param devices  of which one may hold everything
[[nodiscard]] WrittenLayout read_layout(const text::Input& input, const Mesh& mesh, Size devices);

/// The layout of dimensions that break no rule over the mesh.
[[nodiscard]] Layout layout_of(const Mesh& mesh, const std::vector<CutDim>& dims);
/// Canonical: ", " between dimensions, "," between axes, `12` for `12{}12`; without what splits
/// nothing. Precondition: dimensions that break no rule.
[[nodiscard]] std::string layout_text(const Mesh& mesh, std::vector<CutDim> dims);

}  // namespace retile::paper
