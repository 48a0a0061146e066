// Normal forms that need no permutation (S4), within one level.
//
// 1. A *corridor*: the weak types on paths from a bottom to the target that cost at most the limit,
//    with the alltoalls between them, and for each type and dimension the major part that no way on
//    ever pops.
// 2. A depth-first search over digit lists along it. What is never popped again must be the
//    target's already; on meshes of one prime the neighbourhoods that must still be made bound the
//    number of moves left. Both are proved, so a search that ends without a path is a refutation.
//
// Where paths of a level differ by no less than a permutation costs, only cheapest ones can beat
// cheapest path + permutation; else dearer ones can.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/plan/digit_lists.h"
#include "retile/plan/realise.h"
#include "retile/plan/weak_search.h"

namespace retile {

struct ExactPath {
  WeakPath path;
  Relative cost = 0;
  std::int32_t steps = 0;
};

/// Decides paths that lists leave open: nothing when it cannot.
using ExactTest = std::function<std::optional<bool>(const WeakPath&)>;

template <class Key>
class ExactSearch {
 public:
  ExactSearch(const WeakSpace& space, LevelSearch<Key>& level, DigitAlphabet& alphabet,
              SearchLimits& limits)
      : space_(space), level_(level), alphabet_(alphabet), limits_(limits) {}

  /// A cheapest path of cost at most `limit`, among those one of fewest steps if `tight`; nothing
  /// when there is none, or the work limit came first (`complete` says which).
  /// \param tight  no path of this level is cheaper than `limit`
  std::optional<ExactPath> run(Relative limit, bool tight, const ExactTest& test) {
    tight_ = tight;
    if (alphabet_.pairs() > space_.devices() / replicas()) return std::nullopt;
    if (alphabet_.one_prime() && alphabet_.least_moves_from_source() > most_moves(limit))
      return std::nullopt;
    level_.settle_all(limit);
    complete_ = level_.complete();
    if (!complete_) return std::nullopt;
    if (!make_corridor(limit)) return std::nullopt;
    std::optional<ExactPath> best;
    for (std::int32_t steps = no_steps;;) {
      std::optional<ExactPath> found = search(limit, steps, nullptr);
      // What lists leave open is dear to decide, and it is no cheaper to run: only where it is the
      // last hope.
      if (!found && complete_ && left_open_ && (!best || !tight_))
        found = search(limit, steps, &test);
      if (!found) return best;
      best = std::move(found);
      // What costs the same may have fewer steps.
      if (tight_) {
        steps = best->steps - 1;
      } else {
        limit = best->cost - 1;
      }
    }
  }

  [[nodiscard]] bool complete() const { return complete_; }

 private:
  static constexpr std::int32_t no_steps = 1 << 20;

  struct Place {
    Key key{};
    Relative cost = 0;    // from here to the target, at least
    Relative before = 0;  // from a bottom to here, at least
    std::int32_t steps = 0;
    std::uint32_t first = 0;  // edges
    std::uint32_t last = 0;
    std::optional<Relative> gathers;
    std::vector<Lane> kept;  // per dimension: never popped from here on
  };
  struct Edge {
    std::uint32_t to = 0;
    std::uint16_t from_dim = 0;
    std::uint16_t to_dim = 0;
    Block block;
  };
  struct Failure {
    Relative budget = 0;
    std::int32_t steps = 0;
  };

  [[nodiscard]] Size replicas() const {
    Size tiles = 1;
    const std::vector<int>& totals = level_.level().totals;
    for (std::size_t q = 0; q < totals.size(); ++q) {
      for (int k = 0; k < totals[q]; ++k) tiles *= space_.primes()[q].prime;
    }
    return space_.devices() / tiles;
  }

  [[nodiscard]] Relative most_moves(Relative budget) const {
    std::vector<Size> factors;
    if (level_.level().gathered > 1) factors.push_back(level_.level().gathered);
    const Relative gathers = space_.gather_cost(factors);  // at least
    return gathers > budget ? -1 : (budget - gathers) / space_.least_move();
  }

  bool work(Size amount) {
    complete_ = limits_.spend(amount) && complete_;
    return complete_;
  }

