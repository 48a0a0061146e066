// Random problems drawn as in the paper's evaluation (Sec. 8): three mesh axes, up to six
// dimensions, 64-800 MB of 4-byte elements, every axis independently replicated or put on a
// dimension, for source and for target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/dist_type.h"
#include "retile/core/mesh.h"
#include "retile/core/notation.h"
#include "retile/core/problem.h"

namespace support {

/// A number in [low, high], the same on every platform (std::uniform_int_distribution is not).
inline retile::Size draw(std::mt19937_64& random, retile::Size low, retile::Size high) {
  return low + static_cast<retile::Size>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A type of this global shape: every axis replicated or prepended to a dimension that it divides.
inline retile::DistType draw_type(std::mt19937_64& random, const retile::Mesh& mesh,
                                  const retile::Shape& global) {
  std::vector<retile::DistDim> dims;
  for (const retile::Size extent : global) dims.push_back({extent, {}, extent});
  std::vector<retile::Axis> axes = mesh.axes();
  for (std::size_t k = axes.size(); k-- > 1;) {
    std::swap(axes[k],
              axes[static_cast<std::size_t>(draw(random, 0, static_cast<retile::Size>(k)))]);
  }
  for (const retile::Axis& axis : axes) {
    const auto dim =
        static_cast<std::size_t>(draw(random, 0, static_cast<retile::Size>(dims.size())));
    if (dim == dims.size()) continue;
    dims[dim].axes.insert(dims[dim].axes.begin(), axis.name);
    dims[dim].tile /= axis.size;
  }
  return retile::DistType::make(mesh, dims).value();
}

struct Sample {
  std::string mesh;
  retile::Problem problem;
};

inline Sample draw_problem(std::mt19937_64& random, const retile::Mesh& mesh) {
  // Extents are multiples of the number of devices, as those of Fig. 13 are multiples of 8.
  while (true) {
    const auto rank = static_cast<std::size_t>(draw(random, 1, 6));
    retile::Shape global(rank, mesh.device_count());
    retile::Size bytes = 4;
    bool fits = true;
    for (retile::Size& extent : global) {
      extent *= draw(random, 1, 64);
      fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    }
    if (!fits || bytes < 64'000'000 || bytes > 800'000'000) continue;
    const retile::DistType from = draw_type(random, mesh, global);
    const retile::DistType to = draw_type(random, mesh, global);
    return {retile::to_text(mesh), retile::Problem::make(mesh, from, to).value()};
  }
}

}  // namespace support
