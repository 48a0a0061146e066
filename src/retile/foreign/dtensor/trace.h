// What the ranks of a DTensor.redistribute did, each by itself, as `retile.dtensor-trace/1` says it
// (docs/ledger/peers.md).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/size.h"
#include "retile/foreign/module.h"

namespace retile::foreign::dtensor {

enum class TraceOp {
  all_gather,
  all_to_all,
  reduce_scatter,
  all_reduce,
  broadcast,
  divide,
  power,
  root,
  mask,
  rows,
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
  Size start = 0;             ///< of slice and rows
  Size length = 0;            ///< of rows
  std::size_t root = 0;       ///< of broadcast: a rank
  std::vector<Size> send;     ///< of all_to_all: rows for every member
  std::vector<Size> receive;  ///< and rows of every member
  std::vector<std::pair<Size, Size>>
      padding;                        ///< of pad, of every dimension; negative ones take away
  std::vector<std::size_t> order;     ///< of transpose
  Addition addition = Addition::sum;  ///< of what reduces
  bool is_average = false;            ///< of what reduces: a sum, divided by the number of members
  Size divisor = 1;                   ///< of divide: of which `degree` is the root that divides
  Size degree = 1;                    ///< of divide, power and root
};

/// How the addends of a trace's ends are to be made ready before they are added.
struct Preparation {
  std::optional<Size> norm = {};  ///< of a norm: raised to this power
  bool has_mask = false;          ///< of embeddings: the start has rows that are to become zeros
  bool keeps_mask = false;        ///< and the end may have them, too
  /// Of indices of an embedding: which rows each rank has, by their first and their number. They are counted from the
  /// first of them, and indices of others become zeros.
  std::vector<std::pair<Size, Size>> rows = {};
};

struct RankTrace {
  Size number = 0;  ///< as the file counts
  FilePlace place;
  std::vector<TraceStep> steps;
  std::vector<Shape> shapes;  ///< of every value; the first is what it begins with
  std::size_t result = 0;
};

}  // namespace retile::foreign::dtensor
