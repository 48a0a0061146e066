// Device tables as lists, with an eye on the clock. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/core/device_table.h"
#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace retile {

// All of steps that can be applied; nothing when the deadline passes meanwhile.

/// All entries of a table, row after row.
[[nodiscard]] std::optional<std::vector<Size>> entries_of(const DeviceTable& table,
                                                          const Deadline& deadline);
/// The piece that each device keeps.
[[nodiscard]] std::optional<std::vector<Size>> pieces_kept(const KeptPieces& pieces, Size devices,
                                                           const Deadline& deadline);
/// source[d] for every device.
[[nodiscard]] std::optional<std::vector<Size>> sources_of(const Sources& sources, Size devices,
                                                          const Deadline& deadline);

/// Arrays that several devices share: which one each device has.
using ArrayOf = std::vector<std::uint32_t>;

/// Parts of shared arrays, of which devices that want the same go on sharing one.
struct SharedParts {
  /// Array and piece of each new array, sorted.
  std::vector<std::pair<std::uint32_t, Size>> parts;
  /// Which new array each device has.
  ArrayOf array_of;
};
[[nodiscard]] SharedParts shared_parts(const ArrayOf& array_of, const std::vector<Size>& piece);

}  // namespace retile
