/// Certificates from a writer of its own: true ones, and the best ones for claims that are false.
///
/// It shares nothing with the planner's writer (src/retile/plan/certificate.h), and with the
/// certifier only the form of the lines. Tiles are numbers, localtypes have indices. What is true
/// the brute force of spec/search says, which knows nothing of certificates.
///
/// A writer may hold a wrong belief: that a step costs more, that a kind of step does not exist,
/// that f_2 is not f_2. What it then writes is as good as a certificate of a false claim can be. It
/// fails the certifier at the place where the belief is wrong, and at no other.
#pragma once

#include <functional>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "spec/paper/sec3_factor.h"
#include "spec/program/certify.h"
#include "spec/search/path.h"

namespace spec::certificates {

constexpr Size never = Size{1} << 40;

/// Draws are the same on every machine, unlike those of std::uniform_int_distribution.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  Size below(Size n) { return static_cast<Size>(engine_() % static_cast<std::uint64_t>(n)); }
  Size between(Size low, Size high) { return low + below(high - low + 1); }
  bool one_in(Size n) { return below(n) == 0; }
  template <class List>
  Index index(const List& list) {
    return static_cast<Index>(below(static_cast<Size>(list.size())));
  }
  template <class List>
  auto& any(List& list) {
    return list[index(list)];
  }
  template <class List>
  void shuffle(List& list) {
    for (Index k = list.size(); k > 1; --k) std::swap(list[k - 1], list[index_below(k)]);
  }

 private:
  Index index_below(Index n) { return static_cast<Index>(below(static_cast<Size>(n))); }
  std::mt19937_64 engine_;
};

/// Two types of one mesh and globaltype.
struct Ends {
  Mesh H;
  Type tau_1, tau_2;
};

/// Each axis cuts some dimension that it can, or none, in an order that is drawn, too.
inline Type draw_type(Dice& dice, const Mesh& H, const Sizes& g) {
  Type out;
  for (const Size s : g) out.push_back({s, {}, s});
  Mesh order = H;
  dice.shuffle(order);
  for (const Axis& alpha : order) {
    const Index i = static_cast<Index>(dice.below(static_cast<Size>(g.size()) + 1));
    if (i == g.size() || out[i].c % alpha.k != 0) continue;
    out[i].c /= alpha.k;
    out[i].xs.push_back(alpha.x);
  }
  return out;
}

/// The ends as a Program without steps: a certificate is about nothing else of it.
inline Tiling tiling(const Mesh& H, const Type& tau) {
  Tiling out = {localtype(tau), globaltype(tau), {}, {}};
  for (const Dim& d : tau) {
    out.digits.emplace_back();
    for (const Name& x : d.xs) {
      Size stride = 1;
      for (Index a = H.size(); H[--a].x != x;) stride *= H[a].k;
      out.digits.back().push_back({stride, *lookup(H, x)});
    }
  }
  return out;
}
inline Program program(const Ends& ends) {
  return {*device_count(ends.H), tiling(ends.H, ends.tau_1), tiling(ends.H, ends.tau_2), {}};
}

/// OPT by brute force over tile maps; nullopt where that takes too long.
inline std::optional<Size> optimum_of(const Ends& ends, Size most_looks) {
  TileSearch search;
  search.limit = most_looks;
  try {
    const TileMap f_1 = *tiles(ends.H, ends.tau_1), f_2 = *tiles(ends.H, ends.tau_2);
    TileDistances distances(*device_count(ends.H), f_1.g, f_2.c, size_of(f_1.c), search);
    return distances.cost(f_1, f_2);
  } catch (const SearchLimit&) {
    return std::nullopt;
  }
}

