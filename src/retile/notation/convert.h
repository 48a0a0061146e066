// A sharding as other systems write it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/notation/sharding.h"

namespace retile {

/// HLO has three forms: lists of devices, iotas, and named meshes. MLIR's changed between releases.
enum class ShardingForm { jax, hlo1, hlo2, hlo3, sdy, dtensor, mlir19, mlir22, paper };

inline constexpr std::array<std::string_view, 9> sharding_form_names = {
    "jax", "hlo1", "hlo2", "hlo3", "sdy", "dtensor", "mlir19", "mlir22", "paper"};

/// The same layout, its axes named by another mesh with as many devices.
/// \error unsupported (no axes of the mesh, and no parts of axes, say it), bad_argument (another
///     number of devices)
[[nodiscard]] Result<Sharding> over_mesh(const Sharding& sharding, const PlacedMesh& mesh);

/// The sharding in that form, on one line. JAX, Shardy and HLO 3 write their mesh with it; DTensor and MLIR
/// do not, and call it @mesh.
/// \error unsupported: what the form cannot say, by name
[[nodiscard]] Result<std::string> to_text(const Sharding& sharding, ShardingForm form);

/// A mesh as the form defines it: `sdy.mesh @mesh = <["x"=2]>`; the paper's where the form has none.
/// \error unsupported
[[nodiscard]] Result<std::string> mesh_text(const PlacedMesh& mesh, ShardingForm form);

/// `"x"` or `"x":(1)2`, between commas, MAJOR to minor, from parts minor to major; neighbours that make up an
/// axis or a longer part are joined.
[[nodiscard]] std::string axes_text(const Mesh& mesh, const std::vector<AxisPart>& parts,
                                    char quote = '"');
/// Joins parts that are neighbours; minor to major.
[[nodiscard]] std::vector<AxisPart> joined(const Mesh& mesh, const std::vector<AxisPart>& parts);

}  // namespace retile
