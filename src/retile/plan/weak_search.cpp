// Shortest paths over weak types. See weak_search.h.
#include "retile/plan/weak_search.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "retile/core/assert.h"

namespace retile {

namespace {

/// Divisors of n in ascending order; n >= 1. Trial up to the square root: n is at most the number
/// of devices.
std::vector<Size> divisors(Size n) {
  std::vector<Size> low;
  std::vector<Size> high;
  for (Size d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d * d != n) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

Size product(const std::vector<Size>& factors) {
  const auto out = checked_product(factors);
  RETILE_ASSERT(out.has_value(), "tile counts multiply to at most the number of devices");
  return *out;
}

std::optional<char16_t> index_of(const std::vector<Size>& sorted, Size value) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (found == sorted.end() || *found != value) return std::nullopt;
  return static_cast<char16_t>(found - sorted.begin());
}

}  // namespace

WeakSpace::WeakSpace(const Problem& problem, const PlanOptions& options)
    : global_(problem.from.global()),
      devices_(problem.from.devices()),
      global_size_(problem.from.global_size()),
      cost_model_(options.cost_model),
      element_bytes_(options.element_bytes) {
  for (std::size_t i = 0; i < global_.size(); ++i) {
    source_.push_back(global_[i] / problem.from.tile()[i]);
    target_.push_back(global_[i] / problem.to.tile()[i]);
    counts_.push_back(divisors(std::gcd(global_[i], devices_)));
  }
}

Shape WeakSpace::tile(const WeakState& state) const {
  Shape out;
  for (std::size_t i = 0; i < rank(); ++i) out.push_back(global_[i] / count(state, i));
  return out;
}

std::vector<Size> WeakSpace::levels() const {
  const Size source = product(source_);
  const Size target = product(target_);
  const Size least = source / std::gcd(source, target) * target;
  std::vector<Size> out;
  for (const Size tiles : divisors(devices_)) {
    if (tiles % least == 0 && global_size_ % tiles == 0) out.push_back(global_size_ / tiles);
  }
  return out;
}

bool WeakSpace::tops(Size level, std::size_t limit, std::vector<WeakState>& out) const {
  // N_i = target_i * e_i with the product of the e_i given. room[i] is what the dimensions from i
  // on can still take of it, so every branch that is entered ends in a state.
  const Size extra = global_size_ / level / product(target_);
  WeakState state(rank(), u'\0');
  std::vector<Size> room(rank() + 1, 1);
  for (std::size_t i = rank(); i-- > 0;) {
    state[i] = index_of(counts_[i], target_[i]).value();
    room[i] = std::gcd(extra, room[i + 1] * std::gcd(extra, counts_[i].back() / target_[i]));
  }
  bool complete = true;
  // Depth: every level takes a factor, so at most the number of prime factors of the device count.
  const auto spread = [&](const auto& self, std::size_t first, Size left) -> void {
    if (left == 1) {
      if (out.size() >= limit) {
        complete = false;
      } else {
        out.push_back(state);
      }
      return;
    }
    for (std::size_t i = first; i < rank() && room[i] % left == 0; ++i) {
      const char16_t least = state[i];
      for (std::size_t k = least + std::size_t{1}; k < counts_[i].size() && complete; ++k) {
        const Size tiles = counts_[i][k];
        if (tiles % target_[i] != 0) continue;
        const Size factor = tiles / target_[i];
        if (left % factor != 0 || room[i + 1] % (left / factor) != 0) continue;
        state[i] = static_cast<char16_t>(k);
        self(self, i + 1, left / factor);
      }
      state[i] = least;
    }
  };
  if (room[0] % extra == 0) spread(spread, 0, extra);
  return complete;
}

bool WeakSpace::is_bottom(const WeakState& state) const {
  for (std::size_t i = 0; i < rank(); ++i) {
    if (count(state, i) % source_[i] != 0) return false;
  }
  return true;
}

bool WeakSpace::is_top(const WeakState& state) const {
  for (std::size_t i = 0; i < rank(); ++i) {
    if (count(state, i) % target_[i] != 0) return false;
  }
  return true;
}

void WeakSpace::moves(const WeakState& state, std::vector<WeakMove>& out) const {
  out.clear();
  for (std::size_t i = rank(); i-- > 0;) {
    const Size from = count(state, i);
    if (from == 1) continue;
    for (std::size_t k = 0; k < state[i]; ++k) {
      if (from % counts_[i][k] != 0) continue;
      const Size factor = from / counts_[i][k];
      for (std::size_t j = 0; j < rank(); ++j) {
        if (j == i) continue;
        const auto to = index_of(counts_[j], count(state, j) * factor);
        if (!to) continue;
        WeakMove move{i, j, factor, state};
        move.next[i] = static_cast<char16_t>(k);
        move.next[j] = *to;
        out.push_back(std::move(move));
      }
    }
  }
}

std::vector<WeakSpace::Gather> WeakSpace::gathers(const WeakState& top) const {
  std::vector<Gather> out;
  for (std::size_t i = 0; i < rank(); ++i) {
    const Size factor = count(top, i) / target_[i];
    if (factor > 1) out.push_back({i, factor});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Gather& a, const Gather& b) { return a.factor < b.factor; });
  return out;
}

