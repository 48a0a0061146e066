// In which order arrays go, and what the devices hold and move in all.
//
// Old tiles stay until the end. So a device holds all of its old tiles, the new ones that are there, and
// of every array that is under way its new tile, or what its steps hold beside the old one if that is
// more. Arrays whose steps hold most go first, while few new tiles are there.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/many/arrays.h"
#include "retile/many/traffic.h"
#include "retile/plan/plan.h"

namespace retile::many {

/// What a device holds, gets and gives, all arrays together, in bytes.
struct Sums {
  Size from = 0;  ///< its old tiles
  Size to = 0;    ///< its new ones
  Size received = 0;
  Size sent = 0;
  Size crossed = 0;  ///< of `received`, what comes from other nodes
  Size peak = 0;     ///< most that it holds at once
  friend bool operator==(const Sums&, const Sums&) = default;
};

/// Arrays of one kind that go at once: kinds[kind].arrays[begin .. end - 1].
struct Share {
  std::size_t kind = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};
/// What goes at once.
using Round = std::vector<Share>;

struct Schedule {
  std::vector<Way> ways;  ///< of every kind
  std::vector<Round> rounds;
  std::vector<Size> devices;  ///< the numbers of all that stand at some end, ascending
  std::vector<Sums> sums;     ///< of each of them; what moves as count_traffic() says
  Size node_devices = 0;      ///< of each node (route_by_nodes); 0: nobody says it
};

/// Why there is none.
struct Unscheduled {
  Diagnostic why;
  std::optional<std::size_t> kind = {};  ///< that has no plan
  std::optional<Size> least_bytes = {};  ///< over the memory limit: the least one that suffices
};

/// The most devices whose sums are kept.
inline constexpr Size most_devices = Size{1} << 20;

using Progress = std::function<void(Size done, Size total)>;

/// Steps that take the place of a kind's plan, which is none of one exchange; nothing: the plan's own.
using Instead = std::function<Result<std::optional<Program>>(const Kind&, const PlanOptions&)>;

/// Plans every kind once, and takes as many arrays into a round as the memory limit allows; without a
/// limit all go at once. Where steps hold too much the arrays of a kind go in one exchange, unless
/// options.collectives.
/// \param options   memory_limit_bytes holds for all arrays together, and no plan has one of its own
/// \param progress  is told how many kinds of how many are planned
/// \param instead   is asked for every kind, in their order
/// \error infeasible, limit_reached (devices), size_overflow; as plan()
[[nodiscard]] tl::expected<Schedule, Unscheduled> schedule(const Arrays& arrays,
                                                           const PlanOptions& options,
                                                           const Progress& progress = {},
                                                           const Instead& instead = {});

/// Adds up what devices get and give.
/// \return whether there are few enough boxes to count them
/// \error size_overflow; as program_of()
[[nodiscard]] tl::expected<bool, Unscheduled> count_traffic(const Arrays& arrays,
                                                            Schedule& schedule);

}  // namespace retile::many
