/// A resharder as a project of its own has one; nothing of retile is used here.
///
/// Arrays are sharded over a mesh of devices, numbered row-major. It gathers what must not stay and
/// slices what must come, one mesh axis at a time.
#pragma once

#include <string>
#include <vector>

namespace resharder {

/// For each dimension of an array the mesh axes that shard it; neighbours on the first of them hold
/// neighbouring pieces.
using Layout = std::vector<std::vector<int>>;

struct Problem {
  std::vector<int> mesh;   // the size of each axis
  std::vector<int> shape;  // the size of each dimension
  Layout from, to;
};

/// One collective on dimension `dim` among each of these groups of devices.
struct Step {
  bool gathers = true;  // otherwise each member keeps its own piece
  int dim = 0;
  std::vector<std::vector<int>> groups;
};

std::vector<Step> reshard(const Problem& problem);

/// The steps in the text form that retile-oracle reads.
std::string to_program(const Problem& problem, const std::vector<Step>& steps);

/// The problem as a line for `retile-oracle optimum`, below a line with its mesh.
std::string to_query(const Problem& problem);

}  // namespace resharder
