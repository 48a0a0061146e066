#include "retile/whole/alike.h"

#include <algorithm>
#include <map>

#include "retile/whole/holdings.h"
#include "retile/whole/matching.h"

namespace retile::whole {
namespace {

/// Depends on all words of all devices.
std::uint64_t digest_of(const Held& held) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t out = 0;
  for (const Block& block : held) {
    for (const Word word : block->words) {
      out = (out ^ static_cast<std::uint64_t>(word)) * factor;
      out ^= out >> 29U;
    }
  }
  return out;
}

bool is_one_array(const Held& held) {
  return std::all_of(held.begin(), held.end(), [&](const Block& block) {
    return block == held.front() || block->words == held.front()->words;
  });
}

bool is_same_held(const Held& one, const Held& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Block& a, const Block& b) { return a == b || a->words == b->words; });
}

}  // namespace

AlikeInDraw alike_in(const Computation& before, const std::vector<Held>& first,
                     const Computation& after, const std::vector<Held>& second, bool is_partitioned,
                     Limits& limits) {
  AlikeInDraw out;
  Holdings holdings(limits);
  std::vector<ValueId> sought;
  std::map<std::uint64_t, std::vector<ValueId>> by_digest;
  for (ValueId value = 0; value < first.size() && !is_partitioned; ++value) {
    if (!first[value].empty()) by_digest[digest_of(first[value])].push_back(value);
  }
  for (ValueId value = 0; value < second.size(); ++value) {
    if (second[value].empty() || second[value].front()->words.empty()) continue;
    const std::uint64_t digest = digest_of(second[value]);
    if (is_partitioned) {
      holdings.look_for(after.values[value].type, second[value]);
      sought.push_back(value);
      continue;
    }
    for (const ValueId one : by_digest[digest]) {
      if (type_of(before, one) != type_of(after, value)) continue;
      if (!is_same_held(first[one], second[value])) continue;
      out.values.push_back({one, value, {}, digest});
      break;
    }
  }
  if (!is_partitioned) return out;
  for (ValueId value = 0; value < first.size(); ++value) {
    if (first[value].empty() || !is_one_array(first[value])) continue;
    holdings.look_in(value, before.values[value].type, first[value].front());
  }
  for (std::size_t k = 0; k < sought.size(); ++k) {
    for (const Holding& holding : holdings.of(k)) {
      out.values.push_back({holdings.reference(holding.reference).number, sought[k], holding.boxes,
                            digest_of(second[sought[k]])});
    }
  }
  return out;
}

}  // namespace retile::whole
