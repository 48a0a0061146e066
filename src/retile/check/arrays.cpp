// Two forms of what the devices hold: a box each, as where it lies; or, where some device holds none
// in order, every element of every device by its number in the global array.
#include "retile/check/arrays.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "retile/check/limits.h"
#include "retile/check/state.h"
#include "retile/check/witness.h"
#include "retile/core/walk.h"
#include "retile/program/moves.h"

namespace retile {
namespace {

Size size_of(const Shape& tile) { return checked_product(tile).value(); }

/// What all devices hold.
class Arrays final : public Holding {
 public:
  Arrays(const Layout& from, const Limits& limits)
      : global_(from.global()), strides_(strides_of(global_)), limits_(limits) {
    for (Box& box : from.boxes()) {
      shapes_.push_back(std::move(box.extent));
      at_.push_back(std::move(box.at));
    }
  }

  [[nodiscard]] Stepped apply(const Step& step) override {
    const auto moves = moves_of(step, shapes_, limits_.deadline);
    if (!moves) return {.refusal = moves.error()};
    return {.applied = apply(*moves),
            .largest = largest_extents(moves->after),
            .elements = largest_tile(moves->after)};
  }

  [[nodiscard]] Witness refused(const Refusal& refusal) const override {
    const std::optional<Size>& device = refusal.device;
    if (refusal.at) return {device, Witness::OtherPlace{*refusal.at}};
    if (!device || is_empty(shapes_[index(*device)])) return {.device = device};
    const Shape first(global_.size(), 0);
    return {device, Witness::StuckElement{first, held(*device, first)}};
  }

  [[nodiscard]] std::optional<Witness> broken(const Claims& claims) override {
    if (claims.map) {
      if (auto witness = difference(*claims.map)) return witness;
    }
    if (auto witness = broken_shapes(claims, shapes_)) return witness;
    const std::size_t rank = global_.size();
    if (!claims.at || rank == 0) return std::nullopt;
    return difference(shapes_of_rows(*claims.at, rank));
  }

  [[nodiscard]] std::optional<Fault> fault(const Layout& expected) override {
    auto witness = difference(expected);
    return witness ? std::optional(Fault{Reason::end, *std::move(witness)}) : std::nullopt;
  }

