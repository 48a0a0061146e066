#include "retile/notation/dtensor/placements.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/core/division.h"
#include "retile/core/names.h"

namespace retile::notation {
namespace {

/// Cuts of one dimension that are listed at most.
constexpr Size most_cuts = Size{1} << 20;

/// An axis that cuts a dimension.
struct Cut {
  const Axis* axis;
  const Placement* placement;
};

/// A factor of a dimension, major to minor: of the axis that took it, or free.
struct Factor {
  std::optional<AxisPart> part = {};
  Size size = 1;
  bool passed = false;  ///< free, but in front of what an axis takes

  [[nodiscard]] bool is_free() const { return !part && !passed; }
};

[[noreturn]] void fail_uneven(const Cut& cut, Size global) {
  text::fail(cut.placement->place,
             {.code = Code::unsupported,
              .message = fmt::format("_StridedShard of {} elements that do not divide", global),
              .notes = {"in strides only even tiles are boxes"}});
}

/// Passes over free factors in front; one is cut in two where only a part of it is passed over.
void skip_free(std::vector<Factor>& factors, Size skip, const Cut& cut, Size global) {
  for (std::size_t k = 0; skip > 1; ++k) {
    if (k == factors.size()) fail_uneven(cut, global);
    if (!factors[k].is_free()) continue;
    factors[k].passed = true;
    if (skip % factors[k].size == 0) {
      skip /= factors[k].size;
      continue;
    }
    if (factors[k].size % skip != 0) fail_uneven(cut, global);
    const Size rest = factors[k].size / skip;
    factors[k].size = skip;
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(k) + 1, Factor{.size = rest});
    return;
  }
}

/// Gives the axis the first free factor of its size; of several smaller ones it gets parts.
void take_free(std::vector<Factor>& factors, const Cut& cut, Size global) {
  const Size size = cut.axis->size;
  Size left = size;
  for (std::size_t k = 0; left > 1; ++k) {
    if (k == factors.size()) fail_uneven(cut, global);
    if (!factors[k].is_free() || factors[k].size == 1) continue;
    const Size take = std::min(left, factors[k].size);
    if (left % take != 0 || factors[k].size % take != 0) fail_uneven(cut, global);
    const Size rest = factors[k].size / take;
    const bool whole = take == size;
    factors[k].part = AxisPart{cut.axis->name, whole ? 0 : size / left, whole ? 0 : take};
    factors[k].size = take;
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(k) + 1, Factor{.size = rest});
    left /= take;
  }
}

/// Parts minor to major of a dimension that is cut in strides.
std::vector<AxisPart> strided_parts(const std::vector<Cut>& cuts, Size global) {
  std::vector<Factor> factors = {Factor{.size = global}};
  for (const Cut& cut : cuts) {
    skip_free(factors, cut.placement->split_factor, cut, global);
    take_free(factors, cut, global);
    for (Factor& factor : factors) factor.passed = false;
  }
  std::vector<AxisPart> out;
  bool free = false;
  for (const Factor& factor : factors) {
    if (!factor.part) {
      free = free || factor.size > 1;
      continue;
    }
    if (free) {
      text::fail(cuts.back().placement->place,
                 {.code = Code::unsupported,
                  .message = "the devices hold several pieces of this dimension each",
                  .notes = {"a split factor is the number of tiles that later axes make"}});
    }
    out.push_back(*factor.part);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// The ends of tiles that are cut one axis after the other.
std::vector<Size> nested_cuts(const std::vector<Cut>& cuts, Size global) {
  std::vector<Size> at = {0, global};
  for (const Cut& cut : cuts) {
    const Size pieces = cut.axis->size;
    if (static_cast<Size>(at.size()) > most_cuts / pieces) {
      text::fail(cut.placement->place,
                 {.code = Code::limit_reached, .message = "too many uneven tiles to list"});
    }
    std::vector<Size> next;
    for (std::size_t t = 0; t + 1 < at.size(); ++t) {
      const Size extent = at[t + 1] - at[t];
      const Size block = ceil_div(extent, pieces);
      for (Size piece = 0; piece < pieces; ++piece) {
        const bool behind = block > 0 && piece > extent / block;
        next.push_back(at[t] + (behind ? extent : std::min(piece * block, extent)));
      }
    }
    next.push_back(global);
    at = std::move(next);
  }
  return at;
}

CutDim cut_dim(const std::vector<Cut>& cuts, Size global) {
  CutDim out{.tile = global, .cuts = {}, .parts = {}, .global = global};
  const bool strided = std::any_of(cuts.begin(), cuts.end(),
                                   [](const Cut& cut) { return cut.placement->split_factor > 1; });
  Size tiles = 1;
  bool few = true;
  for (const Cut& cut : cuts) {
    tiles *= cut.axis->size;  // of one mesh: no more than its devices
    few = few && global % tiles == 0;
  }
  if (strided) {
    out.parts = strided_parts(cuts, global);
  } else {
    for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut)
      out.parts.push_back({cut->axis->name});
  }
  out.tile = global / tiles + (global % tiles == 0 ? 0 : 1);
  if (few || strided || cuts.size() < 2) return out;
  std::vector<Size> at = nested_cuts(cuts, global);
  if (!Cuts::listed(at).is_listed()) return out;  // blocks, after all
  out.cutting = paper::Cutting::listed;
  out.cuts = std::move(at);
  return out;
}

std::size_t dim_of(const Placement& placement, std::size_t rank) {
  const auto signed_rank = static_cast<Size>(rank);
  if (placement.dim >= signed_rank) {
    text::fail(placement.place,
               {.code = Code::bad_dimension,
                .message = fmt::format("the array has {}", counted(rank, "dimension"))});
  }
  return static_cast<std::size_t>(placement.from_end ? signed_rank - 1 - placement.dim
                                                     : placement.dim);
}

}  // namespace

Placed place_by_axis(const std::vector<Placement>& placements, const Mesh& mesh, const Shape& shape,
                     const Place& all) {
  if (placements.size() != mesh.axes().size()) {
    text::fail(
        all, {.code = Code::rank_mismatch,
              .message = fmt::format("{} for a mesh of {}", counted(placements.size(), "placement"),
                                     counted(mesh.axes().size(), "axis", "axes")),
              .notes = {"every axis of the mesh has a placement"}});
  }
  Placed out;
  std::vector<std::vector<Cut>> cuts(shape.size());
  for (std::size_t k = 0; k < placements.size(); ++k) {
    const Placement& placement = placements[k];
    const Axis& axis = mesh.axes()[k];
    if (placement.kind == Placement::Kind::shard) {
      cuts[dim_of(placement, shape.size())].push_back({&axis, &placement});
    } else if (placement.kind == Placement::Kind::partial) {
      if (!out.addends.empty() && out.addition != placement.addition) {
        text::fail(placement.place,
                   {.code = Code::unsupported, .message = "addends of several kinds in one array"});
      }
      out.addition = placement.addition;
      out.addends.insert(out.addends.begin(), {axis.name});
    }
  }
  for (std::size_t i = 0; i < shape.size(); ++i) out.dims.push_back(cut_dim(cuts[i], shape[i]));
  return out;
}

}  // namespace retile::notation
