// States as plain arrays of global indices: slow, exact, and good for every step. Private to this
// room.
//
// Elements that all steps so far moved together have one tag: along dimension k a block has unit[k]
// elements, and no piece that was cut, no box that was moved began or ended inside one. A step that
// cuts blocks makes the unit smaller first. So what is said about blocks is said about elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "retile/check/blocks.h"
#include "retile/check/piece_list.h"
#include "retile/check/state.h"
#include "retile/check/tables.h"
#include "retile/core/walk.h"
#include "retile/program/op_facts.h"

namespace retile {

class Boxes;

class Tags final : public State {
 public:
  /// Arrays without tags yet, of the shapes of another state; null when there is no room. Each tag
  /// must be written by one `fill`.
  [[nodiscard]] static std::unique_ptr<Tags> make(const State& other, Shape unit, ArrayOf array_of,
                                                  std::size_t arrays, const Limits& limits);
  /// The arrays of boxes; null when there is no room.
  [[nodiscard]] static std::unique_ptr<State> of(const Boxes& boxes, const Limits& limits);
  void fill(std::size_t array, const PieceView& piece);

  [[nodiscard]] Form form() const override { return Form::tags; }
  [[nodiscard]] Applied apply(const Step& step, const Shape& after, const Limits& limits) override;
  [[nodiscard]] Shape held(Size device, const Shape& at) const override;
  [[nodiscard]] std::optional<Witness> difference(const Columns& expected) const override;
  using State::difference;
  [[nodiscard]] std::optional<Witness> not_a_box() const override;
  [[nodiscard]] Size numbers() const override { return static_cast<Size>(tags_.size()); }
  [[nodiscard]] std::unique_ptr<State> slower(const Limits& /*limits*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<State> as_boxes() const override;

  [[nodiscard]] const ArrayOf& array_of() const { return array_of_; }
  [[nodiscard]] std::size_t array_count() const { return tags_.size() / index(size_); }
  /// Calls `visit` with boxes, one block high in all dimensions but one, that make up an array,
  /// until it returns false. True when it never did.
  template <typename Visit>
  bool for_each_run(std::size_t array, const Visit& visit) const;

 private:
  Tags(const State& other, Shape unit, ArrayOf array_of);

  /// A step that is under way: the arrays after it.
  struct Next;

  void set_blocks(const Shape& tile, Shape unit);
  /// Makes blocks smaller. Precondition: the new unit divides the old one.
  [[nodiscard]] bool refine(const Shape& unit, Watch& watch);
  [[nodiscard]] Applied keep(const Keep& what, Next& next) const;
  [[nodiscard]] Applied gather(const Regroup& what, Next& next) const;
  [[nodiscard]] Applied regroup(const Regroup& what, Next& next) const;
  [[nodiscard]] Applied fetch(const Fetch& what, Next& next) const;
  [[nodiscard]] Applied assemble(const Assemble& what, Next& next) const;
  [[nodiscard]] Applied unchanged(Next& next) const;

  [[nodiscard]] const Size* array(std::size_t number) const {
    return tags_.data() + number * index(size_);
  }
  [[nodiscard]] const Size* array_of(Size device) const { return array(array_of_[index(device)]); }
  /// The local index at which the block begins that has this number in an array.
  [[nodiscard]] Shape local(Size block) const;
  [[nodiscard]] Shape global_index(Size tag) const;
  /// The number of the first block that does not hold its part of the box at `base`; -1: none.
  [[nodiscard]] Size first_difference(const Size* array, const Shape& base) const;
  [[nodiscard]] Witness witness_of(Size device, Size block, const Shape& base) const;

  Shape unit_;            // elements of a block
  Shape counts_;          // blocks of an array
  Shape strides_;         // of blocks in an array, C order
  Shape global_strides_;  // of elements in the global array, C order
  Size size_ = 1;         // blocks of an array
  ArrayOf array_of_;
  /// Array after array: of each block the number, in C order, of the first of its elements in the
  /// global array.
  std::vector<Size> tags_;
};

template <typename Visit>
bool Tags::for_each_run(std::size_t number, const Visit& visit) const {
  const Size* const tags = array(number);
  std::size_t along = 0;  // the last dimension with several blocks: neighbours in it are neighbours
  for (std::size_t k = 0; k < rank(); ++k) along = counts_[k] > 1 ? k : along;
  const Size step = unit_[along] * global_strides_[along];
  for (Size block = 0; block < size_;) {
    const Size first = block++;
    Shape shift = global_index(tags[first]);
    const Size room = (global()[along] - shift[along]) / unit_[along];
    const Size end = first + std::min(counts_[along] - first % counts_[along], room);
    while (block < end && tags[block] == tags[block - 1] + step) ++block;
    const Shape origin = local(first);
    Shape extent = unit_;
    extent[along] *= block - first;
    for (std::size_t k = 0; k < rank(); ++k) shift[k] -= origin[k];
    if (!visit(PieceView{origin, extent, shift})) return false;
  }
  return true;
}

}  // namespace retile
