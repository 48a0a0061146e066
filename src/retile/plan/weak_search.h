// Shortest paths over weak types (Sec. 7.2), one valley level at a time.
//
// A weak type is a tile shape c (Lemma 5.1); here it is held as the exponents of the primes in the
// numbers of tiles N_i = g_i / c_i. Every cheapest weak sequence is a normal form: slices from the
// source to a *bottom*, alltoalls that keep the tile size V, gathers from a *top* to the target.
// For one V an A* search runs backwards from all tops at once over alltoall edges.
//
// Exponents of one dimension lie in a *lane*, one field per prime; the lanes of all dimensions make
// up a state in one or two machine words. So an alltoall is one addition and one subtraction.
//
// Costs within a level are relative to V: counted in its Prices::unit()-th part, so that they are
// whole numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/primes.h"
#include "retile/core/problem.h"
#include "retile/core/size.h"
#include "retile/core/wide.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/plan.h"

namespace retile {

using Key128 = UInt128;

/// A cost relative to the level's V.
using Relative = std::int64_t;
inline constexpr Relative no_cost = std::numeric_limits<Relative>::max() / 2;

/// Exponents of one dimension, a field per prime.
using Lane = std::uint32_t;

/// What one step moves: its exponents, their product, and what an alltoall of it costs.
struct Block {
  Lane lane = 0;
  Size factor = 1;
  Relative cost = 0;
};

/// One valley size: the number of tiles is the product of the primes to these totals.
struct Level {
  std::vector<int> totals;  // per prime
  Size tile = 1;            // V
  Size gathered = 1;        // target tile / V
  Relative bound = 0;       // no weak path of this level is cheaper
};

/// The weak types between two tile shapes and what steps cost there. Dimensions that can hold only
/// one tile are left out; the others are numbered anew.
class WeakSpace {
 public:
  WeakSpace(const Problem& problem, const PlanOptions& options);

  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] std::size_t dim(std::size_t i) const { return dims_[i]; }  ///< in the problem
  [[nodiscard]] const std::vector<std::size_t>& dims() const { return dims_; }
  [[nodiscard]] std::size_t key_bits() const { return lane_bits_ * rank(); }
  [[nodiscard]] unsigned lane_bits() const { return lane_bits_; }
  [[nodiscard]] const std::vector<PrimePower>& primes() const { return primes_; }
  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] const Prices& prices() const { return prices_; }

  [[nodiscard]] Lane source(std::size_t i) const { return source_[i]; }
  [[nodiscard]] Lane target(std::size_t i) const { return target_[i]; }
  [[nodiscard]] Lane cap(std::size_t i) const { return cap_[i]; }
  [[nodiscard]] Size factor(Lane lane) const { return factor_[lane]; }
  /// Of a number of tiles.
  [[nodiscard]] Lane lane_of_count(Size count) const;

  [[nodiscard]] Lane min(Lane a, Lane b) const {
    if (primes_.size() == 1) return std::min(a, b);
    Lane out = 0;
    for (const Lane mask : masks_) out |= std::min(a & mask, b & mask);
    return out;
  }
  /// Every exponent of `a` is at least that of `b`.
  [[nodiscard]] bool covers(Lane a, Lane b) const { return min(a, b) == b; }
  /// What `a` has more than `b`, prime by prime.
  [[nodiscard]] Lane excess(Lane a, Lane b) const { return a - min(a, b); }
  [[nodiscard]] int exponent(Lane lane, std::size_t prime) const {
    return static_cast<int>((lane & masks_[prime]) >> shifts_[prime]);
  }
  [[nodiscard]] Lane lane_of(std::size_t prime, int exponent) const {
    return static_cast<Lane>(exponent) << shifts_[prime];
  }

  /// All blocks that fit into `box`, in a fixed order.
  [[nodiscard]] const std::vector<Block>& blocks(Lane box) const;

  /// Possible valley sizes V, cheapest bound first; both ends' tile counts divide their own.
  [[nodiscard]] std::vector<Level> levels() const;

  /// Cost and number of the gathers whose factors are given (S8: smallest first).
  [[nodiscard]] Relative gather_cost(std::vector<Size>& factors) const;
  [[nodiscard]] Relative permute_cost() const { return prices_.allpermute(prices_.unit()); }
  [[nodiscard]] Relative move_cost(Size n) const { return prices_.alltoall(prices_.unit(), n); }
  /// The least that an alltoall can cost.
  [[nodiscard]] Relative least_move() const {
    return primes_.empty() ? 1 : move_cost(primes_.front().prime);
  }

  /// What the moves out of dimension i cost at least when it must come down to this lane from the
  /// source's; and how many they are at least.
  [[nodiscard]] Relative leaving_cost(std::size_t i, Lane lane) const {
    if (leaving_.empty()) fill_leaving();
    return leaving_[i * (std::size_t{1} << lane_bits_) + lane];
  }

  [[nodiscard]] Wide absolute(Relative cost, const Level& level) const;
  /// The largest relative cost that is at most `cost`.
  [[nodiscard]] Relative relative(Wide cost, const Level& level) const;

 private:
  void fill_leaving() const;

  std::vector<std::size_t> dims_;
  std::vector<PrimePower> primes_;
  std::vector<Lane> masks_;
  std::vector<unsigned> shifts_;
  unsigned lane_bits_ = 1;
  std::vector<Lane> source_;
  std::vector<Lane> target_;
  std::vector<Lane> cap_;
  std::vector<Size> factor_;                        // by lane
  mutable std::vector<Relative> leaving_;           // by dimension and lane; filled on demand
  mutable std::vector<std::vector<Block>> blocks_;  // by box; filled on demand
  Size devices_ = 1;
  Size global_size_ = 1;
  Size target_tile_ = 1;
  Prices prices_;
};

