// Plans of problems with addends. Private to this room.
#pragma once

#include "retile/plan/method.h"

namespace retile {

/// Of steps, between types of the paper.
/// \error limit_reached
extern const PlanMethod adding_in_steps;
/// Of one exchange, between all others.
extern const PlanMethod adding_at_once;

}  // namespace retile
