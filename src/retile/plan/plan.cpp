// The planner of Sec. 7.2 with the permutation in the valley (S2). See plan.h.
//
// 1. For each possible valley size, weak distances to the target (weak_search.h); the least over
// all levels is W.
// 2. Cheapest level first: among the cheapest normal forms of a level look for one that needs no
// permutation (realise.h).
// 3. Where there is none, one permutation in the valley makes any of them exact. The cheapest of
// all this is the plan;
//    it costs at most W + the valley of a W-optimal path.
// Dearer normal forms of a level that need no permutation are not looked for, so the plan need not
// be optimal.
#include "retile/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/primes.h"
#include "retile/plan/realise.h"
#include "retile/plan/weak_search.h"

namespace retile {

namespace {

// Enumerating cheapest paths stops here; the plan may then have a permutation that it could do
// without.
constexpr std::size_t max_paths = 256;
constexpr std::size_t max_path_nodes = 1 << 14;
// Paths that the axis-list test refuses are run on tile maps, but only where that is quick.
constexpr std::size_t max_runs = 8;
constexpr Size max_run_devices = Size{1} << 17;

/// All cheapest paths of one level, in a fixed order, until `visit` says stop.
class PathEnumerator {
 public:
  PathEnumerator(const WeakSpace& space, const Problem& problem, const LevelResult& level,
                 std::optional<Wide> resident)
      : space_(space), problem_(problem), level_(level), resident_(resident) {}

  /// visit(path) -> true to stop.
  template <typename Visit>
  void run(Visit visit) {
    for (const WeakState& bottom : level_.best_bottoms) {
      WeakPath path;
      const Shape tile = space_.tile(bottom);
      for (std::size_t i = 0; i < tile.size(); ++i) {
        const Size factor = problem_.from.tile()[i] / tile[i];
        if (factor > 1) path.slices.push_back({i, factor});
      }
      if (walk(bottom, path, visit)) return;
    }
  }

 private:
  // Depth: the number of alltoalls of a cheapest path, at most the number of prime factors of the
  // device count.
  template <typename Visit>
  bool walk(const WeakState& state, WeakPath& path, Visit& visit) {
    if (++nodes_ > max_path_nodes) return true;
    const Wide here = level_.cost_to_go.at(state);
    // A top whose gathers hold too much may lie on a path to one whose gathers cost the same.
    const auto fits = [&] {
      return !resident_ || space_.gather_resident(state, level_.level) <= *resident_;
    };
    if (space_.is_top(state) && space_.gather_cost(state, level_.level) == here && fits()) {
      for (const auto& gather : space_.gathers(state))
        path.gathers.push_back({gather.dim, gather.factor});
      const bool stop = visit(path);
      path.gathers.clear();
      if (stop) return true;
    }
    std::vector<WeakMove> moves;
    space_.moves(state, moves);
    for (const WeakMove& move : moves) {
      const auto next = level_.cost_to_go.find(move.next);
      if (next == level_.cost_to_go.end()) continue;
      if (next->second + space_.alltoall_cost(level_.level, move.factor) != here) continue;
      path.moves.push_back({move.from_dim, move.to_dim, move.factor});
      const bool stop = walk(move.next, path, visit);
      path.moves.pop_back();
      if (stop) return true;
    }
    return false;
  }

