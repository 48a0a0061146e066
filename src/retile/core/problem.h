// A redistribution problem: two tilings of one global array over the same devices.
#pragma once

#include <optional>

#include "retile/core/dist_type.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"

namespace retile {

/// What `plan` solves. The tile maps are the truth; mesh and types are how the caller wrote them.
struct Problem {
  Mesh mesh;
  DistType from_type;
  DistType to_type;
  Layout from;
  Layout to;

  /// \error rank_mismatch, globaltype_mismatch (Sec. 2.5); unknown_axis, ill_formed_type when a
  /// type belongs to another mesh
  [[nodiscard]] static Result<Problem> make(const Mesh& mesh, const DistType& from,
                                            const DistType& to);
};

/// Reads all three in the paper's notation; diagnostics name their source `--mesh`, `FROM`, `TO`.
[[nodiscard]] Result<Problem> parse_problem(std::string_view mesh, std::string_view from,
                                            std::string_view to);

}  // namespace retile
