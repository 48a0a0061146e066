#include "retile/exec/mpi/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

namespace retile::mpi {
namespace {

/// Whether the tile lies in the array.
bool holds(const LocalArray& array, const Shape& start, const Shape& tile) {
  if (array.extents.size() != tile.size() || start.size() != tile.size()) return false;
  for (std::size_t k = 0; k < tile.size(); ++k) {
    const Size extent = array.extents[k];
    if (extent < 0 || start[k] < 0 || tile[k] > extent - start[k]) return false;
  }
  return true;
}

}  // namespace

Result<PlacedEnd> PlacedEnd::make(const std::optional<LocalArray>& array, const Shape& tile,
                                  Size devices, Size element_bytes, const char* name) {
  PlacedEnd out;
  if (!array) return out;
  const Shape start = array->start.empty() ? Shape(tile.size(), 0) : array->start;
  if (!holds(*array, start, tile)) {
    return refuse(Code::bad_argument,
                  fmt::format("{}: an array of [{}] does not hold a tile of [{}] at [{}]", name,
                              fmt::join(array->extents, ", "), fmt::join(tile, ", "),
                              fmt::join(start, ", ")));
  }
  // As with tiles, sums of buffers that are ever formed are below eight of them.
  const auto elements = checked_product(array->extents);
  const auto bytes = elements ? checked_mul(*elements, 8 * element_bytes) : std::nullopt;
  if (!bytes) {
    return refuse(Code::size_overflow,
                  fmt::format("{}: an array of [{}] has more bytes than can be counted", name,
                              fmt::join(array->extents, ", ")));
  }
  out.mine_ = array->extents;
  out.mine_.insert(out.mine_.end(), start.begin(), start.end());
  out.all_.resize(out.mine_.size() * static_cast<std::size_t>(devices));
  return out;
}

DeviceShapes PlacedEnd::arrays() const {
  TileShapes out;
  const auto told = static_cast<std::ptrdiff_t>(mine_.size());
  for (auto at = all_.begin(); at != all_.end(); at += told) out.emplace_back(at, at + told / 2);
  return DeviceShapes(std::move(out));
}

void PlacedEnd::move(Size device, Shape& start) const {
  if (alone()) return;
  const std::size_t rank = start.size();
  const Size* const begin = all_.data() + static_cast<std::size_t>(device) * mine_.size() + rank;
  for (std::size_t k = 0; k < rank; ++k) start[k] += begin[k];
}

}  // namespace retile::mpi