  const WeakSpace& space_;
  const Problem& problem_;
  const LevelResult& level_;
  std::optional<Wide> resident_;
  std::size_t nodes_ = 0;
};

/// What one level offers.
struct Offer {
  Size level = 0;
  Wide weak_cost = 0;
  WeakPath first;                                         // any cheapest path
  std::optional<std::pair<WeakPath, SliceDigits>> exact;  // one without permutation
};

Offer offer_of(const WeakSpace& space, const Problem& problem, const LevelResult& level,
               std::optional<Wide> resident) {
  Offer offer{level.level, *level.best, {}, {}};
  const bool one_prime = factorize(problem.from.devices()).size() <= 1;
  std::size_t paths = 0;
  std::size_t runs = 0;
  PathEnumerator(space, problem, level, resident).run([&](const WeakPath& path) {
    if (paths == 0) offer.first = path;
    ++paths;
    if (auto digits = unify(problem, path)) {
      offer.exact = std::pair{path, std::move(*digits)};
    } else if (!one_prime && problem.from.devices() <= max_run_devices && runs < max_runs) {
      ++runs;
      SliceDigits any = default_digits(problem, path);
      if (reaches_target(problem, path, any)) offer.exact = std::pair{path, std::move(any)};
    }
    return offer.exact.has_value() || paths >= max_paths;
  });
  RETILE_ASSERT(paths > 0, "a level with a best cost has a path of that cost");
  return offer;
}

/// A normal form that always exists, without search: per prime, slice what the target needs and the
/// source lacks, move what is in the wrong dimension, gather the rest. The fallback where a search
/// stops at its limit.
WeakPath direct_path(const Problem& problem) {
  const std::size_t rank = problem.from.rank();
  std::vector<Size> slice(rank, 1);
  std::vector<Size> gather(rank, 1);
  std::vector<std::vector<Size>> move(rank, std::vector<Size>(rank, 1));
  for (const PrimePower& power : factorize(problem.from.devices())) {
    const Size p = power.prime;
    std::vector<Size> surplus(
        rank, 0);  // factors of p that dimension i has too many (or, negative, too few)
    Size balance = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      for (Size n = problem.from.global()[i] / problem.from.tile()[i]; n % p == 0; n /= p)
        ++surplus[i];
      for (Size n = problem.to.global()[i] / problem.to.tile()[i]; n % p == 0; n /= p) --surplus[i];
      balance += surplus[i];
    }
    // Slices go where factors are missing, gathers where there are too many; what is left cancels
    // out.
    for (std::size_t i = 0; i < rank; ++i) {
      for (; balance < 0 && surplus[i] < 0; ++balance, ++surplus[i]) slice[i] *= p;
      for (; balance > 0 && surplus[i] > 0; --balance, --surplus[i]) gather[i] *= p;
    }
    for (std::size_t i = 0; i < rank; ++i) {
      for (std::size_t j = 0; j < rank; ++j) {
        for (; surplus[i] > 0 && surplus[j] < 0; --surplus[i], ++surplus[j]) move[i][j] *= p;
      }
    }
  }
  WeakPath path;
  for (std::size_t i = 0; i < rank; ++i) {
    if (slice[i] > 1) path.slices.push_back({i, slice[i]});
    if (gather[i] > 1) path.gathers.push_back({i, gather[i]});
    for (std::size_t j = 0; j < rank; ++j) {
      if (move[i][j] > 1) path.moves.push_back({i, j, move[i][j]});
    }
  }
  std::stable_sort(path.gathers.begin(), path.gathers.end(),
                   [](const auto& a, const auto& b) { return a.factor < b.factor; });
  return path;
}

/// A bound from below on what some device must receive, in bytes: the elements of its new tile that
/// it does not hold.
Wide missing_bytes(const Problem& problem, Size element_bytes) {
  if (problem.from.devices() > max_run_devices) return 0;
  const std::vector<Size> from = problem.from.base_offsets();
  const std::vector<Size> to = problem.to.base_offsets();
  const std::size_t rank = problem.from.rank();
  Size least_kept = problem.to.tile_size();
  for (std::size_t d = 0; d < static_cast<std::size_t>(problem.from.devices()); ++d) {
    Size kept = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      const Size a = from[d * rank + i];
      const Size b = to[d * rank + i];
      const Size end = std::min(a + problem.from.tile()[i], b + problem.to.tile()[i]);
      kept *= std::max(Size{0}, end - std::max(a, b));
    }
    least_kept = std::min(least_kept, kept);
  }
  return static_cast<Wide>(problem.to.tile_size() - least_kept) * element_bytes;
}

