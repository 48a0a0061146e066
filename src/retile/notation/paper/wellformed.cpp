#include "retile/notation/paper/wellformed.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "retile/core/assert.h"
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
std::string repair(Size tile, const std::vector<Splitter>& splitters, Size global) {
  if (splitters.size() > most_listed) {
    return fmt::format("a tile of {} and a global size of {} would do", tile, global);
  }
  std::vector<std::string> parts;
  for (const Splitter& splitter : splitters) parts.push_back(splitter.text);
  return fmt::format("{} is well formed", dim_text(tile, parts, global));
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
std::vector<std::string> unused_axes(const Mesh& mesh, const std::vector<DistDim>& dims) {
  std::unordered_set<std::string> used;
  for (const DistDim& dim : dims) used.insert(dim.axes.begin(), dim.axes.end());
  std::vector<std::string> out;
  for (const Axis& axis : mesh.axes()) {
    if (axis.size > 1 && !used.contains(axis.name)) out.push_back(axis.name);
  }
  return out;
}

std::string still_free(const Mesh& mesh, const std::vector<DistDim>& dims) {
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

Diagnostic wrong_axis_size(const std::string& axis, Size in_mesh, Size written) {
  const std::string name = shown_name(axis);
  return {
      .code = Code::axis_size_mismatch,
      .message = fmt::format("axis {} has size {} in the mesh, not {}", name, in_mesh, written),
      .rule = "WF-DIM",
      .notes = {fmt::format("the size may be left out: {} stands for {}:{}", name, name, in_mesh)}};
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

std::optional<TypeViolation> find_violation(const Mesh& mesh, const std::vector<DistDim>& dims) {
  std::vector<std::pair<std::string_view, std::size_t>> used;  // axis, its dimension
  std::optional<Size> globalsize = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const DistDim& dim = dims[i];
    for (std::size_t j = 0; j < dim.axes.size(); ++j) {
      const std::string& axis = dim.axes[j];
      const auto digit = mesh.digit(axis);
      if (!digit) return TypeViolation{unknown_axis(mesh, axis), i, j};  // x_j : k_j in H
      if (digit->size == 1) continue;
      const auto first = std::find_if(used.begin(), used.end(),
                                      [&](const auto& other) { return other.first == axis; });
      if (first != used.end()) {  // x_i != x_j; axes(e_i) and axes(e_j) disjoint (E3)
        TypeViolation out{axis_used_twice(axis, first->second, i), i, j};
        out.diagnostic.notes.push_back(still_free(mesh, dims));
        return out;
      }
      used.emplace_back(axis, i);
    }
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
    if (covered(mesh, dim) != dim.global) {  // c * prod k_j = n
      return TypeViolation{wrong_tile(dim.tile, splitters_of(mesh, dim), dim.global), i,
                           std::nullopt};
    }
    if (globalsize) globalsize = checked_mul(*globalsize, dim.global);
  }
  if (!globalsize) {
    return TypeViolation{{.code = Code::size_overflow,
                          .message = "the array has 2^63 elements or more",
                          .notes = {"the product of the global sizes must be below 2^63"}},
                         std::nullopt,
                         std::nullopt};
  }
  return std::nullopt;
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
