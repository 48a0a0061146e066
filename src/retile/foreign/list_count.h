// How much operations say device by device: a short text may stand for long lists. Room-internal.
#pragma once

#include "retile/core/size.h"
#include "retile/foreign/module.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// Counts what the operations of one text list, as they are read.
class ListCount {
 public:
  /// Half a GiB, in all of a text.
  static constexpr Size most_numbers = Size{1} << 26;

  /// The first operation too many is refused where it stands (text::Failure, limit_reached).
  void add(const Action& action, const text::Place& place);

 private:
  Size numbers_ = 0;
};

}  // namespace retile::foreign
