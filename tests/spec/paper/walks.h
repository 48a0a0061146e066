/// All sequences of a space up to a length, or every k-th of them, for constructions that rewrite
/// sequences.
#pragma once

#include "normal_form_search.h"
#include "spec/paper/sec4_weak_normal_form.h"
#include "spec/paper/sec6_lowering.h"
#include "tests/spec/values.h"

namespace spec {

/// The first number in an ordinary run, the second in a slow one.
template <class N>
constexpr N ordinary_or_slow([[maybe_unused]] N ordinary, [[maybe_unused]] N slow) {
#ifdef RETILE_SLOW_TESTS
  return slow;
#else
  return ordinary;
#endif
}

/// 1 if there are at most `most` of `all`; else the least prime k such that every k-th of them are
/// at most `most`. A prime, so that it does not fall into step with the ways on from a state.
inline Size stride(Size all, Size most) {
  Size k = all <= most ? 1 : (all + most - 1) / most;
  while (k > 1 && prime_factors(k).size() > 1) ++k;
  return k;
}

/// What is wrong with the normal form of τ_1 -p-> τ_2 over one axis or several; empty when nothing
/// is.
template <class Step, class Lemma>
std::string normal_form_flaw(const Mesh& H, const Type& tau_1, const std::vector<Step>& p,
                             const Type& tau_2, const Choose& choose, const Lemma& lemma) {
  std::vector<Step> nf = p;
  try {
    const auto r = normalize(H, tau_1, p, choose, lemma);
    if (!r) return "not well-typed";
    if (!r->rewrites.empty()) nf = r->rewrites.back().p;
  } catch (const std::logic_error& error) {
    return error.what();
  }
  const auto s = sequence(H, tau_1, nf);
  if (!s || s->sigma.back() != tau_2) return "another end";
  if (!is_normal_form(s->p)) return "not a normal form";
  if (!is_memory_constrained(*s)) return "above the bound";
  return "";
}

/// How much was visited of the spaces of one mesh, rank and divisibility.
struct Covered {
  std::size_t spaces = 0, whole = 0;
  Size visited = 0, all = 0, largest_k = 1;
};
using Coverage = std::map<std::string, Covered>;

/// Full: every axis list of H can split every dimension (δ | g_i); else partial.
inline std::string row_of(const Space& space) {
  bool full = true;
  for (const Size g_i : space.g) full = full && g_i % device_count(space.H).value() == 0;
  return to_text(space.H) + " rank " + std::to_string(space.g.size()) +
         (full ? " full" : " partial");
}

/// Notes a space of which every k-th of `all` is visited.
inline void note(Coverage& rows, const Space& space, Size all, Size k) {
  Covered& row = rows[row_of(space)];
  ++row.spaces;
  row.whole += k == 1 ? 1U : 0U;
  row.visited += (all + k - 1) / k;
  row.all += all;
  row.largest_k = std::max(row.largest_k, k);
}

/// Prints the rows; expects six meshes, ranks 1 to 3, full and partial, with more than `least` of
/// each, and as many in all as were visited.
inline void expect_rows(const char* what, const Coverage& rows, Size least, std::size_t visited) {
  Covered sum;
  for (const auto& [text, row] : rows) {
    std::cout << "  " << text << ": " << row.visited << " of " << row.all << " " << what << ", "
              << row.whole << " of " << row.spaces << " spaces whole, k <= " << row.largest_k
              << "\n";
    EXPECT_GT(row.visited, least) << what << " over " << text;
    sum.visited += row.visited;
    sum.all += row.all;
    sum.whole += row.whole;
    sum.spaces += row.spaces;
  }
  std::cout << what << ": " << sum.visited << " of " << sum.all << ", " << sum.whole << " of "
            << sum.spaces << " spaces whole\n";
  EXPECT_EQ(rows.size(), 36U) << what;
  EXPECT_EQ(static_cast<std::size_t>(sum.visited), visited) << what;
}

/// States by number, and from each of them every step with the number of the state it leads to.
template <class State, class P>
struct Steps {
  std::vector<State> states;
  std::vector<std::vector<std::pair<P, Index>>> from;

