// The whole of a Program as one exchange: every element of the new tiles straight from a device
// that holds it at the start.
#pragma once

#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

/// Most bytes that direct() holds at a time, its result included, where the result's list has room
/// (its capacity) for `transfers`.
[[nodiscard]] Size direct_bound_bytes(Size devices, Size transfers, std::size_t rank);

struct DirectOptions {
  /// Most transfers that are made, which is what bounds the memory. Where old tiles overlap, every
  /// old tile that holds a part of a new one counts.
  Size transfer_limit = Size{1} << 22;
  /// Devices 0 .. n-1 are in the first node, the next n in the second, and so on. Sources are chosen
  /// from the own node of a device where one there holds what it needs. 1: no nodes are known.
  Size node_devices = 1;
};

/// A Program with the ends of `program` and one step; its steps are not looked at.
///
/// Every new tile is cut where old tiles begin and end, into boxes as large as that allows, in C
/// order. What the device holds itself it keeps, so nobody receives more than it must. Of everything
/// else the holders of an old tile take turns (Routes). Where tiles are listed, or overlap at the start,
/// it comes from the one of its holders that has the least to send so far, the largest boxes first, of
/// equals the lowest device. The result is the same on every machine.
///
/// Of addends every new tile gets those that it adds up, each from a device that holds it. Where the
/// end has fewer addends, but some, every tile's addends are shared out: first to those who have them
/// themselves. A step that adds nothing up is an exchange without `add`.
/// \error infeasible (check_addends), limit_reached (more transfers than the limit), inapplicable (an element of a new tile
///     that no device holds at the start, which only listed tilings allow)
/// \complexity O((devices + transfers) * rank * log) ; no pair of devices is looked at that
///     exchanges nothing
[[nodiscard]] Result<Program> direct(const Program& program, const DirectOptions& options = {});
/// The same of a problem, with its spelling's meshes (without_steps).
[[nodiscard]] Result<Program> direct(const Problem& problem, const DirectOptions& options = {});

}  // namespace retile
