/// Every sequence of a space up to a length, for constructions that rewrite sequences.
#pragma once

#include <numeric>

#include "normal_form_search.h"
#include "spec/sec4_weak_normal_form.h"
#include "spec/sec6_lowering.h"
#include "values.h"

namespace spec {

/// States, and from each of them every step with the number of the state to which it leads.
template <class State, class P>
struct Steps {
  std::vector<State> states;
  std::vector<std::vector<std::pair<P, Index>>> from;
};

template <class State, class P, class StepsFrom, class Apply>
Steps<State, P> steps_between(const std::vector<State>& states, const StepsFrom& steps_from,
                              const Apply& next) {
  Steps<State, P> out = {states, {}};
  const auto number = [&](const State& state) {
    return static_cast<Index>(std::find(states.begin(), states.end(), state) - states.begin());
  };
  for (const State& state : states) {
    out.from.emplace_back();
    for (const P& p : steps_from(state)) out.from.back().push_back({p, number(next(p, state))});
  }
  return out;
}

/// Fig. 8: one axis at a time, allpermutes to every other type.
inline Steps<Type, Collective> strong_steps(const Space& space) {
  const Mesh& H = space.H;
  const auto types = all_types(H, space.g);
  return steps_between<Type, Collective>(
      types, [&](const Type& tau) { return collectives_from(H, tau, types); },
      [&](const Collective& p, const Type& tau) { return *apply(H, p, tau); });
}

/// Sec. 7.1: lists of axes.
inline Steps<Type, MultiCollective> multi_steps(const Space& space) {
  const Mesh& H = space.H;
  const auto types = all_types(H, space.g);
  return steps_between<Type, MultiCollective>(
      types, [&](const Type& tau) { return steps_from(H, tau, false, types); },
      [&](const MultiCollective& p, const Type& tau) { return *apply(H, p, tau); });
}

/// Def. 5.3: prime factors, or any.
inline Steps<Sizes, WeakCollective> weak_steps(const Space& space, bool one_axis) {
  const Sizes& g = space.g;
  const Size delta = device_count(space.H).value();
  return steps_between<Sizes, WeakCollective>(
      all_localtypes(delta, g), [&](const Sizes& c) { return weak_steps(delta, g, c, one_axis); },
      [&](const WeakCollective& p, const Sizes& c) { return *weak_step(delta, g, p, c); });
}

inline DeviceMap identity(const Mesh& H) {
  DeviceMap phi(static_cast<Index>(device_count(H).value()));
  std::iota(phi.begin(), phi.end(), Size{0});
  return phi;
}

/// T⟦τ⟧ with tile numbers, device by device.
inline TileMap tiles(const Mesh& H, const Type& tau) {
  return physical(H, {identity(H), tau}).value();
}

/// ⇒ between T⟦τ⟧ and T⟦τ'⟧: what p does to tiles. The digits of a dynslice are the coordinates of
/// its axis.
inline PhysicalStep low_level(const Mesh& H, const Collective& p, const TileMap& f,
                              const TileMap& f_1) {
  PhysicalStep out = {p.p, p.i, p.j, 1, {}, {}};
  if (p.p == Op::allpermute) out.pi = permutation(f, f_1).value();
  if (p.p == Op::allgather || p.p == Op::alltoall) out.n = f_1.c[p.i] / f.c[p.i];
  if (p.p == Op::dynslice) {
    out.n = lookup(H, p.x).value();
    for (const Sizes& t : f_1.t) out.e.push_back(t[p.i] % out.n);
  }
  return out;
}

/// ⇒ between the base offset maps of all types, one axis at a time.
inline Steps<TileMap, PhysicalStep> low_level_steps(const Space& space) {
  const auto strong = strong_steps(space);
  Steps<TileMap, PhysicalStep> out;
  for (const Type& tau : strong.states) out.states.push_back(tiles(space.H, tau));
  for (Index k = 0; k < strong.from.size(); ++k) {
    out.from.emplace_back();
    for (const auto& [p, to] : strong.from[k]) {
      out.from[k].push_back({low_level(space.H, p, out.states[k], out.states[to]), to});
    }
  }
  return out;
}

/// visit(σ_0, p, σ_n) for every sequence p of 1 to `length` steps.
template <class State, class P, class Visit>
void for_each_walk(const Steps<State, P>& steps, Index length, const Visit& visit) {
  std::vector<P> p;
  const auto walk = [&](const auto& self, Index first, Index at) -> void {
    if (!p.empty()) visit(steps.states[first], p, steps.states[at]);
    if (p.size() == length) return;
    for (const auto& step : steps.from[at]) {
      p.push_back(step.first);
      self(self, first, step.second);
      p.pop_back();
    }
  };
  for (Index first = 0; first < steps.states.size(); ++first) walk(walk, first, first);
}

/// Mesh and rank, for counts.
inline std::string mesh_and_rank(const Space& space) {
  return to_text(space.H) + " rank " + std::to_string(space.g.size());
}

/// Those of `spaces` that have at most so many types.
inline std::vector<Space> with_types(const std::vector<Space>& spaces, std::size_t most_types) {
  std::vector<Space> out;
  for (const Space& space : spaces) {
    if (all_types(space.H, space.g).size() <= most_types) out.push_back(space);
  }
  return out;
}

}  // namespace spec
