#include "retile/check/blocks.h"

#include <algorithm>
#include <numeric>

#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile {
namespace {

/// Makes a unit smaller until an extent is so many units.
void fit(Size& unit, Size extent) { unit = std::gcd(unit, extent); }

/// The same for all that an exchange moves.
void fit(Shape& unit, const Exchange& step) {
  for (const Transfer& transfer : step.transfers) {
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
  match(
      step.op,
      [&](const Dynslice& op) {
        fit(unit[op.dim], shapes.after[op.dim]);
        const auto parts = checked_mul(arrays, shapes.tile[op.dim] / shapes.after[op.dim]);
        arrays = std::min(parts.value_or(shapes.devices), shapes.devices);
      },
      [&](const Allgather& op) {
        if (op.groups.columns() > 1) arrays = op.groups.row_count();
      },
      [&](const Alltoall& op) {
        if (op.groups.columns() == 1) return;
        fit(unit[op.split], shapes.tile[op.split] / op.groups.columns());
        arrays = shapes.devices;
      },
      [](const Allpermute&) {},
      [&](const Exchange& op) {
        for (std::size_t k = 0; k < unit.size(); ++k) fit(unit[k], shapes.after[k]);
        fit(unit, op);
        arrays = shapes.devices;
      },
      [](const Adding auto&) { RETILE_ASSERT(false, "what adds is replayed as sums"); },
      [](const OverDims auto&) { RETILE_ASSERT(false, "what is not even is replayed in boxes"); });
  const auto tags_before = tags_in(before.arrays, shapes.tile, unit);
  const auto tags_after = tags_in(arrays, shapes.after, unit);
  if (!tags_before || !tags_after) return std::nullopt;
  out.tags_before = *tags_before;
  out.tags_after = *tags_after;
  return out;
}

}  // namespace retile
