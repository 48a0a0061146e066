// Layouts. See layout.h.
#include "retile/core/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/boxes.h"

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

/// A stretch of one dimension.
struct Reach {
  Size at = 0;
  Size extent = 0;
};

/// What a box holds of a dimension where its tile is number t; nothing where the tile is empty.
Reach reach(const Cuts& cuts, const Halo& halo, Size t) {
  const Size begin = cuts.at(t);
  const Size end = cuts.at(t + 1);
  if (begin == end) return {};
  const Size at = begin - std::min(begin, halo.below);
  return {at, end + std::min(cuts.global() - end, halo.above) - at};
}

/// Whether a tile is empty that has these stretches of each dimension.
bool holds_nothing(const std::vector<std::vector<Stretch>>& tile) {
  return std::any_of(tile.begin(), tile.end(), [](const auto& along) { return along.empty(); });
}

/// Whether a stretch lies in a dimension.
bool lies_inside(Size at, Size extent, Size global) {
  return at >= 0 && extent >= 0 && extent <= global && at <= global - extent;
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

Result<Layout> Layout::numbered(Size devices, std::vector<Cuts> cuts,
                                std::vector<std::vector<Digit>> digits, std::vector<Halo> halos) {
  Layout out;
  out.devices_ = devices;
  for (const Cuts& dim : cuts) out.global_.push_back(dim.global());
  RETILE_ASSERT(halos.empty() || halos.size() == cuts.size(),
                "a halo for every dimension, or none");
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    out.tile_.push_back(cuts[i].largest());
    out.even_ = out.even_ && cuts[i].is_even();
    out.in_boxes_ = out.in_boxes_ && !cuts[i].is_dealt();
  }
  if (const auto shapes = check_shapes(devices, out.global_, out.tile_); !shapes) {
    return refuse(shapes.error());
  }
  if (digits.size() != cuts.size()) {
    return refuse(
        {.code = Code::ill_formed_type, .message = "every dimension needs its list of digits"});
  }
  auto numbers = TileMap::make(devices, std::move(digits));
  if (!numbers) return refuse(std::move(numbers.error()));
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (numbers->count(i) == cuts[i].count()) continue;
    return refuse(
        {.code = Code::ill_formed_type,
         .message = fmt::format("dimension {} is cut into {} tiles, but its digits say {}", i,
                                cuts[i].count(), numbers->count(i)),
         .rule = "WF-DIM"});
  }
  if (!out.in_boxes_) {
    Size boxes = 1;
    for (const Cuts& dim : cuts) {
      boxes = checked_mul(boxes, dim.stretches()).value_or(max_listed_numbers + 1);
      if (boxes <= max_listed_numbers) continue;
      return refuse(
          {.code = Code::limit_reached,
           .message = fmt::format("more than {} boxes are dealt out", max_listed_numbers)});
    }
  }
  for (std::size_t i = 0; i < halos.size(); ++i) {
    const Halo halo = halos[i];
    const Size global = out.global_[i];
    if (halo.below < 0 || halo.above < 0 || halo.below > global || halo.above > global) {
      return refuse({.code = Code::bad_number,
                     .message = fmt::format(
                         "the halo of dimension {} must be between 0 and its size {}", i, global)});
    }
    if (halo == Halo{} || cuts[i].count() == 1) {
      halos[i] = {};  // one tile has no neighbours
      continue;
    }
    RETILE_ASSERT(!cuts[i].is_dealt(), "a halo is of a box");
    out.even_ = false;
    out.tile_[i] = 0;
    for (Size t = 0; t < cuts[i].count(); ++t) {
      out.tile_[i] = std::max(out.tile_[i], reach(cuts[i], halo, t).extent);
    }
  }
  if (!std::all_of(halos.begin(), halos.end(), [](const Halo& halo) { return halo == Halo{}; })) {
    out.halos_ = std::move(halos);
  }
  out.numbers_ = std::move(*numbers);
  out.cuts_ = std::move(cuts);
  return out;
}

