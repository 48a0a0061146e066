// An operation of a text as JSON. Room-internal.
#pragma once

#include <nlohmann/json.hpp>

#include "retile/whole/spot.h"

namespace retile::report {

[[nodiscard]] inline nlohmann::ordered_json spot_json(const whole::Spot& spot) {
  return {{"value", spot.value},
          {"op", spot.opcode},
          {"line", spot.line > 0 ? nlohmann::ordered_json(spot.line) : nullptr},
          {"source", spot.source.empty() ? nlohmann::ordered_json(nullptr)
                                         : nlohmann::ordered_json(spot.source)}};
}

}  // namespace retile::report
