#include "retile/check/judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "retile/check/ruling.h"
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

class Judge final : Ruling {
 public:
  Judge(const Program& program, const Limits& limits) : Ruling(program, limits) {}

  Verdict judge(const Forms& forms) {
    bool goes_on = starts(forms);
    for (Size number = 0; goes_on && number < verdict().steps; ++number) goes_on = passes(number);
    if (goes_on) end(difference());
    return verdict();
  }

 private:
  [[nodiscard]] const State& state() const { return *replay_->state(); }

  bool starts(const Forms& forms) {
    const auto least = Replay::least_room(program().devices, program().from.rank());
    if (!least || *least > limits().room) return undecided();
    replay_.emplace(program().from, limits(), forms);
    return replay_->state() != nullptr || undecided();
  }

  /// Whether a step can be applied and its claims hold.
  bool passes(Size number) {
    const Step& step = program().steps[index(number)];
    const auto after = shape_after(step, state().tile(), program().devices, limits().deadline);
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
    return count(number, checked_product(*after).value(), [this] { return state().not_a_box(); });
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
    return Ruling::refused(number, refusal.reason, device, witness);
  }

  [[nodiscard]] std::optional<Witness> difference() const {
    const Layout& to = program().to;
    return state().tile() != to.tile() ? other_shape(state(), to.tile(), to.base_offset(0))
                                       : state().difference(to);
  }

  std::optional<Replay> replay_;
};

}  // namespace

Verdict check_with(const Program& program, const CheckOptions& options, const Forms& forms) {
  return Judge(program, limits_of(options)).judge(forms);
}

}  // namespace retile
