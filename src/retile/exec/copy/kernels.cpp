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
  const Size most_bytes =
      order == Order::dealt ? alike_bytes : std::max(segment.run_bytes, Size{1});
  const Size most_rows =
      order == Order::members_outer
          ? segment.rows
          : std::max(block_bytes / std::max(segment.run_bytes, Size{1}), Size{1});
  for (Size first = 0; first < segment.rows; first += most_rows) {
    const Size rows = std::min(most_rows, segment.rows - first);
    for (Size at = 0; at < segment.run_bytes; at += most_bytes) {
      const Size bytes = std::min(most_bytes, segment.run_bytes - at);
      for (Size m = 0; m < segment.members; ++m) {
        copy_runs({.target = segment.targets[m] + first * segment.target_stride + at,
                   .target_stride = segment.target_stride,
                   .source = segment.sources[m] + first * segment.source_stride + at,
                   .source_stride = segment.source_stride,
                   .run_bytes = bytes,
                   .count = rows,
                   .more = segment.rows - first - rows});
      }
    }
  }
}

void Joiner::continue_at(std::byte* next) {
  if (target != nullptr && target + end == next) return;
  finish();
  begin = end = beyond_line(next);
  target = next - begin;
}

void Joiner::finish() {
  if (target != nullptr && begin < end) {
    std::memcpy(target + begin, line.data() + begin, static_cast<std::size_t>(end - begin));
  }
  target = nullptr;
}

namespace {

#ifdef RETILE_STREAMING

// So far ahead of a store its line is asked for: else every store waits for its line to come.
constexpr Size asked_ahead_bytes = 512;
// From this on the stores of a run are aligned to lines; below, the line that is then written twice
// costs more than stores across two lines.
constexpr Size aligned_run_bytes = 512;

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

// A quarter's bytes in their order between zeros: shuffled by 16 of them from `16 - n` on, a quarter
// moves up by n bytes, from `16 + n` on down.
alignas(16) constexpr std::array<std::byte, 48> moves_in_quarter = [] {
  std::array<std::byte, 48> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = i / 16 == 1 ? static_cast<std::byte>(i - 16) : std::byte{0x80};
  }
  return out;
}();

// Fewer than 16 bytes and one at least, zeros following; reads no other.
[[nodiscard]] inline Quarter first_of_quarter(const std::byte* from, Size bytes) {
  // Words that overlap have the same bytes where they do.
  if (bytes >= 8) {
    const auto last = load_word<std::uint64_t>(from + bytes - 8);
    const auto high = bytes == 8 ? 0 : last >> (8 * (16 - bytes));
    return _mm_set_epi64x(static_cast<std::int64_t>(high), load_word<std::int64_t>(from));
  }
  if (bytes >= 4) {
    const auto low = std::uint64_t{load_word<std::uint32_t>(from)};
    const auto last = std::uint64_t{load_word<std::uint32_t>(from + bytes - 4)};
    return _mm_cvtsi64_si128(static_cast<std::int64_t>(low | last << (8 * (bytes - 4))));
  }
  std::uint64_t out = 0;
  for (Size i = 0; i < bytes; ++i) out |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return _mm_cvtsi64_si128(static_cast<std::int64_t>(out));
}

// Fewer than 64 bytes: two copies of a power of two that may overlap.
inline void copy_part_in_halves(std::byte* target, const std::byte* source, Size bytes) {
  copy_runs({.target = target, .source = source, .run_bytes = bytes, .count = 1});
}

template <bool streaming>
inline void put_quarter(std::byte* target, Quarter value) {
  if constexpr (streaming) {
    stream_quarter(target, value);
  } else {
    store_quarter(target, value);
  }
}

