// The cheapest sequence between two layouts with addends by brute force: Dijkstra over every way in
// which a few devices can hold tiles of addends, by the steps in their physical form. Addends may be
// named anew at every step, and for every tile. Written from the definitions alone; shares nothing
// with the planner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"

namespace support {

class AddingBruteForce {
 public:
  using Size = retile::Size;
  using Shape = retile::Shape;
  /// Per device its tile numbers and, last, the name of its addend.
  using Holds = std::vector<Shape>;
  /// Tile counts and, last, the number of addends; who holds what.
  struct State {
    Shape counts;
    Holds holds;
    friend auto operator<=>(const State&, const State&) = default;
  };

  /// \param several_dims  whether allgathers and alltoalls may go along several dimensions at once
  explicit AddingBruteForce(Shape global, bool several_dims = false)
      : global_(std::move(global)), several_dims_(several_dims) {}

  /// Names addends of a tile in the order in which devices hold them.
  static State canonical(State state) {
    std::map<Shape, Size> name;       // tile and addend
    std::map<Shape, Size> next_name;  // tile
    for (Shape& hold : state.holds) {
      const auto at = name.find(hold);
      const Shape tile(hold.begin(), hold.end() - 1);
      Size chosen = 0;
      if (at != name.end()) {
        chosen = at->second;
      } else {
        chosen = next_name[tile]++;
        name.emplace(hold, chosen);
      }
      hold.back() = chosen;
    }
    return state;
  }

  static State state_of(const retile::Layout& layout) {
    State out;
    for (const auto& cuts : layout.cuts()) out.counts.push_back(cuts.count());
    out.counts.push_back(layout.addend_count());
    for (Size d = 0; d < layout.devices(); ++d) {
      out.holds.push_back(layout.numbers().numbers(d));
      out.holds.back().push_back(layout.addend(d));
    }
    return canonical(std::move(out));
  }

  /// Costs to every state that sequences with no tile above `bound` reach, by their numbers.
  using Costs = std::map<std::size_t, Size>;
  Costs costs_from(const State& source, Size bound) {
    Costs exact;
    std::set<Shape> any;  // kinds of which all states are reached
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    open.push({0, number_of(source), false});
    while (!open.empty()) {
      const auto [cost, state, is_any] = open.top();
      open.pop();
      const Shape counts = states_[state].counts;
      if (is_any) {
        if (!any.insert(counts).second) continue;
        for (const std::size_t other : all_states(state)) {
          if (exact.count(other) == 0) open.push({cost, other, false});
        }
        continue;
      }
      if (!exact.emplace(state, cost).second) continue;
      for (const auto& [next, step_cost] : steps(state)) {
        if (tiles_[next] <= bound && exact.count(next) == 0) {
          open.push({cost + step_cost, next, false});
        }
      }
      if (any.count(counts) == 0) open.push({cost + tiles_[state], state, true});
    }
    return exact;
  }

  std::size_t number_of(const State& state) {
    const auto [at, fresh] = numbers_.emplace(state, states_.size());
    if (fresh) {
      states_.push_back(state);
      tiles_.push_back(tile(state.counts));
      steps_.emplace_back();
    }
    return at->second;
  }

  [[nodiscard]] Size tile(const Shape& counts) const {
    Size out = 1;
    for (std::size_t i = 0; i < global_.size(); ++i) out *= global_[i] / counts[i];
    return out;
  }

 private:
  struct Entry {
    Size cost;
    std::size_t state;
    bool any;
    friend bool operator>(const Entry& a, const Entry& b) { return a.cost > b.cost; }
  };
  using Next = std::vector<std::pair<State, Size>>;
  using Devices = std::vector<std::size_t>;
  using Parts = std::vector<Devices>;
  /// Per tile and addend who holds it.
  using Holders = std::map<Shape, std::map<Size, Devices>>;

