// The replay of a Program's steps in the fastest form that can say what the devices hold. Private
// to this room.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "retile/check/limits.h"
#include "retile/check/state.h"

namespace retile {

/// Which forms a replay may use. All but Tags may be left out: then the next slower one stands in.
struct Forms {
  bool weights = true;
  bool boxes = true;
  bool pieces = true;
  /// Without it, steps that Pieces refuse have no room.
  bool tags = true;

  [[nodiscard]] bool has(Form form) const;
};

class Replay {
 public:
  /// The boxes of `from`.
  Replay(const Layout& from, const Limits& limits, const Forms& forms);

  /// Applies a step to the devices' arrays; after anything but `done` they must not be asked for.
  /// Never `refused`.
  [[nodiscard]] Applied apply(const Step& step, const Shape& after);

  /// What the devices hold. Null when there was no room for it at the start.
  [[nodiscard]] const State* state() const { return state_.get(); }

  /// How many numbers a state of boxes needs, with a step's table and the next state or a claim
  /// beside it.
  [[nodiscard]] static std::optional<Size> least_room(Size devices, std::size_t rank);

 private:
  /// Goes to the next slower form that may be used. False when there is none, or no room for it.
  [[nodiscard]] bool slow_down();
  [[nodiscard]] Applied apply_as_pieces(const Step& step, const Shape& after);

  Limits limits_;
  Forms forms_;
  std::unique_ptr<State> state_;
};

}  // namespace retile
