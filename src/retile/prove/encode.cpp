#include "retile/prove/encode.h"

#include <algorithm>

#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile::symbolic {

namespace {

bool is_regular(const DeviceTable& table) { return table.chain() != nullptr; }

bool is_regular(const Step& step) {
  if (step.claims.at || (step.claims.map && step.claims.map->is_listed())) return false;
  return match(
      step.op,
      [](const Dynslice& op) {
        return match(
            op.pieces, [](const DeviceTable& groups) { return is_regular(groups); },
            [](const PartList& list) {
              return is_regular(list.part) && list.parts == list.part.size();
            });
      },
      [](const Allgather& op) { return is_regular(op.groups); },
      [](const Alltoall& op) { return is_regular(op.groups); },
      [](const Allpermute& op) {
        return match(
            op.source, [](const DeviceTable& table) { return is_regular(table); },
            [](const PairList&) { return false; });
      },
      [](const Exchange&) { return false; },
      [](const Reducescatter& op) { return is_regular(op.groups); },
      [](const Allreduce& op) { return is_regular(op.groups); },
      // These make zeros: not every element has a source.
      [](const Unreduce&) { return false; }, [](const Embed&) { return false; },
      [](const OverDims auto&) { return false; });
}

}  // namespace

std::optional<std::size_t> scattered(const Op& op) {
  using Dim = std::optional<std::size_t>;
  return match(
      op, [](const Dynslice&) -> Dim { return std::nullopt; },
      [](const Allgather&) -> Dim { return std::nullopt; },
      [](const Alltoall&) -> Dim { return std::nullopt; },
      [](const Allpermute&) -> Dim { return std::nullopt; },
      [](const Exchange&) -> Dim { return std::nullopt; },
      [](const Reducescatter& step) -> Dim { return step.dim; },
      [](const Allreduce&) -> Dim { return std::nullopt; },
      [](const Unreduce&) -> Dim { return std::nullopt; },
      [](const Embed&) -> Dim { return std::nullopt; },
      [](const OverDims auto&) -> Dim { return std::nullopt; });
}

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
  return !program.from.is_listed() && !program.to.is_listed() && traits_of(program).alike &&
         std::all_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return is_regular(step); });
}

template class Rules<Encoder>;

}  // namespace retile::symbolic
