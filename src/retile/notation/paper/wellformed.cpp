#include "retile/notation/paper/wellformed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/core/names.h"
#include "retile/notation/paper/type_text.h"
#include "retile/text/words.h"

namespace retile {
namespace {

/// So many splitters of a dimension are listed; of a text that is megabytes long there may be more.
constexpr std::size_t most_listed = 16;

/// The product of the sizes, or nothing when it does not fit in 63 bits.
std::optional<Size> product_of(const std::vector<Splitter>& splitters) {
  std::optional<Size> product = 1;
  for (const Splitter& splitter : splitters) {
    if (product) product = checked_mul(*product, splitter.size);
  }
  return product;
}

/// `32 * 4 * 6`
std::string product_text(Size tile, const std::vector<Splitter>& splitters) {
  std::string out = fmt::to_string(tile);
  if (splitters.size() > most_listed) {
    const auto product = product_of(splitters);
    return fmt::format("{} * {}", out, product ? fmt::to_string(*product) : "..");
  }
  for (const Splitter& splitter : splitters) out += fmt::format(" * {}", splitter.size);
  return out;
}

/// `axis x has size 4; `, `axes x and y have sizes 4 and 6; `; nothing where digits say their sizes.
std::string sizes_text(const std::vector<Splitter>& splitters, std::string_view end) {
  std::vector<std::string> names;
  std::vector<std::string> sizes;
  for (const Splitter& splitter : splitters) {
    if (!splitter.is_axis) return "";
    names.push_back(shortened(splitter.text));
    sizes.push_back(fmt::to_string(splitter.size));
  }
  const std::string facts =
      splitters.size() == 1
          ? fmt::format("axis {} has size {}", names.front(), sizes.front())
          : fmt::format("axes {} have sizes {}", text::enumerate(names), text::enumerate(sizes));
  return facts + std::string(end);
}

/// `64{x}256 is well formed`
std::string repair(Size tile, const std::vector<Splitter>& splitters, const std::string& global,
                   std::string_view mark = "") {
  if (splitters.size() > most_listed) {
    return fmt::format("a tile of {} and a global size of {} would do", tile, global);
  }
  std::vector<std::string> parts;
  for (const Splitter& splitter : splitters) parts.push_back(splitter.text);
  return fmt::format("{} is well formed", dim_text(fmt::format("{}{}", tile, mark), parts, global));
}

std::string repair(Size tile, const std::vector<Splitter>& splitters, Size global,
                   std::string_view mark = "") {
  return repair(tile, splitters, fmt::to_string(global), mark);
}

std::vector<std::string> axis_names(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const Axis& axis : mesh.axes()) names.push_back(axis.name);
  return names;
}

std::vector<std::string> shown(std::vector<std::string> names) {
  for (std::string& name : names) name = shown_name(name);
  return names;
}

/// The axes that stand nowhere in `dims`; those of size 1 split nothing and are no repair.
std::vector<std::string> unused_axes(const Mesh& mesh, const std::vector<CutDim>& dims) {
  std::unordered_set<std::string> used;
  for (const CutDim& dim : dims) {
    for (const AxisPart& part : dim.parts) used.insert(part.axis);
  }
  std::vector<std::string> out;
  for (const Axis& axis : mesh.axes()) {
    if (axis.size > 1 && !used.contains(axis.name)) out.push_back(axis.name);
  }
  return out;
}

std::string still_free(const Mesh& mesh, const std::vector<CutDim>& dims) {
  const std::vector<std::string> unused = unused_axes(mesh, dims);
  return unused.empty()
             ? "an axis stands at most once in a type, and no other axis is free; remove one"
             : fmt::format("an axis stands at most once in a type; still free: {}",
                           text::enumerate(shown(unused)));
}

}  // namespace

