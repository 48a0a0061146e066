// Random problems drawn as in the paper's evaluation (Sec. 8): three mesh axes, up to six
// dimensions, 64-800 MB of 4-byte elements, every axis independently replicated or put on a
// dimension, for source and for target.
#pragma once

#include <cstddef>
#include <string>

#include "retile/core/mesh.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "support/random_problems.h"

namespace support {

struct Sample {
  std::string mesh;
  retile::Problem problem;
};

inline Sample draw_sample(Random& random, const retile::Mesh& mesh) {
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
    return {retile::to_text(mesh), retile::make_problem(mesh, from, to).value()};
  }
}

}  // namespace support
