#include "retile/report/shrunk.h"

#include <fmt/format.h>

#include "retile/core/names.h"
#include "retile/report/validation.h"

namespace retile::report {
namespace {

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

Json json_of(const ShrunkProgram& shrunk) {
  const auto operations = [](const ShrunkProgram::Operations& counts) {
    return Json{{"before", counts.before}, {"after", counts.after}};
  };
  Json out;
  out["schema"] = "retile.shrunk-program/1";
  out["kind"] = shrunk.kind;
  out["message"] = shrunk.message;
  out["questions"] = shrunk.questions;
  out["complete"] = shrunk.complete;
  out["given"] = operations(shrunk.given);
  out["left"] = operations(shrunk.left);
  out["validation"] = shrunk.validation ? json_of(*shrunk.validation) : Json(nullptr);
  out["before"] = shrunk.before;
  out["after"] = shrunk.after;
  return out;
}

}  // namespace retile::report
