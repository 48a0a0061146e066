#include "retile/exec/npy/pattern.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "retile/core/assert.h"
#include "retile/core/element_type.h"
#include "retile/exec/npy/tile_runs.h"

namespace retile {
namespace {

TileRuns runs_of(const Layout& map, Size device, Size element_bytes, std::size_t tile_bytes) {
  RETILE_ASSERT(is_element_size(element_bytes), "an element size that cannot be moved");
  RETILE_ASSERT(checked_mul(map.tile_size(device), element_bytes) == static_cast<Size>(tile_bytes),
                "a buffer that is not of the tile's size");
  return {map, device};
}

/// The numbers whose bytes in memory are least significant first.
std::uint64_t little_endian(std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(value);
  return value;
}

template <std::size_t width>
std::array<std::byte, width> element_of(std::uint64_t index) {
  const std::array<std::uint64_t, 2> halves{
      little_endian(splitmix64(index)),
      width > 8 ? little_endian(splitmix64(index ^ pattern_second_half)) : 0};
  std::array<std::byte, width> bytes;
  std::memcpy(bytes.data(), halves.data(), width);
  return bytes;
}

template <std::size_t width>
void fill(TileRuns runs, std::byte* tile) {
  while (!runs.done()) {
    const Run run = runs.next(runs.run_elements());
    for (Size i = 0; i < run.elements; ++i, tile += width) {
      const auto element = element_of<width>(static_cast<std::uint64_t>(run.global + i));
      std::memcpy(tile, element.data(), width);
    }
  }
}

template <std::size_t width>
std::optional<Size> find(TileRuns runs, const std::byte* tile) {
  while (!runs.done()) {
    const Run run = runs.next(runs.run_elements());
    for (Size i = 0; i < run.elements; ++i, tile += width) {
      const auto element = element_of<width>(static_cast<std::uint64_t>(run.global + i));
      if (std::memcmp(tile, element.data(), width) != 0) return run.local + i;
    }
  }
  return std::nullopt;
}

/// Calls function(n), n being the bytes of an element as a constant.
template <typename Function>
auto of_width(Size element_bytes, const Function& function) {
  switch (element_bytes) {
    case 1:
      return function(std::integral_constant<std::size_t, 1>());
    case 2:
      return function(std::integral_constant<std::size_t, 2>());
    case 4:
      return function(std::integral_constant<std::size_t, 4>());
    case 8:
      return function(std::integral_constant<std::size_t, 8>());
    default:
      return function(std::integral_constant<std::size_t, 16>());
  }
}

}  // namespace

std::array<std::byte, 16> pattern_element(Size index) {
  return element_of<16>(static_cast<std::uint64_t>(index));
}

void fill_pattern(const Layout& map, Size device, Size element_bytes, std::span<std::byte> tile) {
  const TileRuns runs = runs_of(map, device, element_bytes, tile.size());
  of_width(element_bytes, [&](auto width) { fill<width()>(runs, tile.data()); });
}

std::optional<Size> find_pattern_mismatch(const Layout& map, Size device, Size element_bytes,
                                          std::span<const std::byte> tile) {
  const TileRuns runs = runs_of(map, device, element_bytes, tile.size());
  return of_width(element_bytes, [&](auto width) { return find<width()>(runs, tile.data()); });
}

}  // namespace retile
