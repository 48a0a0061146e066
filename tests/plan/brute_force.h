// The cheapest sequence between two tile maps by brute force, for any cost model and under any
// memory limit: Dijkstra over every tile map of a few devices, by the steps in their physical form.
// Written from the definitions alone; shares nothing with the planner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"

namespace support {

using retile::Shape;
using retile::Size;

/// What is minimised: Fig. 11; elements received from others, times the number of devices; or the
/// largest sum of the tiles before and after a step, a dynslice counting only the larger.
enum class Minimise { paper, bytes, resident };

class BruteForce {
 public:
  /// A tile map: the tile shape, and the tile that each device holds, row-major.
  using State = std::pair<Shape, std::vector<Size>>;

  /// Costs from f_1 to every tile map, by sequences in which no tile is larger than `bound` and no
  /// step holds more than `limit`.
  BruteForce(const retile::Layout& f_1, Minimise minimise, Size bound, Size limit)
      : global_(f_1.global()),
        devices_(f_1.devices()),
        minimise_(minimise),
        bound_(bound),
        limit_(limit) {
    const Size start = minimise == Minimise::resident ? size_of(f_1.tile()) : 0;
    if (size_of(f_1.tile()) > limit) return;
    reach(exact_, state_of(f_1), start, false);
    while (!open_.empty()) {
      const Entry entry = open_.top();
      open_.pop();
      auto& costs = entry.any ? any_ : exact_;
      if (costs.at(entry.state) == entry.cost) expand(entry);
    }
  }

  [[nodiscard]] std::optional<Size> cost(const retile::Layout& f_2) const {
    std::optional<Size> out;
    const State state = state_of(f_2);
    if (const auto at = exact_.find(state); at != exact_.end()) out = at->second;
    if (const auto at = any_.find({state.first, {}}); at != any_.end()) {
      out = std::min(out.value_or(at->second), at->second);
    }
    return out;
  }
  [[nodiscard]] std::size_t states() const { return exact_.size(); }

 private:
  struct Entry {
    Size cost = 0;
    bool any = false;  // every tile map of this shape: an allpermute came before
    State state;
    bool operator>(const Entry& other) const {
      return std::tie(cost, any, state) > std::tie(other.cost, other.any, other.state);
    }
  };

  static Size size_of(const Shape& tile) {
    Size size = 1;
    for (const Size extent : tile) size *= extent;
    return size;
  }
  [[nodiscard]] State state_of(const retile::Layout& map) const {
    const std::vector<Size> at = map.base_offsets();
    State out{map.tile(), {}};
    for (std::size_t d = 0; d < static_cast<std::size_t>(devices_); ++d) {
      Size number = 0;
      for (std::size_t i = 0; i < global_.size(); ++i) {
        number = number * (global_[i] / map.tile()[i]) + at[d * global_.size() + i] / map.tile()[i];
      }
      out.second.push_back(number);
    }
    return out;
  }
  [[nodiscard]] Shape split(Size number, const Shape& tile) const {
    Shape out(tile.size());
    for (std::size_t i = tile.size(); i-- > 0;) {
      out[i] = number % (global_[i] / tile[i]);
      number /= global_[i] / tile[i];
    }
    return out;
  }
  [[nodiscard]] Size join(const Shape& numbers, const Shape& tile) const {
    Size out = 0;
    for (std::size_t i = 0; i < tile.size(); ++i) out = out * (global_[i] / tile[i]) + numbers[i];
    return out;
  }

  void reach(std::map<State, Size>& costs, const State& state, Size cost, bool any) {
    const auto [at, fresh] = costs.emplace(state, cost);
    if (!fresh && at->second <= cost) return;
    at->second = cost;
    open_.push({cost, any, state});
  }

  void expand(const Entry& entry) {
    const Shape& tile = entry.state.first;
    const std::vector<Size>& tiles = entry.state.second;
    const Size before = size_of(tile);
    if (!entry.any) {
      step(entry, before, before, before * devices_, before, false, [&](Size cost) {
        reach(any_, {entry.state.first, {}}, cost, true);
      });
    }
    const std::size_t rank = tile.size();
    for (Size n = 2; n <= devices_; ++n) {
      for (std::size_t i = 0; i <= rank; ++i) {
        for (std::size_t j = 0; j <= rank; ++j) {
          if (i == j || (i < rank && global_[i] / tile[i] % n != 0)) continue;
          if (j < rank && tile[j] % n != 0) continue;
          Shape next = tile;
          if (i < rank) next[i] *= n;
          if (j < rank) next[j] /= n;
          Size count = 1;
          for (std::size_t k = 0; k < rank; ++k) count *= global_[k] / next[k];
          if (devices_ % count != 0 || size_of(next) > bound_) continue;
          const Size after = size_of(next);
          const bool slice = i == rank;
          const Size received = slice       ? 0
                                : j == rank ? (after - before) * devices_
                                            : before * devices_ / n * (n - 1);
          const Size paper = slice ? 0 : j == rank ? after : before;
          step(entry, before, after, received, paper, slice, [&](Size cost) {
            if (entry.any) {
              reach(any_, {next, {}}, cost, true);
            } else if (slice) {
              slices(entry.state, j, n, next, cost);
            } else {
              State state{next, {}};
              for (const Size number : tiles) {
                Shape t = split(number, tile);
                if (j < rank) t[j] = t[j] * n + t[i] % n;
                t[i] /= n;
                state.second.push_back(join(t, next));
              }
              reach(exact_, state, cost, false);
            }
          });
        }
      }
    }
  }

  template <class Then>
  void step(const Entry& entry, Size before, Size after, Size received, Size paper, bool slice,
            const Then& then) {
    const Size resident = slice ? std::max(before, after) : before + after;
    if (resident > limit_) return;
    then(minimise_ == Minimise::paper   ? entry.cost + paper
         : minimise_ == Minimise::bytes ? entry.cost + received
                                        : std::max(entry.cost, resident));
  }

  /// Every balanced choice of digits 0..n-1: each tile's holders get each digit equally often.
  void slices(const State& state, std::size_t j, Size n, const Shape& next, Size cost) {
    std::map<Size, Size> holders;
    for (const Size number : state.second) ++holders[number];
    std::map<std::pair<Size, Size>, Size> given;
    State out{next, std::vector<Size>(state.second.size())};
    const auto choose = [&](const auto& self, std::size_t d) -> void {
      if (d == state.second.size()) {
        reach(exact_, out, cost, false);
        return;
      }
      const Size number = state.second[d];
      for (Size digit = 0; digit < n; ++digit) {
        Size& count = given[{number, digit}];
        if (count == holders[number] / n) continue;
        ++count;
        Shape t = split(number, state.first);
        t[j] = t[j] * n + digit;
        out.second[d] = join(t, next);
        self(self, d + 1);
        --given[{number, digit}];
      }
    };
    choose(choose, 0);
  }

  Shape global_;
  Size devices_;
  Minimise minimise_;
  Size bound_;
  Size limit_;
  std::map<State, Size> exact_;
  std::map<State, Size> any_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

}  // namespace support