/// Turns a path and its choices into a Plan's steps. \error size_overflow
Result<Plan> assemble(const Problem& problem, const PlanOptions& options, const WeakPath& path,
                      const SliceDigits& digits, std::optional<Placement> placement) {
  Plan plan;
  plan.problem = problem;
  plan.options = options;
  Shape tile = problem.from.tile();
  Wide cost = 0;
  Wide size = problem.from.tile_size();
  Wide height = std::max(problem.from.tile_size(), problem.to.tile_size());
  Wide valley = std::min(problem.from.tile_size(), problem.to.tile_size());
  Wide resident = height;
  const bool bytes = options.cost_model == CostModel::bytes;
  const auto add = [&](PlanStep step, Wide step_cost) {
    Wide after = 1;
    for (const Size extent : tile) after *= extent;
    resident = std::max(resident, step.op == Collective::dynslice ? size : size + after);
    height = std::max(height, after);
    valley = std::min(valley, after);
    if (bytes) step_cost *= options.element_bytes;
    size = after;
    cost += step_cost;
    step.tile = tile;
    step.cost = static_cast<Size>(std::min<Wide>(step_cost, std::numeric_limits<Size>::max()));
    plan.steps.push_back(std::move(step));
  };
  for (std::size_t k = 0; k < path.slices.size(); ++k) {
    const auto& slice = path.slices[k];
    tile[slice.dim] /= slice.factor;
    add({Collective::dynslice, slice.dim, 0, slice.factor, {}, 0, digits[k]}, 0);
  }
  for (std::size_t k = 0; k <= path.moves.size(); ++k) {
    if (placement && placement->moves_before == k)
      add({Collective::allpermute, 0, 0, 1, {}, 0, {}}, size);
    if (k == path.moves.size()) break;
    const auto& move = path.moves[k];
    tile[move.from_dim] *= move.factor;
    tile[move.to_dim] /= move.factor;
    add({Collective::alltoall, move.from_dim, move.to_dim, move.factor, {}, 0, {}},
        bytes ? size - size / move.factor : size);
  }
  for (const auto& gather : path.gathers) {
    tile[gather.dim] *= gather.factor;
    add({Collective::allgather, gather.dim, 0, gather.factor, {}, 0, {}},
        bytes ? size * gather.factor - size : size * gather.factor);
  }
  RETILE_ASSERT(tile == problem.to.tile(), "a path ends in the target's tile shape");
  constexpr Wide most = std::numeric_limits<Size>::max();
  if (cost > most || resident > most) {
    return refuse({.code = Code::size_overflow,
                   .message = cost > most
                                  ? "the cost of the plan does not fit in 63 bits"
                                  : "a step of the plan holds more elements, before and after "
                                    "together, than fit in 63 bits"});
  }
  if (placement) plan.permutation = std::move(placement->permutation);
  plan.cost = static_cast<Size>(cost);
  plan.height = static_cast<Size>(height);
  plan.bound = std::max(problem.from.tile_size(), problem.to.tile_size());
  plan.valley = static_cast<Size>(valley);
  plan.resident = static_cast<Size>(resident);
  return plan;
}

/// The choice between the levels' offers.
struct Choice {
  WeakPath path;
  SliceDigits digits;
  bool permute = false;
  Wide weak_cost = 0;  // W, or the best found when the search was not complete
  bool complete = true;
  Size states = 0;
};

/// \param resident  most elements a step may hold, before and after together
/// Nothing when no plan obeys the limit.
std::optional<Choice> choose(const Problem& problem, const PlanOptions& options,
                             std::optional<Wide> resident) {
  if (resident && std::max(problem.from.tile_size(), problem.to.tile_size()) > *resident)
    return std::nullopt;
  const WeakSpace space(problem, options);
  SearchLimits limits;
  limits.resident = resident;
  limits.work = options.search_limit;
  Choice choice;
  std::vector<LevelResult> levels;
  std::optional<Wide> least;  // W
  std::optional<Wide>
      incumbent;  // a plan of this cost exists: cheapest path of a level and a permutation
  const auto permutable = [&](Size level) {
    return !resident || 2 * static_cast<Wide>(level) <= *resident;
  };
  for (const Size level : space.levels()) {
    LevelResult result = search_level(space, level, incumbent, limits);
    limits.work -= std::min(limits.work, result.work);  // one budget for all levels
    choice.states += result.states;
    choice.complete = choice.complete && result.complete;
    if (!result.best) continue;
    least = least ? std::min(*least, *result.best) : *result.best;
    if (permutable(level)) {
      const Wide cost = *result.best + space.permute_cost(level);
      incumbent = incumbent ? std::min(*incumbent, cost) : cost;
    }
    levels.push_back(std::move(result));
  }
  if (!least) {
    choice.path = direct_path(problem);
    choice.complete = false;
    Wide level = problem.from.tile_size();
    for (const auto& slice : choice.path.slices) level /= slice.factor;
    for (const auto& move : choice.path.moves)
      choice.weak_cost += space.alltoall_cost(static_cast<Size>(level), move.factor);
    Wide tile = level;
    for (const auto& gather : choice.path.gathers) {
      choice.weak_cost += options.cost_model == CostModel::paper
                              ? tile * gather.factor
                              : tile * (gather.factor - 1) * options.element_bytes;
      if (resident && tile + tile * gather.factor > *resident) return std::nullopt;
      tile *= gather.factor;
    }
    if (!permutable(static_cast<Size>(level))) return std::nullopt;
    auto digits = unify(problem, choice.path);
    choice.permute = !digits;
    choice.digits = digits ? *digits : default_digits(problem, choice.path);
    return choice;
  }
  choice.weak_cost = *least;
  // Cheapest first; among equals the smallest valley, where a permutation costs least.
  std::stable_sort(levels.begin(), levels.end(), [](const LevelResult& a, const LevelResult& b) {
    return std::pair{*a.best, a.level} < std::pair{*b.best, b.level};
  });
  std::optional<Wide> cost;
  for (const LevelResult& level : levels) {
    if (cost && *level.best >= *cost) break;
    Offer offer = offer_of(space, problem, level, resident);
    if (offer.exact) {
      choice.path = std::move(offer.exact->first);
      choice.digits = std::move(offer.exact->second);
      choice.permute = false;
      return choice;  // later levels are no cheaper
    }
    const Wide permuted = *level.best + space.permute_cost(level.level);
    if (permutable(level.level) && (!cost || permuted < *cost)) {
      cost = permuted;
      choice.digits = default_digits(problem, offer.first);
      choice.path = std::move(offer.first);
      choice.permute = true;
    }
  }
  if (!cost) return std::nullopt;
  return choice;
}

