// Random sequences of typed collectives: well-typed ones, and steps of which exactly one premise is
// broken. Also what makes a case hard, so that tests can say how often they met it.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/primes.h"
#include "retile/notation/paper/typing.h"
#include "support/generators.h"

namespace support {

/// Collectives one after the other, each of which its rule allows.
struct TypedSequence {
  retile::Mesh mesh;
  retile::DistType from;
  std::vector<retile::TypedCollective> steps;
};

namespace detail {

/// The axes of sizes above 1 that `type` does not use.
inline std::vector<retile::Axis> free_axes(const retile::Mesh& mesh, const retile::DistType& type) {
  std::vector<retile::Axis> out = splitting_axes(mesh);
  for (const retile::DistDim& dim : type.dims()) {
    out.erase(std::remove_if(out.begin(), out.end(),
                             [&](const retile::Axis& axis) {
                               return std::find(dim.axes.begin(), dim.axes.end(), axis.name) !=
                                      dim.axes.end();
                             }),
              out.end());
  }
  return out;
}

/// Up to `count` of these axes in any order, at least one of them. Precondition: there is one.
inline std::vector<std::string> choose_some(const Choose& choose, std::vector<retile::Axis> axes) {
  std::vector<std::string> out;
  for (std::size_t count = 1 + pick_index(choose, axes.size()); count > 0; --count) {
    const auto at = axes.begin() + static_cast<std::ptrdiff_t>(pick_index(choose, axes.size()));
    out.push_back(at->name);
    axes.erase(at);
  }
  return out;
}

}  // namespace detail

/// Every allgather and alltoall that the rules allow on `type`; of dynslices and allpermutes, which
/// are many, one per dimension and one in all. Simplest: the identity as an allpermute.
inline std::vector<retile::TypedCollective> choose_applicable(const Choose& choose,
                                                              const retile::Mesh& mesh,
                                                              const retile::DistType& type) {
  std::vector<retile::TypedCollective> out;
  out.push_back(retile::AllpermuteRule{choose_permuted(choose, mesh, type)});
  const std::vector<retile::Axis> unused = detail::free_axes(mesh, type);
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const retile::DistDim& dim = type.dims()[i];
    std::vector<retile::Axis> dividing;
    retile::Size tile = dim.tile;
    for (const retile::Axis& axis : unused) {
      if (tile % axis.size != 0) continue;
      tile /= axis.size;
      dividing.push_back(axis);
    }
    if (!dividing.empty()) {
      out.push_back(retile::DynsliceRule{i, detail::choose_some(choose, dividing)});
    }
    retile::Size n = 1;
    for (std::size_t count = 1; count <= dim.axes.size(); ++count) {
      n *= mesh.digit(dim.axes[count - 1])->size;
      out.push_back(retile::AllgatherRule{i, count});
      for (std::size_t j = 0; j < type.rank(); ++j) {
        if (j != i && type.dims()[j].tile % n == 0)
          out.push_back(retile::AlltoallRule{i, j, count});
      }
    }
  }
  return out;
}

/// Up to `most` steps. Simplest: no step on the type [].
inline TypedSequence choose_sequence(const Choose& choose, const Bounds& bounds = {},
                                     std::size_t most = 8) {
  TypedSequence out;
  out.mesh = choose_mesh(choose, bounds);
  // Tiles often get an axis' size as a factor, or little could be sliced or moved.
  std::vector<retile::DistDim> dims = choose_type(choose, out.mesh, bounds).dims();
  for (retile::DistDim& dim : dims) {
    if (choose(3) == 0) continue;
    const retile::Size factor = detail::pick(choose, out.mesh.axes()).size;
    dim.tile *= factor;
    dim.global *= factor;
  }
  if (auto type = retile::DistType::make(out.mesh, std::move(dims))) out.from = std::move(*type);
  retile::DistType type = out.from;
  for (std::size_t steps = detail::pick_index(choose, most + 1); steps > 0; --steps) {
    const auto applicable = choose_applicable(choose, out.mesh, type);
    const retile::TypedCollective& next = detail::pick(choose, applicable);
    auto after = retile::apply(out.mesh, next, type);
    RETILE_ASSERT(after.has_value(), retile::render(after.error()));
    type = std::move(*after);
    out.steps.push_back(next);
  }
  return out;
}

// ---- Nearly well-typed steps

