#include "elimination.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "retile/core/assert.h"

namespace retile::array {

Weight operator+(const Weight& a, const Weight& b) {
  Weight out;
  if (a.is_infinite() || b.is_infinite() || __builtin_add_overflow(a.first, b.first, &out.first) ||
      __builtin_add_overflow(a.second, b.second, &out.second) ||
      __builtin_add_overflow(a.third, b.third, &out.third)) {
    return Weight::infinite();
  }
  return out;
}

namespace {

/// A factor of any variables, which are in order; the last one's values stand beside each other.
struct Factor {
  std::vector<std::size_t> variables;
  std::vector<Weight> table;
};

/// Counts through the values of some variables, and says where the entry of a factor is.
class Places {
 public:
  Places(const std::vector<std::size_t>& variables, const std::vector<Size>& sizes,
         const std::vector<Factor>& factors)
      : sizes_(variables.size()), at_(variables.size(), 0), places_(factors.size(), 0) {
    for (std::size_t k = 0; k < variables.size(); ++k) sizes_[k] = sizes[variables[k]];
    for (const Factor& factor : factors) {
      strides_.emplace_back(variables.size(), 0);
      std::size_t stride = 1;
      for (std::size_t i = factor.variables.size(); i-- > 0;) {
        const auto found = std::find(variables.begin(), variables.end(), factor.variables[i]);
        if (found != variables.end()) {
          strides_.back()[static_cast<std::size_t>(found - variables.begin())] = stride;
        }
        stride *= static_cast<std::size_t>(sizes[factor.variables[i]]);
      }
    }
  }
  [[nodiscard]] std::size_t of(std::size_t factor) const { return places_[factor]; }
  void next() {
    for (std::size_t k = at_.size(); k-- > 0;) {
      if (++at_[k] < sizes_[k]) {
        for (std::size_t t = 0; t < places_.size(); ++t) places_[t] += strides_[t][k];
        return;
      }
      for (std::size_t t = 0; t < places_.size(); ++t) {
        places_[t] -= strides_[t][k] * static_cast<std::size_t>(sizes_[k] - 1);
      }
      at_[k] = 0;
    }
  }

 private:
  std::vector<Size> sizes_;
  std::vector<Size> at_;
  std::vector<std::size_t> places_;
  std::vector<std::vector<std::size_t>> strides_;
};

/// How far apart the entries of a factor are for neighbouring values of a variable.
std::size_t stride_of(const Factor& factor, std::size_t variable, const std::vector<Size>& sizes) {
  std::size_t out = 1;
  for (std::size_t i = factor.variables.size(); factor.variables[--i] != variable;) {
    out *= static_cast<std::size_t>(sizes[factor.variables[i]]);
  }
  return out;
}

std::vector<Size> sizes_of(const std::vector<std::vector<Weight>>& alone) {
  std::vector<Size> out;
  out.reserve(alone.size());
  for (const auto& weights : alone) out.push_back(static_cast<Size>(weights.size()));
  return out;
}

}  // namespace

Elimination::Elimination(std::vector<std::vector<Weight>> alone, std::vector<Pair> pairs)
    : alone_(std::move(alone)), pairs_(std::move(pairs)) {
  const std::vector<Size> sizes = sizes_of(alone_);
  std::vector<std::set<std::size_t>> near(sizes.size());
  for (const Pair& pair : pairs_) {
    RETILE_ASSERT(pair.row != pair.column, "a factor of one variable stands alone");
    near[pair.row].insert(pair.column);
    near[pair.column].insert(pair.row);
  }
  std::set<std::size_t> left;
  for (std::size_t v = 0; v < sizes.size(); ++v) left.insert(v);
  work_ = 0;
  while (!left.empty()) {
    // The one that makes the smallest factor.
    std::size_t best = *left.begin();
    Size least = std::numeric_limits<Size>::max();
    for (const std::size_t v : left) {
      Size entries = 1;
      for (const std::size_t u : near[v]) {
        entries = checked_mul(entries, sizes[u]).value_or(std::numeric_limits<Size>::max());
      }
      if (entries < least) {
        least = entries;
        best = v;
      }
    }
    const auto sums = checked_mul(least, sizes[best]);
    const auto all = work_ && sums ? checked_add(*work_, *sums) : std::nullopt;
    work_ = least <= most_entries && all && *all <= most_work ? all : std::nullopt;
    order_.push_back({best, {near[best].begin(), near[best].end()}});
    left.erase(best);
    for (const std::size_t u : near[best]) {
      near[u].erase(best);
      for (const std::size_t w : near[best]) {
        if (w != u) near[u].insert(w);
      }
    }
  }
}

std::optional<Size> Elimination::work() const { return work_; }

std::optional<std::vector<std::size_t>> Elimination::solve() const { return solve(alone_); }

std::optional<std::vector<std::size_t>> Elimination::solve(
    const std::vector<std::vector<Weight>>& alone) const {
  RETILE_ASSERT(work_.has_value(), "it is known to be little enough");
  const std::vector<Size> sizes = sizes_of(alone);
  std::vector<Factor> factors;
  for (std::size_t v = 0; v < alone.size(); ++v) factors.push_back({{v}, alone[v]});
  for (const Pair& pair : pairs_) factors.push_back({{pair.row, pair.column}, pair.table});
  // By variable that went, the best value for each of the others' values.
  std::vector<std::vector<std::uint16_t>> best;
  for (const Step& step : order_) {
    std::vector<Factor> here;
    for (std::size_t t = 0; t < factors.size();) {
      const auto& all = factors[t].variables;
      if (std::find(all.begin(), all.end(), step.variable) == all.end()) {
        ++t;
        continue;
      }
      here.push_back(std::move(factors[t]));
      factors[t] = std::move(factors.back());
      factors.pop_back();
    }
    std::vector<std::size_t> strides;
    for (const Factor& factor : here) strides.push_back(stride_of(factor, step.variable, sizes));
    Size entries = 1;
    for (const std::size_t u : step.others) entries *= sizes[u];
    Factor made{step.others, {}};
    made.table.reserve(static_cast<std::size_t>(entries));
    auto& values = best.emplace_back();
    values.reserve(static_cast<std::size_t>(entries));
    Places places(step.others, sizes, here);
    const auto count = static_cast<std::size_t>(sizes[step.variable]);
    for (Size e = 0; e < entries; ++e, places.next()) {
      Weight least = Weight::infinite();
      std::size_t value = 0;
      for (std::size_t k = 0; k < count; ++k) {
        Weight sum;
        for (std::size_t t = 0; t < here.size() && !sum.is_infinite(); ++t) {
          sum = sum + here[t].table[places.of(t) + k * strides[t]];
        }
        if (sum < least) {
          least = sum;
          value = k;
        }
      }
      made.table.push_back(least);
      values.push_back(static_cast<std::uint16_t>(value));
    }
    if (step.others.empty()) {
      if (made.table.front().is_infinite()) return std::nullopt;
    } else {
      factors.push_back(std::move(made));
    }
  }
  std::vector<std::size_t> out(alone.size(), 0);
  for (std::size_t s = order_.size(); s-- > 0;) {
    std::size_t place = 0;
    for (const std::size_t u : order_[s].others) {
      place = place * static_cast<std::size_t>(sizes[u]) + out[u];
    }
    out[order_[s].variable] = best[s][place];
  }
  return out;
}

}  // namespace retile::array
