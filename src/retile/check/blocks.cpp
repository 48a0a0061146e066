#include "retile/check/blocks.h"

#include <algorithm>
#include <numeric>

#include "retile/core/assert.h"
#include "retile/program/op_facts.h"

namespace retile {
namespace {

/// Makes a unit smaller until an extent is so many units.
void fit(Size& unit, Size extent) { unit = std::gcd(unit, extent); }

/// The same for all that these move.
void fit(Shape& unit, const std::vector<Transfer>& transfers) {
  for (const Transfer& transfer : transfers) {
    for (const Shape* numbers : {&transfer.target_start, &transfer.source_start, &transfer.shape}) {
      for (std::size_t k = 0; k < unit.size(); ++k) {
        if ((*numbers)[k] % unit[k] != 0) fit(unit[k], (*numbers)[k]);
      }
    }
  }
}

}  // namespace

Shape in_blocks(const Shape& elements, const Shape& unit) {
  Shape out = elements;
  for (std::size_t k = 0; k < out.size(); ++k) {
    RETILE_ASSERT(out[k] % unit[k] == 0, "nothing begins or ends inside a block");
    out[k] /= unit[k];
  }
  return out;
}

std::optional<Size> tags_in(Size arrays, const Shape& tile, const Shape& unit) {
  constexpr Size most = Size{1} << 62;
  const auto blocks = checked_product(in_blocks(tile, unit));
  const auto out = blocks ? checked_mul(arrays, *blocks) : std::nullopt;
  return out && *out < most ? out : std::nullopt;
}

std::optional<TagsNeeded> tags_needed(const Step& step, const StepShapes& shapes,
                                      const Blocks& before) {
  TagsNeeded out{.after = before};
  Shape& unit = out.after.unit;
  Size& arrays = out.after.arrays;
  const OpFacts facts = facts_of(step.op);
  if (facts.transfers != nullptr) {
    for (std::size_t k = 0; k < unit.size(); ++k) fit(unit[k], shapes.after[k]);
    fit(unit, *facts.transfers);
    arrays = shapes.devices;
  } else if (const Size n = group_size(facts); n > 1) {
    RETILE_ASSERT(facts.is_plain(), "the others are replayed as sums, or in boxes");
    for (const std::size_t dim : facts.cuts) fit(unit[dim], moved_extent(facts, shapes.tile, dim));
    if (facts.pieces != nullptr) {
      arrays = std::min(checked_mul(arrays, n).value_or(shapes.devices), shapes.devices);
    } else {
      arrays = facts.cuts.empty() ? facts.groups->row_count() : shapes.devices;
    }
  }
  const auto tags_before = tags_in(before.arrays, shapes.tile, unit);
  const auto tags_after = tags_in(arrays, shapes.after, unit);
  if (!tags_before || !tags_after) return std::nullopt;
  out.tags_before = *tags_before;
  out.tags_after = *tags_after;
  return out;
}

}  // namespace retile