  /// All ordered splits of numbers into n parts of one size.
  static std::vector<Parts> splits(const Devices& items, std::size_t n) {
    if (n == 1) return {{items}};
    std::vector<Parts> out;
    std::vector<bool> chosen(items.size(), false);
    std::fill_n(chosen.begin(), items.size() / n, true);
    do {
      Devices first;
      Devices rest;
      for (std::size_t k = 0; k < items.size(); ++k) (chosen[k] ? first : rest).push_back(items[k]);
      for (const Parts& more : splits(rest, n - 1)) {
        Parts all = {first};
        all.insert(all.end(), more.begin(), more.end());
        out.push_back(std::move(all));
      }
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    return out;
  }

  /// Calls use for every choice of one option of each list.
  template <typename Option>
  static void for_each(const std::vector<std::vector<Option>>& options,
                       const std::function<void(const std::vector<const Option*>&)>& use) {
    std::vector<std::size_t> at(options.size(), 0);
    while (true) {
      std::vector<const Option*> chosen;
      for (std::size_t k = 0; k < options.size(); ++k) chosen.push_back(&options[k][at[k]]);
      use(chosen);
      std::size_t k = 0;
      while (k < at.size() && ++at[k] == options[k].size()) at[k++] = 0;
      if (k == at.size()) return;
    }
  }

  static Holders holders_of(const State& state) {
    Holders out;
    for (std::size_t d = 0; d < state.holds.size(); ++d) {
      const Shape& hold = state.holds[d];
      out[Shape(hold.begin(), hold.end() - 1)][hold.back()].push_back(d);
    }
    return out;
  }

  static Devices first_numbers(Size n) {
    Devices out;
    for (Size k = 0; k < n; ++k) out.push_back(static_cast<std::size_t>(k));
    return out;
  }

  using Steps = std::vector<std::pair<std::size_t, Size>>;

  Steps steps(std::size_t number) {
    if (steps_[number]) return *steps_[number];
    const State state = states_[number];
    Next out;
    const auto devices = static_cast<Size>(state.holds.size());
    for (Size n = 2; n <= devices; ++n) {
      if (devices % n != 0) continue;
      for (std::size_t i = 0; i < global_.size(); ++i) {
        slice(state, i, n, out);
        Shape factors(global_.size(), 1);
        factors[i] = n;
        gather(state, factors, out);
        for (std::size_t j = 0; j < global_.size(); ++j) {
          if (j != i) move(state, {{i, j, n}}, out);
        }
        scatter(state, i, n, out);
      }
      reduce(state, n, out);
    }
    if (several_dims_) {
      Shape factors(global_.size(), 1);
      gathers_along(state, 0, factors, out);
      std::vector<Moved> digits;
      moves_along(state, digits, out);
    }
    std::set<std::pair<std::size_t, Size>> distinct;
    for (const auto& [next, cost] : out) distinct.emplace(number_of(next), cost);
    steps_[number] = Steps(distinct.begin(), distinct.end());
    return *steps_[number];
  }

  [[nodiscard]] bool cuts(const State& state, std::size_t i, Size n) const {
    return global_[i] / state.counts[i] % n == 0;
  }
  static Size replicas(const State& state) {
    auto out = static_cast<Size>(state.holds.size());
    for (const Size count : state.counts) out /= count;
    return out;
  }
  static void add(Next& out, State next, Size cost) {
    out.emplace_back(canonical(std::move(next)), cost);
  }

  void slice(const State& state, std::size_t i, Size n, Next& out) const {
    if (!cuts(state, i, n) || replicas(state) % n != 0) return;
    std::vector<std::vector<Parts>> options;
    for (const auto& [tile, addends] : holders_of(state)) {
      for (const auto& [k, devices] : addends) {
        options.push_back(splits(devices, static_cast<std::size_t>(n)));
      }
    }
    for_each<Parts>(options, [&](const std::vector<const Parts*>& chosen) {
      State next = state;
      next.counts[i] *= n;
      for (const Parts* parts : chosen) {
        for (std::size_t q = 0; q < parts->size(); ++q) {
          for (const std::size_t d : (*parts)[q]) {
            next.holds[d][i] = next.holds[d][i] * n + static_cast<Size>(q);
          }
        }
      }
      add(out, std::move(next), 0);
    });
  }

  /// Ways to name the addends of every tile but those that give the new tiles their names.
  std::vector<std::vector<Devices>> namings(const State& state, const Shape& joins) const {
    Devices name = first_numbers(state.counts.back());
    std::vector<Devices> names;
    do {
      names.push_back(name);
    } while (std::next_permutation(name.begin(), name.end()));
    std::vector<std::vector<Devices>> options;
    for (const auto& [tile, addends] : holders_of(state)) {
      bool is_first = true;
      for (std::size_t i = 0; i < joins.size(); ++i) is_first = is_first && tile[i] % joins[i] == 0;
      options.push_back(is_first ? std::vector<Devices>{names.front()} : names);
    }
    return options;
  }

  /// The state with addends named so, tile by tile.
  static State named(const State& state, const std::vector<const Devices*>& names) {
    State out = state;
    std::size_t t = 0;
    for (const auto& [tile, addends] : holders_of(state)) {
      for (const auto& [k, devices] : addends) {
        for (const std::size_t d : devices) {
          out.holds[d].back() = static_cast<Size>((*names[t])[static_cast<std::size_t>(k)]);
        }
      }
      ++t;
    }
    return out;
  }

  /// Along every dimension so many tiles become one. Which addends of the pieces are put together is a
  /// choice.
  void gather(const State& state, const Shape& factors, Next& out) const {
    Size all = 1;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (state.counts[i] % factors[i] != 0) return;
      all *= factors[i];
    }
    for_each<Devices>(namings(state, factors), [&](const std::vector<const Devices*>& names) {
      State next = named(state, names);
      for (std::size_t i = 0; i < factors.size(); ++i) {
        next.counts[i] /= factors[i];
        for (Shape& hold : next.holds) hold[i] /= factors[i];
      }
      add(out, std::move(next), tile(state.counts) * all);
    });
  }

