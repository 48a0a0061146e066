#include "retile/prove/replay.h"

#include "retile/core/assert.h"
#include "retile/program/apply.h"

namespace retile {

namespace {

/// The element before a step that `after` is a copy of.
HeldElement copied_from(const Step& step, const Shape& before, HeldElement after) {
  const OpFacts facts = facts_of(step.op);
  RETILE_ASSERT(facts.is_plain(), "a regular Program has no exchange");
  if (facts.sources != nullptr) {
    after.device = source_of(*facts.sources, after.device);
    return after;
  }
  Size piece = 0;
  if (facts.pieces != nullptr) {
    piece = piece_of(*facts.pieces, after.device);
  } else {
    // One position and one member: a row may have 2^31 of them.
    const IotaChain& chain = *facts.groups->chain();
    const Size place = chain.inverse().at(after.device);
    piece = place % facts.groups->columns();
    const std::size_t joined = facts.joins.front();
    const Size stride = moved_extent(facts, before, joined);
    after.device = chain.at(place - piece + after.at[joined] / stride);
    after.at[joined] %= stride;
  }
  for (const std::size_t dim : facts.cuts) {
    after.at[dim] += piece * moved_extent(facts, before, dim);
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
