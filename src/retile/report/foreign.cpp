#include "retile/report/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "retile/core/names.h"
#include "retile/report/sentences.h"

namespace retile::report {
namespace {

/// What every verdict takes for granted.
constexpr std::string_view assumption = "the result is the argument";

/// `line 12 (all-gather %ag)`
std::string value_text(const foreign::ValuePlace& value) {
  return fmt::format("line {} ({} {})", value.place.line, clean(value.op),
                     clean(shortened(value.name)));
}

std::string found_text(const foreign::Found& found) {
  using Kind = foreign::Found::Kind;
  switch (found.kind) {
    case Kind::element:
      return "element " + index_text(found.element);
    case Kind::zero:
      return "zero";
    case Kind::undefined:
      return "what nobody knows";
    case Kind::nothing:
      return "nothing";
    case Kind::sum:
      return fmt::format("a sum with element {}", index_text(found.element));
  }
  return "";
}

/// `2`, or `1/2` of a part.
std::string parts_text(std::uint64_t times, const std::optional<Size>& parts) {
  return parts ? fmt::format("{}/{}", times, *parts) : fmt::format("{}", times);
}

std::string mismatch_text(const foreign::Verdict& verdict) {
  const foreign::Mismatch& mismatch = *verdict.mismatch;
  const Size device = mismatch.device.value_or(0);
  if (mismatch.fault == foreign::Fault::tile) {
    const std::string tile = index_text(mismatch.tile);
    const std::string expected = index_text(mismatch.expected);
    if (mismatch.device) {
      return fmt::format("rank {} ends with a tile {}, but its tile of the end is {}", device, tile,
                         expected);
    }
    return fmt::format("the result is a tile {}, but a tile of {} is {}", tile,
                       verdict.is_claim ? "what it claims" : "the end", expected);
  }
  if (mismatch.fault == foreign::Fault::end) {
    return other_element_text(device, found_text(mismatch.found), mismatch.at, mismatch.element);
  }
  const std::string place = element_text(device, mismatch.element, mismatch.at);
  if (mismatch.replica) {
    return fmt::format("{} is another sum than on device {}, its replica", place,
                       *mismatch.replica);
  }
  const std::uint64_t times = mismatch.times.value_or(0);
  const Size addend = mismatch.addend.value_or(0);
  if (times == 0) return fmt::format("{} lacks addend {}", place, addend);
  return fmt::format("{} has addend {} {} times", place, addend, parts_text(times, mismatch.parts));
}

/// The line of a file, as it is printed below a verdict.
std::string line_text(std::string_view text, std::size_t line) {
  constexpr std::size_t most = 96;
  for (std::size_t k = 1; k < line; ++k) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find_first_of("\r\n"));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string shown = clean(text.substr(0, most));
  return fmt::format("  {} | {}{}\n", line, shown, text.size() > most ? " .." : "");
}

std::string moved_text(const foreign::JudgedFunction& judged) {
  const foreign::Verdict& verdict = judged.verdict;
  std::string out =
      fmt::format("{}, receives {} elements",
                  figures_text(verdict.cost, verdict.height, verdict.bound), verdict.received);
  if (verdict.received_bytes > 0) out += fmt::format(" ({} bytes)", verdict.received_bytes);
  if (judged.plan) {
    out += fmt::format("; our plan: cost {}, height {}", judged.plan->cost, judged.plan->height);
  }
  return out;
}

/// What was taken for granted, and where that may be what is wrong.
std::string assumption_text(const foreign::JudgedFunction& judged) {
  std::string out = fmt::format("  taken as a reshard: {}\n", assumption);
  if (judged.verdict.is_rearranged) {
    out += "  every element is there once, in another order, as after a roll\n";
  }
  if (judged.right_with) {
    out += fmt::format(
        "  right with the axes in the other order, as others list them: --from '{}' --to '{}'\n",
        clean(judged.right_with->first), clean(judged.right_with->second));
  }
  return out;
}

Json value_json(const std::optional<foreign::ValuePlace>& value) {
  if (!value) return nullptr;
  Json json;
  json["line"] = value->place.line;
  json["value"] = value->name;
  json["op"] = value->op;
  return json;
}

Json found_json(const foreign::Found& found) {
  if (found.kind == foreign::Found::Kind::element) return found.element;
  return name_of(found.kind);
}

void put_mismatch(const foreign::Verdict& verdict, Json& json) {
  json["first_wrong"] = value_json(verdict.first_wrong);
  for (const char* key :
       {"reason", "device", "at", "element", "found", "addend", "times", "replica"}) {
    json[key] = nullptr;
  }
  if (!verdict.mismatch) return;
  const foreign::Mismatch& mismatch = *verdict.mismatch;
  json["reason"] = verdict.reason();
  json["device"] = or_null(mismatch.device);
  if (mismatch.fault == foreign::Fault::tile) return;
  json["at"] = mismatch.at;
  json["element"] = mismatch.element;
  json["found"] = found_json(mismatch.found);
  json["addend"] = or_null(mismatch.addend);
  json["times"] = or_null(mismatch.times);
  if (mismatch.parts) json["times"] = parts_text(mismatch.times.value_or(0), mismatch.parts);
  json["replica"] = or_null(mismatch.replica);
}

}  // namespace

