// What rooms ask of layouts and cuts, so that none of them asks in which form these are written.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/layout.h"
#include "retile/core/size.h"

namespace retile {

/// Whether tiles are those of a type of the paper: all alike, and counted by digits of the device
/// number. Addends are not asked for.
[[nodiscard]] inline bool is_paper_type(const Layout& layout) {
  return layout.is_even() && layout.is_compact();
}
[[nodiscard]] inline bool are_paper_types(const Layout& from, const Layout& to) {
  return is_paper_type(from) && is_paper_type(to);
}

/// How the addends of a layout are put together; nothing where devices hold the array itself.
[[nodiscard]] inline std::optional<Addition> addition_of(const Layout& layout) {
  return layout.addends() ? std::optional(layout.addends()->addition) : std::nullopt;
}
/// Those of `from`, else of `to`.
[[nodiscard]] inline std::optional<Addition> addition_of(const Layout& from, const Layout& to) {
  const auto first = addition_of(from);
  return first ? first : addition_of(to);
}
/// How arrays are added where the layout has no addends that say it: as a sum.
[[nodiscard]] inline Addition addition_or_sum(const Layout& layout) {
  return addition_of(layout).value_or(Addition::sum);
}
/// The layout with its addends as a last dimension (Layout::stacked), itself where it has none.
/// Precondition (asserted): where it has some, all tiles are alike and digits count them.
[[nodiscard]] Result<Layout> addends_as_dimension(const Layout& layout);
/// Which addend every device has, along one dimension; number 0 where there are none.
[[nodiscard]] TileMap addend_numbers(const Layout& layout);
/// The digits of the device number that count the addends, minor to major; none where there are none.
/// Precondition: addends that digits count.
[[nodiscard]] std::vector<Digit> addend_digits(const Layout& layout);

/// Two layouts after renaming the devices, so that digits of their numbers say both.
struct Renaming {
  IotaChain device_at;  ///< as Layout::renamed takes it
  Layout from;
  Layout to;
};
/// By the positions of one of the two; nothing where neither helps the other.
[[nodiscard]] std::optional<Renaming> renamed_to_digits(const Layout& from, const Layout& to);

/// Why some device holds something else than one box of the array at an end, said of one array of
/// several; nothing where all hold one box each.
[[nodiscard]] std::optional<std::string_view> no_box_each(const Layout& from, const Layout& to);

/// Whether two tiles may differ and still have an element in common: tiles of cuts are the same or
/// have none, unless they have halos.
[[nodiscard]] inline bool may_overlap(const Layout& layout) {
  return layout.is_listed() || !layout.halos().empty();
}

/// The number of every device's tile, counted as new ones come: devices have one number where their
/// tiles are the same box, or of cuts the same tile. Whose addends they hold is not asked.
[[nodiscard]] std::vector<std::size_t> tile_by_device(const Layout& layout);

/// Whether tiles that hold nothing may stand between others; else they are the last ones.
[[nodiscard]] inline bool may_skip(const Cuts& cuts) { return cuts.is_listed(); }

/// How many tiles of `fine` make up each tile of `coarse`; nothing where not all tiles of each are
/// alike, or some are cut.
[[nodiscard]] std::optional<Size> tiles_in_each(const Cuts& coarse, const Cuts& fine);

}  // namespace retile