  Index starts() const { return states.size(); }
  Index start(Index at) const { return at; }
  const State& state(Index at) const { return states[at]; }
  const auto& steps(Index at) const { return from[at]; }
  const P& collective(const std::pair<P, Index>& step, Index) const { return step.first; }
  Index after(const std::pair<P, Index>& step, const P&, Index) const { return step.second; }
  /// How many sequences of 1 to n steps there are.
  Size walks(Index at, Index n) const {
    if (n == 0) return 0;
    const auto [kept, is_new] = walks_.try_emplace({at, n}, 0);
    if (is_new) {
      Size sum = 0;
      for (const auto& step : from[at]) sum += 1 + walks(step.second, n - 1);
      kept->second = sum;
    }
    return kept->second;
  }
  Size walks_after(const std::pair<P, Index>& step, Index, Index n) const {
    return walks(step.second, n);
  }

  mutable std::map<std::pair<Index, Index>, Size> walks_ = {};
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

/// T⟦τ⟧ with tile numbers, device by device.
inline TileMap tiles_of(const Mesh& H, const Type& tau) {
  return physical(H, {identity(H), tau}).value();
}

/// What a step p of Fig. 8 from T⟦τ⟧ to T⟦τ'⟧ does to tiles, a small part of ⇒: the axis stands in
/// front, and the digits of a dynslice are its coordinates.
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

/// A tile map of the class with localtype c, in order of the tiles.
inline TileMap some_map(Size delta, const Sizes& g, const Sizes& c) {
  std::vector<Sizes> all = {Sizes()};
  for (Index i = 0; i < g.size(); ++i) {
    std::vector<Sizes> longer;
    for (const Sizes& t : all) {
      for (Size t_i = 0; t_i < g[i] / c[i]; ++t_i) {
        longer.push_back(t);
        longer.back().push_back(t_i);
      }
    }
    all = longer;
  }
  TileMap f = {g, c, {}};
  while (static_cast<Size>(f.t.size()) < delta) f.t.insert(f.t.end(), all.begin(), all.end());
  std::sort(f.t.begin(), f.t.end());
  return f;
}

constexpr Size too_many = Size{1} << 40;

/// How many maps there are from N·k devices to N tiles that give each tile k devices: (Nk)! / k!^N.
inline Size balanced_maps(Size N, Size k) {
  Size out = 1, devices = 0;
  for (Size tile = 0; tile < N; ++tile) {
    for (Size holder = 1; holder <= k; ++holder) {
      out = times(out, ++devices).value_or(0) / holder;  // a multinomial coefficient at every step
      if (out == 0 || out > too_many) return too_many;
    }
  }
  return out;
}

/// How many tile maps the class of f has.
inline Size maps_of_class(const TileMap& f) {
  Size N = 1;
  for (Index i = 0; i < f.g.size(); ++i) N *= f.g[i] / f.c[i];
  return balanced_maps(N, static_cast<Size>(f.t.size()) / N);
}

/// What is enumerated of ⇒ where there is too much of it.
struct LowLevelBound {
  // Starts: all tile maps of a class of at most so many; else those of its types and some more.
  Size maps = 24;
  Index more = 4;
  // Allpermutes: to every tile map of a class of at most so many; else by some π.
  Size pis = 24;
  Index some = 4;
  // Dynslices: all balanced digits, where there are at most so many; else so many of them, up to
  // half of which are coordinates of axes.
  Size digits = 24;
  Index chosen = 8;
};

/// ⇒ on tile maps, semantic or not: every allgather and alltoall of every factor, prime or not, and
/// of the dynslices and allpermutes what the bound says. Where a bound is met, the π, the digits
/// and the starts that are no T⟦τ⟧ come from a fixed list of random orders of the devices. How many
/// steps there are depends on the class alone.
class LowLevel {
 public:
  LowLevel(Space space, const LowLevelBound& bound) : space_(std::move(space)), bound_(bound) {
    std::mt19937 random(610);
    Sizes order = identity(space_.H);
    for (int k = 0; k < 100; ++k) {
      std::shuffle(order.begin(), order.end(), random);
      orders_.push_back(order);
    }
    for (const Names& x : lists_of_axes(space_.H, false)) {
      const Size n = lookup(space_.H, x).value();
      Sizes e;
      for (const Sizes& t : tiles_of(space_.H, {{1, x, n}}).t) e.push_back(t[0]);
      coordinates_[n].push_back(e);
    }
    std::map<Sizes, std::vector<TileMap>> of_types;
    for (const Type& tau : all_types(space_.H, space_.g)) {
      of_types[localtype(tau)].push_back(tiles_of(space_.H, tau));
    }
    for (auto& [c, maps] : of_types) {
      TileMap f = some_map(delta(), space_.g, c);
      if (maps_of_class(f) <= bound_.maps) {
        do {
          starts_.push_back(f);
        } while (std::next_permutation(f.t.begin(), f.t.end()));
        continue;
      }
      starts_.insert(starts_.end(), maps.begin(), maps.end());
      for (Index k = 0; k < bound_.more; ++k) starts_.push_back(*allpermute(f, orders_[k]));
    }
  }

