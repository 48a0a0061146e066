// Random meshes, types, problems and typed collectives that are valid by construction.
//
// A value is decoded from a row of numbers, each taken modulo the number of choices at hand, and 0
// always stands for the simplest choice. So every row is a value, and shrinking a failing row to
// smaller numbers keeps the value valid. The decoders (choose_..) also run on any other source of
// numbers: an odometer that counts through all choices, or a seed.
//
//     RC_GTEST_PROP(Notation, types_survive_text, (const support::TypeOverMesh& drawn)) { .. }
//     const auto problem = *support::problems({.max_devices = 32});
//
// A failing case prints as the command line's arguments.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/paper/typing.h"

namespace support {

/// A number in [0, bound), bound >= 1; 0 is the simplest choice.
using Choose = std::function<retile::Size(retile::Size bound)>;

/// What is drawn. The defaults keep a value small enough to enumerate its devices.
struct Bounds {
  retile::Size max_devices = 64;
  std::size_t max_axes = 4;
  std::size_t max_rank = 4;
  bool size_one_axes = true;  ///< axes that mean nothing
  bool quoted_names = true;   ///< names that are no identifiers
  bool large_tiles = false;   ///< tile sizes up to 2^40 beside the small ones
};

/// A type needs its mesh to mean anything.
struct TypeOverMesh {
  retile::Mesh mesh;
  retile::DistType type;
};

/// A collective where somebody wants to use it; it may be well-typed there or not.
struct TypedStep {
  retile::Mesh mesh;
  retile::DistType from;
  retile::TypedCollective collective;
};

namespace detail {

template <typename T>
const T& pick(const Choose& choose, const std::vector<T>& candidates) {
  return candidates[static_cast<std::size_t>(choose(static_cast<retile::Size>(candidates.size())))];
}

inline std::size_t pick_index(const Choose& choose, std::size_t bound) {
  return static_cast<std::size_t>(choose(static_cast<retile::Size>(bound)));
}

/// The axes of sizes above 1; only they can split anything.
inline std::vector<retile::Axis> splitting_axes(const retile::Mesh& mesh) {
  std::vector<retile::Axis> out;
  for (const retile::Axis& axis : mesh.axes()) {
    if (axis.size > 1) out.push_back(axis);
  }
  return out;
}

/// Puts `name` at any place of `axes`.
inline void insert_somewhere(const Choose& choose, std::vector<std::string>& axes,
                             const std::string& name) {
  const auto at = static_cast<std::ptrdiff_t>(pick_index(choose, axes.size() + 1));
  axes.insert(axes.begin() + at, name);
}

/// A rank up to bounds.max_rank. Rank 0 has little to show and comes up rarely.
inline std::size_t choose_rank(const Choose& choose, const Bounds& bounds) {
  const std::size_t rank = pick_index(choose, bounds.max_rank + 1);
  return rank == 0 && choose(8) != 0 ? bounds.max_rank : rank;
}

/// For each of `rank` dimensions a list of axes; every axis stands in at most one.
inline std::vector<std::vector<std::string>> choose_placement(const Choose& choose,
                                                              const retile::Mesh& mesh,
                                                              std::size_t rank) {
  std::vector<std::vector<std::string>> placement(rank);
  for (const retile::Axis& axis : splitting_axes(mesh)) {
    const std::size_t dim = pick_index(choose, rank + 1);  // 0: replicated
    if (dim > 0) insert_somewhere(choose, placement[dim - 1], axis.name);
  }
  return placement;
}

inline retile::Size product(const retile::Mesh& mesh, const std::vector<std::string>& axes) {
  retile::Size out = 1;
  for (const std::string& axis : axes) out *= mesh.digit(axis)->size;
  return out;
}

template <typename T>
T value(retile::Result<T> result) {
  RETILE_ASSERT(result.has_value(), retile::render(result.error()));
  return std::move(*result);
}

/// A tile extent such that extent * parts * others stays far below 2^63.
inline retile::Size choose_tile(const Choose& choose, const Bounds& bounds, retile::Size rest) {
  static const std::vector<retile::Size> small = {1, 2, 3, 4, 6, 8, 12, 5};
  static const std::vector<retile::Size> large = {1,    2,    3,         12,        64,
                                                  1000, 4099, 1'000'003, 1LL << 30, 1LL << 40};
  const retile::Size tile = pick(choose, bounds.large_tiles ? large : small);
  return retile::checked_mul(tile, rest).value_or(INT64_MAX) < (1LL << 62) ? tile : 1;
}

/// How a collective prints, ready to read beside the rules of Fig. 8.
inline std::string text(const retile::TypedCollective& collective) {
  struct Printer {
    std::string operator()(const retile::AllgatherRule& step) const {
      return "allgather(" + std::to_string(step.dim) + ", " + std::to_string(step.axes) + " axes)";
    }
    std::string operator()(const retile::DynsliceRule& step) const {
      std::string out = "dynslice(" + std::to_string(step.dim) + ", {";
      for (const std::string& axis : step.axes) out += axis + ",";
      return out + "})";
    }
    std::string operator()(const retile::AlltoallRule& step) const {
      return "alltoall(" + std::to_string(step.from_dim) + ", " + std::to_string(step.to_dim) +
             ", " + std::to_string(step.axes) + " axes)";
    }
    std::string operator()(const retile::AllpermuteRule& step) const {
      return "allpermute to " + to_text(step.to);
    }
  };
  return std::visit(Printer{}, collective);
}

}  // namespace detail

// ---- Decoders

/// A mesh of at least one axis within `bounds`; simplest: x:2.
inline retile::Mesh choose_mesh(const Choose& choose, const Bounds& bounds = {}) {
  static const std::vector<std::string> plain = {"x", "y", "z", "w", "devs", "_v.1-a", "u", "t"};
  static const std::vector<std::string> odd = {"a b",      "1", "",    "x:4", "[3{x}12]",
                                               "\xC3\xA9", "#", "at=", "\\"};
  static const std::vector<retile::Size> sizes = {2, 3,  4,  1,       6,       5,
                                                  8, 12, 30, 1 << 10, 1 << 16, 1LL << 31};
  const std::size_t count = 1 + detail::pick_index(choose, bounds.max_axes);
  std::vector<retile::Axis> axes;
  std::vector<std::string> names = plain;
  retile::Size devices = 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<retile::Size> fitting;
    for (const retile::Size size : sizes) {
      if (size == 1 ? bounds.size_one_axes : size <= bounds.max_devices / devices)
        fitting.push_back(size);
    }
    if (fitting.empty()) break;
    const retile::Size size = detail::pick(choose, fitting);
    if (bounds.quoted_names && choose(8) == 7) names = odd;
    const std::size_t name = detail::pick_index(choose, names.size());
    // A name may stand once: take the next that is free. There are more names than axes.
    std::string chosen;
    for (std::size_t k = 0; k <= names.size(); ++k) {
      chosen = names[(name + k) % names.size()];
      const bool taken = std::any_of(axes.begin(), axes.end(),
                                     [&](const retile::Axis& axis) { return axis.name == chosen; });
      if (!taken) break;
    }
    axes.push_back({chosen, size});
    devices *= size;
    names = plain;
  }
  return detail::value(retile::Mesh::make(std::move(axes)));
}

