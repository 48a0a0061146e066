// Comparisons about types: the rules, well-formedness, base offsets, tile maps after steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// One collective on one type: the rules over lists of axes, and Fig. 8 where it has one axis.
inline void compare_rule(Tally& tally, const Setting& setting, const Subject& subject,
                         const retile::TypedCollective& collective) {
  const spec::MultiCollective p = support::to_spec(setting.mesh, subject.type, collective);
  const auto got = retile::apply(setting.mesh, collective, subject.type);
  const auto hold = [&](Kind kind, const std::optional<spec::Type>& want) {
    if (!tally.selected(kind)) return;
    tally.compared(kind);
    auto ours = got;
    if (tally.falsifies(kind)) {  // a type where there is none, none where there is one
      ours = got ? retile::Result<retile::DistType>(retile::refuse({})) : subject.type;
    }
    if (same_type(ours, want)) return;
    tally.disagree(kind, setting.text(subject.type) + " " + support::detail::text(collective) +
                             ": src says " + (ours ? to_text(*ours) : "no rule applies"));
  };
  hold(Kind::rule, spec::apply(setting.H, p, subject.tau));
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

// ---- Well-formedness

inline void compare_wellformedness(Tally& tally, const Setting& setting,
                                   const std::vector<retile::DistDim>& dims) {
  bool got = retile::DistType::make(setting.mesh, dims).has_value();
  const bool want = spec::wf_type(setting.H, support::to_spec(setting.mesh, dims));
  tally.compared(Kind::well_formedness);
  if (tally.falsifies(Kind::well_formedness)) got = !got;
  if (got == want) return;
  std::string text = "--mesh '" + to_text(setting.mesh) + "' '[";
  for (const retile::DistDim& dim : dims) {
    text += std::to_string(dim.tile) + "{";
    for (const std::string& axis : dim.axes) text += "\"" + axis + "\",";
    text += "}" + std::to_string(dim.global) + ", ";
  }
  tally.disagree(Kind::well_formedness,
                 text + "]': src says " + (got ? "well formed" : "ill formed"));
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

/// Holds the base offsets of all devices against Fig. 7a; rank 0 has none to compare.
inline void compare_offsets(Tally& tally, const Setting& setting, const Subject& subject) {
  const std::size_t rank = subject.type.rank();
  if (rank == 0) return;
  std::vector<retile::Size> got = layout_of(setting.mesh, subject.type).base_offsets();
  const auto want = spec::base_offset_map(setting.H, subject.tau);
  if (tally.falsifies(Kind::offset)) got.front() += 1;
  bool same = want && got.size() == want->size() * rank;
  for (std::size_t d = 0; same && d < want->size(); ++d) {
    same = std::equal((*want)[d].begin(), (*want)[d].end(),
                      got.begin() + static_cast<std::ptrdiff_t>(d * rank));
  }
  tally.compared(Kind::offset, static_cast<std::uint64_t>(setting.delta));
  if (!same) tally.disagree(Kind::offset, setting.text(subject.type));
}

inline std::optional<Walk> start_walk(const Setting& setting, const Subject& subject) {
  spec::DeviceMap phi;
  for (spec::Size d = 0; d < setting.delta; ++d) phi.push_back(d);
  auto physical = spec::physical(setting.H, {phi, subject.tau});
  if (!physical) return std::nullopt;
  return Walk{layout_of(setting.mesh, subject.type), std::move(*physical), {}};
}

/// Holds the base offsets of all devices after the steps so far against spec's physical form.
inline void compare_walk(Tally& tally, const Setting& setting, const Subject& subject,
                         const Walk& walk, const retile::Layout& ours) {
  const std::size_t rank = subject.type.rank();
  std::vector<retile::Size> got = ours.base_offsets();
  if (tally.falsifies(Kind::step_offset)) got.back() += 1;
  bool same = got.size() == walk.theirs.t.size() * rank && ours.tile() == walk.theirs.c &&
              ours.global() == walk.theirs.g;
  for (std::size_t k = 0; same && k < got.size(); ++k) {
    same = got[k] == walk.theirs.t[k / rank][k % rank] * walk.theirs.c[k % rank];
  }
  tally.compared(Kind::step_offset, static_cast<std::uint64_t>(setting.delta));
  if (!same) tally.disagree(Kind::step_offset, setting.text(subject.type) + " then" + walk.steps);
}

/// spec did not make a step that src did: counted as one comparison that failed.
inline void refused_step(Tally& tally, const Setting& setting, const Subject& subject,
                         const Walk& walk) {
  tally.compared(Kind::step_offset);
  tally.disagree(Kind::step_offset, setting.text(subject.type) + " then" + walk.steps +
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
    compare_walk(tally, setting, subject, walk, walk.ours);
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

/// A random walk; after every step also the compacted form must lie where spec says.
inline void compare_random_walk(Tally& tally, const Choose& choose, const Setting& setting,
                                const Subject& subject, int length) {
  auto walk = subject.type.rank() == 0 ? std::nullopt : start_walk(setting, subject);
  if (!walk) return;
  for (int k = 0; k < length; ++k) {
    const auto made = support::choose_walk_step(choose, *walk);
    if (!made) continue;
    if (!*made) return refused_step(tally, setting, subject, *walk);
    compare_walk(tally, setting, subject, *walk, walk->ours);
    if (!walk->ours.is_compact()) {
      const retile::Layout compacted = walk->ours.compacted();
      if (compacted.is_compact()) compare_walk(tally, setting, subject, *walk, compacted);
    }
  }
}

}  // namespace campaign
