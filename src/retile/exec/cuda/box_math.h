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

/// The lowest digit of a number, which is left with the others.
constexpr std::uint32_t take_digit(std::uint32_t& number, const Divider& extent) {
  const std::uint32_t quotient = divide(number, extent);
  const std::uint32_t digit = number - quotient * extent.divisor;
  number = quotient;
  return digit;
}

/// Dimensions of a box. Boxes of more are taken apart.
inline constexpr std::uint32_t max_box_dims = 8;

/// Addresses on both sides.
struct Place {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
};

/// Boxes that are alike but for the places of their first units, in units of the widest words of 1,
/// 2, 4, 8 or 16 bytes that all their places are aligned to.
///
/// Together they are one box of a dimension more, which comes right after the innermost: a run of
/// one box, the same run of the next, .. and then the next run of the first. Where boxes have short
/// runs these usually lie between each other and share lines, so that the lines are used up at once.
/// Copied are all units, or the stretch of them from `first` on in that order.
struct Group {
  static constexpr std::uint32_t max_dims = max_box_dims + 1;
  static constexpr std::uint32_t box_dim = 1;

  std::uint32_t first_portion = 0;  ///< of the batch
  std::uint32_t first_box = 0;
  std::uint32_t first = 0;
  std::uint32_t units = 0;  ///< first + units < division_limit
  std::uint32_t unit_bytes = 1;
  std::uint32_t dims = 0;                      ///< 2 to max_dims
  Divider extents[max_dims] = {};              ///< innermost first, in units
  std::int64_t source_strides[max_dims] = {};  ///< bytes; those of box_dim are 0
  std::int64_t target_strides[max_dims] = {};
};

/// Most boxes of a group, so that a block keeps all their places at hand.
inline constexpr std::uint32_t most_group_boxes = 32;

/// A unit: which box it is of, and how far it is on both sides from that box's first unit.
struct Spot {
  std::uint32_t box = 0;  ///< of the group
  Place distance;         ///< wraps around where it is negative
};

[[nodiscard]] constexpr Spot spot_of(const Group& group, std::uint32_t unit) {
  Spot out;
  std::uint32_t rest = unit;
  for (std::uint32_t i = 0; i < group.dims; ++i) {
    const bool is_last = i + 1 == group.dims;
    const std::uint32_t digit = is_last ? rest : take_digit(rest, group.extents[i]);
    out.distance.source += static_cast<std::uint64_t>(digit * group.source_strides[i]);
    out.distance.target += static_cast<std::uint64_t>(digit * group.target_strides[i]);
    if (i == Group::box_dim) out.box = digit;
  }
  return out;
}

/// Threads of a block, and the units that each of them has under way at a time.
inline constexpr std::uint32_t block_threads = 256;
inline constexpr std::uint32_t units_at_once = 4;

/// One side of the units that a thread copies, each block_threads after the one before. How much
/// further that is, digit by digit, is the same every time, so only the first unit is divided.
/// \tparam dims  of the group, 2 or more
template <std::uint32_t dims>
class Walk {
 public:
  constexpr Walk(const Group& group, const std::int64_t (&strides)[Group::max_dims],
                 std::uint32_t unit) {
    std::uint32_t rest = unit;
    std::uint32_t further = block_threads;
    for (std::uint32_t i = 0; i + 1 < dims; ++i) {
      extents_[i] = group.extents[i].divisor;
      digits_[i] = take_digit(rest, group.extents[i]);
      further_[i] = take_digit(further, group.extents[i]);
      wraps_[i] = static_cast<std::uint64_t>(strides[i + 1] - extents_[i] * strides[i]);
    }
    digits_[dims - 1] = rest;
    further_[dims - 1] = further;
    for (std::uint32_t i = 0; i < dims; ++i) {
      distance_ += static_cast<std::uint64_t>(digits_[i] * strides[i]);
      step_ += static_cast<std::uint64_t>(further_[i] * strides[i]);
    }
  }

  /// As in Spot.
  [[nodiscard]] constexpr std::uint32_t box() const { return digits_[Group::box_dim]; }
  [[nodiscard]] constexpr std::uint64_t distance() const { return distance_; }

  constexpr void next() {
    distance_ += step_;
    std::uint32_t carry = 0;
    for (std::uint32_t i = 0; i + 1 < dims; ++i) {
      digits_[i] += further_[i] + carry;
      carry = digits_[i] >= extents_[i] ? 1 : 0;
      if (carry != 0) {
        digits_[i] -= extents_[i];
        distance_ += wraps_[i];
      }
    }
    digits_[dims - 1] += further_[dims - 1] + carry;
  }

 private:
  std::uint32_t extents_[dims] = {};
  std::uint32_t digits_[dims] = {};
  std::uint32_t further_[dims] = {};  ///< the digits of block_threads
  std::uint64_t wraps_[dims] = {};    ///< what a carry out of a digit adds to the distance
  std::uint64_t distance_ = 0;
  std::uint64_t step_ = 0;
};

/// Units of a portion, what a block copies: 16 KiB, or less for units below 4 bytes.
[[nodiscard]] constexpr std::uint32_t portion_units(std::uint32_t unit_bytes) {
  const std::uint32_t rounds = unit_bytes >= 4 ? 16 / unit_bytes : 4;
  return block_threads * units_at_once * rounds;
}

/// What one launch copies.
struct Batch {
  const Place* boxes = nullptr;   ///< where each box's unit 0 lies; a stretch need not contain it
  const Group* groups = nullptr;  ///< by first_portion, the first of which is 0
  std::uint32_t group_count = 0;
  std::uint32_t portions = 0;  ///< below division_limit
};

/// Units [begin, end) of a group.
struct Portion {
  std::uint32_t group = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Precondition: 0 <= number < batch.portions.
[[nodiscard]] constexpr Portion portion_of(const Batch& batch, std::uint32_t number) {
  Portion out;
  for (std::uint32_t high = batch.group_count; high - out.group > 1;) {
    const std::uint32_t middle = out.group + (high - out.group) / 2;
    if (batch.groups[middle].first_portion <= number) {
      out.group = middle;
    } else {
      high = middle;
    }
  }
  const Group& group = batch.groups[out.group];
  const std::uint32_t step = portion_units(group.unit_bytes);
  const std::uint32_t at = (number - group.first_portion) * step;
  out.begin = group.first + at;
  out.end = group.first + (group.units - at < step ? group.units : at + step);
  return out;
}

}  // namespace retile::cuda
