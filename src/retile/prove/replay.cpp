#include "retile/prove/replay.h"

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/program/apply.h"

namespace retile {

namespace {

/// The element before a step that `after` is a copy of.
HeldElement copied_from(const Step& step, const Shape& before, HeldElement after) {
  match(
      meaning(step.op, before),
      [&](const Keep& keep) {
        after.at[keep.dim] += piece_of(*keep.op, after.device) * keep.width;
      },
      [&](const Regroup& regroup) {
        // One position and one member: a row may have 2^31 of them.
        const IotaChain& chain = *regroup.groups->chain();
        const Size place = chain.inverse().at(after.device);
        const Size position = place % regroup.groups->columns();
        Size& at = after.at[regroup.concat];
        after.device = chain.at(place - position + at / regroup.stride);
        at %= regroup.stride;
        if (regroup.splits) after.at[regroup.split] += position * regroup.width;
      },
      [&](const Fetch& fetch) { after.device = source_of(*fetch.op, after.device); },
      [](const Assemble&) { RETILE_ASSERT(false, "a regular Program has no exchange"); });
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
