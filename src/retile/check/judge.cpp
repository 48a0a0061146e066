#include "retile/check/judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "retile/check/state.h"
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

/// A tile of another shape on device 0.
Witness other_shape(const State& state, const Shape& expected, const std::optional<Shape>& base) {
  return shape_witness(state.tile(), expected, base,
                       [&state](const Shape& at) { return state.held(0, at); });
}

/// How a map claim fails, if it does.
std::optional<Witness> broken_claim(const Claims& claims, const State& state) {
  if (claims.map) {
    const Shape& tile = claims.map->tile();
    if (tile != state.tile()) return other_shape(state, tile, claims.map->base_offset(0));
    if (auto witness = state.difference(*claims.map)) return witness;
  }
  if (!claims.at) return std::nullopt;
  return state.difference(columns_of_rows(state.devices(), state.rank(), *claims.at));
}

/// Functions that return whether the replay goes on have written the verdict when it does not.
class Judge {
 public:
  Judge(const Program& program, const Limits& limits) : program_(program), limits_(limits) {
    verdict_.steps = static_cast<Size>(program.steps.size());
    verdict_.bound = std::max(program.from.tile_size(), program.to.tile_size());
    verdict_.height = verdict_.bound;
    tile_size_ = program.from.tile_size();
  }

  Verdict judge(const Forms& forms) {
    bool goes_on = starts(forms);
    for (Size number = 0; goes_on && number < verdict_.steps; ++number) goes_on = passes(number);
    if (goes_on) end();
    return verdict_;
  }

 private:
  [[nodiscard]] const State& state() const { return *replay_->state(); }

  bool starts(const Forms& forms) {
    const auto least = Replay::least_room(program_.devices, program_.from.rank());
    if (!least || *least > limits_.room) return undecided();
    replay_.emplace(program_.from, limits_, forms);
    return replay_->state() != nullptr || undecided();
  }

  /// Whether a step can be applied and its claims hold.
  bool passes(Size number) {
    const Step& step = program_.steps[index(number)];
    const auto after = shape_after(step, state().tile(), program_.devices, limits_.deadline);
    if (!after) return refused(number, after.error());
    const Applied applied = replay_->apply(step, *after);
    if (step.claims.tile && *step.claims.tile != *after) {
      const Shape& claimed = *step.claims.tile;
      return wrong(number, Reason::tile_claim,
                   applied == Applied::done
                       ? other_shape(state(), claimed, claimed_base(step.claims, claimed))
                       : Witness{});
    }
    if (applied != Applied::done) return undecided();
    if (const auto witness = broken_claim(step.claims, state())) {
      return wrong(number, Reason::map_claim, *witness);
    }
    if (!left_boxes_) {
      if (auto witness = state().not_a_box()) left_boxes_.emplace(number, *std::move(witness));
    }
    return count(step, *after);
  }

  /// A step that cannot be applied.
  bool refused(Size number, const Refusal& refusal) {
    if (refusal.reason == Reason::limit) return undecided();
    const auto device = refusal.reason == Reason::indivisible ? Size{0} : refusal.device;
    Witness witness;
    if (refusal.reason == Reason::transfers) {
      witness.at = refusal.at;
    } else if (device) {
      witness.at = Shape(state().rank(), 0);
      witness.element = state().held(*device, *witness.at);
    }
    wrong(number, refusal.reason, witness);
    verdict_.device = device;
    return false;
  }

  bool count(const Step& step, const Shape& after) {
    const Size before = std::exchange(tile_size_, checked_product(after).value());
    const auto cost =
        checked_add(verdict_.cost, step_cost(step, before, tile_size_, limits_.deadline));
    if (!cost || limits_.deadline.passed()) return undecided();
    verdict_.cost = *cost;
    verdict_.height = std::max(verdict_.height, tile_size_);
    return true;
  }

  void end() {
    const Layout& to = program_.to;
    const std::optional<Witness> difference =
        state().tile() != to.tile() ? other_shape(state(), to.tile(), to.base_offset(0))
                                    : state().difference(to);
    if (!difference) {
      answer(Answer::right);
    } else if (left_boxes_) {  // the first step that left a device without its box is at fault
      wrong(left_boxes_->first, Reason::not_a_box, left_boxes_->second);
    } else {
      wrong(verdict_.steps, Reason::end, *difference);
    }
  }

  void answer(Answer answer) {
    verdict_.answer = answer;
    verdict_.within_bound = verdict_.height <= verdict_.bound;
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
    answer(Answer::wrong);
    return false;
  }

  const Program& program_;
  Limits limits_;
  std::optional<Replay> replay_;
  Verdict verdict_;
  Size tile_size_ = 0;
  std::optional<std::pair<Size, Witness>> left_boxes_;
};

}  // namespace

Verdict check_with(const Program& program, const CheckOptions& options, const Forms& forms) {
  return Judge(program, limits_of(options)).judge(forms);
}

}  // namespace retile