Diagnostic unknown_axis(const Mesh& mesh, const std::string& axis) {
  const std::vector<std::string> names = axis_names(mesh);
  Diagnostic out{.code = Code::unknown_axis,
                 .message = fmt::format("the mesh has no axis {}", shown_name(axis)),
                 .rule = "WF-DIM"};
  if (names.empty()) {
    out.notes.emplace_back("the mesh has no axes at all");
    return out;
  }
  std::string note = fmt::format("the mesh has {} {}", names.size() == 1 ? "the axis" : "the axes",
                                 text::enumerate(shown(names)));
  if (const auto meant = text::nearest(axis, names)) {
    note += fmt::format("; did you mean {}?", shown_name(*meant));
  }
  out.notes.push_back(std::move(note));
  return out;
}

Diagnostic wrong_tile(Size tile, const std::vector<Splitter>& splitters, Size global) {
  Diagnostic out{.code = Code::ill_formed_type, .message = {}, .rule = "WF-DIM"};
  if (splitters.empty()) {
    out.message = fmt::format("without axes the tile size must equal the global size: {} is not {}",
                              tile, global);
    out.notes.push_back(fmt::format("{} is well formed", global));
    return out;
  }
  const auto parts = product_of(splitters);
  const auto cover = parts ? checked_mul(tile, *parts) : std::nullopt;
  const bool axes = std::all_of(splitters.begin(), splitters.end(),
                                [](const Splitter& splitter) { return splitter.is_axis; });
  out.message = fmt::format("tile size times {} sizes must equal the global size: {} {}, not {}",
                            axes ? "axis" : "digit", product_text(tile, splitters),
                            cover ? fmt::format("= {}", *cover) : "is 2^63 or more", global);
  if (parts && global % *parts == 0) {
    out.notes.push_back(sizes_text(splitters, "; ") + repair(global / *parts, splitters, global));
  } else if (parts) {
    out.notes.push_back(
        fmt::format("{}{} does not divide {}", sizes_text(splitters, ", and "), *parts, global));
    if (cover) out.notes.back() += "; " + repair(tile, splitters, *cover);
  }
  return out;
}