// A line out of runs of `run_bytes`, run i from from(i); the quarters are independent, so that their
// loads overlap.
template <Size run_bytes, bool streaming, typename From>
inline void put_line(std::byte* target, const From& from) {
  if constexpr (run_bytes >= 16) {
    constexpr Size quarters = run_bytes / 16;
    for (Size q = 0; q < 4; ++q) {
      put_quarter<streaming>(target + q * 16, load_16(from(q / quarters) + q % quarters * 16));
    }
  } else {
    constexpr Size runs_in_quarter = 16 / run_bytes;
    for (Size q = 0; q < 4; ++q) {
      const Size first = q * runs_in_quarter;
      const Quarter value = [&] {
        if constexpr (run_bytes == 8) return gather_8(from, first);
        if constexpr (run_bytes == 4) return gather_4(from, first);
        if constexpr (run_bytes == 2) return gather_2(from, first);
        if constexpr (run_bytes == 1) return gather_1(from, first);
      }();
      put_quarter<streaming>(target + q * 16, value);
    }
  }
}

// How many runs there are before the first whole line.
template <Size run_bytes>
inline Size head_runs(const std::byte* target, Size all_runs) {
  const Size misaligned = beyond_line(target);
  return std::min(all_runs, misaligned == 0 ? 0 : (line_bytes - misaligned) / run_bytes);
}

template <Size run_bytes, bool streaming>
void gathered_of(const Segment& segment) {
  constexpr Size line_runs = line_bytes / run_bytes;
  const Size stride = segment.source_stride;
  // Heads up to each member's first whole line; then as many lines as all members have.
  std::array<std::byte*, max_members> targets;
  std::array<const std::byte*, max_members> sources;
  std::array<Size, max_members> heads;
  const auto members = static_cast<std::size_t>(segment.members);
  Size common_lines = segment.rows / line_runs;
  for (std::size_t i = 0; i < members; ++i) {
    heads[i] = head_runs<run_bytes>(segment.targets[i], segment.rows);
    common_lines = std::min(common_lines, (segment.rows - heads[i]) / line_runs);
    copy_runs({segment.targets[i], run_bytes, segment.sources[i], stride, run_bytes, heads[i]});
    targets[i] = segment.targets[i] + heads[i] * run_bytes;
    sources[i] = segment.sources[i] + heads[i] * stride;
  }
  for (Size line = 0; line < common_lines; ++line) {
    for (std::size_t i = 0; i < members; ++i) {
      const std::byte* const first = sources[i] + line * line_runs * stride;
      if (!streaming) ask_for(targets[i] + line * line_bytes + asked_ahead_bytes);
      put_line<run_bytes, streaming>(targets[i] + line * line_bytes,
                                     [=](Size run) { return first + run * stride; });
    }
  }
  for (std::size_t i = 0; i < members; ++i) {
    const Size done = common_lines * line_runs;
    copy_runs({targets[i] + done * run_bytes, run_bytes, sources[i] + done * stride, stride,
               run_bytes, segment.rows - heads[i] - done});
  }
}

template <Size run_bytes, bool streaming>
void zipped_of(const Segment& segment) {
  constexpr Size line_runs = line_bytes / run_bytes;
  const Size members = segment.members;
  const Size all_runs = segment.rows * members;
  std::byte* const target = segment.targets[0];
  const auto run_at = [&segment, members](Size run) {
    return segment.sources[run % members] + run / members * segment.source_stride;
  };
  const auto one_by_one = [&](Size begin, Size end) {
    for (Size run = begin; run < end; ++run) {
      std::memcpy(target + run * run_bytes, run_at(run), run_bytes);
    }
  };
  const Size head = head_runs<run_bytes>(target, all_runs);
  one_by_one(0, head);
  // One is a multiple of the other, so that a line of the next period has its runs in the same
  // slots, whole rows further on.
  constexpr Size most_slots = std::max(line_runs, max_members);
  std::array<const std::byte*, static_cast<std::size_t>(most_slots)> slots;
  const Size period = std::max(line_runs, members);
  for (Size i = 0; i < std::min(period, all_runs - head); ++i) {
    slots[static_cast<std::size_t>(i)] = run_at(head + i);
  }
  const Size step = period / members * segment.source_stride;
  const Size periods = (all_runs - head) / period;
  std::byte* to = target + head * run_bytes;
  for (Size p = 0; p < periods; ++p) {
    for (Size slot = 0; slot < period; slot += line_runs) {
      if (!streaming) ask_for(to + asked_ahead_bytes);
      put_line<run_bytes, streaming>(
          to, [&](Size run) { return slots[static_cast<std::size_t>(slot + run)] + p * step; });
      to += line_bytes;
    }
  }
  one_by_one(head + periods * period, all_runs);
}

