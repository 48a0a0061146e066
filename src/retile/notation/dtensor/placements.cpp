#include "retile/notation/dtensor/placements.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "retile/core/division.h"
#include "retile/core/names.h"

namespace retile::notation {
namespace {

/// Cuts of one dimension that are listed at most.
constexpr Size most_cuts = Size{1} << 20;

/// An axis that cuts a dimension.
struct Cut {
  const Axis* axis = nullptr;
  const Placement* placement = nullptr;
};

// ---- Tiles in strides that are all alike ---------------------------------------------------------

/// A factor of a dimension, major to minor: of the axis that took it, or free.
struct Factor {
  std::optional<AxisPart> part = {};
  Size size = 1;
  bool passed = false;  ///< free, but in front of what an axis takes

  [[nodiscard]] bool is_free() const { return !part && !passed; }
};

/// Passes over free factors in front; one is cut in two where only a part of it is passed over.
/// \return whether they divide
bool skip_free(std::vector<Factor>& factors, Size skip) {
  for (std::size_t k = 0; skip > 1; ++k) {
    if (k == factors.size()) return false;
    if (!factors[k].is_free()) continue;
    factors[k].passed = true;
    if (skip % factors[k].size == 0) {
      skip /= factors[k].size;
      continue;
    }
    if (factors[k].size % skip != 0) return false;
    const Size rest = factors[k].size / skip;
    factors[k].size = skip;
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(k) + 1, Factor{.size = rest});
    return true;
  }
  return true;
}

/// Gives the axis the first free factor of its size; of several smaller ones it gets parts.
/// \return whether they divide
bool take_free(std::vector<Factor>& factors, const Axis& axis) {
  Size left = axis.size;
  for (std::size_t k = 0; left > 1; ++k) {
    if (k == factors.size()) return false;
    if (!factors[k].is_free() || factors[k].size == 1) continue;
    const Size take = std::min(left, factors[k].size);
    if (left % take != 0 || factors[k].size % take != 0) return false;
    const Size rest = factors[k].size / take;
    const bool whole = take == axis.size;
    factors[k].part = AxisPart{axis.name, whole ? 0 : axis.size / left, whole ? 0 : take};
    factors[k].size = take;
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(k) + 1, Factor{.size = rest});
    left /= take;
  }
  return true;
}

