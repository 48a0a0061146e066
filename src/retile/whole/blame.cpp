#include "retile/whole/blame.h"

#include <algorithm>
#include <set>

namespace retile::whole {
namespace {

/// Elements of a value that are looked for.
constexpr std::size_t most_picked = 32;

/// Whether a word is hardly there by chance: small integers and truth values are everywhere.
bool is_name(Word word, const ElementKind& kind) {
  constexpr Word least = Word{1} << 16U;
  return !kind.is_number() || word >= least || word <= -least;
}

}  // namespace

void Search::look_for(ValueId value, const Held& held) {
  const ArrayType& type = main_.values[value].type;
  const std::vector<Word>& words = held.front()->words;
  if (words.empty()) return;
  std::set<Word> picked;
  const std::size_t step = std::max<std::size_t>(1, words.size() / most_picked);
  for (std::size_t k = 0; k < words.size() && picked.size() < most_picked; k += step) {
    if (is_name(words[k], type.kind)) picked.insert(words[k]);
  }
  values_[value].elements = picked.size();
  for (const Word word : picked) names_[word].values.push_back(value);
}

void Search::see(std::optional<std::size_t> index, const ArrayType& type, const Held& held) {
  if (type.kind.form == ElementKind::Form::truth) return;
  std::set<const Array*> looked;
  for (const Block& block : held) {
    if (!looked.insert(block.get()).second) continue;
    for (const Word word : block->words) {
      const auto found = names_.find(word);
      if (found == names_.end()) continue;
      for (const ValueId value : found->second.values) {
        if (!found->second.is_seen) ++values_[value].seen;
        if (index) values_[value].last = index;
      }
      found->second.is_seen = true;
    }
  }
}

const Instruction* Search::maker(ValueId value) const {
  for (const Instruction& one : main_.body) {
    if (std::find(one.results.begin(), one.results.end(), value) != one.results.end()) return &one;
  }
  return nullptr;
}

std::optional<ValueId> Search::lost(std::size_t result) const {
  std::optional<ValueId> out;
  std::set<ValueId> visited;
  std::vector<ValueId> waiting = {main_.results[result]};
  while (!waiting.empty()) {
    const ValueId value = waiting.back();
    waiting.pop_back();
    const Instruction* made = maker(value);
    if (made == nullptr || !visited.insert(value).second) continue;
    bool is_first = true;
    for (const ValueId operand : made->operands) {
      if (!is_lost(operand)) continue;
      is_first = false;
      waiting.push_back(operand);
    }
    // Values are numbered in the order in which the text makes them.
    if (is_first && (!out || value < *out)) out = value;
  }
  return out;
}

std::optional<std::size_t> Search::last_seen(ValueId value) const {
  const Instruction* made = maker(value);
  std::optional<std::size_t> out;
  if (made == nullptr) return out;
  for (const ValueId operand : made->operands) {
    out = std::max(out, values_[operand].last);
  }
  return out;
}

Spot spot_of(const Computation& in, const Instruction* one, ValueId value) {
  if (one == nullptr) return {.value = in.values[value].name, .opcode = "parameter"};
  return {.value = in.values[value].name,
          .opcode = one->opcode,
          .line = one->place.line,
          .source = one->source};
}

Spot spot_making(const Computation& in, ValueId value) {
  const auto made = std::find_if(in.body.begin(), in.body.end(), [&](const Instruction& one) {
    return std::find(one.results.begin(), one.results.end(), value) != one.results.end();
  });
  return spot_of(in, made == in.body.end() ? nullptr : &*made, value);
}

}  // namespace retile::whole
