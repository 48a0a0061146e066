// Problems in the paper's notation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "retile/core/device_table.h"
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

/// A mesh, and who stands where on it.
struct PlacedMesh {
  Mesh mesh;
  /// The device at each position, distinct, in one row; nothing: position p is device p.
  std::optional<DeviceTable> order = {};
  std::optional<std::string> order_text = {};  ///< of the order, for printing

  /// One more than the largest device.
  [[nodiscard]] Size devices() const;
};

/// Reads two types over meshes of their own. There are as many devices as the meshes and their orders
/// name; who stands on none holds nothing, and `@` names any of them.
/// \param to_mesh  that of `from`, if absent; diagnostics call its order `--order-to`, and that of `from`
///     `--order`
/// \error as parse_type and make_problem; too_many_devices; limit_reached (a list of what each device
///     holds would be too long); unsupported (an array of rank 0 where devices stand on no mesh)
[[nodiscard]] Result<Problem> parse_problem(const PlacedMesh& mesh,
                                            const std::optional<PlacedMesh>& to_mesh,
                                            std::string_view from, std::string_view to);

}  // namespace retile
