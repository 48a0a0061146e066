#include "retile/report/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "retile/core/names.h"
#include "retile/report/movement.h"
#include "retile/report/sentences.h"

namespace retile::report {
namespace {

std::string difference_text(const whole::Difference& difference) {
  // Elements of a field have no digits to show.
  const std::string numbers =
      difference.found == difference.expected
          ? ""
          : fmt::format(": {} instead of {}", difference.found, difference.expected);
  std::string out = fmt::format("result {} on device {} at {}{}, element {} of the result\n",
                                difference.result, difference.device, index_text(difference.at),
                                numbers, index_text(difference.element));
  out += fmt::format("  {} of {} elements of that device differ\n", difference.differing,
                     difference.elements);
  for (const whole::ArgumentValue& argument : difference.integers) {
    out += fmt::format("  with {} = {}\n", clean(argument.name), fmt::join(argument.numbers, ","));
  }
  return out;
}

/// `with smaller extents: 4096 to 32, 2048 to 8`
std::string reduced_text(const std::vector<std::pair<Size, Size>>& reduced) {
  std::vector<std::string> parts;
  for (const auto& [from, to] : reduced) parts.push_back(fmt::format("{} to {}", from, to));
  return fmt::format("  with smaller extents: {}\n", fmt::join(parts, ", "));
}

std::string spot_text(const whole::Spot& spot) {
  std::string out = fmt::format("{} {}, line {}", clean(spot.opcode), clean(spot.value), spot.line);
  if (!spot.source.empty()) out += fmt::format(" ({})", clean(spot.source));
  return out;
}

std::string blame_text(const whole::Blame& blame) {
  std::string out = fmt::format("  lost: {} of the text before\n", spot_text(blame.lost));
  if (blame.last) {
    out += fmt::format("  what it is made of was last there at {} of the text after\n",
                       spot_text(*blame.last));
  }
  if (blame.nearest) {
    out += fmt::format("  nearest: {} of the text after, which should make {}\n",
                       spot_text(*blame.nearest), clean(blame.meant->value));
  }
  return out;
}

std::string sizes_text(const whole::Validation& validation) {
  return fmt::format("{} and {} on {}; {} and {}", counted(validation.arguments, "argument"),
                     counted(validation.results, "result"), counted(validation.devices, "device"),
                     counted(validation.instructions_before, "instruction"),
                     validation.instructions_after);
}

}  // namespace

std::string_view word_of(whole::Answer answer) {
  switch (answer) {
    case whole::Answer::right:
      return "right";
    case whole::Answer::wrong:
      return "wrong";
    case whole::Answer::undecided:
      return "undecided";
  }
  return "";
}

std::string text_of(const whole::Validation& validation, std::optional<emit::Form> form) {
  if (!validation.is_judged) {
    return fmt::format("{}\n", sizes_text(validation)) + movement_text(validation, form);
  }
  std::string out(word_of(validation.answer));
  switch (validation.answer) {
    case whole::Answer::right:
      out += fmt::format(": {}\n", sizes_text(validation));
      break;
    case whole::Answer::wrong:
      out += ": " + difference_text(*validation.difference);
      if (validation.blame) out += blame_text(*validation.blame);
      if (validation.is_right_inside.value_or(false)) {
        out +=
            "  no difference was found with integers inside the extents that the program indexes\n";
      }
      out += fmt::format("  {}\n", sizes_text(validation));
      break;
    case whole::Answer::undecided:
      out += ": " + validation.why;
      if (validation.line > 0) {
        out += fmt::format(" (line {} of the text {})", validation.line,
                           validation.in_after ? "after" : "before");
      }
      out += "\n";
      if (validation.difference) out += "  " + difference_text(*validation.difference);
      if (validation.blame) out += blame_text(*validation.blame);
      break;
  }
  out += fmt::format("  {}, by seed {}, each modulo a prime of its own\n",
                     counted(validation.draws, "draw"), validation.seed);
  if (validation.draw_bits) {
    out += fmt::format(
        "  on the branches, orders and integers that were drawn, formulas that differ pass with "
        "probability at most 2^-{:.0f}; others were not tried\n",
        std::floor(*validation.draw_bits));
  }
  if (!validation.reduced.empty()) out += reduced_text(validation.reduced);
  for (const std::string& note : validation.notes) out += fmt::format("  {}\n", note);
  for (const auto& [name, times] : validation.unknown) {
    out += fmt::format("  {} was taken as a function of which nothing is known, {}\n", clean(name),
                       counted(times, "time"));
  }
  return out + movement_text(validation, form);
}

Json json_of(const whole::Validation& validation, std::optional<emit::Form> form) {
  Json out;
  out["schema"] = "retile.validation/1";
  out["answer"] = validation.is_judged ? Json(word_of(validation.answer)) : Json(nullptr);
  out["why"] = validation.why.empty() ? Json(nullptr) : Json(validation.why);
  out["line"] = validation.line > 0 ? Json(validation.line) : Json(nullptr);
  out["text"] =
      validation.line > 0 ? Json(validation.in_after ? "after" : "before") : Json(nullptr);
  out["difference"] = nullptr;
  if (validation.difference) {
    const whole::Difference& difference = *validation.difference;
    Json integers = Json::object();
    for (const whole::ArgumentValue& argument : difference.integers) {
      integers[argument.name] = argument.numbers;
    }
    out["difference"] = {{"result", difference.result},
                         {"device", difference.device},
                         {"at", difference.at},
                         {"element", difference.element},
                         {"expected", difference.expected},
                         {"found", difference.found},
                         {"draw", difference.draw},
                         {"integers", integers},
                         {"differing", difference.differing},
                         {"elements", difference.elements}};
  }
  out["right_inside"] = or_null(validation.is_right_inside);
  out["lost"] = validation.blame ? spot_json(validation.blame->lost) : Json(nullptr);
  const auto spot_or_null = [&](std::optional<whole::Spot> whole::Blame::*which) {
    const bool is_there = validation.blame && (*validation.blame).*which;
    return is_there ? spot_json(*((*validation.blame).*which)) : Json(nullptr);
  };
  out["last"] = spot_or_null(&whole::Blame::last);
  out["nearest"] = spot_or_null(&whole::Blame::nearest);
  out["meant"] = spot_or_null(&whole::Blame::meant);
  out["devices"] = validation.devices;
  out["arguments"] = validation.arguments;
  out["results"] = validation.results;
  out["instructions"] = {{"before", validation.instructions_before},
                         {"after", validation.instructions_after}};
  out["comparison"] = validation.comparison;
  out["draws"] = validation.draws;
  out["seed"] = validation.seed;
  out["primes"] = validation.primes;
  out["draw_bits"] =
      validation.draw_bits ? Json(static_cast<Size>(*validation.draw_bits)) : Json(nullptr);
  out["reduced"] = Json::array();
  for (const auto& [from, to] : validation.reduced) {
    out["reduced"].push_back({{"from", from}, {"to", to}});
  }
  out["notes"] = validation.notes;
  out["unknown"] = Json::object();
  for (const auto& [name, times] : validation.unknown) out["unknown"][name] = times;
  if (validation.movement || !validation.unexplained.empty()) {
    out["movement"] = movement_json(validation, form);
    out["unexplained"] =
        validation.unexplained.empty() ? Json(nullptr) : Json(validation.unexplained);
  }
  return out;
}

}  // namespace retile::report