Result<Layout> Layout::listed_boxes(Size devices, Shape global, std::vector<Size> at,
                                    std::vector<Size> extents) {
  if (const auto shapes = check_shapes(devices, global, global); !shapes) {
    return refuse(shapes.error());
  }
  const std::size_t rank = global.size();
  const auto entries = checked_mul(devices, static_cast<Size>(rank));
  if (!entries || at.size() != static_cast<std::size_t>(*entries) || extents.size() != at.size()) {
    return refuse(
        {.code = Code::ill_formed_type,
         .message = fmt::format("`at` and `shapes` need {} numbers for each of the {} devices",
                                rank, devices)});
  }
  Layout out;
  out.tile_.assign(rank, 0);
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::size_t i = k % rank;
    if (lies_inside(at[k], extents[k], global[i])) continue;
    return refuse({.code = Code::ill_formed_type,
                   .message = fmt::format(
                       "the tile of device {} leaves the array: {} + {} > {} in dimension {}",
                       k / rank, at[k], extents[k], global[i], i)});
  }
  for (std::size_t row = 0; row < at.size(); row += rank) {
    const auto first = extents.begin() + static_cast<std::ptrdiff_t>(row);
    const auto last = first + static_cast<std::ptrdiff_t>(rank);
    if (std::find(first, last, Size{0}) != last) {
      std::fill(first, last, Size{0});
      std::fill_n(at.begin() + static_cast<std::ptrdiff_t>(row), rank, Size{0});
    }
    for (std::size_t i = 0; i < rank; ++i) out.tile_[i] = std::max(out.tile_[i], extents[row + i]);
  }
  for (std::size_t k = 0; k < at.size(); ++k) {
    out.even_ = out.even_ && extents[k] == out.tile_[k % rank] && extents[k] > 0;
  }
  out.devices_ = devices;
  out.global_ = std::move(global);
  out.listed_ = true;
  out.at_ = std::move(at);
  if (!out.even_) out.extents_ = std::move(extents);
  return out;
}

Result<Layout> Layout::with_addends(Addition addition, std::vector<Digit> digits) const {
  RETILE_ASSERT(is_compact() && !addends_, "digits of the device number say which addend");
  auto numbers = TileMap::make(devices_, {digits});
  if (!numbers) return refuse(std::move(numbers.error()));
  std::vector<std::vector<Digit>> all = numbers_.digits();
  all.push_back(std::move(digits));
  if (auto together = TileMap::make(devices_, std::move(all)); !together) {
    return refuse(std::move(together.error()));
  }
  Layout out = *this;
  if (numbers->count(0) > 1) out.addends_ = Addends{addition, *std::move(numbers)};
  return out;
}

Result<Layout> Layout::stacked(Size count) const {
  RETILE_ASSERT(is_compact() && even_ && count % addend_count() == 0,
                "digits count tiles and addends");
  Shape global = global_;
  Shape tile = tile_;
  std::vector<std::vector<Digit>> digits = numbers_.digits();
  global.push_back(count);
  tile.push_back(count / addend_count());
  digits.push_back(addends_ ? addends_->numbers.digits().front() : std::vector<Digit>());
  return compact(devices_, global, tile, std::move(digits));
}

Layout Layout::unstacked(Addition addition) const {
  RETILE_ASSERT(is_compact() && even_ && !addends_ && rank() > 0, "addends are the last dimension");
  std::vector<std::vector<Digit>> digits = numbers_.digits();
  std::vector<Digit> addends = std::move(digits.back());
  digits.pop_back();
  const auto whole = compact(devices_, Shape(global_.begin(), global_.end() - 1),
                             Shape(tile_.begin(), tile_.end() - 1), std::move(digits));
  RETILE_ASSERT(whole.has_value(), "fewer dimensions are a layout, too");
  auto out = whole->with_addends(addition, std::move(addends));
  RETILE_ASSERT(out.has_value(), "digits of one layout do not meet");
  return *std::move(out);
}

Result<void> check_listed(Size devices, std::size_t rank) {
  const auto numbers = checked_mul(devices, static_cast<Size>(rank));
  if (numbers && *numbers <= max_listed_numbers) return {};
  return refuse({.code = Code::limit_reached,
                 .message = "too many devices for a list of what each of them holds"});
}

Layout Layout::rooted(Size devices, Shape global, Size device) {
  const std::size_t rank = global.size();
  RETILE_ASSERT(
      rank > 0 && device >= 0 && device < devices && check_listed(devices, rank).has_value(),
      "a device that there is, and few enough for a list");
  const auto numbers = static_cast<std::size_t>(devices) * rank;
  std::vector<Size> extents(numbers, 0);
  std::copy(global.begin(), global.end(),
            extents.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(device) * rank));
  auto out =
      listed_boxes(devices, std::move(global), std::vector<Size>(numbers, 0), std::move(extents));
  RETILE_ASSERT(out.has_value(), "an array lies in itself");
  return std::move(*out);
}

