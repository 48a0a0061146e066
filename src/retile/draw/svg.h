// Programs as pictures.
#pragma once

#include <string>

#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile {

/// The most devices of a Program that is drawn: each is looked at once per panel.
inline constexpr Size most_drawn_devices = Size{1} << 20;

/// An SVG document: who holds which part of the array before the steps, while tiles are largest, and
/// after them.
///
/// A panel shows the last two dimensions to scale and one block per tile number of the others. A
/// tile is a rectangle with the numbers of the devices that hold it, in their colours; bands of
/// several colours are replicas. The middle panel shows the largest tile between the ends; a Program
/// of fewer than two steps has none. Between the panels stand the names of the steps. Long rows of
/// tiles are cut short, and the picture says so. The colours follow the viewer's light or dark
/// scheme.
/// \error limit_reached (more than most_drawn_devices), unsupported (a step says by no map claim
///     where its tiles lie; Programs of `lower` always do)
[[nodiscard]] Result<std::string> to_svg(const Program& program);

}  // namespace retile
