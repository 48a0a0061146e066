#include "retile/whole/repair.h"

#include <algorithm>
#include <deque>
#include <set>

#include "retile/core/division.h"
#include "retile/core/walk.h"
#include "retile/whole/blame.h"

namespace retile::whole {
namespace {

/// Values around what was lost that may be what an operation should have made.
constexpr std::size_t most_around = 24;
/// Ways in which a tile may be a box of an array.
constexpr std::size_t most_layouts = 16;
/// Values that a word is looked for in: a zero stands everywhere.
constexpr std::size_t most_of_a_word = 64;
/// Runs of the text after, from the operation on.
constexpr Size most_tries = 3000;

}  // namespace

Repairs::Repairs(const Module& before, const Module& after, std::vector<Held> first,
                 std::vector<Held> second, Limits& limits)
    : before_(before.main()),
      after_(after.main()),
      first_(std::move(first)),
      second_(std::move(second)),
      limits_(limits),
      makers_(after_.values.size(), after_.body.size()) {
  for (std::size_t k = 0; k < after_.body.size(); ++k) {
    for (const ValueId value : after_.body[k].results) makers_[value] = k;
  }
  for (const Held& held : second_) {
    if (!held.empty() && !held.front()->words.empty()) by_word_[held.front()->words.front()];
  }
  for (ValueId value = 0; value < first_.size(); ++value) {
    if (first_[value].empty()) continue;
    for (const Word word : first_[value].front()->words) {
      const auto found = by_word_.find(word);
      if (found == by_word_.end()) continue;
      std::vector<ValueId>& values = found->second;
      if (values.size() < most_of_a_word && (values.empty() || values.back() != value)) {
        values.push_back(value);
      }
    }
  }
}

void Repairs::note_cut(const Shape& extents, const std::vector<Box>& boxes) {
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    Size tile = 0;
    for (const Box& box : boxes) tile = std::max(tile, box.extent[dim]);
    if (tile == 0 || tile >= extents[dim]) continue;
    std::vector<Size> parts;
    for (const Box& box : boxes) parts.push_back(box.at[dim] / tile);
    const std::pair<Size, std::vector<Size>> cut{ceil_div(extents[dim], tile), std::move(parts)};
    if (std::find(cuts_.begin(), cuts_.end(), cut) == cuts_.end()) cuts_.push_back(cut);
  }
}

std::vector<ValueId> Repairs::values_around(ValueId near) const {
  std::vector<ValueId> out = {near};
  std::set<ValueId> seen = {near};
  const auto walk = [&](const auto& next_of) {
    std::deque<ValueId> waiting = {near};
    const std::size_t most = out.size() + most_around;
    while (!waiting.empty() && out.size() < most) {
      const ValueId value = waiting.front();
      waiting.pop_front();
      for (const ValueId next : next_of(value)) {
        if (!seen.insert(next).second) continue;
        out.push_back(next);
        waiting.push_back(next);
      }
    }
  };
  walk([&](ValueId value) {
    std::vector<ValueId> users;
    for (const Instruction& one : before_.body) {
      if (std::find(one.operands.begin(), one.operands.end(), value) != one.operands.end()) {
        users.insert(users.end(), one.results.begin(), one.results.end());
      }
    }
    return users;
  });
  walk([&](ValueId value) {
    for (const Instruction& one : before_.body) {
      if (std::find(one.results.begin(), one.results.end(), value) != one.results.end()) {
        return one.operands;
      }
    }
    return std::vector<ValueId>();
  });
  return out;
}

std::vector<bool> Repairs::wrong_way_to(ValueId result) const {
  std::vector<bool> values(after_.values.size(), false);
  std::vector<bool> out(after_.body.size(), false);
  values[result] = true;
  for (std::size_t k = after_.body.size(); k-- > 0;) {
    const Instruction& one = after_.body[k];
    out[k] = std::any_of(one.results.begin(), one.results.end(),
                         [&](ValueId value) { return values[value]; });
    if (!out[k]) continue;
    for (const ValueId operand : one.operands) {
      values[operand] = values[operand] || !is_explained(operand);
    }
  }
  return out;
}