namespace {

/// The refusal of a tile size that is not the one of so many tiles, with both repairs: `64{x}256 is
/// well formed, or 100~{x}256 for blocks of 100`; of balanced tiles `3={x}10 is well formed`.
Diagnostic wrong_tile_size(const CutText& dim, Size tiles) {
  Diagnostic out = wrong_tile(dim.tile, dim.splitters, dim.global);
  if (dim.splitters.empty()) return out;
  const bool balanced = dim.cutting == paper::Cutting::balanced;
  if (dim.global % tiles != 0) {
    const Size tile = dim.global / tiles + 1;
    out.rule = "WF-DIM-CEIL";
    out.message = fmt::format("{}{} tiles of a dimension of {} elements have {}, not {}",
                              balanced ? "the largest of " : "", tiles, dim.global, tile, dim.tile);
    out.notes = {sizes_text(dim.splitters, "; ") +
                 repair(tile, dim.splitters, dim.global, balanced ? "=" : "")};
  }
  if (balanced) return out;
  const auto cover = checked_mul(dim.tile, tiles);
  if (dim.tile > dim.global || (cover && *cover < dim.global)) return out;
  if (dim.splitters.size() > most_listed) return out;
  std::vector<std::string> parts;
  for (const Splitter& splitter : dim.splitters) parts.push_back(splitter.text);
  out.notes.back() += fmt::format(
      ", or {} for blocks of {}",
      dim_text(fmt::format("{}~", dim.tile), parts, fmt::to_string(dim.global)), dim.tile);
  return out;
}

tl::expected<Cuts, CutsViolation> listed_cuts(const CutText& dim, Size tiles) {
  const auto refused = [](std::string message, std::optional<std::size_t> cut) {
    return tl::unexpected(CutsViolation{
        {.code = Code::ill_formed_type,
         .message = std::move(message),
         .rule = "WF-DIM-CEIL",
         .notes = {"cuts (o_0,..,o_N) begin with 0, never fall, and end with the global size"}},
        cut});
  };
  const std::size_t count = dim.cuts.size();
  if (static_cast<Size>(count) - 1 != tiles) {
    return refused(fmt::format("{} tiles have {} cuts, not {}", tiles, tiles + 1, count),
                   std::nullopt);
  }
  if (dim.cuts.front() != 0 || dim.cuts.back() != dim.global) {
    return refused(fmt::format("the cuts lead from {} to {}, the dimension from 0 to {}",
                               dim.cuts.front(), dim.cuts.back(), dim.global),
                   dim.cuts.front() != 0 ? 0 : count - 1);
  }
  for (std::size_t t = 1; t < count; ++t) {
    if (dim.cuts[t] >= dim.cuts[t - 1]) continue;
    return refused(fmt::format("the cuts fall from {} to {}", dim.cuts[t - 1], dim.cuts[t]), t);
  }
  return Cuts::listed(dim.cuts);
}

/// \param block_of  how long the blocks of a section of so many elements are
template <typename BlockOf>
std::vector<Section> sections_of(const CutText& dim, const BlockOf& block_of) {
  if (dim.sections.empty()) return {{dim.global, block_of(dim.global)}};
  std::vector<Section> out;
  Size end = 0;
  for (const Size extent : dim.sections) {
    end += extent;
    out.push_back({end, block_of(extent)});
  }
  return out;
}

/// Sections that are cut each by itself, into as many tiles.
tl::expected<Cuts, CutsViolation> cuts_of_sections(const CutText& dim, Size tiles) {
  if (dim.cutting != paper::Cutting::tile) {
    return tl::unexpected(CutsViolation{
        {.code = Code::unsupported,
         .message = "sections are dealt out in blocks, or cut as equally as a tile size says",
         .notes = {
             "2@{x}8+4 deals blocks of 2 out in each section, and 3{x}8+4 cuts each over x:4"}}});
  }
  Cuts out = Cuts::dealt(tiles, sections_of(dim, [&](Size n) { return ceil_div(n, tiles); }));
  if (out.largest() == dim.tile) return out;
  if (dim.splitters.empty()) {
    return tl::unexpected(CutsViolation{wrong_tile(dim.tile, dim.splitters, dim.global)});
  }
  return tl::unexpected(CutsViolation{
      {.code = Code::ill_formed_type,
       .message = fmt::format("the largest of {} tiles of {} sections has {} elements, not {}",
                              tiles, dim.sections.size(), out.largest(), dim.tile),
       .rule = "WF-DIM-CEIL",
       .notes = {sizes_text(dim.splitters, "; ") +
                 (dim.sections.size() > most_listed
                      ? fmt::format("a tile of {} would do", out.largest())
                      : repair(out.largest(), dim.splitters,
                               fmt::format("{}", fmt::join(dim.sections, "+"))))}}});
}

/// Chunks, whose ends multiply up to the dimension and whose tiles exist.
tl::expected<Cuts, CutsViolation> cuts_of_chunks(const CutText& dim, Size tiles) {
  const auto refused = [](Code code, std::string message) {
    Diagnostic out{.code = code,
                   .message = std::move(message),
                   .notes = {"(0,3,6,10)*(0,5,10)@{x}100 deals 3 x 2 chunks of an array of 10 x 10 "
                             "out in turn, and a list "
                             "behind @ says the tile of every chunk"}};
    if (code == Code::ill_formed_type) out.rule = "WF-CHUNKS";
    return tl::unexpected(CutsViolation{std::move(out)});
  };
  Chunks chunks = dim.chunks;
  if (!dim.sections.empty()) {
    return refused(Code::unsupported, "chunks are not cut in sections: their lists say as much");
  }
  std::optional<Size> global = 1;
  std::optional<Size> count = 1;
  for (const std::vector<Size>& ends : chunks.ends) {
    if (ends.front() != 0 || ends.back() == 0 || !std::is_sorted(ends.begin(), ends.end())) {
      return refused(Code::ill_formed_type,
                     "the ends of chunks begin with 0, never fall, and end above 0");
    }
    if (global) global = checked_mul(*global, ends.back());
    if (count) count = checked_mul(*count, static_cast<Size>(ends.size()) - 1);
  }
  if (global != dim.global) {
    return refused(Code::ill_formed_type,
                   fmt::format("the chunks are of an array of {} elements, not {}",
                               global ? fmt::to_string(*global) : "2^63 or more", dim.global));
  }
  if (!count || *count > max_listed_numbers || tiles > max_listed_numbers) {
    return refused(
        Code::limit_reached,
        fmt::format("at most {} chunks are dealt out, to as many tiles", max_listed_numbers));
  }
  for (Size k = 0;
       chunks.tiles.size() < static_cast<std::size_t>(*count) && dim.chunks.tiles.empty(); ++k) {
    chunks.tiles.push_back(k % tiles);
  }
  if (static_cast<Size>(chunks.tiles.size()) != *count) {
    return refused(Code::ill_formed_type, fmt::format("there are {} chunks, and a list of {} tiles",
                                                      *count, chunks.tiles.size()));
  }
  const Size last = *std::max_element(chunks.tiles.begin(), chunks.tiles.end());
  if (last >= tiles) {
    return refused(Code::ill_formed_type,
                   fmt::format("there is no tile {}: its axes count {}", last, tiles));
  }
  const auto rows = checked_mul(*global / chunks.ends.back().back(),
                                static_cast<Size>(chunks.ends.back().size()) - 1);
  if (!rows || *rows > max_listed_numbers) {
    return refused(Code::limit_reached,
                   fmt::format("the chunks have more than {} rows", max_listed_numbers));
  }
  return Cuts::chunked(tiles, std::move(chunks));
}

}  // namespace

