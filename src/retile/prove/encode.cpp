#include "retile/prove/encode.h"

#include <algorithm>
#include <variant>

namespace retile::symbolic {

namespace {

bool is_regular(const DeviceTable& table) { return table.chain() != nullptr; }

bool is_regular(const Step& step) {
  if (step.claims.at) return false;
  const OpFacts facts = facts_of(step.op);
  // Where addends are made of what is held alike, zeros are: not every element has a source.
  if (facts.transfers != nullptr || facts.counts != nullptr || facts.spreads()) return false;
  if (facts.groups != nullptr) return is_regular(*facts.groups);
  if (facts.pieces != nullptr) {
    const auto& list = std::get<PartList>(*facts.pieces);
    return is_regular(list.part) && list.parts == list.part.size();
  }
  const auto* const sources = std::get_if<DeviceTable>(facts.sources);
  return sources != nullptr && is_regular(*sources);
}

}  // namespace

std::vector<std::size_t> reading_order(const IotaStage& stage) {
  std::vector<std::size_t> order = stage.transpose;
  for (std::size_t k = order.size(); k < stage.shape.size(); ++k) order.push_back(k);
  return order;
}

std::vector<Number> coordinates(Digits& digits, Number number, const std::vector<Size>& extents) {
  std::vector<Number> out(extents.size());
  for (std::size_t k = extents.size(); k-- > 0;) {
    auto [low, high] = digits.split(number, extents[k]);
    out[k] = std::move(low);
    number = std::move(high);
  }
  return out;
}

Number row_major(const std::vector<Number>& coordinates) {
  Number out;
  for (std::size_t k = coordinates.size(); k-- > 0;) out = Digits::join(out, coordinates[k]);
  return out;
}

bool is_regular(const Program& program) {
  const Traits traits = traits_of(program);
  return !traits.listed && traits.alike &&
         std::all_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return is_regular(step); });
}

template class Rules<Encoder>;

}  // namespace retile::symbolic
