// Certificates. See certificate.h.
#include "retile/plan/certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "retile/core/assert.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/method.h"

namespace retile {

namespace {

constexpr Size most_devices = Size{1} << 20;
/// What a tile that is kept counts as.
constexpr Size tile_work = 16;

/// A weak step: `factor` leaves the tiles of from_dim and cuts those of to_dim. Where one of them
/// is the rank, it is a dynslice or an allgather.
struct WeakStep {
  std::size_t from_dim = 0;
  std::size_t to_dim = 0;
  Size factor = 1;
};

class Prover {
 public:
  Prover(const Plan& plan, const CertificateOptions& options)
      : problem_(plan.problem),
        options_(options),
        bound_(plan.bound),
        rank_(plan.problem.from.rank()),
        prices_(prices_of(plan.problem, plan.options)),
        work_(options.search_limit) {
    out_.lower_bound = plan.lower_bound;
    for (Size n = 2; n <= problem_.from.devices(); ++n) {
      if (problem_.from.devices() % n == 0) factors_.push_back(n);
    }
  }

  Result<Certificate> run() {
    if (!find_potentials() || !refute_bottoms()) {
      return refuse({.code = Code::limit_reached,
                     .message = fmt::format("the certificate has more than {} lines, or takes too "
                                            "long to find",
                                            options_.most_lines)});
    }
    return std::move(out_);
  }

 private:
  using Costs = std::map<Shape, Size>;

  bool work(Size amount) {
    work_ -= amount;
    return work_ >= 0 && out_.potentials.size() + out_.refutations.size() <= options_.most_lines;
  }

  [[nodiscard]] static Size size_of(const Shape& tile) {
    Size size = 1;  // tiles are no larger than the array
    for (const Size extent : tile) size *= extent;
    return size;
  }

  /// The tile shape after a step; nothing when it does not apply or leaves the bound.
  [[nodiscard]] std::optional<Shape> after(Shape tile, const WeakStep& step) const {
    const auto& [i, j, n] = step;
    if (i < rank_ && tile_count(problem_.from.global()[i], tile[i]) % n != 0) return std::nullopt;
    if (j < rank_ && tile[j] % n != 0) return std::nullopt;
    if (i < rank_) tile[i] *= n;
    if (j < rank_) tile[j] /= n;
    const Size size = size_of(tile);
    if (problem_.from.devices() % (problem_.from.global_size() / size) != 0 || size > bound_) {
      return std::nullopt;
    }
    return tile;
  }
  [[nodiscard]] Size cost(const WeakStep& step, const Shape& before) const {
    const Size tile = size_of(before);
    if (step.from_dim == rank_) return prices_.dynslice(tile);
    return step.to_dim == rank_ ? prices_.allgather(tile, step.factor)
                                : prices_.alltoall(tile, step.factor);
  }
  /// A visit charges what it looks at to `looked`; none comes after the limit.
  template <class Visit>
  void for_each_step(const Size& looked, const Visit& visit) const {
    for (const Size n : factors_) {
      for (std::size_t i = 0; i <= rank_; ++i) {
        for (std::size_t j = 0; j <= rank_; ++j) {
          if (looked > work_) return;
          if (i != j) visit(WeakStep{i, j, n});
        }
      }
    }
  }

  /// Lowers costs along steps backwards, as far as they stay below the lower bound.
  bool relax(Costs& costs) {
    using Entry = std::pair<Size, Shape>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    for (const auto& [tile, cost] : costs) open.emplace(cost, tile);
    while (!open.empty()) {
      const Entry entry = open.top();
      open.pop();
      const auto& [here, tile] = entry;
      if (costs.at(tile) != here) continue;
      if (costs.size() > options_.most_lines) return false;
      Size looked = 0;
      for_each_step(looked, [&](const WeakStep& step) {
        ++looked;
        const auto before = after(entry.second, {step.to_dim, step.from_dim, step.factor});
        if (!before) return;
        const Size price = cost(step, *before);
        if (price >= out_.lower_bound - entry.first) return;
        const auto [known, fresh] = costs.emplace(*before, entry.first + price);
        if (!fresh && known->second <= entry.first + price) return;
        known->second = entry.first + price;
        open.emplace(known->second, *before);
      });
      if (!work(looked)) return false;
    }
    return true;
  }

  bool find_potentials() {
    if (out_.lower_bound == 0) return true;
    costs_[problem_.to.tile()] = 0;
    if (!relax(costs_)) return false;
    Costs permuted;
    for (const auto& [tile, cost] : costs_) {
      const Size price = prices_.allpermute(size_of(tile));
      if (price < out_.lower_bound - cost) permuted[tile] = cost + price;
    }
    if (!relax(permuted)) return false;
    RETILE_ASSERT(permuted.count(problem_.from.tile()) == 0,
                  "nothing with a permutation is below the lower bound");
    for (const auto& [tile, cost] : costs_) {
      const auto known = permuted.find(tile);
      out_.potentials.push_back(
          {tile, cost, known == permuted.end() ? out_.lower_bound : known->second});
    }
    return work(0);
  }