std::vector<std::vector<Box>> Repairs::layouts_of(const ArrayType& array,
                                                  const ArrayType& tile) const {
  if (array.kind != tile.kind || array.extents.size() != tile.extents.size()) return {};
  const std::size_t devices = second_[after_.results.front()].size();
  std::vector<std::vector<Box>> out(1, std::vector<Box>(devices));
  for (std::size_t dim = 0; dim < array.extents.size(); ++dim) {
    const Size whole = array.extents[dim];
    const Size part = tile.extents[dim];
    std::vector<std::vector<Size>> ways;
    if (part == whole) ways.emplace_back(devices, 0);
    if (part < whole && part > 0) {
      for (const auto& [count, parts] : cuts_) {
        if (count == ceil_div(whole, part) && parts.size() == devices) ways.push_back(parts);
      }
    }
    std::vector<std::vector<Box>> next;
    for (const std::vector<Box>& layout : out) {
      for (const std::vector<Size>& way : ways) {
        if (next.size() >= most_layouts) break;
        next.push_back(layout);
        for (std::size_t d = 0; d < devices; ++d) {
          const Size begin = std::min(way[d] * part, whole);
          next.back()[d].at.push_back(begin);
          next.back()[d].extent.push_back(std::min(part, whole - begin));
        }
      }
    }
    out = std::move(next);
  }
  return out;
}

Held Repairs::tiles_of(ValueId value, const std::vector<Box>& boxes, ValueId in_place_of) const {
  const ArrayType& array = before_.values[value].type;
  const ArrayType& tile = after_.values[in_place_of].type;
  Held out;
  for (std::size_t d = 0; d < boxes.size(); ++d) {
    auto made = new_array(limits_, tile);
    made->words = second_[in_place_of][d]->words;  // what lies behind the box stays
    Strided where = whole_of(array.extents);
    where.offset = offset_of(boxes[d].at, where.strides);
    copy_box(first_[value][d]->words, where, made->words, whole_of(tile.extents), boxes[d].extent,
             words_of(tile.kind));
    out.push_back(std::move(made));
  }
  return out;
}

bool Repairs::is_mended(Evaluator<Field>& evaluator, const WrongResult& wrong,
                        const Repair& repair) const {
  const ValueId value = after_.body[repair.instruction].results[repair.part];
  Held tiles = tiles_of(repair.value, repair.boxes, value);
  const auto same = [&](std::size_t d) { return tiles[d]->words == second_[value][d]->words; };
  bool is_there = true;
  for (std::size_t d = 0; d < tiles.size(); ++d) is_there = is_there && same(d);
  if (is_there) return false;
  const ValueId result = after_.results[wrong.number];
  const Held held = evaluator.again_with(second_, value, std::move(tiles), result);
  const ValueId goal = before_.results[wrong.number];
  for (std::size_t d = 0; d < held.size(); ++d) {
    if (!is_box_held(goal, wrong.boxes[d], d, *held[d], after_.values[result].type)) return false;
  }
  return true;
}

std::optional<Repair> Repairs::at(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                  const std::vector<ValueId>& values, std::size_t instruction,
                                  std::size_t part) const {
  const ArrayType& tile = after_.values[after_.body[instruction].results[part]].type;
  for (const ValueId value : values) {
    for (std::vector<Box>& boxes : layouts_of(before_.values[value].type, tile)) {
      if (++tries_ > most_tries) return std::nullopt;
      Repair out{instruction, part, instruction, value, std::move(boxes)};
      if (is_mended(evaluator, wrong, out)) return out;
    }
  }
  return std::nullopt;
}

Repair Repairs::at_next_exchange(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                 const std::vector<ValueId>& values, Repair repair) const {
  std::size_t at_hand = repair.instruction;
  while (after_.body[at_hand].results.size() == 1) {
    const ValueId value = after_.body[at_hand].results.front();
    std::vector<std::size_t> users;
    for (std::size_t k = at_hand + 1; k < after_.body.size(); ++k) {
      const auto& operands = after_.body[k].operands;
      if (std::find(operands.begin(), operands.end(), value) != operands.end()) users.push_back(k);
    }
    const bool goes_on = users.size() == 1 && after_.body[users[0]].results.size() == 1;
    if (!goes_on) return repair;
    at_hand = users.front();
    if (exchanges(after_.body[at_hand])) {
      auto next = at(evaluator, wrong, values, at_hand, 0);
      if (!next) return repair;
      repair = *std::move(next);
    } else if (!is_moving(after_.body[at_hand].id)) {
      return repair;
    }
  }
  return repair;
}

bool Repairs::is_box_held(ValueId value, const Box& box, std::size_t device, const Array& tile,
                          const ArrayType& type) const {
  const ArrayType& array = before_.values[value].type;
  return begins_with_box(tile, type.extents, *first_[value][device], array.extents, box,
                         words_of(array.kind));
}

