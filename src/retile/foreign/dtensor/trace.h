// What the ranks of a DTensor.redistribute did, each by itself: `retile.dtensor-trace/1`
// (docs/ledger/peers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/deadline.h"
#include "retile/core/layout.h"
#include "retile/foreign/cells.h"
#include "retile/foreign/module.h"
#include "retile/foreign/sums.h"

namespace retile::foreign::dtensor {

enum class TraceOp {
  all_gather,
  all_to_all,
  reduce_scatter,
  all_reduce,
  broadcast,
  split,
  cat,
  slice,
  pad,
  reshape,
  transpose,
  same,
  zeros,
  empty,
};

[[nodiscard]] std::string_view name_of(TraceOp op);
[[nodiscard]] std::optional<TraceOp> op_named(std::string_view name);
/// Whether a whole group does it together.
[[nodiscard]] constexpr bool is_collective(TraceOp op) { return op <= TraceOp::broadcast; }
/// The keys that say how it is done: an operation has these, and no others beside `op`, `in`, `out`
/// and `sizes`.
[[nodiscard]] std::span<const std::string_view> keys_of(TraceOp op);

/// One operation of one rank. Values are numbers in the rank's own count; 0 is what it begins with.
struct TraceStep {
  TraceOp op{};
  FilePlace place;
  std::vector<std::size_t> in;
  std::vector<std::size_t> out;
  std::vector<Shape> sizes;   ///< of what it makes
  std::vector<Size> group;    ///< of a collective
  std::size_t dim = 0;        ///< of split, cat and slice
  Size start = 0;             ///< of slice
  std::size_t root = 0;       ///< of broadcast: a rank
  std::vector<Size> send;     ///< of all_to_all: rows for every member
  std::vector<Size> receive;  ///< and rows of every member
  std::vector<std::pair<Size, Size>>
      padding;                        ///< of pad, of every dimension; negative ones take away
  std::vector<std::size_t> order;     ///< of transpose
  Addition addition = Addition::sum;  ///< of what reduces
  bool is_average = false;            ///< of what reduces: a sum, divided by the number of members
};

struct RankTrace {
  Size number = 0;  ///< as the file counts
  FilePlace place;
  Shape start;
  std::vector<TraceStep> steps;
  std::vector<Shape> shapes;  ///< of every value
  std::size_t result = 0;
};

/// What is done next: one step of one rank, or that of all ranks of a group, in the group's order.
struct Turn {
  std::vector<std::pair<std::size_t, std::size_t>> steps;  ///< rank, number of its step
};

/// Of all ranks, in the order in which the mesh lists them: so they are counted here. Whoever made one has checked it: all shapes fit, and the turns take every step once.
struct Trace {
  std::vector<RankTrace> ranks;
  std::vector<Turn> turns;

  /// What cost and traffic.h count of one rank: cost, elements received.
  [[nodiscard]] std::pair<Size, Size> traffic(std::size_t rank) const;
  /// The largest of all values: rank and number of the value.
  [[nodiscard]] std::pair<std::size_t, std::size_t> largest() const;
  /// What made a value; the rank itself of what it begins with.
  [[nodiscard]] FilePlace place_of(std::size_t rank, std::size_t value) const;
  [[nodiscard]] std::string_view op_of(std::size_t rank, std::size_t value) const;
};

/// What all ranks hold at the end, by rank, and who was first to hold the whole array.
struct Ran {
  std::vector<Block> results;
  std::optional<std::pair<std::size_t, std::size_t>> whole = {};  ///< rank, value
};

/// \param starts  what every rank begins with, of its start's extents
/// \param size    elements of the array
/// Throws LimitReached.
[[nodiscard]] Ran run(const Trace& trace, std::vector<Block> starts, Size size, Budget& budget,
                      Sums& sums, const Deadline& deadline);

}  // namespace retile::foreign::dtensor