Result<void> check_arguments(const Problem& problem, Size element_bytes) {
  if (problem.from.is_explicit() || problem.to.is_explicit() || !problem.from.is_compact() ||
      !problem.to.is_compact()) {
    return refuse(
        {.code = Code::unsupported, .message = "only tilings given by digits can be planned"});
  }
  if (element_bytes < 1) {
    return refuse({.code = Code::bad_argument, .message = "an element has at least one byte"});
  }
  return {};
}

std::optional<Wide> resident_limit(const PlanOptions& options) {
  if (!options.memory_limit_bytes) return std::nullopt;
  return *options.memory_limit_bytes / options.element_bytes;
}

}  // namespace

std::string_view collective_name(Collective collective) {
  switch (collective) {
    case Collective::dynslice:
      return "dynslice";
    case Collective::alltoall:
      return "alltoall";
    case Collective::allpermute:
      return "allpermute";
    case Collective::allgather:
      return "allgather";
  }
  return "";
}

Result<Plan> plan(const Problem& problem, const PlanOptions& options) {
  if (const auto checked = check_arguments(problem, options.element_bytes); !checked)
    return refuse(checked.error());
  const auto choice = choose(problem, options, resident_limit(options));
  if (!choice) {
    return refuse({.code = Code::infeasible,
                   .message = fmt::format("no plan holds at most {} bytes at every step",
                                          options.memory_limit_bytes.value_or(0))});
  }
  std::optional<Placement> placement;
  if (choice->permute) placement = place_permutation(problem, choice->path, choice->digits);
  auto made = assemble(problem, options, choice->path, choice->digits, std::move(placement));
  if (!made) return made;
  made->states = choice->states;
  made->weak_cost = static_cast<Size>(choice->weak_cost);  // at most the cost, which fits
  made->complete = choice->complete;
  if (const auto limit = resident_limit(options)) {
    RETILE_ASSERT(made->resident <= *limit, "a plan under a memory limit obeys it");
  }

  // S5: whoever does not reach the target by slices alone pays for at least one tile of the target
  // (paper's model). A permutation at W = 0 means just that the lists are no suffixes.
  const bool reaches_by_slices = made->cost == 0;
  Wide bound = 0;
  if (options.cost_model == CostModel::bytes) {
    bound = missing_bytes(problem, options.element_bytes);
  } else if (!reaches_by_slices) {
    // Under a memory limit W is that of the paths within it, which bounds no others.
    const bool proved = choice->complete && !options.memory_limit_bytes;
    bound = std::max<Wide>(proved ? choice->weak_cost : 0, problem.to.tile_size());
  }
  made->lower_bound = static_cast<Size>(std::min<Wide>(bound, made->cost));
  made->optimal = made->cost == made->lower_bound;
  return made;
}

Result<Size> smallest_feasible_bytes(const Problem& problem, Size element_bytes) {
  if (const auto checked = check_arguments(problem, element_bytes); !checked)
    return refuse(checked.error());
  const WeakSpace space(problem, {});
  // What a plan holds at most is one of these: an end, two valley tiles, or the last gather with
  // factor f, L2 + L2/f.
  std::set<Wide> candidates{problem.from.tile_size(), problem.to.tile_size()};
  for (const Size level : space.levels()) candidates.insert(2 * static_cast<Wide>(level));
  const Wide target = problem.to.tile_size();
  for (Size d = 1; d * d <= problem.from.devices(); ++d) {
    if (problem.from.devices() % d != 0) continue;
    for (const Size factor : {d, problem.from.devices() / d}) {
      if (factor > 1 && target % factor == 0) candidates.insert(target + target / factor);
    }
  }
  std::vector<Wide> sorted(candidates.begin(), candidates.end());
  const auto feasible = [&](Wide limit) { return choose(problem, {}, limit).has_value(); };
  const auto least = std::partition_point(sorted.begin(), sorted.end(),
                                          [&](Wide limit) { return !feasible(limit); });
  if (least == sorted.end() || *least > std::numeric_limits<Size>::max() / element_bytes) {
    return refuse({.code = Code::size_overflow,
                   .message = "the smallest feasible limit does not fit in 63 bits"});
  }
  return static_cast<Size>(*least) * element_bytes;
}

}  // namespace retile