// Calls kernel(n), n being the length of runs as a constant.
template <typename Kernel>
void of_length(Size run_bytes, const Kernel& kernel) {
  switch (run_bytes) {
    case 1:
      return kernel(std::integral_constant<Size, 1>());
    case 2:
      return kernel(std::integral_constant<Size, 2>());
    case 4:
      return kernel(std::integral_constant<Size, 4>());
    case 8:
      return kernel(std::integral_constant<Size, 8>());
    case 16:
      return kernel(std::integral_constant<Size, 16>());
    default:
      return kernel(std::integral_constant<Size, 32>());
  }
}

void fence() { _mm_sfence(); }

namespace sse2 {
#define RETILE_KERNEL
template <bool streaming>
inline void put_quarters(std::byte* target, const std::byte* source) {
  const Quarter a = load_16(source);
  const Quarter b = load_16(source + 16);
  const Quarter c = load_16(source + 32);
  const Quarter d = load_16(source + 48);
  put_quarter<streaming>(target, a);
  put_quarter<streaming>(target + 16, b);
  put_quarter<streaming>(target + 32, c);
  put_quarter<streaming>(target + 48, d);
}
inline void store_line(std::byte* target, const std::byte* source) {
  put_quarters<false>(target, source);
}
inline void stream_line(std::byte* target, const std::byte* source) {
  put_quarters<true>(target, source);
}
inline void copy_part(std::byte* target, const std::byte* source, Size bytes) {
  copy_part_in_halves(target, source, bytes);
}
inline void keep_part(std::byte* line, const std::byte* source, Size bytes) {
  copy_part(line, source, bytes);
}
inline void complete_line(std::byte* target, std::byte* line, Size kept, const std::byte* source) {
  copy_part(line + kept, source, line_bytes - kept);
  stream_line(target, line);
}
#include "retile/exec/copy/streaming_kernels.inc"
#undef RETILE_KERNEL
}  // namespace sse2

namespace avx {
#define RETILE_KERNEL __attribute__((target("avx")))
RETILE_KERNEL inline void store_line(std::byte* target, const std::byte* source) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 32));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + 32), b);
}
RETILE_KERNEL inline void stream_line(std::byte* target, const std::byte* source) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 32));
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target), a);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target + 32), b);
}
RETILE_KERNEL inline void copy_part(std::byte* target, const std::byte* source, Size bytes) {
  copy_part_in_halves(target, source, bytes);
}
// The quarter moved down or up by `by` bytes, zeros following.
RETILE_KERNEL inline Quarter moved_down(Quarter value, Size by) {
  return _mm_shuffle_epi8(value, load_16(moves_in_quarter.data() + 16 + by));
}
RETILE_KERNEL inline Quarter moved_up(Quarter value, Size by) {
  return _mm_shuffle_epi8(value, load_16(moves_in_quarter.data() + 16 - by));
}
// A load waits for a store that wrote only a part of what it reads. So the line is written and read
// by whole quarters.
RETILE_KERNEL inline void keep_part(std::byte* line, const std::byte* source, Size bytes) {
  const Size whole = bytes / 16 * 16;
  for (Size at = 0; at < whole; at += 16) store_quarter(line + at, load_16(source + at));
  if (bytes == whole) return;
  store_quarter(line + whole, whole > 0
                                  ? moved_down(load_16(source + bytes - 16), 16 + whole - bytes)
                                  : first_of_quarter(source, bytes));
}
RETILE_KERNEL inline void complete_line(std::byte* target, const std::byte* line, Size kept,
                                        const std::byte* source) {
  for (Size at = 0; at < line_bytes; at += 16) {
    Quarter quarter = load_16(at < kept ? line + at : source + (at - kept));
    if (at < kept && kept < at + 16) {
      const Size low = kept - at;
      const Size high = 16 - low;
      const Quarter others =
          at + 16 < line_bytes ? load_16(source) : first_of_quarter(source, high);
      quarter = _mm_or_si128(moved_down(moved_up(quarter, high), high), moved_up(others, low));
    }
    stream_quarter(target + at, quarter);
  }
}
#include "retile/exec/copy/streaming_kernels.inc"
#undef RETILE_KERNEL
}  // namespace avx