namespace {

/// The shape's dimensions in groups, one for each of the array, whose product each is.
std::optional<std::vector<Shape>> grouped(const Shape& shape, const Shape& global) {
  std::vector<Shape> out;
  std::size_t next = 0;
  for (const Size extent : global) {
    Shape& group = out.emplace_back();
    Size left = extent;
    do {
      if (next == shape.size() || shape[next] < 1 || left % shape[next] != 0) return std::nullopt;
      left /= shape[next];
      group.push_back(shape[next++]);
    } while (left > 1);
  }
  if (next < shape.size()) return std::nullopt;
  return out;
}

/// How many tiles there are along each of the dimensions that one becomes; nothing where a block or a round
/// ends within one of them.
std::optional<std::vector<Size>> counts_of(const Cuts::Rounds& rounds, const Shape& group) {
  std::vector<Size> out(group.size(), 1);
  Size below = 1;
  for (std::size_t j = group.size(); j-- > 0;) {
    const Size top = below * group[j];
    for (const Size end : {rounds.block, rounds.length}) {
      if (below < end && end < top) return std::nullopt;
    }
    if (rounds.block <= below && top <= rounds.length) out[j] = group[j];
    below = top;
  }
  return out;
}

tl::unexpected<Diagnostic> no_view(std::string message) {
  return refuse({.code = Code::ill_formed_type, .message = std::move(message), .rule = "WF-VIEW"});
}

}  // namespace

Result<Layout> Layout::viewed(const Shape& shape) const {
  if (listed_) return no_view("tiles that are listed one by one have no view");
  const auto groups = grouped(shape, global_);
  if (!groups) return no_view("no view: its dimensions must multiply up to those of the array");
  TileMap numbers = numbers_;
  std::vector<Cuts> cuts;
  std::vector<Halo> halos;
  for (std::size_t i = 0; i < rank(); ++i) {
    const Shape& group = (*groups)[i];
    const Halo halo = halos_.empty() ? Halo{} : halos_[i];
    if (group.size() == 1) {
      cuts.push_back(cuts_[i]);
      halos.push_back(halo);
      continue;
    }
    const auto rounds = halo == Halo{} ? cuts_[i].rounds() : std::nullopt;
    const auto counts = rounds ? counts_of(*rounds, group) : std::nullopt;
    if (!counts) {
      return no_view(fmt::format(
          "no view: its dimensions do not end where blocks and rounds of dimension {} do", i));
    }
    numbers.split(cuts.size(), *counts);
    for (std::size_t j = 0; j < group.size(); ++j) {
      cuts.push_back(Cuts::even(group[j] / (*counts)[j], (*counts)[j]));
      halos.emplace_back();
    }
  }
  auto out = numbered(devices_, std::move(cuts), numbers.digits(), std::move(halos));
  if (!out) return out;
  out->numbers_ = std::move(numbers);
  out->addends_ = addends_;
  out->compact_in_place();
  return out;
}

std::optional<Shape> common_view(const Layout& from, const Layout& to) {
  if (from.is_listed() || to.is_listed() || from.rank() != to.rank()) return std::nullopt;
  Shape out;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const Cuts& first = from.cuts()[i];
    const Cuts& second = to.cuts()[i];
    std::vector<Size> ends = {1, first.global()};
    if (first.is_dealt() || second.is_dealt()) {
      for (const Cuts* cuts : {&first, &second}) {
        const auto rounds = cuts->rounds();
        if (!rounds) return std::nullopt;
        ends.push_back(rounds->block);
        ends.push_back(rounds->length);
      }
    }
    std::sort(ends.begin(), ends.end(), std::greater<>());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.size() == 1) out.push_back(1);
    for (std::size_t k = 1; k < ends.size(); ++k) {
      if (ends[k - 1] % ends[k] != 0) return std::nullopt;
      out.push_back(ends[k - 1] / ends[k]);
    }
  }
  return out;
}

