#include "resharder.h"

#include <algorithm>

namespace resharder {
namespace {

/// The devices that differ in the coordinate of this axis only, in the order of that coordinate.
std::vector<std::vector<int>> groups_along(const std::vector<int>& mesh, int axis) {
  int devices = 1, stride = 1;
  for (std::size_t a = 0; a < mesh.size(); ++a) {
    devices *= mesh[a];
    if (a > static_cast<std::size_t>(axis)) stride *= mesh[a];
  }
  const int size = mesh[static_cast<std::size_t>(axis)];
  std::vector<std::vector<int>> groups;
  for (int d = 0; d < devices; ++d) {
    if (d / stride % size != 0) continue;
    groups.emplace_back();
    for (int k = 0; k < size; ++k) groups.back().push_back(d + k * stride);
  }
  return groups;
}

/// How many axes at the slow end of both lists are the same: these can stay.
std::size_t common_end(const std::vector<int>& a, const std::vector<int>& b) {
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<std::size_t>(end.first - a.rbegin());
}

std::string list(const std::vector<int>& numbers) {
  std::string out;
  for (const int n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return "[" + out + "]";
}

std::string axis_name(int axis) { return std::string(1, static_cast<char>('a' + axis)); }

std::string mesh_text(const std::vector<int>& mesh) {
  std::string out;
  for (std::size_t a = 0; a < mesh.size(); ++a) {
    out += (a > 0 ? "," : "") + axis_name(static_cast<int>(a)) + ":" + std::to_string(mesh[a]);
  }
  return out;
}

/// [3{a,b}12, 12]: for each dimension the tile, its axes, the whole.
std::string layout_text(const Problem& problem, const Layout& layout) {
  std::string out;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    int tile = problem.shape[i];
    std::string axes;
    for (const int axis : layout[i]) {
      tile /= problem.mesh[static_cast<std::size_t>(axis)];
      axes += (axes.empty() ? "" : ",") + axis_name(axis);
    }
    out += (i > 0 ? ", " : "") + std::to_string(tile) + "{" + axes + "}" +
           std::to_string(problem.shape[i]);
  }
  return "[" + out + "]";
}

}  // namespace

std::vector<Step> reshard(const Problem& problem) {
  std::vector<Step> gathers, slices;
  for (std::size_t i = 0; i < problem.shape.size(); ++i) {
    const auto &from = problem.from[i], &to = problem.to[i];
    const std::size_t stay = common_end(from, to);
    const int dim = static_cast<int>(i);
    std::vector<int> gathered(from.begin(), from.end() - static_cast<std::ptrdiff_t>(stay));
#ifdef RESHARDER_BUG
    std::reverse(gathered.begin(), gathered.end());  // the seeded bug: pieces are interleaved
#endif
    for (const int axis : gathered) {
      gathers.push_back({true, dim, groups_along(problem.mesh, axis)});
    }
    for (std::size_t k = to.size() - stay; k-- > 0;) {
      slices.push_back({false, dim, groups_along(problem.mesh, to[k])});
    }
  }
  gathers.insert(gathers.end(), slices.begin(), slices.end());
  return gathers;
}

std::string to_program(const Problem& problem, const std::vector<Step>& steps) {
  std::string out = "retile.program/1\nmesh " + mesh_text(problem.mesh) + "\n";
  out += "from " + layout_text(problem, problem.from) + "\n";
  out += "to " + layout_text(problem, problem.to) + "\n";
  for (const Step& step : steps) {
    std::string groups;
    for (const auto& group : step.groups) groups += (groups.empty() ? "" : ",") + list(group);
    out += std::string(step.gathers ? "allgather" : "dynslice") +
           " dim=" + std::to_string(step.dim) + " groups=[" + groups + "]\n";
  }
  return out;
}

std::string to_query(const Problem& problem) {
  return "mesh " + mesh_text(problem.mesh) + "\n" + layout_text(problem, problem.from) + " " +
         layout_text(problem, problem.to) + "\n";
}

}  // namespace resharder