/// The premises of the rules, each broken alone.
enum class Premise {
  gather_dimension,     ///< i < rank
  gather_some_axis,     ///< the list is not empty
  gather_axes_there,    ///< e_i = c_i{x, xs}s_i
  slice_dimension,      ///< i < rank
  slice_some_axis,      ///< the list is not empty
  slice_known_axis,     ///< x : n in H
  slice_unused_axis,    ///< x not in axes(type)
  slice_distinct_axes,  ///< no axis twice in the list
  slice_divides,        ///< c mod n = 0
  alltoall_from,        ///< i < rank
  alltoall_to,          ///< j < rank
  alltoall_distinct,    ///< i != j (E4)
  alltoall_some_axis,   ///< the list is not empty
  alltoall_axes_there,  ///< e_i = c_i{x, xs}s_i
  alltoall_divides,     ///< c_j mod n = 0
  permute_wellformed,   ///< H |- type'
  permute_globaltype,   ///< equal globaltypes (E5)
  permute_localtype,    ///< equal localtypes
};

struct PremiseFacts {
  std::string_view name;
  retile::Code code;      ///< of the refusal
  std::string_view rule;  ///< that it names
};

inline constexpr std::array<PremiseFacts, 18> premises = {{
    {"allgather: i < rank", retile::Code::bad_dimension, "T-ALLGATHER"},
    {"allgather: at least one axis", retile::Code::inapplicable, "T-ALLGATHER"},
    {"allgather: the axes stand there", retile::Code::inapplicable, "T-ALLGATHER"},
    {"dynslice: i < rank", retile::Code::bad_dimension, "T-DYNSLICE"},
    {"dynslice: at least one axis", retile::Code::inapplicable, "T-DYNSLICE"},
    {"dynslice: axes of the mesh", retile::Code::unknown_axis, "T-DYNSLICE"},
    {"dynslice: axes not in use", retile::Code::axis_used_twice, "T-DYNSLICE"},
    {"dynslice: axes distinct", retile::Code::axis_used_twice, "T-DYNSLICE"},
    {"dynslice: n divides the tile", retile::Code::inapplicable, "T-DYNSLICE"},
    {"alltoall: i < rank", retile::Code::bad_dimension, "T-ALLTOALL"},
    {"alltoall: j < rank", retile::Code::bad_dimension, "T-ALLTOALL"},
    {"alltoall: i != j", retile::Code::inapplicable, "T-ALLTOALL"},
    {"alltoall: at least one axis", retile::Code::inapplicable, "T-ALLTOALL"},
    {"alltoall: the axes stand there", retile::Code::inapplicable, "T-ALLTOALL"},
    {"alltoall: n divides the tile of j", retile::Code::inapplicable, "T-ALLTOALL"},
    {"allpermute: the type is well formed", retile::Code::unknown_axis, "WF-DIM"},
    {"allpermute: equal globaltypes", retile::Code::inapplicable, "T-PERMUTE"},
    {"allpermute: equal localtypes", retile::Code::inapplicable, "T-PERMUTE"},
}};

inline const PremiseFacts& facts(Premise premise) {
  return premises[static_cast<std::size_t>(premise)];
}

/// A well-typed step and its twin, which differ in one premise only.
struct NearlyTyped {
  Premise broken{};
  TypedStep good;
  TypedStep bad;
};