Layout Layout::placed(const std::optional<DeviceTable>& order, Size devices) const {
  if (!order && devices_ == devices) return *this;
  if (order && order->chain() != nullptr && devices_ == devices && !listed_) {
    return renamed(order->chain()->inverse());
  }
  RETILE_ASSERT((rank() > 0 || devices_ == devices) && check_listed(devices, rank()).has_value() &&
                    (!order || order->size() == devices_),
                "a device for each position, and few enough for a list");
  const auto entries = static_cast<std::size_t>(devices) * rank();
  std::vector<Size> at(entries, 0);
  std::vector<Size> extents(entries, 0);
  const std::vector<Box> all = boxes();
  const std::vector<Size> devices_at = order ? order->entries() : std::vector<Size>();
  for (std::size_t p = 0; p < all.size(); ++p) {
    const auto row =
        static_cast<std::ptrdiff_t>((order ? static_cast<std::size_t>(devices_at[p]) : p) * rank());
    std::copy(all[p].at.begin(), all[p].at.end(), at.begin() + row);
    std::copy(all[p].extent.begin(), all[p].extent.end(), extents.begin() + row);
  }
  auto out = listed_boxes(devices, global_, std::move(at), std::move(extents));
  RETILE_ASSERT(out.has_value(), "boxes of an array lie in it");
  return std::move(*out);
}

Size Layout::tile_size() const {
  if (listed_ && !even_) {
    Size most = 0;
    for (std::size_t row = 0; row < extents_.size(); row += rank()) {
      const auto size = checked_product(std::span(extents_).subspan(row, rank()));
      RETILE_ASSERT(size.has_value(), "a box is no larger than its array");
      most = std::max(most, *size);
    }
    return most;
  }
  // The tile numbers of different dimensions are independent: some device holds the largest of all.
  const auto size = checked_product(tile_);
  RETILE_ASSERT(size.has_value(), "a tile is no larger than its array");
  return *size;
}

Size Layout::tile_size(Size device) const {
  if (even_) return tile_size();
  const auto size = checked_product(local_shape(device));
  RETILE_ASSERT(size.has_value(), "a tile is no larger than its array");
  return *size;
}

std::vector<Stretch> Layout::stretches(std::size_t i, Size t) const {
  if (halos_.empty() || cuts_[i].is_dealt()) return cuts_[i].stretches(t);
  const Reach part = reach(cuts_[i], halos_[i], t);
  if (part.extent == 0) return {};
  return {{part.at, part.at + part.extent}};
}

std::vector<std::vector<Stretch>> Layout::stretches(Size device) const {
  std::vector<std::vector<Stretch>> out(rank());
  if (in_boxes_) {
    const Box whole = box(device);
    for (std::size_t i = 0; i < rank(); ++i) {
      if (whole.extent[i] > 0) out[i].push_back({whole.at[i], whole.at[i] + whole.extent[i]});
    }
    return out;
  }
  const Shape numbers = numbers_.numbers(device);
  for (std::size_t i = 0; i < rank(); ++i) out[i] = stretches(i, numbers[i]);
  return out;
}

std::vector<TilePart> Layout::parts(Size device) const {
  if (in_boxes_) {
    Box box = this->box(device);
    if (box.is_empty()) return {};
    std::vector<TilePart> whole(1);
    whole.front() = {Shape(rank(), 0), std::move(box)};
    return whole;
  }
  std::vector<std::vector<PlacedStretch>> along;
  along.reserve(rank());
  for (const std::vector<Stretch>& one : stretches(device))
    along.push_back(one_behind_the_other(one));
  return parts_of(along);
}

Box Layout::box(Size device) const {
  RETILE_ASSERT(device >= 0 && device < devices_ && in_boxes_, "the device exists, and has a box");
  if (listed_ || even_) return {base_offset(device), extent_of(device)};
  return box_of(numbers_.numbers(device));
}

Shape Layout::extent_of(Size device) const {
  if (!listed_ || even_) return tile_;
  const auto first =
      extents_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(device) * rank());
  return {first, first + static_cast<std::ptrdiff_t>(rank())};
}

Box Layout::box_of(const Shape& numbers) const {
  Box out{numbers, numbers};
  for (std::size_t i = 0; i < rank(); ++i) {
    const Reach part = reach(cuts_[i], halos_.empty() ? Halo{} : halos_[i], numbers[i]);
    if (part.extent == 0) return {Shape(rank(), 0), Shape(rank(), 0)};
    out.at[i] = part.at;
    out.extent[i] = part.extent;
  }
  return out;
}

Shape Layout::local_shape(Size device) const {
  if (listed_ || even_) return extent_of(device);
  Shape out = numbers_.numbers(device);
  for (std::size_t i = 0; i < rank(); ++i) {
    out[i] = cuts_[i].is_dealt()
                 ? cuts_[i].width(out[i])
                 : reach(cuts_[i], halos_.empty() ? Halo{} : halos_[i], out[i]).extent;
  }
  return out;
}

