// Every kernel that this machine can run, not only the one that is chosen.
#include "retile/exec/copy/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace kernels_test {
namespace {

using retile::Size;
using retile::copy::Kernels;
using retile::copy::Order;
using retile::copy::Segment;

constexpr Size members = 4;
constexpr Size rows = 37;

/// The bytes after `kernel` was given `rows` runs of four members.
std::vector<std::byte> result(Size run, Size misaligned, bool zipped,
                              void (*copy)(const Kernels*, const Segment&), const Kernels* kernel) {
  std::vector<std::byte> source(static_cast<std::size_t>(2 * rows * members * run));
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<std::byte>(i * 31 + i / 7);
  const Size each = zipped ? run : rows * run + 64;
  std::vector<std::byte> target(static_cast<std::size_t>(members * (rows * run + 64) + 128));
  std::byte* const begin =
      target.data() + 64 - reinterpret_cast<std::uintptr_t>(target.data()) % 64 + misaligned;
  std::array<const std::byte*, members> sources{};
  std::array<std::byte*, members> targets{};
  for (Size m = 0; m < members; ++m) {
    sources.at(static_cast<std::size_t>(m)) = source.data() + m * run;
    targets.at(static_cast<std::size_t>(m)) = begin + m * each;
  }
  copy(kernel, {sources.data(), targets.data(), members, rows, 2 * members * run,
                zipped ? members * run : run, run});
  if (kernel != nullptr) kernel->fence();
  return {begin, begin + members * (rows * run + 64) - misaligned};
}

TEST(Kernels, all_copy_what_ordinary_stores_copy) {
  const auto wanted = [](const Kernels*, const Segment& segment) {
    ordinary_runs(segment, Order::members_inner);
  };
  ASSERT_FALSE(retile::copy::usable_kernels().empty());
  for (const Kernels& kernel : retile::copy::usable_kernels()) {
    for (const Size run : {1, 2, 4, 8, 16, 32}) {
      for (const Size misaligned : {Size{0}, run % 64, Size{32}}) {
        const auto gathered = [](const Kernels*, const Segment& s) {
          retile::copy::gathered(s, true);
        };
        EXPECT_EQ(result(run, misaligned, false, gathered, &kernel),
                  result(run, misaligned, false, wanted, nullptr));
        const auto zipped = [](const Kernels*, const Segment& s) { retile::copy::zipped(s, true); };
        EXPECT_EQ(result(run, misaligned, true, zipped, &kernel),
                  result(run, misaligned, true, wanted, nullptr));
      }
    }
    for (const Size run : {64, 100, 192, 2500}) {
      for (const Size misaligned : {0, 1, 63}) {
        const auto inner = [](const Kernels* k, const Segment& s) {
          k->runs(s, Order::members_inner);
        };
        const auto outer = [](const Kernels* k, const Segment& s) {
          k->runs(s, Order::members_outer);
        };
        const auto dealt = [](const Kernels* k, const Segment& s) { k->runs(s, Order::dealt); };
        for (auto* copy : {+inner, +outer, +dealt}) {
          EXPECT_EQ(result(run, misaligned, false, copy, &kernel),
                    result(run, misaligned, false, wanted, nullptr));
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernels_test
