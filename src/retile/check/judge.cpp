#include "retile/check/judge.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "retile/core/index.h"
#include "retile/program/apply.h"

namespace retile {

Limits limits_of(const CheckOptions& options) {
  constexpr Size numbers_per_piece = 8;
  // Tags are for what leaves boxes in many pieces: their numbers are written and read one by one.
  constexpr Size tag_share = 4;
  Limits out;
  out.room = checked_mul(std::max<Size>(options.piece_limit, 0), numbers_per_piece)
                 .value_or(std::numeric_limits<Size>::max());
  out.tag_room = out.room / tag_share;
  out.deadline = Deadline::in(options.timeout_seconds);
  return out;
}

namespace {

/// Functions that return whether the replay goes on have written the verdict when it does not.
class Judge {
 public:
  Judge(const Program& program, const Limits& limits, Holding& holding)
      : program_(program),
        limits_(limits),
        holding_(holding),
        tile_size_(program.from.tile_size()) {
    verdict_.steps = static_cast<Size>(program.steps.size());
    verdict_.bound = std::max(program.from.tile_size(), program.to.tile_size());
    verdict_.height = verdict_.bound;
  }

  Verdict judge() {
    bool goes_on = holding_.is_there() || undecided();
    for (Size number = 0; goes_on && number < verdict_.steps; ++number) goes_on = passes(number);
    if (goes_on) end();
    return verdict_;
  }

 private:
  /// Whether a step can be applied and its claims hold.
  bool passes(Size number) {
    const Step& step = program_.steps[index(number)];
    const Stepped stepped = holding_.apply(step);
    if (stepped.refusal) {
      const Reason reason = stepped.refusal->reason;
      if (reason == Reason::limit) return undecided();
      return wrong(number, reason, holding_.refused(*stepped.refusal));
    }
    const bool is_done = stepped.applied == Applied::done;
    if (step.claims.tile && *step.claims.tile != stepped.largest) {
      return wrong(number, Reason::tile_claim,
                   is_done ? holding_.other_tile(step.claims) : Witness{.device = 0});
    }
    if (!is_done) return undecided();
    const auto witness = holding_.broken(step.claims);
    if (holding_.is_lost()) return undecided();
    if (witness) return wrong(number, Reason::map_claim, *witness);
    return count(number, stepped.elements);
  }

  /// A step that was applied, and whose claims hold.
  /// \param after  elements of the largest tile after it
  bool count(Size number, Size after) {
    if (!left_boxes_) {
      if (std::optional<Witness> witness = holding_.not_a_box()) {
        left_boxes_.emplace(number, *std::move(witness));
      }
    }
    const Step& step = program_.steps[index(number)];
    const Size before = std::exchange(tile_size_, after);
    const auto own = step_cost(step, before, after, limits_.deadline);
    const auto cost = own ? checked_add(verdict_.cost, *own) : std::nullopt;
    if (!cost || limits_.deadline.passed()) return undecided();
    verdict_.cost = *cost;
    verdict_.height = std::max(verdict_.height, after);
    return true;
  }

  void end() {
    const auto fault = holding_.fault(program_.to);
    if (holding_.is_lost()) {
      undecided();
    } else if (!fault) {
      answer(Answer::right);
    } else if (left_boxes_) {  // the first step that left a device without its box is at fault
      wrong(left_boxes_->first, Reason::not_a_box, left_boxes_->second);
    } else {
      wrong(verdict_.steps, fault->reason, fault->witness);
    }
  }

  bool undecided() {
    verdict_.out_of_time = limits_.deadline.passed();
    answer(Answer::undecided);
    return false;
  }

  bool wrong(Size step, Reason reason, const Witness& witness) {
    verdict_.wrong = Wrong{step, reason, witness};
    answer(Answer::wrong);
    return false;
  }

  void answer(Answer answer) {
    verdict_.answer = answer;
    verdict_.within_bound = verdict_.height <= verdict_.bound;
  }

  const Program& program_;
  Limits limits_;
  Holding& holding_;
  Verdict verdict_;
  Size tile_size_;
  std::optional<std::pair<Size, Witness>> left_boxes_;
};

}  // namespace

Verdict judged(const Program& program, const Limits& limits, Holding& holding) {
  return Judge(program, limits, holding).judge();
}

Verdict check_with(const Program& program, const CheckOptions& options, const Forms& forms) {
  const Limits limits = limits_of(options);
  Replay replay(program.from, limits, forms);
  return judged(program, limits, replay);
}

}  // namespace retile
