// Tactics: which variables of which statements the axes cut that somebody put on arrays. Room-internal.
#pragma once

#include <string>
#include <vector>

#include "matching.h"

namespace retile::array {

/// The mesh has one more axis, which is minor to the others.
/// Throws text::Failure: too_many_devices.
void add_axis(Grid& grid, const std::string& name, Size size, const text::Place& place);

/// The tactics that name an axis first: the axes of the mesh, major to minor.
/// Throws text::Failure: axis_size_mismatch, unsupported (the last tactic is not propagate).
[[nodiscard]] std::vector<Tactic> axes_of_tactics(const Statements& all);

/// Cuts variables as the tactics say, all of whose axes the mesh has.
/// Throws text::Failure: bad_argument (no such array or dimension), inapplicable (a conflict).
void propagate(const Statements& all, Grid& grid);

}  // namespace retile::array
