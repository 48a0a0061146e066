// Other ways to redistribute, written from their published descriptions, to compare plans with.
//
// All are counted as Fig. 11 counts: elements per device, an allgather its result, an alltoall or a
// permutation its input, a dynslice nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/plan/realise.h"
#include "retile/plan/weak_search.h"
#include "support/random_problems.h"
#include "support/values.h"

namespace baselines {

using retile::Problem;
using retile::Shape;
using retile::Size;

/// What a way costs, its largest tile, and how many steps it takes.
struct Outcome {
  Size cost = 0;
  Size height = 0;
  int steps = 0;
};

/// Keeps the tile size and adds up.
class Count {
 public:
  explicit Count(const Problem& problem) : tile_(problem.from.tile_size()) {
    out_.height = std::max(tile_, problem.to.tile_size());
  }
  void gather(Size n) {
    tile_ *= n;
    step(tile_);
  }
  void slice(Size n) {
    tile_ /= n;
    step(0);
  }
  void move() { step(tile_); }
  [[nodiscard]] const Outcome& outcome() const { return out_; }

 private:
  void step(Size cost) {
    out_.cost += cost;
    out_.height = std::max(out_.height, tile_);
    ++out_.steps;
  }
  Size tile_;
  Outcome out_;
};

/// Every dimension gathered, smallest factor first, then all sliced. Nothing where nothing changes.
inline Outcome gather_then_slice(const Problem& problem) {
  Count count(problem);
  if (problem.spelling->from == problem.spelling->to) return count.outcome();
  const auto factors = [](const retile::Layout& map) {
    std::vector<Size> out;
    for (std::size_t i = 0; i < map.rank(); ++i) {
      const Size n = map.global()[i] / map.tile()[i];
      if (n > 1) out.push_back(n);
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  for (const Size n : factors(problem.from)) count.gather(n);
  for (const Size n : factors(problem.to)) count.slice(n);
  return count.outcome();
}

/// Where each mesh axis is: on a dimension, or nowhere (replicated).
using Placement = std::vector<std::optional<std::size_t>>;

/// Nothing when some dimension lists its axes in another order than the mesh, last axis minor-most.
inline std::optional<Placement> placement(const retile::Mesh& mesh, const retile::DistType& type) {
  const auto& axes = mesh.axes();
  Placement out(axes.size());
  for (std::size_t i = 0; i < type.dims().size(); ++i) {
    std::size_t last = axes.size();
    for (const std::string& name : type.dims()[i].axes) {
      std::size_t a = 0;
      while (axes[a].name != name) ++a;
      if (a > last) return std::nullopt;
      last = a;
      out[a] = i;
    }
  }
  return out;
}

/// One mesh axis at a time, greedily: inner to outer, each axis goes where it should be, or is
/// gathered if the axes outside of it do not yet lie on its new dimension as they should; then
/// outer to inner, what is left. Nothing where axes do not stand in the order of the mesh.
inline std::optional<Outcome> axis_by_axis(const Problem& problem) {
  const auto from = placement(problem.spelling->mesh, support::from_type(problem));
  const auto to = placement(problem.spelling->mesh, support::to_type(problem));
  if (!from || !to) return std::nullopt;
  Placement here = *from;
  Count count(problem);
  const auto put = [&](std::size_t a, std::optional<std::size_t> dim) {
    const Size n = problem.spelling->mesh.axes()[a].size;
    if (here[a] == dim) return;
    if (!here[a]) {
      count.slice(n);
    } else if (!dim) {
      count.gather(n);
    } else {
      count.move();
    }
    here[a] = dim;
  };
  for (std::size_t a = here.size(); a-- > 0;) {
    std::optional<std::size_t> dim = (*to)[a];
    for (std::size_t b = 0; b < a && dim; ++b) {
      if ((here[b] == dim) != ((*to)[b] == dim)) dim = std::nullopt;
    }
    put(a, dim);
  }
  for (std::size_t a = 0; a < here.size(); ++a) put(a, (*to)[a]);
  return count.outcome();
}

/// Latency and bandwidth of one step: microseconds, and elements per microsecond.
struct Network {
  double latency = 10;
  double bandwidth = 12500;  // 50 GB/s of 4-byte elements
};

/// A shortest path over types, one mesh axis per step (T-ALLGATHER, T-DYNSLICE, T-ALLTOALL of
/// Fig. 8), by latency and bandwidth, without a bound on memory and without permutations.
inline Outcome one_axis_shortest_path(const Problem& problem, const Network& network) {
  const auto& axes = problem.spelling->mesh.axes();
  const std::size_t rank = problem.from.rank();
  using State = std::string;  // the axes of each dimension, minor to major, ended by a dot
  const auto state_of = [&](const retile::DistType& type) {
    State out;
    for (const auto& dim : type.dims()) {
      for (const std::string& name : dim.axes) {
        for (std::size_t a = 0; a < axes.size(); ++a) {
          if (axes[a].name == name) out += static_cast<char>('a' + a);
        }
      }
      out += '.';
    }
    return out;
  };
  struct Node {
    double time = 0;
    State before;
    char op = 0;  // how it was reached: g, s or m, by factor
    Size factor = 1;
    bool done = false;
  };
  std::unordered_map<State, Node> nodes;
  using Entry = std::pair<double, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const State start = state_of(support::from_type(problem));
  const State end = state_of(support::to_type(problem));
  nodes[start] = {};
  open.emplace(0, start);
  const Size global = problem.from.global_size();
  while (nodes.count(end) == 0 || !nodes.at(end).done) {
    const auto [time, state] = open.top();
    open.pop();
    Node& node = nodes[state];
    if (node.done) continue;
    node.done = true;
    Size tile = global;
    std::vector<Size> extent = problem.from.global();
    std::vector<std::size_t> begin{0};
    std::vector<bool> used(axes.size(), false);
    for (std::size_t k = 0; k < state.size(); ++k) {
      if (state[k] == '.') {
        begin.push_back(k + 1);
        continue;
      }
      const auto a = static_cast<std::size_t>(state[k] - 'a');
      used[a] = true;
      tile /= axes[a].size;
      extent[begin.size() - 1] /= axes[a].size;
    }
    const auto reach = [&, from = state, at = time](State next, char op, Size n, Size moved) {
      const double total = at + network.latency + static_cast<double>(moved) / network.bandwidth;
      const auto [known, fresh] = nodes.try_emplace(next, Node{total, from, op, n, false});
      if (!fresh) {
        if (known->second.done || known->second.time <= total) return;
        known->second = {total, from, op, n, false};
      }
      open.emplace(total, std::move(next));
    };
    for (std::size_t i = 0; i < rank; ++i) {
      if (state[begin[i]] != '.') {
        const auto a = static_cast<std::size_t>(state[begin[i]] - 'a');
        const Size n = axes[a].size;
        State without = state;
        without.erase(begin[i], 1);
        reach(without, 'g', n, tile * n);
        for (std::size_t j = 0; j < rank; ++j) {
          if (j == i || extent[j] % n != 0) continue;
          State with = without;
          with.insert(begin[j] - (j > i ? 1 : 0), 1, state[begin[i]]);
          reach(with, 'm', n, tile);
        }
      }
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (used[a] || extent[i] % axes[a].size != 0) continue;
        State with = state;
        with.insert(begin[i], 1, static_cast<char>('a' + a));
        reach(with, 's', axes[a].size, 0);
      }
    }
  }
  std::vector<std::pair<char, Size>> steps;
  for (State at = end; at != start; at = nodes[at].before) {
    steps.emplace_back(nodes[at].op, nodes[at].factor);
  }
  Count count(problem);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->first == 'g') count.gather(step->second);
    if (step->first == 's') count.slice(step->second);
    if (step->first == 'm') count.move();
  }
  return count.outcome();
}

