// The replay of a Program's steps in the fastest form that can say what the devices hold. Private
// to this room.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "retile/check/holding.h"
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

class Replay final : public Holding {
 public:
  /// The boxes of `from`, whose tiles are alike.
  Replay(const Layout& from, const Limits& limits, const Forms& forms);

  [[nodiscard]] bool is_there() const override { return state_ != nullptr; }
  [[nodiscard]] Stepped apply(const Step& step) override;
  [[nodiscard]] Witness refused(const Refusal& refusal) const override;
  [[nodiscard]] Witness other_tile(const Claims& claims) const override;
  [[nodiscard]] std::optional<Witness> broken(const Claims& claims) override;
  [[nodiscard]] std::optional<Fault> fault(const Layout& expected) override;
  [[nodiscard]] std::optional<Witness> not_a_box() const override { return state_->not_a_box(); }

  /// Applies a step to the devices' arrays; after anything but `done` they must not be asked for.
  /// Never `refused`.
  [[nodiscard]] Applied apply(const Step& step, const Shape& after);

  /// What the devices hold. Null when there was no room for it at the start.
  [[nodiscard]] const State* state() const { return state_.get(); }

 private:
  /// A tile of another shape on device 0.
  [[nodiscard]] Witness other_shape(const Shape& expected, const std::optional<Shape>& base) const;
  [[nodiscard]] std::optional<Witness> difference(const Layout& expected) const;
  /// Goes to the next slower form that may be used. False when there is none, or no room for it.
  [[nodiscard]] bool slow_down();
  [[nodiscard]] Applied apply_as_pieces(const Step& step, const Shape& after);

  Limits limits_;
  Forms forms_;
  std::unique_ptr<State> state_;
};

}  // namespace retile
