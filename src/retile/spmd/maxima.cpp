#include "maxima.h"

#include <algorithm>
#include <set>

#include "tensor.h"

namespace retile::spmd {

// Tables.

ListTable::List ListTable::list(std::size_t k) const {
  return List(values_).subspan(begins_[k], begins_[k + 1] - begins_[k]);
}

std::size_t ListTable::slot_of(List list) const {
  // Values are drawn, so that nobody makes them meet.
  std::uint64_t hash = list.size();
  for (const Value& value : list) {
    hash = (hash ^ value.first) * 0x9e3779b97f4a7c15U;
    hash ^= (hash >> 32U) ^ value.second;
  }
  hash *= 0xff51afd7ed558ccdU;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = (hash >> 20U) & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return at;
    const List there = this->list(slots_[at] - 1);
    if (std::equal(there.begin(), there.end(), list.begin(), list.end())) return at;
  }
}

std::size_t ListTable::find(List list) const {
  if (slots_.empty()) return size();
  const std::uint32_t found = slots_[slot_of(list)];
  return found == 0 ? size() : found - 1;
}

void ListTable::insert(List list) {
  if (2 * (size() + 1) > slots_.size()) grow();
  slots_[slot_of(list)] = static_cast<std::uint32_t>(size() + 1);
  values_.insert(values_.end(), list.begin(), list.end());
  begins_.push_back(values_.size());
}

void ListTable::grow() {
  slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
  for (std::size_t k = 0; k < size(); ++k) {
    slots_[slot_of(list(k))] = static_cast<std::uint32_t>(k + 1);
  }
}

// Maxima.

Maxima::Maxima(const Twofold& field, const KnownNumbers& known, std::mt19937_64& random,
               const Deadline& deadline)
    : field_(field), random_(random), watch_(deadline) {
  for (const Size k : known.factors) {
    const Value number = field.from(k);
    factors_.push_back({number, field.reciprocal(number)});
  }
  for (const Size c : known.constants) constants_.emplace_back(field.from(c), c);
  std::sort(constants_.begin(), constants_.end());
}

Maxima::Value Maxima::of(std::span<const Value> arguments) {
  List all = flat(arguments);
  if (all.size() == 1) return all[0];
  const Value out = all.size() == 2 ? of_two(all[0], all[1]) : of_set(all);
  keep(out, all);
  return out;
}

Maxima::Value Maxima::of(LocalOp function, Value argument) {
  const Value list[] = {field_.from(static_cast<Size>(function)), argument};
  const std::size_t known = find(functions_, list);
  if (known != functions_.size()) return results_[known];
  count_kept(std::size(list));
  functions_.insert(list);
  results_.push_back(field_.drawn(random_));
  return results_.back();
}

Maxima::Value Maxima::indicator(LocalOp function, Value argument) {
  const auto c = constant(argument);
  if (!c) return of(function, argument);
  return field_.from((function == LocalOp::step ? *c > 0 : *c == 0) ? 1 : 0);
}

