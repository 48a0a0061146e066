// The weak types between two tile shapes. See weak_search.h.
#include "retile/plan/weak_search.h"

#include <numeric>
#include <utility>

namespace retile {

WeakSpace::WeakSpace(const Problem& problem, const PlanOptions& options)
    : primes_(factorize(problem.from.devices())),
      devices_(problem.from.devices()),
      global_size_(problem.from.global_size()),
      target_tile_(problem.to.tile_size()),
      prices_(prices_of(problem, options)) {
  const Shape& global = problem.from.global();
  std::vector<int> most(primes_.size(), 0);  // largest exponent of any dimension
  for (std::size_t i = 0; i < global.size(); ++i) {
    const Size count = std::gcd(global[i], devices_);
    if (count == 1) continue;
    dims_.push_back(i);
    for (std::size_t q = 0; q < primes_.size(); ++q) {
      int exponent = 0;
      for (Size left = count; left % primes_[q].prime == 0; left /= primes_[q].prime) ++exponent;
      most[q] = std::max(most[q], exponent);
    }
  }
  unsigned shift = 0;
  for (std::size_t q = 0; q < primes_.size(); ++q) {
    unsigned bits = 1;
    while ((1 << bits) <= most[q]) ++bits;
    shifts_.push_back(shift);
    masks_.push_back(((Lane{1} << bits) - 1) << shift);
    shift += bits;
  }
  lane_bits_ = std::max(1U, shift);
  const std::size_t lanes = std::size_t{1} << lane_bits_;
  factor_.assign(lanes, 1);
  for (Lane lane = 1; lane < lanes; ++lane) {
    // The product of another lane with one exponent less; lanes beyond any count are not used.
    for (std::size_t q = 0; q < primes_.size(); ++q) {
      if ((lane & masks_[q]) == 0) continue;
      const auto product = checked_mul(factor_[lane - (Lane{1} << shifts_[q])], primes_[q].prime);
      factor_[lane] = product && *product <= devices_ ? *product : devices_;
      break;
    }
  }
  for (const std::size_t i : dims_) {
    cap_.push_back(lane_of_count(std::gcd(global[i], devices_)));
    source_.push_back(lane_of_count(problem.from.cuts()[i].count()));
    target_.push_back(lane_of_count(problem.to.cuts()[i].count()));
  }
  blocks_.resize(lanes);
}

void WeakSpace::fill_leaving() const {
  const std::size_t lanes = factor_.size();
  leaving_.assign(lanes * rank(), 0);
  for (std::size_t i = 0; i < rank(); ++i) {
    for (Lane lane = 0; lane < lanes; ++lane) {
      const Size factor = factor_[excess(source_[i], lane)];
      // Several moves cost no less than one: 1 - 1/(ab) <= (1 - 1/a) + (1 - 1/b).
      leaving_[i * lanes + lane] = factor == 1 ? 0 : move_cost(factor);
    }
  }
}

Lane WeakSpace::lane_of_count(Size count) const {
  Lane lane = 0;
  for (std::size_t q = 0; q < primes_.size(); ++q) {
    for (; count % primes_[q].prime == 0; count /= primes_[q].prime) lane += Lane{1} << shifts_[q];
  }
  RETILE_ASSERT(count == 1, "tile counts divide the number of devices");
  return lane;
}

const std::vector<Block>& WeakSpace::blocks(Lane box) const {
  std::vector<Block>& out = blocks_[box];
  if (!out.empty() || box == 0) return out;
  // Counts through the box, first prime fastest.
  Lane lane = 0;
  while (lane != box) {
    for (std::size_t q = 0; q < primes_.size(); ++q) {
      if ((lane & masks_[q]) != (box & masks_[q])) {
        lane += Lane{1} << shifts_[q];
        break;
      }
      lane &= ~masks_[q];
    }
    const Size n = factor_[lane];
    out.push_back({lane, n, move_cost(n)});
  }
  return out;
}

std::vector<Level> WeakSpace::levels() const {
  std::vector<int> least(primes_.size(), 0);
  std::vector<int> most(primes_.size(), 0);
  std::vector<int> source(primes_.size(), 0);
  std::vector<int> target(primes_.size(), 0);
  Relative surplus = 0;  // dimensions that something must leave
  Relative deficit = 0;  // dimensions that something must enter
  for (std::size_t i = 0; i < rank(); ++i) {
    surplus += covers(target_[i], source_[i]) ? 0 : 1;
    deficit += covers(source_[i], target_[i]) ? 0 : 1;
    for (std::size_t q = 0; q < primes_.size(); ++q) {
      source[q] += exponent(source_[i], q);
      target[q] += exponent(target_[i], q);
      most[q] += exponent(cap_[i], q);
    }
  }
  for (std::size_t q = 0; q < primes_.size(); ++q) {
    least[q] = std::max(source[q], target[q]);
    most[q] = std::min(most[q], static_cast<int>(primes_[q].exponent));
  }
  std::vector<Level> out;
  Level level;
  level.totals = least;
  while (true) {
    Size tiles = 1;
    Size target_tiles = 1;
    Relative slices = 0;  // prime factors that dynslices add
    for (std::size_t q = 0; q < primes_.size(); ++q) {
      for (int k = 0; k < level.totals[q]; ++k) tiles *= primes_[q].prime;
      for (int k = 0; k < target[q]; ++k) target_tiles *= primes_[q].prime;
      slices += level.totals[q] - source[q];
    }
    level.tile = global_size_ / tiles;
    level.gathered = tiles / target_tiles;
    // A move serves one dimension that something leaves and one that something enters; gathers
    // serve some that something leaves.
    std::vector<Size> gathers;
    if (level.gathered > 1) gathers.push_back(level.gathered);
    const Relative served =
        gathers.empty() ? 0 : prices_.dimensions_served_by_gathers(static_cast<Size>(rank()));
    level.bound = std::max({Relative{0}, surplus - served, deficit - slices}) * least_move() +
                  gather_cost(gathers);
    out.push_back(level);
    std::size_t q = 0;
    for (; q < primes_.size(); ++q) {
      if (level.totals[q] < most[q]) {
        ++level.totals[q];
        break;
      }
      level.totals[q] = least[q];
    }
    if (q == primes_.size()) break;
  }
  std::stable_sort(out.begin(), out.end(), [&](const Level& a, const Level& b) {
    return std::pair{absolute(a.bound, a), a.tile} < std::pair{absolute(b.bound, b), b.tile};
  });
  return out;
}

Relative WeakSpace::gather_cost(std::vector<Size>& factors) const {
  std::sort(factors.begin(), factors.end());
  Relative cost = 0;
  Relative tile = prices_.unit();
  for (const Size factor : factors) {
    cost += prices_.allgather(tile, factor);
    tile *= factor;
  }
  return cost;
}

Wide WeakSpace::absolute(Relative cost, const Level& level) const {
  return static_cast<Wide>(cost) * level.tile / prices_.unit() * prices_.element();
}

Relative WeakSpace::relative(Wide cost, const Level& level) const {
  const Wide out = cost / prices_.element() * prices_.unit() / level.tile;
  return static_cast<Relative>(std::min<Wide>(out, no_cost));
}

}  // namespace retile
