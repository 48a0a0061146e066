// A verdict in the making: what all judges write alike. Private to this room.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "retile/check/check.h"
#include "retile/check/limits.h"
#include "retile/check/witness.h"
#include "retile/program/apply.h"
#include "retile/program/program.h"
#include "retile/program/tile_shapes.h"

namespace retile {

/// Functions that return whether the replay goes on have written the verdict when it does not.
class Ruling {
 protected:
  Ruling(const Program& program, const Limits& limits)
      : program_(program), limits_(limits), tile_size_(program.from.tile_size()) {
    verdict_.steps = static_cast<Size>(program.steps.size());
    verdict_.bound = std::max(program.from.tile_size(), program.to.tile_size());
    verdict_.height = verdict_.bound;
  }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const Verdict& verdict() const { return verdict_; }

  /// The first device whose tile has another shape than expected.
  [[nodiscard]] static std::optional<Witness> other_tile(const TileShapes& shapes,
                                                         const TileShapes& expected) {
    for (std::size_t d = 0; d < shapes.size(); ++d) {
      if (shapes[d] != expected[d]) return Witness{static_cast<Size>(d), {}, {}, {}};
    }
    return std::nullopt;
  }

  /// A step that cannot be applied.
  /// \param device  the one to name
  bool refused(Size step, Reason reason, std::optional<Size> device, const Witness& witness) {
    wrong(step, reason, witness);
    verdict_.device = device;
    return false;
  }

  /// A step that was applied, and whose claims hold.
  /// \param after  elements of the largest tile after it
  /// \param not_a_box  asked for the first device that holds no box, until one is found
  template <typename NotABox>
  bool count(Size number, Size after, const NotABox& not_a_box) {
    if (!left_boxes_) {
      if (std::optional<Witness> witness = not_a_box()) {
        left_boxes_.emplace(number, *std::move(witness));
      }
    }
    const Step& step = program_.steps[static_cast<std::size_t>(number)];
    const Size before = std::exchange(tile_size_, after);
    const auto own = step_cost(step, before, after, limits_.deadline);
    const auto cost = own ? checked_add(verdict_.cost, *own) : std::nullopt;
    if (!cost || limits_.deadline.passed()) return undecided();
    verdict_.cost = *cost;
    verdict_.height = std::max(verdict_.height, after);
    return true;
  }

  /// \param difference  how what the devices hold differs from `to`, if it does
  void end(const std::optional<Witness>& difference) {
    if (!difference) {
      answer(Answer::right);
    } else if (left_boxes_) {  // the first step that left a device without its box is at fault
      wrong(left_boxes_->first, Reason::not_a_box, left_boxes_->second);
    } else {
      wrong(verdict_.steps, Reason::end, *difference);
    }
  }

  bool undecided() {
    verdict_.reason = Reason::limit;
    verdict_.out_of_time = limits_.deadline.passed();
    answer(Answer::undecided);
    return false;
  }

  bool wrong(Size step, Reason reason, const Witness& witness) {
    verdict_.first_wrong_step = step;
    verdict_.reason = reason;
    verdict_.device = witness.device;
    verdict_.at = witness.at;
    verdict_.element = witness.element;
    verdict_.found = witness.found;
    verdict_.addend = witness.addend;
    verdict_.times = witness.times;
    verdict_.replica = witness.replica;
    verdict_.replica_times = witness.replica_times;
    answer(Answer::wrong);
    return false;
  }

 private:
  void answer(Answer answer) {
    verdict_.answer = answer;
    verdict_.within_bound = verdict_.height <= verdict_.bound;
  }

  const Program& program_;
  Limits limits_;
  Verdict verdict_;
  Size tile_size_;
  std::optional<std::pair<Size, Witness>> left_boxes_;
};

}  // namespace retile
