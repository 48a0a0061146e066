#include "retile/check/replay.h"

#include <utility>

#include "retile/check/boxes.h"
#include "retile/check/pieces.h"
#include "retile/check/tags.h"
#include "retile/check/weights.h"

namespace retile {

namespace {

/// How many numbers a state of boxes needs, with a step's table and the next state or a claim beside
/// it.
std::optional<Size> least_room(Size devices, std::size_t rank) {
  return checked_mul(devices, 4 + 2 * static_cast<Size>(rank));
}

}  // namespace

bool Forms::has(Form form) const {
  switch (form) {
    case Form::weights:
      return weights;
    case Form::boxes:
      return boxes;
    case Form::pieces:
      return pieces;
    case Form::tags:
      break;
  }
  return tags;
}

Replay::Replay(const Layout& from, const Limits& limits, const Forms& forms)
    : limits_(limits), forms_(forms) {
  const auto least = least_room(from.devices(), from.rank());
  if (!least || *least > limits.room) return;
  if (!forms.tags) limits_.tag_room = 0;
  state_ = Weights::of(from);
  if (state_ == nullptr) state_ = std::make_unique<Boxes>(from);
  while (state_ != nullptr && !forms_.has(state_->form())) state_ = state_->slower(limits_);
}

bool Replay::slow_down() {
  std::unique_ptr<State> next = state_->slower(limits_);
  while (next != nullptr && !forms_.has(next->form())) next = next->slower(limits_);
  if (next == nullptr) return false;
  state_ = std::move(next);
  return true;
}

Stepped Replay::apply(const Step& step) {
  const auto after = shape_after(step, state_->tile(), state_->devices(), limits_.deadline);
  if (!after) return {.refusal = after.error()};
  return {.applied = apply(step, *after),
          .largest = *after,
          .elements = checked_product(*after).value()};
}

Witness Replay::refused(const Refusal& refusal) const {
  if (refusal.at) return {refusal.device, Witness::OtherPlace{*refusal.at}};
  const auto device = refusal.reason == Reason::indivisible ? Size{0} : refusal.device;
  if (!device) return {};
  const Shape first(state_->rank(), 0);
  return {device, Witness::StuckElement{first, state_->held(*device, first)}};
}

Witness Replay::other_shape(const Shape& expected, const std::optional<Shape>& base) const {
  return shape_witness(state_->tile(), expected, base,
                       [this](const Shape& at) { return state_->held(0, at); });
}

Witness Replay::other_tile(const Claims& claims) const {
  return other_shape(*claims.tile, claimed_base(claims, *claims.tile));
}

std::optional<Witness> Replay::difference(const Layout& expected) const {
  if (expected.tile() != state_->tile()) {
    return other_shape(expected.tile(), expected.base_offset(0));
  }
  return state_->difference(expected);
}

std::optional<Witness> Replay::broken(const Claims& claims) {
  if (claims.map) {
    if (auto witness = difference(*claims.map)) return witness;
  }
  if (!claims.at) return std::nullopt;
  return state_->difference(columns_of_rows(state_->devices(), state_->rank(), *claims.at));
}

std::optional<Fault> Replay::fault(const Layout& expected) {
  auto witness = difference(expected);
  return witness ? std::optional(Fault{Reason::end, *std::move(witness)}) : std::nullopt;
}

Applied Replay::apply(const Step& step, const Shape& after) {
  Applied done = state_->apply(step, after, limits_);
  while (done == Applied::refused) {
    if (!slow_down()) return limits_.deadline.passed() ? Applied::too_late : Applied::no_room;
    done = state_->apply(step, after, limits_);
  }
  if (done == Applied::no_room) done = apply_as_pieces(step, after);
  if (done != Applied::done) return done;
  if (!forms_.boxes) return Applied::done;
  if (auto boxes = state_->as_boxes()) state_ = std::move(boxes);
  return Applied::done;
}

/// Tags may have no room for what are few pieces: large boxes that lie a little askew.
Applied Replay::apply_as_pieces(const Step& step, const Shape& after) {
  if (state_->form() != Form::tags || !forms_.pieces || state_->rank() == 0) {
    return Applied::no_room;
  }
  auto pieces = Pieces::of(static_cast<const Tags&>(*state_), limits_);
  if (pieces == nullptr) return limits_.deadline.passed() ? Applied::too_late : Applied::no_room;
  state_ = std::move(pieces);
  const Applied done = state_->apply(step, after, limits_);
  return done == Applied::refused ? Applied::no_room : done;
}

}  // namespace retile
