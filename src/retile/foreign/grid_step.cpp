#include "retile/foreign/grid_step.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/program/grid.h"
#include "retile/program/moves.h"

namespace retile::foreign {
namespace {

/// Where the first element of a part lies among parts of one shape.
Size first_of(Shape part, const Shape& shape, const Shape& extents) {
  for (std::size_t i = 0; i < part.size(); ++i) part[i] *= shape[i];
  return offset_of(part, strides_of(extents));
}

/// Into how many parts tiles are cut, and of how many they are put together, by dimension.
struct Grids {
  Shape cuts, joins;
  Shape piece;
};
std::optional<Grids> grids_between(const Shape& before, const Shape& after, Size members) {
  Grids out;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool grows = after[i] > before[i];
    const Size large = grows ? after[i] : before[i], small = grows ? before[i] : after[i];
    if (large % small != 0) return std::nullopt;
    out.cuts.push_back(grows ? 1 : large / small);
    out.joins.push_back(grows ? large / small : 1);
    out.piece.push_back(small);
  }
  const auto cut = checked_product(out.cuts), joined = checked_product(out.joins);
  if (joined != members || (cut != 1 && cut != members)) return std::nullopt;
  return out;
}

/// A digit of a place in a row, and the dimension along which it counts.
struct Entry {
  std::size_t dim = 0;
  Size count = 1;
};
/// The digits of which these parts are made, one for each place of a row, the fastest first.
std::optional<std::vector<Entry>> digits_of(const std::vector<Shape>& parts) {
  const auto n = static_cast<Size>(parts.size());
  Shape weight(parts.front().size(), 1);
  std::vector<Entry> out;
  for (Size stride = 1; stride < n;) {
    const Shape& first = parts[index(stride)];
    const auto found = std::find_if(first.begin(), first.end(), [](Size k) { return k != 0; });
    if (found == first.end()) return std::nullopt;
    const auto dim = static_cast<std::size_t>(found - first.begin());
    Size count = 1;
    while (stride * count < n && parts[index(stride * count)][dim] == count * weight[dim]) ++count;
    if (count == 1 || n % (stride * count) != 0) return std::nullopt;
    weight[dim] *= count;
    stride *= count;
    out.push_back({dim, count});
  }
  return out;
}

/// Two lists of digits of the same places, cut where one of them ends.
struct Common {
  std::vector<std::size_t> cut, joined;
  Shape counts;
};
std::optional<Common> common(std::vector<Entry> cut, std::vector<Entry> joined) {
  Common out;
  std::size_t i = 0, j = 0;
  while (i < cut.size() && j < joined.size()) {
    const Size count = std::min(cut[i].count, joined[j].count);
    if (cut[i].count % count != 0 || joined[j].count % count != 0) return std::nullopt;
    out.cut.push_back(cut[i].dim);
    out.joined.push_back(joined[j].dim);
    out.counts.push_back(count);
    if ((cut[i].count /= count) == 1) ++i;
    if ((joined[j].count /= count) == 1) ++j;
  }
  for (auto* list : {&out.cut, &out.joined}) std::reverse(list->begin(), list->end());
  std::reverse(out.counts.begin(), out.counts.end());  // the slowest first
  return out;
}

/// By places in the first row: which piece a device gets, and where the piece of a member lies.
struct GridParts {
  std::vector<Shape> cut, joined;
};
std::optional<GridParts> parts_in(const std::vector<Size>& row, const Grids& grids,
                                  const Tiles& before, const Tiles& after) {
  std::map<Tag, std::pair<std::size_t, Shape>> owners;  // of the first element of every piece
  bool once = true;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const auto& tags = before.blocks[index(row[p])]->tags();
    once = once && for_box(grids.cuts, [&](const Shape& part) {
             const Size first = first_of(part, grids.piece, before.extents);
             return owners.try_emplace(tags[index(first)], p, part).second;
           });
  }
  if (!once) return std::nullopt;
  GridParts out;
  for (const Size device : row) {
    const auto found = owners.find(after.blocks[index(device)]->tags().front());
    if (found == owners.end()) return std::nullopt;
    out.cut.push_back(found->second.second);
  }
  out.joined.resize(row.size());
  const auto& tags = after.blocks[index(row.front())]->tags();
  const bool known = for_box(grids.joins, [&](const Shape& part) {
    const auto found = owners.find(tags[index(first_of(part, grids.piece, after.extents))]);
    if (found != owners.end()) out.joined[found->second.first] = part;
    return found != owners.end();
  });
  if (!known) return std::nullopt;
  // A member that is nowhere in the first tile is missed when the step is tried.
  for (Shape& part : out.joined) part.resize(grids.joins.size(), 0);
  return out;
}

/// Whether a box holds the same in two tiles.
bool same_box(const Transfer& box, const Tiles& before, const Tiles& after) {
  const auto& from = before.blocks[index(box.source)]->tags();
  const auto& to = after.blocks[index(box.target)]->tags();
  const Lane source = lane_at(box.source_start, before.extents);
  const Lane target = lane_at(box.target_start, after.extents);
  return for_box(box.shape, [&](const Shape& at) {
    return from[index(source.offset + offset_of(at, source.strides))] ==
           to[index(target.offset + offset_of(at, target.strides))];
  });
}

bool makes(const Op& op, const Tiles& before, const Tiles& after) {
  const auto moves = moves_of({op, {}}, TileShapes(before.blocks.size(), before.extents));
  return moves && moves->after == TileShapes(after.blocks.size(), after.extents) &&
         std::all_of(moves->transfers.begin(), moves->transfers.end(),
                     [&](const Transfer& transfer) { return same_box(transfer, before, after); });
}

}  // namespace

std::optional<Op> grid_step(const Groups& groups, const Tiles& before, const Tiles& after) {
  const std::vector<Size>& row = groups.front();
  const auto grids = grids_between(before.extents, after.extents, static_cast<Size>(row.size()));
  if (!grids) return std::nullopt;
  const auto parts = parts_in(row, *grids, before, after);
  if (!parts) return std::nullopt;
  const auto joined = digits_of(parts->joined);
  if (!joined || joined->empty()) return std::nullopt;
  DeviceTable table = DeviceTable::rows(groups);
  std::optional<Op> out;
  if (checked_product(grids->cuts) == 1) {
    AllgatherDims gather{{}, {}, std::move(table)};
    for (auto entry = joined->rbegin(); entry != joined->rend(); ++entry) {
      gather.dims.push_back(entry->dim);
      gather.counts.push_back(entry->count);
    }
    out = std::move(gather);
  } else {
    const auto cut = digits_of(parts->cut);
    auto both = cut ? common(*cut, *joined) : std::nullopt;
    if (!both) return std::nullopt;
    out = AlltoallDims{std::move(both->cut), std::move(both->joined), std::move(both->counts),
                       std::move(table)};
  }
  return makes(*out, before, after) ? out : std::nullopt;
}

}  // namespace retile::foreign