/// The planner of the paper (Secs. 7.2, 7.3): a shortest weak path, axes taken from the target
/// where that helps, else one allpermute in front of the trailing allgathers; ties at random.
template <class Key>
Outcome paper_planner(const Problem& problem, const retile::Plan& plan, support::Random& random) {
  const retile::PlanOptions options;
  const retile::WeakSpace space(problem, options);
  retile::SearchLimits limits{{}, retile::Size{1} << 30};
  std::vector<std::unique_ptr<retile::LevelSearch<Key>>> searches;
  std::vector<retile::LevelSearch<Key>*> cheapest;
  for (const retile::Level& level : space.levels()) {
    if (space.absolute(level.bound, level) > plan.weak_cost) continue;
    searches.push_back(std::make_unique<retile::LevelSearch<Key>>(
        space, level, limits, space.relative(plan.weak_cost, level)));
    searches.back()->settle_best();
    const auto best = searches.back()->best();
    if (best && space.absolute(*best, level) == plan.weak_cost) {
      cheapest.push_back(searches.back().get());
    }
  }
  const auto pick = [&](std::size_t count) {
    return static_cast<std::size_t>(support::draw(random, 0, static_cast<Size>(count) - 1));
  };
  retile::LevelSearch<Key>& search = *cheapest[pick(cheapest.size())];
  const retile::Relative best = *search.best();
  search.settle_all(best);
  std::vector<std::uint32_t> bottoms;
  for (const std::uint32_t bottom : search.bottoms()) {
    if (search.node(bottom).cost == best) bottoms.push_back(bottom);
  }
  std::uint32_t at = bottoms[pick(bottoms.size())];
  retile::WeakPath path;
  for (std::size_t i = 0; i < space.rank(); ++i) {
    const retile::Lane slice = search.lane(search.node(at).key, i) - space.source(i);
    if (slice != 0) path.slices.push_back({space.dim(i), space.factor(slice)});
  }
  while (true) {
    const auto& node = search.node(at);
    std::vector<std::pair<std::uint32_t, retile::WeakPath::Move>> ways;
    search.for_each_move(node.key, [&](std::size_t i, std::size_t j, const retile::Block& block) {
      const auto next = search.find(search.moved(node.key, i, j, block.lane));
      if (next && search.node(*next).settled && search.node(*next).cost + block.cost == node.cost) {
        ways.push_back({*next, {space.dim(i), space.dim(j), block.factor}});
      }
      return false;
    });
    const bool may_end = search.gather_cost(node.key) == node.cost;
    const std::size_t way = pick(ways.size() + (may_end ? 1 : 0));
    if (way == ways.size()) break;
    path.moves.push_back(ways[way].second);
    at = ways[way].first;
  }
  for (std::size_t i = 0; i < space.rank(); ++i) {
    const retile::Lane gather = search.lane(search.node(at).key, i) - space.target(i);
    if (gather != 0) path.gathers.push_back({space.dim(i), space.factor(gather)});
  }
  path.sort_gathers();
  Count count(problem);
  for (const auto& slice : path.slices) count.slice(slice.factor);
  for (std::size_t k = 0; k < path.moves.size(); ++k) count.move();
  if (!retile::unify(problem, path)) count.move();  // the permutation
  for (const auto& gather : path.gathers) count.gather(gather.factor);
  return count.outcome();
}

}  // namespace baselines
