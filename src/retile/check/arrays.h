// What the devices hold of Programs whose tiles need not be alike. Private to this room.
#pragma once

#include <memory>

#include "retile/check/holding.h"
#include "retile/check/limits.h"
#include "retile/core/layout.h"

namespace retile {

/// The boxes of `from`: each step as what it moves (program/moves.h). Slower than the forms of states where
/// all tiles are alike, and exact for every Program that adds nothing.
[[nodiscard]] std::unique_ptr<Holding> arrays_of(const Layout& from, const Limits& limits);

}  // namespace retile
