// Tiles of more than 2^31 elements, in memory that exists only where it is touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "retile/exec/copy/pass.h"

namespace large_test {
namespace {

using retile::Shape;
using retile::Size;
using retile::Transfer;
using retile::copy::Pass;
using retile::copy::Stores;

/// Zeros that take no memory until they are written.
class Sparse {
 public:
  explicit Sparse(Size bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Sparse() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  [[nodiscard]] bool mapped() const { return at_ != MAP_FAILED; }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};

/// A value that depends on every bit of the position.
std::byte mark(Size at) {
  return static_cast<std::byte>((static_cast<std::uint64_t>(at) * 0x9E3779B97F4A7C15u) >> 56);
}

TEST(LargePass, finds_boxes_behind_2_to_the_32_elements) {
  const Shape tile{3, (Size{1} << 31) + 5};
  const Size bytes = tile[0] * tile[1];
  const Sparse source(bytes);
  const Sparse target(bytes);
  ASSERT_TRUE(source.mapped() && target.mapped());
  const Shape box{3, 200};
  const Size from = tile[1] - 200;
  const Size to = tile[1] - 333;
  for (Size row = 0; row < box[0]; ++row) {
    for (Size i = 0; i < box[1]; ++i) {
      source.data()[row * tile[1] + from + i] = mark(row * 1000 + i);
    }
  }
  for (const Stores stores : {Stores::ordinary, Stores::streaming}) {
    const std::vector<Transfer> transfers{{0, 0, {0, to}, {0, from}, box}};
    const Pass pass = Pass::make(1, tile, tile, transfers, {.stores = stores}).value();
    for (Size row = 0; row < box[0]; ++row) {
      for (Size i = -1; i <= box[1]; ++i) target.data()[row * tile[1] + to + i] = std::byte{0};
    }
    const std::vector<std::byte*> targets{target.data()};
    pass.push(source.data(), targets);
    for (Size row = 0; row < box[0]; ++row) {
      for (Size i = 0; i < box[1]; ++i) {
        ASSERT_EQ(target.data()[row * tile[1] + to + i], mark(row * 1000 + i)) << row << ", " << i;
      }
      EXPECT_EQ(target.data()[row * tile[1] + to - 1], std::byte{0});
      EXPECT_EQ(target.data()[row * tile[1] + to + box[1]], std::byte{0});
    }
  }
}

TEST(LargePass, the_last_part_of_a_box_of_2_to_the_33_elements_is_its_end) {
  // Columns of 3 elements out of rows of 7, 2^33 elements in all; a millionth of it is copied.
  const Size rows = (Size{1} << 33) / 3;
  const Size part_count = Size{1} << 20;
  const Sparse source(rows * 7 * 2);
  const Sparse target(rows * 3 * 2);
  ASSERT_TRUE(source.mapped() && target.mapped());
  const std::vector<Transfer> transfers{{0, 0, {0, 0}, {0, 4}, {rows, 3}}};
  for (const Stores stores : {Stores::ordinary, Stores::streaming}) {
    const Pass pass = Pass::make(2, {rows, 7}, {rows, 3}, transfers, {.stores = stores}).value();
    EXPECT_EQ(pass.bytes(), rows * 6);
    for (const Size index : {Size{0}, part_count / 2, part_count - 1}) {
      // rows * index / part_count in integers of 64 bits is exact here: rows < 2^33.
      const Size begin = rows * index / part_count;
      const Size end = rows * (index + 1) / part_count;
      EXPECT_EQ(pass.bytes({index, part_count}), (end - begin) * 6);
      for (Size row = begin; row < end; ++row) {
        for (Size b = 0; b < 14; ++b) source.data()[row * 14 + b] = mark(row * 14 + b);
      }
      const std::vector<std::byte*> targets{target.data()};
      pass.push(source.data(), targets, {index, part_count});
      for (Size row = begin; row < end; ++row) {
        for (Size b = 0; b < 6; ++b) {
          ASSERT_EQ(target.data()[row * 6 + b], mark(row * 14 + 8 + b)) << row;
          target.data()[row * 6 + b] = std::byte{0};
        }
      }
      if (begin > 0) {
        EXPECT_EQ(target.data()[begin * 6 - 1], std::byte{0});
      }
      if (end < rows) {
        EXPECT_EQ(target.data()[end * 6], std::byte{0});
      }
    }
  }
}

}  // namespace
}  // namespace large_test
