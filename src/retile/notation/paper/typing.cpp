#include "retile/notation/paper/typing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "retile/core/names.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/type_text.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/words.h"

namespace retile {
namespace {

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// What the rules share: the mesh, the type before the step, and how to refuse.
class Rule {
 public:
  Rule(const Mesh& mesh, const DistType& type, std::string_view label)
      : mesh_(mesh), type_(type), label_(label) {}

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] const DistType& type() const { return type_; }

  /// A refusal that points at dimension `dim` of the type before the step, or at the whole type.
  [[nodiscard]] tl::unexpected<Diagnostic> fails(Code code, std::string message,
                                                 std::optional<std::size_t> dim,
                                                 std::vector<std::string> notes = {}) const {
    TypeText written = type_text(type_);
    const Span where = dim ? written.dims[*dim] : Span{0, written.text.size()};
    return refuse({.code = code,
                   .message = std::move(message),
                   .rule = label_,
                   .input = std::move(written.text),
                   .where = where,
                   .notes = std::move(notes)});
  }

  /// The refusal of a dimension that the type does not have, if so.
  [[nodiscard]] std::optional<tl::unexpected<Diagnostic>> no_dimension(std::size_t dim) const {
    if (dim < type_.rank()) return std::nullopt;
    return fails(Code::bad_dimension, fmt::format("the type has no dimension {}", dim),
                 std::nullopt,
                 {fmt::format("it has {}, numbered from 0", counted(type_.rank(), "dimension"))});
  }

  /// The refusal to take `axes` minor-most axes off dimension `dim`, if it has not that many.
  [[nodiscard]] std::optional<tl::unexpected<Diagnostic>> too_few_axes(std::size_t dim,
                                                                       std::size_t axes) const {
    const std::size_t there = type_.dims()[dim].axes.size();
    if (axes >= 1 && axes <= there) return std::nullopt;
    if (axes == 0) {
      return fails(Code::inapplicable, "at least one axis must be taken off", dim);
    }
    std::vector<std::string> notes;
    std::vector<std::string> partitioned;
    for (std::size_t i = 0; i < type_.rank(); ++i) {
      if (type_.dims()[i].axes.size() >= axes) partitioned.push_back(fmt::to_string(i));
    }
    if (!partitioned.empty()) {
      notes.push_back(fmt::format(
          "{} split by {}",
          partitioned.size() == 1 ? fmt::format("dimension {} is", partitioned.front())
                                  : fmt::format("dimensions {} are", text::enumerate(partitioned)),
          axes == 1 ? "an axis" : fmt::format("{} axes", axes)));
    }
    return fails(Code::inapplicable,
                 there == 0 ? fmt::format("dimension {} is not split by any axis", dim)
                            : fmt::format("dimension {} is split by {}, not by {}", dim,
                                          counted(there, "axis", "axes"), axes),
                 dim, std::move(notes));
  }

  /// The refusal to cut the tile of dimension `dim` into n equal pieces, if n does not divide it.
  [[nodiscard]] std::optional<tl::unexpected<Diagnostic>> indivisible(
      std::size_t dim, const std::vector<std::string>& axes, Size n) const {
    const Size tile = type_.dims()[dim].tile;
    if (tile % n == 0) return std::nullopt;
    std::vector<std::string> names;
    names.reserve(axes.size());
    for (const std::string& axis : axes) names.push_back(shown_name(axis));
    return fails(
        Code::inapplicable,
        fmt::format("the tile size {} of dimension {} is not divisible by {}, the size of {}", tile,
                    dim, n, text::enumerate(names)),
        dim, {fmt::format("it could be cut into {} pieces if it were a multiple of {}", n, n)});
  }

  /// The type after the step. The rules keep well-formedness; if not, the fault is ours.
  [[nodiscard]] Result<DistType> gives(std::vector<DistDim> dims) const {
    return DistType::make(mesh_, std::move(dims));
  }

