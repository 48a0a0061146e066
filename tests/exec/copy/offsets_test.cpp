// Tiles that begin anywhere, as a caller's do: every offset of the source and of the target within a
// line, every kernel that this machine can run. No byte beside what is copied is written.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "retile/exec/copy/kernels.h"
#include "retile/exec/copy/pass.h"
#include "support/samples.h"

namespace offsets_test {
namespace {

using retile::Shape;
using retile::Size;
using retile::Transfer;
using retile::copy::Joiner;
using retile::copy::Kernels;
using retile::copy::line_bytes;
using retile::copy::Order;
using retile::copy::Pass;
using retile::copy::Rows;
using retile::copy::Segment;
using retile::copy::Stores;

constexpr std::array both{Stores::ordinary, Stores::streaming};

/// Memory of random bytes that begins at a line.
class Memory {
 public:
  explicit Memory(Size bytes) : lines_(static_cast<std::size_t>(bytes / line_bytes + 1)) {
    std::mt19937_64 random(1);
    for (Line& line : lines_) {
      for (std::byte& byte : line.bytes) byte = static_cast<std::byte>(random() >> 33);
    }
  }
  [[nodiscard]] std::byte* at(Size offset) { return lines_.front().bytes.data() + offset; }
  friend bool operator==(const Memory&, const Memory&) = default;

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
    friend bool operator==(const Line&, const Line&) = default;
  };
  std::vector<Line> lines_;
};

/// The same with other bytes.
Memory inverted(Memory memory, Size bytes) {
  for (Size i = 0; i < bytes; ++i) *memory.at(i) = ~*memory.at(i);
  return memory;
}

constexpr Size room = 8192;
constexpr Size guard = 2 * line_bytes;

void copy_bytes(std::byte* target, const std::byte* source, Size bytes) {
  for (Size i = 0; i < bytes; ++i) target[i] = source[i];
}

/// Runs of one member or several, one behind the other in the source and with gaps in the target.
struct Drawn {
  Size run = 0;
  Size rows = 0;
  Size members = 1;
  Size gap = 0;
  [[nodiscard]] Size stride() const { return run + gap; }
  [[nodiscard]] Size each() const { return rows * stride(); }
};

/// The bytes of `before` after the runs were copied by a loop.
Memory wanted(const Drawn& drawn, Memory before, Memory& source, Size from, Size to) {
  for (Size m = 0; m < drawn.members; ++m) {
    for (Size row = 0; row < drawn.rows; ++row) {
      copy_bytes(before.at(guard + to + m * drawn.each() + row * drawn.stride()),
                 source.at(from + (row * drawn.members + m) * drawn.run), drawn.run);
    }
  }
  return before;
}

/// What a kernel makes of it.
template <typename Copy>
Memory copied(const Drawn& drawn, Memory memory, Memory& source, Size from, Size to,
              const Copy& copy) {
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> targets;
  for (Size m = 0; m < drawn.members; ++m) {
    sources.push_back(source.at(from + m * drawn.run));
    targets.push_back(memory.at(guard + to + m * drawn.each()));
  }
  copy(Segment{sources.data(), targets.data(), drawn.members, drawn.rows, drawn.run * drawn.members,
               drawn.stride(), drawn.run});
  return memory;
}

/// For every pair of offsets.
template <typename Copy>
void expect_right_everywhere(const Drawn& drawn, const Copy& copy) {
  Memory source(room);
  const Memory before = inverted(source, room);
  // All pairs of them for one length, and one of five for the others; fewer where accesses are watched.
  const Size every = (drawn.run == 2 * line_bytes + 1 ? 1 : 5) * (support::instrumented ? 5 : 1);
  for (Size from = 0; from <= line_bytes; ++from) {
    for (Size to = 0; to <= line_bytes; ++to) {
      if ((from * 7 + to) % every != 0) continue;
      ASSERT_TRUE(copied(drawn, before, source, from, to, copy) ==
                  wanted(drawn, before, source, from, to))
          << drawn.rows << " runs of " << drawn.run << " bytes, " << drawn.members
          << " members, gaps of " << drawn.gap << ", from " << from << " to " << to;
    }
  }
}

constexpr std::array<Size, 12> lengths{64, 65, 100, 128, 129, 191, 256, 449, 511, 512, 577, 1111};

TEST(Offsets, runs_by_ordinary_stores) {
  for (const Kernels& kernel : retile::copy::usable_kernels()) {
    for (const Size run : lengths) {
      for (const Size gap : {0, 3, 64}) {
        expect_right_everywhere({.run = run, .rows = 3, .gap = gap}, [&](const Segment& all) {
          kernel.ordinary({.target = all.targets[0],
                           .target_stride = all.target_stride,
                           .source = all.sources[0],
                           .source_stride = all.source_stride,
                           .run_bytes = all.run_bytes,
                           .count = all.rows,
                           .more = 0});
        });
      }
    }
  }
}

TEST(Offsets, runs_that_are_streamed) {
  for (const Kernels& kernel : retile::copy::usable_kernels()) {
    for (const Size run : {1, 17, 63, 64, 65, 127, 129, 256, 700}) {
      for (const Order order : {Order::members_inner, Order::members_outer}) {
        expect_right_everywhere({.run = run, .rows = 2, .members = 3, .gap = 5},
                                [&](const Segment& all) {
                                  kernel.runs(all, order);
                                  kernel.fence();
                                });
      }
    }
  }
}

TEST(Offsets, runs_that_complete_each_others_lines) {
  if (!retile::copy::can_stream()) GTEST_SKIP() << "no streaming stores";
  for (const Kernels& kernel : retile::copy::usable_kernels()) {
    for (const Size run : {64, 65, 100, 129, 256, 1031}) {
      for (const Order order : {Order::members_inner, Order::members_outer, Order::dealt}) {
        // With a gap every row is finished for itself.
        for (const Size gap : {0, 1, 100}) {
          if (order == Order::dealt && gap != 0) continue;
          expect_right_everywhere({.run = run, .rows = 3, .members = 2, .gap = gap},
                                  [&](const Segment& all) {
                                    std::array<Joiner, 2> joiners;
                                    kernel.join(all, 1, order, joiners.data());
                                    for (Joiner& joiner : joiners) joiner.finish();
                                    kernel.fence();
                                  });
        }
      }
    }
  }
}

// Pieces of all lengths, one behind the other or with a gap, put down in one line or in many.
TEST(Offsets, pieces_that_are_appended) {
  if (!retile::copy::can_stream()) GTEST_SKIP() << "no streaming stores";
  std::mt19937_64 random(2);
  const auto below = [&random](Size n) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
  };
  Memory source(room);
  const Memory before = inverted(source, room);
  for (const Kernels& kernel : retile::copy::usable_kernels()) {
    for (int attempt = 0; attempt < 4000; ++attempt) {
      Memory by_loop = before;
      Memory by_kernel = before;
      Joiner joiner;
      Size to = guard + below(line_bytes);
      for (Size pieces = 1 + below(12); pieces > 0; --pieces) {
        const Size bytes = 1 + below(below(3) == 0 ? 400 : 70);
        const Size from = below(line_bytes * 4);
        copy_bytes(by_loop.at(to), source.at(from), bytes);
        joiner.continue_at(by_kernel.at(to));
        kernel.append(joiner, source.at(from), bytes);
        to += bytes + (below(4) == 0 ? below(80) : 0);
      }
      joiner.finish();
      kernel.fence();
      ASSERT_TRUE(by_loop == by_kernel) << attempt;
    }
  }
}

