#include "retile/check/weights.h"

#include <utility>
#include <variant>

#include "retile/check/boxes.h"
#include "retile/core/cases.h"
#include "retile/program/op_facts.h"

namespace retile {

std::unique_ptr<State> Weights::of(const Layout& from) {
  auto weights = DigitWeights::of(from);
  if (!weights) return nullptr;
  return std::unique_ptr<State>(new Weights(from, *std::move(weights)));
}

Weights::Weights(const Layout& from, DigitWeights weights)
    : State(from.devices(), from.global(), from.tile()), weights_(std::move(weights)) {}

Applied Weights::apply(const Step& step, const Shape& after, const Limits& /*limits*/) {
  const bool is_said = match(
      meaning(step.op, tile()),
      [&](const Keep& keep) {
        const auto* const groups = std::get_if<DeviceTable>(keep.pieces);
        return groups != nullptr && weights_.slice(*groups, keep.dim, keep.width);
      },
      [&](const Regroup& regroup) {
        return regroup.groups->columns() == 1 || weights_.exchange(*regroup.groups, regroup);
      },
      [&](const Fetch& fetch) {
        const auto* const source = std::get_if<DeviceTable>(fetch.sources);
        return source != nullptr && weights_.permute(*source);
      },
      [](const Assemble&) { return false; });
  if (!is_said) return Applied::refused;
  set_tile(after);
  return Applied::done;
}

Shape Weights::held(Size device, const Shape& at) const {
  Shape out = at;
  for (std::size_t k = 0; k < rank(); ++k) out[k] += weights_.base_offset(device, k);
  return out;
}

std::optional<Witness> Weights::difference(const Columns& expected) const {
  return Boxes(*this, weights_.columns()).difference(expected);
}

std::optional<Witness> Weights::difference(const Layout& expected) const {
  const auto digits = DigitWeights::of(expected);
  if (digits && weights_.equal(*digits) == true) return std::nullopt;
  return State::difference(expected);
}

Size Weights::numbers() const { return weights_.numbers(); }

std::unique_ptr<State> Weights::slower(const Limits& /*limits*/) const {
  return std::make_unique<Boxes>(*this, weights_.columns());
}

}  // namespace retile
