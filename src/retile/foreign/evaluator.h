// What all devices hold of a function's values: one tag for every element, one number for every number.
//
// No pattern is recognised: every operation does what it says to the cells of every device. Devices
// that hold the same share it, so that what all know alike is worked out once.
#pragma once

#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/foreign/cells.h"
#include "retile/foreign/module.h"
#include "retile/foreign/sums.h"

namespace retile::foreign {

/// What the devices hold of one value.
struct State {
  Content content = Content::tags;
  /// Of every device, or of the only one that holds it; empty where the value is not known, or was
  /// dropped.
  std::vector<Block> blocks;
};

/// What the devices hold at the beginning: their boxes of an array, and of which addend.
struct Start {
  Shape global;
  std::vector<Box> boxes;
  std::vector<Size> addends;
};
[[nodiscard]] Start start_of(const Layout& from);

class Evaluator {
 public:
  /// Nothing of the function is evaluated yet; parameter 0 is an array of which every device holds
  /// its box of `from` at the beginning of its tile, and behind it anything.
  /// Preconditions: types that hold (reader.h); as many devices; boxes that fit into the tile.
  Evaluator(const Function& function, const Layout& from, Size most_bytes);
  /// The same of a start that outlives it.
  Evaluator(const Function& function, const Start& start, Size most_bytes);

  /// Evaluates one operation, whose operands are known. Throws LimitReached.
  void apply(const Operation& operation);
  [[nodiscard]] const State& at(ValueId value) const { return states_[value]; }
  void drop(ValueId value) { states_[value].blocks.clear(); }
  /// Says what the devices hold, whatever made it.
  void set(ValueId value, State state) { states_[value] = std::move(state); }
  /// Where every device's box begins that an operation takes or puts; its offsets are the operands
  /// from `first` on, and are known.
  [[nodiscard]] std::vector<Shape> starts(const Operation& operation, std::size_t first);
  [[nodiscard]] Sums& sums() { return sums_; }
  [[nodiscard]] const Sums& sums() const { return sums_; }

 private:
  friend class Stepping;

  Evaluator(const Function& function, const Layout* from, const Start* start, Size most_bytes);

  const Function& function_;
  const Layout* from_ = nullptr;
  const Start* start_ = nullptr;  // in place of a layout
  Budget budget_;
  Sums sums_;
  std::vector<State> states_;
};

}  // namespace retile::foreign
