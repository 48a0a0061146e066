#include "retile/whole/parts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"

namespace retile::whole {

std::size_t Parts::add(const Class& of) {
  classes_.push_back(of);
  classes_.back().parent = classes_.size() - 1;
  return classes_.size() - 1;
}

PartList Parts::fresh(Size extent) {
  RETILE_ASSERT(extent >= 1, "a dimension has elements");
  if (extent == 1) return {};
  return {{add({.divisor = extent, .least = extent, .most = extent}), extent}};
}

std::size_t Parts::root(std::size_t id) const {
  while (classes_[id].parent != id) id = classes_[id].parent;
  return id;
}

void Parts::put(const Part& part, PartList& out) const {
  const std::size_t id = root(part.id);
  const Class& of = classes_[id];
  if (!of.halves) {
    out.push_back({id, part.size});
    return;
  }
  if (part.size > of.minor_size) put({of.halves->first, part.size / of.minor_size}, out);
  put({of.halves->second, of.minor_size}, out);
}

PartList Parts::resolved(const PartList& dim) const {
  PartList out;
  for (const Part& part : dim) put(part, out);
  return out;
}

void Parts::join(std::size_t a, std::size_t b) {
  if (a == b) return;
  if (classes_[a].members < classes_[b].members) std::swap(a, b);
  Class& kept = classes_[a];
  Class& gone = classes_[b];
  kept.members += gone.members;
  kept.divisor = std::gcd(kept.divisor, gone.divisor);
  kept.least = std::min(kept.least, gone.least);
  kept.most = std::max(kept.most, gone.most);
  kept.is_frozen = kept.is_frozen || gone.is_frozen;
  kept.is_ordered = kept.is_ordered || gone.is_ordered;
  gone.parent = a;
}

bool Parts::halve(std::size_t id, Size size) {
  const Class of = classes_[id];
  if (of.divisor % size != 0) return false;
  const std::size_t major = add({.divisor = of.divisor / size,
                                 .least = of.least / size,
                                 .most = of.most / size,
                                 .is_frozen = of.is_frozen,
                                 .is_ordered = of.is_ordered});
  const std::size_t minor = add({.divisor = size,
                                 .least = size,
                                 .most = size,
                                 .is_frozen = of.is_frozen,
                                 .is_ordered = of.is_ordered});
  classes_[id].halves = std::pair(major, minor);
  classes_[id].minor_size = size;
  return true;
}

bool Parts::match_minor(PartList& some, PartList& others, bool has_tile) {
  const Part a = some.back();
  const Part b = others.back();
  const bool is_major = some.size() == 1 && others.size() == 1;
  if (a.size == b.size || (has_tile && is_major)) {
    join(a.id, b.id);
    some.pop_back();
    others.pop_back();
    return true;
  }
  PartList& longer = a.size > b.size ? some : others;
  const Part cut = a.size > b.size ? a : b;
  const Size size = std::min(a.size, b.size);
  if (cut.size % size != 0 || !halve(cut.id, size)) return false;
  longer.pop_back();
  put(cut, longer);
  return true;
}

void Parts::unify(const PartList& some, const PartList& others, bool has_tile) {
  PartList a = resolved(some);
  PartList b = resolved(others);
  while (!a.empty() && !b.empty()) {
    if (!match_minor(a, b, has_tile)) break;
    // What was cut or joined may stand further in front as well.
    a = resolved(a);
    b = resolved(b);
  }
  freeze(a);
  freeze(b);
}

void Parts::freeze(const PartList& dim) {
  for (const Part& part : resolved(dim)) classes_[part.id].is_frozen = true;
}

void Parts::keep_order(const PartList& dim) {
  for (const Part& part : resolved(dim)) classes_[part.id].is_ordered = true;
}

void Parts::cut_at(const PartList& dim, Size index) {
  const PartList parts = resolved(dim);
  if (parts.empty() || index == 0) return;
  Size minor = 1;
  for (std::size_t k = 1; k < parts.size(); ++k) minor *= parts[k].size;
  if (index % minor != 0) return freeze(parts);
  Class& major = classes_[parts.front().id];
  major.divisor = std::gcd(major.divisor, index / minor);
}

Size Parts::factor_of(const Class& of, Size least) {
  if (of.is_frozen) return 1;
  // The beginning of a block, two places in it, and one more that is between or behind them.
  const Size in_block = of.is_ordered ? 4 : 1;
  Size out = 1;
  const auto take = [&](Size divisor) {
    const bool keeps_enough = of.least / divisor >= least && of.most / divisor >= 2;
    if (keeps_enough && of.divisor / divisor >= in_block) out = std::max(out, divisor);
  };
  for (Size k = 1; k <= of.divisor / k; ++k) {
    if (of.divisor % k != 0) continue;
    take(k);
    take(of.divisor / k);
  }
  return out;
}

std::vector<Size> Parts::factors(Size least) const {
  std::vector<Size> out;
  for (const Class& of : classes_) out.push_back(factor_of(of, least));
  return out;
}

Size Parts::factor(const PartList& dim, const std::vector<Size>& factors) const {
  Size out = 1;
  for (const Part& part : resolved(dim)) out *= factors[part.id];
  return out;
}

Size Parts::longest(const PartList& dim) const {
  constexpr Size none = std::numeric_limits<Size>::max();
  Size out = 1;
  for (const Part& part : resolved(dim)) {
    out = checked_mul(out, classes_[part.id].most).value_or(none);
  }
  return out;
}

}  // namespace retile::whole
