// When a pass streams past the caches: the measured table, and this machine's caches.
#pragma once

#include <cstddef>
#include <span>

#include "retile/core/size.h"

namespace retile::copy {

/// How bytes are written.
enum class Stores {
  automatic,  ///< as `streams` says
  ordinary,   ///< through the caches
  streaming,  ///< past the caches wherever whole lines of 64 bytes can be written
};

/// One row of the table: from this length of runs on, streaming stores pay when a pass writes at
/// least this many times the process's share of the last cache.
struct StreamingRow {
  Size run_bytes = 0;
  double cache_shares = 0;
};

/// The table that the code holds, by growing `run_bytes`; `bench/copy_table` measures and prints
/// it, docs/dev/execution.md quotes the run that it was taken from.
[[nodiscard]] std::span<const StreamingRow> streaming_table();

/// Whether the table says that a pass over `bytes` in runs of `run_bytes` streams.
[[nodiscard]] bool streams(Size run_bytes, Size bytes, Size cache_share_bytes);

/// The last cache that the first processor sees, as the system reports it, divided by the
/// processors that share it or by the `processes` of this machine that copy at once, whichever are
/// more. At least 1 MiB, which it also is where nothing is reported.
[[nodiscard]] Size detected_cache_share_bytes(Size processes);

/// Whether this build and machine can stream at all. False under ThreadSanitizer, with
/// RETILE_ORDINARY_STORES and on processors without a kernel here: every store is ordinary then.
[[nodiscard]] bool can_stream();

/// Copies bytes that do not overlap: whole lines of the target past the caches, the rest by ordinary
/// stores. Precondition: can_stream().
void copy_past_caches(std::byte* target, const std::byte* source, Size bytes);
/// Whoever sees a later store of this thread sees what it streamed before.
void stores_fence();

}  // namespace retile::copy
