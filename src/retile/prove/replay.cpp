#include "retile/prove/replay.h"

#include "retile/program/apply.h"

namespace retile {

namespace {

/// The element before a step that `after` is a copy of.
HeldElement copied_from(const Step& step, const Shape& before, HeldElement after) {
  if (const auto* dynslice = std::get_if<Dynslice>(&step.op)) {
    const std::size_t i = dynslice->dim;
    after.at[i] += piece_of(*dynslice, after.device) * (before[i] / group_size(*dynslice));
    return after;
  }
  if (const auto* allgather = std::get_if<Allgather>(&step.op)) {
    Size& at = after.at[allgather->dim];
    const Size extent = before[allgather->dim];
    const Membership group = membership(allgather->groups, after.device);
    after.device = group.members[static_cast<std::size_t>(at / extent)];
    at %= extent;
    return after;
  }
  if (const auto* alltoall = std::get_if<Alltoall>(&step.op)) {
    const std::size_t i = alltoall->concat;
    const std::size_t j = alltoall->split;
    const Membership group = membership(alltoall->groups, after.device);
    const Size width = before[j] / static_cast<Size>(group.members.size());
    const Size extent = i == j ? width : before[i];
    after.device = group.members[static_cast<std::size_t>(after.at[i] / extent)];
    after.at[i] %= extent;
    after.at[j] += static_cast<Size>(group.position) * width;
    return after;
  }
  const auto& allpermute = std::get<Allpermute>(step.op);
  if (const auto* table = std::get_if<DeviceTable>(&allpermute.source)) {
    after.device = table->at(after.device);
    return after;
  }
  for (const auto& [source, target] : std::get<PairList>(allpermute.source)) {
    if (target == after.device) {
      after.device = source;
      return after;
    }
  }
  return after;
}

}  // namespace

Shape global_index(const Program& program, const std::vector<Shape>& tiles, std::size_t steps,
                   HeldElement element) {
  for (std::size_t k = steps; k-- > 0;) {
    element = copied_from(program.steps[k], tiles[k], std::move(element));
  }
  Shape out = program.from.base_offset(element.device);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += element.at[i];
  return out;
}

}  // namespace retile
