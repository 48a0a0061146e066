// Problems drawn at random as in the paper's evaluation (Sec. 8), the same on every platform.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/problem.h"

namespace support {

using Random = std::mt19937_64;

/// A number in [low, high].
inline retile::Size draw(Random& random, retile::Size low, retile::Size high) {
  const auto choices = static_cast<std::uint64_t>(high - low + 1);
  return low + static_cast<retile::Size>(random() % choices);
}

template <class Value>
void shuffle(Random& random, std::vector<Value>& values) {
  for (std::size_t k = values.size(); k-- > 1;) {
    std::swap(values[k],
              values[static_cast<std::size_t>(draw(random, 0, static_cast<retile::Size>(k)))]);
  }
}

/// Every axis, in a random order, put on a dimension or (if `replicate`) on none; where it does not
/// divide the tile it replicates.
inline retile::DistType draw_type(Random& random, const retile::Mesh& mesh,
                                  const retile::Shape& global, bool replicate = true) {
  std::vector<retile::DistDim> dims;
  for (const retile::Size extent : global) dims.push_back({extent, {}, extent});
  std::vector<retile::Axis> axes = mesh.axes();
  shuffle(random, axes);
  for (const retile::Axis& axis : axes) {
    const auto last = static_cast<retile::Size>(dims.size()) - (replicate ? 0 : 1);
    const auto dim = static_cast<std::size_t>(draw(random, 0, last));
    if (dim == dims.size() || dims[dim].tile % axis.size != 0) continue;
    dims[dim].axes.insert(dims[dim].axes.begin(), axis.name);
    dims[dim].tile /= axis.size;
  }
  return retile::DistType::make(mesh, dims).value();
}

/// Rank 1 to 6, 64 to 800 MB of 4-byte elements, extents divisible by some of the axes.
inline retile::Shape draw_shape(Random& random, const retile::Mesh& mesh) {
  constexpr retile::Size most_bytes = 800'000'000;
  while (true) {
    retile::Shape global(static_cast<std::size_t>(draw(random, 1, 6)), 1);
    retile::Size bytes = 4;
    for (const retile::Axis& axis : mesh.axes()) {
      for (retile::Size& extent : global) {
        if (bytes <= most_bytes / axis.size && draw(random, 0, 3) > 0) {
          extent *= axis.size;
          bytes *= axis.size;
        }
      }
    }
    for (retile::Size& extent : global) {
      const retile::Size most = std::clamp<retile::Size>(most_bytes / bytes, 1, 64);
      const retile::Size factor = draw(random, 1, most);
      extent *= factor;
      bytes *= factor;
    }
    if (bytes >= 64'000'000 && bytes <= most_bytes) return global;
  }
}

/// A problem over a drawn shape.
inline retile::Problem draw_problem(Random& random, const retile::Mesh& mesh) {
  const retile::Shape global = draw_shape(random, mesh);
  const retile::DistType from = draw_type(random, mesh, global);
  const retile::DistType to = draw_type(random, mesh, global);
  return retile::make_problem(mesh, from, to).value();
}

}  // namespace support