Shape Layout::tile(Size device) const {
  Shape out = local_shape(device);
  if (std::find(out.begin(), out.end(), 0) != out.end()) out.assign(rank(), 0);
  return out;
}

Layout::Rows Layout::rows() const {
  RETILE_ASSERT(in_boxes_, "a row is a box");
  if (listed_ || even_) return {base_offsets(), extents()};
  Rows out{numbers_.all_numbers(), {}};
  std::vector<Size>& extents = out.extents.emplace(out.at.size());
  const std::size_t rank = this->rank();
  for (std::size_t i = 0; i < rank; ++i) {
    std::vector<Reach> tiles;
    tiles.reserve(static_cast<std::size_t>(cuts_[i].count()));
    for (Size t = 0; t < cuts_[i].count(); ++t) {
      tiles.push_back(reach(cuts_[i], halos_.empty() ? Halo{} : halos_[i], t));
    }
    for (std::size_t k = i; k < out.at.size(); k += rank) {
      const Reach& part = tiles[static_cast<std::size_t>(out.at[k])];
      out.at[k] = part.at;
      extents[k] = part.extent;
    }
  }
  // With one empty side the box is empty.
  for (std::size_t row = 0; row < out.at.size(); row += rank) {
    const auto first = extents.begin() + static_cast<std::ptrdiff_t>(row);
    const auto last = first + static_cast<std::ptrdiff_t>(rank);
    if (std::find(first, last, Size{0}) == last) continue;
    std::fill(first, last, 0);
    std::fill_n(out.at.begin() + static_cast<std::ptrdiff_t>(row), rank, 0);
  }
  return out;
}

std::vector<Box> Layout::boxes() const {
  std::vector<Box> out;
  out.reserve(static_cast<std::size_t>(devices_));
  const Rows rows = this->rows();
  const auto row = [&](const std::vector<Size>& all, Size device) {
    const auto first =
        all.begin() + static_cast<std::ptrdiff_t>(device) * static_cast<std::ptrdiff_t>(rank());
    return Shape(first, first + static_cast<std::ptrdiff_t>(rank()));
  };
  for (Size d = 0; d < devices_; ++d) {
    out.push_back({row(rows.at, d), rows.extents ? row(*rows.extents, d) : tile_});
  }
  return out;
}

std::optional<std::vector<Size>> Layout::extents() const {
  if (even_) return std::nullopt;
  if (listed_) return extents_;
  if (in_boxes_) return rows().extents;
  std::vector<Size> out;
  out.reserve(static_cast<std::size_t>(devices_) * rank());
  for (Size d = 0; d < devices_; ++d) {
    const Shape tile = this->tile(d);
    out.insert(out.end(), tile.begin(), tile.end());
  }
  return out;
}

Size Layout::global_size() const {
  const auto size = checked_product(global_);
  RETILE_ASSERT(size.has_value(), "established when the layout was made");
  return *size;
}

