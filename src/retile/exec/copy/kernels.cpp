#include "retile/exec/copy/kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "retile/exec/copy/runs.h"

// ThreadSanitizer does not see GCC's streaming stores, so it gets ordinary ones.
#if defined(__SANITIZE_THREAD__)
#define RETILE_NO_STREAMING 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RETILE_NO_STREAMING 1
#endif
#endif
#if defined(__x86_64__) && !defined(RETILE_NO_STREAMING) && !defined(RETILE_ORDINARY_STORES)
#define RETILE_STREAMING 1
#include <immintrin.h>
#endif

namespace retile::copy {

void ordinary_runs(const Segment& segment, Order order) {
  // Blocks of rows small enough that the source of all members stays in the first cache.
  constexpr Size block_bytes = 1024;
  // Of what all members get alike, pieces that stay in the second one.
  constexpr Size alike_bytes = Size{64} << 10;
  const Size most_bytes = order == Order::dealt ? alike_bytes : std::max(segment.run_bytes, Size{1});
  const Size most_rows = order == Order::members_outer
                             ? segment.rows
                             : std::max(block_bytes / std::max(segment.run_bytes, Size{1}), Size{1});
  for (Size first = 0; first < segment.rows; first += most_rows) {
    const Size rows = std::min(most_rows, segment.rows - first);
    for (Size at = 0; at < segment.run_bytes; at += most_bytes) {
      const Size bytes = std::min(most_bytes, segment.run_bytes - at);
      for (Size m = 0; m < segment.members; ++m) {
        copy_runs(segment.targets[m] + first * segment.target_stride + at, segment.target_stride,
                  segment.sources[m] + first * segment.source_stride + at, segment.source_stride,
                  bytes, rows);
      }
    }
  }
}

namespace {

#ifdef RETILE_STREAMING

using Quarter = __m128i;

[[nodiscard]] inline Quarter load_16(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

inline void stream_quarter(std::byte* target, Quarter value) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(target), value);
}

template <typename Word>
[[nodiscard]] inline Word load_word(const std::byte* from) {
  Word out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

inline void store_quarter(std::byte* target, Quarter value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(target), value);
}

// A quarter out of runs of 8, 4, 2 and 1 bytes, the first of them from(first).
template <typename From>
[[nodiscard]] inline Quarter gather_8(const From& from, Size first) {
  return _mm_set_epi64x(load_word<std::int64_t>(from(first + 1)),
                        load_word<std::int64_t>(from(first)));
}

template <typename From>
[[nodiscard]] inline Quarter gather_4(const From& from, Size first) {
  const auto at = [&from, first](Size run) { return load_word<std::int32_t>(from(first + run)); };
  return _mm_set_epi32(at(3), at(2), at(1), at(0));
}

template <typename From>
[[nodiscard]] inline Quarter gather_2(const From& from, Size first) {
  const auto at = [&from, first](Size run) { return load_word<std::int16_t>(from(first + run)); };
  return _mm_set_epi16(at(7), at(6), at(5), at(4), at(3), at(2), at(1), at(0));
}

template <typename From>
[[nodiscard]] inline Quarter gather_1(const From& from, Size first) {
  const auto half = [&from](Size begin) {
    std::uint64_t out = 0;
    for (Size run = 0; run < 8; ++run) {
      out |= std::to_integer<std::uint64_t>(*from(begin + run)) << (8 * run);
    }
    return static_cast<std::int64_t>(out);
  };
  return _mm_set_epi64x(half(first + 8), half(first));
}

void fence() { _mm_sfence(); }

namespace sse2 {
#define RETILE_KERNEL
inline void stream_line(std::byte* target, const std::byte* source) {
  const Quarter a = load_16(source);
  const Quarter b = load_16(source + 16);
  const Quarter c = load_16(source + 32);
  const Quarter d = load_16(source + 48);
  stream_quarter(target, a);
  stream_quarter(target + 16, b);
  stream_quarter(target + 32, c);
  stream_quarter(target + 48, d);
}
#include "retile/exec/copy/streaming_kernels.inc"
#undef RETILE_KERNEL
}  // namespace sse2

namespace avx {
#define RETILE_KERNEL __attribute__((target("avx")))
RETILE_KERNEL inline void stream_line(std::byte* target, const std::byte* source) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 32));
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target), a);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target + 32), b);
}
#include "retile/exec/copy/streaming_kernels.inc"
#undef RETILE_KERNEL
}  // namespace avx

#else

void lines(std::byte* target, const std::byte* source, Size bytes) {
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

void gathered(const Segment& segment, bool) { ordinary_runs(segment, Order::members_inner); }

void zipped(const Segment& segment, bool) { ordinary_runs(segment, Order::members_inner); }

void fence() {}

#endif

[[nodiscard]] std::vector<Kernels> find_kernels() {
#ifdef RETILE_STREAMING
  std::vector<Kernels> out{{true, sse2::lines, sse2::runs, sse2::gathered, sse2::zipped, fence}};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx")) {
    out.push_back({true, avx::lines, avx::runs, avx::gathered, avx::zipped, fence});
  }
  return out;
#else
  return {{false, lines, ordinary_runs, gathered, zipped, fence}};
#endif
}

}  // namespace

std::span<const Kernels> usable_kernels() {
  static const std::vector<Kernels> found = find_kernels();
  return found;
}

const Kernels& kernels() {
  static const Kernels& best = usable_kernels().back();
  return best;
}

}  // namespace retile::copy
