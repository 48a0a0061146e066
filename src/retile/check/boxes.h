// States in which every device holds one box in order, as a list of base offsets. Private to this
// room.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "retile/check/state.h"
#include "retile/program/op_facts.h"

namespace retile {

class Boxes final : public State {
 public:
  explicit Boxes(const Layout& from);
  /// The arrays of another state, which are boxes at these offsets.
  Boxes(const State& other, Columns base);

  [[nodiscard]] Form form() const override { return Form::boxes; }
  [[nodiscard]] Applied apply(const Step& step, const Shape& after, const Limits& limits) override;
  [[nodiscard]] Shape held(Size device, const Shape& at) const override;
  [[nodiscard]] std::optional<Witness> difference(const Columns& expected) const override;
  using State::difference;
  [[nodiscard]] std::optional<Witness> not_a_box() const override { return std::nullopt; }
  [[nodiscard]] Size numbers() const override;
  [[nodiscard]] std::unique_ptr<State> slower(const Limits& limits) const override;

  [[nodiscard]] const Columns& base() const { return base_; }

 private:
  [[nodiscard]] Applied keep(const Keep& what, const Limits& limits);
  [[nodiscard]] Applied regroup(const Regroup& what, const Limits& limits);
  [[nodiscard]] Applied fetch(const Fetch& what, const Limits& limits);

  Columns base_;
};

}  // namespace retile
