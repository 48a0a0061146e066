#include "retile/report/shrunk.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "retile/core/names.h"
#include "retile/report/validation.h"

namespace retile::report {
namespace {

using ShrunkJson = nlohmann::ordered_json;

std::string left_text(const ShrunkProgram& shrunk) {
  std::string out =
      fmt::format("{} of {} left before the pass",
                  counted(static_cast<Size>(shrunk.left.before), "operation"), shrunk.given.before);
  if (shrunk.given.after > 0) {
    out += fmt::format(", {} of {} after it", shrunk.left.after, shrunk.given.after);
  } else if (shrunk.left.after > 0) {
    out += fmt::format(", {} after it", shrunk.left.after);
  }
  return out + "\n";
}

}  // namespace

std::string text_of(const ShrunkProgram& shrunk, bool with_texts) {
  std::string out =
      fmt::format("{}, after {}: {}\n", shrunk.kind, counted(shrunk.questions, "smaller program"),
                  shrunk.complete ? "nothing smaller fails like this" : "the limit was reached");
  if (!shrunk.message.empty()) out += fmt::format("  | {}\n", clean(shrunk.message));
  out += "  " + left_text(shrunk);
  if (shrunk.validation) out += text_of(*shrunk.validation);
  if (!with_texts) return out;
  out += "\n" + shrunk.before;
  if (!shrunk.after.empty()) out += "\n" + shrunk.after;
  return out;
}

std::string json_of(const ShrunkProgram& shrunk) {
  const auto operations = [](const ShrunkProgram::Operations& counts) {
    return ShrunkJson{{"before", counts.before}, {"after", counts.after}};
  };
  ShrunkJson out;
  out["schema"] = "retile.shrunk-program/1";
  out["kind"] = shrunk.kind;
  out["message"] = shrunk.message;
  out["questions"] = shrunk.questions;
  out["complete"] = shrunk.complete;
  out["given"] = operations(shrunk.given);
  out["left"] = operations(shrunk.left);
  out["validation"] = shrunk.validation ? ShrunkJson::parse(json_of(*shrunk.validation)) : nullptr;
  out["before"] = shrunk.before;
  out["after"] = shrunk.after;
  return out.dump(-1, ' ', false, ShrunkJson::error_handler_t::replace) + "\n";
}

}  // namespace retile::report
