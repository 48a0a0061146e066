// What a program behind its partitioner moves between devices: its collectives, the reshards that they
// make up, and what is held meanwhile. Names of values are those of the text after the pass, but where
// something is said to be of the one before.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"
#include "retile/operations/element.h"
#include "retile/whole/spot.h"

namespace retile::whole {

/// A value of which devices hold boxes.
struct Lookup {
  Spot spot;
  bool is_before = true;  ///< else one of the text after that all devices hold alike
};

/// A collective.
struct Transfer {
  Spot spot;
  Size times = 0;              ///< how often it is run, in loops
  std::vector<Size> received;  ///< bytes that every device gets of others, each time
  Size cost = 0;               ///< Fig. 11, elements per device, each time
  std::vector<std::vector<Size>> groups = {};
  std::vector<std::pair<Size, Size>> pairs = {};  ///< of a permutation: from, to
  /// What devices hold of it afterwards, if they hold boxes of some value.
  std::optional<Lookup> value = {};
  std::optional<std::size_t> reshard = {};  ///< whose part it is

  [[nodiscard]] Size bytes() const;       ///< of all devices, each time
  [[nodiscard]] Size most_bytes() const;  ///< of the device that gets most, each time
};

/// One value in two layouts, and nothing but movement between the two.
struct Reshard {
  Lookup value;
  operations::ElementKind kind;
  Shape extents;
  std::vector<Box> from;  ///< of every device; of one that holds none an empty one
  std::vector<Box> to;
  Spot first;  ///< that holds it in the first layout
  Spot last;   ///< and in the second one
  std::vector<std::size_t> transfers;
  Size times = 0;
  Size height = 0;  ///< elements of the largest value on the way, both ends included

  /// Whether that is all of the array, though neither layout is.
  [[nodiscard]] bool is_whole() const;
};

/// A value that is larger than any tile that the text before declares.
struct LargeValue {
  Spot spot;
  operations::ElementKind kind;
  Shape extents;
  Size bytes = 0;
  std::optional<Lookup> value = {};  ///< what devices hold with it, if these are boxes of it
};

struct Movement {
  Size devices = 1;
  std::vector<Transfer> transfers;      ///< computation by computation in the order of the text
  std::vector<Reshard> reshards;        ///< in the order of their ends
  std::vector<LargeValue> large;        ///< in the order of the text
  Size declared_bytes = 0;              ///< of the largest tile that the text before declares
  std::optional<PlacedMesh> mesh = {};  ///< that its shardings name
};

}  // namespace retile::whole
