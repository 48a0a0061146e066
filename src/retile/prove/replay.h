// One element followed backwards through a Program by its tables: what a counterexample is held
// against. Shares nothing with the encoding.
#pragma once

#include <vector>

#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

/// An element on a device, by its local index.
struct HeldElement {
  Size device = 0;
  Shape at;
};

/// The global index of `element` after the first `steps` steps, all applicable, whose tables are
/// iotas. O(steps * stages of a table).
/// \param tiles  the shape of every tile at the start and after each step
[[nodiscard]] Shape global_index(const Program& program, const std::vector<Shape>& tiles,
                                 std::size_t steps, HeldElement element);

}  // namespace retile