/// Random bytes between memory that nobody may touch.
class Fenced {
 public:
  Fenced() {
    void* const all = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(all, MAP_FAILED);
    begin_ = static_cast<std::byte*>(all) + page;
    EXPECT_EQ(mprotect(begin_, page, PROT_READ | PROT_WRITE), 0);
    std::mt19937_64 random(3);
    std::generate_n(begin_, page, [&] { return static_cast<std::byte>(random() >> 33); });
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { munmap(begin_ - page, 3 * page); }

  [[nodiscard]] const std::byte* first() const { return begin_; }
  [[nodiscard]] const std::byte* last(Size bytes) const { return begin_ + page - bytes; }

 private:
  static constexpr std::size_t page = 4096;
  std::byte* begin_ = nullptr;
};

// What lies before and behind a piece may be nobody's memory.
TEST(Offsets, nothing_but_the_pieces_is_read) {
  if (!retile::copy::can_stream()) GTEST_SKIP() << "no streaming stores";
  const Fenced source;
  const Memory before = inverted(Memory(512), 512);
  for (const Kernels& kernel : retile::copy::usable_kernels()) {
    for (Size kept = 1; kept < line_bytes; ++kept) {
      for (Size bytes = 1; bytes <= 2 * line_bytes; ++bytes) {
        for (const bool first : {true, false}) {
          const auto place = [&](bool begin, Size count) {
            return begin ? source.first() : source.last(count);
          };
          Memory by_loop = before;
          Memory by_kernel = before;
          copy_bytes(by_loop.at(line_bytes), place(first, kept), kept);
          copy_bytes(by_loop.at(line_bytes + kept), place(!first, bytes), bytes);
          Joiner joiner;
          joiner.continue_at(by_kernel.at(line_bytes));
          kernel.append(joiner, place(first, kept), kept);
          kernel.append(joiner, place(!first, bytes), bytes);
          joiner.finish();
          kernel.fence();
          ASSERT_TRUE(by_loop == by_kernel) << kept << " and " << bytes;
        }
      }
    }
  }
}

/// Rows to columns (push) or columns to rows of two tiles, runs of `run` elements.
struct Tiles {
  Size element_bytes;
  Size run;
  Size rows;
  bool push;