tl::expected<Cuts, CutsViolation> cuts_of(const CutText& dim) {
  const auto refused = [](Diagnostic diagnostic) {
    return tl::unexpected(CutsViolation{std::move(diagnostic)});
  };
  const auto tiles = product_of(dim.splitters);
  // Digits nest in the device number, so more tiles than devices are refused with them.
  if (!tiles || *tiles > max_devices) {
    return refused(wrong_tile(dim.tile, dim.splitters, dim.global));
  }
  switch (dim.cutting) {
    case paper::Cutting::chunks:
      return cuts_of_chunks(dim, *tiles);
    case paper::Cutting::dealt: {
      Cuts out = Cuts::dealt(*tiles, sections_of(dim, [&](Size) { return dim.tile; }));
      if (out.stretches() <= max_listed_numbers) return out;
      return refused(
          {.code = Code::limit_reached,
           .message = fmt::format("at most {} blocks are dealt out", max_listed_numbers)});
    }
    case paper::Cutting::listed:
      return dim.sections.empty() ? listed_cuts(dim, *tiles) : cuts_of_sections(dim, *tiles);
    case paper::Cutting::tile:
    case paper::Cutting::blocks:
    case paper::Cutting::balanced:
      break;  // these say an extent, below
  }
  if (!dim.sections.empty()) return cuts_of_sections(dim, *tiles);
  const auto cover = checked_mul(dim.tile, *tiles);
  const bool covers = !cover || *cover >= dim.global;
  if (dim.cutting == paper::Cutting::blocks) {
    if (covers) return Cuts::blocks(dim.tile, *tiles, dim.global);
    const Size least = ceil_div(dim.global, *tiles);
    return refused({.code = Code::ill_formed_type,
                    .message = fmt::format("{} blocks of {} hold {} elements, the dimension has {}",
                                           *tiles, dim.tile, *cover, dim.global),
                    .rule = "WF-DIM-CEIL",
                    .notes = {fmt::format("blocks of {} would do", least)}});
  }
  // (c - 1) N < n <= c N
  const auto less = checked_mul(dim.tile - 1, *tiles);
  if (!covers || !less || *less >= dim.global) return refused(wrong_tile_size(dim, *tiles));
  if (dim.cutting == paper::Cutting::balanced) return Cuts::balanced(*tiles, dim.global);
  return Cuts::blocks(dim.tile, *tiles, dim.global);
}