  /// The first device that holds no box in order.
  [[nodiscard]] std::optional<Witness> not_a_box() const override {
    if (boxes_) return std::nullopt;
    for (std::size_t d = 0; d < shapes_.size(); ++d) {
      if (is_empty(shapes_[d])) continue;
      if (auto witness = difference(d, index_of(elements_[d].front(), global_))) return witness;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Applied apply(const Moves& moves) {
    if (boxes_) {
      if (std::optional<std::vector<Shape>> at = moved_boxes(moves)) {
        at_ = *std::move(at);
        shapes_ = moves.after;
        return Applied::done;
      }
      if (!list_elements()) return Applied::no_room;
    }
    const Applied done = move_elements(moves);
    if (done != Applied::done) return done;
    shapes_ = moves.after;
    if (!not_a_box()) join_elements();
    return Applied::done;
  }

  /// The global index that a device holds at a local index.
  [[nodiscard]] Shape held(Size device, const Shape& at) const {
    if (boxes_) {
      Shape out = at;
      for (std::size_t k = 0; k < out.size(); ++k) out[k] += at_[index(device)][k];
      return out;
    }
    const Shape& tile = shapes_[index(device)];
    return index_of(elements_[index(device)][index(offset_of(at, strides_of(tile)))], global_);
  }

  /// The first device whose tile is not the one in its box, which has the same shape.
  [[nodiscard]] std::optional<Witness> difference(const std::vector<Shape>& expected) const {
    for (std::size_t d = 0; d < shapes_.size(); ++d) {
      if (is_empty(shapes_[d])) continue;
      if (auto witness = difference(d, expected[d])) return witness;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Witness> difference(const Layout& expected) const {
    std::vector<Shape> at;
    TileShapes shapes;
    for (Box& box : expected.boxes()) {
      at.push_back(std::move(box.at));
      shapes.push_back(std::move(box.extent));
    }
    if (auto witness = retile::other_tile(shapes_, shapes)) return witness;
    return difference(at);
  }

  /// Where the boxes lie afterwards; nothing where some device holds none.
  [[nodiscard]] std::optional<std::vector<Shape>> moved_boxes(const Moves& moves) const {
    std::vector<Shape> out(shapes_.size());
    for (const Transfer& transfer : moves.transfers) {
      Shape at = at_[index(transfer.source)];
      for (std::size_t k = 0; k < at.size(); ++k) {
        at[k] += transfer.source_start[k] - transfer.target_start[k];
      }
      Shape& known = out[index(transfer.target)];
      if (known.empty())
        known = std::move(at);
      else if (known != at)
        return std::nullopt;
    }
    for (Shape& at : out) {
      if (at.empty()) at.assign(global_.size(), 0);
    }
    return out;
  }

  [[nodiscard]] bool list_elements() {
    if (!has_room(shapes_)) return false;
    elements_.resize(shapes_.size());
    for (std::size_t d = 0; d < shapes_.size(); ++d) {
      if (is_empty(shapes_[d])) continue;
      elements_[d].resize(index(size_of(shapes_[d])));
      copy(shapes_[d], at_[d], elements_[d]);
    }
    at_.clear();
    boxes_ = false;
    return true;
  }

  /// The numbers of a box of the array, in order.
  void copy(const Shape& tile, const Shape& at, std::vector<Size>& out) const {
    Walk<1> box;
    for (std::size_t k = 0; k < tile.size(); ++k) box.add(tile[k], {strides_[k]});
    auto next = out.begin();
    static_cast<void>(box.each_row({offset_of(at, strides_)}, [&](const Row<1>& row) {
      for (Size e = 0; e < row.length; ++e) *next++ = row.at[0] + e * row.step[0];
      return true;
    }));
  }

  [[nodiscard]] Applied move_elements(const Moves& moves) {
    if (!has_room(moves.after)) return Applied::no_room;
    std::vector<std::vector<Size>> next(shapes_.size());
    for (std::size_t d = 0; d < next.size(); ++d) next[d].resize(index(size_of(moves.after[d])));
    Watch watch(limits_.deadline);
    for (const Transfer& transfer : moves.transfers) {
      const Shape old_strides = strides_of(shapes_[index(transfer.source)]);
      const Shape new_strides = strides_of(moves.after[index(transfer.target)]);
      Walk<2> box;
      for (std::size_t k = 0; k < transfer.shape.size(); ++k) {
        box.add(transfer.shape[k], {old_strides[k], new_strides[k]});
      }
      const std::vector<Size>& from = elements_[index(transfer.source)];
      std::vector<Size>& to = next[index(transfer.target)];
      const bool in_time = box.each_row({offset_of(transfer.source_start, old_strides),
                                         offset_of(transfer.target_start, new_strides)},
                                        [&](const Row<2>& row) {
                                          for (Size e = 0; e < row.length; ++e) {
                                            to[index(row.at[1] + e * row.step[1])] =
                                                from[index(row.at[0] + e * row.step[0])];
                                          }
                                          return watch.in_time(row.length);
                                        });
      if (!in_time) return Applied::too_late;
    }
    elements_ = std::move(next);
    return Applied::done;
  }

  /// All devices hold boxes.
  void join_elements() {
    for (std::size_t d = 0; d < shapes_.size(); ++d) {
      at_.push_back(is_empty(shapes_[d]) ? Shape(global_.size(), 0)
                                         : index_of(elements_[d].front(), global_));
    }
    elements_.clear();
    boxes_ = true;
  }

  [[nodiscard]] bool has_room(const TileShapes& shapes) const {
    Size left = limits_.tag_room / 2;
    for (const Shape& shape : shapes) {
      const Size size = size_of(shape);
      if (size > left) return false;
      left -= size;
    }
    return true;
  }

  [[nodiscard]] std::optional<Witness> difference(std::size_t d, const Shape& expected) const {
    const auto device = static_cast<Size>(d);
    const Shape first(global_.size(), 0);
    if (boxes_) {
      if (at_[d] == expected) return std::nullopt;
      return Witness{device, Witness::OtherElement{first, expected, held(device, first)}};
    }
    const Shape& tile = shapes_[d];
    Shape at = first;
    for (const Size element : elements_[d]) {
      Shape wanted = expected;
      for (std::size_t k = 0; k < at.size(); ++k) wanted[k] += at[k];
      Shape found = index_of(element, global_);
      if (found != wanted) {
        return Witness{device, Witness::OtherElement{at, wanted, std::move(found)}};
      }
      static_cast<void>(advance(at, tile));
    }
    return std::nullopt;
  }

  Shape global_;
  Shape strides_;
  Limits limits_;
  TileShapes shapes_;
  bool boxes_ = true;
  std::vector<Shape> at_;                    // of boxes
  std::vector<std::vector<Size>> elements_;  // of others
};

}  // namespace

std::unique_ptr<Holding> arrays_of(const Layout& from, const Limits& limits) {
  return std::make_unique<Arrays>(from, limits);
}

}  // namespace retile
