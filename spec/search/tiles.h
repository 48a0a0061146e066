/// Brute force: the cheapest sequence of low-level collectives from one tile map to another.
///
/// Paper: Sec. 6.2, the optimal-cost problem with or without the memory bound (4), modulo Def. 6.2.
/// Sec. 6.2 asks for one device map at both ends; modulo Def. 6.2 only the tile map at the end counts,
/// which can cost less (E30, literal.h).
/// States are all tile maps f : D → tiles, steps are the physical form in paper/fig10_low_level.h:
/// dynslice with every balanced digit, allpermute with every π. Ideas that save time; all of them
/// together are tested against a search without any (tests/spec/search/tiles_test.cpp):
///
/// 1. Backwards from f_2: one search gives the cost from every f_1. Backwards, a dynslice is
///    t_i := t_i div n, an alltoall(i,j,n) is alltoall(j,i,n), an allgather is every balanced
///    refinement.
/// 2. Devices have no names: (f_1, f_2) and (f_1 ∘ π, f_2 ∘ π) are one problem. So a state is the
///    multiset of pairs (f_2(d), f(d)), and one search serves all f_2 of one localtype.
/// 3. One node "any f of localtype c". It leads to every f of that localtype by an allpermute, and
///    by a weak step to "any" of another localtype, since every f can take every weak step (6.4):
///    in front of the last allpermute only localtypes matter.
/// 4. From f it is never farther than from "any", so an f no nearer than that is not looked at.
/// 5. Sources are asked for one by one, and the search goes on only until the answer is settled.
///    Refinements are listed only when the search has come to their cost.
#pragma once

#include <queue>
#include <stdexcept>
#include <unordered_map>

#include "along_dims.h"
#include "pairs.h"
#include "search.h"

namespace spec {

/// Which steps and which states a search over tile maps may use.
struct TileSearch {
  bool one_axis = false;       // prime factors only
  bool bounded = true;         // localsize ≤ max(localsize(τ_1), localsize(τ_2))  (4)
  bool over_partition = true;  // localsize < min(localsize(τ_1), localsize(τ_2)) is allowed
  bool permute = true;         // allpermute is allowed
  bool several_dims =
      false;  // allgathers and alltoalls along several dimensions as well (along_dims.h)
  bool normal_form = false;    // dynslice* (alltoall | allpermute)* allgather* only
  Size limit = Size{1} << 22;  // how many tile maps to look at, counted each time
};

/// The search was given up, or there are too many devices for it: nothing is known.
struct SearchLimit : std::runtime_error {
  SearchLimit() : std::runtime_error("too many tile maps to look at") {}
};

/// What a weak step does to tiles. Backwards, alltoall and dynslice are functions of tiles: `tile`
/// leads from tiles after the step to tiles before. allgather is one forwards.
struct TileStepRule {
  WeakCollective p;
  Index from = 0, to = 0;  // numbers of localtypes
  Size cost = 0;
  OfTiles tile;
};

/// The costs of reaching tile maps of one localtype c_2 from all tile maps.
class TileDistances {
 public:
  /// L_1 is the localsize of the sources, for the limits on localsizes. Throws SearchLimit, or
  /// std::invalid_argument if c_2 is no localtype.
  TileDistances(Size delta, const Sizes& g, const Sizes& c_2, Size L_1, const TileSearch& search)
      : search_(search), g_(g), c_2_(c_2) {
    if (delta > most_searched_devices) throw SearchLimit();
    if (delta < 1 || !product(g) || !is_localtype(delta, g, c_2)) {
      throw std::invalid_argument("no localtype");
    }
    const Size L_2 = size_of(c_2);
    for (const Sizes& c : all_localtypes(delta, g)) {
      if (search.bounded && size_of(c) > std::max(L_1, L_2)) continue;  // (4)
      if (!search.over_partition && size_of(c) < std::min(L_1, L_2)) continue;
      number_[c] = localtypes_.size();
      localtypes_.push_back(c);
    }
    into_.resize(localtypes_.size());
    any_.resize(3, std::vector<std::optional<Size>>(localtypes_.size()));
    near_.resize(3, std::vector<std::unordered_map<Pairs, Size>>(localtypes_.size()));
    nearest_.resize(localtypes_.size());
    for (const Sizes& c : localtypes_) {
      for (const WeakCollective& p : weak_steps(delta, g, c, search.one_axis)) {
        const auto to = number_.find(*weak_step(delta, g, p, c));
        if (to != number_.end()) into_[to->second].push_back(rule(p, number_[c], to->second));
      }
    }
    if (search.several_dims) add_along_dims();
    const TileMap u = every_tile(g, c_2);
    delta_ = static_cast<Index>(delta);
    holders_ = delta_ / u.t.size();
    Pairs f_2;
    for (Index t = 0; t < u.t.size(); ++t) f_2.append(holders_, static_cast<char>(t));
    reach(last, number_.at(c_2), f_2, 0);
  }

