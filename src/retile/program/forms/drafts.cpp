#include "drafts.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/core/names.h"
#include "retile/text/words.h"

namespace retile::forms {

bool StepDraft::has(std::string_view key) const {
  return std::any_of(keys.begin(), keys.end(), [key](const auto& own) { return own.first == key; });
}

namespace {

std::vector<std::string> op_names(int version) {
  std::vector<std::string> out;
  for (const OpInfo& row : op_table()) {
    if (row.since <= version) out.emplace_back(row.name);
  }
  return out;
}

/// All of them, however many.
std::string listed(const std::vector<std::string>& words, std::string_view last) {
  return text::enumerate(words, last, words.size());
}

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

std::size_t op_row(std::string_view word, const Place& place, int version) {
  static const std::vector<std::string> reserved = {"reshape", "transpose", "pad", "concat"};
  const auto table = op_table();
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table[row].name != word) continue;
    if (table[row].since <= version) return row;
    fail(place,
         {.code = Code::bad_program,
          .message = fmt::format("{} is a step of retile.program/{}", word, table[row].since),
          .notes = {"the header of this Program says retile.program/1"}});
  }
  const std::vector<std::string> names = op_names(version);
  if (std::find(reserved.begin(), reserved.end(), word) != reserved.end()) {
    fail(place,
         {.code = Code::bad_program,
          .message = fmt::format("{} is a reserved word: no step of that name exists yet", word),
          .notes = {fmt::format("steps are {}", listed(names, "and"))}});
  }
  const std::vector<std::string> header = {"mesh", "devices", "from", "to"};
  const auto meant = text::nearest(word, joined(names, header));
  fail(place, {.code = Code::syntax,
               .message = fmt::format("{} is neither a header line nor a step", shortened(word)),
               .notes = {meant ? fmt::format("did you mean {}?", *meant)
                               : fmt::format("a line begins with {}",
                                             listed(joined(header, names), "or"))}});
}

const Key& op_key(std::size_t row, std::string_view name, const Place& place, int version) {
  const OpInfo& op = op_table()[row];
  std::vector<std::string> names;
  for (const std::span<const Key> keys : {op.keys, std::span<const Key>(claim_keys)}) {
    for (const Key& key : keys) {
      if (key.since > version) continue;
      if (key.name == name) return key;
      names.emplace_back(key.name);
    }
  }
  std::vector<std::string> notes;
  if (const auto meant = text::nearest(name, names)) {
    notes.push_back(fmt::format("did you mean {}?", *meant));
  }
  notes.push_back(fmt::format("the keys of {} are {}", op.name, fmt::join(names, ", ")));
  fail(place, {.code = Code::bad_program,
               .message = fmt::format("{} has no key {}", op.name, shortened(name)),
               .notes = std::move(notes)});
}

}  // namespace retile::forms