/// What a writer takes for true. The default is the truth.
struct Belief {
  Size target = 0;                                        // what c_2 is from c_2
  Size permute = 0, alltoall = 0, gather = 0, slice = 0;  // what a step costs beyond Fig. 11
  bool permutes = true;                                   // an allpermute exists
  bool permuted_moves = true;                             // steps still exist behind an allpermute
  Size lift = 0;                         // what every other localtype is farther from c_2
  bool small_bound = false;              // tiles keep within the smaller end
  std::optional<Op> missing = {};        // this kind of step does not exist
  std::optional<Size> only_factor = {};  // nor do steps over other factors
  std::optional<Index> fixed = {};       // nor those that make this dimension finer
};

class Writer {
 public:
  struct Move {
    Index i, j;  // i is the rank for a dynslice, j for an allgather
    Size n;
    Index to;
    Size price;
  };
  /// Tiles of a bottom and where they lie now, and the moves that led there.
  struct State {
    Index bottom, c;
    Size cost;
    std::string tiles;
    Rows p;
    bool ends;  // with some choice of slices this is f_2
  };

  Writer(const Program& program, const Belief& belief)
      : belief_(belief),
        delta_(program.devices),
        g_(program.from.global),
        r_(g_.size()),
        c_1_(program.from.tile),
        c_2_(program.to.tile) {
    const Size L_1 = size_of(c_1_), L_2 = size_of(c_2_);
    bound_ = belief.small_bound ? std::min(L_1, L_2) : std::max(L_1, L_2);
    list_localtypes({});
    number(c_1_), number(c_2_);  // whatever the bound
    for (Index a = 0; a < c_.size(); ++a) list_moves(a);
    measure();
    count_pairs(program);
  }

  const std::vector<Sizes>& localtypes() const { return c_; }
  Size pi(Index k, Index a) const { return pi_[k][a]; }
  /// What the source costs with an allpermute.
  Size permuted() const { return pi_[1][index_.at(c_1_)]; }
  Index source() const { return index_.at(c_1_); }
  Index target() const { return index_.at(c_2_); }
  Index rank() const { return r_; }
  std::optional<Index> find(const Sizes& c) const {
    const auto at = index_.find(c);
    return at == index_.end() ? std::nullopt : std::optional(at->second);
  }
  const std::vector<Move>& moves(Index a) const { return moves_[a]; }

  /// All states that cost less than C with what must follow, bottom by bottom; nullopt when there
  /// are more than `most`. What stands at a bottom has cost `paid` there already: a detour.
  std::optional<std::vector<State>> states(Size C, Index most, bool detour = false) const {
    std::vector<State> out;
    for (Index b = 0; b < c_.size(); ++b) {
      if (!slices(b) || pi_[0][b] >= C) continue;
      if (!explore(b, C, most, detour, out)) return std::nullopt;
    }
    return out;
  }
  /// The least cost of a state that is f_2, among those that cost less than C.
  static Size exact(const std::vector<State>& states) {
    Size out = never;
    for (const State& f : states) {
      if (f.ends) out = std::min(out, f.cost);
    }
    return out;
  }

  Certificate potentials(Size C) const {
    Certificate out;
    out.C = C;
    for (Index a = 0; a < c_.size(); ++a) {
      if (pi_[0][a] < C) out.pi[c_[a]] = {pi_[0][a], std::min(pi_[1][a], C)};
    }
    return out;
  }
  std::pair<Sizes, Rows> line(const State& f) const { return {c_[f.bottom], f.p}; }

  bool slices(Index b) const {
    for (Index i = 0; i < r_; ++i) {
      if (c_1_[i] % c_[b][i] != 0) return false;
    }
    return true;
  }

 private:
  void number(const Sizes& c) {
    if (index_.emplace(c, c_.size()).second) c_.push_back(c);
  }
  void list_localtypes(const Sizes& c) {
    if (c.size() == r_) {
      const Size tiles = size_of(g_) / size_of(c);
      if (delta_ % tiles == 0 && size_of(c) <= bound_) number(c);
      return;
    }
    for (Size n = 1; n <= g_[c.size()]; ++n) {
      if (g_[c.size()] % n != 0 || delta_ % (g_[c.size()] / n) != 0) continue;
      Sizes longer = c;
      longer.push_back(n);
      list_localtypes(longer);
    }
  }

