#include "elimination.h"

#include <algorithm>
#include <array>
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

/// A weight as one number, where all that may be summed up fits: in a tenth of the time.
struct Packed {
  Size value = 0;
  static constexpr Size most = Size{1} << 61;  // twice as much fits, too
  [[nodiscard]] static Packed infinite() { return {most}; }
  [[nodiscard]] bool is_infinite() const { return value >= most; }
  friend Packed operator+(Packed a, Packed b) { return {std::min(a.value + b.value, most)}; }
  friend bool operator<(Packed a, Packed b) { return a.value < b.value; }
};

/// A factor of any variables; the last one's values stand beside each other.
template <typename Number>
struct Factor {
  std::vector<std::size_t> variables;
  std::vector<Number> table;
};

/// The values of some variables, one after the other, the last one fastest, and where in a table of the same
/// variables in another order, or of some of them, their entry is.
class Places {
 public:
  Places(const std::vector<std::size_t>& variables, const std::vector<std::size_t>& of_table,
         const std::vector<Size>& sizes)
      : at_(variables.size(), 0), strides_(variables.size(), 0) {
    for (const std::size_t v : variables) sizes_.push_back(sizes[v]);
    std::size_t stride = 1;
    for (std::size_t i = of_table.size(); i-- > 0;) {
      const auto found = std::find(variables.begin(), variables.end(), of_table[i]);
      if (found != variables.end()) {
        strides_[static_cast<std::size_t>(found - variables.begin())] = stride;
      }
      stride *= static_cast<std::size_t>(sizes[of_table[i]]);
    }
  }
  [[nodiscard]] std::size_t place() const { return place_; }
  void next() {
    for (std::size_t k = at_.size(); k-- > 0;) {
      if (++at_[k] < sizes_[k]) {
        place_ += strides_[k];
        return;
      }
      place_ -= strides_[k] * static_cast<std::size_t>(sizes_[k] - 1);
      at_[k] = 0;
    }
  }

 private:
  std::vector<Size> sizes_;
  std::vector<Size> at_;
  std::vector<std::size_t> strides_;
  std::size_t place_ = 0;
};

Size entries_of(const std::vector<std::size_t>& variables, const std::vector<Size>& sizes) {
  Size out = 1;
  for (const std::size_t v : variables) out *= sizes[v];
  return out;
}

/// The same with a variable last.
template <typename Number>
Factor<Number> with_last(Factor<Number> factor, std::size_t variable,
                         const std::vector<Size>& sizes) {
  if (factor.variables.back() == variable) return factor;
  Factor<Number> out{factor.variables, {}};
  out.variables.erase(std::find(out.variables.begin(), out.variables.end(), variable));
  out.variables.push_back(variable);
  out.table.reserve(factor.table.size());
  Places places(out.variables, factor.variables, sizes);
  for (std::size_t e = 0; e < factor.table.size(); ++e, places.next()) {
    out.table.push_back(factor.table[places.place()]);
  }
  return out;
}

std::vector<Size> sizes_of(const std::vector<std::vector<Weight>>& alone) {
  std::vector<Size> out;
  out.reserve(alone.size());
  for (const auto& weights : alone) out.push_back(static_cast<Size>(weights.size()));
  return out;
}

/// Weights as numbers in which a unit of each part is more than all of the next ones together.
class Packing {
 public:
  /// Nothing where they do not fit.
  [[nodiscard]] static std::optional<Packing> of(const std::vector<std::vector<Weight>>& alone,
                                                 const std::vector<Pair>& pairs) {
    Packing out;
    Sums all = {0, 0, 0};
    for (const auto& table : alone) out.look_at(table, all);
    for (const Pair& pair : pairs) out.look_at(pair.table, all);
    for (Wide& unit : out.units_) unit = std::max(unit, Wide{1});
    // From the last part on, how many numbers those behind a part take.
    Wide room = 1;
    for (std::size_t part = 3; part-- > 0;) {
      out.factors_.at(part) = room;
      const Wide values = all.at(part) / out.units_.at(part) + 1;
      if (values > static_cast<Wide>(Packed::most) / room) return std::nullopt;
      room *= values;
    }
    return out;
  }
  [[nodiscard]] Packed operator()(const Weight& weight) const {
    if (weight.is_infinite()) return Packed::infinite();
    Wide out = 0;
    const std::array<Wide, 3> parts = parts_of(weight);
    for (std::size_t part = 0; part < 3; ++part) {
      out += parts.at(part) / units_.at(part) * factors_.at(part);
    }
    return {static_cast<Size>(out)};
  }

