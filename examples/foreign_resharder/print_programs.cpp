/// print_programs: how all layouts on two small meshes are brought into each other, as Programs.
/// print_programs --problems: the same problems, as queries for `retile-oracle optimum`.
#include <cstring>
#include <iostream>

#include "resharder.h"

namespace {

using resharder::Layout;

/// Each of two axes shards a dimension or none; where both shard one, in either order.
std::vector<Layout> all_layouts(std::size_t rank) {
  std::vector<Layout> out;
  for (std::size_t a = 0; a <= rank; ++a) {
    for (std::size_t b = 0; b <= rank; ++b) {
      Layout layout(rank);
      if (a < rank) layout[a].push_back(0);
      if (b < rank) layout[b].push_back(1);
      out.push_back(layout);
      if (a == b && a < rank) {
        layout[a] = {1, 0};
        out.push_back(layout);
      }
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool problems = argc > 1 && std::strcmp(argv[1], "--problems") == 0;
  const std::vector<std::vector<int>> meshes = {{2, 2}, {2, 3}};
  for (const std::vector<int>& mesh : meshes) {
    for (const Layout& from : all_layouts(2)) {
      for (const Layout& to : all_layouts(2)) {
        const resharder::Problem problem = {mesh, {12, 12}, from, to};
        std::cout << (problems ? to_query(problem) : to_program(problem, reshard(problem)));
      }
    }
  }
}