 private:
  const Mesh& mesh_;
  const DistType& type_;
  std::string label_;
};

std::vector<std::string> front(const std::vector<std::string>& axes, std::size_t count) {
  return {axes.begin(), std::next(axes.begin(), static_cast<std::ptrdiff_t>(count))};
}

void drop_front(std::vector<std::string>& axes, std::size_t count) {
  axes.erase(axes.begin(), std::next(axes.begin(), static_cast<std::ptrdiff_t>(count)));
}

void prepend(std::vector<std::string>& axes, const std::vector<std::string>& more) {
  axes.insert(axes.begin(), more.begin(), more.end());
}

Result<DistType> apply_rule(const Mesh& mesh, const AllgatherRule& step, const DistType& type) {
  const Rule rule(mesh, type, "T-ALLGATHER");
  if (auto refusal = rule.no_dimension(step.dim)) return *refusal;
  if (auto refusal = rule.too_few_axes(step.dim, step.axes)) return *refusal;
  std::vector<DistDim> dims = type.dims();
  DistDim& dim = dims[step.dim];
  dim.tile *= axes_product(mesh, front(dim.axes, step.axes));  // at most the global size
  drop_front(dim.axes, step.axes);
  return rule.gives(std::move(dims));
}

Result<DistType> apply_rule(const Mesh& mesh, const DynsliceRule& step, const DistType& type) {
  const Rule rule(mesh, type, "T-DYNSLICE");
  if (auto refusal = rule.no_dimension(step.dim)) return *refusal;
  std::vector<DistDim> dims = type.dims();
  std::vector<std::string> axes;  // those of size 1 mean nothing
  for (const std::string& axis : step.axes) {
    const auto digit = mesh.digit(axis);
    if (!digit || digit->size > 1) axes.push_back(axis);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string name = shown_name(axes[i]);
    if (!mesh.digit(axes[i])) {
      Diagnostic unknown = unknown_axis(mesh, axes[i]);
      return rule.fails(unknown.code, std::move(unknown.message), step.dim,
                        std::move(unknown.notes));
    }
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (std::find(dims[k].axes.begin(), dims[k].axes.end(), axes[i]) != dims[k].axes.end()) {
        return rule.fails(Code::axis_used_twice,
                          fmt::format("axis {} already splits dimension {}", name, k), k,
                          {"a dynslice needs an axis that the type does not use"});
      }
    }
    if (std::find(axes.begin(), axes.end(), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i)) {
      return rule.fails(Code::axis_used_twice,
                        fmt::format("axis {} stands twice in the step", name), step.dim,
                        {"a dynslice needs an axis that the type does not use"});
    }
  }
  if (axes.empty()) {
    return rule.fails(Code::inapplicable, "a dynslice needs at least one axis of size 2 or more",
                      step.dim);
  }
  const Size n = axes_product(mesh, axes);
  if (auto refusal = rule.indivisible(step.dim, axes, n)) return *refusal;  // c mod n = 0
  DistDim& dim = dims[step.dim];
  dim.tile /= n;
  prepend(dim.axes, axes);
  return rule.gives(std::move(dims));
}

Result<DistType> apply_rule(const Mesh& mesh, const AlltoallRule& step, const DistType& type) {
  const Rule rule(mesh, type, "T-ALLTOALL");
  if (auto refusal = rule.no_dimension(step.from_dim)) return *refusal;
  if (auto refusal = rule.no_dimension(step.to_dim)) return *refusal;
  if (step.from_dim == step.to_dim) {  // E4: the printed rule would give [1{x,x}4]
    return rule.fails(
        Code::inapplicable,
        fmt::format("an alltoall moves axes between two different dimensions, not from "
                    "{} to {}",
                    step.from_dim, step.to_dim),
        step.from_dim);
  }
  if (auto refusal = rule.too_few_axes(step.from_dim, step.axes)) return *refusal;
  std::vector<DistDim> dims = type.dims();
  DistDim& loser = dims[step.from_dim];
  DistDim& winner = dims[step.to_dim];
  const std::vector<std::string> moved = front(loser.axes, step.axes);
  const Size n = axes_product(mesh, moved);
  if (auto refusal = rule.indivisible(step.to_dim, moved, n)) return *refusal;  // c_j mod n = 0
  loser.tile *= n;
  drop_front(loser.axes, step.axes);
  winner.tile /= n;
  prepend(winner.axes, moved);
  return rule.gives(std::move(dims));
}

Result<DistType> apply_rule(const Mesh& mesh, const AllpermuteRule& step, const DistType& type) {
  const Rule rule(mesh, type, "T-PERMUTE");
  auto to = DistType::make(mesh, step.to.dims());
  if (!to) {
    Diagnostic& diagnostic = to.error();
    diagnostic.input = to_text(step.to);
    diagnostic.where = {0, diagnostic.input.size()};
    return refuse(std::move(diagnostic));
  }
  const auto differ = [&](std::string_view what, const Shape& before, const Shape& after) {
    std::optional<std::size_t> dim;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()) && !dim; ++i) {
      if (before[i] != after[i]) dim = i;
    }
    return rule.fails(Code::inapplicable,
                      fmt::format("an allpermute keeps the {}: {} is not {}", what,
                                  shape_text(after), shape_text(before)),
                      dim);
  };
  if (type.globaltype() != step.to.globaltype()) {  // E5
    return differ("global sizes", type.globaltype(), step.to.globaltype());
  }
  if (type.localtype() != step.to.localtype()) {
    return differ("tile sizes", type.localtype(), step.to.localtype());
  }
  return to;
}

}  // namespace

Result<DistType> apply(const Mesh& mesh, const TypedCollective& collective, const DistType& type) {
  // A type of another mesh may name axes that this one lacks.
  const auto same = DistType::make(mesh, type.dims());
  if (!same) {
    Diagnostic diagnostic = same.error();
    diagnostic.input = to_text(type);
    diagnostic.where = {0, diagnostic.input.size()};
    return refuse(std::move(diagnostic));
  }
  return std::visit([&](const auto& step) { return apply_rule(mesh, step, *same); }, collective);
}

}  // namespace retile