  void gathers_along(const State& state, std::size_t i, Shape& factors, Next& out) const {
    if (i == factors.size()) {
      const auto along =
          std::count_if(factors.begin(), factors.end(), [](Size n) { return n > 1; });
      if (along > 1) gather(state, factors, out);
      return;
    }
    for (Size n = 1; n <= state.counts[i]; ++n) {
      factors[i] = n;
      gathers_along(state, i + 1, factors, out);
    }
    factors[i] = 1;
  }

  /// A digit of an alltoall: off dimension i and onto j.
  struct Moved {
    std::size_t i;
    std::size_t j;
    Size n;
  };

  /// The alltoall of these digits, the slowest first; which addends meet is a choice where it goes along
  /// several dimensions. False where there is none.
  bool move(const State& state, const std::vector<Moved>& digits, Next& out) const {
    Shape off(global_.size(), 1);
    Shape onto(global_.size(), 1);
    for (const Moved& digit : digits) {
      off[digit.i] *= digit.n;
      onto[digit.j] *= digit.n;
    }
    for (std::size_t i = 0; i < global_.size(); ++i) {
      if ((off[i] > 1 && onto[i] > 1) || state.counts[i] % off[i] != 0 ||
          !cuts(state, i, onto[i])) {
        return false;
      }
    }
    const auto run = [&](State next) {
      for (std::size_t i = 0; i < global_.size(); ++i) {
        next.counts[i] = next.counts[i] / off[i] * onto[i];
      }
      for (Shape& hold : next.holds) {
        const Shape before = hold;
        Shape weight = off;
        for (std::size_t i = 0; i < global_.size(); ++i) hold[i] /= off[i];
        for (const Moved& digit : digits) {
          weight[digit.i] /= digit.n;
          hold[digit.j] = hold[digit.j] * digit.n + before[digit.i] / weight[digit.i] % digit.n;
        }
      }
      add(out, std::move(next), tile(state.counts));
    };
    if (!several_dims_) {
      run(state);
      return true;
    }
    for_each<Devices>(namings(state, off),
                      [&](const std::vector<const Devices*>& names) { run(named(state, names)); });
    return true;
  }

  /// Alltoalls of two or more digits of prime size, of which any other is made.
  void moves_along(const State& state, std::vector<Moved>& digits, Next& out) const {
    for (std::size_t i = 0; i < global_.size(); ++i) {
      for (std::size_t j = 0; j < global_.size(); ++j) {
        for (const Size n : {2, 3, 5, 7}) {
          if (i == j || state.counts[i] % n != 0) continue;
          digits.push_back({i, j, n});
          Next found;
          const bool is_one = move(state, digits, found);
          if (is_one && digits.size() > 1) out.insert(out.end(), found.begin(), found.end());
          if (is_one) moves_along(state, digits, out);
          digits.pop_back();
        }
      }
    }
  }

