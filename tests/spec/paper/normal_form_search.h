/// Searches for normal forms, to hold the constructions of Sec. 4 against, and random sequences.
#pragma once

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "spec/paper/sec4_normal_form.h"
#include "spec/paper/sec7_multi_axis.h"
#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec {

inline std::string letters(const std::vector<Op>& p) {
  std::string out;
  for (const Op q : p) out += "GDAP"[static_cast<int>(q)];
  return out;
}

/// Measures that do not fall with every rewriting.
inline std::map<std::string, MeasureOf> wrong_measures() {
  return {{"the sum of the interior localsizes",
           [](const Sizes& s) {
             const Measure m = measure(s);
             return Measure{std::accumulate(m.begin(), m.end(), Size{0})};
           }},
          {"the largest interior localsize",
           [](const Sizes& s) {
             const Measure m = measure(s);
             return m.empty() ? m : Measure{m.front()};
           }},
          {"how many interior states",
           [](const Sizes& s) { return Measure{static_cast<Size>(measure(s).size())}; }}};
}

/// Every list of distinct axes of H, or every single axis.
inline std::vector<Names> lists_of_axes(const Mesh& H, bool one_axis) {
  std::vector<Names> out, last = {Names()};
  for (Index length = 1; length <= (one_axis ? 1 : H.size()); ++length) {
    std::vector<Names> longer;
    for (const Names& xs : last) {
      for (const Axis& alpha : H) {
        if (std::find(xs.begin(), xs.end(), alpha.x) == xs.end()) {
          longer.push_back(cons(alpha.x, xs));
        }
      }
    }
    out.insert(out.end(), longer.begin(), longer.end());
    last = longer;
  }
  return out;
}

/// Every collective that applies to τ, allpermutes to all other types of its localtype in `types`.
inline std::vector<MultiCollective> steps_from(const Mesh& H, const Type& tau, bool one_axis,
                                               const std::vector<Type>& types) {
  std::vector<MultiCollective> out;
  const auto add = [&](const MultiCollective& p) {
    if (apply(H, p, tau)) out.push_back(p);
  };
  for (Index i = 0; i < rank(tau); ++i) {
    for (const Names& x : lists_of_axes(H, one_axis)) {
      add({Op::dynslice, i, 0, x, {}});
      if (!after(x, tau[i].xs)) continue;
      add({Op::allgather, i, 0, x, {}});
      for (Index j = 0; j < rank(tau); ++j) add({Op::alltoall, i, j, x, {}});
    }
  }
  for (const Type& sigma : types) {
    if (sigma != tau && t_permute(tau, sigma)) out.push_back({Op::allpermute, 0, 0, {}, sigma});
  }
  return out;
}

/// The same with one axis, as collectives of Fig. 8.
inline std::vector<Collective> collectives_from(const Mesh& H, const Type& tau,
                                                const std::vector<Type>& types) {
  std::vector<Collective> out;
  for (const auto& [op, i, j, x, to] : steps_from(H, tau, true, types)) {
    out.push_back({op, i, j, x.empty() ? "" : x.front(), to});
  }
  return out;
}

/// x̄_0, ..., x̄_{r-1}; with the globaltype they say the type.
inline std::vector<Names> axis_lists(const Type& tau) {
  std::vector<Names> out;
  for (const Dim& d : tau) out.push_back(d.xs);
  return out;
}

/// The least number of steps of a normal form from σ to each type that one reaches.
inline std::map<std::vector<Names>, Index> normal_form_lengths(const Mesh& H, const Type& sigma,
                                                               bool one_axis,
                                                               const std::vector<Type>& types) {
  std::map<std::vector<Names>, Index> out = {{axis_lists(sigma), 0}};
  using State = std::pair<Type, int>;  // phase 0: dynslice; 1: flat; 2: allgather
  std::set<std::pair<std::vector<Names>, int>> seen = {{axis_lists(sigma), 0}};
  std::vector<State> now = {{sigma, 0}};
  for (Index length = 1; !now.empty(); ++length) {
    std::vector<State> next;
    for (const State& state : now) {
      for (const MultiCollective& p : steps_from(H, state.first, one_axis, types)) {
        const int phase = p.p == Op::dynslice ? 0 : p.p == Op::allgather ? 2 : 1;
        if (phase < state.second) continue;
        const Type tau = *apply(H, p, state.first);
        if (!seen.insert({axis_lists(tau), phase}).second) continue;
        out.insert({axis_lists(tau), length});
        next.push_back({tau, phase});
      }
    }
    now = next;
  }
  return out;
}

/// A number below n.
inline Index draw(std::mt19937& random, Index n) {
  return std::uniform_int_distribution<Index>(0, n - 1)(random);
}

/// One of the steps; nullopt when there is none. Labels are equally likely where several occur;
/// else almost every step would be an allpermute.
template <class Step>
std::optional<Step> draw_step(std::mt19937& random, const std::vector<Step>& steps) {
  std::map<Op, std::vector<Step>> by_label;
  for (const Step& p : steps) by_label[p.p].push_back(p);
  if (by_label.empty()) return std::nullopt;
  auto label = by_label.begin();
  std::advance(label, static_cast<std::ptrdiff_t>(draw(random, by_label.size())));
  return label->second[draw(random, label->second.size())];
}

/// A sequence of up to 12 steps from one of the types of a mesh, to others of them.
template <class Step>
struct Walk {
  Mesh H;
  Type tau;
  std::vector<Step> p;
};
template <class Step, class StepsFrom>
Walk<Step> random_walk(std::mt19937& random, const Mesh& H, const std::vector<Type>& types,
                       const StepsFrom& steps_from_type) {
  Walk<Step> out = {H, types[draw(random, types.size())], {}};
  Type sigma = out.tau;
  for (Index length = draw(random, 13); length > 0; --length) {
    const std::optional<Step> p = draw_step<Step>(random, steps_from_type(sigma));
    if (!p) break;
    out.p.push_back(*p);
    sigma = *apply(H, *p, sigma);
  }
  return out;
}

}  // namespace spec