Wide WeakSpace::gather_cost(const WeakState& top, Size level) const {
  Wide cost = 0;
  Wide tile = level;
  for (const Gather& gather : gathers(top)) {
    const Wide after = tile * gather.factor;
    cost += cost_model_ == CostModel::paper ? after : (after - tile) * element_bytes_;
    tile = after;
  }
  return cost;
}

Wide WeakSpace::gather_resident(const WeakState& top, Size level) const {
  Wide resident = 0;
  Wide tile = level;
  for (const Gather& gather : gathers(top)) {
    resident = tile + tile * gather.factor;  // grows with every gather
    tile *= gather.factor;
  }
  return resident;
}

Wide WeakSpace::alltoall_cost(Size level, Size factor) const {
  if (cost_model_ == CostModel::paper) return level;
  return static_cast<Wide>(level - level / factor) * element_bytes_;  // factor divides the tile
}

Wide WeakSpace::permute_cost(Size level) const {
  return cost_model_ == CostModel::paper ? static_cast<Wide>(level)
                                         : static_cast<Wide>(level) * element_bytes_;
}

LevelResult search_level(const WeakSpace& space, Size level, std::optional<Wide> cutoff,
                         const SearchLimits& limits) {
  LevelResult result;
  result.level = level;
  const Size state_work = 8 + static_cast<Size>(space.rank());  // what keeping a state counts
  std::vector<WeakState> tops;
  result.complete = space.tops(level, static_cast<std::size_t>(limits.work / state_work), tops);
  Size work = static_cast<Size>(tops.size()) * state_work;
  const bool may_move = !limits.resident || *limits.resident >= 2 * static_cast<Wide>(level);

  using Entry = std::pair<Wide, WeakState>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::unordered_map<WeakState, Wide> tentative;
  for (const WeakState& top : tops) {
    if (limits.resident && space.gather_resident(top, level) > *limits.resident) continue;
    const Wide cost = space.gather_cost(top, level);
    if (cutoff && cost > *cutoff) continue;
    tentative.emplace(top, cost);
    queue.emplace(cost, top);
  }
  std::vector<WeakMove> moves;
  while (!queue.empty()) {
    const auto [cost, state] = queue.top();
    queue.pop();
    if (tentative.at(state) != cost) continue;  // an older, dearer entry
    if (result.best && cost > *result.best) break;
    result.cost_to_go.emplace(state, cost);
    if (space.is_bottom(state)) {
      result.best = cost;
      result.best_bottoms.push_back(state);
    }
    if (!may_move) continue;
    if (work > limits.work) {
      result.complete = false;
      break;
    }
    space.moves(state, moves);
    work += static_cast<Size>(moves.size());
    for (const WeakMove& move : moves) {
      // Backwards: an alltoall from move.next to state moves the same factor the other way.
      const Wide next = cost + space.alltoall_cost(level, move.factor);
      if ((cutoff && next > *cutoff) || (result.best && next > *result.best)) continue;
      const auto [known, fresh] = tentative.emplace(move.next, next);
      if (fresh) {
        work += state_work;
      } else {
        if (known->second <= next) continue;
        known->second = next;
      }
      queue.emplace(next, move.next);
    }
  }
  result.states = static_cast<Size>(tentative.size());
  result.work = work;
  std::sort(result.best_bottoms.begin(), result.best_bottoms.end());
  return result;
}

}  // namespace retile