 private:
  using Sums = std::array<Wide, 3>;  // of the largest parts of all factors
  static std::array<Wide, 3> parts_of(const Weight& weight) {
    return {weight.first, static_cast<Wide>(weight.second), static_cast<Wide>(weight.third)};
  }
  static Wide common_divisor(Wide a, Wide b) {
    while (b > 0) a = std::exchange(b, a % b);
    return a;
  }
  void look_at(const std::vector<Weight>& table, Sums& all) {
    Sums largest = {0, 0, 0};
    for (const Weight& weight : table) {
      if (weight.is_infinite()) continue;
      const std::array<Wide, 3> parts = parts_of(weight);
      for (std::size_t part = 0; part < 3; ++part) {
        largest.at(part) = std::max(largest.at(part), parts.at(part));
        if (parts.at(part) > 0 && units_.at(part) != 1) {
          units_.at(part) = common_divisor(units_.at(part), parts.at(part));
        }
      }
    }
    for (std::size_t part = 0; part < 3; ++part) {
      // What overflows does not fit, either.
      all.at(part) =
          std::min(all.at(part) + std::min(largest.at(part), Wide{1} << 100U), Wide{1} << 120U);
    }
  }

  std::array<Wide, 3> units_ = {0, 0, 0};    ///< what all of a part are multiples of
  std::array<Wide, 3> factors_ = {1, 1, 1};  ///< what a unit of each part counts
};

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
  if (const auto packing = Packing::of(alone, pairs_)) {
    return solved<Packed>(alone, [&](const Weight& weight) { return (*packing)(weight); });
  }
  return solved<Weight>(alone, [](const Weight& weight) { return weight; });
}

template <typename Number, typename Pack>
std::optional<std::vector<std::size_t>> Elimination::solved(
    const std::vector<std::vector<Weight>>& alone, const Pack& pack) const {
  const std::vector<Size> sizes = sizes_of(alone);
  std::vector<Factor<Number>> factors;
  const auto add = [&](std::vector<std::size_t> variables, const std::vector<Weight>& table) {
    Factor<Number> factor{std::move(variables), {}};
    factor.table.reserve(table.size());
    for (const Weight& weight : table) factor.table.push_back(pack(weight));
    factors.push_back(std::move(factor));
  };
  for (std::size_t v = 0; v < alone.size(); ++v) add({v}, alone[v]);
  for (const Pair& pair : pairs_) add({pair.row, pair.column}, pair.table);
  // By variable that went, the best value for each of the others' values.
  std::vector<std::vector<std::uint16_t>> best;
  std::vector<Number> sums;
  for (const Step& step : order_) {
    std::vector<Factor<Number>> here;
    for (std::size_t t = 0; t < factors.size();) {
      const auto& all = factors[t].variables;
      if (std::find(all.begin(), all.end(), step.variable) == all.end()) {
        ++t;
        continue;
      }
      here.push_back(with_last(std::move(factors[t]), step.variable, sizes));
      factors[t] = std::move(factors.back());
      factors.pop_back();
    }
    std::vector<Places> places;
    for (const auto& factor : here) places.emplace_back(step.others, factor.variables, sizes);
    const Size entries = entries_of(step.others, sizes);
    Factor<Number> made{step.others, {}};
    made.table.reserve(static_cast<std::size_t>(entries));
    auto& values = best.emplace_back();
    values.reserve(static_cast<std::size_t>(entries));
    sums.resize(static_cast<std::size_t>(sizes[step.variable]));
    for (Size e = 0; e < entries; ++e) {
      std::fill(sums.begin(), sums.end(), Number{});
      for (std::size_t t = 0; t < here.size(); ++t) {
        const Number* const row = here[t].table.data() + places[t].place();
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = sums[k] + row[k];
        places[t].next();
      }
      const auto least = std::min_element(sums.begin(), sums.end());
      made.table.push_back(least->is_infinite() ? Number::infinite() : *least);
      values.push_back(static_cast<std::uint16_t>(least - sums.begin()));
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
