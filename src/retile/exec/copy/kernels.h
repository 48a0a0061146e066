// The inner loops of a pass, once for every instruction set; chosen when the program starts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "retile/core/size.h"
#include "retile/exec/copy/runs.h"

namespace retile::copy {

/// The most members of a segment: what is kept of each stays in the first cache.
inline constexpr Size max_members = 32;

[[nodiscard]] inline bool aligned(const std::byte* at, Size bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
}

/// How far beyond the begin of a line.
[[nodiscard]] inline Size beyond_line(const std::byte* at) {
  return static_cast<Size>(reinterpret_cast<std::uintptr_t>(at) %
                           static_cast<std::uintptr_t>(line_bytes));
}

/// Asks for a line that will be written, and is harmless wherever it points to. Asked for to be read, a line that
/// another process has comes twice: small arrays took 1.6 times as long. That is what __builtin_prefetch makes of
/// it where no target says more.
inline void ask_for([[maybe_unused]] const std::byte* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(line));
#endif
}

/// Asks for the line in which these bytes end and for that in which the next ones begin: of either a part is written,
/// and other stores wait until the line is there.
inline void ask_for_ends(const std::byte* target, Size bytes, Size next) {
  ask_for(target + bytes);
  ask_for(target + next);
}

/// Rows of equally long runs, the same for every member: run r of member m goes from
/// sources[m] + r * source_stride to targets[m] + r * target_stride. All in bytes.
struct Segment {
  const std::byte* const* sources = nullptr;
  std::byte* const* targets = nullptr;
  Size members = 0;
  Size rows = 0;
  Size source_stride = 0;
  Size target_stride = 0;
  Size run_bytes = 0;
};

/// Whether runs are streamed where none completes the last line of another: where they are whole
/// lines, or so long that two ends written by ordinary stores do not count, as their lines are asked for ahead.
/// \param places  of the targets and of their strides, the bits that are set in any
[[nodiscard]] inline bool runs_stream(Size places, Size run_bytes) {
  constexpr Size long_run_bytes = 256;
  return run_bytes >= ((places | run_bytes) % line_bytes == 0 ? line_bytes : long_run_bytes);
}

/// In what order a segment's runs are copied.
enum class Order {
  members_inner,  ///< row by row; where members lie side by side this reads the source in order
  members_outer,  ///< member by member; where a member's runs lie end to end in the source
  dealt,          ///< row by row, pieces of `dealt_piece_bytes` going round the members
};

inline constexpr Size dealt_piece_bytes = 1024;

/// Puts pieces that lie end to end in their target together to its lines, wherever they begin.
/// line[i] belongs at target + i.
struct Joiner {
  std::byte* target = nullptr;  ///< aligned to lines; null: nothing is open
  Size begin = 0;               ///< bytes of the line before this are somebody else's
  Size end = 0;
  alignas(line_bytes) std::array<std::byte, static_cast<std::size_t>(line_bytes)> line;

  /// What is appended next goes there: the line goes on, or it is finished and another one begun.
  void continue_at(std::byte* next);
  /// Writes what is there of the last line, and no byte more.
  void finish();
};

struct Kernels {
  bool streaming = false;
  /// Whole lines to an aligned target.
  void (*lines)(std::byte* target, const std::byte* source, Size bytes) = nullptr;
  /// All runs, whole lines streamed, what is left of a run's ends by ordinary stores.
  void (*runs)(const Segment& segment, Order order) = nullptr;
  /// All runs, of a line and more, by ordinary stores.
  void (*ordinary)(const Rows& rows) = nullptr;
  /// Appends a byte or more; lines that they complete are streamed. Null where nothing is streamed, as join.
  void (*append)(Joiner& joiner, const std::byte* source, Size bytes) = nullptr;
  /// All runs, of a line and more. So many members in turn, a chain, lie end to end in their target,
  /// and may continue what was joined there before; a joiner for each chain.
  void (*join)(const Segment& segment, Size chain, Order order, Joiner* joiners) = nullptr;
  /// What was streamed is visible to whoever sees a later store of this thread.
  void (*fence)() = nullptr;
};

/// All kernels that this machine can run, the best one last.
[[nodiscard]] std::span<const Kernels> usable_kernels();

/// The best of them.
[[nodiscard]] const Kernels& kernels();

/// All runs of a segment by ordinary stores.
void ordinary_runs(const Segment& segment, Order order);

/// Runs of 1, 2, 4, 8, 16 or 32 bytes whose targets lie end to end (target_stride == run_bytes)
/// and, where they are streamed, are aligned to run_bytes: put together in registers, a line of
/// every member in turn.
void gathered(const Segment& segment, bool streaming);

/// Such runs of members that take turns in one target: run r of member m goes to
/// targets[0] + (r * members + m) * run_bytes. Either members or the runs in a line are a
/// multiple of the other.
void zipped(const Segment& segment, bool streaming);

}  // namespace retile::copy
