/// A resharder to put yours in the place of: it gathers the whole array on every device, then slices.
#include <algorithm>
#include <cstddef>

#include "resharder.h"

namespace {

std::string name(int axis) { return std::string(1, static_cast<char>('a' + axis)); }

int size_of(const Problem& problem, int axis) {
  return problem.mesh[static_cast<std::size_t>(axis)];
}

std::string mesh_text(const Problem& problem) {
  std::string out;
  for (std::size_t axis = 0; axis < problem.mesh.size(); ++axis) {
    out += (axis > 0 ? "," : "") + name(static_cast<int>(axis)) + ":" +
           std::to_string(problem.mesh[axis]);
  }
  return out;
}

/// `[3{a,b}12, 12]`: for each dimension the tile, its axes, the first one fastest, and the whole.
std::string type_text(const Problem& problem, const Cut& cut) {
  std::string out;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    int tile = problem.shape[i];
    std::string axes;
    for (const int axis : cut[i]) {
      tile /= size_of(problem, axis);
      axes = name(axis) + (axes.empty() ? "" : ",") + axes;
    }
    out += (i > 0 ? ", " : "") + std::to_string(tile) + "{" + axes + "}" +
           std::to_string(problem.shape[i]);
  }
  return "[" + out + "]";
}

/// A row for each group of devices that differ along one axis only.
std::string groups(const Problem& problem, int axis) {
  int stride = 1, devices = 1;
  for (std::size_t k = 0; k < problem.mesh.size(); ++k) {
    devices *= problem.mesh[k];
    if (static_cast<int>(k) > axis) stride *= problem.mesh[k];
  }
  const int size = size_of(problem, axis);
  std::string out;
  for (int first = 0; first < devices; ++first) {
    if (first / stride % size != 0) continue;
    out += out.empty() ? "[" : ",[";
    for (int k = 0; k < size; ++k) out += (k > 0 ? "," : "") + std::to_string(first + k * stride);
    out += "]";
  }
  return "[" + out + "]";
}

std::string step(const Problem& problem, const std::string& kind, std::size_t dim, int axis) {
  return kind + " dim=" + std::to_string(dim) + " groups=" + groups(problem, axis) + "\n";
}

}  // namespace

std::string reshard(const Problem& problem) {
  std::string out = "retile.program/1\nmesh " + mesh_text(problem) + "\nfrom " +
                    type_text(problem, problem.from) + "\nto " + type_text(problem, problem.to) +
                    "\n";
  for (std::size_t dim = 0; dim < problem.shape.size(); ++dim) {
    auto axes = problem.from[dim];
#ifndef RESHARDER_BUG  // the fastest axis is gathered first
    std::reverse(axes.begin(), axes.end());
#endif
    for (const int axis : axes) out += step(problem, "allgather", dim, axis);
  }
  for (std::size_t dim = 0; dim < problem.shape.size(); ++dim) {
    for (const int axis : problem.to[dim]) out += step(problem, "dynslice", dim, axis);
  }
  return out;
}
