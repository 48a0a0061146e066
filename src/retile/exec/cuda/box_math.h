// Where the units of a box lie: the arithmetic that a kernel does for every unit it moves.
//
// Everything here is constexpr and made of plain structs, so that one text is compiled for devices
// (nvcc takes constexpr functions as device functions) and for the host, where it is tested.
#pragma once

#include <cstdint>

namespace retile::cuda {

/// Division by a number that is known long before: a multiplication and a shift.
struct Divider {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;
};

/// Numbers that are divided, and what they are divided by, stay below this.
inline constexpr std::uint32_t division_limit = std::uint32_t{1} << 31;

/// Precondition: 1 <= divisor < division_limit.
[[nodiscard]] constexpr Divider divider_of(std::uint32_t divisor) {
  Divider out;
  out.divisor = divisor;
  while ((std::uint32_t{1} << out.shift) < divisor) ++out.shift;
  const std::uint64_t above = (std::uint64_t{1} << out.shift) - divisor;
  out.multiplier = static_cast<std::uint32_t>((above << 32U) / divisor + 1);
  return out;
}

/// Granlund and Montgomery's division. Precondition: number < division_limit, which is why the sum
/// stays within 32 bits.
[[nodiscard]] constexpr std::uint32_t divide(std::uint32_t number, const Divider& divider) {
  const auto high =
      static_cast<std::uint32_t>((static_cast<std::uint64_t>(number) * divider.multiplier) >> 32U);
  return (high + number) >> divider.shift;
}

/// Dimensions of a box. Boxes of more are taken apart.
inline constexpr std::uint32_t max_box_dims = 8;

/// Units of a box on both sides, or the stretch of them from `first` on in C order.
/// Units are the widest words of 1, 2, 4, 8 or 16 bytes that all places of the box are aligned to.
struct Box {
  std::uint64_t source = 0;  ///< address of unit 0; a stretch need not contain it
  std::uint64_t target = 0;
  std::uint32_t first = 0;
  std::uint32_t units = 0;  ///< first + units < division_limit
  std::uint32_t unit_bytes = 1;
  std::uint32_t dims = 0;                          ///< 1 to max_box_dims
  Divider extents[max_box_dims] = {};              ///< innermost first, in units
  std::int64_t source_strides[max_box_dims] = {};  ///< bytes
  std::int64_t target_strides[max_box_dims] = {};
};

/// Addresses of a unit on both sides.
struct Place {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
};

/// \param dims  box.dims, as a constant where the compiler is to unroll the loop
[[nodiscard]] constexpr Place place_of(const Box& box, std::uint32_t unit, std::uint32_t dims) {
  Place out{box.source, box.target};
  std::uint32_t rest = unit;
  for (std::uint32_t i = 0; i + 1 < dims; ++i) {
    const std::uint32_t quotient = divide(rest, box.extents[i]);
    const std::int64_t digit = rest - quotient * box.extents[i].divisor;
    out.source += static_cast<std::uint64_t>(digit * box.source_strides[i]);
    out.target += static_cast<std::uint64_t>(digit * box.target_strides[i]);
    rest = quotient;
  }
  const std::int64_t digit = rest;
  out.source += static_cast<std::uint64_t>(digit * box.source_strides[dims - 1]);
  out.target += static_cast<std::uint64_t>(digit * box.target_strides[dims - 1]);
  return out;
}

/// Threads of a block, and the units that each of them has under way at a time.
inline constexpr std::uint32_t block_threads = 256;
inline constexpr std::uint32_t units_at_once = 4;

/// Units of a portion, what a block copies before it looks for more: 16 KiB, or less for units
/// below 4 bytes.
[[nodiscard]] constexpr std::uint32_t portion_units(std::uint32_t unit_bytes) {
  const std::uint32_t rounds = unit_bytes >= 4 ? 16 / unit_bytes : 4;
  return block_threads * units_at_once * rounds;
}

/// Boxes side by side in the list of a batch, with equally many units of equal size. Their portions
/// take turns, since the runs of such boxes usually lie between each other and share sectors.
struct Group {
  std::uint32_t first_portion = 0;  ///< of the batch
  std::uint32_t first_box = 0;
  Divider boxes;  ///< their number
};

/// What one launch copies.
struct Batch {
  const Box* boxes = nullptr;
  const Group* groups = nullptr;  ///< by first_portion, the first of which is 0
  std::uint32_t group_count = 0;
  std::uint32_t portions = 0;  ///< below division_limit
};

/// Units [begin, end) of a box; numbers of units count from the box's unit 0.
struct Portion {
  std::uint32_t box = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Precondition: 0 <= number < batch.portions.
[[nodiscard]] constexpr Portion portion_of(const Batch& batch, std::uint32_t number) {
  std::uint32_t low = 0;
  for (std::uint32_t high = batch.group_count; high - low > 1;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (batch.groups[middle].first_portion <= number) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const Group& group = batch.groups[low];
  const std::uint32_t in_group = number - group.first_portion;
  const std::uint32_t turn = divide(in_group, group.boxes);
  Portion out;
  out.box = group.first_box + (in_group - turn * group.boxes.divisor);
  const Box& box = batch.boxes[out.box];
  const std::uint32_t step = portion_units(box.unit_bytes);
  const std::uint32_t at = turn * step;
  out.begin = box.first + at;
  out.end = box.first + (box.units - at < step ? box.units : at + step);
  return out;
}

}  // namespace retile::cuda