bool Repairs::is_explained(ValueId value) const {
  return second_[value].front()->words.empty() || !explanations_of(value, 1).empty();
}

std::vector<ValueId> Repairs::explanations_of(ValueId value, std::size_t most) const {
  const ArrayType& tile = after_.values[value].type;
  const std::vector<Word>& words = second_[value].front()->words;
  std::vector<ValueId> out;
  const auto found = words.empty() ? by_word_.end() : by_word_.find(words.front());
  if (found == by_word_.end()) return out;
  for (const ValueId one : found->second) {
    const ArrayType& array = before_.values[one].type;
    for (const std::vector<Box>& boxes : layouts_of(array, tile)) {
      bool is_held = true;
      for (std::size_t d = 0; d < boxes.size() && is_held; ++d) {
        is_held = is_box_held(one, boxes[d], d, *second_[value][d], tile);
      }
      if (!is_held) continue;
      out.push_back(one);
      break;
    }
    if (out.size() >= most) break;
  }
  return out;
}

std::vector<std::size_t> Repairs::exchanges_into(std::size_t instruction) const {
  std::vector<std::size_t> out;
  std::set<ValueId> waiting(after_.body[instruction].operands.begin(),
                            after_.body[instruction].operands.end());
  for (std::size_t k = instruction; k-- > 0 && !waiting.empty();) {
    const Instruction& one = after_.body[k];
    bool is_sought = false;
    bool is_copied = false;  // where an operation was dropped, its operand is copied
    for (const ValueId value : one.results) {
      if (waiting.erase(value) == 0) continue;
      is_copied =
          is_copied || std::any_of(after_.copies.begin(), after_.copies.end(),
                                   [&](const CopiedValue& copy) { return copy.value == value; });
      is_sought = is_sought || !is_explained(value);
    }
    if (is_copied || (is_sought && exchanges(one))) out.push_back(k);
    if (!is_sought) continue;
    waiting.insert(one.operands.begin(), one.operands.end());
  }
  return out;
}

Repairs::Words Repairs::wrong_words(const WrongResult& wrong) const {
  const ValueId result = after_.results[wrong.number];
  const ValueId goal = before_.results[wrong.number];
  const Held right = tiles_of(goal, wrong.boxes, result);
  Words out;
  for (std::size_t d = 0; d < right.size(); ++d) {
    std::vector<bool> words;
    for (std::size_t k = 0; k < right[d]->words.size(); ++k) {
      words.push_back(right[d]->words[k] != second_[result][d]->words[k]);
    }
    out.push_back(std::move(words));
  }
  return out;
}

Repairs::Words Repairs::words_of_influence(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                           std::size_t instruction) const {
  const ValueId result = after_.results[wrong.number];
  Words out;
  for (const Block& block : second_[result]) out.emplace_back(block->words.size(), false);
  for (const ValueId value : after_.body[instruction].results) {
    Held others;
    Word number = 0;
    for (const Block& block : second_[value]) {
      auto made = new_array(limits_, after_.values[value].type);
      for (std::size_t k = 0; k < made->words.size(); ++k) {
        made->words[k] = block->words[k] == ++number ? 0 : number;
      }
      others.push_back(std::move(made));
    }
    const Held held = evaluator.again_with(second_, value, std::move(others), result);
    for (std::size_t d = 0; d < held.size(); ++d) {
      for (std::size_t k = 0; k < out[d].size(); ++k) {
        out[d][k] = out[d][k] || held[d]->words[k] != second_[result][d]->words[k];
      }
    }
  }
  return out;
}

std::size_t Repairs::nearest_to(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                const Repair& repair) const {
  const Words all_wrong = wrong_words(wrong);
  std::optional<std::size_t> least;
  std::size_t out = repair.instruction;
  std::vector<std::size_t> candidates = exchanges_into(repair.instruction);
  if (exchanges(after_.body[repair.instruction])) {
    candidates.insert(candidates.begin(), repair.instruction);
  }
  for (const std::size_t candidate : candidates) {
    const Words words = words_of_influence(evaluator, wrong, candidate);
    std::size_t count = 0;
    bool has_all = true;
    for (std::size_t d = 0; d < words.size(); ++d) {
      for (std::size_t k = 0; k < words[d].size(); ++k) {
        if (words[d][k]) ++count;
        has_all = has_all && (words[d][k] || !all_wrong[d][k]);
      }
    }
    if (!has_all || (least && count >= *least)) continue;
    least = count;
    out = candidate;
  }
  return out;
}

