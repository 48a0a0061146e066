// Whether a step can be applied, and what a device needs to know to take part in it. Says nothing
// about contents: `check` replays those. Shared by everything that executes or replays Programs, so
// that all refuse the same steps.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/core/result.h"
#include "retile/program/op_facts.h"
#include "retile/program/program.h"
#include "retile/program/reason.h"

namespace retile {

/// What readers of Programs guarantee and a hand-made one may break: dimensions below `rank`, table
/// entries below `devices`, a part below `parts` for every device, an exchange with a tile claim,
/// extents of at least 1 and as many numbers as dimensions.
[[nodiscard]] bool well_made(const Step& step, std::size_t rank, Size devices);

/// The part of it that is about dimensions: those that a step names are below `rank`, and it has a count for
/// each if it goes along several.
[[nodiscard]] bool has_dims(const OpFacts& facts, std::size_t rank);

/// Why a step cannot be applied: groups, bijection, indivisible, ragged or transfers; limit when a size
/// overflows, or when transfers are too many and too irregular to say whether they cover the tiles.
struct Refusal {
  Reason reason{};
  std::optional<Size> device;  ///< a missing or repeated device; of transfers, the one at fault
  /// Of transfers only: the start of a box that does not lie in the device's tile, or the first
  /// local index of the new tile that no transfer or several write.
  std::optional<Shape> at = {};
};

/// The shape of every tile after `step`, or why the step cannot be applied to tiles of shape `tile`
/// on `devices` devices. Order of checks: the table (groups: no ragged row, every device once;
/// bijection), then divisibility, then overflow. For an exchange: overflow, then the transfers in
/// order, each of which must lie inside both tiles, then the new tiles device by device. Iota
/// tables that cover all devices need no enumeration. Claims are not looked at.
/// \param deadline  of the transfers of an exchange, which may take seconds; after it the reason is
///     limit
[[nodiscard]] tl::expected<Shape, Refusal> shape_after(const Step& step, const Shape& tile,
                                                       Size devices, const Deadline& deadline = {});

/// Why the tables of a step cannot be applied, whatever the tiles; nothing for an exchange.
[[nodiscard]] std::optional<Refusal> find_table_fault(const Op& op, Size devices);

/// The first transfer whose box leaves the tile of its source or the new one of its target;
/// parameters as of find_transfer_fault.
[[nodiscard]] std::optional<Refusal> find_stray_transfer(
    const std::vector<Transfer>& transfers, const std::function<const Shape&(Size)>& before,
    const std::function<const Shape&(Size)>& after);

/// Why transfers do not put the new tiles together: a box that leaves the tile of its source or the
/// new one of its target, an element that not exactly one box writes; or limit.
/// \param before, after  the shape of a device's tile before and after; all zeros for an empty one
[[nodiscard]] std::optional<Refusal> find_transfer_fault(
    const std::vector<Transfer>& transfers, const std::function<const Shape&(Size)>& before,
    const std::function<const Shape&(Size)>& after, Size devices, const Deadline& deadline = {});

/// A device's place in its group.
struct Membership {
  std::vector<Size> members;  ///< devices of the group in order
  std::size_t position = 0;   ///< members[position] is the device itself
};

/// The group of `device`. Precondition: the table is applicable (shape_after succeeded). O(table
/// size) for lists.
[[nodiscard]] Membership membership(const DeviceTable& groups, Size device);

/// Number of pieces of which each device keeps one. Precondition: applicable.
[[nodiscard]] Size group_size(const KeptPieces& pieces);

/// The piece that a device keeps. Precondition: applicable.
[[nodiscard]] Size piece_of(const KeptPieces& pieces, Size device);

/// source[d] for every device d, also from pairs. Precondition: applicable.
[[nodiscard]] std::vector<Size> sources_of(const Sources& sources, Size devices);

/// source[d] for one device. Precondition: applicable.
[[nodiscard]] Size source_of(const Sources& sources, Size device);

/// The table of groups that a step has, or null.
[[nodiscard]] const DeviceTable* groups_of(const Op& op);

/// Whether every device keeps a part of its own tile, whatever the step's tables: it receives
/// nothing, and never holds the tiles before and after it both.
[[nodiscard]] bool keeps_part(const Op& op);

/// Whether a step moves nothing between devices: n = 1, the identity permutation, or transfers of
/// devices to themselves. Precondition: applicable.
/// \param deadline  of a permutation that is looked at device by device; false after it
[[nodiscard]] bool moves_nothing(const Step& step, const Deadline& deadline = {});

/// Cost of an applicable step by Fig. 11, in elements per device; 0 when nothing moves. An exchange
/// costs the new tile, as the gathers do that it may stand for; with `add` all elements that a device
/// adds. A reducescatter costs the old tile, an allreduce twice that. Nothing where it does not fit.
/// `before`, `after`: tile sizes.
/// \param deadline  as of moves_nothing; after it the cost may be too high
[[nodiscard]] std::optional<Size> step_cost(const Step& step, Size before, Size after,
                                            const Deadline& deadline = {});

}  // namespace retile
