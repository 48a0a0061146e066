// Problems in the paper's notation.
#pragma once

#include <string_view>

#include "retile/core/mesh.h"
#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/notation/paper/dist_type.h"

namespace retile {

/// The Problem that two types over one mesh are; its spelling is their canonical text.
/// \error rank_mismatch, globaltype_mismatch (Sec. 2.5); unknown_axis, ill_formed_type when a type
///     belongs to another mesh
[[nodiscard]] Result<Problem> make_problem(const Mesh& mesh, const DistType& from,
                                           const DistType& to);

/// Reads all three; diagnostics name their source `--mesh`, `FROM`, `TO`.
/// \error as parse_mesh, parse_type and make_problem
[[nodiscard]] Result<Problem> parse_problem(std::string_view mesh, std::string_view from,
                                            std::string_view to);

}  // namespace retile