std::optional<Diagnostic> wrong_halo(const Halo& halo, bool is_dealt, Size global) {
  if (is_dealt && halo != Halo{}) return paper::halo_of_dealt();
  if (halo.below <= global && halo.above <= global) return std::nullopt;
  return Diagnostic{
      .code = Code::bad_number,
      .message = fmt::format("the halo <{},{}> is longer than its dimension of {}", halo.below,
                             halo.above, global),
      .notes = {"<lo,hi> says how many elements a box holds of its neighbours, cut off at the "
                "ends of the array"}};
}

Result<Layout> placed(const Layout& positions, const std::optional<DeviceTable>& order,
                      Size devices) {
  const bool is_listed = (order && order->chain() == nullptr) || positions.devices() != devices;
  if (positions.in_boxes() || !is_listed) {
    Layout out = positions.placed(order, devices);
    if (out.in_boxes() || out.is_compact()) return out;
  }
  return refuse(
      {.code = Code::unsupported,
       .message = "with such an order, or fewer positions than devices, nothing is dealt out",
       .notes = {"digits of the device number say who gets which blocks"}});
}

std::optional<Digit> part_of(const Digit& axis, Size major, Size size) {
  const auto reach = checked_mul(major, size);
  if (!reach || *reach < 1 || axis.size % *reach != 0) return std::nullopt;
  return Digit{axis.stride * (axis.size / *reach), size};
}

Diagnostic wrong_part(const std::string& axis, Size axis_size, Size major, Size size) {
  return {.code = Code::axis_size_mismatch,
          .message =
              fmt::format("{}:({}){} is no part of axis {}: {} * {} does not divide {}",
                          shown_name(axis), major, size, shown_name(axis), major, size, axis_size),
          .rule = "WF-DIM",
          .notes = {"x:(m)k is the factor k of axis x behind its major factor m"}};
}

std::optional<std::string> completed(Size tile, const std::vector<Splitter>& splitters) {
  const auto parts = product_of(splitters);
  const auto global = parts ? checked_mul(tile, *parts) : std::nullopt;
  if (!global) return std::nullopt;
  return repair(tile, splitters, *global);
}

std::vector<Splitter> splitters_of(const Mesh& mesh, const DistDim& dim) {
  std::vector<Splitter> out;
  for (const std::string& axis : dim.axes) {
    out.push_back({name_text(axis), mesh.digit(axis)->size});
  }
  return out;
}

std::vector<Splitter> splitters_of(const Mesh& mesh, const CutDim& dim) {
  std::vector<Splitter> out;
  for (const AxisPart& part : dim.parts) {
    out.push_back({part_text(part), digit_of(mesh, part)->size, part.major == 0});
  }
  return out;
}

CutText cut_text(const Mesh& mesh, const CutDim& dim) {
  return {dim.cutting, dim.tile,     dim.cuts,  splitters_of(mesh, dim),
          dim.global,  dim.sections, dim.chunks};
}

std::optional<Digit> digit_of(const Mesh& mesh, const AxisPart& part) {
  const auto axis = mesh.digit(part.axis);
  return axis && part.major != 0 ? part_of(*axis, part.major, part.size) : axis;
}

Diagnostic wrong_axis_size(const std::string& axis, Size in_mesh, Size written) {
  const std::string name = shown_name(axis);
  return {
      .code = Code::axis_size_mismatch,
      .message = fmt::format("axis {} has size {} in the mesh, not {}", name, in_mesh, written),
      .rule = "WF-DIM",
      .notes = {fmt::format("the size may be left out: {} stands for {}:{}", name, name, in_mesh)}};
}

