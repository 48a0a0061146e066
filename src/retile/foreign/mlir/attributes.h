// What attributes of operations mean, so that every reader takes them alike. Room-internal.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/foreign/mlir/build.h"

namespace retile::foreign::mlir {

/// The groups of a collective, in numbers of devices, or as axes of a mesh. Refuses numbers of replicas
/// in a program of partitions: who means them does not mean devices.
/// \param has_global_ids  whether the operation may say use_global_device_ids
[[nodiscard]] Groups groups_of(const ModuleContext& context, const Op& op, bool has_global_ids);
/// Who sends to whom.
[[nodiscard]] std::vector<std::pair<Size, Size>> pairs_of(const ModuleContext& context,
                                                          const Op& op);
[[nodiscard]] Compare comparison_of(const Op& op);
/// The last word of `#stablehlo<fft_type FFT>`, or of the own form `FFT`.
[[nodiscard]] std::string_view last_word(const Attribute& attribute);

/// Lines of the user's program, as locations say them: `loc(#loc3)`, and `#loc3 = loc("f"("model.py":12:5))`.
class Locations {
 public:
  explicit Locations(std::string_view text);
  /// `model.py:12`, the innermost one; empty where none is said.
  [[nodiscard]] std::string line_of(const Place& location);

 private:
  [[nodiscard]] std::string resolved(std::string_view text, std::size_t depth);

  std::map<std::string_view, std::string_view> aliases_;  // by `#loc3`
  std::map<std::string_view, std::string> lines_;         // of aliases that were asked for
};

/// A sharding with its mesh in the place of the mesh's name.
[[nodiscard]] std::string with_mesh(const ModuleContext& context, const Place& sharding);
/// The mesh that `sdy.mesh` declares.
[[nodiscard]] PlacedMesh shardy_mesh(const Op& op);
/// `mhlo.num_partitions` and the like of a module.
[[nodiscard]] std::optional<Size> device_count(const Op& module, std::string_view name);

}  // namespace retile::foreign::mlir