  // Refutations. A state is which tile a tile of the bottom lies in now; tiles are numbered
  // row-major.

  struct State {
    Size cost = 0;
    std::size_t refutation = 0;  // its line
    Shape tile;
    std::vector<Size> tiles;
  };

  [[nodiscard]] Shape counts(const Shape& tile) const {
    Shape out = problem_.from.global();
    for (std::size_t i = 0; i < rank_; ++i) out[i] = tile_count(out[i], tile[i]);
    return out;
  }
  static Shape split(Size number, const Shape& counts) {
    Shape out(counts.size());
    for (std::size_t i = counts.size(); i-- > 0; number /= counts[i]) out[i] = number % counts[i];
    return out;
  }
  static Size join(const Shape& tile, const Shape& counts) {
    Size number = 0;
    for (std::size_t i = 0; i < tile.size(); ++i) number = number * counts[i] + tile[i];
    return number;
  }

  /// Where the tiles of `before` lie after a step.
  [[nodiscard]] std::vector<Size> moved(const WeakStep& step, const Shape& before,
                                        const Shape& after) const {
    const Shape from = counts(before);
    const Shape to = counts(after);
    std::vector<Size> out(static_cast<std::size_t>(size_of(from)));
    for (std::size_t number = 0; number < out.size(); ++number) {
      Shape tile = split(static_cast<Size>(number), from);
      const auto& [i, j, n] = step;
      if (j < rank_) tile[j] = tile[j] * n + tile[i] % n;
      tile[i] /= n;
      out[number] = join(tile, to);
    }
    return out;
  }

  bool refute_bottoms() {
    const Shape from = counts(problem_.from.tile());
    const Shape to = counts(problem_.to.tile());
    if (!work(tile_work * problem_.from.devices())) return false;
    const std::vector<Size> before = problem_.from.numbers().all_numbers();
    const std::vector<Size> afterwards = problem_.to.numbers().all_numbers();
    for (std::size_t d = 0; d < static_cast<std::size_t>(problem_.from.devices()); ++d) {
      Shape u(rank_);
      Shape v(rank_);
      for (std::size_t i = 0; i < rank_; ++i) {
        u[i] = before[d * rank_ + i];
        v[i] = afterwards[d * rank_ + i];
      }
      ++held_[{join(u, from), join(v, to)}];
    }
    for (const auto& [bottom, cost] : costs_) {
      bool sliced = true;
      for (std::size_t i = 0; i < rank_; ++i) {
        sliced = sliced && problem_.from.tile()[i] % bottom[i] == 0;
      }
      if (sliced && !refute_bottom(bottom)) return false;
    }
    return true;
  }

  /// Cheapest states first, so that each needs one line.
  bool refute_bottom(const Shape& bottom) {
    const Shape tiles = counts(bottom);
    if (!work(tile_work * size_of(tiles))) return false;
    std::vector<Size> same(static_cast<std::size_t>(size_of(tiles)));
    std::vector<Size> source(same.size());
    for (std::size_t number = 0; number < same.size(); ++number) {
      same[number] = static_cast<Size>(number);
      Shape tile = split(same[number], tiles);
      for (std::size_t i = 0; i < rank_; ++i) {
        tile[i] /= problem_.from.tile()[i] / bottom[i];
      }
      source[number] = join(tile, counts(problem_.from.tile()));
    }
    std::map<std::pair<Shape, std::vector<Size>>, Size> known;  // least cost
    std::map<std::pair<Size, std::size_t>, State> open;
    std::size_t number = 0;
    out_.refutations.push_back({bottom, {}});
    known[{bottom, same}] = 0;
    open[{0, number++}] = {0, out_.refutations.size() - 1, bottom, same};
    while (!open.empty()) {
      const State state = std::move(open.begin()->second);
      open.erase(open.begin());
      if (known.at({state.tile, state.tiles}) != state.cost) continue;
      RETILE_ASSERT(state.tile != problem_.to.tile() || !reaches_target(source, state.tiles),
                    "nothing without a permutation is below the lower bound");
      Size looked = 0;
      for_each_step(looked, [&](const WeakStep& step) {
        ++looked;
        if (step.from_dim == rank_) return;
        const auto tile = after(state.tile, step);
        if (!tile) return;
        const Size price = cost(step, state.tile);
        const auto ahead = costs_.find(*tile);
        if (ahead == costs_.end() || price >= out_.lower_bound - ahead->second - state.cost) {
          return;
        }
        looked += tile_work * static_cast<Size>(state.tiles.size());
        if (looked > work_) return;
        const std::vector<Size> where = moved(step, state.tile, *tile);
        State next{state.cost + price, 0, *tile, state.tiles};
        for (Size& at : next.tiles) at = where[static_cast<std::size_t>(at)];
        const auto [seen, fresh] = known.emplace(std::pair(next.tile, next.tiles), next.cost);
        if (!fresh && seen->second <= next.cost) return;
        seen->second = next.cost;
        Certificate::Refutation line = out_.refutations[state.refutation];
        line.steps.push_back(
            {static_cast<Size>(step.from_dim), static_cast<Size>(step.to_dim), step.factor});
        next.refutation = out_.refutations.size();
        out_.refutations.push_back(std::move(line));
        open[{next.cost, number++}] = std::move(next);
      });
      if (!work(looked)) return false;
    }
    return true;
  }

