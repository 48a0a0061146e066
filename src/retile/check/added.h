// What the devices hold of Programs whose arrays may be addends. Private to this room.
#pragma once

#include <memory>

#include "retile/check/holding.h"
#include "retile/check/limits.h"
#include "retile/core/addition.h"
#include "retile/core/layout.h"

namespace retile {

/// The boxes of `from`, each with its addend; exact for every Program whose steps add so.
[[nodiscard]] std::unique_ptr<Holding> sums_of(const Layout& from, Addition addition,
                                               const Limits& limits);

}  // namespace retile
