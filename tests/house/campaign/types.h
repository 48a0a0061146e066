// Comparisons about types: the rules, well-formedness, base offsets, tile maps after steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "house/campaign/strata.h"
#include "house/campaign/tally.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/typing.h"
#include "support/bridge.h"
#include "support/generators.h"
#include "support/layout_walk.h"

namespace campaign {

using support::Choose;
using support::movable;
using support::sliceable;
using support::step_allgather;
using support::step_alltoall;
using support::step_dynslice;
using support::Walk;
using Names = std::vector<std::string>;

/// A mesh on both sides, and what does not depend on the type.
struct Setting {
  retile::Mesh mesh;
  spec::Mesh H;
  spec::Size delta = 1;
  std::vector<Names> slices;  ///< lists of axes to slice by, sensible or not

  /// The lists of one or two axes that a type does not use.
  [[nodiscard]] std::vector<Names> unused(const spec::Type& tau) const {
    std::vector<Names> out;
    const Names used = spec::axes(tau);
    const auto is_free = [&](const std::string& x) {
      return std::find(used.begin(), used.end(), x) == used.end();
    };
    for (const spec::Axis& x : H) {
      if (!is_free(x.x)) continue;
      out.push_back({x.x});
      for (const spec::Axis& y : H) {
        if (y.x != x.x && is_free(y.x)) out.push_back({x.x, y.x});
      }
    }
    return out;
  }