namespace avx512 {
#define RETILE_KERNEL __attribute__((target("avx512f,avx512bw")))
RETILE_KERNEL inline void store_line(std::byte* target, const std::byte* source) {
  _mm512_storeu_si512(target, _mm512_loadu_si512(source));
}
RETILE_KERNEL inline void stream_line(std::byte* target, const std::byte* source) {
  const __m512i line = _mm512_loadu_si512(source);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(target), line);
}
// What is masked out is neither read nor written.
RETILE_KERNEL inline void copy_part(std::byte* target, const std::byte* source, Size bytes) {
  const __mmask64 part = (std::uint64_t{1} << bytes) - 1;
  _mm512_mask_storeu_epi8(target, part, _mm512_maskz_loadu_epi8(part, source));
}
// Whole lines both times: a load waits for stores of which it needs several.
RETILE_KERNEL inline void keep_part(std::byte* line, const std::byte* source, Size bytes) {
  const __mmask64 part = (std::uint64_t{1} << bytes) - 1;
  _mm512_store_si512(line, _mm512_maskz_loadu_epi8(part, source));
}
RETILE_KERNEL inline void complete_line(std::byte* target, std::byte* line, Size kept,
                                        const std::byte* source) {
  const __mmask64 others = ~std::uint64_t{0} << kept;
  const auto begin = reinterpret_cast<std::uintptr_t>(source) - static_cast<std::uintptr_t>(kept);
  const __m512i both =
      _mm512_mask_loadu_epi8(_mm512_load_si512(line), others, reinterpret_cast<const void*>(begin));
  _mm512_stream_si512(reinterpret_cast<__m512i*>(target), both);
}
#include "retile/exec/copy/streaming_kernels.inc"
#undef RETILE_KERNEL
}  // namespace avx512

#else

void lines(std::byte* target, const std::byte* source, Size bytes) {
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

void ordinary(const Rows& rows) {
  for (Size i = 0; i < rows.count; ++i) {
    std::memcpy(rows.target + i * rows.target_stride, rows.source + i * rows.source_stride,
                static_cast<std::size_t>(rows.run_bytes));
  }
}

void fence() {}

#endif

[[nodiscard]] std::vector<Kernels> find_kernels() {
#ifdef RETILE_STREAMING
  std::vector<Kernels> out{
      {true, sse2::lines, sse2::runs, sse2::ordinary, sse2::append, sse2::join, fence}};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx")) {
    out.push_back({true, avx::lines, avx::runs, avx::ordinary, avx::append, avx::join, fence});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    out.push_back(
        {true, avx512::lines, avx512::runs, avx512::ordinary, avx512::append, avx512::join, fence});
  }
  return out;
#else
  return {{false, lines, ordinary_runs, ordinary, nullptr, nullptr, fence}};
#endif
}

}  // namespace

#ifdef RETILE_STREAMING

void gathered(const Segment& segment, bool streaming) {
  of_length(segment.run_bytes, [&](auto run) {
    return streaming ? gathered_of<run(), true>(segment) : gathered_of<run(), false>(segment);
  });
}

void zipped(const Segment& segment, bool streaming) {
  of_length(segment.run_bytes, [&](auto run) {
    return streaming ? zipped_of<run(), true>(segment) : zipped_of<run(), false>(segment);
  });
}

#else

void gathered(const Segment& segment, bool) { ordinary_runs(segment, Order::members_inner); }

void zipped(const Segment& segment, bool) { ordinary_runs(segment, Order::members_inner); }

#endif

std::span<const Kernels> usable_kernels() {
  static const std::vector<Kernels> found = find_kernels();
  return found;
}

const Kernels& kernels() {
  static const Kernels& best = usable_kernels().back();
  return best;
}

}  // namespace retile::copy
