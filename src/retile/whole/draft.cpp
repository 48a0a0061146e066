#include "retile/whole/draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "retile/core/names.h"
#include "retile/foreign/hlo/attributes.h"
#include "retile/foreign/hlo/syntax.h"
#include "retile/text/words.h"

namespace retile::whole {
namespace {

namespace hlo = foreign::hlo;

/// A type without layouts that say nothing.
std::string type_words(const hlo::WrittenType& type) {
  const std::string_view text = hlo::text_of(type.place);
  if (type.is_reordered) return std::string(text);
  std::string out;
  int depth = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    // Behind an element type's bracket stands its layout. Comments count parts of tuples.
    if (text.substr(k, 2) == "/*") {
      k = std::min(text.find("*/", k), text.size()) + 1;
      continue;
    }
    if (text[k] == '{') ++depth;
    if (depth == 0 && text[k] != '\n') out += text[k];
    if (text[k] == '}') --depth;
  }
  return out;
}

DraftInstruction instruction_of(const hlo::Instruction& from) {
  DraftInstruction out{.is_root = from.is_root,
                       .name = std::string(hlo::bare(from.name.value)),
                       .type = type_words(from.type),
                       .opcode = from.opcode.value,
                       .operands = {},
                       .inside = {},
                       .attributes = {}};
  for (const hlo::Operand& operand : from.operands) {
    out.operands.push_back(operand.part ? fmt::format("{}#{}", operand.value, *operand.part)
                                        : operand.value);
  }
  if (from.operands.empty()) out.inside = std::string(hlo::text_of(from.inside));
  for (const hlo::Attribute& attribute : from.attributes) {
    if (attribute.name == "metadata") continue;
    out.attributes.emplace_back(attribute.name, hlo::text_of(attribute.value));
  }
  return out;
}

/// Calls `look` with each word of an attribute that may be a name.
template <typename Look>
void for_words(std::string_view text, const Look& look) {
  for (std::size_t k = 0; k < text.size();) {
    std::size_t end = k;
    while (end < text.size() && continues_name(text[end])) ++end;
    if (end > k) look(text.substr(k, end - k));
    k = end + 1;
  }
}

using Names = std::set<std::string, std::less<>>;

/// Names of what the result of a computation needs, its own included.
Names needed_in(const DraftComputation& in) {
  std::map<std::string_view, const DraftInstruction*> by_name;
  for (const DraftInstruction& one : in.body) by_name[one.name] = &one;
  Names out = {in.root().name};
  std::vector<const DraftInstruction*> waiting = {&in.root()};
  while (!waiting.empty()) {
    const DraftInstruction& one = *waiting.back();
    waiting.pop_back();
    for (const std::string& operand : one.operands) {
      const auto found = by_name.find(name_in(operand));
      if (found != by_name.end() && out.emplace(found->first).second)
        waiting.push_back(found->second);
    }
  }
  return out;
}

/// Names of the computations that the entry calls, or what it calls.
Names called_from_entry(const Draft& draft) {
  std::map<std::string_view, const DraftComputation*> by_name;
  for (const DraftComputation& one : draft.computations) by_name[one.name] = &one;
  Names out = {draft.entry().name};
  std::vector<const DraftComputation*> waiting = {&draft.entry()};
  while (!waiting.empty()) {
    const DraftComputation& in = *waiting.back();
    waiting.pop_back();
    for (const DraftInstruction& one : in.body) {
      for (const auto& [name, value] : one.attributes) {
        for_words(value, [&](std::string_view word) {
          const auto found = by_name.find(word);
          if (found != by_name.end() && out.emplace(word).second) waiting.push_back(found->second);
        });
      }
    }
  }
  return out;
}

Size number_in(std::string_view text) {
  Size out = 0;
  static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), out));
  return out;
}

std::string instruction_text(const DraftInstruction& one) {
  std::string inside = one.inside;
  if (!one.operands.empty()) {
    inside.clear();
    for (const std::string& operand : one.operands) {
      inside += (inside.empty() ? "%" : ", %") + operand;
    }
  }
  std::string out = fmt::format("  {}%{} = {} {}({})", one.is_root ? "ROOT " : "", one.name,
                                one.type, one.opcode, inside);
  for (const auto& [name, value] : one.attributes) out += fmt::format(", {}={}", name, value);
  return out + "\n";
}

}  // namespace

