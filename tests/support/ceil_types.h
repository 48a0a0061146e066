// All types by ceil blocks over a mesh, for tests that take every pair.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "retile/core/mesh.h"

namespace support {

namespace detail {

/// The axes of each dimension, the first of which is the minor one.
using Cut = std::vector<std::vector<std::size_t>>;

inline std::string ceil_dim(const std::vector<std::size_t>& axes, const retile::Mesh& mesh,
                            retile::Size size) {
  if (axes.empty()) return std::to_string(size);
  retile::Size tiles = 1;
  std::string names;
  for (const std::size_t axis : axes) {
    tiles *= mesh.axes()[axis].size;
    names += (names.empty() ? "" : ",") + mesh.axes()[axis].name;
  }
  return std::to_string((size + tiles - 1) / tiles) + "{" + names + "}" + std::to_string(size);
}

/// Each axis on one dimension or on none, in any order.
inline void distribute(const retile::Mesh& mesh, Cut dims, std::size_t used,
                       std::vector<Cut>& out) {
  out.push_back(dims);
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    if ((used >> axis & 1U) != 0) continue;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i].push_back(axis);
      distribute(mesh, dims, used | std::size_t{1} << axis, out);
      dims[i].pop_back();
    }
  }
}

}  // namespace detail

/// Their texts, each once.
inline std::vector<std::string> ceil_types(const retile::Mesh& mesh, const retile::Shape& global) {
  std::vector<detail::Cut> all;
  detail::distribute(mesh, detail::Cut(global.size()), 0, all);
  std::vector<std::string> out;
  for (const detail::Cut& dims : all) {
    std::string text;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      text += (i == 0 ? "[" : ", ") + detail::ceil_dim(dims[i], mesh, global[i]);
    }
    out.push_back(text + "]");
  }
  std::sort(out.begin(), out.end());  // one that is reached in several orders counts once
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace support
