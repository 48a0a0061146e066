// Readers of whole programs. Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/text/place.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// Calls in each other, which no text that a compiler wrote has.
inline constexpr std::size_t deepest_calls = 64;
/// Instructions of all computations, with what calls put in their place.
inline constexpr std::size_t most_instructions = std::size_t{1} << 22;
/// More devices than that are not run at once.
inline constexpr Size most_devices = 4096;

[[nodiscard]] inline bool is_window(const WindowDim& dim) {
  return dim.size >= 1 && dim.stride >= 1 && dim.base_dilation >= 1 && dim.window_dilation >= 1;
}
/// What is hashed for a decomposition of which nothing is known.
[[nodiscard]] inline std::string unknown_cholesky(bool is_lower) {
  return is_lower ? "cholesky lower=true" : "cholesky lower=false";
}
/// The number of every device's partition, or of its replica.
[[nodiscard]] inline OfDevices numbers_of_devices(const Module& module, Id id) {
  OfDevices out;
  for (Size d = 0; d < module.devices(); ++d) {
    out.words.push_back(id == Id::partition_id ? d % module.partitions : d / module.partitions);
  }
  return out;
}

/// The only module of a text in HLO.
/// \error syntax, bad_number, bad_program, bad_device; unsupported (an operation that is not read, by
///     name); limit_reached
[[nodiscard]] Result<Module> read_hlo(const text::Input& input);

/// The only module of a text in MLIR: its function that no other calls, StableHLO on arrays or on the
/// tiles of devices.
/// \param lowered  a text in HLO that it stands beside: functions of CHLO for which XLA writes a formula
///     (formulas.h) are read as that, unless this text has an operation of the name
/// \error as read_hlo
[[nodiscard]] Result<Module> read_stablehlo(const text::Input& input,
                                            std::optional<std::string_view> lowered = {});

}  // namespace retile::whole