  /// What a state costs that is kept, for each of its dimensions a little.
  [[nodiscard]] Size state_work() const { return 8 + static_cast<Size>(space_.rank()); }

  std::uint32_t place_of(std::uint32_t node, Relative before) {
    const auto [at, fresh] = place_at_.emplace(node, static_cast<std::uint32_t>(places_.size()));
    if (fresh) {
      work(2 * state_work());
      Place place;
      place.key = level_.node(node).key;
      place.cost = level_.node(node).cost;
      place.steps = level_.node(node).steps;
      place.before = before;
      place.gathers = level_.gather_cost(place.key);
      for (std::size_t i = 0; i < space_.rank(); ++i)
        place.kept.push_back(level_.lane(place.key, i));
      places_.push_back(std::move(place));
    }
    return at->second;
  }

  bool make_corridor(Relative limit) {
    for (const std::uint32_t bottom : level_.bottoms()) {
      if (level_.node(bottom).cost <= limit) bottoms_.push_back(place_of(bottom, 0));
    }
    // Cheapest first from the bottoms, so that `before` is final when a place is left.
    using Entry = std::pair<Relative, std::uint32_t>;
    std::vector<Entry> open;
    std::vector<bool> done;
    const auto push = [&](Relative before, std::uint32_t place) {
      open.emplace_back(before, place);
      std::push_heap(open.begin(), open.end(), std::greater<>());
    };
    for (const std::uint32_t bottom : bottoms_) push(0, bottom);
    while (!open.empty()) {
      const auto [before, at] = open.front();
      std::pop_heap(open.begin(), open.end(), std::greater<>());
      open.pop_back();
      if (done.size() < places_.size()) done.resize(places_.size(), false);
      if (done[at]) continue;
      done[at] = true;
      const Relative here = before;
      const std::uint32_t place = at;
      places_[place].first = static_cast<std::uint32_t>(edges_.size());
      const Key key = places_[place].key;
      Size looked = 0;
      if (level_.may_move()) {
        level_.for_each_move(key, [&](std::size_t i, std::size_t j, const Block& block) {
          ++looked;
          const auto node = level_.find(level_.moved(key, i, j, block.lane));
          if (!node) return false;
          const Relative next = here + block.cost;
          if (next + level_.node(*node).cost > limit) return false;
          const std::uint32_t to = place_of(*node, next);
          if (next < places_[to].before) places_[to].before = next;
          edges_.push_back(
              {to, static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(j), block});
          push(next, to);
          looked += 4;
          return !complete_;
        });
      }
      places_[place].last = static_cast<std::uint32_t>(edges_.size());
      if (!work(looked)) return false;
    }
    // What is never popped from here on: the least over all ways on. Usually one pass, as ways on
    // come later.
    std::vector<std::uint32_t> order(places_.size());
    for (std::uint32_t n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair{places_[a].before, a} > std::pair{places_[b].before, b};
    });
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t n : order) {
        Place& place = places_[n];
        if (!work(static_cast<Size>((place.last - place.first) * space_.rank()))) return false;
        for (std::uint32_t e = place.first; e < place.last; ++e) {
          const Place& next = places_[edges_[e].to];
          for (std::size_t i = 0; i < space_.rank(); ++i) {
            const Lane least = space_.min(place.kept[i], next.kept[i]);
            changed = changed || least != place.kept[i];
            place.kept[i] = least;
          }
        }
      }
      if (tight_) break;  // every way on has a larger `before`
    }
    return true;
  }

  std::optional<ExactPath> search(Relative limit, std::int32_t most_steps, const ExactTest* test) {
    failures_.clear();
    left_open_ = false;
    test_ = test;
    for (const std::uint32_t bottom : bottoms_) {
      const Place& place = places_[bottom];
      DigitLists lists = alphabet_.source();
      ExactPath found;
      for (std::size_t i = 0; i < space_.rank(); ++i) {
        const Lane slice = level_.lane(place.key, i) - space_.source(i);
        if (slice == 0) continue;
        found.path.slices.push_back({space_.dim(i), space_.factor(slice)});
        alphabet_.slice(lists[i], space_.factor(slice));
      }
      path_ = std::move(found.path);
      const auto slices = static_cast<std::int32_t>(path_.slices.size());
      if (walk(bottom, lists, limit, most_steps - slices)) {
        found.path = std::move(path_);
        found.cost = limit - budget_left_;
        found.steps = static_cast<std::int32_t>(found.path.slices.size() + found.path.moves.size() +
                                                found.path.gathers.size());
        return found;
      }
      if (!complete_) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Depth: every move costs, so at most most_moves(limit).
  bool walk(std::uint32_t at, const DigitLists& lists, Relative budget, std::int32_t steps) {
    const Place& place = places_[at];
    Size letters = 0;
    for (const DigitList& list : lists) letters += static_cast<Size>(list.size());
    if (place.cost > budget || !work(2 * state_work() + letters)) return false;
    if (tight_ && place.steps > steps) return false;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane common = space_.min(place.kept[i], space_.target(i));
      if (alphabet_.match(lists[i], i, space_.factor(common)) == Match::no) return false;
    }
    if (alphabet_.one_prime() && alphabet_.least_moves(lists) > most_moves(budget)) return false;
    if (place.gathers && *place.gathers <= budget && gather(place, lists, steps)) {
      budget_left_ = budget - *place.gathers;
      return true;
    }
    if (place.first == place.last) return false;
    std::u16string name;
    for (const DigitList& list : lists) (name += list) += u'\xffff';
    const auto failed = failures_.find(name);
    if (failed != failures_.end() && failed->second.budget >= budget &&
        failed->second.steps >= steps)
      return false;
    DigitLists next;
    for (std::uint32_t e = place.first; e < place.last; ++e) {
      const Edge& edge = edges_[e];
      if (places_[edge.to].cost + edge.block.cost > budget) continue;
      next = lists;
      alphabet_.move(next, edge.from_dim, edge.to_dim, edge.block.factor);
      if (!work(state_work() + alphabet_.take_work()) || alphabet_.full()) {
        complete_ = false;
        return false;
      }
      path_.moves.push_back(
          {space_.dim(edge.from_dim), space_.dim(edge.to_dim), edge.block.factor});
      if (walk(edge.to, next, budget - edge.block.cost, steps - 1)) return true;
      path_.moves.pop_back();
      if (!complete_) return false;
    }
    failures_[name] = {budget, steps};
    return false;
  }

  bool gather(const Place& place, const DigitLists& lists, std::int32_t steps) {
    bool open = false;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Match match = alphabet_.match(lists[i], i, space_.factor(space_.target(i)));
      if (match == Match::no) return false;
      open = open || match == Match::unknown;
    }
    path_.gathers.clear();
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane gathered = level_.lane(place.key, i) - space_.target(i);
      if (gathered != 0) path_.gathers.push_back({space_.dim(i), space_.factor(gathered)});
    }
    path_.sort_gathers();
    bool fits = static_cast<std::int32_t>(path_.gathers.size()) <= steps;
    if (fits && open) {
      left_open_ = true;
      const std::optional<bool> answer = test_ != nullptr ? (*test_)(path_) : false;
      if (!answer) undecided_ = true;
      fits = answer.value_or(false);
    }
    if (!fits) path_.gathers.clear();
    return fits;
  }

 public:
  /// Some path could neither be realised nor refuted.
  [[nodiscard]] bool undecided() const { return undecided_; }

 private:
  const WeakSpace& space_;
  LevelSearch<Key>& level_;
  DigitAlphabet& alphabet_;
  SearchLimits& limits_;
  std::unordered_map<std::uint32_t, std::uint32_t> place_at_;  // node to place; never iterated
  std::vector<Place> places_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> bottoms_;
  std::unordered_map<std::u16string, Failure> failures_;
  WeakPath path_;
  Relative budget_left_ = 0;
  const ExactTest* test_ = nullptr;
  bool tight_ = false;
  bool left_open_ = false;
  bool complete_ = true;
  bool undecided_ = false;
};

}  // namespace retile