/// A type of rank 0..max_rank; each axis replicates or splits any dimension at any place. Simplest:
/// [].
inline retile::DistType choose_type(const Choose& choose, const retile::Mesh& mesh,
                                    const Bounds& bounds = {}) {
  const std::size_t rank = detail::choose_rank(choose, bounds);
  const auto placement = detail::choose_placement(choose, mesh, rank);
  retile::Size size = mesh.device_count();
  std::vector<retile::DistDim> dims;
  for (const std::vector<std::string>& axes : placement) {
    const retile::Size tile = detail::choose_tile(choose, bounds, size);
    size *= tile;
    dims.push_back({tile, axes, tile * detail::product(mesh, axes)});
  }
  return detail::value(retile::DistType::make(mesh, std::move(dims)));
}

/// Any type with these global sizes: each axis replicates, or splits a dimension whose tile it
/// divides.
inline retile::DistType choose_type_of(const Choose& choose, const retile::Mesh& mesh,
                                       const retile::Shape& global) {
  std::vector<retile::DistDim> dims;
  for (const retile::Size size : global) dims.push_back({size, {}, size});
  for (const retile::Axis& axis : detail::splitting_axes(mesh)) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].tile % axis.size == 0) fitting.push_back(i);
    }
    const std::size_t place = detail::pick_index(choose, fitting.size() + 1);
    if (place == 0) continue;
    retile::DistDim& dim = dims[fitting[place - 1]];
    dim.tile /= axis.size;
    detail::insert_somewhere(choose, dim.axes, axis.name);
  }
  return detail::value(retile::DistType::make(mesh, std::move(dims)));
}

