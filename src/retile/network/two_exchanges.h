// An exchange in two: what neighbours need alike crosses the links between them and others once.
#pragma once

#include <cstddef>
#include <optional>

#include "retile/core/problem.h"
#include "retile/core/size.h"
#include "retile/network/network.h"
#include "retile/program/program.h"

namespace retile::network {

/// Two exchanges. By the first, devices that end with the same box and are in one domain of the level get a part
/// of it each; by the second, they get the other parts from each other. Nobody receives more elements than by
/// one exchange.
/// Nothing where no two devices of a domain end with the same, where a domain is not of successive devices,
/// of addends, of tiles of several boxes, where a device would hold more than `most_resident` elements, and where direct()
/// refuses.
[[nodiscard]] std::optional<Program> two_exchanges(const Problem& problem, const Network& network,
                                                   std::size_t level,
                                                   std::optional<Size> most_resident);

}  // namespace retile::network
