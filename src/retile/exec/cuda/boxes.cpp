#include "retile/exec/cuda/boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <numeric>
#include <tuple>

#include "retile/core/assert.h"

namespace retile::cuda {
namespace {

/// Bytes between neighbours of each dimension, for extents in elements of that many bytes.
Shape byte_strides(const Shape& extents, Size element_bytes) {
  Shape out(extents.size());
  Size stride = element_bytes;
  for (std::size_t i = extents.size(); i-- > 0;) {
    out[i] = stride;
    stride *= extents[i];
  }
  return out;
}

/// Where a box lies on one side, in bytes.
struct Side {
  Shape strides;
  Size offset = 0;
};

Side in_tile(const Shape& tile, const Shape& start, Size element_bytes) {
  Side out{.strides = byte_strides(tile, element_bytes)};
  out.offset = std::inner_product(start.begin(), start.end(), out.strides.begin(), Size{0});
  return out;
}

Side in_stream(const Shape& box, Size offset, Size element_bytes) {
  return {.strides = byte_strides(box, element_bytes), .offset = offset};
}

/// Leaves out dimensions of one, joins those that follow each other on both sides, and makes the
/// element's bytes part of the innermost.
Region joined(const Shape& extents, const Side& source, const Side& target, Size element_bytes) {
  Region out{.extents = {element_bytes},
             .source_strides = {1},
             .target_strides = {1},
             .source_offset = source.offset,
             .target_offset = target.offset};
  // Built from the inside out, turned round at the end.
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1) continue;
    const bool follows = source.strides[i] == out.extents.back() * out.source_strides.back() &&
                         target.strides[i] == out.extents.back() * out.target_strides.back();
    if (follows) {
      out.extents.back() *= extents[i];
    } else {
      out.extents.push_back(extents[i]);
      out.source_strides.push_back(source.strides[i]);
      out.target_strides.push_back(target.strides[i]);
    }
  }
  for (Shape* numbers : {&out.extents, &out.source_strides, &out.target_strides}) {
    std::reverse(numbers->begin(), numbers->end());
  }
  return out;
}

/// The largest unit that divides a number whose lower bits are these.
std::uint32_t unit_of(std::uint64_t bits) {
  constexpr std::uint32_t widest = 16;
  std::uint32_t unit = widest;
  while (bits % unit != 0) unit /= 2;
  return unit;
}

Size runs_on(const Shape& extents, const Shape& strides) {
  Size runs = 1;
  Size piece = extents.back();
  bool together = true;
  for (std::size_t i = extents.size() - 1; i-- > 0;) {
    together = together && strides[i] == piece;
    piece *= extents[i];
    if (!together) runs *= extents[i];
  }
  return runs;
}

/// Part `index` of a region cut along its slowest dimension at `at`.
Region upper_part(Region region, Size at) {
  region.source_offset += at * region.source_strides.front();
  region.target_offset += at * region.target_strides.front();
  region.extents.front() -= at;
  return region;
}

/// Orders groups of one box by all but their places: equal ones are alike.
std::strong_ordering compare_kinds(const Group& a, const Group& b) {
  const auto sizes = [](const Group& box) {
    return std::tie(box.units, box.first, box.unit_bytes, box.dims);
  };
  std::strong_ordering order = sizes(a) <=> sizes(b);
  const auto in_dim = [](const Group& box, std::uint32_t i) {
    return std::tie(box.extents[i].divisor, box.source_strides[i], box.target_strides[i]);
  };
  for (std::uint32_t i = 0; i < a.dims && order == 0; ++i) order = in_dim(a, i) <=> in_dim(b, i);
  return order;
}

void drop_slowest_of_one(Region& region) {
  if (region.extents.front() != 1 || region.extents.size() == 1) return;
  region.extents.erase(region.extents.begin());
  region.source_strides.erase(region.source_strides.begin());
  region.target_strides.erase(region.target_strides.begin());
}

}  // namespace

Region between_tiles(const Transfer& transfer, const Shape& source_tile, const Shape& target_tile,
                     Size element_bytes) {
  return joined(transfer.shape, in_tile(source_tile, transfer.source_start, element_bytes),
                in_tile(target_tile, transfer.target_start, element_bytes), element_bytes);
}

Region into_stream(const Transfer& transfer, const Shape& source_tile, Size element_bytes,
                   Size offset) {
  return joined(transfer.shape, in_tile(source_tile, transfer.source_start, element_bytes),
                in_stream(transfer.shape, offset, element_bytes), element_bytes);
}

Region out_of_stream(const Transfer& transfer, const Shape& target_tile, Size element_bytes,
                     Size offset) {
  return joined(transfer.shape, in_stream(transfer.shape, offset, element_bytes),
                in_tile(target_tile, transfer.target_start, element_bytes), element_bytes);
}

Size bytes_of(const Region& region) { return checked_product(region.extents).value_or(0); }

RunCounts runs_of(const Region& region) {
  return {.source = runs_on(region.extents, region.source_strides),
          .target = runs_on(region.extents, region.target_strides)};
}

