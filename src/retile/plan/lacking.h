// What devices lack of their new tiles, and hold while an exchange brings it. For this room and for who
// explains plans.
#pragma once

#include <optional>

#include "retile/core/problem.h"
#include "retile/core/size.h"

namespace retile {

/// Devices times dimensions that are looked at: some seconds.
inline constexpr Size most_looked_at = Size{1} << 26;

/// The most elements of its new tile that a device does not hold; nothing where devices times rank
/// are more than `most_places`, too many to look at each.
[[nodiscard]] std::optional<Size> most_lacking(const Problem& problem, Size most_places);

/// So many elements, at least, does some device receive, whatever the steps are (docs/ledger/statements.md, U3);
/// nothing where that is not known, as of addends.
[[nodiscard]] std::optional<Size> least_received(const Problem& problem);

/// The most elements that a device holds in an exchange, its old tile and its new one; nothing where they
/// are too many to count.
[[nodiscard]] std::optional<Size> held_in_exchange(const Problem& problem);

}  // namespace retile