struct SearchLimits {
  std::optional<Wide> resident;  // elements: no step may hold more
  Size work = 0;                 // what is left of PlanOptions::search_limit

  /// False when that was too much: whoever works stops.
  bool spend(Size amount) {
    work -= amount;
    return work >= 0;
  }
};

/// A* from all tops of one level towards the bottoms. `Key` holds all lanes of a state.
template <class Key>
class LevelSearch {
 public:
  struct Node {
    Key key{};
    Relative cost = no_cost;   // to the target by alltoalls and gathers
    Relative leaving = 0;      // bound on what comes before
    std::int32_t steps = 0;    // least number of steps at that cost
    std::int32_t leavers = 0;  // bound on the number of alltoalls before
    bool settled = false;
  };

  /// Paths dearer than `cutoff` are of no interest. Takes its work off `limits`.
  LevelSearch(const WeakSpace& space, const Level& level, SearchLimits& limits, Relative cutoff)
      : space_(space), level_(level), limits_(limits), cutoff_(cutoff) {
    for (std::size_t i = 0; i < space.rank(); ++i)
      shift_.push_back(static_cast<unsigned>(i * space.lane_bits()));
    slots_.assign(64, 0);
    may_move_ = !limits.resident || *limits.resident >= 2 * static_cast<Wide>(level.tile);
    add_tops();
  }

  /// Settles states until the first bottom is complete; best() is then known if there is any within
  /// the cutoff.
  void settle_best() { settle(cutoff_, true); }
  /// Settles every state that can lie on a path of at most this cost.
  void settle_all(Relative through) { settle(std::min(through, cutoff_), false); }

  [[nodiscard]] const Level& level() const { return level_; }
  [[nodiscard]] bool may_move() const { return may_move_; }
  [[nodiscard]] bool complete() const { return complete_; }
  /// Least cost over all bottoms, if it is at most the cutoff.
  [[nodiscard]] std::optional<Relative> best() const { return best_; }
  [[nodiscard]] std::int32_t best_steps() const { return best_steps_; }
  [[nodiscard]] std::uint32_t best_bottom() const { return best_bottom_; }
  [[nodiscard]] const std::vector<std::uint32_t>& bottoms() const { return bottoms_; }
  [[nodiscard]] const Node& node(std::uint32_t n) const { return nodes_[n]; }
  [[nodiscard]] Size states() const { return static_cast<Size>(nodes_.size()); }