namespace detail {

/// Sets the tile and, with it, the global size.
inline void set_tile(const retile::Mesh& mesh, retile::DistDim& dim, retile::Size tile) {
  dim.tile = tile;
  dim.global = tile * product(mesh, dim.axes);
}

inline retile::DistType made(const retile::Mesh& mesh, std::vector<retile::DistDim> dims) {
  return value(retile::DistType::make(mesh, std::move(dims)));
}

inline NearlyTyped break_gather(Premise broken, const retile::Mesh& mesh,
                                const std::vector<retile::DistDim>& dims, std::size_t i,
                                std::size_t axes) {
  const retile::DistType type = made(mesh, dims);
  retile::AllgatherRule bad{i, axes};
  if (broken == Premise::gather_dimension) bad.dim = type.rank();
  if (broken == Premise::gather_some_axis) bad.axes = 0;
  if (broken == Premise::gather_axes_there) bad.axes = dims[i].axes.size() + 1;
  return {broken, {mesh, type, retile::AllgatherRule{i, axes}}, {mesh, type, bad}};
}

inline NearlyTyped break_slice(const Choose& choose, Premise broken, const retile::Mesh& mesh,
                               std::vector<retile::DistDim> dims, std::size_t i, std::size_t j,
                               const retile::Axis& x) {
  const retile::Size t = dims[i].tile;
  set_tile(mesh, dims[i], t * x.size);
  const TypedStep good{mesh, made(mesh, dims), retile::DynsliceRule{i, {x.name}}};
  TypedStep bad = good;
  retile::DynsliceRule slice{i, {x.name}};
  if (broken == Premise::slice_dimension) slice.dim = dims.size() + pick_index(choose, 2);
  if (broken == Premise::slice_some_axis) slice.axes.clear();
  if (broken == Premise::slice_known_axis) slice.axes = {"no such axis"};
  if (broken == Premise::slice_unused_axis) {  // in dimension i itself or in another one
    retile::DistDim& holder = dims[choose(2) == 0 ? i : j];
    holder.axes.push_back(x.name);
    set_tile(mesh, holder, holder.tile);
    bad.from = made(mesh, dims);
  }
  if (broken == Premise::slice_distinct_axes) {
    set_tile(mesh, dims[i], t * x.size * x.size);  // so that it would divide
    bad.from = made(mesh, dims);
    slice.axes = {x.name, x.name};
  }
  if (broken == Premise::slice_divides) {
    set_tile(mesh, dims[i], t * x.size + 1);
    bad.from = made(mesh, dims);
  }
  bad.collective = slice;
  return {broken, good, bad};
}

inline NearlyTyped break_alltoall(Premise broken, const retile::Mesh& mesh,
                                  std::vector<retile::DistDim> dims, std::size_t i, std::size_t j,
                                  std::size_t axes) {
  retile::Size n = 1;
  for (std::size_t k = 0; k < axes; ++k) n *= mesh.digit(dims[i].axes[k])->size;
  const retile::Size t = dims[j].tile;
  set_tile(mesh, dims[j], t * n);
  const TypedStep good{mesh, made(mesh, dims), retile::AlltoallRule{i, j, axes}};
  TypedStep bad = good;
  retile::AlltoallRule move{i, j, axes};
  if (broken == Premise::alltoall_from) move.from_dim = dims.size();
  if (broken == Premise::alltoall_to) move.to_dim = dims.size();
  if (broken == Premise::alltoall_distinct) {
    set_tile(mesh, dims[i], dims[i].tile * n);  // so that it would divide
    bad.from = made(mesh, dims);
    move.to_dim = i;
  }
  if (broken == Premise::alltoall_some_axis) move.axes = 0;
  if (broken == Premise::alltoall_axes_there) move.axes = dims[i].axes.size() + 1;
  if (broken == Premise::alltoall_divides) {
    set_tile(mesh, dims[j], t * n + 1);
    bad.from = made(mesh, dims);
  }
  bad.collective = move;
  return {broken, good, bad};
}

inline NearlyTyped break_permute(const Choose& choose, Premise broken, const retile::Mesh& mesh,
                                 const std::vector<retile::DistDim>& dims, std::size_t i,
                                 const retile::Axis& x) {
  const retile::DistType type = made(mesh, dims);
  const retile::DistType permuted = choose_permuted(choose, mesh, type);
  const TypedStep good{mesh, type, retile::AllpermuteRule{permuted}};
  std::vector<retile::DistDim> other = dims;
  retile::Mesh over = mesh;
  if (broken == Premise::permute_wellformed) {  // the same type of a mesh that calls x otherwise
    std::vector<retile::Axis> axes = mesh.axes();
    for (retile::Axis& axis : axes) {
      if (axis.name == x.name) axis.name = "no such axis";
    }
    over = value(retile::Mesh::make(std::move(axes)));
    other[i].axes.front() = "no such axis";
  } else {
    other[i].axes.erase(other[i].axes.begin());  // x, which dimension i holds minor-most
    set_tile(mesh, other[i],
             broken == Premise::permute_globaltype ? dims[i].tile : dims[i].tile * x.size);
  }
  return {broken, good, {mesh, type, retile::AllpermuteRule{made(over, std::move(other))}}};
}

}  // namespace detail

