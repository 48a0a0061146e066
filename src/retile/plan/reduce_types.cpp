// Weak paths of problems with addends. See reduce_types.h.
#include "retile/plan/reduce_types.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/primes.h"

namespace retile {
namespace {

Kind kind_of(const Layout& layout) {
  Kind kind;
  for (const Cuts& cuts : layout.cuts()) kind.push_back(cuts.count());
  kind.push_back(layout.addend_count());
  return kind;
}

std::vector<Size> factors_of(Size devices) {
  std::vector<Size> out;
  for (Size n = 1; n <= devices / n; ++n) {
    if (devices % n != 0) continue;
    out.push_back(n);
    if (n != devices / n) out.push_back(devices / n);
  }
  std::sort(out.begin(), out.end());
  out.erase(out.begin());
  return out;
}

std::vector<Size> primes_of(Size devices) {
  std::vector<Size> out;
  for (const PrimePower& power : factorize(devices)) out.push_back(power.prime);
  return out;
}

/// An alltoall from one kind to another one with as many tiles, of which in every dimension one covers
/// the other.
AddingStep alltoall_between(Kind before, const Kind& after) {
  StepParts parts;
  const std::size_t rank = before.size() - 1;
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t j = 0; j < rank && before[i] > after[i]; ++j) {
      if (before[j] >= after[j]) continue;
      const Size n = std::gcd(before[i] / after[i], after[j] / before[j]);
      if (n == 1) continue;
      parts.push_back({i, j, n});
      before[i] /= n;
      before[j] *= n;
    }
  }
  return step_of<AddingStep>(Collective::alltoall, std::move(parts));
}

}  // namespace

KindSpace::KindSpace(const Problem& problem, const PlanOptions& options,
                     std::optional<Wide> resident)
    : rank_(problem.from.rank()),
      devices_(problem.from.devices()),
      global_(problem.from.global()),
      source_(kind_of(problem.from)),
      target_(kind_of(problem.to)),
      factors_(factors_of(devices_)),
      primes_(primes_of(devices_)),
      prices_(prices_of(problem, options)),
      resident_(resident),
      several_dims_(options.steps != Scope::one_dim) {}

Wide KindSpace::tile(const Kind& kind) const {
  Wide out = 1;
  for (std::size_t i = 0; i < rank_; ++i) out *= extent(kind, i);
  return out;
}

Size KindSpace::tiles(const Kind& kind) const {
  Size out = 1;
  for (std::size_t i = 0; i < rank_; ++i) out *= kind[i];
  return out;
}

Size KindSpace::replicas(const Kind& kind) const {
  Size out = devices_;
  for (const Size count : kind) out /= count;
  return out;
}

bool KindSpace::covers(const Kind& above, const Kind& below) const {
  for (std::size_t i = 0; i < rank_; ++i) {
    if (above[i] % below[i] != 0) return false;
  }
  return true;
}