std::optional<Size> Maxima::constant(Value p) const {
  if (const auto small = field_.constant(p)) return small;
  const auto found =
      std::lower_bound(constants_.begin(), constants_.end(), std::pair(p, Size{0}),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  if (found == constants_.end() || found->first != p) return std::nullopt;
  return found->second;
}

std::size_t Maxima::find(const ListTable& table, std::span<const Value> list) {
  looked_for_ += list.size();
  if (looked_for_ > most_looked_for) throw Undecided{"more than 2^32 arguments of maxima"};
  spend(list.size());
  return table.find(list);
}

void Maxima::spend(std::size_t values) {
  // Sorting them, and looking somewhere in a table: in nanoseconds.
  constexpr std::size_t work_of_one = 100;
  if (!watch_.in_time(static_cast<Size>(values * work_of_one))) throw Undecided{"the time is up"};
}

Maxima::List Maxima::flat(std::span<const Value> arguments) {
  List out;
  std::optional<Size> largest;
  const auto take = [&](Value p) {
    const auto c = constant(p);
    if (!c) out.push_back(p);
    if (c) largest = std::max(*c, largest.value_or(*c));
  };
  std::set<std::size_t> opened;
  for (const Value& p : arguments) {
    const std::size_t k = find(maxima_, {&p, 1});
    if (k == maxima_.size()) take(p);
    if (k != maxima_.size() && !opened.insert(k).second) continue;
    if (k != maxima_.size()) spend(begins_[k + 1] - begins_[k]);
    for (std::size_t at = begins_[k]; k < maxima_.size() && at < begins_[k + 1]; ++at) {
      take(arguments_[at]);
    }
  }
  List distinct = out;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  // Two keep the order in which they came: what their difference is does not depend on numbers drawn.
  if (distinct.size() == 2 && distinct[0] != out[0]) std::swap(distinct[0], distinct[1]);
  if (largest) distinct.push_back(field_.from(*largest));
  return distinct;
}

Maxima::Value Maxima::of_two(Value p, Value q) {
  const Value d = field_.sub(p, q);
  if (const auto c = constant(d)) return *c >= 0 ? p : q;
  if (const auto known = positive_part(d)) return field_.add(q, *known);
  const Value opposite = field_.sub(q, p);
  if (const auto known = positive_part(opposite)) return field_.add(p, *known);
  count_kept(1);
  differences_.insert({&d, 1});
  positive_parts_.push_back(field_.drawn(random_));
  return field_.add(q, positive_parts_.back());
}

std::optional<Maxima::Value> Maxima::positive_part(Value d) {
  const std::size_t same = find(differences_, {&d, 1});
  if (same != differences_.size()) return positive_parts_[same];
  for (const Factor& k : factors_) {
    const Value less = field_.mul(d, k.reciprocal);  // r(d) = k r(d / k)
    const std::size_t part = find(differences_, {&less, 1});
    if (part != differences_.size()) return field_.mul(k.number, positive_parts_[part]);
    const Value more = field_.mul(d, k.number);  // r(d) = r(k d) / k
    const std::size_t multiple = find(differences_, {&more, 1});
    if (multiple != differences_.size()) {
      return field_.mul(k.reciprocal, positive_parts_[multiple]);
    }
  }
  return std::nullopt;
}

Maxima::Value Maxima::of_set(const List& arguments) {
  if (const auto known = known_set(arguments)) return *known;
  List sorted = arguments;
  std::sort(sorted.begin(), sorted.end());
  count_kept(sorted.size());
  sets_.insert(sorted);
  set_maxima_.push_back(field_.drawn(random_));
  return set_maxima_.back();
}

std::optional<Maxima::Value> Maxima::known_set(const List& arguments) {
  const auto times = [&](Value by) {
    List multiple = arguments;
    for (Value& p : multiple) p = field_.mul(p, by);
    std::sort(multiple.begin(), multiple.end());
    return find(sets_, multiple);
  };
  const std::size_t same = times(field_.from(1));
  if (same != sets_.size()) return set_maxima_[same];
  for (const Factor& k : factors_) {
    const std::size_t part = times(k.reciprocal);  // max{k p} = k max{p}
    if (part != sets_.size()) return field_.mul(k.number, set_maxima_[part]);
    const std::size_t multiple = times(k.number);
    if (multiple != sets_.size()) return field_.mul(k.reciprocal, set_maxima_[multiple]);
  }
  return std::nullopt;
}

void Maxima::keep(Value maximum, const List& arguments) {
  if (find(maxima_, {&maximum, 1}) != maxima_.size()) return;
  count_kept(1 + arguments.size());
  maxima_.insert({&maximum, 1});
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  begins_.push_back(arguments_.size());
}

void Maxima::count_kept(std::size_t values) {
  kept_ += values;
  if (kept_ > most_kept) throw Undecided{"more than 2^24 different arguments of maxima"};
}

}  // namespace retile::spmd