std::vector<std::size_t> Repairs::depths() const {
  std::vector<std::size_t> of_values(after_.values.size(), 0);
  std::vector<std::size_t> out(after_.body.size(), 0);
  for (std::size_t k = 0; k < after_.body.size(); ++k) {
    const Instruction& one = after_.body[k];
    for (const ValueId operand : one.operands) out[k] = std::max(out[k], of_values[operand]);
    for (const ValueId value : one.results) {
      of_values[value] = is_explained(value) ? 0 : out[k] + 1;
    }
  }
  return out;
}

std::vector<ValueId> Repairs::values_made_like(std::size_t instruction) const {
  constexpr std::size_t most_explanations = 4;
  constexpr int most_steps = 4;
  std::set<ValueId> made;
  std::vector<ValueId> waiting = after_.body[instruction].operands;
  std::set<ValueId> seen(waiting.begin(), waiting.end());
  while (!waiting.empty()) {
    const ValueId value = waiting.back();
    waiting.pop_back();
    const std::vector<ValueId> same = explanations_of(value, most_explanations);
    made.insert(same.begin(), same.end());
    if (!same.empty() || makers_[value] >= after_.body.size()) continue;
    for (const ValueId operand : after_.body[makers_[value]].operands) {
      if (seen.insert(operand).second) waiting.push_back(operand);
    }
  }
  std::vector<ValueId> out(made.begin(), made.end());
  for (const Instruction& one : before_.body) {
    if (one.operands.empty()) made.insert(one.results.begin(), one.results.end());
  }
  for (int step = 0; step < most_steps; ++step) {
    std::vector<ValueId> next;
    for (const Instruction& one : before_.body) {
      const bool is_made = std::all_of(one.operands.begin(), one.operands.end(),
                                       [&](ValueId value) { return made.contains(value); });
      if (!is_made) continue;
      for (const ValueId value : one.results) {
        if (!made.contains(value)) next.push_back(value);
      }
    }
    made.insert(next.begin(), next.end());
    out.insert(out.end(), next.begin(), next.end());
  }
  return out;
}

std::vector<Repair> Repairs::likely_of(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                       std::size_t most) const {
  constexpr std::size_t most_depth = 8;
  const std::vector<bool> needed = wrong_way_to(after_.results[wrong.number]);
  const std::vector<std::size_t> all_depths = depths();
  std::vector<Repair> out;
  for (std::size_t k = 0; k < after_.body.size() && out.size() < most; ++k) {
    if (!needed[k] || all_depths[k] > most_depth) continue;
    const std::vector<ValueId> values = values_made_like(k);
    for (std::size_t part = 0; part < after_.body[k].results.size(); ++part) {
      auto found = at(evaluator, wrong, values, k, part);
      if (!found) continue;
      Repair repair = at_next_exchange(evaluator, wrong, values, *std::move(found));
      const bool is_known = std::any_of(out.begin(), out.end(), [&](const Repair& one) {
        return one.instruction == repair.instruction;
      });
      if (!is_known) out.push_back(std::move(repair));
    }
  }
  return out;
}

std::optional<Repair> Repairs::first_of(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                        ValueId near) const {
  std::vector<ValueId> values = values_around(near);
  const ValueId goal = before_.results[wrong.number];
  if (std::find(values.begin(), values.end(), goal) == values.end()) values.push_back(goal);
  const std::vector<bool> needed = wrong_way_to(after_.results[wrong.number]);
  for (std::size_t k = 0; k < after_.body.size(); ++k) {
    if (!needed[k]) continue;
    for (std::size_t part = 0; part < after_.body[k].results.size(); ++part) {
      auto first = at(evaluator, wrong, values, k, part);
      if (!first) continue;
      Repair out = at_next_exchange(evaluator, wrong, values, *std::move(first));
      out.nearest = nearest_to(evaluator, wrong, out);
      return out;
    }
  }
  return std::nullopt;
}

Spot spot_or_copy(const Computation& in, const Repair& repair) {
  const Instruction& nearest = in.body[repair.nearest];
  const ValueId value = nearest.results[repair.nearest == repair.instruction ? repair.part : 0];
  const auto copy = std::find_if(in.copies.begin(), in.copies.end(),
                                 [&](const CopiedValue& one) { return one.value == value; });
  if (copy == in.copies.end()) return spot_of(in, &nearest, nearest.results.front());
  return {.value = copy->name,
          .opcode = copy->opcode,
          .line = copy->place.line,
          .source = copy->source};
}

}  // namespace retile::whole