Diagnostic addends_use_twice(const std::string& axis, std::optional<std::size_t> dim) {
  return {.code = Code::axis_used_twice,
          .message = dim ? fmt::format("axis {} counts addends and cuts dimension {}",
                                       shown_name(axis), *dim)
                         : fmt::format("axis {} counts addends twice", shown_name(axis)),
          .rule = "WF-TYPE",
          .notes = {"an axis counts addends or cuts one dimension, once"}};
}

Diagnostic axis_used_twice(const std::string& axis, std::size_t first_dim, std::size_t second_dim) {
  const std::string name = shown_name(axis);
  const bool same = first_dim == second_dim;
  return {.code = Code::axis_used_twice,
          .message = same ? fmt::format("axis {} splits dimension {} twice", name, second_dim)
                          : fmt::format("axis {} splits dimension {} and dimension {}", name,
                                        first_dim, second_dim),
          .rule = same ? "WF-DIM" : "WF-TYPE"};
}

namespace {

/// Parts `x:(m)k` of an axis, as digits of the device number, that are not apart.
Diagnostic overlapping_parts(const std::string& axis, const Digit& whole, const Digit& one,
                             const Digit& other, std::size_t first_dim, std::size_t second_dim) {
  const std::string name = shown_name(axis);
  const bool same = first_dim == second_dim;
  const Size end = whole.stride * whole.size;
  const Digit& major = one.stride * one.size >= other.stride * other.size ? one : other;
  const std::string part =
      fmt::format("{}:({}){}", name, end / (major.stride * major.size), major.size);
  const Size next = end / major.stride;
  return {.code = Code::axis_used_twice,
          .message = same
                         ? fmt::format("parts of axis {} in dimension {} overlap", name, second_dim)
                         : fmt::format("parts of axis {} in dimension {} and dimension {} overlap",
                                       name, first_dim, second_dim),
          .rule = same ? "WF-DIM" : "WF-TYPE",
          .notes = {next < whole.size
                        ? fmt::format("behind {} the next part is {}:({})..", part, name, next)
                        : fmt::format("behind {} nothing of the axis is left", part)}};
}

/// What the rules of a list of dimensions have in common.
class Rules {
 public:
  Rules(const Mesh& mesh, const std::vector<CutDim>& dims) : mesh_(mesh), dims_(dims) {}

  /// \param tile_rule  a CutsViolation of a dimension whose axes are right, or nothing
  template <typename TileRule>
  std::optional<TypeViolation> find_violation(const TileRule& tile_rule) {
    std::optional<Size> globalsize = 1;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      for (std::size_t j = 0; j < dims_[i].parts.size(); ++j) {
        if (auto violation = broken_by_part(i, j)) return violation;
      }
      if (auto violation = broken_by_numbers(i)) return violation;
      if (std::optional<CutsViolation> broken = tile_rule(dims_[i])) {
        return TypeViolation{std::move(broken->diagnostic), i, std::nullopt, broken->cut};
      }
      if (globalsize) globalsize = checked_mul(*globalsize, dims_[i].global);
    }
    if (globalsize) return std::nullopt;
    return TypeViolation{{.code = Code::size_overflow,
                          .message = "the array has 2^63 elements or more",
                          .notes = {"the product of the global sizes must be below 2^63"}},
                         std::nullopt,
                         std::nullopt};
  }

 private:
  struct Use {
    std::string_view axis;
    Digit digit;
    std::size_t dim = 0;
  };

  static bool overlap(const Digit& a, const Digit& b) {
    const Digit& low = a.stride < b.stride ? a : b;
    const Digit& high = a.stride < b.stride ? b : a;
    return high.stride % (low.stride * low.size) != 0;
  }

