// What shardings mean, once more and by counting: every device's indices, from the definitions of the systems. For
// tests: nothing of src stands here but sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"

namespace meaning {

using retile::Shape;
using retile::Size;

/// The indices of one dimension, of one device.
using Indices = std::vector<Size>;

inline Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// The indices of tile t of k of a dimension of n.
inline Indices tile_indices(Size n, Size k, Size t) {
  Indices out;
  for (Size i = 0; i < n; ++i) {
    if (i / ceil_div(n, k) == t) out.push_back(i);
  }
  return out;
}

/// A sharding by numbers of axes, MAJOR to minor, over a mesh in row-major order.
struct ByAxes {
  std::vector<Size> mesh;
  std::vector<std::vector<std::size_t>> dims;
  std::vector<std::size_t> addends;
};

inline Size product(const std::vector<Size>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Size{1}, std::multiplies<>());
}

/// Where a device stands on each axis.
inline std::vector<Size> coordinates(const std::vector<Size>& mesh, Size device) {
  std::vector<Size> out(mesh.size());
  for (std::size_t k = mesh.size(); k-- > 0;) {
    out[k] = device % mesh[k];
    device /= mesh[k];
  }
  return out;
}

/// The number that these axes make of where a device stands; `count` becomes how many there are.
inline Size number_of(const ByAxes& sharding, const std::vector<std::size_t>& axes, Size device,
                      Size& count) {
  const auto at = coordinates(sharding.mesh, device);
  Size out = 0;
  count = 1;
  for (const std::size_t axis : axes) {
    out = out * sharding.mesh[axis] + at[axis];
    count *= sharding.mesh[axis];
  }
  return out;
}

/// All indices that a device holds, dimension by dimension.
inline std::vector<Indices> indices_of(const ByAxes& sharding, const Shape& shape, Size device) {
  std::vector<Indices> out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Size count = 1;
    const Size tile = number_of(sharding, sharding.dims[i], device, count);
    out.push_back(tile_indices(shape[i], count, tile));
  }
  return out;
}

/// Whether a box is these indices.
inline bool is_box(const retile::Box& box, const std::vector<Indices>& indices) {
  const bool empty =
      std::any_of(indices.begin(), indices.end(), [](const Indices& one) { return one.empty(); });
  if (empty) return box.extent == Shape(indices.size(), 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Indices want(static_cast<std::size_t>(box.extent[i]));
    std::iota(want.begin(), want.end(), box.at[i]);
    if (want != indices[i]) return false;
  }
  return true;
}

/// numpy: arange(N).reshape(R).transpose(T).reshape(-1).
inline std::vector<Size> iota(const std::vector<Size>& shape,
                              const std::vector<std::size_t>& transpose) {
  std::vector<Size> strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  std::vector<Size> out = {0};
  for (const std::size_t dim : transpose) {
    std::vector<Size> next;
    for (const Size base : out) {
      for (Size i = 0; i < shape[dim]; ++i) next.push_back(base + i * strides[dim]);
    }
    out = std::move(next);
  }
  return out;
}

/// torch.chunk with what it leaves out as empty pieces.
inline std::vector<Indices> chunk(const Indices& indices, Size pieces) {
  const Size n = static_cast<Size>(indices.size());
  const Size block = n == 0 ? 1 : ceil_div(n, pieces);
  std::vector<Indices> out(static_cast<std::size_t>(pieces));
  for (Size i = 0; i < n; ++i) {
    out[static_cast<std::size_t>(i / block)].push_back(indices[static_cast<std::size_t>(i)]);
  }
  return out;
}

/// The indices of stretches, dimension by dimension.
inline std::vector<Indices> indices_of(const std::vector<std::vector<retile::Stretch>>& stretches) {
  std::vector<Indices> out;
  for (const auto& along : stretches) {
    Indices& indices = out.emplace_back();
    for (const retile::Stretch& one : along) {
      for (Size i = one.begin; i < one.end; ++i) indices.push_back(i);
    }
  }
  return out;
}

/// What DTensor's _StridedShard leaves a device at `at` of `pieces`: one piece of each of `factor` chunks.
inline Indices strided(const Indices& indices, Size pieces, Size factor, Size at) {
  Indices out;
  for (const Indices& first : chunk(indices, factor)) {
    const Indices part = chunk(first, pieces)[static_cast<std::size_t>(at)];
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace meaning
