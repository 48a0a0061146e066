// Weak paths of problems with addends. See adding_kinds.h.
#include "retile/plan/adding_kinds.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"

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
      prices_(prices_of(problem, options)),
      resident_(resident),
      several_dims_(options.steps != Scope::one_dim) {}

Wide KindSpace::tile(const Kind& kind) const {
  Wide out = 1;
  for (std::size_t i = 0; i < rank_; ++i) out *= extent(kind, i);
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

std::optional<Wide> KindSpace::price(const Kind& before, const AddingStep& step) const {
  const Wide size = tile(before);
  const Size n = step.factor;
  const Size addends = before.back() / target_.back();
  switch (step.op) {
    case Collective::dynslice:
      if (extent(before, step.dim) % n != 0 || replicas(before) % n != 0) return std::nullopt;
      return prices_.dynslice(size);
    case Collective::alltoall:
      if (step.parts.empty() &&
          (before[step.dim] % n != 0 || extent(before, step.to_dim) % n != 0)) {
        return std::nullopt;
      }
      if (!fits(2 * size)) return std::nullopt;
      return prices_.alltoall(size, n);
    case Collective::reducescatter:
      if (addends % n != 0 || extent(before, step.dim) % n != 0) return std::nullopt;
      if (!fits(size + size / n)) return std::nullopt;
      return prices_.reducescatter(size, n);
    case Collective::allreduce:
      if (addends % n != 0 || !fits(2 * size)) return std::nullopt;
      return prices_.allreduce(size, n);
    case Collective::allpermute:
      if (!fits(2 * size)) return std::nullopt;
      return prices_.allpermute(size);
    case Collective::allgather:
      if (step.parts.empty() && before[step.dim] % n != 0) return std::nullopt;
      if (!fits(size + size * n)) return std::nullopt;
      return prices_.allgather(size, n);
  }
  return std::nullopt;
}

std::optional<Wide> KindSpace::price_together(const Kind& before, Size factor) const {
  const Wide size = tile(before);
  if (!fits(2 * size)) return std::nullopt;
  return prices_.alltoall(size, factor);
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
  PathPrice out;
  Kind kind = top;
  for (const AddingStep& step : gather_steps(top)) {
    const auto cost = price(kind, step);
    if (!cost) return std::nullopt;
    out = out + PathPrice{*cost, 1};
    kind = after(std::move(kind), step);
  }
  return out;
}

bool KindSearch::run(std::optional<PathPrice> most, bool first) {
  most_ = most;
  add_tops(space_.target(), 0);
  while (!queue_.empty() && complete_) {
    const auto [price, kind] = *queue_.begin();
    queue_.erase(queue_.begin());
    settled_.emplace(kind, open_.at(kind));
    if (first && kind.back() == space_.source().back() && space_.covers(kind, space_.source())) {
      break;
    }
    expand(kind, price);
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
    if (!permuted_) return offer(top, {*gathers, std::nullopt});
    const auto cost = space_.price(top, {Collective::allpermute});
    if (cost) offer(top, {*gathers + PathPrice{*cost, 1}, std::nullopt});
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

void KindSearch::offer(const Kind& kind, Node node) {
  if (most_ && *most_ < node.price) return;
  const auto at = open_.find(kind);
  if (at != open_.end()) {
    if (!(node.price < at->second.price)) return;
    queue_.erase({at->second.price, kind});
    at->second = node;
  } else {
    open_.emplace(kind, node);
  }
  queue_.emplace(node.price, kind);
}

void KindSearch::relax(Kind before, const AddingStep& step, const PathPrice& price) {
  if (!work_.spend(1)) complete_ = false;
  const auto cost = space_.price(before, step);
  if (cost) {
    offer(before, {price + PathPrice{*cost, 1}, Next{step.op, step.dim, step.to_dim, step.factor}});
  }
}

void KindSearch::expand_together(const Kind& kind, const PathPrice& price, Kind& before,
                                 std::size_t dim, Size more, Size less, int along) {
  if (dim == space_.rank()) {
    if (more != less || along < 3) return;  // between two dimensions it goes along one
    const auto cost = space_.price_together(before, more);
    if (cost) {
      offer(before, {price + PathPrice{*cost, 1}, Next{Collective::alltoall, 0, 0, more, kind}});
    }
    return;
  }
  if (!complete_ || !work_.spend(1)) {
    complete_ = false;
    return;
  }
  expand_together(kind, price, before, dim + 1, more, less, along);
  for (const Size n : space_.factors()) {
    if (space_.extent(kind, dim) % n == 0) {
      before[dim] = kind[dim] * n;
      expand_together(kind, price, before, dim + 1, more * n, less, along + 1);
    }
    if (kind[dim] % n == 0) {
      before[dim] = kind[dim] / n;
      expand_together(kind, price, before, dim + 1, more, less * n, along + 1);
    }
    before[dim] = kind[dim];
  }
}

void KindSearch::expand(const Kind& kind, const PathPrice& price) {
  const std::size_t rank = space_.rank();
  if (space_.several_dims()) {
    Kind before = kind;
    expand_together(kind, price, before, 0, 1, 1, 0);
  }
  const Size addends = space_.source().back() / kind.back();  // that were added already
  for (const Size n : space_.factors()) {
    if (addends % n == 0 && space_.replicas(kind) % n == 0) {
      Kind before = kind;
      before.back() *= n;
      relax(std::move(before), {Collective::allreduce, 0, 0, n}, price);
    }
    for (std::size_t j = 0; j < rank; ++j) {
      if (kind[j] % n != 0) continue;
      Kind less = kind;
      less[j] /= n;
      if (addends % n == 0) {
        Kind before = less;
        before.back() *= n;
        relax(std::move(before), {Collective::reducescatter, j, 0, n}, price);
      }
      for (std::size_t i = 0; i < rank; ++i) {
        if (i == j || space_.extent(kind, i) % n != 0) continue;
        Kind before = less;
        before[i] *= n;
        relax(std::move(before), {Collective::alltoall, i, j, n}, price);
      }
    }
  }
}

std::optional<PathPrice> KindSearch::price(const Kind& kind) const {
  const auto at = settled_.find(kind);
  if (at == settled_.end()) return std::nullopt;
  return at->second.price;
}

std::optional<PathPrice> KindSearch::price_before_slices(const Kind& kind) {
  const auto known = before_slices_.find(kind);
  if (known != before_slices_.end()) return known->second;
  std::optional<PathPrice> least = price(kind);
  for (const Size n : space_.factors()) {
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const AddingStep slice{Collective::dynslice, i, 0, n};
      if (!space_.price(kind, slice)) continue;
      const auto finer = price_before_slices(space_.after(kind, slice));
      if (finer && (!least || *finer < *least)) least = finer;
    }
  }
  before_slices_.emplace(kind, least);
  return least;
}

std::vector<AddingStep> KindSearch::path() {
  std::vector<AddingStep> out;
  Kind kind = space_.source();
  const auto least = price_before_slices(kind);
  RETILE_ASSERT(least.has_value(), "the source has a price");
  // Among the kinds that slices reach the first one of the least price.
  for (const auto& [bottom, node] : settled_) {
    if (bottom.back() != kind.back() || !space_.covers(bottom, kind) || *least < node.price) {
      continue;
    }
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      if (bottom[i] != kind[i]) out.push_back({Collective::dynslice, i, 0, bottom[i] / kind[i]});
    }
    kind = bottom;
    break;
  }
  while (const auto& next = settled_.at(kind).next) {
    out.push_back(next->together.empty()
                      ? AddingStep{next->op, next->dim, next->to_dim, next->factor}
                      : alltoall_between(kind, next->together));
    kind = space_.after(kind, out.back());
  }
  if (permuted_) out.push_back({Collective::allpermute});
  for (const AddingStep& gather : space_.gather_steps(kind)) out.push_back(gather);
  return out;
}

}  // namespace retile
