// What all devices hold after some steps: per device an array of global indices, all of one shape.
// Private to this room.
//
// Four forms say the same, each one faster and able to say less than the one before:
//
//   Tags     a number for every element, or for every block of elements that moves whole
//   Pieces   boxes of elements that lie together: {origin, extent, shift}
//   Boxes    one box per device, as a list of base offsets
//   Weights  the base offsets as sums over digits of the device number
//
// A step must exist for Tags. The others may refuse one; then the next slower form takes over
// (Replay). Shapes belong to the state: what a step makes of them, only the state says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/check/limits.h"
#include "retile/check/witness.h"
#include "retile/core/index.h"
#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

/// The forms, the fastest first.
enum class Form : std::uint8_t { weights, boxes, pieces, tags };

/// What became of a step. Only after `done` is the state another one, and only after `too_late`
/// must it not be used any more.
enum class Applied : std::uint8_t {
  done,
  refused,   ///< this form cannot say the result, or a slower one says it in fewer numbers
  no_room,   ///< the result has more numbers than there is room for
  too_late,  ///< the deadline has passed
};

/// Base offsets, one vector per dimension, one entry per device.
using Columns = std::vector<std::vector<Size>>;

/// Columns of base offsets that are given device after device, `rank` numbers each.
[[nodiscard]] Columns columns_of_rows(Size devices, std::size_t rank,
                                      const std::vector<Size>& rows);

class State {
 public:
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;

  [[nodiscard]] Size devices() const { return devices_; }
  /// The shape of the array that the global indices are of.
  [[nodiscard]] const Shape& global() const { return global_; }
  /// The shape of the array of every device.
  [[nodiscard]] const Shape& tile() const { return tile_; }
  [[nodiscard]] std::size_t rank() const { return tile_.size(); }

  [[nodiscard]] virtual Form form() const = 0;

  /// \param step   one that can be applied (shape_after)
  /// \param after  the shape of every array after it
  [[nodiscard]] virtual Applied apply(const Step& step, const Shape& after,
                                      const Limits& limits) = 0;

  /// The global index that a device holds at a local index.
  [[nodiscard]] virtual Shape held(Size device, const Shape& at) const = 0;

  /// The first device, and its first local index in C order, where the arrays are not boxes in
  /// order with these base offsets; or as this layout says, whose tiles have the shape of the
  /// arrays.
  [[nodiscard]] virtual std::optional<Witness> difference(const Columns& expected) const = 0;
  [[nodiscard]] virtual std::optional<Witness> difference(const Layout& expected) const;

  /// The first device that holds no box in order, seen from the element at its local index 0, and
  /// the first local index where that shows.
  [[nodiscard]] virtual std::optional<Witness> not_a_box() const = 0;

  /// How many numbers of 8 bytes the state holds.
  [[nodiscard]] virtual Size numbers() const = 0;

  /// The same arrays in the next slower form; null for Tags, and when there is no room.
  [[nodiscard]] virtual std::unique_ptr<State> slower(const Limits& limits) const = 0;
  /// The same arrays as Boxes, where every device holds one; else null, and for what is as fast.
  [[nodiscard]] virtual std::unique_ptr<State> as_boxes() const { return nullptr; }

 protected:
  State(Size devices, Shape global, Shape tile)
      : devices_(devices), global_(std::move(global)), tile_(std::move(tile)) {}

  void set_tile(const Shape& tile) { tile_ = tile; }

 private:
  Size devices_;
  Shape global_;
  Shape tile_;
};

}  // namespace retile