std::vector<Size> Layout::base_offsets() const {
  if (listed_) return at_;
  if (!even_) return rows().at;
  std::vector<Size> out = numbers_.all_numbers();
  for (std::size_t i = 0; i < rank(); ++i) {
    const Cuts& cuts = cuts_[i];
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
  RETILE_ASSERT(in_boxes_, "a base offset is of a box");
  if (!even_) return box_of(out).at;
  for (std::size_t i = 0; i < rank(); ++i) out[i] = cuts_[i].at(out[i]);
  return out;
}

bool Layout::covers_once() const {
  if (!even_) return covers_once_uneven();
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

/// Distinct boxes that have as many elements together as the array do iff no two meet.
bool Layout::covers_once_uneven() const {
  if (!listed_) return halos_.empty();  // blocks are dealt out once, too
  std::vector<Box> distinct = boxes();
  std::erase_if(distinct, [](const Box& box) { return box.extent.front() == 0; });
  const auto before = [](const Box& a, const Box& b) {
    return std::tie(a.at, a.extent) < std::tie(b.at, b.extent);
  };
  std::sort(distinct.begin(), distinct.end(), before);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Size left = global_size();
  for (auto box = distinct.begin(); box != distinct.end(); ++box) {
    const Size size = checked_product(box->extent).value();
    if (size > left) return false;
    left -= size;
    for (auto next = box + 1; next != distinct.end(); ++next) {
      if (next->at.front() >= box->at.front() + box->extent.front()) break;
      if (common(*box, *next)) return false;
    }
  }
  return left == 0;
}

bool Layout::equivalent(const Layout& other) const {
  if (devices_ != other.devices_ || global_ != other.global_ || tile_ != other.tile_) return false;
  if (addends_.has_value() != other.addends_.has_value()) return false;
  if (addends_ && (addends_->addition != other.addends_->addition ||
                   !addends_->numbers.equivalent(other.addends_->numbers))) {
    return false;
  }
  if (!in_boxes_ || !other.in_boxes_) {
    for (Size d = 0; d < devices_; ++d) {
      const auto held = stretches(d);
      const auto others = other.stretches(d);
      if (held != others && !(holds_nothing(held) && holds_nothing(others))) return false;
    }
    return true;
  }
  if (!even_ || !other.even_) {
    if (!listed_ && !other.listed_ && cuts_ == other.cuts_ && halos_ == other.halos_ &&
        numbers_.equivalent(other.numbers_)) {
      return true;
    }
    // Most layouts that differ do so at one of the first devices.
    for (Size d = 0; d < devices_; ++d) {
      if (box(d) != other.box(d)) return false;
    }
    return true;
  }
  if (!listed_ && !other.listed_) return numbers_.equivalent(other.numbers_);
  return base_offsets() == other.base_offsets();
}

Layout Layout::filled_up(const Shape& size) const {
  RETILE_ASSERT(!listed_ && !addends_ && size.size() == rank(), "filled up by tile numbers");
  Layout out;
  out.devices_ = devices_;
  out.global_ = size;
  out.numbers_ = numbers_;
  out.cuts_.reserve(size.size());
  out.tile_.reserve(size.size());
  for (std::size_t i = 0; i < size.size(); ++i) {
    const Size count = cuts_[i].count();
    RETILE_ASSERT(size[i] % count == 0, "tiles that fill an array up divide it");
    out.cuts_.push_back(Cuts::even(size[i] / count, count));
    out.tile_.push_back(size[i] / count);
  }
  return out;
}

std::vector<Digit> Layout::pop(std::size_t i, Size n) {
  RETILE_ASSERT(!listed_ && even_ && i < rank() && n >= 1, "pop works on even tiles by number");
  RETILE_ASSERT(cuts_[i].count() % n == 0, "a popped factor divides the number of tiles");
  cuts_[i] = cuts_[i].joined(n);
  tile_[i] = cuts_[i].largest();
  return numbers_.pop(i, n);
}

void Layout::push(std::size_t i, const std::vector<Digit>& digits) {
  RETILE_ASSERT(!listed_ && even_ && i < rank(), "push works on even tiles by number");
  const Size n = product_of(digits);
  RETILE_ASSERT(tile_[i] % n == 0, "a pushed factor divides the tile");
  cuts_[i] = cuts_[i].split(n);
  tile_[i] = cuts_[i].largest();
  numbers_.push(i, digits);
}

void Layout::pull(std::size_t i, const std::vector<Digit>& digits) {
  RETILE_ASSERT(!listed_ && even_ && i < rank(), "pull works on even tiles by number");
  cuts_[i] = cuts_[i].joined(product_of(digits));
  tile_[i] = cuts_[i].largest();
  numbers_.pull(i, digits);
}

std::vector<Digit> Layout::unused() const {
  RETILE_ASSERT(!listed_, "listed offsets have no digits");
  return numbers_.unused();
}

Layout Layout::renamed(const IotaChain& device_at) const {
  RETILE_ASSERT(device_at.size() == devices_, "every device gets a name");
  Layout out = *this;
  if (addends_) out.addends_->numbers = addends_->numbers.renamed(device_at);
  if (!listed_) {
    out.numbers_ = numbers_.renamed(device_at);
    return out;
  }
  out.at_.clear();
  out.extents_.clear();
  for (const Size device : device_at.list()) {
    const Box box = this->box(device);
    out.at_.insert(out.at_.end(), box.at.begin(), box.at.end());
    if (!even_) out.extents_.insert(out.extents_.end(), box.extent.begin(), box.extent.end());
  }
  return out;
}

Layout Layout::compacted() const {
  Layout out = *this;
  out.compact_in_place();
  return out;
}

void Layout::compact_in_place() {
  if (!listed_ && !numbers_.is_compact()) numbers_ = numbers_.compacted();
}

}  // namespace retile
