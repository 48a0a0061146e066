// How two texts go together: which devices hold what of arguments and results. Room-internal.
#pragma once

#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// What the devices hold of an argument or a result.
struct Cut {
  std::vector<Box> boxes;  ///< of every device
  ArrayType global;
  ArrayType tile;
  Size addend_count = 1;  ///< the array is the sum of so many, of each of which devices hold boxes
  std::vector<Size> addends = {};  ///< of every device: of which of them; none if it is only one
};

/// How the two texts go together.
struct Matching {
  Size devices = 1;
  bool is_partitioned = false;  ///< the text after is cut by the shardings of the one before
  bool is_per_device = false;   ///< both texts are of one device, which hold arguments of their own
  bool has_loops = false;       ///< how often they run may depend on arguments
  std::vector<Size> integers;   ///< that stand in the texts
  double coarsest = 0;          ///< what the shortest format with a point rounds by, beside 1
  std::vector<Cut> starts;
  std::vector<Cut> ends;
  /// A difference in floating point that is none, beside the number itself and beside the largest of
  /// its array.
  double beside_itself = 1e-7;
  double beside_largest = 1e-10;
  bool may_miscount = false;  ///< the extents were divided, and a constant may count them
  bool is_again = false;      ///< at other extents were draws enough: one more must do
};

[[nodiscard]] inline const ArrayType& type_of(const Computation& in, ValueId value) {
  return in.values[value].type;
}

/// All devices hold all of it.
[[nodiscard]] Cut uncut(const ArrayType& type, Size devices);

/// \param before_name  of its text, for what is said of a sharding
/// \error bad_argument (other devices, parameters, results or tiles than the text before says),
///        unsupported (what is made of several devices and is no sum), as the reader of shardings
[[nodiscard]] Result<Matching> matching_of(const Module& before, const Module& after,
                                           const std::string& before_name);

}  // namespace retile::whole