  /// The cost from f_1 to f_2; nullopt when no sequence leads there. Throws SearchLimit, from then
  /// on always; and std::invalid_argument if they are not balanced tile maps of δ devices and the
  /// globaltype g, f_2 is not of localtype c_2, or f_1 not within the limits that L_1 set.
  std::optional<Size> cost(const TileMap& f_1, const TileMap& f_2) {
    const auto number_1 = number_.find(f_1.c);
    if (number_1 == number_.end() || f_2.c != c_2_ || !is_of(f_1) || !is_of(f_2)) {
      throw std::invalid_argument("a tile map of which this search says nothing");
    }
    if (looks_ > search_.limit) throw SearchLimit();  // what was being looked at is lost
    return cost(number_1->second, pairs(f_2, f_1));
  }

  // What path.h walks along, where searches are not for normal forms only.
  const std::vector<Sizes>& localtypes() const { return localtypes_; }
  Index number(const Sizes& c) const { return number_.at(c); }
  const std::vector<std::vector<TileStepRule>>& into() const { return into_; }
  std::optional<Size> any(Index a) const { return any_[last][a]; }
  const std::unordered_map<Pairs, Size>& near(Index a) const { return near_[last][a]; }
  const std::optional<Pairs>& nearest(Index a) const { return nearest_[a]; }
  Index holders() const { return holders_; }

 private:
  /// f, or any f, of localtype a, and what it costs from there; or, if a step is given, all tile
  /// maps that it gathers to f. In normal forms the next step is of the phase q: 0 dynslice,
  /// 1 alltoall and allpermute, 2 allgather; otherwise q = 2.
  struct Node {
    Size cost = 0;
    bool is_any = false;
    Index q = 0, a = 0;
    Pairs f;
    const TileStepRule* gathers = nullptr;
    bool operator<(const Node& other) const {  // the cheapest is the last
      return std::tie(other.cost, other.is_any, other.q, other.a, other.f) <
             std::tie(cost, is_any, q, a, f);
    }
  };
  static constexpr Index last = 2;

  /// Whether f, of a localtype of g, is a balanced tile map of this search's devices.
  bool is_of(const TileMap& f) const {
    const auto has_rank = [&](const Sizes& t) { return t.size() == g_.size(); };
    return f.g == g_ && f.t.size() == delta_ && std::all_of(f.t.begin(), f.t.end(), has_rank) &&
           is_balanced(f);
  }

  std::optional<Size> cost(Index a, const Pairs& f) {
    while (true) {
      std::optional<Size> best;
      for (Index q = 0; q < 3; ++q) {
        const auto at = near_[q][a].find(f);
        if (at != near_[q][a].end()) best = std::min(best.value_or(at->second), at->second);
        if (any_[q][a]) best = std::min(best.value_or(*any_[q][a]), *any_[q][a]);
      }
      if (open_.empty() || (best && *best <= open_.top().cost)) return best;
      const Node node = open_.top();
      open_.pop();
      if (node.gathers) {
        refine(node);
      } else {
        node.is_any ? expand_any(node) : expand(node);
      }
    }
  }

  TileStepRule rule(const WeakCollective& p, Index from, Index to) const {
    const Sizes& c = localtypes_[from];
    const Sizes& c_to = localtypes_[to];
    TileStepRule out = {p, from, to, spec::cost(p.p, size_of(c), size_of(c_to)), {}};
    const bool gathers = p.p == Op::allgather;
    const TileMap t = every_tile(g_, gathers ? c : c_to);
    const auto u = p.p == Op::alltoall ? alltoall(t, p.j, p.i, p.n) : allgather(t, p.i, p.n);
    for (const Sizes& tile : u->t) {
      out.tile += static_cast<char>(tile_number(g_, gathers ? c_to : c, tile));
    }
    return out;
  }