  /// S4: slices exist with which these tiles become the target's.
  [[nodiscard]] bool reaches_target(const std::vector<Size>& source,
                                    const std::vector<Size>& tiles) const {
    std::map<std::pair<Size, Size>, Size> made;
    const Size holders = problem_.from.devices() / static_cast<Size>(tiles.size());
    for (std::size_t o = 0; o < tiles.size(); ++o) made[{source[o], tiles[o]}] += holders;
    return made == held_;
  }

  const Problem& problem_;
  const CertificateOptions& options_;
  Size bound_;
  std::size_t rank_;
  Prices prices_;
  std::vector<Size> factors_;
  Size work_;
  Costs costs_;
  std::map<std::pair<Size, Size>, Size> held_;  // devices by source and target tile
  Certificate out_;
};

}  // namespace

Result<Certificate> certify_types(const Plan& plan, const CertificateOptions& options) {
  if (plan.options.steps == Scope::several_dims && plan.scope != Scope::one_dim) {
    return Certificate{.lower_bound = plan.lower_bound,
                       .scope = Scope::several_dims,
                       .potentials = {},
                       .refutations = {}};
  }
  return Prover(plan, options).run();
}

PlanOptions certifiable(const Problem& problem, PlanOptions options) {
  options.steps = methods_of(problem).certified.value_or(options.steps);
  return options;
}

Result<Certificate> certify(const Plan& plan, const CertificateOptions& options) {
  if (plan.options.cost_model != CostModel::paper || plan.options.memory_limit_bytes) {
    return refuse({.code = Code::unsupported,
                   .message = "a certificate is for costs in elements and without a memory limit"});
  }
  if (plan.exchange || plan.uneven || plan.array || !plan.legs.empty()) {
    return refuse({.code = Code::unsupported,
                   .message = "there are no certificates yet for tiles that are not all alike"});
  }
  const auto is_in_digits = [&](const Layout& end) {
    return end.placed(plan.device_at, end.devices()).is_compact();
  };
  if (plan.device_at && !(is_in_digits(plan.problem.from) && is_in_digits(plan.problem.to))) {
    return refuse({.code = Code::unsupported,
                   .message =
                       "there are no certificates yet for devices whose order makes no digits "
                       "of their numbers"});
  }
  if (plan.problem.from.devices() > most_devices) {
    return refuse(
        {.code = Code::limit_reached,
         .message = fmt::format("a certificate is for at most {} devices", most_devices)});
  }
  return methods_of(plan.problem).certify(plan, options);
}

std::string to_text(const Certificate& certificate) {
  std::string out;
  if (certificate.scope == Scope::several_dims) {
    out = fmt::format("scope {}\n", scope_name(certificate.scope));
  }
  fmt::format_to(std::back_inserter(out), "lower_bound {}\n", certificate.lower_bound);
  for (const Certificate::Potential& line : certificate.potentials) {
    fmt::format_to(std::back_inserter(out), "potential [{}] {} {}\n", fmt::join(line.tile, ","),
                   line.cost, line.permuted);
  }
  for (const Certificate::Refutation& line : certificate.refutations) {
    fmt::format_to(std::back_inserter(out), "refuted [{}] [", fmt::join(line.bottom, ","));
    for (std::size_t k = 0; k < line.steps.size(); ++k) {
      fmt::format_to(std::back_inserter(out), "{}[{}]", k > 0 ? "," : "",
                     fmt::join(line.steps[k], ","));
    }
    out += "]\n";
  }
  for (const Certificate::OfAddends& line : certificate.of_addends) {
    fmt::format_to(std::back_inserter(out), "addends [{}] {} {}\n", fmt::join(line.tile, ","),
                   line.addends, line.cost);
  }
  return out;
}

}  // namespace retile
