#include "relaxation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace retile::array {

namespace {

/// Sums of as many numbers as there are here are off by less than this part of their largest one.
constexpr double most_rounding = 0x1p-36;

double number_of(const Weight& weight, double dear) {
  return weight.is_infinite() ? dear : static_cast<double>(weight.first);
}
double largest_in(const std::vector<Weight>& table) {
  double out = 0;
  for (const Weight& weight : table) out = std::max(out, number_of(weight, 0));
  return out;
}

}  // namespace

Relaxation::Relaxation(const std::vector<std::vector<Weight>>& alone, std::vector<Pair> pairs)
    : below_(alone.size()), above_(alone.size()) {
  for (const auto& weights : alone) sizes_.push_back(weights.size());
  for (const Pair& pair : pairs) dear_ += largest_in(pair.table);
  for (const auto& weights : alone) dear_ += largest_in(weights);
  for (Pair& pair : pairs) {
    const bool turns = pair.row > pair.column;
    Edge edge{std::min(pair.row, pair.column), std::max(pair.row, pair.column), {}, {}, {}};
    const std::size_t rows = sizes_[edge.low], columns = sizes_[edge.high];
    edge.table.resize(rows * columns);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        edge.table[r * columns + c] =
            number_of(pair.table[turns ? c * rows + r : r * columns + c], dear_);
      }
    }
    edge.up.resize(columns);
    edge.down.resize(rows);
    above_[edge.low].push_back(edges_.size());
    below_[edge.high].push_back(edges_.size());
    edges_.push_back(std::move(edge));
  }
}

std::optional<Relaxation::Found> Relaxation::solve(const std::vector<std::vector<Weight>>& alone,
                                                   int sweeps) {
  std::vector<std::vector<double>> numbers;
  double dearest = dear_;
  for (const auto& weights : alone) {
    numbers.emplace_back();
    for (const Weight& weight : weights) numbers.back().push_back(number_of(weight, dear_));
    for (const Weight& weight : weights) dearest = std::max(dearest, number_of(weight, dear_));
  }
  Found out;
  double least = std::numeric_limits<double>::infinity();
  double bound = 0;
  int idle = 0;
  for (int k = 0; k < sweeps && idle < 8; ++k) {
    const double before = bound;
    (void)sweep(numbers, true);
    bound = std::max(bound, sweep(numbers, false) - dearest * most_rounding);
    auto values = decoded(numbers);
    improve(numbers, values);
    const double found = sum(numbers, values);
    if (found < least) {
      least = found;
      out.values = std::move(values);
      idle = 0;
    }
    if (least - bound < 0.5) break;
    const bool is_better = bound > before + (least - bound) / 64;
    idle = is_better ? 0 : idle + 1;
  }
  if (out.values.empty() || least >= dear_) return std::nullopt;
  // A sum is whole.
  out.bound = static_cast<Wide>(std::max(0.0, std::ceil(bound)));
  return out;
}

std::vector<double> Relaxation::belief(std::size_t variable,
                                       const std::vector<double>& alone) const {
  std::vector<double> out = alone;
  for (const std::size_t e : below_[variable]) {
    for (std::size_t x = 0; x < out.size(); ++x) out[x] += edges_[e].up[x];
  }
  for (const std::size_t e : above_[variable]) {
    for (std::size_t x = 0; x < out.size(); ++x) out[x] += edges_[e].down[x];
  }
  return out;
}

double Relaxation::sweep(const std::vector<std::vector<double>>& alone, bool is_upward) {
  double bound = 0;
  const auto lowered = [&bound](std::vector<double>& all) {
    const double least = *std::min_element(all.begin(), all.end());
    for (double& each : all) each -= least;
    bound += least;
  };
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    const std::size_t v = is_upward ? k : sizes_.size() - 1 - k;
    std::vector<double> own = belief(v, alone[v]);
    lowered(own);
    const double share =
        1.0 / static_cast<double>(std::max({below_[v].size(), above_[v].size(), std::size_t{1}}));
    for (const std::size_t e : is_upward ? above_[v] : below_[v]) {
      Edge& edge = edges_[e];
      const std::size_t columns = sizes_[edge.high];
      std::vector<double> says = own;
      const std::vector<double>& heard = is_upward ? edge.down : edge.up;
      for (std::size_t x = 0; x < says.size(); ++x) says[x] = share * says[x] - heard[x];
      std::vector<double>& message = is_upward ? edge.up : edge.down;
      std::fill(message.begin(), message.end(), std::numeric_limits<double>::infinity());
      for (std::size_t r = 0; r < sizes_[edge.low]; ++r) {
        const double* const row = edge.table.data() + r * columns;
        if (is_upward) {
          const double at = says[r];
          for (std::size_t c = 0; c < columns; ++c) {
            message[c] = std::min(message[c], at + row[c]);
          }
        } else {
          double at = message[r];
          for (std::size_t c = 0; c < columns; ++c) at = std::min(at, says[c] + row[c]);
          message[r] = at;
        }
      }
      lowered(message);
    }
  }
  return bound;
}

std::vector<std::size_t> Relaxation::decoded(const std::vector<std::vector<double>>& alone) const {
  std::vector<std::size_t> out(sizes_.size(), 0);
  for (std::size_t v = 0; v < sizes_.size(); ++v) {
    std::vector<double> all = alone[v];
    for (std::size_t x = 0; x < all.size(); ++x) {
      for (const std::size_t e : below_[v]) {
        all[x] += edges_[e].table[out[edges_[e].low] * sizes_[v] + x];
      }
      for (const std::size_t e : above_[v]) all[x] += edges_[e].down[x];
    }
    out[v] = static_cast<std::size_t>(std::min_element(all.begin(), all.end()) - all.begin());
  }
  return out;
}

double Relaxation::beside(std::size_t variable, std::size_t value, const std::vector<double>& alone,
                          const std::vector<std::size_t>& values) const {
  double out = alone[value];
  for (const std::size_t e : below_[variable]) {
    out += edges_[e].table[values[edges_[e].low] * sizes_[variable] + value];
  }
  for (const std::size_t e : above_[variable]) {
    out += edges_[e].table[value * sizes_[edges_[e].high] + values[edges_[e].high]];
  }
  return out;
}

void Relaxation::improve(const std::vector<std::vector<double>>& alone,
                         std::vector<std::size_t>& values) const {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
      double now = beside(v, values[v], alone[v], values);
      for (std::size_t x = 0; x < sizes_[v]; ++x) {
        const double other = beside(v, x, alone[v], values);
        // By more than rounding, so that it ends.
        if (other + 0.25 >= now) continue;
        now = other;
        values[v] = x;
        more = true;
      }
    }
  }
}

double Relaxation::sum(const std::vector<std::vector<double>>& alone,
                       const std::vector<std::size_t>& values) const {
  double out = 0;
  for (std::size_t v = 0; v < sizes_.size(); ++v) out += alone[v][values[v]];
  for (const Edge& edge : edges_) {
    out += edge.table[values[edge.low] * sizes_[edge.high] + values[edge.high]];
  }
  return out;
}

}  // namespace retile::array
