#include "solver.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "retile/core/layout_facts.h"

namespace retile::spmd {

namespace {

/// What a device has, box by box.
using BoxesOfTile = std::vector<Box>;

BoxesOfTile boxes_of_tile(const Layout& layout, Size device) {
  BoxesOfTile out;
  for (const TilePart& part : layout.parts(device)) out.push_back(part.box);
  return out;
}

bool has_all(const Layout& layout, Size device) {
  return layout.tile_size(device) == layout.global_size();
}

bool is_at_root(const Layout& layout) {
  if (layout.devices() == 1 || !has_all(layout, 0)) return false;
  for (Size d = 1; d < layout.devices(); ++d) {
    if (layout.tile_size(d) > 0) return false;
  }
  return true;
}

bool all_have_all(const Layout& layout) {
  for (Size d = 0; d < layout.devices(); ++d) {
    if (!has_all(layout, d)) return false;
  }
  return true;
}

bool boxes_meet(const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    if (a.at[i] + a.extent[i] <= b.at[i] || b.at[i] + b.extent[i] <= a.at[i]) return false;
  }
  return true;
}

/// How tiles stand to each other.
struct TileRelation {
  bool repeat = false;   ///< two devices have the same
  bool overlap = false;  ///< two have different ones with an element in common
};

TileRelation relation_of(const Layout& layout) {
  TileRelation out;
  const bool compares = may_overlap(layout);
  std::set<std::vector<std::pair<Shape, Shape>>> seen;
  std::vector<Box> boxes;
  for (Size d = 0; d < layout.devices(); ++d) {
    if (layout.tile_size(d) == 0) continue;
    std::vector<std::pair<Shape, Shape>> key;
    const BoxesOfTile tile = boxes_of_tile(layout, d);
    for (const Box& box : tile) key.emplace_back(box.at, box.extent);
    if (!seen.insert(std::move(key)).second) {
      out.repeat = true;
    } else if (compares) {
      boxes.insert(boxes.end(), tile.begin(), tile.end());
    }
  }
  // From the front: what begins behind a box's end does not meet it.
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.at < b.at; });
  for (std::size_t k = 0; k < boxes.size() && !out.overlap; ++k) {
    for (std::size_t l = k + 1; l < boxes.size() && !out.overlap; ++l) {
      const bool is_behind =
          !boxes[k].at.empty() && boxes[l].at[0] >= boxes[k].at[0] + boxes[k].extent[0];
      if (is_behind) break;
      out.overlap = boxes_meet(boxes[k], boxes[l]);
    }
  }
  return out;
}

bool same_tiles(const Layout& a, const Layout& b) {
  for (Size d = 0; d < a.devices(); ++d) {
    if (boxes_of_tile(a, d) != boxes_of_tile(b, d)) return false;
  }
  return true;
}

bool same_addends(const Layout& a, const Layout& b) {
  for (Size d = 0; d < a.devices(); ++d) {
    if (a.addend(d) != b.addend(d)) return false;
  }
  return a.addend_count() == b.addend_count();
}

}  // namespace

std::string_view solver_of(const Layout& from, const Layout& to) {
  const bool adds = from.addend_count() > to.addend_count();
  if (same_tiles(from, to)) {
    return adds ? "allreduce" : same_addends(from, to) ? "none" : "alltoallv";
  }
  if (is_at_root(from)) {
    if (all_have_all(to)) return "bcast";
    const TileRelation tiles = relation_of(to);
    return tiles.overlap ? "overlapping-scatterv" : tiles.repeat ? "scatterv+bcast" : "scatterv";
  }
  if (is_at_root(to)) return !adds ? "gatherv" : all_have_all(from) ? "reduce" : "reduce+gatherv";
  return adds ? "reduce+alltoallv" : "alltoallv";
}

}  // namespace retile::spmd
