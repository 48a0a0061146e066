// How the MPI executor moves data and what memory it may use.
#pragma once

#include <optional>
#include <string_view>

#include "retile/core/size.h"

namespace retile::mpi {

/// How the data goes.
enum class Strategy {
  automatic,    ///< the first of shared, mixed, direct, collectives, in_place that fits
  collectives,  ///< the Program's steps, each an MPI collective; everywhere
  direct,    ///< the whole Program as one exchange of messages, through bounded slots; everywhere
  shared,    ///< one exchange through memory that all processes share; on one node
  mixed,     ///< the same exchange, shared within each node and by messages across; everywhere
  in_place,  ///< the Program's steps where the tiles lie; on one node, in memory of our own
};

/// `automatic`, `collectives`, `direct`, `shared`, `mixed`, `inplace`.
[[nodiscard]] std::string_view strategy_name(Strategy strategy);
[[nodiscard]] std::optional<Strategy> strategy_named(std::string_view name);

/// The same on all processes. Small values are slow, never wrong.
struct Options {
  /// Most bytes of the buffers through which tiles are packed and unpacked; 2 * n elements (n:
  /// largest group; direct: 1), for shared a page and 128 bytes per process, are always allowed.
  /// >= 1.
  Size chunk_bytes = Size{8} << 20;
  /// Most bytes that one process sends or receives in one MPI call made without such a buffer;
  /// larger ones are split. 1 <= message_bytes <= 2^30; one element per process is always allowed.
  Size message_bytes = Size{1} << 30;
  Strategy strategy = Strategy::automatic;
  /// Whether the Redistributor makes the buffers for the tiles (input(), output()), in memory that
  /// processes of a node share where the strategy has use for that. Required for in_place.
  bool own_buffers = false;
  /// Most bytes on any process, tiles included: peak_limit_bytes() of what is chosen is within it,
  /// and so is what making it needs for a while (preparing_limit_bytes()).
  /// chunk_bytes is made smaller for it where that helps.
  std::optional<Size> memory_limit_bytes = {};
  /// Of the processes that share memory, only those are taken to that lie in one block of so many
  /// (process / node_processes); 0: all. For containers that split a node, and for tests.
  Size node_processes = 0;
};

}  // namespace retile::mpi
