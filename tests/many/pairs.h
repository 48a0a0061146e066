// Ends small enough to look at every element.
#pragma once

#include <cstddef>
#include <vector>

#include "exec/exchange/problems.h"
#include "retile/core/problem.h"

namespace retile::test {

/// All problems over devices 2 x 3 whose ends cut an array of 12 x 6.
inline std::vector<Problem> small_pairs() {
  const std::vector<Layout> maps = all_maps({2, 3}, {12, 6});
  std::vector<Problem> out;
  for (const Layout& from : maps) {
    for (const Layout& to : maps) out.push_back(Problem::make(from, to).value());
  }
  return out;
}

}  // namespace retile::test
