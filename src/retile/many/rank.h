// What one device does: its own part of the steps, and nobody else's.
#pragma once

#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/many/arrays.h"
#include "retile/many/traffic.h"
#include "retile/program/ops.h"
#include "retile/program/program.h"

namespace retile::many {

/// A step of one device. Boxes name devices by their places in the problem.
struct OwnStep {
  std::string_view name;
  Shape before;  ///< its tile
  Shape after;
  bool adds = false;  ///< whether boxes are added to a tile of zeros, and not only put there
  std::vector<Transfer> received = {};  ///< and kept
  std::vector<Transfer> sent = {};
};

/// The steps of a way, of the device with this place: those of one exchange follow from its number alone, and
/// nobody makes the list of all boxes.
/// \error as program_of; limit_reached (more boxes than moves_of looks at)
[[nodiscard]] Result<std::vector<OwnStep>> own_steps(const Way& way, const Problem& problem,
                                                     Size device);

}  // namespace retile::many
