/// What all devices hold of an array while a Program of version 2 is looked at, and how much may be.
///
/// Every element has a tag, its row-major number in the global array. Above 2^28 tags on all
/// devices together nothing is decided, nor when all steps need more than 2^32 units of work.
#pragma once

#include "../layout/views.h"
#include "verdict.h"

namespace spec {

/// Whether an end or a claim gives a tile several boxes, an end in the view if there is one.
inline bool deals(const Program& program) {
  bool out = false;
  for (const Tiling* end : {&program.from, &program.to}) {
    out = out || (program.view ? deals(*end->layout, *program.view) : deals(*end->layout));
  }
  for (const Step& step : program.steps) out = out || (step.map && deals(*step.map->layout));
  return out;
}

class LayoutState {
 public:
  LayoutState(const Program& program, Size limit)
      : g_(steps_shape(program)), D_(program.devices), work_left_(limit) {}

 protected:
  using State = std::vector<Tile>;  // by device

  /// Every number that is looked at takes a unit for itself and one for each dimension.
  void work(Size numbers) {
    const auto units = times(numbers, static_cast<Size>(g_.size()) + 1);
    if (!units || *units > work_left_) throw too_much_work;
    work_left_ -= *units;
  }
  /// A state with tiles of these shapes can be held.
  void hold(const Rows& shapes) {
    Size room = most_tags_in_all;
    for (const Sizes& shape : shapes) {
      const auto tags = product(shape);
      if (!tags || *tags > room) throw too_many_tags;
      room -= *tags;
    }
    work(most_tags_in_all - room + D_);
  }
  State state_of(const Tiling& tiling) {
    Rows shapes;
    std::vector<Box> all = boxes(*tiling.layout, D_);
    if (tiling.global != g_) {  // an end, and steps are of a view
      for (Box& box : all) box = viewed(box, tiling.global, g_);
    }
    for (const Box& box : all) {
      shapes.emplace_back();
      for (const Sizes& side : box) shapes.back().push_back(static_cast<Size>(side.size()));
    }
    hold(shapes);
    State out;
    for (const Box& box : all) out.push_back(tile_of(box, g_));
    return out;
  }
  static Size largest(const State& state) {
    Size out = 0;
    for (const Tile& a : state) out = std::max(out, elements_of(a));
    return out;
  }
  /// The index in the global array that a tag is the number of.
  Sizes index_of(Size tag) const {
    Sizes out(g_.size());
    for (Index i = g_.size(); i-- > 0; tag /= g_[i]) out[i] = tag % g_[i];
    return out;
  }

  const Sizes g_;
  const Size D_;
  Size work_left_;
  State state_;
};

}  // namespace spec