Result<void> BatchBuilder::add(const Region& region, const Origin& source, const Origin& target,
                               Size begin, Size end) {
  RETILE_ASSERT(0 <= begin && begin < end && end <= bytes_of(region), "a part outside of its box");
  if (boxes_.size() >= most_boxes) {
    return refuse({.code = Code::limit_reached,
                   .message = fmt::format("more than {} boxes for one launch", most_boxes)});
  }
  const std::uint64_t first_source =
      source.address + static_cast<std::uint64_t>(region.source_offset);
  const std::uint64_t first_target =
      target.address + static_cast<std::uint64_t>(region.target_offset);
  std::uint64_t bits = first_source | first_target | static_cast<std::uint64_t>(begin) |
                       static_cast<std::uint64_t>(end) |
                       static_cast<std::uint64_t>(region.extents.back());
  for (std::size_t i = 0; i + 1 < region.extents.size(); ++i) {
    bits |= static_cast<std::uint64_t>(region.source_strides[i]) |
            static_cast<std::uint64_t>(region.target_strides[i]);
  }
  const std::uint32_t unit = unit_of(bits);
  const Size all = bytes_of(region);
  if (region.extents.size() > max_box_dims || all / unit >= Size{division_limit}) {
    // Halves along the slowest dimension; a single row loses the dimension.
    const Size rows = region.extents.front();
    const Size row_bytes = all / rows;
    // A run is cut between units.
    const Size at = region.extents.size() == 1 ? rows / 2 / unit * unit : rows / 2;
    RETILE_ASSERT(at > 0, "a region that cannot be cut");
    Region low = region;
    low.extents.front() = at;
    Region high = upper_part(region, at);
    drop_slowest_of_one(low);
    drop_slowest_of_one(high);
    const Size cut = at * row_bytes;
    if (begin < cut) {
      if (auto done = add(low, source, target, begin, std::min(end, cut)); !done) return done;
    }
    if (end > cut) return add(high, source, target, std::max(begin, cut) - cut, end - cut);
    return {};
  }

  Placed placed;
  placed.is_whole = end - begin == all;
  placed.place = {first_source, first_target};
  placed.places = {source.place, target.place};
  Group& box = placed.alone;
  box.unit_bytes = unit;
  box.first = static_cast<std::uint32_t>(begin / unit);
  box.units = static_cast<std::uint32_t>((end - begin) / unit);
  box.dims = static_cast<std::uint32_t>(region.extents.size() + 1);
  for (std::size_t i = 0; i < region.extents.size(); ++i) {
    const std::size_t from = region.extents.size() - 1 - i;
    const std::size_t to = i == 0 ? 0 : i + 1;  // box_dim lies between
    const Size extent = i == 0 ? region.extents[from] / unit : region.extents[from];
    box.extents[to] = divider_of(static_cast<std::uint32_t>(extent));
    box.source_strides[to] = i == 0 ? unit : region.source_strides[from];
    box.target_strides[to] = i == 0 ? unit : region.target_strides[from];
  }
  boxes_.push_back(placed);
  return {};
}

BatchBuilder::Built BatchBuilder::build(bool by_target) && {
  const auto at = [&](const Placed& box) {
    return by_target ? box.place.target : box.place.source;
  };
  std::stable_sort(boxes_.begin(), boxes_.end(), [&](const Placed& a, const Placed& b) {
    const std::strong_ordering kinds = compare_kinds(a.alone, b.alone);
    return kinds != 0 ? kinds < 0 : at(a) < at(b);
  });
  Built out;
  for (std::size_t begin = 0; begin < boxes_.size();) {
    Group group = boxes_[begin].alone;
    // Only whole boxes are one larger box; a stretch may begin and end within its runs.
    std::size_t most = boxes_[begin].is_whole ? most_group_boxes : 1;
    most = std::min<std::size_t>(most, (division_limit - 1) / group.units);
    std::size_t end = begin + 1;
    while (end < boxes_.size() && end - begin < most &&
           compare_kinds(boxes_[end].alone, group) == 0) {
      ++end;
    }
    const auto count = static_cast<std::uint32_t>(end - begin);
    group.first_portion = out.portions;
    group.first_box = static_cast<std::uint32_t>(begin);
    group.extents[Group::box_dim] = divider_of(count);
    group.units *= count;
    out.groups.push_back(group);
    const std::uint32_t step = portion_units(group.unit_bytes);
    const std::uint64_t portions = std::uint64_t{out.portions} + (group.units + step - 1) / step;
    // A portion has 4 KiB and more, but for the last of a group: that many are in no memory.
    RETILE_ASSERT(portions < division_limit, "a batch of 2^31 portions");
    out.portions = static_cast<std::uint32_t>(portions);
    begin = end;
  }
  for (const Placed& box : boxes_) {
    out.boxes.push_back(box.place);
    out.places.push_back(box.places);
  }
  return out;
}

Result<PatternTile> pattern_tile(const Layout& map, Size device, Size element_bytes) {
  PatternTile out;
  out.elements = map.tile_size();
  out.element_bytes = static_cast<std::uint32_t>(element_bytes);
  const Shape base = map.base_offset(device);
  Size stride = 1;
  for (std::size_t i = map.rank(); i-- > 0;) {
    out.base += base[i] * stride;
    const Size extent = map.tile()[i];
    if (extent != 1) {
      const bool follows =
          out.dims > 0 && stride == out.extents[out.dims - 1] * out.strides[out.dims - 1];
      if (follows) {
        out.extents[out.dims - 1] *= extent;
      } else if (out.dims == max_pattern_dims) {
        return refuse(
            {.code = Code::unsupported,
             .message = fmt::format("a tile of more than {} split dimensions", max_pattern_dims)});
      } else {
        out.extents[out.dims] = extent;
        out.strides[out.dims] = stride;
        ++out.dims;
      }
    }
    stride *= map.global()[i];
  }
  return out;
}

}  // namespace retile::cuda
