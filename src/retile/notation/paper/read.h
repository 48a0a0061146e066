// Reading meshes and types with their places. Room-internal.
#pragma once

#include "retile/core/mesh.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/type_text.h"
#include "retile/text/place.h"

namespace retile::paper {

/// A type and its text as it was written.
struct WrittenType {
  DistType type;
  TypeText text;
};

/// As parse_mesh and parse_type, but the first mistake is thrown.
[[nodiscard]] Mesh read_mesh(const text::Input& input);
[[nodiscard]] WrittenType read_type(const text::Input& input, const Mesh& mesh);

}  // namespace retile::paper
