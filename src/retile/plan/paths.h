// Normal forms that need no search, and what a path holds. Private to this room.
#pragma once

#include <optional>

#include "retile/core/problem.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/realise.h"
#include "retile/plan/weak_search.h"

namespace retile {

/// A normal form that always exists, without search: per prime, slice what the target needs and the
/// source lacks, move what is in the wrong dimension, gather the rest. The fallback where a search
/// stops at its limit.
[[nodiscard]] WeakPath direct_path(const Problem& problem);

/// A normal form through a level that always exists, without search: one bottom, one top, and the
/// moves between them.
/// \param from_source  whether factors that the source has too many of are gathered first, to save
///                     moves; else all gathers are as few and as large as they can be, so that the
///                     last one holds least
[[nodiscard]] WeakPath greedy_path(const WeakSpace& space, const Level& level, bool from_source);

/// The path that only slices, where tiles of the target can be cut out of the source's.
[[nodiscard]] std::optional<WeakPath> slicing_path(const WeakSpace& space);

/// The tile of the bottom of a path.
[[nodiscard]] Wide valley_of(const Problem& problem, const WeakPath& path);

/// The most elements that a step of `path` holds, before and after together.
[[nodiscard]] Wide resident_of(const Problem& problem, const WeakPath& path, bool permute);

/// Whether `path` needs no permutation, where digit lists alone do not say it. A slice that no
/// digits can say is no answer: lowering could not follow it.
[[nodiscard]] std::optional<bool> decide(const Problem& problem, const WeakPath& path,
                                         SearchLimits& limits);

}  // namespace retile