  Index starts() const { return starts_.size(); }
  const TileMap& start(Index at) const { return starts_[at]; }
  const TileMap& state(const TileMap& f) const { return f; }
  /// A step, its digits and π still to be chosen: by number, of so many.
  struct Step {
    Op p;
    Index i, j;
    Size n;
    Index number, of;
  };
  const std::vector<Step>& steps(const TileMap& f) const { return steps_of_class(f.c); }
  PhysicalStep collective(const Step& step, const TileMap& f) const {
    const auto& [p, i, j, n, number, of] = step;
    PhysicalStep out = {p, i, j, n, {}, {}};
    if (p != Op::dynslice && p != Op::allpermute) return out;
    const auto all = p == Op::dynslice ? digits(f, i, n) : pis(f);
    if (all.size() != of) throw std::logic_error("the steps from a class differ in number");
    (p == Op::dynslice ? out.e : out.pi) = all[number];
    return out;
  }
  TileMap after(const Step&, const PhysicalStep& p, const TileMap& f) const {
    return apply(p, f).value();
  }
  Size walks(const TileMap& f, Index n) const { return walks_of_class(f.c, n); }
  Size walks_after(const Step& step, const TileMap& f, Index n) const {
    return n == 0 ? 0 : walks_of_class(class_after(step, f.c), n);
  }

 private:
  Size delta() const { return device_count(space_.H).value(); }
  Sizes class_after(const Step& p, const Sizes& c) const {
    if (p.p == Op::allpermute) return c;
    return weak_step(delta(), space_.g, {p.p, p.i, p.j, p.n}, c).value();
  }
  Size walks_of_class(const Sizes& c, Index n) const {
    if (n == 0) return 0;
    const auto known = walks_.find({c, n});
    if (known != walks_.end()) return known->second;
    Size sum = 0;
    for (const Step& step : steps_of_class(c)) {
      sum += 1 + walks_of_class(class_after(step, c), n - 1);
    }
    return walks_[{c, n}] = sum;
  }
  const std::vector<Step>& steps_of_class(const Sizes& c) const {
    const auto known = steps_.find(c);
    if (known != steps_.end()) return known->second;
    std::vector<Step>& out = steps_[c];
    const TileMap f = some_map(delta(), space_.g, c);
    const auto add = [&](const WeakCollective& p, Index of) {
      for (Index k = 0; k < of; ++k) out.push_back({p.p, p.i, p.j, p.n, k, of});
    };
    for (const WeakCollective& p : weak_steps(delta(), space_.g, c)) {
      add(p, p.p == Op::dynslice ? digits(f, p.i, p.n).size() : 1);
    }
    add({Op::allpermute, 0, 0, 1}, pis(f).size());
    return out;
  }

  /// Permutations with which allpermute applies to f.
  std::vector<Sizes> pis(const TileMap& f) const {
    if (maps_of_class(f) > bound_.pis) {
      return {orders_.begin(), orders_.begin() + static_cast<std::ptrdiff_t>(bound_.some)};
    }
    std::vector<Sizes> out;
    TileMap to = some_map(delta(), f.g, f.c);
    do {
      out.push_back(permutation(f, to).value());
    } while (std::next_permutation(to.t.begin(), to.t.end()));
    return out;
  }

  /// Digits e with which dynslice(i, n) applies to f.
  std::vector<Sizes> digits(const TileMap& f, Index i, Size n) const {
    std::vector<Sizes> out;
    Size N = 1, all = 1;
    for (Index d = 0; d < f.g.size(); ++d) N *= f.g[d] / f.c[d];
    const Size holders = delta() / N, each = balanced_maps(n, holders / n);
    for (Size tile = 0; tile < N && all <= bound_.digits; ++tile) all *= std::min(each, too_many);
    if (all <= bound_.digits) {
      std::map<Sizes, Sizes> used;  // by tile: how often each digit
      for (const Sizes& t : f.t) used.try_emplace(t, static_cast<Index>(n), 0);
      Sizes e;
      const auto extend = [&](const auto& self) -> void {
        if (e.size() == f.t.size()) {
          out.push_back(e);
          return;
        }
        Sizes& count = used.at(f.t[e.size()]);
        for (Size digit = 0; digit < n; ++digit) {
          Size& of_digit = count[static_cast<Index>(digit)];
          if (of_digit == holders / n) continue;
          ++of_digit;
          e.push_back(digit);
          self(self);
          e.pop_back();
          --of_digit;
        }
      };
      extend(extend);
      return out;
    }
    const auto add = [&](const Sizes& e) {
      if (std::find(out.begin(), out.end(), e) == out.end()) out.push_back(e);
    };
    const auto of_axes = coordinates_.find(n);
    if (of_axes != coordinates_.end()) {
      for (const Sizes& e : of_axes->second) {
        if (2 * out.size() < bound_.chosen && dynslice(f, i, n, e)) add(e);
      }
    }
    for (const Sizes& order : orders_) {
      if (out.size() == bound_.chosen) return out;
      Sizes e(order.size());
      std::map<Sizes, Size> seen;
      for (const Size d : order) {
        e[static_cast<Index>(d)] = seen[f.t[static_cast<Index>(d)]]++ % n;
      }
      add(e);
    }
    throw std::logic_error("too few orders of the devices");
  }

