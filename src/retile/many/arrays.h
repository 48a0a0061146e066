// Arrays that are moved together, such as the parameters of a model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "retile/core/problem.h"
#include "retile/core/size.h"

namespace retile::many {

/// Arrays with the same ends and elements of one size: what is found of one holds for all.
struct Kind {
  Problem problem;
  Size element_bytes = 4;
  std::vector<std::size_t> arrays;  ///< their numbers, ascending; one at least
};

struct Arrays {
  std::vector<std::string> names;  ///< of every array, in the order of the file
  std::vector<Kind> kinds;         ///< in the order of their first arrays
};

}  // namespace retile::many