/// A step with this premise broken, and the step as it should be. Rank at least 2.
inline NearlyTyped choose_nearly_typed(const Choose& choose, Premise broken, Bounds bounds = {}) {
  bounds.max_rank = std::max<std::size_t>(bounds.max_rank, 2);
  retile::Mesh mesh = choose_mesh(choose, bounds);
  if (detail::splitting_axes(mesh).empty()) mesh = detail::value(retile::Mesh::make({{"x", 2}}));
  const std::vector<retile::Axis> axes = detail::splitting_axes(mesh);
  const retile::Axis x = detail::pick(choose, axes);
  const std::size_t rank = 2 + detail::pick_index(choose, bounds.max_rank - 1);
  const std::size_t i = detail::pick_index(choose, rank);
  const std::size_t j = (i + 1 + detail::pick_index(choose, rank - 1)) % rank;
  // Anything but x is placed at random; x stands where the step needs it.
  auto placement = detail::choose_placement(choose, mesh, rank);
  for (auto& list : placement)
    list.erase(std::remove(list.begin(), list.end(), x.name), list.end());
  const bool holds_x = broken < Premise::slice_dimension || broken > Premise::slice_divides;
  if (holds_x) placement[i].insert(placement[i].begin(), x.name);
  std::vector<retile::DistDim> dims(rank);
  for (std::size_t k = 0; k < rank; ++k) {
    dims[k].axes = placement[k];
    detail::set_tile(mesh, dims[k], 1 + choose(4));
  }
  const std::size_t count =
      holds_x ? 1 + detail::pick_index(choose, placement[i].size()) : std::size_t{1};
  if (broken <= Premise::gather_axes_there) {
    return detail::break_gather(broken, mesh, dims, i, count);
  }
  if (broken <= Premise::slice_divides) {
    return detail::break_slice(choose, broken, mesh, dims, i, j, x);
  }
  if (broken <= Premise::alltoall_divides) {
    return detail::break_alltoall(broken, mesh, dims, i, j, count);
  }
  return detail::break_permute(choose, broken, mesh, dims, i, x);
}

// ---- Generators

inline rc::Gen<TypedSequence> sequences(Bounds bounds = {}, std::size_t most = 8) {
  return decoded(
      [bounds, most](const Choose& choose) { return choose_sequence(choose, bounds, most); });
}

inline rc::Gen<NearlyTyped> nearly_typed(Bounds bounds = {}) {
  return decoded([bounds](const Choose& choose) {
    const auto broken = static_cast<Premise>(detail::pick_index(choose, premises.size()));
    return choose_nearly_typed(choose, broken, bounds);
  });
}

// ---- What was drawn

/// What makes a type hard; the names stand in tables and summaries.
inline std::set<std::string> hard_cases(const retile::Mesh& mesh, const retile::DistType& type) {
  std::set<std::string> out;
  const std::vector<retile::Axis> unused = detail::free_axes(mesh, type);
  if (!unused.empty()) out.insert("replication");
  if (retile::factorize(mesh.device_count()).size() > 1) out.insert("mixed primes");
  if (type.rank() == 0) out.insert("rank 0");
  for (const retile::Axis& axis : mesh.axes()) {
    if (axis.size == 1) out.insert("size-1 axes");
  }
  for (const retile::Axis& axis : unused) {
    for (const retile::DistDim& dim : type.dims()) {
      if (dim.tile % axis.size != 0) out.insert("partial divisibility");
    }
  }
  return out;
}

/// The types of a sequence, both ends included.
inline std::vector<retile::DistType> types_of(const TypedSequence& sequence) {
  std::vector<retile::DistType> out = {sequence.from};
  for (const retile::TypedCollective& step : sequence.steps) {
    out.push_back(detail::value(retile::apply(sequence.mesh, step, out.back())));
  }
  return out;
}

/// Of a sequence: those of its first type, and over-partitioning: it falls below both ends.
inline std::set<std::string> hard_cases(const TypedSequence& sequence) {
  std::set<std::string> out = hard_cases(sequence.mesh, sequence.from);
  const std::vector<retile::DistType> types = types_of(sequence);
  const retile::Size ends = std::min(types.front().localsize(), types.back().localsize());
  for (const retile::DistType& type : types) {
    if (type.localsize() < ends) out.insert("over-partitioning");
  }
  return out;
}

/// Tags a property's run with the hard cases that were drawn.
inline void tag(const std::set<std::string>& cases) {
  for (const std::string& hard : cases) RC_TAG(hard);
  if (cases.empty()) RC_TAG(std::string("nothing hard"));
}

inline void showValue(const TypedSequence& sequence, std::ostream& os) {
  os << "--mesh '" << to_text(sequence.mesh) << "' '" << to_text(sequence.from) << "'";
  for (const retile::TypedCollective& step : sequence.steps) os << ' ' << detail::text(step);
}
inline void showValue(const NearlyTyped& drawn, std::ostream& os) {
  os << facts(drawn.broken).name << " broken: ";
  showValue(drawn.bad, os);
  os << "; as it should be: ";
  showValue(drawn.good, os);
}

}  // namespace support

namespace rc {

template <>
struct Arbitrary<support::TypedSequence> {
  static Gen<support::TypedSequence> arbitrary() { return support::sequences(); }
};
template <>
struct Arbitrary<support::NearlyTyped> {
  static Gen<support::NearlyTyped> arbitrary() { return support::nearly_typed(); }
};

}  // namespace rc