  explicit Setting(retile::Mesh over) : mesh(std::move(over)), H(support::to_spec(mesh)) {
    delta = spec::device_count(H).value();
  }
  [[nodiscard]] std::string text(const retile::DistType& type) const {
    return "--mesh '" + to_text(mesh) + "' '" + to_text(type) + "'";
  }
};

/// A type on both sides.
struct Subject {
  retile::DistType type;
  spec::Type tau;
  explicit Subject(retile::DistType of) : type(std::move(of)), tau(support::to_spec(type)) {}
};

// ---- Collectives

inline bool same_type(const retile::Result<retile::DistType>& got,
                      const std::optional<spec::Type>& want) {
  if (got.has_value() != want.has_value()) return false;
  if (!got) return true;
  if (got->rank() != want->size()) return false;
  for (std::size_t i = 0; i < want->size(); ++i) {
    const retile::DistDim& ours = got->dims()[i];
    const spec::Dim& theirs = (*want)[i];
    if (ours.tile != theirs.c || ours.global != theirs.s || ours.axes != theirs.xs) return false;
  }
  return true;
}

/// What tells types over H apart: sizes, and axes by their place in H.
inline void add(Hash& hash, const spec::Mesh& H, const spec::Names& xs) {
  hash.add(static_cast<std::uint64_t>(xs.size()));
  for (const spec::Name& x : xs) {
    std::uint64_t place = 0;
    while (place < H.size() && H[place].x != x) ++place;
    hash.add(place);
  }
}
inline void add(Hash& hash, const spec::Mesh& H, const spec::Type& tau) {
  hash.add(static_cast<std::uint64_t>(tau.size()));
  for (const spec::Dim& d : tau) {
    hash.add(d.c).add(d.s);
    add(hash, H, d.xs);
  }
}
inline Hash hash_of(const spec::Mesh& H) {
  Hash hash;
  hash.add(static_cast<std::uint64_t>(H.size()));
  for (const spec::Axis& alpha : H) hash.add(alpha.k);
  return hash;
}
inline Hash hash_of(const spec::Mesh& H, const spec::Type& tau) {
  Hash hash = hash_of(H);
  add(hash, H, tau);
  return hash;
}
inline std::uint64_t hash_of(const spec::Mesh& H, const spec::Type& tau,
                             const spec::MultiCollective& p) {
  Hash hash = hash_of(H, tau);
  hash.add(static_cast<std::uint64_t>(p.p));
  hash.add(static_cast<std::uint64_t>(p.i)).add(static_cast<std::uint64_t>(p.j));
  add(hash, H, p.x);
  add(hash, H, p.to);
  return hash.value();
}

inline bool splits_nothing(const spec::Type& tau) {
  return std::all_of(tau.begin(), tau.end(), [](const spec::Dim& d) { return d.xs.empty(); });
}

/// One collective on one type: the rules over lists of axes, and Fig. 8 where it has one axis.
/// Trivial: the type stays as it is.
inline void compare_rule(Tally& tally, const Setting& setting, const Subject& subject,
                         const retile::TypedCollective& collective) {
  const spec::MultiCollective p = support::to_spec(setting.mesh, subject.type, collective);
  const auto got = retile::apply(setting.mesh, collective, subject.type);
  std::optional<std::uint64_t> hash;
  const auto hold = [&](Kind kind, const std::optional<spec::Type>& want) {
    const bool differs = want && tally.falsifies(kind);  // no type where there is one
    if (differs || !same_type(got, want)) {
      return tally.differ(kind, setting.text(subject.type) + " " +
                                    support::detail::text(collective) + ": src says " +
                                    (got && !differs ? to_text(*got) : "no rule applies"));
    }
    if (!want) return tally.refuse(kind);
    if (!hash) hash = hash_of(setting.H, subject.tau, p);
    tally.accept(kind,
                 {*hash, strata_of_space(setting.delta, subject.tau.size()), *want == subject.tau});
  };
  if (tally.wants(Kind::rule)) hold(Kind::rule, spec::apply(setting.H, p, subject.tau));
  if (!tally.wants(Kind::rule_fig8)) return;
  if (const auto single = support::single_axis(p)) {
    hold(Kind::rule_fig8, spec::apply(setting.H, *single, subject.tau));
  }
}

/// allgather, dynslice and alltoall with every argument up to one dimension and one axis too many.
inline void compare_rules(Tally& tally, const Setting& setting, const Subject& subject) {
  const std::size_t most_axes = std::min<std::size_t>(setting.mesh.axes().size() + 1, 4);
  for (std::size_t i = 0; i <= subject.type.rank(); ++i) {
    for (std::size_t axes = 0; axes <= most_axes; ++axes) {
      compare_rule(tally, setting, subject, retile::AllgatherRule{i, axes});
      for (std::size_t j = 0; j <= subject.type.rank(); ++j) {
        compare_rule(tally, setting, subject, retile::AlltoallRule{i, j, axes});
      }
    }
    for (const Names& axes : setting.slices) {
      compare_rule(tally, setting, subject, retile::DynsliceRule{i, axes});
    }
  }
}

/// allgather, dynslice and alltoall where they look applicable.
inline void compare_likely_rules(Tally& tally, const Setting& setting, const Subject& subject) {
  const std::size_t rank = subject.type.rank();
  for (std::size_t i = 0; i < rank; ++i) {
    const retile::DistDim& dim = subject.type.dims()[i];
    for (std::size_t axes = 1; axes <= dim.axes.size(); ++axes) {
      compare_rule(tally, setting, subject, retile::AllgatherRule{i, axes});
      for (std::size_t j = 0; j < rank; ++j) {
        compare_rule(tally, setting, subject, retile::AlltoallRule{i, j, axes});
      }
    }
    for (const Names& axes : setting.unused(subject.tau)) {
      compare_rule(tally, setting, subject, retile::DynsliceRule{i, axes});
    }
  }
}

// ---- Well-formedness

/// Trivial: no dimension is split.
inline void compare_wellformedness(Tally& tally, const Setting& setting,
                                   const std::vector<retile::DistDim>& dims) {
  const bool got = retile::DistType::make(setting.mesh, dims).has_value();
  const spec::Type tau = support::to_spec(setting.mesh, dims);
  const bool want = spec::wf_type(setting.H, tau);
  const bool differs = want && tally.falsifies(Kind::well_formedness);
  if (got == want && !differs) {
    if (!want) return tally.refuse(Kind::well_formedness);
    return tally.accept(Kind::well_formedness,
                        {hash_of(setting.H, tau).value(),
                         strata_of_space(setting.delta, tau.size()), splits_nothing(tau)});
  }
  std::string text = "--mesh '" + to_text(setting.mesh) + "' '[";
  for (const retile::DistDim& dim : dims) {
    text += std::to_string(dim.tile) + "{";
    for (const std::string& axis : dim.axes) text += "\"" + axis + "\",";
    text += "}" + std::to_string(dim.global) + ", ";
  }
  tally.differ(Kind::well_formedness,
               text + "]': src says " + (got && !differs ? "well formed" : "ill formed"));
}

/// A type's dimensions with one thing changed, which may leave them well formed.
inline std::vector<retile::DistDim> choose_nearby(const Choose& choose, const Setting& setting,
                                                  std::vector<retile::DistDim> dims) {
  const auto any_axis = [&]() -> std::string {
    const auto& axes = setting.mesh.axes();
    const auto at = support::detail::pick_index(choose, axes.size() + 1);
    return at < axes.size() ? axes[at].name : support::no_axis;
  };
  if (dims.empty()) dims.push_back({});
  retile::DistDim& dim = dims[support::detail::pick_index(choose, dims.size())];
  switch (choose(7)) {
    case 0:
      dim.tile = choose(13);
      break;
    case 1:
      dim.global = choose(25);
      break;
    case 2:  // both, as if one more axis of that size stood there
      dim.global *= 1 + choose(4);
      dim.axes.push_back(any_axis());
      break;
    case 3:
      if (!dim.axes.empty())
        dim.axes[support::detail::pick_index(choose, dim.axes.size())] = any_axis();
      break;
    case 4:
      support::detail::insert_somewhere(choose, dim.axes, any_axis());
      break;
    case 5:
      if (!dim.axes.empty()) dim.axes.pop_back();
      break;
    default:
      dims.push_back({1 + choose(3), {any_axis()}, 1 + choose(12)});
  }
  return dims;
}

// ---- Base offsets

/// Holds the base offsets of all devices against Fig. 7a; rank 0 has none to compare. One case is
/// one map, whatever type says it. Trivial: no dimension is split.
inline void compare_offsets(Tally& tally, const Setting& setting, const Subject& subject) {
  const std::size_t rank = subject.type.rank();
  if (rank == 0) return;
  const std::vector<retile::Size> got = layout_of(setting.mesh, subject.type).base_offsets();
  const auto want = spec::base_offset_map(setting.H, subject.tau);
  bool same = want && got.size() == want->size() * rank && !tally.falsifies(Kind::offset);
  Hash hash;
  for (const spec::Dim& d : subject.tau) hash.add(d.c).add(d.s);
  for (std::size_t d = 0; same && d < want->size(); ++d) {
    same = std::equal((*want)[d].begin(), (*want)[d].end(),
                      got.begin() + static_cast<std::ptrdiff_t>(d * rank));
    hash.add((*want)[d]);
  }
  if (!same) return tally.differ(Kind::offset, setting.text(subject.type));
  tally.accept(Kind::offset,
               {hash.value(), strata_of_space(setting.delta, rank), splits_nothing(subject.tau)});
}

inline std::optional<Walk> start_walk(const Setting& setting, const Subject& subject) {
  spec::DeviceMap phi;
  for (spec::Size d = 0; d < setting.delta; ++d) phi.push_back(d);
  auto physical = spec::physical(setting.H, {phi, subject.tau});
  if (!physical) return std::nullopt;
  return Walk{layout_of(setting.mesh, subject.type), std::move(*physical), {}};
}

/// Whether the tiles lie after the steps so far where spec's physical form says, also in compacted
/// form.
inline bool is_same_walk(const Walk& walk) {
  if (!support::same_offsets(walk.ours, walk.theirs)) return false;
  if (walk.ours.is_compact()) return true;
  const retile::Layout compacted = walk.ours.compacted();
  return !compacted.is_compact() || support::same_offsets(compacted, walk.theirs);
}

/// The steps so far are one case. `steps` are what alltoalls did before.
inline void compare_walk(Tally& tally, const Setting& setting, const Subject& subject,
                         const Walk& walk, Strata steps = 0) {
  if (!is_same_walk(walk) || tally.falsifies(Kind::step_offset)) {
    return tally.differ(Kind::step_offset, setting.text(subject.type) + " then" + walk.steps);
  }
  Hash hash = hash_of(setting.H, subject.tau);
  tally.accept(Kind::step_offset, {hash.add(std::string_view(walk.steps)).value(),
                                   steps | strata_of_space(setting.delta, subject.tau.size())});
}

/// spec did not make a step that src did.
inline void refused_step(Tally& tally, const Setting& setting, const Subject& subject,
                         const Walk& walk) {
  tally.differ(Kind::step_offset, setting.text(subject.type) + " then" + walk.steps +
                                      ": spec does not make the last step");
}

/// Every single step from a type.
inline void compare_all_steps(Tally& tally, const Setting& setting, const Subject& subject) {
  const std::size_t rank = subject.type.rank();
  const auto start = rank == 0 ? std::nullopt : start_walk(setting, subject);
  if (!start) return;
  const auto hold = [&](const auto& step) {
    Walk walk = *start;
    if (!step(walk)) return refused_step(tally, setting, subject, walk);
    compare_walk(tally, setting, subject, walk);
  };
  for (std::size_t i = 0; i < rank; ++i) {
    for (const retile::Size n : movable(*start, i, std::nullopt)) {
      hold([i, n](Walk& walk) { return step_allgather(walk, i, n); });
    }
    for (std::size_t j = 0; j < rank; ++j) {
      if (i == j) continue;
      for (const retile::Size n : movable(*start, i, j)) {
        hold([i, j, n](Walk& walk) { return step_alltoall(walk, i, j, n); });
      }
    }
    for (const retile::Digit& digit : sliceable(*start, i)) {
      hold([i, digit](Walk& walk) { return step_dynslice(walk, i, digit); });
    }
  }
}

/// A random walk, compared after every step.
inline void compare_random_walk(Tally& tally, const Choose& choose, const Setting& setting,
                                const Subject& subject, int length) {
  auto walk = subject.type.rank() == 0 ? std::nullopt : start_walk(setting, subject);
  if (!walk) return;
  Moves moves(subject.type.rank());
  for (int k = 0; k < length; ++k) {
    const spec::Sizes before = walk->theirs.c;
    const auto made = support::choose_walk_step(choose, *walk);
    if (!made) continue;
    if (!*made) return refused_step(tally, setting, subject, *walk);
    moves.note(before, walk->theirs.c);
    compare_walk(tally, setting, subject, *walk, moves.strata());
  }
}

}  // namespace campaign