  /// Every factor that leaves the tile count of one dimension and cuts the tile of another.
  void list_moves(Index a) {
    moves_.emplace_back();
    for (const auto& [to, b] : index_) {
      std::optional<Index> i, j;
      bool one = true;
      for (Index k = 0; k < r_; ++k) {
        if (to[k] > c_[a][k]) one = one && !std::exchange(i, k) && to[k] % c_[a][k] == 0;
        if (to[k] < c_[a][k]) one = one && !std::exchange(j, k) && c_[a][k] % to[k] == 0;
      }
      if (!one || (!i && !j)) continue;
      const Size grows = i ? to[*i] / c_[a][*i] : 0, shrinks = j ? c_[a][*j] / to[*j] : 0;
      if (i && j && grows != shrinks) continue;
      add_move(a, {i.value_or(r_), j.value_or(r_), std::max(grows, shrinks), b, 0});
    }
  }
  void add_move(Index a, Move move) {
    const Op p = move.i == r_ ? Op::dynslice : move.j == r_ ? Op::allgather : Op::alltoall;
    const Size before = size_of(c_[a]), after = size_of(c_[move.to]);
    move.price = p == Op::dynslice    ? belief_.slice
                 : p == Op::allgather ? after + belief_.gather
                                      : before + belief_.alltoall;
    if (belief_.missing == p || (belief_.fixed && belief_.fixed == move.j)) return;
    if (belief_.only_factor && belief_.only_factor != move.n) return;
    moves_[a].push_back(move);
  }