std::string text_of(const foreign::JudgedFunction& judged, std::string_view text,
                    bool must_be_within_bound) {
  const foreign::Verdict& verdict = judged.verdict;
  std::string out = clean(shortened(judged.name)) + ": ";
  if (!verdict.right) {
    return out + "undecided (limit): " + verdict.limit + "\n" + assumption_text(judged);
  }
  if (*verdict.right) {
    const bool is_over = must_be_within_bound && !verdict.within_bound();
    out += fmt::format("{}: {}\n", right_text(is_over), moved_text(judged));
  } else {
    const auto& wrong = *verdict.first_wrong;
    out += fmt::format("wrong at {}: {}\n{}", value_text(wrong), mismatch_text(verdict),
                       line_text(text, wrong.place.line));
    out += fmt::format("  {}\n", moved_text(judged));
  }
  out += assumption_text(judged);
  if (verdict.whole_array) {
    out += fmt::format("  the whole array on one device: {}\n{}", value_text(*verdict.whole_array),
                       line_text(text, verdict.whole_array->place.line));
  } else if (!verdict.within_bound() && verdict.height_value) {
    out += fmt::format("  over the bound: {}\n{}", value_text(*verdict.height_value),
                       line_text(text, verdict.height_value->place.line));
  }
  return out;
}

Json json_of(const foreign::JudgedFunction& judged) {
  const foreign::Verdict& verdict = judged.verdict;
  Json json;
  json["schema"] = "retile.foreign/1";
  json["function"] = judged.name;
  json["line"] = judged.place.line;
  json["devices"] = judged.devices;
  json["shape"] = judged.from.global();
  json["from"] = judged.from_text;
  json["to"] = judged.to_text;
  json["assumed"] = assumption;
  json["right"] = or_null(verdict.right);
  if (!verdict.right) json["limit"] = verdict.limit;
  put_mismatch(verdict, json);
  json["rearranged"] = verdict.is_rearranged;
  json["right_with"] = nullptr;
  if (judged.right_with) {
    json["right_with"] = {{"from", judged.right_with->first}, {"to", judged.right_with->second}};
  }
  json["height"] = verdict.height;
  json["height_value"] = value_json(verdict.height_value);
  json["bound"] = verdict.bound;
  json["within_bound"] = verdict.within_bound();
  json["cost"] = verdict.cost;
  json["received"] = {{"elements", verdict.received}, {"bytes", verdict.received_bytes}};
  json["optimum"] = nullptr;
  if (judged.plan) {
    json["optimum"] = {{"cost", judged.plan->cost},
                       {"height", judged.plan->height},
                       {"optimal", judged.plan->optimal},
                       {"scope", scope_name(judged.plan->scope)}};
  }
  json["whole_array"] = value_json(verdict.whole_array);
  json["notes"] = judged.notes;
  return json;
}

}  // namespace retile::report