/// Two independent placements over one mesh, and the smallest array that fits both, times small
/// factors.
inline retile::Problem choose_problem(const Choose& choose, const Bounds& bounds = {}) {
  const retile::Mesh mesh = choose_mesh(choose, bounds);
  const std::size_t rank = detail::choose_rank(choose, bounds);
  const auto before = detail::choose_placement(choose, mesh, rank);
  const auto after = detail::choose_placement(choose, mesh, rank);
  std::vector<retile::DistDim> from;
  std::vector<retile::DistDim> to;
  retile::Size size = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const retile::Size parts_before = detail::product(mesh, before[i]);
    const retile::Size parts_after = detail::product(mesh, after[i]);
    retile::Size least = std::lcm(parts_before, parts_after);  // divides the number of devices
    if (retile::checked_mul(size, least).value_or(INT64_MAX) >= (1LL << 62)) break;
    size *= least;
    const retile::Size factor = detail::choose_tile(choose, bounds, size);
    size *= factor;
    least *= factor;
    from.push_back({least / parts_before, before[i], least});
    to.push_back({least / parts_after, after[i], least});
  }
  return detail::value(
      retile::make_problem(mesh, detail::value(retile::DistType::make(mesh, std::move(from))),
                           detail::value(retile::DistType::make(mesh, std::move(to)))));
}

/// Any type with the same global sizes and tile sizes as `type`, as an allpermute gives it.
inline retile::DistType choose_permuted(const Choose& choose, const retile::Mesh& mesh,
                                        const retile::DistType& type) {
  std::vector<retile::DistDim> dims;
  for (const retile::DistDim& dim : type.dims()) dims.push_back({dim.global, {}, dim.global});
  std::vector<retile::Axis> axes = detail::splitting_axes(mesh);
  while (!axes.empty()) {
    const std::size_t next = detail::pick_index(choose, axes.size());
    const retile::Axis axis = axes[next];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(next));
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].tile / type.dims()[i].tile % axis.size == 0) fitting.push_back(i);
    }
    if (fitting.empty()) continue;
    retile::DistDim& dim = dims[detail::pick(choose, fitting)];
    dim.tile /= axis.size;
    detail::insert_somewhere(choose, dim.axes, axis.name);
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].tile != type.dims()[i].tile) return type;  // the greedy choice met a dead end
  }
  return detail::value(retile::DistType::make(mesh, std::move(dims)));
}