  void add_along_dims() {
    for (const Sizes& c : localtypes_) {
      const auto add = [&](Op p, const AlongDims& step, OfTiles tile) {
        const auto to = number_.find(step.to);
        if (to == number_.end()) return;
        const Size cost = spec::cost(p, size_of(c), size_of(step.to));
        into_[to->second].push_back({{p, 0, 0, 0}, number_[c], to->second, cost, std::move(tile)});
      };
      for (const AlongDims& step : allgathers_along_dims(g_, c, localtypes_)) {
        add(Op::allgather, step, step.after);
      }
      for (const AlongDims& step : alltoalls_along_dims(g_, c)) {
        OfTiles before = step.after;  // backwards
        for (Index t = 0; t < step.after.size(); ++t) {
          before[static_cast<Index>(step.after[t])] = static_cast<char>(t);
        }
        add(Op::alltoall, step, before);
      }
    }
  }

  /// The phase in front of p, when the phase behind it is q; nullopt when p must not stand there.
  std::optional<Index> phase(Op p, Index q) const {
    if (!search_.normal_form) return last;
    const Index own = p == Op::dynslice ? 0 : p == Op::allgather ? 2 : 1;
    return own <= q ? std::optional(own) : std::nullopt;
  }

  void look() {
    if (++looks_ > search_.limit) throw SearchLimit();
  }
  void reach(Index q, Index a, const Pairs& f, Size cost) {
    look();
    const auto [at, is_new] = near_[q][a].emplace(f, cost);
    if (!is_new && at->second <= cost) return;
    at->second = cost;
    open_.push({cost, false, q, a, f, nullptr});
  }
  void reach_any(Index q, Index a, Size cost) {
    look();
    if (any_[q][a] && *any_[q][a] <= cost) return;
    any_[q][a] = cost;
    open_.push({cost, true, q, a, {}, nullptr});
  }

  void expand_any(const Node& node) {
    if (any_[node.q][node.a] != node.cost) return;
    for (const TileStepRule& step : into_[node.a]) {
      const auto q = phase(step.p.p, node.q);
      Size cost = 0;
      if (!q || __builtin_add_overflow(node.cost, step.cost, &cost)) continue;
      reach_any(*q, step.from, cost);
    }
  }

  bool is_covered(Index q, Index a, Size cost) const { return any_[q][a] && *any_[q][a] <= cost; }

  void expand(const Node& node) {
    if (near_[node.q][node.a].at(node.f) != node.cost) return;
    if (is_covered(node.q, node.a, node.cost)) return;
    if (!nearest_[node.a]) nearest_[node.a] = node.f;
    const auto q_permute = phase(Op::allpermute, node.q);
    Size cost = 0;
    if (search_.permute && q_permute &&
        !__builtin_add_overflow(node.cost, size_of(localtypes_[node.a]), &cost)) {
      reach_any(*q_permute, node.a, cost);
    }
    for (const TileStepRule& step : into_[node.a]) {
      const auto q = phase(step.p.p, node.q);
      if (!q || __builtin_add_overflow(node.cost, step.cost, &cost)) continue;
      if (is_covered(*q, step.from, cost)) continue;
      if (step.p.p == Op::allgather) {
        open_.push({cost, false, *q, step.from, node.f, &step});
        continue;
      }
      Pairs f = node.f;
      for (char& t : f) t = step.tile[static_cast<Index>(t)];
      reach(*q, step.from, sorted(f, holders_), cost);
    }
  }

  void refine(const Node& node) {
    if (is_covered(node.q, node.a, node.cost)) return;
    for_each_refinement(node.f, holders_, node.gathers->tile,
                        [&](const Pairs& f) { reach(node.q, node.a, f, node.cost); });
  }

  TileSearch search_;
  Sizes g_, c_2_;
  Index delta_ = 1;
  Index holders_ = 1;  // of each tile of f_2
  std::vector<Sizes> localtypes_;
  std::map<Sizes, Index> number_;
  std::vector<std::vector<TileStepRule>> into_;                     // by localtype after the step
  std::vector<std::vector<std::optional<Size>>> any_;               // by phase, localtype
  std::vector<std::vector<std::unordered_map<Pairs, Size>>> near_;  // by phase, localtype
  std::vector<std::optional<Pairs>> nearest_;                       // by localtype
  std::priority_queue<Node> open_;
  Size looks_ = 0;
};

}  // namespace spec
