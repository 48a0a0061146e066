// That the steps of a trace fit together. Room-internal.
#pragma once

#include <vector>

#include "retile/foreign/dtensor/trace.h"
#include "retile/text/place.h"

namespace retile::foreign {
namespace dtensor {

/// Of every rank the places of its steps, and at the end its own.
using StepPlaces = std::vector<std::vector<text::Place>>;

}  // namespace dtensor

/// Checks all shapes, and finds an order in which the ranks can do their steps.
/// \error (thrown) bad_program: what a step makes is not what its operands give, members of a group
///     disagree, ranks wait for each other; limit_reached
void check_dtensor_trace(dtensor::Trace& trace, const dtensor::StepPlaces& places);

}  // namespace retile::foreign
