// What the devices hold of Programs whose arrays may be addends, or whose tiles are made of several boxes.
// Private to this room.
#pragma once

#include <memory>

#include "retile/check/holding.h"
#include "retile/check/limits.h"
#include "retile/core/addition.h"
#include "retile/core/layout.h"

namespace retile {

/// The tiles of `from`, each of its addend; exact for every Program whose steps add so, or not at all.
[[nodiscard]] std::unique_ptr<Holding> sums_of(const Layout& from, std::optional<Addition> addition,
                                               const Limits& limits);

}  // namespace retile
