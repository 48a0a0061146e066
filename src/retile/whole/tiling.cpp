#include "retile/whole/tiling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "retile/core/division.h"
#include "retile/notation/sharding.h"

namespace retile::whole {
namespace {

/// Ways to cut that are tried.
constexpr std::size_t most_cuts = 4096;

/// Of a sharding without addends.
bool says(const std::string& sharding, const Shape& extents, const std::vector<Box>& boxes) {
  ShardingContext context;
  context.shape = extents;
  context.devices = static_cast<Size>(boxes.size());
  const auto read = parse_sharding(sharding, context);
  return read && read->layout.boxes() == boxes;
}

/// The longest extent of a box along each dimension.
Shape tile_of(const std::vector<Box>& boxes) {
  Shape out = boxes.front().extent;
  for (const Box& box : boxes) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = std::max(out[k], box.extent[k]);
  }
  return out;
}

/// Axes in order for the dimensions, each of which they make as many tiles of as it has.
class AxesOfDims {
 public:
  AxesOfDims(const Shape& extents, const std::vector<Box>& boxes, const MeshWords& mesh)
      : extents_(extents),
        boxes_(boxes),
        mesh_(mesh),
        tile_(tile_of(boxes)),
        dims_(extents.size()) {}

  [[nodiscard]] std::optional<std::string> sharding() {
    place(0);
    return std::move(out_);
  }

 private:
  [[nodiscard]] Size parts(std::size_t dim) const {
    Size out = 1;
    for (const std::size_t axis : dims_[dim]) out *= mesh_.axes[axis].second;
    return out;
  }
  [[nodiscard]] bool fits() const {
    for (std::size_t k = 0; k < extents_.size(); ++k) {
      if (ceil_div(extents_[k], parts(k)) != tile_[k]) return false;
    }
    return true;
  }
  void try_these() {
    if (!fits()) return;
    const auto words = [&](const std::vector<std::size_t>& axes) {
      std::vector<std::string> names;
      for (const std::size_t axis : axes)
        names.push_back(fmt::format("'{}'", mesh_.axes[axis].first));
      return fmt::format("{{{}}}", fmt::join(names, ", "));
    };
    std::vector<std::string> dims;
    for (const auto& axes : dims_) dims.push_back(words(axes));
    std::string sharding = fmt::format("{{{}, [{}]}}", mesh_.words, fmt::join(dims, ", "));
    if (says(sharding, extents_, boxes_)) out_ = std::move(sharding);
  }
  void place(std::size_t axis) {
    if (out_ || ++tried_ > most_cuts) return;
    if (axis == mesh_.axes.size()) {
      try_these();
      return;
    }
    place(axis + 1);  // for no dimension
    if (mesh_.axes[axis].second == 1) return;
    for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
      if (parts(dim) * mesh_.axes[axis].second > extents_[dim] * 2) continue;
      for (std::size_t at = dims_[dim].size() + 1; at-- > 0;) {
        const auto where = static_cast<std::ptrdiff_t>(at);
        dims_[dim].insert(dims_[dim].begin() + where, axis);
        place(axis + 1);
        dims_[dim].erase(dims_[dim].begin() + where);
      }
    }
  }

  const Shape& extents_;
  const std::vector<Box>& boxes_;
  const MeshWords& mesh_;
  Shape tile_;
  std::vector<std::vector<std::size_t>> dims_;  // axes of each, major to minor
  std::optional<std::string> out_;
  std::size_t tried_ = 0;
};

/// The devices of each tile of a grid, row by row; whoever holds nothing is put where devices are missing.
std::optional<std::vector<Size>> devices_of(const Shape& counts, const Shape& tile,
                                            const std::vector<Box>& boxes, Size copies) {
  const Size tiles = checked_product(counts).value_or(0);
  std::vector<std::vector<Size>> held(static_cast<std::size_t>(tiles));
  std::vector<Size> idle;
  for (std::size_t d = 0; d < boxes.size(); ++d) {
    if (boxes[d].is_empty()) {
      idle.push_back(static_cast<Size>(d));
      continue;
    }
    Size number = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      number = number * counts[k] + boxes[d].at[k] / tile[k];
    }
    held[static_cast<std::size_t>(number)].push_back(static_cast<Size>(d));
  }
  std::vector<Size> out;
  std::size_t next = 0;
  for (std::vector<Size>& devices : held) {
    while (static_cast<Size>(devices.size()) < copies && next < idle.size()) {
      devices.push_back(idle[next++]);
    }
    if (static_cast<Size>(devices.size()) != copies) return std::nullopt;
    out.insert(out.end(), devices.begin(), devices.end());
  }
  return out;
}

std::optional<std::string> by_list(const Shape& extents, const std::vector<Box>& boxes) {
  const Shape tile = tile_of(boxes);
  const auto devices = static_cast<Size>(boxes.size());
  std::vector<Shape> grids(1);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (tile[k] < 1) return std::nullopt;
    std::vector<Shape> longer;
    for (const Shape& grid : grids) {
      for (Size count = ceil_div(extents[k], tile[k]); count <= devices; ++count) {
        if (devices % count != 0 || ceil_div(extents[k], count) != tile[k]) continue;
        longer.push_back(grid);
        longer.back().push_back(count);
      }
    }
    grids = std::move(longer);
  }
  for (Shape& grid : grids) {
    const Size tiles = checked_product(grid).value_or(0);
    if (tiles < 1 || devices % tiles != 0) continue;
    const Size copies = devices / tiles;
    const auto list = devices_of(grid, tile, boxes, copies);
    if (!list) continue;
    if (copies > 1) grid.push_back(copies);
    std::string out =
        fmt::format("{{devices=[{}]{}{}}}", fmt::join(grid, ","), fmt::join(*list, ","),
                    copies > 1 ? " last_tile_dim_replicate" : "");
    if (says(out, extents, boxes)) return out;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MeshWords> mesh_in(std::string_view sharding) {
  const std::size_t begin = sharding.find("mesh['");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(sharding.find(", [", begin), sharding.size());
  MeshWords out{.words = std::string(sharding.substr(begin, end - begin)), .axes = {}};
  const std::string_view axes = std::string_view(out.words).substr(0, out.words.find(']'));
  for (std::size_t k = axes.find('\''); k < axes.size(); k = axes.find('\'', k)) {
    const std::size_t close = axes.find('\'', k + 1);
    if (close == std::string_view::npos || axes.substr(close, 2) != "'=") return std::nullopt;
    Size size = 0;
    std::from_chars(axes.data() + close + 2, axes.data() + axes.size(), size);
    if (size < 1) return std::nullopt;
    out.axes.emplace_back(axes.substr(k + 1, close - k - 1), size);
    k = close + 1;
  }
  return out;
}

std::optional<std::string> sharding_of(const Shape& extents, const std::vector<Box>& boxes,
                                       const std::optional<MeshWords>& mesh) {
  if (boxes.empty()) return std::nullopt;
  const bool is_whole = std::all_of(boxes.begin(), boxes.end(),
                                    [&](const Box& box) { return box.extent == extents; });
  if (is_whole) return "{replicated}";
  if (mesh) {
    if (auto out = AxesOfDims(extents, boxes, *mesh).sharding()) return out;
  }
  return by_list(extents, boxes);
}

}  // namespace retile::whole