  Space space_;
  LowLevelBound bound_;
  std::vector<Sizes> orders_;
  std::map<Size, std::vector<Sizes>> coordinates_;
  std::vector<TileMap> starts_;
  mutable std::map<std::pair<Sizes, Index>, Size> walks_;
  mutable std::map<Sizes, std::vector<Step>> steps_;
};

/// How many sequences of 1 to `length` steps there are.
template <class Graph>
Size count_walks(const Graph& graph, Index length) {
  Size sum = 0;
  for (Index first = 0; first < graph.starts(); ++first) {
    sum += graph.walks(graph.start(first), length);
  }
  return sum;
}

/// visit(σ_0, p, σ_n) for every k-th sequence p of 1 to `length` steps.
template <class Graph, class Visit>
void for_each_walk(const Graph& graph, Index length, Size k, const Visit& visit) {
  using P =
      std::decay_t<decltype(graph.collective(graph.steps(graph.start(0)).front(), graph.start(0)))>;
  std::vector<P> p;
  Size number = 0;  // of sequences before this one
  const auto skipped = [&](Size inside) {
    if ((number + k - 1) / k * k < number + inside) return false;
    number += inside;
    return true;
  };
  const auto walk = [&](const auto& self, const auto& first, const auto& at) -> void {
    const Index left = length - p.size() - 1;
    for (const auto& step : graph.steps(at)) {
      if (skipped(1 + graph.walks_after(step, at, left))) continue;
      p.push_back(graph.collective(step, at));
      const auto next = graph.after(step, p.back(), at);
      if (number++ % k == 0) visit(graph.state(first), p, graph.state(next));
      if (left > 0) self(self, first, next);
      p.pop_back();
    }
  };
  for (Index first = 0; first < graph.starts(); ++first) {
    if (!skipped(graph.walks(graph.start(first), length))) {
      walk(walk, graph.start(first), graph.start(first));
    }
  }
}

/// All sequences of 1 to `length` steps over the spaces of at most `types` types or `walks` such
/// sequences; over each other space every k-th, k such that they are at most `walks`.
struct Bound {
  Index length, types;
  Size walks;
};
template <class Graph, class Visit>
void for_each_walk(const Space& space, const Graph& graph, const Bound& bound, Coverage& rows,
                   const Visit& visit) {
  const bool whole = all_types(space.H, space.g).size() <= bound.types;
  const Size all = count_walks(graph, bound.length);
  const Size k = whole ? 1 : stride(all, bound.walks);
  note(rows, space, all, k);
  for_each_walk(graph, bound.length, k, visit);
}

/// visit(τ_1, τ_2) for all pairs of types of a space of at most `types` types; else for every k-th,
/// k such that they are at most `pairs`.
struct PairBound {
  Index types;
  Size pairs;
};
template <class Visit>
void for_each_pair_of_types(const Space& space, const PairBound& bound, Coverage& rows,
                            const Visit& visit) {
  const auto types = all_types(space.H, space.g);
  const Size all = static_cast<Size>(types.size() * types.size());
  const Size k = types.size() <= bound.types ? 1 : stride(all, bound.pairs);
  note(rows, space, all, k);
  for (Size number = 0; number < all; number += k) {
    const Index at = static_cast<Index>(number);
    visit(types[at / types.size()], types[at % types.size()]);
  }
}

/// How often in all.
inline std::size_t sum(const Counts& counts) {
  std::size_t out = 0;
  for (const auto& [text, count] : counts) out += count;
  return out;
}

}  // namespace spec