  std::optional<TypeViolation> broken_by_part(std::size_t i, std::size_t j) {
    const AxisPart& part = dims_[i].parts[j];
    const auto axis = mesh_.digit(part.axis);
    if (!axis) return TypeViolation{unknown_axis(mesh_, part.axis), i, j};  // x_j : k_j in H
    const auto digit = digit_of(mesh_, part);
    if (!digit) {
      return TypeViolation{wrong_part(part.axis, axis->size, part.major, part.size), i, j};
    }
    if (digit->size == 1) return std::nullopt;
    const auto first = std::find_if(used_.begin(), used_.end(), [&](const Use& other) {
      return other.axis == part.axis && overlap(other.digit, *digit);
    });
    if (first != used_.end()) {  // x_i != x_j; axes(e_i) and axes(e_j) disjoint (E3)
      if (*digit != *axis || first->digit != *axis) {
        return TypeViolation{
            overlapping_parts(part.axis, *axis, first->digit, *digit, first->dim, i), i, j};
      }
      TypeViolation out{axis_used_twice(part.axis, first->dim, i), i, j};
      out.diagnostic.notes.push_back(still_free(mesh_, dims_));
      return out;
    }
    used_.push_back({part.axis, *digit, i});
    return std::nullopt;
  }

  [[nodiscard]] std::optional<TypeViolation> broken_by_numbers(std::size_t i) const {
    const CutDim& dim = dims_[i];
    if (dim.tile < 1 || dim.global < 1) {
      const bool tile = dim.tile < 1;
      return TypeViolation{
          {.code = Code::bad_number,
           .message = fmt::format("the {} size of dimension {} must be at least 1, not {}",
                                  tile ? "tile" : "global", i, tile ? dim.tile : dim.global),
           .notes = {"there are no empty arrays"}},
          i,
          std::nullopt};
    }
    auto wrong = wrong_halo(dim.halo, dim.is_dealt(), dim.global);
    if (!wrong) return std::nullopt;
    return TypeViolation{*std::move(wrong), i, std::nullopt};
  }

  const Mesh& mesh_;
  const std::vector<CutDim>& dims_;
  std::vector<Use> used_;
};

}  // namespace

std::optional<TypeViolation> find_violation(const Mesh& mesh, const std::vector<DistDim>& dims) {
  std::vector<CutDim> whole;
  for (const DistDim& dim : dims) {
    CutDim& out = whole.emplace_back();
    out.tile = dim.tile;
    out.global = dim.global;
    for (const std::string& axis : dim.axes) out.parts.push_back({axis});
  }
  return Rules(mesh, whole).find_violation([&](const CutDim& dim) -> std::optional<CutsViolation> {
    const CutText text = cut_text(mesh, dim);
    const auto tiles = product_of(text.splitters);
    if (tiles && checked_mul(dim.tile, *tiles) == dim.global) return std::nullopt;
    return CutsViolation{wrong_tile(dim.tile, text.splitters, dim.global)};  // c * prod k_j = n
  });
}

std::optional<TypeViolation> find_violation(const Mesh& mesh, const std::vector<CutDim>& dims) {
  return Rules(mesh, dims).find_violation([&](const CutDim& dim) -> std::optional<CutsViolation> {
    auto cuts = cuts_of(cut_text(mesh, dim));
    if (cuts) return std::nullopt;
    return std::move(cuts.error());
  });
}

std::optional<Size> covered(const Mesh& mesh, const DistDim& dim) {
  return checked_mul(dim.tile, axes_product(mesh, dim.axes));
}

Size axes_product(const Mesh& mesh, const std::vector<std::string>& axes) {
  Size product = 1;
  for (const std::string& axis : axes) {
    const auto digit = mesh.digit(axis);
    RETILE_ASSERT(digit.has_value(), "asked for an axis that the mesh does not have");
    product *= digit->size;
  }
  return product;
}

}  // namespace retile
