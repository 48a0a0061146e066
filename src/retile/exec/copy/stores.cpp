#include "retile/exec/copy/stores.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "retile/exec/copy/kernels.h"

namespace retile::copy {

namespace {

constexpr std::array<StreamingRow, 1> table{{{0, 1.0}}};

}  // namespace

std::span<const StreamingRow> streaming_table() { return table; }

bool streams(Size run_bytes, Size bytes, Size cache_share_bytes) {
  const StreamingRow* row = &table.front();
  for (const StreamingRow& next : table) {
    if (next.run_bytes <= run_bytes) row = &next;
  }
  return static_cast<double>(bytes) >= row->cache_shares * static_cast<double>(cache_share_bytes);
}

Size detected_cache_share_bytes() {
  Size cache_bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  cache_bytes = std::max<Size>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
#endif
  const Size processors = std::max<Size>(sysconf(_SC_NPROCESSORS_ONLN), 1);
  return std::max(cache_bytes / processors, Size{1} << 20);
}

bool can_stream() { return kernels().streaming; }

}  // namespace retile::copy
