#include "retile/program/over_dims.h"

#include <algorithm>

namespace retile {
namespace {

bool fits(const std::vector<std::size_t>& dims, const Shape& counts, std::size_t rank) {
  return dims.size() == counts.size() &&
         std::all_of(dims.begin(), dims.end(), [rank](std::size_t dim) { return dim < rank; });
}

bool are_counts(const Shape& counts) {
  return !counts.empty() &&
         std::all_of(counts.begin(), counts.end(), [](Size count) { return count >= 1; }) &&
         checked_product(counts);
}

template <OverDims Step>
std::optional<Shape> tile_after(const Step& step, Shape tile) {
  const Shape cuts = parts_along(cut_dims(step), step.counts, tile.size());
  const Shape joins = parts_along(joined_dims(step), step.counts, tile.size());
  for (std::size_t k = 0; k < tile.size(); ++k) {
    const auto extent = checked_mul(tile[k] / cuts[k], joins[k]);
    if (!extent) return std::nullopt;
    tile[k] = *extent;
  }
  if (!checked_product(tile)) return std::nullopt;
  return tile;
}

}  // namespace

const std::vector<std::size_t>& cut_dims(const AllgatherDims& /*step*/) {
  static const std::vector<std::size_t> none;
  return none;
}
const std::vector<std::size_t>& cut_dims(const AlltoallDims& step) { return step.splits; }
const std::vector<std::size_t>& joined_dims(const AllgatherDims& step) { return step.dims; }
const std::vector<std::size_t>& joined_dims(const AlltoallDims& step) { return step.concats; }

bool has_grid(const AllgatherDims& step, std::size_t rank) {
  return are_counts(step.counts) && fits(step.dims, step.counts, rank);
}
bool has_grid(const AlltoallDims& step, std::size_t rank) {
  return are_counts(step.counts) && fits(step.splits, step.counts, rank) &&
         fits(step.concats, step.counts, rank);
}

Shape parts_along(const std::vector<std::size_t>& dims, const Shape& counts, std::size_t rank) {
  Shape out(rank, 1);
  for (std::size_t k = 0; k < dims.size(); ++k) out[dims[k]] *= counts[k];
  return out;
}

Shape part_along(const std::vector<std::size_t>& dims, const Shape& counts, std::size_t rank,
                 Size place) {
  Shape out(rank, 0);
  Shape weight(rank, 1);  // of the next digit of a dimension, from the fastest on
  for (std::size_t k = dims.size(); k-- > 0; place /= counts[k]) {
    out[dims[k]] += place % counts[k] * weight[dims[k]];
    weight[dims[k]] *= counts[k];
  }
  return out;
}

bool divides(const Shape& parts, const Shape& tile) {
  for (std::size_t k = 0; k < tile.size(); ++k) {
    if (tile[k] % parts[k] != 0) return false;
  }
  return true;
}

std::optional<Shape> tile_over(const AllgatherDims& step, const Shape& tile) {
  return tile_after(step, tile);
}
std::optional<Shape> tile_over(const AlltoallDims& step, const Shape& tile) {
  return tile_after(step, tile);
}

}  // namespace retile
