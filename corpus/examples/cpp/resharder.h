/// What the driver asks of a resharder. Nothing of retile is used here.
#pragma once

#include <string>
#include <vector>

/// For each dimension the axes of the mesh that cut it, the first one slowest.
using Cut = std::vector<std::vector<int>>;

/// An array over a mesh whose devices are numbered row-major.
struct Problem {
  std::vector<int> mesh;   // the size of each axis
  std::vector<int> shape;  // the size of each dimension
  Cut from, to;
};

/// What the devices do, in any form that `retile check` reads: HLO, StableHLO, Shardy, MLIR.
std::string reshard(const Problem& problem);
