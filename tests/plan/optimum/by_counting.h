/// OPT by counting: the least cost of a sequence from f_1 to f_2, from S2, S3 and S4 alone.
///
/// What the statements say (docs/ledger/statements.md), and what is done here, literally:
///
/// 1. With an allpermute a sequence costs what the cheapest weak sequence with an allpermute on the
///    way costs (S2): Dijkstra over localtypes, backwards from c_2.
/// 2. Without one, some normal form is a cheapest sequence, or the sequence costs no less than that
///    (S3): slices to a bottom b, alltoalls, gathers. Alltoalls and gathers are functions of tiles
///    (S1), so each is run on the tiles of b.
/// 3. Whether slices can be chosen so that the end is f_2 is a matter of counting (S4): for every
///    tile u of c_1 and v of c_2, the devices that hold u and then v must be as many as the tiles of
///    b inside u that end in v, times the holders of each.
///
/// No digits, no axes, no lists of them: nothing here knows how a slice could be spelled. It shares
/// the definitions of spec/paper with the certifier, and no line with src/.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "spec/paper/fig10_low_level.h"
#include "spec/paper/fig11_cost.h"
#include "spec/search/pairs.h"

namespace optimum {

using spec::Index;
using spec::Size;
using spec::Sizes;

/// What a normal form costs; its steps, of which slices and gathers of one dimension are one; and
/// whether an allpermute is among them. The order is that of what a planner prefers.
struct Form {
  Size cost = 0;
  Index steps = 0;
  bool permutes = false;
  auto operator<=>(const Form&) const = default;
};

class ByCounting {
 public:
  /// \param most_work  tiles of localtypes and of bottoms that may be looked at
  ByCounting(const spec::TileMap& f_1, const spec::TileMap& f_2, Size most_work)
      : g_(f_1.g),
        delta_(static_cast<Size>(f_1.t.size())),
        r_(g_.size()),
        c_1_(f_1.c),
        c_2_(f_2.c),
        bound_(std::max(spec::size_of(c_1_), spec::size_of(c_2_))),
        work_left_(most_work) {
    for (Index d = 0; d < f_1.t.size(); ++d) {
      held_.emplace_back(spec::tile_number(g_, c_1_, f_1.t[d]),
                         spec::tile_number(g_, c_2_, f_2.t[d]));
    }
    std::sort(held_.begin(), held_.end());
    for (Size n = 2; n <= delta_; ++n) {
      if (delta_ % n == 0) factors_.push_back(n);
    }
  }

  /// OPT within the bound (4); nullopt where that is more work than allowed.
  std::optional<Size> optimum() {
    const auto form = search();
    return form ? std::optional(form->cost) : std::nullopt;
  }
  /// The least normal form: of those that cost OPT one of the fewest steps.
  std::optional<Form> least_form() {
    ties_ = true;
    return search();
  }
  /// The most steps of a cheapest normal form with an allpermute. After least_form.
  [[nodiscard]] Index most_steps() const { return most_steps_; }
  std::optional<Form> search() {
    if (!find_weak_costs()) return std::nullopt;
    for (const auto& [b, cost] : weak_) {
      if (!divides(b, c_1_)) continue;
      seen_.clear();
      alltoalls(b, spec::every_tile(g_, b), 0, 0);
      if (work_left_ < 0) return std::nullopt;
    }
    return best_;
  }

  using Held = std::vector<std::pair<Index, Index>>;  // by device: a tile of c_1 and one of c_2

  static bool divides(const Sizes& b, const Sizes& c) {
    return std::equal(b.begin(), b.end(), c.begin(), [](Size m, Size n) { return n % m == 0; });
  }
  [[nodiscard]] bool allowed(const Sizes& c) const {
    return spec::is_localtype(delta_, g_, c) && spec::size_of(c) <= bound_;
  }
  /// c ▶ by a factor n from dimension i to j; j = r is an allgather(i), i = r a dynslice(j).
  [[nodiscard]] std::optional<Sizes> step(Index i, Index j, Size n, Sizes c) const {
    if (i == j || (i < r_ && g_[i] / c[i] % n != 0) || (j < r_ && c[j] % n != 0)) return {};
    if (i < r_) c[i] *= n;
    if (j < r_) c[j] /= n;
    return allowed(c) ? std::optional(c) : std::nullopt;
  }
  [[nodiscard]] Size price(Index i, Index j, const Sizes& c, const Sizes& next) const {
    const spec::Op p = i == r_   ? spec::Op::dynslice
                       : j == r_ ? spec::Op::allgather
                                 : spec::Op::alltoall;
    return spec::cost(p, spec::size_of(c), spec::size_of(next));
  }