/// A collective for `type`: in half of all cases one that looks applicable, else anything, from
/// dimensions that are not there to axes that do not exist, stand twice or are in use.
inline retile::TypedCollective choose_collective(const Choose& choose, const retile::Mesh& mesh,
                                                 const retile::DistType& type) {
  const bool careful = choose(2) == 0;
  std::vector<std::size_t> split;  // dimensions split by an axis
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (!type.dims()[i].axes.empty()) split.push_back(i);
  }
  for (const retile::Axis& axis : mesh.axes()) {
    const bool used =
        std::any_of(type.dims().begin(), type.dims().end(), [&](const retile::DistDim& dim) {
          return std::find(dim.axes.begin(), dim.axes.end(), axis.name) != dim.axes.end();
        });
    if (!used) unused.push_back(axis.name);
  }
  const auto any_dim = [&] {
    return detail::pick_index(choose, type.rank() + (careful && type.rank() > 0 ? 0 : 2));
  };
  const auto split_dim = [&] {
    return careful && !split.empty() ? detail::pick(choose, split) : any_dim();
  };
  const auto axes_of = [&](std::size_t dim) {
    return careful && dim < type.rank() && !type.dims()[dim].axes.empty()
               ? 1 + detail::pick_index(choose, type.dims()[dim].axes.size())
               : detail::pick_index(choose, 4);
  };
  switch (choose(4)) {
    case 0: {
      const std::size_t dim = split_dim();
      return retile::AllgatherRule{dim, axes_of(dim)};
    }
    case 1: {
      retile::DynsliceRule step{any_dim(), {}};
      std::vector<std::string>
          names;  // in careful steps unused axes that divide the tile, if there are any
      if (careful && step.dim < type.rank()) {
        for (const std::string& axis : unused) {
          if (type.dims()[step.dim].tile % mesh.digit(axis)->size == 0) names.push_back(axis);
        }
      }
      if (names.empty()) {
        names = {"no such axis"};
        for (const retile::Axis& axis : mesh.axes()) names.push_back(axis.name);
      }
      const std::size_t count =
          careful ? 1 + detail::pick_index(choose, 2) : detail::pick_index(choose, 4);
      for (std::size_t i = 0; i < count && !names.empty(); ++i) {
        const std::size_t next = detail::pick_index(choose, names.size());
        step.axes.push_back(names[next]);
        if (careful) names.erase(names.begin() + static_cast<std::ptrdiff_t>(next));
      }
      return step;
    }
    case 2: {
      const std::size_t from = split_dim();
      std::size_t to = any_dim();
      if (careful && from == to && type.rank() > 1) to = (from + 1) % type.rank();
      return retile::AlltoallRule{from, to, axes_of(from)};
    }
    default: {
      if (careful) return retile::AllpermuteRule{choose_permuted(choose, mesh, type)};
      if (choose(8) == 7) {  // a type of another mesh, with the same sizes
        std::vector<retile::DistDim> dims = type.dims();
        for (retile::DistDim& dim : dims) {
          if (!dim.axes.empty()) dim.axes = {"no such axis"};
        }
        const auto dim =
            std::find_if(dims.begin(), dims.end(), [](const auto& d) { return !d.axes.empty(); });
        if (dim != dims.end()) {
          const auto foreign = retile::Mesh::make({{"no such axis", dim->global / dim->tile}});
          for (auto other = dim + 1; other != dims.end(); ++other)
            *other = {other->tile, {}, other->tile};
          return retile::AllpermuteRule{
              detail::value(retile::DistType::make(detail::value(foreign), std::move(dims)))};
        }
      }
      switch (choose(3)) {
        case 0:
          return retile::AllpermuteRule{choose_type_of(choose, mesh, type.globaltype())};
        case 1: {  // the same tiles of another array
          std::vector<retile::DistDim> dims = type.dims();
          const auto placement = detail::choose_placement(choose, mesh, type.rank());
          for (std::size_t i = 0; i < dims.size(); ++i) {
            dims[i] = {dims[i].tile, placement[i],
                       dims[i].tile * detail::product(mesh, placement[i])};
          }
          const auto other = retile::DistType::make(mesh, std::move(dims));
          return retile::AllpermuteRule{other ? *other : type};
        }
        default:
          return retile::AllpermuteRule{choose_type(choose, mesh)};
      }
    }
  }
}

/// A mesh, a type, and a collective for it.
inline TypedStep choose_typed_step(const Choose& choose, const Bounds& bounds = {}) {
  TypedStep out;
  out.mesh = choose_mesh(choose, bounds);
  // Tiles often get an axis' size as a factor, or little could be sliced or moved.
  std::vector<retile::DistDim> dims = choose_type(choose, out.mesh, bounds).dims();
  for (retile::DistDim& dim : dims) {
    if (choose(2) == 0) continue;
    const retile::Size factor = detail::pick(choose, out.mesh.axes()).size;
    const auto global = retile::checked_mul(dim.global, factor);
    if (!global) continue;  // tile <= global
    dim.tile *= factor;
    dim.global = *global;
  }
  if (auto type = retile::DistType::make(out.mesh, std::move(dims))) {
    out.from = std::move(*type);
  }  // else too large: rank 0 serves as well as any
  out.collective = choose_collective(choose, out.mesh, out.from);
  return out;
}

// ---- Generators

