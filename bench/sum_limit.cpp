#include "sum_limit.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sums_bench {

void sum_limit(const float* in, std::size_t in_elements, float* out, std::size_t out_elements,
               int processes) {
  const auto parts = static_cast<std::size_t>(processes);
  const std::size_t part = in_elements / parts;
  const std::size_t times = out_elements / part;
  // Blocks that stay in the first cache, so that few places are written at a time.
  constexpr std::size_t block = 2048;
  alignas(64) float sums[block];
  for (std::size_t at = 0; at + block <= part; at += block) {
    for (std::size_t i = 0; i < block; ++i) sums[i] = in[at + i];
    for (std::size_t k = 1; k < parts; ++k) {
      const float* const more = in + k * part + at;
      for (std::size_t i = 0; i < block; ++i) sums[i] += more[i];
    }
    for (std::size_t time = 0; time < times; ++time) {
      float* const to = out + time * part + at;
#if defined(__SSE2__)
      if (reinterpret_cast<std::size_t>(to) % 16 == 0) {
        for (std::size_t i = 0; i < block; i += 4) _mm_stream_ps(to + i, _mm_load_ps(sums + i));
        continue;
      }
#endif
      for (std::size_t i = 0; i < block; ++i) to[i] = sums[i];
    }
  }
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace sums_bench