  [[nodiscard]] Lane lane(Key key, std::size_t i) const {
    return static_cast<Lane>(key >> shift_[i]) & lane_mask();
  }
  [[nodiscard]] Key moved(Key key, std::size_t from, std::size_t to, Lane block) const {
    return key - (static_cast<Key>(block) << shift_[from]) +
           (static_cast<Key>(block) << shift_[to]);
  }
  [[nodiscard]] std::optional<std::uint32_t> find(Key key) const {
    for (std::size_t slot = hash(key) & (slots_.size() - 1); slots_[slot] != 0;
         slot = (slot + 1) & (slots_.size() - 1)) {
      if (nodes_[slots_[slot] - 1].key == key) return slots_[slot] - 1;
    }
    return std::nullopt;
  }
  /// Calls visit(from, to, block) for every alltoall out of a state, in a fixed order, until it
  /// returns true.
  template <class Visit>
  bool for_each_move(Key key, const Visit& visit) const {
    for (std::size_t i = space_.rank(); i-- > 0;) {
      const Lane from = lane(key, i);
      if (from == 0) continue;
      for (std::size_t j = 0; j < space_.rank(); ++j) {
        if (j == i) continue;
        const Lane box = space_.min(from, space_.cap(j) - lane(key, j));
        if (box == 0) continue;
        for (const Block& block : space_.blocks(box)) {
          if (visit(i, j, block)) return true;
        }
      }
    }
    return false;
  }
  /// Cost of the gathers from here, if this is a top and they obey the memory limit.
  [[nodiscard]] std::optional<Relative> gather_cost(Key key) const {
    std::vector<Size> factors;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane here = lane(key, i);
      if (!space_.covers(here, space_.target(i))) return std::nullopt;
      if (here != space_.target(i)) factors.push_back(space_.factor(here - space_.target(i)));
    }
    const Relative cost = space_.gather_cost(factors);
    if (!fits(factors)) return std::nullopt;
    return cost;
  }

 private:
  struct Entry {
    Relative cost = 0;  // of the whole path, at least
    std::int32_t steps = 0;
    bool open = false;  // false: a bottom with its slices
    std::uint32_t node = 0;
    // Reversed for the heap. Later states first: they are nearer to a bottom. Node numbers make the
    // order total, so that it is the same everywhere.
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.cost != b.cost) return a.cost > b.cost;
      if (a.steps != b.steps) return a.steps > b.steps;
      if (a.open != b.open) return a.open;
      return a.node < b.node;
    }
  };

  [[nodiscard]] Lane lane_mask() const {
    return static_cast<Lane>((std::uint64_t{1} << space_.lane_bits()) - 1);
  }
  [[nodiscard]] Size state_work() const { return 8 + static_cast<Size>(space_.rank()); }

  bool spend(Size amount) {
    complete_ = limits_.spend(amount) && complete_;
    return complete_;
  }

  static std::size_t hash(Key key) {
    std::uint64_t x = static_cast<std::uint64_t>(key);
    if constexpr (sizeof(Key) > sizeof(std::uint64_t)) {
      x ^= static_cast<std::uint64_t>(key >> 64) * 0x9E3779B97F4A7C15U;
    }
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93U;
    return static_cast<std::size_t>(x ^ (x >> 32));
  }

  /// The largest gather holds its input and its output: factors in ascending order.
  [[nodiscard]] bool fits(const std::vector<Size>& factors) const {
    if (!limits_.resident || factors.empty()) return true;
    Wide tile = level_.tile;
    for (std::size_t k = 0; k + 1 < factors.size(); ++k) tile *= factors[k];
    return tile + tile * factors.back() <= *limits_.resident;
  }

  std::pair<std::uint32_t, bool> add(Key key) {
    if (2 * (nodes_.size() + 1) > slots_.size()) {
      slots_.assign(2 * slots_.size(), 0);
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        std::size_t slot = hash(nodes_[n].key) & (slots_.size() - 1);
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = static_cast<std::uint32_t>(n + 1);
      }
    }
    std::size_t slot = hash(key) & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      if (nodes_[slots_[slot] - 1].key == key) return {slots_[slot] - 1, false};
    }
    Node node;
    node.key = key;
    nodes_.push_back(node);
    slots_[slot] = static_cast<std::uint32_t>(nodes_.size());
    return {slots_[slot] - 1, true};
  }

  void push(Entry entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }

  void add_tops() {
    const std::size_t rank = space_.rank();
    const std::size_t primes = space_.primes().size();
    // left[q]: what is still to be put into dimensions; room[i][q]: what those from i on can take.
    std::vector<int> left(level_.totals);
    std::vector<std::vector<int>> room(rank + 1, std::vector<int>(primes, 0));
    for (std::size_t i = rank; i-- > 0;) {
      for (std::size_t q = 0; q < primes; ++q) {
        left[q] -= space_.exponent(space_.target(i), q);
        room[i][q] = room[i + 1][q] + space_.exponent(space_.cap(i) - space_.target(i), q);
      }
    }
    std::vector<Size> factors;
    Key key{};
    const auto spread = [&](const auto& self, std::size_t i, Relative leaving,
                            std::int32_t leavers) -> void {
      if (!spend(2)) return;
      for (std::size_t q = 0; q < primes; ++q) {
        if (left[q] > room[i][q]) return;
      }
      std::vector<Size> sorted = factors;
      const Relative chosen = space_.gather_cost(sorted);
      if (i == rank) {
        if (chosen + leaving > cutoff_ || !fits(sorted)) return;
        if (!spend(state_work())) return;
        const auto at = add(key).first;
        nodes_[at].cost = chosen;
        nodes_[at].steps = static_cast<std::int32_t>(factors.size());
        nodes_[at].leaving = leaving;
        nodes_[at].leavers = leavers;
        push({chosen + leaving, nodes_[at].steps + leavers, true, at});
        return;
      }
      // Putting more into a list of factors does not make its smaller products cheaper, and its
      // last product is known.
      Relative product = 1;
      for (const Size factor : sorted) product *= factor;
      const Relative more = (level_.gathered - product) * space_.prices().unit();
      if (chosen + more + leaving > cutoff_) return;
      Lane box = 0;
      const Lane spare = space_.cap(i) - space_.target(i);
      for (std::size_t q = 0; q < primes; ++q) {
        box |= space_.lane_of(q, std::min(space_.exponent(spare, q), left[q]));
      }
      const Key before = key;
      const auto take = [&](Lane block) {
        const Lane here = space_.target(i) + block;
        key = before | (static_cast<Key>(here) << shift_[i]);
        const Relative leaves = space_.leaving_cost(i, here);
        self(self, i + 1, leaving + leaves, leavers + (leaves > 0 ? 1 : 0));
        key = before;
      };
      take(0);
      for (const Block& block : space_.blocks(box)) {
        for (std::size_t q = 0; q < primes; ++q) left[q] -= space_.exponent(block.lane, q);
        factors.push_back(block.factor);
        take(block.lane);
        factors.pop_back();
        for (std::size_t q = 0; q < primes; ++q) left[q] += space_.exponent(block.lane, q);
      }
    };
    spread(spread, 0, 0, 0);
  }

  void settle(Relative through, bool stop_at_best) {
    while (complete_ && !heap_.empty()) {
      const Entry entry = heap_.front();
      if (entry.cost > through || (stop_at_best && best_)) break;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      if (!entry.open) {
        if (!best_ || std::pair{entry.cost, entry.steps} < std::pair{*best_, best_steps_}) {
          best_ = entry.cost;
          best_steps_ = entry.steps;
          best_bottom_ = entry.node;
        }
        continue;
      }
      Node& node = nodes_[entry.node];
      if (node.settled) continue;
      node.settled = true;
      if (node.leaving == 0) {
        std::int32_t slices = 0;
        for (std::size_t i = 0; i < space_.rank(); ++i)
          slices += lane(node.key, i) != space_.source(i) ? 1 : 0;
        bottoms_.push_back(entry.node);
        push({node.cost, node.steps + slices, false, entry.node});
      }
      if (may_move_) expand(entry.node);
    }
  }

  /// Backwards: an alltoall into this state took a block from dimension i to j.
  void expand(std::uint32_t at) {
    const Node node = nodes_[at];
    const std::size_t rank = space_.rank();
    for (std::size_t j = 0; j < rank; ++j) {
      const Lane to = lane(node.key, j);
      if (to == 0) continue;
      const Relative to_leaving = space_.leaving_cost(j, to);
      for (std::size_t i = 0; i < rank; ++i) {
        if (i == j) continue;
        const Lane from = lane(node.key, i);
        const Lane box = space_.min(to, space_.cap(i) - from);
        if (box == 0) continue;
        const Relative from_leaving = space_.leaving_cost(i, from);
        const std::vector<Block>& blocks = space_.blocks(box);
        if (!spend(1 + static_cast<Size>(blocks.size()))) return;
        for (const Block& block : blocks) {
          const Relative j_leaving = space_.leaving_cost(j, to - block.lane);
          const Relative i_leaving = space_.leaving_cost(i, from + block.lane);
          const Relative leaving = node.leaving - to_leaving - from_leaving + j_leaving + i_leaving;
          const Relative cost = node.cost + block.cost;
          if (cost + leaving > cutoff_) continue;
          const std::int32_t steps = node.steps + 1;
          const auto [n, fresh] = add(moved(node.key, j, i, block.lane));
          Node& next = nodes_[n];
          if (fresh) {
            spend(state_work());
            next.leaving = leaving;
            next.leavers = node.leavers - (to_leaving > 0 ? 1 : 0) - (from_leaving > 0 ? 1 : 0) +
                           (j_leaving > 0 ? 1 : 0) + (i_leaving > 0 ? 1 : 0);
          } else if (std::pair{next.cost, next.steps} <= std::pair{cost, steps}) {
            continue;
          }
          next.cost = cost;
          next.steps = steps;
          push({cost + leaving, steps + next.leavers, true, n});
        }
      }
    }
  }

  const WeakSpace& space_;
  Level level_;
  SearchLimits& limits_;
  Relative cutoff_;
  std::vector<unsigned> shift_;
  std::vector<std::uint32_t> slots_;
  std::vector<Node> nodes_;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> bottoms_;
  std::optional<Relative> best_;
  std::int32_t best_steps_ = 0;
  std::uint32_t best_bottom_ = 0;
  bool may_move_ = true;
  bool complete_ = true;
};

}  // namespace retile
