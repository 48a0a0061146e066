// States in which every device holds one box, and base offsets are sums over digits of the device
// number. Private to this room.
//
// No device is looked at, so 65,536 of them take as long as eight. What our planner makes never
// leaves this form.
#pragma once

#include <memory>
#include <optional>

#include "retile/check/digit_weights.h"
#include "retile/check/state.h"

namespace retile {

class Weights final : public State {
 public:
  /// Of a compact map; null for others.
  [[nodiscard]] static std::unique_ptr<State> of(const Layout& from);

  [[nodiscard]] Form form() const override { return Form::weights; }
  [[nodiscard]] Applied apply(const Step& step, const Shape& after, const Limits& limits) override;
  [[nodiscard]] Shape held(Size device, const Shape& at) const override;
  [[nodiscard]] std::optional<Witness> difference(const Columns& expected) const override;
  [[nodiscard]] std::optional<Witness> difference(const Layout& expected) const override;
  [[nodiscard]] std::optional<Witness> not_a_box() const override { return std::nullopt; }
  [[nodiscard]] Size numbers() const override;
  [[nodiscard]] std::unique_ptr<State> slower(const Limits& limits) const override;

 private:
  Weights(const Layout& from, DigitWeights weights);

  DigitWeights weights_;
};

}  // namespace retile
