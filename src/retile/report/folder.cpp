#include "retile/report/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "retile/core/names.h"
#include "retile/report/validation.h"

namespace retile::report {
namespace {

using Object = nlohmann::ordered_json;

/// An object in a line of its own.
std::string line_of(const Object& object) {
  return object.dump(-1, ' ', false, Object::error_handler_t::replace) + "\n";
}

std::string refusal_text(const Diagnostic& refused) {
  if (refused.source.empty()) return clean(refused.message);
  return fmt::format("{}: {}", clean(refused.source), clean(refused.message));
}

std::string counts_text(const whole::JudgedModule& module) {
  const auto judged = std::count_if(module.pairs.begin(), module.pairs.end(),
                                    [](const auto& pair) { return pair.validation.has_value(); });
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
    } else if (pair.validation->answer == whole::Answer::undecided) {
      out += fmt::format("  {}: {}", clean(pair.pass), text_of(*pair.validation));
    }
  }
  return out;
}

}  // namespace

std::string text_of(const whole::JudgedModule& module) {
  const std::string name = clean(module.name);
  if (!module.missing.empty()) return fmt::format("{}: not judged: {}\n", name, module.missing);
  std::string out;
  for (const whole::JudgedPair& pair : module.pairs) {
    out += name + ": ";
    out += pair.refused ? fmt::format("not read: {}\n", refusal_text(*pair.refused))
                        : text_of(*pair.validation);
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

std::string json_of(const whole::JudgedModule& module) {
  std::string out;
  const auto begun = [&] {
    Object object;
    object["schema"] = "retile.validation/1";
    object["module"] = module.name;
    return object;
  };
  if (!module.missing.empty()) {
    Object object = begun();
    object["answer"] = "not judged";
    object["why"] = module.missing;
    return line_of(object);
  }
  for (const whole::JudgedPair& pair : module.pairs) {
    Object object = begun();
    object["pass"] = pair.pass;
    object["before"] = pair.before.file;
    object["after"] = pair.after.file;
    if (pair.refused) {
      object["answer"] = "not read";
      object["why"] = refusal_text(*pair.refused);
    } else {
      object.update(Object::parse(json_of(*pair.validation)));
    }
    out += line_of(object);
  }
  return out;
}

}  // namespace retile::report
