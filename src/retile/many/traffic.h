// How the arrays of a kind go, and what every device holds, gets and gives then.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/exchange/routes.h"
#include "retile/many/arrays.h"
#include "retile/plan/plan.h"
#include "retile/program/program.h"

namespace retile::many {

/// By its plan, or in one exchange where a memory limit leaves no room for the tiles of its steps.
struct Way {
  Plan plan;
  bool direct = false;
  Size node_devices =
      0;             ///< more than 0: in two exchanges, to nodes of so many devices and inside them
  Size nearest = 1;  ///< of so many devices each own node is a source first (DirectOptions)
  /// The steps, where they are others than the plan's; every step says its tile.
  std::optional<Program> program = {};
  [[nodiscard]] bool is_exchange() const { return direct || plan.exchange.has_value(); }
  [[nodiscard]] bool is_one_exchange() const { return is_exchange() && node_devices == 0; }
};

/// What a device gets of others and gives to others, in elements, by its place in the problem.
struct Traffic {
  std::vector<Size> received;
  std::vector<Size> sent;
  std::vector<Size> crossed;  ///< of `received`, what comes from other nodes
};

/// Boxes that are looked at to count what devices get and give; some seconds.
inline constexpr Size most_boxes = Size{1} << 24;

/// \param node_devices  how many devices, by their numbers, are a node; 0: nobody says it, and nothing crosses
/// \return nothing: there may be more than most_boxes
/// \error as program_of
[[nodiscard]] Result<std::optional<Traffic>> traffic_of(const Way& way, const Problem& problem,
                                                        Size node_devices = 0);

/// The same of a Program that is made already.
/// \return nothing, too: a size overflows on the way
[[nodiscard]] std::optional<Traffic> traffic_of(const Program& program, const Problem& problem,
                                                Size node_devices = 0);

/// Who sends what in a way that is one exchange and needs no list of all boxes; else nothing. The problem
/// outlives it.
[[nodiscard]] std::optional<Routes> routes_of(const Way& way, const Problem& problem);

/// The steps of a way.
/// \error as program_of(const Plan&), direct() and by_nodes()
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