  /// weak_[c]: the least cost of a weak sequence from c to c_2, where that is below the least with
  /// an allpermute from c_1; that is the best that is known at first. With ties, also where it is
  /// as much.
  bool find_weak_costs() {
    using Entry = std::pair<Size, std::pair<bool, Sizes>>;  // cost; permuted?, localtype
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::map<std::pair<bool, Sizes>, Size> known;
    std::set<std::pair<bool, Sizes>> settled;
    const auto reach = [&](bool permuted, const Sizes& c, Size cost) {
      const auto [at, is_new] = known.try_emplace({permuted, c}, cost);
      if (!is_new && at->second <= cost) return;
      at->second = cost;
      open.push({cost, {permuted, c}});
    };
    reach(false, c_2_, 0);
    std::optional<Size> with_permute;
    while (!open.empty()) {
      const auto [cost, at] = open.top();
      open.pop();
      if (with_permute && cost > *with_permute) break;
      if (!settled.insert(at).second) continue;
      const auto& [permuted, c] = at;
      if (permuted && c == c_1_) {
        with_permute = cost;
        if (!ties_) break;
      }
      if (!permuted) {
        weak_[c] = cost;
        reach(true, c, cost + spec::cost(spec::Op::allpermute, spec::size_of(c), spec::size_of(c)));
      }
      for (const Size n : factors_) {
        for (Index i = 0; i <= r_; ++i) {
          for (Index j = 0; j <= r_; ++j) {
            const auto before = step(j, i, n, c);
            if (before) reach(permuted, *before, cost + price(i, j, *before, c));
          }
        }
      }
      work_left_ -= static_cast<Size>(factors_.size() * (r_ + 1) * (r_ + 1));
      if (work_left_ < 0) return false;
    }
    best_ = {with_permute.value(), std::numeric_limits<Index>::max(), true};
    return true;
  }

  /// Whether what costs this much, and has come to c, can end below the best that is known, or at
  /// it where there are ties.
  [[nodiscard]] bool is_hope(const Sizes& c, Size cost) const {
    const auto ahead = weak_.find(c);
    return ahead != weak_.end() && cost + ahead->second < best_.cost + (ties_ ? 1 : 0);
  }

  /// All sequences of alltoalls from the bottom b: here `count` of them have come to f, for `cost`.
  void alltoalls(const Sizes& b, const spec::TileMap& f, Size cost, Index count) {
    work_left_ -= static_cast<Size>(f.t.size() * (r_ + 1));
    if (!is_hope(f.c, cost) || work_left_ < 0) return;
    std::vector<Index> tiles;
    for (const Sizes& t : f.t) tiles.push_back(spec::tile_number(g_, f.c, t));
    const auto [known, is_new] = seen_.try_emplace({f.c, tiles}, cost);
    if (!is_new && known->second <= cost) return;
    known->second = cost;
    if (divides(f.c, c_2_)) gathers(b, f, cost, count);
    for (const Size n : factors_) {
      for (Index i = 0; i < r_; ++i) {
        for (Index j = 0; j < r_; ++j) {
          const auto next = step(i, j, n, f.c);
          if (!next || !is_hope(*next, cost + price(i, j, f.c, *next))) continue;
          alltoalls(b, *spec::alltoall(f, i, j, n), cost + price(i, j, f.c, *next), count + 1);
        }
      }
    }
  }

  /// The end of f by gathers: which tiles they lead to does not depend on their order, and what
  /// they cost is least over all orders.
  void gathers(const Sizes& b, spec::TileMap f, Size cost, Index count) {
    Form form{cost + least_gathers(f.c), count, false};
    for (Index i = 0; i < r_; ++i) form.steps += (b[i] != c_1_[i] ? 1U : 0U);
    for (Index i = 0; i < r_; ++i) form.steps += (f.c[i] != c_2_[i] ? 1U : 0U);
    if (ties_) {  // with an allpermute in the valley it leads to f_2 whatever the slices (S2)
      const Form with{form.cost + spec::size_of(b), form.steps + 1, true};
      best_ = std::min(best_, with);
      if (with.cost < most_steps_of_) most_steps_ = 0;
      most_steps_of_ = std::min(most_steps_of_, with.cost);
      if (with.cost == most_steps_of_) most_steps_ = std::max(most_steps_, with.steps);
    }
    if (form >= best_) return;
    for (Index i = 0; i < r_; ++i) {
      if (f.c[i] != c_2_[i]) f = *spec::allgather(f, i, c_2_[i] / f.c[i]);
    }
    if (counts_match(b, f)) best_ = form;
  }

  Size least_gathers(const Sizes& c) {
    if (c == c_2_) return 0;
    const auto known = gathers_.find(c);
    if (known != gathers_.end()) return known->second;
    std::optional<Size> least;
    for (const Size n : factors_) {
      for (Index i = 0; i < r_; ++i) {
        const auto next = step(i, r_, n, c);
        if (!next || !divides(*next, c_2_)) continue;
        const Size cost = price(i, r_, c, *next) + least_gathers(*next);
        least = std::min(least.value_or(cost), cost);
      }
    }
    return gathers_[c] = least.value();
  }

  /// S4, for the bottom b whose tile number k has become f.t[k].
  [[nodiscard]] bool counts_match(const Sizes& b, const spec::TileMap& f) const {
    const spec::TileMap bottom = spec::every_tile(g_, b);
    const Index holders = held_.size() / f.t.size();
    Held made;
    for (Index k = 0; k < f.t.size(); ++k) {
      Sizes u = bottom.t[k];
      for (Index i = 0; i < r_; ++i) u[i] = u[i] * b[i] / c_1_[i];  // the tile of c_1 around it
      made.insert(made.end(), holders,
                  {spec::tile_number(g_, c_1_, u), spec::tile_number(g_, c_2_, f.t[k])});
    }
    std::sort(made.begin(), made.end());
    return made == held_;
  }

  const Sizes g_;
  const Size delta_;
  const Index r_;
  const Sizes c_1_, c_2_;
  const Size bound_;
  Size work_left_;
  std::vector<Size> factors_;
  Held held_;
  std::map<Sizes, Size> weak_, gathers_;
  std::map<std::pair<Sizes, std::vector<Index>>, Size> seen_;
  bool ties_ = false;
  Size most_steps_of_ = std::numeric_limits<Size>::max();
  Index most_steps_ = 0;
  Form best_;
};

}  // namespace optimum