  /// Groups of n addends, for every tile its own: who holds which of them gets which piece.
  void scatter(const State& state, std::size_t i, Size n, Next& out) const {
    if (state.counts.back() % n != 0 || !cuts(state, i, n)) return;
    const Holders holders = holders_of(state);
    const std::vector<std::vector<Parts>> options(
        holders.size(), splits(first_numbers(state.counts.back()), static_cast<std::size_t>(n)));
    for_each<Parts>(options, [&](const std::vector<const Parts*>& chosen) {
      State next = state;
      next.counts[i] *= n;
      next.counts.back() /= n;
      std::size_t t = 0;
      for (const auto& [tile, addends] : holders) {
        const Parts& parts = *chosen[t++];
        for (std::size_t q = 0; q < parts.size(); ++q) {
          for (const std::size_t k : parts[q]) {
            for (const std::size_t d : addends.at(static_cast<Size>(k))) {
              next.holds[d][i] = next.holds[d][i] * n + static_cast<Size>(q);
            }
          }
        }
      }
      add(out, std::move(next), tile(state.counts));
    });
  }

  void reduce(const State& state, Size n, Next& out) const {
    if (state.counts.back() % n != 0) return;
    const Holders holders = holders_of(state);
    const std::vector<std::vector<Parts>> options(
        holders.size(), splits(first_numbers(state.counts.back()),
                               static_cast<std::size_t>(state.counts.back() / n)));
    for_each<Parts>(options, [&](const std::vector<const Parts*>& chosen) {
      State next = state;
      next.counts.back() /= n;
      std::size_t t = 0;
      for (const auto& [tile, addends] : holders) {
        const Parts& parts = *chosen[t++];
        for (std::size_t q = 0; q < parts.size(); ++q) {
          for (const std::size_t k : parts[q]) {
            for (const std::size_t d : addends.at(static_cast<Size>(k))) {
              next.holds[d].back() = static_cast<Size>(q);
            }
          }
        }
      }
      add(out, std::move(next), 2 * tile(state.counts));
    });
  }

  /// All states with the counts of this one.
  const std::set<std::size_t>& all_states(std::size_t number) {
    const State like = states_[number];
    const auto known = all_.find(like.counts);
    if (known != all_.end()) return known->second;
    std::set<std::size_t>& out = all_[like.counts];
    const std::size_t devices = like.holds.size();
    Size places = 1;
    for (const Size count : like.counts) places *= count;
    // Every arrangement of a list in which each place stands as often as another.
    std::vector<Size> place(devices);
    for (std::size_t d = 0; d < devices; ++d) place[d] = static_cast<Size>(d) % places;
    std::sort(place.begin(), place.end());
    do {
      State state{like.counts, {}};
      bool named_in_order = true;
      std::map<Shape, Size> seen;
      for (std::size_t d = 0; d < devices; ++d) {
        Shape hold;
        Size left = place[d];
        const Size addend = left % like.counts.back();
        left /= like.counts.back();
        for (std::size_t i = 0; i + 1 < like.counts.size(); ++i) {
          hold.push_back(left % like.counts[i]);
          left /= like.counts[i];
        }
        Size& next = seen[hold];
        named_in_order = named_in_order && addend <= next;
        next = std::max(next, addend + 1);
        hold.push_back(addend);
        state.holds.push_back(std::move(hold));
        if (!named_in_order) break;
      }
      if (named_in_order) out.insert(number_of(state));
    } while (std::next_permutation(place.begin(), place.end()));
    return out;
  }

  Shape global_;
  bool several_dims_;
  std::map<State, std::size_t> numbers_;
  std::vector<State> states_;                // by number
  std::vector<Size> tiles_;                  // likewise
  std::vector<std::optional<Steps>> steps_;  // likewise
  std::map<Shape, std::set<std::size_t>> all_;
};

}  // namespace support
