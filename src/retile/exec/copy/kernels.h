// The inner loops of a pass, once for every instruction set; chosen when the program starts.
#pragma once

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

/// In what order a segment's runs are copied.
enum class Order {
  members_inner,  ///< row by row; where members lie side by side this reads the source in order
  members_outer,  ///< member by member; where a member's runs lie end to end in the source
  dealt,          ///< row by row, pieces of `dealt_piece_bytes` going round the members
};

inline constexpr Size dealt_piece_bytes = 1024;

struct Kernels {
  bool streaming = false;
  /// Whole lines to an aligned target.
  void (*lines)(std::byte* target, const std::byte* source, Size bytes) = nullptr;
  /// All runs, whole lines streamed, what is left of a run's ends by ordinary stores.
  void (*runs)(const Segment& segment, Order order) = nullptr;
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
