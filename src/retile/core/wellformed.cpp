#include "retile/core/wellformed.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/names.h"
#include "retile/core/type_text.h"

namespace retile {
namespace {

/// `32 * 4 * 6`, and `32` where there are no axes.
std::string product_text(const Mesh& mesh, const DistDim& dim) {
  std::string out = fmt::to_string(dim.tile);
  for (const std::string& axis : dim.axes) out += fmt::format(" * {}", mesh.digit(axis)->size);
  return out;
}

/// `axis x has size 4`, `axes x and y have sizes 4 and 6`.
std::string sizes_text(const Mesh& mesh, const std::vector<std::string>& axes) {
  std::vector<std::string> names;
  std::vector<std::string> sizes;
  for (const std::string& axis : axes) {
    names.push_back(name_text(axis));
    sizes.push_back(fmt::to_string(mesh.digit(axis)->size));
  }
  return axes.size() == 1
             ? fmt::format("axis {} has size {}", names.front(), sizes.front())
             : fmt::format("axes {} have sizes {}", enumerate(names), enumerate(sizes));
}

std::vector<std::string> axis_names(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const Axis& axis : mesh.axes()) names.push_back(axis.name);
  return names;
}

std::vector<std::string> quoted_where_needed(std::vector<std::string> names) {
  for (std::string& name : names) name = name_text(name);
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

Diagnostic axis_used_twice(const Mesh& mesh, const std::vector<DistDim>& dims,
                           const std::string& axis, std::size_t first_dim, std::size_t second_dim) {
  const bool same = first_dim == second_dim;
  Diagnostic out{.code = Code::axis_used_twice,
                 .message = same ? fmt::format("axis {} splits dimension {} twice", name_text(axis),
                                               second_dim)
                                 : fmt::format("axis {} splits dimension {} and dimension {}",
                                               name_text(axis), first_dim, second_dim),
                 .rule = same ? "WF-DIM" : "WF-TYPE"};
  const std::vector<std::string> unused = unused_axes(mesh, dims);
  out.notes.push_back(
      unused.empty()
          ? "an axis stands at most once in a type, and no other axis is free; remove one"
          : fmt::format("an axis stands at most once in a type; still free: {}",
                        enumerate(quoted_where_needed(unused))));
  return out;
}

/// Precondition: covered(mesh, dim) != dim.global.
Diagnostic wrong_tile(const Mesh& mesh, const DistDim& dim) {
  const auto cover = covered(mesh, dim);
  Diagnostic out{.code = Code::ill_formed_type, .message = {}, .rule = "WF-DIM"};
  if (dim.axes.empty()) {
    out.message = fmt::format("without axes the tile size must equal the global size: {} is not {}",
                              dim.tile, dim.global);
    out.notes.push_back(fmt::format("{} is well formed", dim.global));
    return out;
  }
  out.message =
      fmt::format("tile size times axis sizes must equal the global size: {} {}, not {}",
                  product_text(mesh, dim),
                  cover ? fmt::format("= {}", *cover) : "does not fit in 63 bits", dim.global);
  const Size parts = axes_product(mesh, dim.axes);
  const std::string facts = sizes_text(mesh, dim.axes);
  if (dim.global % parts == 0) {
    DistDim repaired = dim;
    repaired.tile = dim.global / parts;
    out.notes.push_back(fmt::format("{}; {} is well formed", facts, dim_text(repaired)));
  } else if (cover) {
    DistDim repaired = dim;
    repaired.global = *cover;
    out.notes.push_back(fmt::format("{}, and {} does not divide {}; {} is well formed", facts,
                                    parts, dim.global, dim_text(repaired)));
  } else {
    out.notes.push_back(fmt::format("{}, and {} does not divide {}", facts, parts, dim.global));
  }
  return out;
}

}  // namespace

Diagnostic unknown_axis(const Mesh& mesh, const std::string& axis) {
  const std::vector<std::string> names = axis_names(mesh);
  Diagnostic out{.code = Code::unknown_axis,
                 .message = fmt::format("the mesh has no axis {}", name_text(axis)),
                 .rule = "WF-DIM"};
  if (names.empty()) {
    out.notes.emplace_back("the mesh has no axes at all");
    return out;
  }
  std::string note = fmt::format("the mesh has {} {}", names.size() == 1 ? "the axis" : "the axes",
                                 enumerate(quoted_where_needed(names)));
  if (const auto nearest = nearest_name(axis, names)) {
    note += fmt::format("; did you mean {}?", name_text(*nearest));
  }
  out.notes.push_back(std::move(note));
  return out;
}

std::optional<MeshViolation> find_violation(const std::vector<Axis>& axes) {
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (axis.name.find_first_of("\"\n") != std::string::npos) {
      return MeshViolation{
          {.code = Code::syntax,
           .message = "the name of an axis may hold neither a quote nor a line end"},
          i};
    }
    if (axis.size < 1) {
      return MeshViolation{
          {.code = Code::bad_number,
           .message = fmt::format("the size of axis {} must be at least 1, not {}",
                                  name_text(axis.name), axis.size),
           .notes = {fmt::format("{}:1 is an axis that splits nothing", name_text(axis.name))}},
          i};
    }
    if (!names.insert(axis.name).second) {
      return MeshViolation{
          {.code = Code::duplicate_axis,
           .message = fmt::format("axis {} stands twice in the mesh", name_text(axis.name)),
           .notes = {"every axis of a mesh needs a name of its own"}},
          i};
    }
  }
  std::optional<Size> devices = 1;
  for (const Axis& axis : axes) {
    devices = checked_mul(*devices, axis.size);
    if (!devices) break;
  }
  if (!devices || *devices > max_devices) {
    const std::string count = devices ? fmt::to_string(*devices) : "2^63 or more";
    return MeshViolation{{.code = Code::too_many_devices,
                          .message = fmt::format("a mesh has at most {} devices, this one has {}",
                                                 max_devices, count),
                          .notes = {"the number of devices is the product of the axis sizes"}},
                         std::nullopt};
  }
  return std::nullopt;
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
        return TypeViolation{axis_used_twice(mesh, dims, axis, first->second, i), i, j};
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
      return TypeViolation{wrong_tile(mesh, dim), i, std::nullopt};
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
