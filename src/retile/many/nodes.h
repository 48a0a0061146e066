// Devices stand in nodes: those with the numbers 0 .. n-1 in the first one, the next n in the second, and so on.
//
// What several devices of a node need alike need not come to each of them from another node. It comes once,
// cut into a slice for each, and inside the node everybody then gets the slices of the others.
#pragma once

#include <optional>

#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/many/arrays.h"
#include "retile/many/schedule.h"
#include "retile/program/program.h"

namespace retile::many {

/// Two exchanges in the place of one: to the nodes, and inside them. A slice lies where it has its place in the
/// new tile, so that nobody holds more than its two tiles.
/// \return nothing where no two devices of a node need the same, or where tiles are sums or several boxes
/// \error as direct()
[[nodiscard]] Result<std::optional<Program>> by_nodes(const Problem& problem, Size node_devices);

/// Has arrays that go in an exchange go so, where less then comes from other nodes.
/// \param node_devices  at least 1
/// \error as by_nodes() and traffic_of()
[[nodiscard]] Result<void> route_by_nodes(const Arrays& arrays, Schedule& schedule,
                                          Size node_devices);

}  // namespace retile::many
