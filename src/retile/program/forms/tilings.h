// Layouts from drafts of tilings. Private to the forms.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "drafts.h"
#include "retile/core/device_table.h"
#include "retile/core/layout.h"

namespace retile::forms {

/// Whose tiles a tiling says, and in which version of the forms.
struct Ground {
  Size devices = 1;
  int version = 1;
  Size positions = 1;                     ///< of the mesh in force; devices where there is none
  std::optional<DeviceTable> order = {};  ///< the device at each position
};

/// Fails where the draft is no layout there.
[[nodiscard]] Layout build_tiling(const TilingDraft& draft, const Ground& ground);

/// Fails unless the draft lists a device for each of so many positions, none twice.
[[nodiscard]] DeviceTable build_order(const Token<TableDraft>& draft, Size positions, Size devices);

/// Fails unless every row of `shapes` is that of a tile, and the row of `at` beside an empty one is
/// zeros. Preconditions: as many rows and numbers as there should be.
void check_shape_rows(const Token<RowsDraft>& shapes, const Token<RowsDraft>* at, std::size_t rank);

/// Fails unless `at` has a row of `rank` offsets for every device.
void check_offset_rows(const Token<RowsDraft>& rows, std::size_t rank, Size devices,
                       std::string_view key = "at");

}  // namespace retile::forms