std::string_view DraftInstruction::attribute(std::string_view which) const {
  for (const auto& [known, value] : attributes) {
    if (known == which) return value;
  }
  return {};
}

void DraftInstruction::set(std::string_view which, std::string value) {
  for (auto& [known, old] : attributes) {
    if (known != which) continue;
    old = std::move(value);
    return;
  }
  attributes.emplace_back(which, std::move(value));
}

void DraftInstruction::drop(std::string_view which) {
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                  [&](const auto& one) { return one.first == which; }),
                   attributes.end());
}

const DraftInstruction* DraftComputation::find(std::string_view value) const {
  const auto found = std::find_if(body.begin(), body.end(),
                                  [&](const DraftInstruction& one) { return one.name == value; });
  return found == body.end() ? nullptr : &*found;
}

DraftInstruction* DraftComputation::find(std::string_view value) {
  return const_cast<DraftInstruction*>(std::as_const(*this).find(value));  // NOLINT: the same body
}

const DraftInstruction& DraftComputation::root() const {
  const auto found = std::find_if(body.begin(), body.end(),
                                  [](const DraftInstruction& one) { return one.is_root; });
  return found == body.end() ? body.back() : *found;
}

DraftInstruction& DraftComputation::root() {
  return const_cast<DraftInstruction&>(std::as_const(*this).root());  // NOLINT: the same body
}

Result<Draft> draft_of(const text::Input& input) {
  return text::result_of([&] {
    const std::vector<hlo::Module> modules = hlo::parse_modules(input);
    if (modules.size() != 1) {
      text::fail({.input = &input, .span = {0, 0}},
                 {.code = Code::syntax, .message = "one module is expected"});
    }
    const hlo::Module& from = modules.front();
    const hlo::Computation& entry = hlo::entry_of(from);
    Draft out;
    out.name = from.has_header ? from.name.value : "module";
    out.replicas = hlo::header_number(from, "replica_count").value_or(1);
    out.partitions = hlo::header_number(from, "num_partitions").value_or(1);
    const auto add = [&](const hlo::Computation& one) {
      DraftComputation made{.name = std::string(hlo::bare(one.name.value)), .body = {}};
      if (one.instructions.empty()) {
        text::fail(one.name.place, {.code = Code::syntax, .message = "no instruction"});
      }
      for (const hlo::Instruction& each : one.instructions) {
        made.body.push_back(instruction_of(each));
      }
      made.root().is_root = true;
      out.computations.push_back(std::move(made));
    };
    for (const hlo::Computation& one : from.computations) {
      if (&one != &entry) add(one);
    }
    add(entry);
    return out;
  });
}

std::string text_of(const Draft& draft) {
  std::string out = "HloModule " + draft.name;
  if (draft.replicas != 1) out += fmt::format(", replica_count={}", draft.replicas);
  if (draft.partitions != 1) out += fmt::format(", num_partitions={}", draft.partitions);
  out += "\n";
  for (const DraftComputation& one : draft.computations) {
    out += fmt::format("\n{}%{} {{\n", &one == &draft.entry() ? "ENTRY " : "", one.name);
    for (const DraftInstruction& each : one.body) out += instruction_text(each);
    out += "}\n";
  }
  return out;
}

std::string_view name_in(std::string_view operand) { return operand.substr(0, operand.find('#')); }

std::vector<std::string> parts_within(std::string_view text) {
  std::vector<std::string> out;
  const bool is_bracketed = !text.empty() && (text.front() == '{' || text.front() == '(');
  if (is_bracketed) text = text.substr(1, text.size() - 2);
  int depth = 0;
  std::string now;
  const auto put = [&] {
    const std::size_t begin = std::min(now.find_first_not_of(" \n"), now.size());
    out.push_back(now.substr(begin, now.find_last_not_of(" \n") + 1 - begin));
    now.clear();
  };
  for (const char c : text) {
    if (c == '{' || c == '(' || c == '[') ++depth;
    if (c == '}' || c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      put();
    } else {
      now += c;
    }
  }
  if (!now.empty()) put();
  return out;
}

void drop_dead(Draft& draft) {
  for (DraftComputation& one : draft.computations) {
    const Names needed = needed_in(one);
    one.body.erase(std::remove_if(one.body.begin(), one.body.end(),
                                  [&](const DraftInstruction& each) {
                                    return !each.is_parameter() && !needed.contains(each.name);
                                  }),
                   one.body.end());
  }
  const Names called = called_from_entry(draft);
  auto& all = draft.computations;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const DraftComputation& one) { return !called.contains(one.name); }),
            all.end());
}

