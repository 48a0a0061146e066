// How the arrays of a kind go, and what every device holds, gets and gives then.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/many/arrays.h"
#include "retile/plan/plan.h"
#include "retile/program/program.h"

namespace retile::many {

/// By its plan, or in one exchange where a memory limit leaves no room for the tiles of its steps.
struct Way {
  Plan plan;
  bool direct = false;
  [[nodiscard]] bool is_exchange() const { return direct || plan.exchange.has_value(); }
};

/// What a device gets of others and gives to others, in elements, by its place in the problem.
struct Traffic {
  std::vector<Size> received;
  std::vector<Size> sent;
};

/// Boxes that are looked at to count what devices get and give; some seconds.
inline constexpr Size most_boxes = Size{1} << 24;

/// \return nothing: there may be more than most_boxes
/// \error as program_of
[[nodiscard]] Result<std::optional<Traffic>> traffic_of(const Way& way, const Problem& problem);

/// The steps of a way.
/// \error as program_of(const Plan&) and direct()
[[nodiscard]] Result<Program> program_of(const Way& way, const Problem& problem);

/// What a device holds of an array, in bytes, by its place in the problem.
struct Holding {
  std::vector<Size> from;
  std::vector<Size> to;
  /// Beside the old tile, while the array goes: the new tile, or more where steps hold more.
  std::vector<Size> going;
};
/// \error size_overflow
[[nodiscard]] Result<Holding> holding_of(const Way& way, const Kind& kind);

}  // namespace retile::many
