#include "retile/exec/copy/runs.h"

#include <cstring>

namespace retile::copy {
namespace {

template <Size run_bytes>
void copy_known(std::byte* target, Size target_stride, const std::byte* source, Size source_stride,
                Size count) {
  for (Size i = 0; i < count; ++i) {
    std::memcpy(target + i * target_stride, source + i * source_stride, run_bytes);
  }
}

// Two copies of `half` bytes that may overlap: any length from half to 2 * half without a loop.
template <std::size_t half>
void copy_overlapping(std::byte* target, Size target_stride, const std::byte* source,
                      Size source_stride, Size run_bytes, Size count) {
  const Size second = run_bytes - static_cast<Size>(half);
  for (Size i = 0; i < count; ++i) {
    const std::byte* const from = source + i * source_stride;
    std::byte* const to = target + i * target_stride;
    std::memcpy(to, from, half);
    std::memcpy(to + second, from + second, half);
  }
}

}  // namespace

void copy_runs(std::byte* target, Size target_stride, const std::byte* source, Size source_stride,
               Size run_bytes, Size count) {
  switch (run_bytes) {
    case 1:
      return copy_known<1>(target, target_stride, source, source_stride, count);
    case 2:
      return copy_known<2>(target, target_stride, source, source_stride, count);
    case 4:
      return copy_known<4>(target, target_stride, source, source_stride, count);
    case 8:
      return copy_known<8>(target, target_stride, source, source_stride, count);
    case 16:
      return copy_known<16>(target, target_stride, source, source_stride, count);
    case 32:
      return copy_known<32>(target, target_stride, source, source_stride, count);
    case 64:  // the compiler makes more of it than of two halves
      return copy_known<64>(target, target_stride, source, source_stride, count);
    default:
      break;
  }
  if (run_bytes == 3) {
    return copy_overlapping<2>(target, target_stride, source, source_stride, run_bytes, count);
  }
  if (run_bytes < 8) {
    return copy_overlapping<4>(target, target_stride, source, source_stride, run_bytes, count);
  }
  if (run_bytes < 16) {
    return copy_overlapping<8>(target, target_stride, source, source_stride, run_bytes, count);
  }
  if (run_bytes < 32) {
    return copy_overlapping<16>(target, target_stride, source, source_stride, run_bytes, count);
  }
  if (run_bytes <= 64) {
    return copy_overlapping<32>(target, target_stride, source, source_stride, run_bytes, count);
  }
  for (Size i = 0; i < count; ++i) {
    std::memcpy(target + i * target_stride, source + i * source_stride,
                static_cast<std::size_t>(run_bytes));
  }
}

}  // namespace retile::copy