std::vector<bool> needed_parameters(const Draft& draft) {
  std::vector<bool> out(static_cast<std::size_t>(parameter_count(draft)), false);
  const Names needed = needed_in(draft.entry());
  for (const DraftInstruction& one : draft.entry().body) {
    const auto number = static_cast<std::size_t>(number_in(one.inside));
    if (one.is_parameter() && number < out.size()) out[number] = needed.contains(one.name);
  }
  return out;
}

void keep_parameters(Draft& draft, const std::vector<Size>& kept) {
  auto& body = draft.entry().body;
  const auto place = [&](const DraftInstruction& one) {
    return std::find(kept.begin(), kept.end(), number_in(one.inside));
  };
  body.erase(std::remove_if(body.begin(), body.end(),
                            [&](const DraftInstruction& one) {
                              return one.is_parameter() && place(one) == kept.end();
                            }),
             body.end());
  for (DraftInstruction& one : body) {
    if (one.is_parameter()) one.inside = std::to_string(place(one) - kept.begin());
  }
}

std::vector<Size> drop_unused(Draft& draft) {
  drop_dead(draft);
  std::vector<Size> kept;
  const std::vector<bool> needed = needed_parameters(draft);
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (needed[k]) kept.push_back(static_cast<Size>(k));
  }
  keep_parameters(draft, kept);
  return kept;
}

void replace_uses(DraftComputation& in, std::string_view value, std::string_view to) {
  const std::string_view base = name_in(to);
  for (DraftInstruction& one : in.body) {
    for (std::string& operand : one.operands) {
      if (name_in(operand) != value) continue;
      operand =
          operand == value ? std::string(to) : std::string(base) + operand.substr(value.size());
    }
  }
  DraftInstruction& root = in.root();
  DraftInstruction* made = in.find(base);
  if (root.name != value || made == nullptr) return;
  const std::string sharding(root.attribute("sharding"));
  root.is_root = false;
  made->is_root = true;
  // How a result lies is part of the program; what an operand was told of itself is a hint.
  if (!sharding.empty()) made->set("sharding", sharding);
}

void make_parameter(DraftInstruction& instruction, Size number) {
  const std::string sharding(instruction.attribute("sharding"));
  instruction.opcode = "parameter";
  instruction.operands.clear();
  instruction.inside = std::to_string(number);
  instruction.attributes.clear();
  if (!sharding.empty()) instruction.set("sharding", sharding);
}

Size parameter_count(const Draft& draft) {
  const auto& body = draft.entry().body;
  return std::count_if(body.begin(), body.end(),
                       [](const DraftInstruction& one) { return one.is_parameter(); });
}

std::size_t result_count(const Draft& draft) {
  const DraftInstruction& root = draft.entry().root();
  if (!root.is_tuple()) return 1;
  if (root.opcode != "tuple") return 0;
  const bool has_arrays =
      std::all_of(root.operands.begin(), root.operands.end(), [&](const std::string& operand) {
        const DraftInstruction* made = draft.entry().find(name_in(operand));
        return made != nullptr && (operand.find('#') != std::string::npos || !made->is_tuple());
      });
  return has_arrays ? root.operands.size() : 0;
}

void keep_results(Draft& draft, const std::vector<std::size_t>& kept) {
  DraftInstruction& root = draft.entry().root();
  if (!root.is_tuple()) return;
  const auto chosen = [&](const std::vector<std::string>& all) {
    std::vector<std::string> out;
    for (const std::size_t k : kept) out.push_back(all[k]);
    return out;
  };
  const std::vector<std::string> types = parts_within(root.type);
  const std::vector<std::string> shardings = parts_within(root.attribute("sharding"));
  root.type = fmt::format("({})", fmt::join(chosen(types), ", "));
  if (shardings.size() == root.operands.size() && shardings.front().front() == '{') {
    root.set("sharding", fmt::format("{{{}}}", fmt::join(chosen(shardings), ", ")));
  }
  root.operands = chosen(root.operands);
}

std::size_t operations_of(const Draft& draft) {
  std::size_t out = 0;
  for (const DraftComputation& one : draft.computations) {
    out += static_cast<std::size_t>(
        std::count_if(one.body.begin(), one.body.end(), [](const DraftInstruction& each) {
          return !each.is_parameter() && each.opcode != "constant";
        }));
  }
  return out;
}

}  // namespace retile::whole
