#include "retile/check/multisets.h"

#include <algorithm>

#include "retile/core/hash.h"

namespace retile {

std::size_t AddendSets::Hash::operator()(const std::vector<Id>& ids) const {
  std::uint64_t hash = hash_start;
  for (const Id id : ids) hash = hash_number(hash, id);
  return static_cast<std::size_t>(hash);
}

Size AddendSets::times(Id id, Size addend) const {
  const std::vector<Counted>& set = counted(id);
  const auto found =
      std::lower_bound(set.begin(), set.end(), addend,
                       [](const Counted& counted, Size wanted) { return counted.addend < wanted; });
  return found != set.end() && found->addend == addend ? found->times : 0;
}

AddendSets::Id AddendSets::id_of(std::vector<Counted> set) {
  const auto [found, is_new] = ids_.try_emplace(std::move(set), sets_.size());
  if (is_new) {
    sets_.push_back(&found->first);
    room_ += 2 * static_cast<Size>(found->first.size()) + 8;
  }
  return found->second;
}

AddendSets::Id AddendSets::total(std::vector<Id> ids, bool capped) {
  std::erase(ids, Id{0});
  std::sort(ids.begin(), ids.end());
  if (ids.empty()) return 0;
  if (ids.size() == 1) return ids.front();
  auto& sums = sums_[capped ? 1 : 0];
  if (const auto known = sums.find(ids); known != sums.end()) return known->second;
  std::vector<Counted> all;
  for (const Id id : ids) all.insert(all.end(), counted(id).begin(), counted(id).end());
  std::sort(all.begin(), all.end());
  std::vector<Counted> set;
  for (const Counted& one : all) {
    if (set.empty() || set.back().addend != one.addend) {
      set.push_back(one);
    } else if (!capped) {
      const auto times = checked_add(set.back().times, one.times);
      overflowed_ = overflowed_ || !times;
      set.back().times = times.value_or(set.back().times);
    }
  }
  const Id out = id_of(std::move(set));
  room_ += static_cast<Size>(ids.size()) + 8;
  sums.emplace(std::move(ids), out);
  return out;
}

}  // namespace retile