  [[nodiscard]] Shape whole() const { return {rows, 2 * run}; }
  [[nodiscard]] Shape half() const { return {rows, run}; }
  [[nodiscard]] Pass pass(Stores stores) const {
    std::vector<Transfer> transfers;
    for (Size peer = 0; peer < 2; ++peer) {
      const Shape here{0, 0};
      const Shape there{0, peer * run};
      transfers.push_back(
          {push ? peer : 0, push ? 0 : peer, push ? here : there, push ? there : here, half()});
    }
    return {element_bytes,
            push ? whole() : half(),
            push ? half() : whole(),
            transfers,
            {.stores = stores}};
  }
};

void expect_right_at(const Tiles& tiles, const Pass& pass, Memory& source, const Memory& before,
                     Size from, Size to) {
  const Size run = tiles.run * tiles.element_bytes;
  const Size each = tiles.rows * run;
  // The halves lie apart from each other, with a guard between.
  const std::array places{Size{0}, each + guard};
  Memory by_loop = before;
  Memory by_pass = before;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> targets;
  for (const Size place : places) {
    if (tiles.push || place == 0)
      targets.push_back(by_pass.at(guard + to + (tiles.push ? place : 0)));
    if (!tiles.push || place == 0) sources.push_back(source.at(from + (tiles.push ? 0 : place)));
  }
  for (Size peer = 0; peer < 2; ++peer) {
    const Size half = places.at(static_cast<std::size_t>(peer));
    for (Size row = 0; row < tiles.rows; ++row) {
      const Size in_whole = (2 * row + peer) * run;
      const Size in_half = half + row * run;
      copy_bytes(by_loop.at(guard + to + (tiles.push ? in_half : in_whole)),
                 source.at(from + (tiles.push ? in_whole : in_half)), run);
    }
  }
  pass.run(sources, targets);
  ASSERT_TRUE(by_loop == by_pass) << tiles.element_bytes << " bytes, " << tiles.rows << " runs of "
                                  << tiles.run << (tiles.push ? ", push" : ", pull") << ", from "
                                  << from << " to " << to;
}

TEST(Offsets, passes_over_small_tiles_of_every_element_size) {
  Memory source(room);
  const Memory before = inverted(source, room);
  for (const Size element_bytes : {1, 2, 4, 8, 16}) {
    // Some bytes, some lines, and what is not whole lines.
    for (const Size bytes : {16, 32, 48, 64, 80, 208}) {
      for (const bool push : {true, false}) {
        const Size every = (bytes == 80 ? 1 : 5) * (support::instrumented ? 3 : 1);
        const Tiles tiles{element_bytes, std::max(bytes / element_bytes, Size{1}), 5, push};
        for (const Stores stores : both) {
          const Pass pass = tiles.pass(stores);
          for (Size from = 0; from <= line_bytes; ++from) {
            for (Size to = 0; to <= line_bytes; ++to) {
              if ((from * 7 + to) % every != 0) continue;
              expect_right_at(tiles, pass, source, before, from, to);
              if (testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(Offsets, what_is_streamed_although_its_ends_are_not) {
  using retile::copy::runs_stream;
  EXPECT_TRUE(runs_stream(0, 64));
  EXPECT_TRUE(runs_stream(Size{128} | Size{192}, 256));
  EXPECT_FALSE(runs_stream(0, 32));
  EXPECT_FALSE(runs_stream(16, 192));  // a target off the lines
  EXPECT_FALSE(runs_stream(0, 100));   // runs of no whole lines
  EXPECT_FALSE(runs_stream(16, 255));
  EXPECT_TRUE(runs_stream(16, 256));
}

}  // namespace
}  // namespace offsets_test
