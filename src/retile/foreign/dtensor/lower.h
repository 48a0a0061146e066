// A trace as operations on values of single devices. Room-internal.
#pragma once

#include <vector>

#include "retile/foreign/dtensor/trace.h"
#include "retile/foreign/module.h"
#include "retile/text/place.h"

namespace retile::foreign::dtensor {

/// Of every rank the places of its steps, and at the end its own.
using StepPlaces = std::vector<std::vector<text::Place>>;

/// Writes what the ranks did into a function that has a name and a place, in an order in which they
/// can do it. Its parameter and its result are tiles into which those of all ranks fit.
/// \error (thrown) bad_program: what a step makes is not what its operands give, members of a group
///     disagree, ranks wait for each other; unsupported: a power, a root or a mask that does not make these addends
///     ready; limit_reached
void lower(std::vector<RankTrace> ranks, const StepPlaces& places, const Preparation& preparation,
           Function& out);

}  // namespace retile::foreign::dtensor
