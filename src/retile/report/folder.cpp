#include "retile/report/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "retile/core/names.h"
#include "retile/report/validation.h"

namespace retile::report {
namespace {

std::string refusal_text(const Diagnostic& refused) {
  if (refused.source.empty()) return clean(refused.message);
  return fmt::format("{}: {}", clean(refused.source), clean(refused.message));
}

/// Whether the time was over before there was an answer.
bool is_late(const whole::JudgedPair& pair) {
  return pair.validation && pair.validation->answer == whole::Answer::undecided &&
         pair.validation->why == whole::out_of_time;
}

std::string counts_text(const whole::JudgedModule& module) {
  const auto judged = std::count_if(module.pairs.begin(), module.pairs.end(), [](const auto& pair) {
    return pair.validation && !is_late(pair);
  });
  return fmt::format("{}; {} judged, {} of equal texts", counted(module.texts, "text"),
                     counted(judged, "pair"), module.equal);
}

/// The pairs of which there is no answer.
std::string open_pairs_text(const whole::JudgedModule& module) {
  std::string out;
  for (const whole::JudgedPair& pair : module.pairs) {
    if (pair.refused) {
      out +=
          fmt::format("  not read, behind {}: {}\n", clean(pair.pass), refusal_text(*pair.refused));
    } else if (pair.validation->answer == whole::Answer::undecided && !is_late(pair)) {
      out += fmt::format("  {}: {}", clean(pair.pass), text_of(*pair.validation));
    }
  }
  const auto late = std::count_if(module.pairs.begin(), module.pairs.end(), is_late);
  if (late > 0) {
    out += fmt::format("  {}: {} not judged\n", whole::out_of_time,
                       late == 1 ? "1 pair was" : fmt::format("{} pairs were", late));
  }
  return out;
}

/// The verdict on a module, or why there is none.
std::string_view summary_word(const whole::JudgedModule& module) {
  if (!module.missing.empty()) return "not judged";
  return module.is_judged() ? word_of(module.answer()) : "not read";
}

}  // namespace

std::string text_of(const whole::JudgedModule& module, std::optional<emit::Form> form) {
  const std::string name = clean(module.name);
  if (!module.missing.empty()) return fmt::format("{}: not judged: {}\n", name, module.missing);
  std::string out;
  for (const whole::JudgedPair& pair : module.pairs) {
    out += name + ": ";
    if (pair.refused) {
      out += fmt::format("not read: {}\n", refusal_text(*pair.refused));
      for (const std::string& note : pair.refused->notes) out += fmt::format("  {}\n", clean(note));
    } else {
      out += text_of(*pair.validation, form);
    }
    if (pair.pass == "optimizations") out += "  between the texts before and after all passes\n";
  }
  return out;
}

std::string passes_text_of(const whole::JudgedModule& module) {
  const std::string name = clean(module.name);
  if (!module.missing.empty()) return fmt::format("{}: not judged: {}\n", name, module.missing);
  const std::string open = open_pairs_text(module);
  if (module.answer() != whole::Answer::wrong) {
    const bool is_right = module.answer() == whole::Answer::right;
    return fmt::format("{}: {}: {}\n{}", name, is_right ? "right" : "undecided",
                       counts_text(module), open);
  }
  const whole::JudgedPair& pair = module.pairs.back();
  return fmt::format("{}: wrong at {}\n  {}  before: {}\n  after: {}\n  {}\n{}", name,
                     clean(pair.pass), text_of(*pair.validation), clean(pair.before.file),
                     clean(pair.after.file), counts_text(module), open);
}

std::string summary_text_of(const std::vector<whole::JudgedModule>& modules) {
  if (modules.size() < 2) return "";
  std::vector<std::string> parts;
  for (const std::string_view word : {"right", "wrong", "undecided", "not read", "not judged"}) {
    const auto count = std::count_if(modules.begin(), modules.end(), [&](const auto& module) {
      return summary_word(module) == word;
    });
    if (count > 0) parts.push_back(fmt::format("{} {}", count, word));
  }
  return fmt::format("{}: {}\n", counted(modules.size(), "module"), fmt::join(parts, ", "));
}

std::vector<Json> json_of(const whole::JudgedModule& module, std::optional<emit::Form> form) {
  const Json begun = {{"schema", "retile.validation/1"}, {"module", module.name}};
  if (!module.missing.empty()) {
    Json object = begun;
    object["answer"] = "not judged";
    object["why"] = module.missing;
    return {std::move(object)};
  }
  std::vector<Json> out;
  for (const whole::JudgedPair& pair : module.pairs) {
    Json& object = out.emplace_back(begun);
    object["pass"] = pair.pass;
    object["before"] = pair.before.file;
    object["after"] = pair.after.file;
    if (pair.refused) {
      object["answer"] = "not read";
      object["why"] = refusal_text(*pair.refused);
    } else {
      object.update(json_of(*pair.validation, form));
    }
  }
  return out;
}

}  // namespace retile::report
