// Layouts. See layout.h.
#include "retile/core/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"

namespace retile {

namespace {

Result<void> check_shapes(Size devices, const Shape& global, const Shape& tile) {
  if (devices < 1 || devices > max_devices) {
    return refuse({.code = devices < 1 ? Code::bad_number : Code::too_many_devices,
                   .message = fmt::format(
                       "the number of devices must be between 1 and 2^31, not {}", devices)});
  }
  if (tile.size() != global.size()) {
    return refuse({.code = Code::ill_formed_type,
                   .message = fmt::format("a tile of rank {} cannot tile an array of rank {}",
                                          tile.size(), global.size())});
  }
  for (std::size_t i = 0; i < global.size(); ++i) {
    if (global[i] < 1 || tile[i] < 1) {
      return refuse({.code = Code::bad_number,
                     .message = fmt::format(
                         "extents must be at least 1; dimension {} has tile {} and global size {}",
                         i, tile[i], global[i])});
    }
  }
  if (!checked_product(global)) {
    return refuse(
        {.code = Code::size_overflow, .message = "the global size does not fit in 63 bits"});
  }
  return {};
}

}  // namespace

Result<Layout> Layout::compact(Size devices, const Shape& global, const Shape& tile,
                               std::vector<std::vector<Digit>> digits) {
  if (const auto shapes = check_shapes(devices, global, tile); !shapes)
    return refuse(shapes.error());
  if (digits.size() != global.size()) {
    return refuse(
        {.code = Code::ill_formed_type, .message = "every dimension needs its list of digits"});
  }
  auto numbers = TileMap::make(devices, std::move(digits));
  if (!numbers) return refuse(std::move(numbers.error()));
  Layout out;
  for (std::size_t i = 0; i < global.size(); ++i) {
    const Size count = numbers->count(i);
    const auto reach = checked_mul(tile[i], count);
    if (!reach) {
      return refuse(
          {.code = Code::size_overflow,
           .message = fmt::format("tile times digits of dimension {} does not fit in 63 bits", i)});
    }
    if (*reach != global[i]) {
      return refuse(
          {.code = Code::ill_formed_type,
           .message = fmt::format(
               "tile size times digit sizes must equal the global size: {} in dimension {}, not {}",
               *reach, i, global[i]),
           .rule = "WF-DIM"});
    }
    out.cuts_.push_back(Cuts::even(tile[i], count));
  }
  out.devices_ = devices;
  out.global_ = global;
  out.tile_ = tile;
  out.numbers_ = std::move(*numbers);
  return out;
}

Result<Layout> Layout::listed(Size devices, Shape global, Shape tile, std::vector<Size> at) {
  if (const auto shapes = check_shapes(devices, global, tile); !shapes)
    return refuse(shapes.error());
  const std::size_t rank = global.size();
  const auto entries = checked_mul(devices, static_cast<Size>(rank));
  if (!entries || at.size() != static_cast<std::size_t>(*entries)) {
    return refuse({.code = Code::ill_formed_type,
                   .message = fmt::format(
                       "`at` needs one base offset of {} numbers for each of the {} devices", rank,
                       devices)});
  }
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::size_t i = k % rank;
    if (at[k] < 0 || tile[i] > global[i] || at[k] > global[i] - tile[i]) {
      return refuse({.code = Code::ill_formed_type,
                     .message = fmt::format(
                         "the tile of device {} leaves the array: {} + {} > {} in dimension {}",
                         k / rank, at[k], tile[i], global[i], i)});
    }
  }
  Layout out;
  out.devices_ = devices;
  out.global_ = std::move(global);
  out.tile_ = std::move(tile);
  out.listed_ = true;
  out.at_ = std::move(at);
  return out;
}

Size Layout::tile_size() const {
  const auto size = checked_product(tile_);
  RETILE_ASSERT(size.has_value(), "a tile is no larger than its array");
  return *size;
}

Size Layout::global_size() const {
  const auto size = checked_product(global_);
  RETILE_ASSERT(size.has_value(), "established when the layout was made");
  return *size;
}

std::vector<Size> Layout::base_offsets() const {
  if (listed_) return at_;
  std::vector<Size> out = numbers_.all_numbers();
  for (std::size_t i = 0; i < rank(); ++i) {
    const Cuts cuts = cuts_[i];
    for (std::size_t k = i; k < out.size(); k += rank()) out[k] = cuts.at(out[k]);
  }
  return out;
}

Shape Layout::base_offset(Size device) const {
  RETILE_ASSERT(device >= 0 && device < devices_, "the device exists");
  if (listed_) {
    const auto first =
        at_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(device) * rank());
    return {first, first + static_cast<std::ptrdiff_t>(rank())};
  }
  Shape out = numbers_.numbers(device);
  for (std::size_t i = 0; i < rank(); ++i) out[i] = cuts_[i].at(out[i]);
  return out;
}

bool Layout::covers_once() const {
  if (!listed_ || rank() == 0) return true;
  // Equal boxes do iff they stand on the grid of their own extents and none is missing.
  Size tiles = 1;
  for (std::size_t i = 0; i < rank(); ++i) {
    if (global_[i] % tile_[i] != 0) return false;
    tiles *= tile_count(global_[i], tile_[i]);
  }
  if (tiles > devices_) return false;
  std::vector<bool> seen(static_cast<std::size_t>(tiles), false);
  for (auto at = at_.begin(); at != at_.end();) {
    Size number = 0;
    for (std::size_t i = 0; i < rank(); ++i, ++at) {
      if (*at % tile_[i] != 0) return false;
      number = number * tile_count(global_[i], tile_[i]) + *at / tile_[i];
    }
    seen[static_cast<std::size_t>(number)] = true;
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

bool Layout::equivalent(const Layout& other) const {
  if (devices_ != other.devices_ || global_ != other.global_ || tile_ != other.tile_) return false;
  if (!listed_ && !other.listed_) return numbers_.equivalent(other.numbers_);
  return base_offsets() == other.base_offsets();
}

std::vector<Digit> Layout::pop(std::size_t i, Size n) {
  RETILE_ASSERT(!listed_ && i < rank() && n >= 1, "pop works on tile numbers");
  RETILE_ASSERT(cuts_[i].count() % n == 0, "a popped factor divides the number of tiles");
  cuts_[i] = cuts_[i].joined(n);
  tile_[i] = cuts_[i].largest();
  return numbers_.pop(i, n);
}

void Layout::push(std::size_t i, const std::vector<Digit>& digits) {
  RETILE_ASSERT(!listed_ && i < rank(), "push works on tile numbers");
  const Size n = product_of(digits);
  RETILE_ASSERT(tile_[i] % n == 0, "a pushed factor divides the tile");
  cuts_[i] = cuts_[i].split(n);
  tile_[i] = cuts_[i].largest();
  numbers_.push(i, digits);
}

std::vector<Digit> Layout::unused() const {
  RETILE_ASSERT(!listed_, "listed offsets have no digits");
  return numbers_.unused();
}

Layout Layout::renamed(const IotaChain& device_at) const {
  RETILE_ASSERT(device_at.size() == devices_, "every device gets a name");
  Layout out = *this;
  if (!listed_) {
    out.numbers_ = numbers_.renamed(device_at);
    return out;
  }
  out.at_.clear();
  for (const Size device : device_at.list()) {
    const Shape base = base_offset(device);
    out.at_.insert(out.at_.end(), base.begin(), base.end());
  }
  return out;
}

Layout Layout::compacted() const {
  Layout out = *this;
  if (!listed_) out.numbers_ = numbers_.compacted();
  return out;
}

}  // namespace retile
