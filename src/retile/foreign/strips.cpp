#include "retile/foreign/strips.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/core/index.h"

namespace retile::foreign {
namespace {

/// Of all dimensions together, as those of tags would take as much.
constexpr std::size_t most_cuts = std::size_t{1} << 23;
constexpr std::size_t most_relations = std::size_t{1} << 21;

/// Those cuts of a stretch, its ends too, that lie elsewhere by so much.
std::vector<Size> moved_cuts(const std::vector<Size>& cuts, Size begin, Size end, Size by) {
  std::vector<Size> out = {begin + by};
  const auto last = std::lower_bound(cuts.begin(), cuts.end(), end);
  for (auto at = std::upper_bound(cuts.begin(), cuts.end(), begin); at < last; ++at) {
    out.push_back(*at + by);
  }
  if (end > begin) out.push_back(end + by);
  return out;
}

}  // namespace

DimId Strips::add(Size extent) {
  dims_.push_back({.extent = extent});
  return dims_.size() - 1;
}

void Strips::relate(const Relation& relation) {
  if (relations_.size() == most_relations) throw TooFine{};
  relations_.push_back(relation);
}

void Strips::tie(DimId one, Size at, DimId other, Size to, Size extent, bool moved) {
  if (extent == 0) return;
  relate({.one = one,
          .other = other,
          .at = at,
          .to = to,
          .extent = extent,
          .weight = 0,
          .moved = moved});
}

void Strips::factor(DimId part, DimId whole, Size weight, bool moved) {
  relate({.one = part, .other = whole, .weight = weight, .moved = moved});
}

void Strips::work(std::size_t steps) {
  work_ += steps;
  if (work_ > most_work_) throw TooFine{};
}

/// Applies relations to dimensions that changed, forth and back, as operations follow each other.
template <typename Apply>
void Strips::until_nothing_changes(const Apply& apply) {
  for (Relation& relation : relations_) relation.seen = 0;
  for (Dim& dim : dims_) dim.changes = 1;
  bool again = true;
  bool forth = true;
  while (std::exchange(again, false)) {
    for (std::size_t n = 0; n < relations_.size(); ++n) {
      Relation& relation = relations_[forth ? n : relations_.size() - 1 - n];
      const std::size_t changes = dims_[relation.one].changes + dims_[relation.other].changes;
      if (relation.seen == changes) continue;
      relation.seen = changes;
      work(8);
      apply(relation);
      again = true;
    }
    work(relations_.size() / 8);
    for (const DimId dim : std::exchange(waiting_, {})) put_waiting(dim);
    forth = !forth;
  }
}

void Strips::close(std::size_t most_work) {
  most_work_ = most_work;
  until_nothing_changes([this](const Relation& relation) {
    relation.weight == 0 ? tie_suffixes(relation) : factor_suffixes(relation);
  });
  begin_cuts();
  until_nothing_changes([this](const Relation& relation) {
    relation.weight == 0 ? tie_cuts(relation) : factor_cuts(relation);
  });
  number_kin();
}

// Which digits a dimension has. Suffixes come and limits fall, so that it ends.

void Strips::lower(DimId dim, Size limit) {
  Dim& one = dims_[dim];
  if (limit >= one.limit) return;
  one.limit = limit;
  std::erase_if(one.suffixes, [&](Size suffix) { return suffix >= limit; });
  ++one.changes;
}

/// Precondition: 1 <= suffix < extent.
void Strips::admit(DimId dim, Size suffix) {
  Dim& one = dims_[dim];
  if (suffix == 1 || suffix >= one.limit) return;
  const auto place = std::lower_bound(one.suffixes.begin(), one.suffixes.end(), suffix);
  if (place != one.suffixes.end() && *place == suffix) return;
  if (one.extent % suffix != 0) return lower(dim, suffix);
  for (const Size other : one.suffixes) {
    if (other % suffix != 0 && suffix % other != 0) return lower(dim, std::min(suffix, other));
  }
  one.suffixes.insert(place, suffix);
  ++one.changes;
}

void Strips::tie_suffixes(const Relation& tie) {
  for (const auto& [dim, other] : {std::pair(tie.one, tie.other), {tie.other, tie.one}}) {
    if (dims_[other].loses_suffixes()) lower(dim, dims_[other].limit);
    const std::vector<Size> suffixes = dims_[dim].suffixes;
    for (const Size suffix : suffixes) {
      if (suffix < dims_[other].extent) admit(other, suffix);
      if (suffix > dims_[other].extent || tie.at % suffix != 0 || tie.to % suffix != 0 ||
          tie.extent % suffix != 0) {
        lower(dim, suffix);
        lower(other, suffix);
      }
    }
  }
}

void Strips::factor_suffixes(const Relation& factor) {
  const DimId part = factor.one;
  const DimId whole = factor.other;
  const Size begin = factor.weight;
  const Size end = begin * dims_[part].extent;
  for (const Size bound : {begin, end}) {
    if (bound < dims_[whole].extent) admit(whole, bound);
  }
  if (dims_[whole].loses_suffixes()) lower(part, ceil_div(dims_[whole].limit, begin));
  if (dims_[part].loses_suffixes()) lower(whole, begin * dims_[part].limit);
  const std::vector<Size> own = dims_[part].suffixes;
  for (const Size suffix : own) admit(whole, begin * suffix);
  const std::vector<Size> all = dims_[whole].suffixes;
  for (const Size suffix : all) {
    if (suffix > begin && suffix < end && suffix % begin == 0) admit(part, suffix / begin);
  }
}

// Where digits are cut.

void Strips::begin_cuts() {
  for (Dim& dim : dims_) begin_cuts(dim);
  cut_at_ends();
  for (Dim& dim : dims_) {
    std::vector<Size>& cuts = dim.cuts.back();
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
}

void Strips::begin_cuts(Dim& dim) {
  for (std::size_t digit = 0; digit <= dim.suffixes.size(); ++digit) {
    const Size end = digit == dim.suffixes.size() ? dim.extent : dim.suffixes[digit];
    const Size extent = end / dim.weight(digit);
    auto& cuts = dim.cuts.emplace_back(std::vector<Size>{0, extent});
    cuts_ += 2;
    if (!dim.everywhere) continue;
    if (extent > static_cast<Size>(most_cuts - std::min(most_cuts, cuts_))) throw TooFine{};
    cuts_ += index(extent);
    for (Size at = 1; at < extent; ++at) cuts.push_back(at);
  }
}

/// The ends of all stretches, at once, as there may be many.
void Strips::cut_at_ends() {
  for (const Relation& one : relations_) {
    const auto weight = one.weight == 0 ? common_top(one) : std::nullopt;
    if (!weight) continue;
    for (const auto& [dim, at] : {std::pair(one.one, one.at), {one.other, one.to}}) {
      std::vector<Size>& cuts = dims_[dim].cuts.back();
      for (const Size end : {at, at + one.extent}) {
        if (end > 0 && end < dims_[dim].extent) cuts.push_back(end / *weight);
      }
    }
  }
}

void Strips::merge(DimId dim, std::size_t digit, const std::vector<Size>& cuts) {
  constexpr std::size_t few = 1024;
  std::vector<Size>& own = dims_[dim].cuts[digit];
  work(own.size() > few ? 16 * cuts.size() : own.size() + cuts.size());
  const auto is_there = [&](Size at) { return std::binary_search(own.begin(), own.end(), at); };
  if (std::all_of(cuts.begin(), cuts.end(), is_there)) return;
  auto& waiting = dims_[dim].waiting;
  if (own.size() > few && waiting.empty()) waiting_.push_back(dim);
  for (const Size at : cuts) {
    if (!is_there(at)) waiting.emplace_back(digit, at);
  }
  if (own.size() <= few) put_waiting(dim);
}

/// Puts what waits where it belongs.
void Strips::put_waiting(DimId dim) {
  Dim& one = dims_[dim];
  auto waiting = std::exchange(one.waiting, {});
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  cuts_ += waiting.size();
  if (cuts_ > most_cuts) throw TooFine{};
  for (auto at = waiting.begin(); at != waiting.end();) {
    std::vector<Size>& cuts = one.cuts[at->first];
    const auto middle = static_cast<std::ptrdiff_t>(cuts.size());
    const std::size_t digit = at->first;
    for (; at != waiting.end() && at->first == digit; ++at) cuts.push_back(at->second);
    std::inplace_merge(cuts.begin(), cuts.begin() + middle, cuts.end());
    work(cuts.size());
    ++one.changes;
  }
}

void Strips::same_cuts(DigitId one, DigitId other) {
  merge(other.dim, other.digit, dims_[one.dim].cuts[one.digit]);
  merge(one.dim, one.digit, dims_[other.dim].cuts[other.digit]);
}

template <typename See>
void Strips::same_digits(const Relation& relation, const See& see) const {
  const Dim& one = dims_[relation.one];
  const Dim& other = dims_[relation.other];
  const Size weight = std::max<Size>(relation.weight, 1);
  const bool is_tie = relation.weight == 0;
  // A whole digit of one is one of the other where both end at the same place.
  const auto end_of = [](const Dim& dim, std::size_t digit) {
    return digit < dim.suffixes.size() ? dim.suffixes[digit] : dim.extent;
  };
  std::size_t k = 0;
  while (other.weight(k) < weight && k < other.suffixes.size()) ++k;
  for (std::size_t digit = 0; digit <= one.suffixes.size() && k <= other.suffixes.size();
       ++digit, ++k) {
    const bool is_top = digit == one.suffixes.size() && k == other.suffixes.size();
    if (other.weight(k) != weight * one.weight(digit)) return;
    if (end_of(other, k) != weight * end_of(one, digit) || (is_tie && is_top)) return;
    see(DigitId{relation.one, digit}, DigitId{relation.other, k});
  }
}

std::optional<Size> Strips::common_top(const Relation& tie) const {
  const Size weight = dims_[tie.one].top_weight();
  return weight == dims_[tie.other].top_weight() ? std::optional(weight) : std::nullopt;
}

void Strips::tie_cuts(const Relation& tie) {
  same_digits(tie, [this](DigitId one, DigitId other) { same_cuts(one, other); });
  if (const auto weight = common_top(tie)) {
    const Size at = tie.at / *weight;
    const Size to = tie.to / *weight;
    const Size extent = tie.extent / *weight;
    merge(tie.other, digits(tie.other) - 1,
          moved_cuts(dims_[tie.one].top(), at, at + extent, to - at));
    merge(tie.one, digits(tie.one) - 1,
          moved_cuts(dims_[tie.other].top(), to, to + extent, at - to));
    return;
  }
  // All of one, or places of the slowest digit of the other that is one more.
  const bool first_is_longer = dims_[tie.one].top_weight() > dims_[tie.other].top_weight();
  const DimId dim = first_is_longer ? tie.one : tie.other;
  const Size weight = dims_[dim].top_weight();
  const Size begin = (first_is_longer ? tie.at : tie.to) / weight;
  RETILE_ASSERT(tie.extent == weight, "a digit that only one has is longer than the stretch");
  merge(dim, digits(dim) - 1, {begin, begin + 1});
}

void Strips::factor_cuts(const Relation& factor) {
  same_digits(factor, [this](DigitId one, DigitId other) { same_cuts(one, other); });
  const Dim& whole = dims_[factor.other];
  if (factor.weight * dims_[factor.one].extent > whole.top_weight()) factor_top(factor);
}

/// Part of the slowest digit, which repeats the cuts of its fast part for every place of its slow part.
void Strips::factor_top(const Relation& factor) {
  Dim& part = dims_[factor.one];
  const Dim& whole = dims_[factor.other];
  const Size weight = whole.top_weight();
  const Size extent = whole.extent / weight;
  const Size period = factor.weight * part.extent / weight;
  const std::size_t digit = digits(factor.other) - 1;
  if (factor.weight > weight) {  // that a fast part cuts the whole in all places
    std::vector<Size> own;
    if (part.extent > static_cast<Size>(most_cuts)) throw TooFine{};
    for (Size at = 0; at <= part.extent; ++at) own.push_back(at);
    return merge(factor.one, digits(factor.one) - 1, own);
  }
  std::vector<Size> own = {period};
  for (const Size at : whole.cuts[digit]) own.push_back(at % period);
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  merge(factor.one, digits(factor.one) - 1, own);
  const std::vector<Size>& cuts = part.top();
  std::vector<Size> all = {0};
  const auto repeated = checked_mul(extent / period, static_cast<Size>(cuts.size()));
  if (!repeated || *repeated > static_cast<Size>(most_cuts)) throw TooFine{};
  for (Size begin = 0; begin < extent; begin += period) {
    for (const Size at : cuts) {
      if (at > 0) all.push_back(begin + at);
    }
  }
  merge(factor.other, digit, all);
}

// What is left.

Size Strips::count(DimId dim) const {
  Size out = 1;
  for (const auto& cuts : dims_[dim].cuts) out *= static_cast<Size>(cuts.size()) - 1;
  return out;
}

Size Strips::before(DimId dim, Size place) const {
  const Dim& one = dims_[dim];
  const std::vector<Size>& cuts = one.cuts.back();
  const Size at = place / one.top_weight();
  const auto found = std::lower_bound(cuts.begin(), cuts.end(), at);
  RETILE_ASSERT(place % one.top_weight() == 0 && found != cuts.end() && *found == at,
                "something is cut there");
  Size out = found - cuts.begin();
  for (std::size_t digit = 0; digit < one.suffixes.size(); ++digit) {
    out *= static_cast<Size>(one.cuts[digit].size()) - 1;
  }
  return out;
}

Size Strips::first(DimId dim, Size left) const {
  const Dim& one = dims_[dim];
  Size out = 0;
  for (std::size_t digit = 0; digit < one.cuts.size(); ++digit) {
    const auto count = static_cast<Size>(one.cuts[digit].size()) - 1;
    out += one.cuts[digit][index(left % count)] * one.weight(digit);
    left /= count;
  }
  return out;
}

Size Strips::length(DigitId digit, Size left) const {
  const Dim& one = dims_[digit.dim];
  for (std::size_t faster = 0; faster < digit.digit; ++faster) {
    left /= static_cast<Size>(one.cuts[faster].size()) - 1;
  }
  const std::vector<Size>& cuts = one.cuts[digit.digit];
  const std::size_t k = index(left % (static_cast<Size>(cuts.size()) - 1));
  return cuts[k + 1] - cuts[k];
}

bool Strips::is_long(DigitId digit) const {
  const std::vector<Size>& cuts = dims_[digit.dim].cuts[digit.digit];
  return cuts.back() > static_cast<Size>(cuts.size()) - 1;
}

// Along which digits the same elements follow each other.

std::size_t Strips::root(std::size_t digit) const {
  while (parents_[digit] != digit) digit = parents_[digit];
  return digit;
}

std::size_t Strips::kin(DigitId digit) const { return root(number(digit)); }

void Strips::number_kin() {
  for (Dim& dim : dims_) {
    dim.first_digit = parents_.size();
    for (std::size_t k = 0; k < dim.cuts.size(); ++k) parents_.push_back(parents_.size());
  }
  const auto unite = [this](DigitId one, DigitId other) {
    const std::size_t a = kin(one);
    const std::size_t b = kin(other);
    parents_[std::max(a, b)] = std::min(a, b);
    // Halves the way up, so that it stays short.
    for (std::size_t k = number(one); parents_[k] != k; k = parents_[k]) {
      parents_[k] = parents_[parents_[k]];
    }
    for (std::size_t k = number(other); parents_[k] != k; k = parents_[k]) {
      parents_[k] = parents_[parents_[k]];
    }
  };
  for (const Relation& relation : relations_) {
    if (!relation.moved) continue;
    same_digits(relation, [&](DigitId one, DigitId other) {
      if (is_long(one)) unite(one, other);
    });
    const DigitId one{relation.one, digits(relation.one) - 1};
    const DigitId other{relation.other, digits(relation.other) - 1};
    if (relation.weight != 0) {
      if (weight(other) == relation.weight * weight(one) && is_long(one)) unite(one, other);
    } else if (const auto weight = common_top(relation)) {
      const std::vector<Size>& cuts = dims_[relation.one].cuts.back();
      const Size begin = relation.at / *weight;
      const Size end = begin + relation.extent / *weight;
      const auto strips = std::lower_bound(cuts.begin(), cuts.end(), end) -
                          std::lower_bound(cuts.begin(), cuts.end(), begin);
      if (strips < end - begin) unite(one, other);
    }
  }
}

}  // namespace retile::foreign
