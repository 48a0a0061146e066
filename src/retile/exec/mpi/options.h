// How the MPI executor moves data and what memory it may use.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/size.h"

namespace retile::mpi {

/// Most bytes of one message; MPI counts with an int.
inline constexpr Size most_message_bytes = Size{1} << 30;

/// How the data goes.
enum class Strategy {
  automatic,    ///< the first of exchange, collectives, in_place that fits
  collectives,  ///< the Program's steps, each an MPI collective; everywhere
  /// The whole Program as one exchange: through shared memory between processes of one node, by
  /// messages between nodes; everywhere.
  exchange,
  in_place,  ///< the Program's steps where the tiles lie; on one node, in memory of our own
};

/// `automatic`, `collectives`, `exchange`, `inplace`.
[[nodiscard]] std::string_view strategy_name(Strategy strategy);

/// Which processes are taken to be on one node.
enum class Partition {
  nodes,     ///< those that share memory, as MPI says
  one_node,  ///< the same, and it is refused where they are on several
  apart,     ///< every process is a node of its own, so that all goes by messages
};

/// What run() does where some process was given wrong buffers.
enum class WrongBuffers {
  refused,  ///< by all processes; that all hear of it costs about as much as a small exchange
  end_job,  ///< MPI_Abort with a message, by who was given them; nobody asks the others
};

/// A larger array of this process, in C order, in which its tile lies: with ghost cells around it, say, or
/// in rows that are longer than those of the tile. What lies beside the tile goes to nobody
/// and is not written.
struct LocalArray {
  std::vector<Size> extents;
  /// Where the tile begins in every dimension; no numbers: at the first element.
  std::vector<Size> start = {};
};

/// Those that hold the tiles of `from` and of `to`. One that is given is given by all processes, each by
/// its own numbers.
struct LocalArrays {
  std::optional<LocalArray> in = {};
  std::optional<LocalArray> out = {};
};

/// The same on all processes, but for the numbers of `arrays`. Small values are slow, never wrong.
struct Options {
  /// Most bytes of the buffers through which tiles are packed and unpacked; 2 * n elements (n:
  /// largest group; for messages 1), in shared memory a page and 128 bytes per process, are always
  /// allowed. >= 1.
  Size chunk_bytes = Size{8} << 20;
  /// Most bytes that one process sends or receives in one MPI call made without such a buffer;
  /// larger ones are split. 1 <= message_bytes <= most_message_bytes; one element per process is always allowed.
  Size message_bytes = most_message_bytes;
  Strategy strategy = Strategy::automatic;
  Partition partition = Partition::nodes;
  WrongBuffers wrong_buffers = WrongBuffers::refused;
  /// Whether the Redistributor makes the buffers for the tiles (input(), output()), in memory that
  /// processes of a node share where the strategy has use for that. Required for in_place.
  bool own_buffers = false;
  /// Whether run() asks the kernel for pages of 2 MiB in the caller's buffers, before it first moves
  /// between them and whenever it gets others. That changes the caller's memory, so nobody does it unasked;
  /// once for each buffer it takes about as long as copying it. Own buffers have such pages in any case.
  bool huge_pages = false;
  /// Most bytes on any process, tiles included: peak_limit_bytes() of what is chosen is within it,
  /// and so is what making it needs for a while (preparing_limit_bytes()).
  /// chunk_bytes is made smaller for it where that helps.
  std::optional<Size> memory_limit_bytes = {};
  /// What the elements are, for Programs with addends: who adds elements must know. Others need no
  /// type, but where there is one, it has the element size.
  std::optional<ElementType> element_type = {};
  /// Where tiles lie in larger arrays. Then buffers are these arrays, own ones too, and the exchange is the
  /// only strategy.
  LocalArrays arrays = {};
};

}  // namespace retile::mpi
