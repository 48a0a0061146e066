#include "retile/check/witness.h"

#include <cstddef>

namespace retile {

Witness shape_witness(const Shape& tile, const Shape& expected, const std::optional<Shape>& base,
                      const std::function<Shape(const Shape&)>& held) {
  if (tile.size() != expected.size()) return {.device = 0};
  Shape at(tile.size(), 0);
  for (std::size_t k = tile.size(); k-- > 0;) {
    if (tile[k] <= expected[k]) continue;
    at[k] = expected[k];
    return {0, Witness::SpareElement{at, held(at)}};
  }
  for (std::size_t k = tile.size(); base && k-- > 0;) {
    if (tile[k] == expected[k]) continue;
    const auto sum = checked_add((*base)[k], tile[k]);
    if (!sum) break;  // a claim may name any number
    at[k] = tile[k];
    Shape element = *base;
    element[k] = *sum;
    return {0, Witness::MissingElement{at, element}};
  }
  return {.device = 0};
}

Witness called(Witness witness, const DeviceNumbers& numbers) {
  if (witness.device) witness.device = numbers.of(*witness.device);
  auto* const addend = std::get_if<Witness::OtherAddend>(&witness.sign);
  if (addend != nullptr && addend->replica) {
    addend->replica->device = numbers.of(addend->replica->device);
  }
  return witness;
}

std::optional<Witness> other_tile(const TileShapes& shapes, const TileShapes& expected) {
  for (std::size_t d = 0; d < shapes.size(); ++d) {
    if (shapes[d] != expected[d]) return Witness{.device = static_cast<Size>(d)};
  }
  return std::nullopt;
}

std::optional<Witness> broken_shapes(const Claims& claims, const TileShapes& shapes) {
  const std::size_t rank = shapes.front().size();
  if (!claims.shapes || rank == 0) return std::nullopt;
  return other_tile(shapes, shapes_of_rows(*claims.shapes, rank));
}

std::optional<Shape> claimed_base(const Claims& claims, const Shape& tile) {
  if (claims.map && claims.map->tile() == tile) return claims.map->base_offset(0);
  const std::size_t rank = tile.size();
  if (claims.map || !claims.at || claims.at->size() < rank) return std::nullopt;
  return Shape(claims.at->begin(), claims.at->begin() + static_cast<std::ptrdiff_t>(rank));
}

}  // namespace retile