std::optional<Wide> KindSpace::price(Wide before, Collective op, Size n) const {
  switch (op) {
    case Collective::dynslice:
      return prices_.dynslice(before);
    case Collective::alltoall:
      return fits(2 * before) ? std::optional(prices_.alltoall(before, n)) : std::nullopt;
    case Collective::reducescatter:
      return fits(before + before / n) ? std::optional(prices_.reducescatter(before, n))
                                       : std::nullopt;
    case Collective::allreduce:
      return fits(2 * before) ? std::optional(prices_.allreduce(before, n)) : std::nullopt;
    case Collective::allpermute:
      return fits(2 * before) ? std::optional(prices_.allpermute(before)) : std::nullopt;
    case Collective::allgather:
      return fits(before + before * n) ? std::optional(prices_.allgather(before, n)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Wide> KindSpace::price(const Kind& before, const AddingStep& step) const {
  return can_take(before, step) ? price(tile(before), step.op, step.factor) : std::nullopt;
}

bool KindSpace::can_take(const Kind& before, const AddingStep& step) const {
  const Size n = step.factor;
  const bool adds = before.back() / target_.back() % n == 0;
  switch (step.op) {
    case Collective::dynslice:
      return extent(before, step.dim) % n == 0 && replicas(before) % n == 0;
    case Collective::alltoall:
      return !step.parts.empty() ||
             (before[step.dim] % n == 0 && extent(before, step.to_dim) % n == 0);
    case Collective::reducescatter:
      return adds && extent(before, step.dim) % n == 0;
    case Collective::allreduce:
      return adds;
    case Collective::allgather:
      return !step.parts.empty() || before[step.dim] % n == 0;
    case Collective::allpermute:
      break;
  }
  return true;
}

bool KindSpace::may_move(const Kind& before, const Kind& after) const {
  bool moves = false;
  for (std::size_t i = 0; i < rank_; ++i) {
    if (before[i] == after[i]) continue;
    moves = true;
    if (before[i] % after[i] != 0 && after[i] % before[i] != 0) return false;
  }
  return moves;
}

Kind KindSpace::after(Kind kind, const AddingStep& step) const {
  switch (step.op) {
    case Collective::dynslice:
      kind[step.dim] *= step.factor;
      break;
    case Collective::alltoall:
      for_each_part(step, [&](const PlanStep::Part& part) {
        kind[part.dim] /= part.factor;
        kind[part.to_dim] *= part.factor;
      });
      break;
    case Collective::reducescatter:
      kind[step.dim] *= step.factor;
      kind.back() /= step.factor;
      break;
    case Collective::allreduce:
      kind.back() /= step.factor;
      break;
    case Collective::allpermute:
      break;
    case Collective::allgather:
      for_each_part(step, [&](const PlanStep::Part& part) { kind[part.dim] /= part.factor; });
      break;
  }
  return kind;
}

PathPrice KindSpace::least_before(const Kind& kind, Wide tile) const {
  if (kind.back() != source_.back()) return {prices_.reducescatter(2 * tile, 2), 1};
  return covers(kind, source_) ? PathPrice() : least_with_alltoall(kind, tile);
}

PathPrice KindSpace::least_with_alltoall(const Kind& kind, Wide tile) const {
  const PathPrice alltoall{prices_.alltoall(tile, 2), 1};
  return kind.back() == source_.back() ? alltoall : alltoall + least_before(kind, tile);
}

std::vector<AddingStep> KindSpace::gather_steps(const Kind& top) const {
  std::vector<AddingStep> out;
  StepParts along;
  for (std::size_t i = 0; i < rank_; ++i) {
    if (top[i] == target_[i]) continue;
    if (several_dims_) along.push_back({i, 0, top[i] / target_[i]});
    if (!several_dims_) out.push_back({Collective::allgather, i, 0, top[i] / target_[i]});
  }
  if (!along.empty()) return {step_of<AddingStep>(Collective::allgather, std::move(along))};
  std::stable_sort(out.begin(), out.end(),
                   [](const AddingStep& a, const AddingStep& b) { return a.factor < b.factor; });
  return out;
}

std::optional<PathPrice> KindSpace::gathers(const Kind& top) const {
  if (top.back() != target_.back() || !covers(top, target_)) return std::nullopt;
  std::vector<Size> factors;
  for (std::size_t i = 0; i < rank_; ++i) {
    if (top[i] == target_[i]) continue;
    const Size n = top[i] / target_[i];
    if (several_dims_ && !factors.empty()) {
      factors.front() *= n;
    } else {
      factors.push_back(n);
    }
  }
  std::sort(factors.begin(), factors.end());  // as gather_steps() has them
  PathPrice out;
  Wide size = tile(top);
  for (const Size n : factors) {
    const auto cost = price(size, Collective::allgather, n);
    if (!cost) return std::nullopt;
    out = out + PathPrice{*cost, 1};
    size *= n;
  }
  return out;
}

bool KindSearch::run(std::optional<PathPrice> most, bool first) {
  most_ = most;
  add_tops(space_.target(), 0);
  while (!queue_.empty() && complete_) {
    const Kind& kind = *queue_.top().kind;
    queue_.pop();
    Node& node = nodes_.at(kind);
    if (std::exchange(node.settled, true)) continue;
    ++settled_;
    least_.emplace(Alike{space_.tile(kind), kind.back()}, node.price);  // the first is the least
    if (first && kind.back() == space_.source().back() && space_.covers(kind, space_.source())) {
      break;
    }
    expand(kind, node.price);
  }
  return complete_;
}

void KindSearch::add_tops(Kind top, std::size_t dim) {
  if (!complete_ || !work_.spend(4)) {
    complete_ = false;
    return;
  }
  if (dim == space_.rank()) {
    const auto gathers = space_.gathers(top);
    if (!gathers) return;
    const Wide tile = space_.tile(top);
    if (!permuted_) return offer(top, tile, {*gathers, std::nullopt});
    const auto cost = space_.price(tile, Collective::allpermute, 1);
    if (cost) offer(top, tile, {*gathers + PathPrice{*cost, 1}, std::nullopt});
    return;
  }
  add_tops(top, dim + 1);
  for (const Size n : space_.factors()) {
    Kind finer = top;
    finer[dim] *= n;
    if (space_.extent(top, dim) % n == 0 && space_.replicas(top) % n == 0) {
      add_tops(std::move(finer), dim + 1);
    }
  }
}

void KindSearch::offer(const Kind& kind, Wide tile, const Node& node) {
  if (most_ && *most_ < node.price + space_.least_before(kind, tile)) return;
  const auto [at, fresh] = nodes_.try_emplace(kind, node);
  if (!fresh) {
    if (!(node.price < at->second.price)) return;
    at->second = node;
  }
  queue_.push({node.price, &at->first});
}

void KindSearch::relax(const Kind& before, Wide tile, const Next& step, const PathPrice& price) {
  if (!work_.spend(1)) complete_ = false;
  const auto cost = space_.price(tile, step.op, step.factor);
  if (cost) offer(before, tile, {price + PathPrice{*cost, 1}, step});
}

void KindSearch::add_alike(std::vector<Kind>& out, Kind& kind, std::size_t dim, Size more) {
  if (!complete_ || !work_.spend(4)) {
    complete_ = false;
    return;
  }
  if (dim == space_.rank()) {
    if (more == 1) out.push_back(kind);
    return;
  }
  add_alike(out, kind, dim + 1, more);
  for (const Size n : space_.factors()) {
    if (n > more) break;
    if (more % n != 0 || space_.extent(kind, dim) % n != 0) continue;
    kind[dim] *= n;
    add_alike(out, kind, dim + 1, more / n);
    kind[dim] /= n;
  }
}

void KindSearch::expand_together(const Kind& kind, Wide tile, const PathPrice& price) {
  RETILE_ASSERT(!space_.prices().in_bytes(), "of received bytes the factor counts");
  const auto [at, fresh] = unreached_.try_emplace({tile, kind.back()});
  std::vector<Kind>& unreached = at->second;
  if (fresh) {
    Kind whole(kind.size(), 1);
    whole.back() = kind.back();
    add_alike(unreached, whole, 0, space_.tiles(kind));
  }
  const auto is_left = [&](const Kind& before) {
    if (!space_.may_move(before, kind)) return true;
    relax(before, tile, {Collective::alltoall, 0, 0, 2, &kind}, price);
    return false;
  };
  if (!work_.spend(static_cast<Size>(unreached.size()))) complete_ = false;
  unreached.erase(std::stable_partition(unreached.begin(), unreached.end(), is_left),
                  unreached.end());
}

void KindSearch::expand(const Kind& kind, const PathPrice& price) {
  const std::size_t rank = space_.rank();
  const Wide tile = space_.tile(kind);
  const bool may_move = !most_ || !(*most_ < price + space_.least_with_alltoall(kind, tile));
  if (space_.several_dims() && may_move) expand_together(kind, tile, price);
  const Size addends = space_.source().back() / kind.back();  // that were added already
  const Size replicas = space_.replicas(kind);
  Kind before = kind;
  for (const Size n : space_.factors()) {
    if (addends % n == 0 && replicas % n == 0) {
      before.back() = kind.back() * n;
      relax(before, tile, {Collective::allreduce, 0, 0, n}, price);
      before.back() = kind.back();
    }
    for (std::size_t j = 0; j < rank; ++j) {
      if (kind[j] % n != 0) continue;
      before[j] = kind[j] / n;
      if (addends % n == 0) {
        before.back() = kind.back() * n;
        relax(before, tile * n, {Collective::reducescatter, j, 0, n}, price);
        before.back() = kind.back();
      }
      for (std::size_t i = 0; i < rank && may_move && !space_.several_dims(); ++i) {
        if (i == j || space_.extent(kind, i) % n != 0) continue;
        before[i] = kind[i] * n;
        relax(before, tile, {Collective::alltoall, i, j, n}, price);
        before[i] = kind[i];
      }
      before[j] = kind[j];
    }
  }
}

std::optional<PathPrice> KindSearch::price(const Kind& kind) const {
  const auto at = nodes_.find(kind);
  if (at == nodes_.end() || !at->second.settled) return std::nullopt;
  return at->second.price;
}

std::optional<PathPrice> KindSearch::least_price(Wide tile, Size addends) const {
  const auto at = least_.find({tile, addends});
  if (at == least_.end()) return std::nullopt;
  return at->second;
}

std::optional<PathPrice> KindSearch::price_before_slices(const Kind& kind) {
  const auto known = before_slices_.find(kind);
  if (known != before_slices_.end()) return known->second;
  std::optional<PathPrice> least = price(kind);
  const Size replicas = space_.replicas(kind);
  Kind sliced = kind;
  for (const Size n : space_.primes()) {
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      if (replicas % n != 0 || space_.extent(kind, i) % n != 0) continue;
      sliced[i] = kind[i] * n;
      const auto finer = price_before_slices(sliced);
      if (finer && (!least || *finer < *least)) least = finer;
      sliced[i] = kind[i];
    }
  }
  before_slices_.emplace(kind, least);
  return least;
}

const Kind& KindSearch::bottom() {
  const Kind& source = space_.source();
  const auto least = price_before_slices(source);
  RETILE_ASSERT(least.has_value(), "the source has a price");
  const Kind* out = nullptr;
  for (const auto& [kind, node] : nodes_) {
    if (!node.settled || kind.back() != source.back() || *least < node.price) continue;
    if (space_.covers(kind, source) && (out == nullptr || kind < *out)) out = &kind;
  }
  RETILE_ASSERT(out != nullptr, "the source's price is that of a kind");
  return *out;
}

std::vector<AddingStep> KindSearch::path() {
  std::vector<AddingStep> out;
  Kind kind = bottom();
  for (std::size_t i = 0; i < space_.rank(); ++i) {
    const Size n = kind[i] / space_.source()[i];
    if (n > 1) out.push_back({Collective::dynslice, i, 0, n});
  }
  while (const auto& next = nodes_.at(kind).next) {
    out.push_back(next->together != nullptr
                      ? alltoall_between(kind, *next->together)
                      : AddingStep{next->op, next->dim, next->to_dim, next->factor});
    kind = space_.after(kind, out.back());
  }
  if (permuted_) out.push_back({Collective::allpermute});
  for (const AddingStep& gather : space_.gather_steps(kind)) out.push_back(gather);
  return out;
}

}  // namespace retile