/// A generator of what `decode` makes of choices; shrinks choice by choice towards 0.
template <typename Decode>
auto decoded(Decode decode) {
  constexpr std::size_t choices = 64;  // more are 0
  // Sizes above the nominal one change nothing: all values of a choice are to be seen in short
  // runs, too.
  const auto number =
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 5040 * 11));
  return rc::gen::map(rc::gen::container<std::vector<std::uint32_t>>(choices, number),
                      [decode](const std::vector<std::uint32_t>& numbers) {
                        std::size_t next = 0;
                        return decode([&](retile::Size bound) -> retile::Size {
                          return next < numbers.size() ? retile::Size{numbers[next++]} % bound : 0;
                        });
                      });
}

inline rc::Gen<retile::Mesh> meshes(Bounds bounds = {}) {
  return decoded([bounds](const Choose& choose) { return choose_mesh(choose, bounds); });
}
inline rc::Gen<TypeOverMesh> types(Bounds bounds = {}) {
  return decoded([bounds](const Choose& choose) {
    TypeOverMesh out;
    out.mesh = choose_mesh(choose, bounds);
    out.type = choose_type(choose, out.mesh, bounds);
    return out;
  });
}
inline rc::Gen<retile::Problem> problems(Bounds bounds = {}) {
  return decoded([bounds](const Choose& choose) { return choose_problem(choose, bounds); });
}
inline rc::Gen<TypedStep> typed_steps(Bounds bounds = {}) {
  return decoded([bounds](const Choose& choose) { return choose_typed_step(choose, bounds); });
}

// ---- What was drawn

/// Choices from a seed, for tests that search until they find something; the same seed gives the
/// same choices.
inline Choose seeded_choices(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)](retile::Size bound) mutable {
    return static_cast<retile::Size>(engine() % static_cast<std::uint64_t>(bound));
  };
}

/// Tags a property's run with what matters about a type, so that RapidCheck's summary shows the
/// distribution.
inline void tag(const retile::Mesh& mesh, const retile::DistType& type) {
  const bool replicates = [&] {
    retile::Size used = 1;
    for (const retile::DistDim& dim : type.dims()) used *= detail::product(mesh, dim.axes);
    return used < mesh.device_count();
  }();
  RC_TAG("rank " + std::to_string(type.rank()));
  RC_CLASSIFY(replicates, "replicates");
}

inline void showValue(const TypeOverMesh& drawn, std::ostream& os) {
  os << "--mesh '" << to_text(drawn.mesh) << "' '" << to_text(drawn.type) << "'";
}
inline void showValue(const TypedStep& step, std::ostream& os) {
  os << "--mesh '" << to_text(step.mesh) << "' '" << to_text(step.from) << "' "
     << detail::text(step.collective);
}

}  // namespace support

namespace retile {

// Found by argument-dependent lookup, by RapidCheck and GoogleTest.
inline void showValue(const Mesh& mesh, std::ostream& os) {
  os << "--mesh '" << to_text(mesh) << "'";
}
inline void showValue(const DistType& type, std::ostream& os) { os << "'" << to_text(type) << "'"; }
inline void showValue(const Problem& problem, std::ostream& os) {
  os << "--mesh '" << to_text(problem.spelling->mesh) << "' '" << problem.spelling->from << "' '"
     << problem.spelling->to << "'";
}
inline void PrintTo(const Mesh& mesh, std::ostream* os) { showValue(mesh, *os); }
inline void PrintTo(const DistType& type, std::ostream* os) { showValue(type, *os); }
inline void PrintTo(const Problem& problem, std::ostream* os) { showValue(problem, *os); }
inline void PrintTo(const Diagnostic& diagnostic, std::ostream* os) {
  *os << '\n' << render(diagnostic);
}

}  // namespace retile

namespace rc {

template <>
struct Arbitrary<retile::Mesh> {
  static Gen<retile::Mesh> arbitrary() { return support::meshes(); }
};
template <>
struct Arbitrary<support::TypeOverMesh> {
  static Gen<support::TypeOverMesh> arbitrary() { return support::types(); }
};
template <>
struct Arbitrary<retile::Problem> {
  static Gen<retile::Problem> arbitrary() { return support::problems(); }
};
template <>
struct Arbitrary<support::TypedStep> {
  static Gen<support::TypedStep> arbitrary() { return support::typed_steps(); }
};

}  // namespace rc