/// Parts minor to major of a dimension that is cut in strides; nothing where elements do not divide, or
/// devices hold several pieces.
std::optional<std::vector<AxisPart>> even_parts(const std::vector<Cut>& cuts, Size global) {
  std::vector<Factor> factors = {Factor{.size = global}};
  for (const Cut& cut : cuts) {
    if (!skip_free(factors, cut.placement->split_factor) || !take_free(factors, *cut.axis)) {
      return std::nullopt;
    }
    for (Factor& factor : factors) factor.passed = false;
  }
  std::vector<AxisPart> out;
  bool free = false;
  for (const Factor& factor : factors) {
    free = free || (!factor.part && factor.size > 1);
    if (factor.part && free) return std::nullopt;
    if (factor.part) out.push_back(*factor.part);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// ---- Tiles in strides that are not ---------------------------------------------------------------

/// Elements of a dimension, [begin, end).
struct Run {
  Size begin = 0;
  Size end = 0;
};
/// What one device holds, ascending; runs do not touch.
using Runs = std::vector<Run>;

/// Follows runs from their beginning.
class RunCursor {
 public:
  explicit RunCursor(const Runs& runs) : runs_(runs) {}
  /// Moves the next elements to the end of `out`. \return how many runs were looked at
  Size take(Size elements, Runs& out) {
    Size looked_at = 0;
    for (; elements > 0; ++looked_at) {
      const Run& run = runs_[run_];
      const Size begin = run.begin + within_;
      const Size taken = std::min(elements, run.end - begin);
      if (!out.empty() && out.back().end == begin) {
        out.back().end += taken;
      } else {
        out.push_back({begin, begin + taken});
      }
      elements -= taken;
      within_ += taken;
      if (begin + taken < run.end) continue;
      ++run_;
      within_ = 0;
    }
    return looked_at;
  }

 private:
  const Runs& runs_;
  std::size_t run_ = 0;
  Size within_ = 0;
};

/// What the devices hold by their coordinates, the first axis slowest, as torch computes it: every axis
/// cuts what one device has into as many chunks as its split factor says, each of these into as many as
/// the axis has devices, and gives a device one of each.
std::vector<Runs> strided_runs(const std::vector<Cut>& cuts, Size global) {
  Size looked_at = 0;
  const auto look_at = [&looked_at](Size more, const Cut& cut) {
    constexpr Size most_runs = Size{1} << 22;
    looked_at += more;
    if (looked_at <= most_runs) return;
    text::fail(cut.placement->place, {.code = Code::limit_reached,
                                      .message = "too many pieces of uneven strides to follow"});
  };
  std::vector<Runs> held = {{{0, global}}};
  for (const Cut& cut : cuts) {
    const Size pieces = cut.axis->size;
    look_at(pieces * static_cast<Size>(held.size()), cut);
    std::vector<Runs> next;
    for (const Runs& runs : held) {
      Size elements = 0;
      for (const Run& run : runs) elements += run.end - run.begin;
      const Size chunk = elements == 0 ? 0 : ceil_div(elements, cut.placement->split_factor);
      const Size chunks = elements == 0 ? 0 : ceil_div(elements, chunk);
      const std::size_t first = next.size();
      next.resize(first + static_cast<std::size_t>(pieces));
      RunCursor cursor(runs);
      for (Size k = 0; k < chunks; ++k) {
        const Size extent = std::min(chunk, elements - k * chunk);
        const Size piece = ceil_div(extent, pieces);
        Size left = extent;
        for (std::size_t p = first; left > 0; ++p) {
          const Size taken = std::min(piece, left);
          look_at(cursor.take(taken, next[p]), cut);
          left -= taken;
        }
      }
    }
    held = std::move(next);
  }
  return held;
}

/// The coordinates of device number `device` along the axes that cut, as strided_runs() counts them.
std::vector<Size> coordinates(const std::vector<Cut>& cuts, Size device) {
  std::vector<Size> out(cuts.size());
  for (std::size_t k = cuts.size(); k-- > 0;) {
    out[k] = device % cuts[k].axis->size;
    device /= cuts[k].axis->size;
  }
  return out;
}

/// Where tiles end that parts of axes number, minor to major; nothing where they do not follow each
/// other.
std::optional<std::vector<Size>> cuts_in_order(const std::vector<Cut>& cuts,
                                               const std::vector<AxisPart>& parts,
                                               const std::vector<Runs>& held, Size global) {
  std::vector<const Runs*> tiles(held.size(), nullptr);
  for (std::size_t d = 0; d < held.size(); ++d) {
    const std::vector<Size> at = coordinates(cuts, static_cast<Size>(d));
    Size tile = 0;
    Size weight = 1;
    for (const AxisPart& part : parts) {
      std::size_t k = 0;
      while (cuts[k].axis->name != part.axis) ++k;
      const Size axis = cuts[k].axis->size;
      const Size size = part.major == 0 ? axis : part.size;
      const Size below = part.major == 0 ? 1 : axis / (part.major * part.size);
      tile += at[k] / below % size * weight;
      weight *= size;
    }
    tiles[static_cast<std::size_t>(tile)] = &held[d];
  }
  std::vector<Size> out = {0};
  for (const Runs* runs : tiles) {
    if (runs == nullptr) return std::nullopt;
    if (!runs->empty() && runs->front().begin != out.back()) return std::nullopt;
    out.push_back(runs->empty() ? out.back() : runs->front().end);
  }
  if (out.back() != global) return std::nullopt;
  return out;
}

/// Orders of the axes in which tiles may be numbered, minor to major: that of tiles which are all alike,
/// and all others of few axes.
std::vector<std::vector<AxisPart>> orders_of(const std::vector<Cut>& cuts) {
  std::vector<std::vector<AxisPart>> out;
  Size tiles = 1;
  for (const Cut& cut : cuts) tiles *= cut.axis->size;
  if (auto parts = even_parts(cuts, tiles)) out.push_back(*std::move(parts));
  constexpr std::size_t most_axes = 5;
  std::vector<std::size_t> order(cuts.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (cuts.size() <= most_axes) std::sort(order.begin(), order.end());
  do {
    auto& parts = out.emplace_back();
    for (const std::size_t k : order) parts.push_back({cuts[k].axis->name});
  } while (cuts.size() <= most_axes && std::next_permutation(order.begin(), order.end()));
  return out;
}

/// Says a dimension by its chunks and the device of each: whatever the devices hold.
void cut_in_chunks(const std::vector<Cut>& cuts, const std::vector<Runs>& held, CutDim& out) {
  struct Piece {
    Run run;
    std::size_t device = 0;
  };
  std::vector<Piece> pieces;
  for (std::size_t d = 0; d < held.size(); ++d) {
    for (const Run& run : held[d]) pieces.push_back({run, d});
  }
  if (static_cast<Size>(pieces.size()) > most_cuts) {
    text::fail(cuts.front().placement->place,
               {.code = Code::limit_reached, .message = "too many pieces of strides to list"});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.run.begin < b.run.begin; });
  out.cutting = paper::Cutting::chunks;
  out.tile = 1;
  std::vector<Size>& ends = out.chunks.ends.emplace_back();
  ends.push_back(0);
  for (const Piece& piece : pieces) {
    ends.push_back(piece.run.end);
    out.chunks.tiles.push_back(static_cast<Size>(piece.device));
  }
  // strided_runs() counts the last axis fastest.
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) out.parts.push_back({cut->axis->name});
}

/// Says a dimension that one axis alone cuts, chunk by chunk, as torch.chunk makes these: they are sections. False
/// where several axes cut it, or chunks are too many to list.
bool cut_in_sections(const std::vector<Cut>& cuts, CutDim& out) {
  const auto cuts_something = [](const Cut& cut) { return cut.axis->size > 1; };
  const auto only = std::find_if(cuts.begin(), cuts.end(), cuts_something);
  if (std::count_if(cuts.begin(), cuts.end(), cuts_something) != 1) return false;
  const Size chunk = ceil_div(out.global, only->placement->split_factor);
  if (out.global / chunk >= most_cuts) return false;
  out.parts = {{only->axis->name}};
  out.tile = 0;
  for (Size left = out.global; left > 0; left -= out.sections.back()) {
    out.sections.push_back(std::min(chunk, left));
    out.tile += ceil_div(out.sections.back(), only->axis->size);
  }
  return true;
}

/// The parts and the cuts of a dimension that is cut in strides which do not divide, or leave devices several pieces.
void cut_in_strides(const std::vector<Cut>& cuts, CutDim& out) {
  const std::vector<Runs> held = strided_runs(cuts, out.global);
  const bool several =
      std::any_of(held.begin(), held.end(), [](const Runs& runs) { return runs.size() > 1; });
  if (several && cut_in_sections(cuts, out)) return;
  for (std::vector<AxisPart>& parts : orders_of(cuts)) {
    auto at = cuts_in_order(cuts, parts, held, out.global);
    if (!at) continue;
    out.parts = std::move(parts);
    out.cutting = paper::Cutting::listed;
    out.cuts = *std::move(at);
    return;
  }
  cut_in_chunks(cuts, held, out);
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
  out.tile = ceil_div(global, tiles);
  if (strided) {
    if (auto parts = even_parts(cuts, global)) {
      out.parts = *std::move(parts);
    } else {
      cut_in_strides(cuts, out);
    }
    return out;
  }
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) out.parts.push_back({cut->axis->name});
  if (few || cuts.size() < 2) return out;
  std::vector<Size> at = nested_cuts(cuts, global);
  if (!Cuts::listed(at).is_blocks()) {
    out.cutting = paper::Cutting::listed;
    out.cuts = std::move(at);
  }
  return out;
}

/// Puts the axes that cut one dimension in the order in which they do, where the text says it.
void put_in_order(std::vector<Cut>& cuts) {
  const auto says = [](const Cut& cut) { return cut.placement->turn.has_value(); };
  if (std::none_of(cuts.begin(), cuts.end(), says)) return;
  std::vector<Cut> out(cuts.size());
  std::vector<bool> taken(cuts.size(), false);
  for (const Cut& cut : cuts) {
    const std::size_t turn =
        says(cut) ? static_cast<std::size_t>(*cut.placement->turn) : cuts.size();
    if (turn >= cuts.size() || taken[turn]) {
      text::fail(cut.placement->place,
                 {.code = Code::syntax,
                  .message = fmt::format("axes that cut one dimension take turns, here [0] to [{}]",
                                         cuts.size() - 1)});
    }
    taken[turn] = true;
    out[turn] = cut;
  }
  cuts = std::move(out);
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
      if (placement.is_average) out.divisor *= axis.size;  // of one mesh: no more than its devices
    }
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    put_in_order(cuts[i]);
    out.dims.push_back(cut_dim(cuts[i], shape[i]));
  }
  return out;
}

}  // namespace retile::notation