  /// The greatest potentials: shortest paths to c_2, by relaxation until nothing changes.
  void measure() {
    pi_.assign(2, std::vector<Size>(c_.size(), never));
    pi_[0][target()] = belief_.target;
    relax(pi_[0]);
    for (Index a = 0; a < c_.size(); ++a) {
      if (a != target()) pi_[0][a] = std::min(never, pi_[0][a] + belief_.lift);
    }
    for (Index a = 0; a < c_.size() && belief_.permutes; ++a) {
      pi_[1][a] = std::min(never, pi_[0][a] + size_of(c_[a]) + belief_.permute);
    }
    if (belief_.permuted_moves) relax(pi_[1]);
  }
  void relax(std::vector<Size>& pi) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (Index a = 0; a < c_.size(); ++a) {
        for (const Move& move : moves_[a]) {
          if (pi[move.to] + move.price >= pi[a]) continue;
          pi[a] = pi[move.to] + move.price;
          changed = true;
        }
      }
    }
  }

  // Tiles by number, row-major.

  Sizes counts(Index a) const {
    Sizes out;
    for (Index i = 0; i < r_; ++i) out.push_back(g_[i] / c_[a][i]);
    return out;
  }
  static Sizes coordinates(Size number, const Sizes& N) {
    Sizes out(N.size());
    for (Index i = N.size(); i-- > 0; number /= N[i]) out[i] = number % N[i];
    return out;
  }
  static Size number_of(const Sizes& t, const Sizes& N) {
    Size number = 0;
    for (Index i = 0; i < N.size(); ++i) number = number * N[i] + t[i];
    return number;
  }
  /// The tile of c_b that holds tile t of c_a, which is finer.
  Size coarser(Index a, Size t, Index b) const {
    Sizes at = coordinates(t, counts(a));
    for (Index i = 0; i < r_; ++i) at[i] = at[i] * c_[a][i] / c_[b][i];
    return number_of(at, counts(b));
  }
  const std::string& moved(Index a, const Move& move) const {
    std::string& out = moved_[{a, move.to}];
    if (!out.empty()) return out;
    const Sizes N = counts(a), after = counts(move.to);
    for (Size t = 0; t < number_of_tiles(a); ++t) {
      Sizes at = coordinates(t, N);
      if (move.j < r_) at[move.j] = at[move.j] * move.n + at[move.i] % move.n;
      at[move.i] /= move.n;
      out += static_cast<char>(number_of(at, after));
    }
    return out;
  }
  Size number_of_tiles(Index a) const { return size_of(counts(a)); }

  /// How many devices hold tile u in f_1 and tile v in f_2.
  void count_pairs(const Program& program) {
    for (Size d = 0; d < delta_; ++d) {
      Sizes u = base_offset(program.from, d), v = base_offset(program.to, d);
      for (Index i = 0; i < r_; ++i) u[i] /= c_1_[i], v[i] /= c_2_[i];
      ++pairs_[{number_of(u, counts(source())), number_of(v, counts(target()))}];
    }
  }
  bool is_end(Index b, const std::string& tiles) const {
    std::map<std::pair<Size, Size>, Size> made;
    const Size holders = delta_ / static_cast<Size>(tiles.size());
    for (Index t = 0; t < tiles.size(); ++t) {
      made[{coarser(b, static_cast<Size>(t), source()), tiles[t]}] += holders;
    }
    return made == pairs_;
  }

  State bottom(Index b, Size C, bool detour) const {
    State out = {b, b, 0, {}, {}, false};
    for (Size t = 0; t < number_of_tiles(b); ++t) out.tiles += static_cast<char>(t);
    if (!detour) return out;
    for (const Move& move : moves_[b]) {  // there and back
      if (move.i == r_ || move.j == r_ || 2 * move.price >= C) continue;
      const Size i = static_cast<Size>(move.i), j = static_cast<Size>(move.j);
      out.cost = 2 * move.price;
      out.p = {{i, j, move.n}, {j, i, move.n}};
      break;
    }
    return out;
  }
  /// Cheapest first, so that each state has its least cost; false when there are too many.
  bool explore(Index b, Size C, Index most, bool detour, std::vector<State>& out) const {
    const Index before = out.size();
    std::map<std::pair<Index, std::string>, Size> known;  // tiles of two localtypes may look alike
    std::priority_queue<std::pair<Size, Index>, std::vector<std::pair<Size, Index>>, std::greater<>>
        open;
    std::vector<State> all = {bottom(b, C, detour)};
    known[{b, all[0].tiles}] = all[0].cost;
    open.emplace(all[0].cost, 0);
    while (!open.empty()) {
      const auto [cost, k] = open.top();
      open.pop();
      if (known.at({all[k].c, all[k].tiles}) != cost) continue;
      if (out.size() > before + most) return false;
      all[k].ends = all[k].c == target() && is_end(b, all[k].tiles);
      out.push_back(all[k]);
      for (const Move& move : moves_[all[k].c]) {
        if (move.i == r_ || cost + move.price + pi_[0][move.to] >= C) continue;
        const std::string& table = moved(all[k].c, move);
        State next = {b, move.to, cost + move.price, all[k].tiles, all[k].p, false};
        for (char& t : next.tiles) t = table[static_cast<Index>(t)];
        const auto [at, fresh] = known.emplace(std::pair(next.c, next.tiles), next.cost);
        if (!fresh && at->second <= next.cost) continue;
        at->second = next.cost;
        next.p.push_back({static_cast<Size>(move.i), static_cast<Size>(move.j), move.n});
        open.emplace(next.cost, all.size());
        all.push_back(std::move(next));
      }
    }
    return true;
  }

  Belief belief_;
  Size delta_;
  Sizes g_;
  Index r_;
  Sizes c_1_, c_2_;
  Size bound_ = 0;
  std::vector<Sizes> c_;
  std::map<Sizes, Index> index_;
  std::vector<std::vector<Move>> moves_;
  std::vector<std::vector<Size>> pi_;
  std::map<std::pair<Size, Size>, Size> pairs_;
  mutable std::map<std::pair<Index, Index>, std::string> moved_;
};

}  // namespace spec::certificates
