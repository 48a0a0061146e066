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
    const Pass pass(1, tile, tile, transfers, {.stores = stores});
    for (Size row = 0; row < box[0]; ++row) {
      for (Size i = -1; i <= box[1]; ++i) target.data()[row * tile[1] + to + i] = std::byte{0};
    }
    const std::vector<const std::byte*> sources{source.data()};
    const std::vector<std::byte*> targets{target.data()};
    pass.run(sources, targets);
    for (Size row = 0; row < box[0]; ++row) {
      for (Size i = 0; i < box[1]; ++i) {
        ASSERT_EQ(target.data()[row * tile[1] + to + i], mark(row * 1000 + i)) << row << ", " << i;
      }
      EXPECT_EQ(target.data()[row * tile[1] + to - 1], std::byte{0});
      EXPECT_EQ(target.data()[row * tile[1] + to + box[1]], std::byte{0});
    }
  }
}

}  // namespace
}  // namespace large_test
