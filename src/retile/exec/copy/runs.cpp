#include "retile/exec/copy/runs.h"

#include <cstring>

#include "retile/exec/copy/kernels.h"

namespace retile::copy {
namespace {

// By value: what is written might else be the numbers themselves, which were read again each time.
template <Size run_bytes>
void copy_known(const Rows rows) {
  for (Size i = 0; i < rows.count; ++i) {
    std::memcpy(rows.target + i * rows.target_stride, rows.source + i * rows.source_stride,
                run_bytes);
  }
}

// Two copies of `half` bytes that may overlap: any length from half to 2 * half without a loop.
template <std::size_t half>
void copy_overlapping(const Rows rows) {
  const Size second = rows.run_bytes - static_cast<Size>(half);
  for (Size i = 0; i < rows.count; ++i) {
    const std::byte* const from = rows.source + i * rows.source_stride;
    std::byte* const to = rows.target + i * rows.target_stride;
    std::memcpy(to, from, half);
    std::memcpy(to + second, from + second, half);
  }
}

}  // namespace

void copy_runs(const Rows& rows) {
  switch (rows.run_bytes) {
    case 1:
      return copy_known<1>(rows);
    case 2:
      return copy_known<2>(rows);
    case 4:
      return copy_known<4>(rows);
    case 8:
      return copy_known<8>(rows);
    case 16:
      return copy_known<16>(rows);
    case 32:
      return copy_known<32>(rows);
    default:
      break;
  }
  if (rows.run_bytes == 3) return copy_overlapping<2>(rows);
  if (rows.run_bytes < 8) return copy_overlapping<4>(rows);
  if (rows.run_bytes < 16) return copy_overlapping<8>(rows);
  if (rows.run_bytes < 32) return copy_overlapping<16>(rows);
  if (rows.run_bytes < line_bytes) return copy_overlapping<32>(rows);
  kernels().ordinary(rows);
}

}  // namespace retile::copy
