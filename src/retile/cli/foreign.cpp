#include "retile/cli/foreign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/core/names.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/judge.h"
#include "retile/foreign/module.h"
#include "retile/foreign/to_program.h"
#include "retile/notation/sharding.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "retile/report/sentences.h"

namespace retile::cli {
namespace {

using report::index_text;

/// What our own planner makes of the same ends.
struct Optimum {
  Size cost = 0;
  Size height = 0;
  bool optimal = false;
  Scope scope{};  ///< of `optimal`
};

/// One function and its verdict.
struct Judged {
  const foreign::Function& function;
  foreign::Ends ends;
  foreign::Verdict verdict;
  std::optional<Optimum> optimum;
  /// Where it is wrong: ends that it would be right for, which somebody meant who listed the axes of
  /// `--from` or `--to` major to minor.
  std::optional<std::pair<std::string, std::string>> right_with;
};

/// What every verdict takes for granted.
constexpr std::string_view assumption = "the result is the argument";

/// Problems that take longer than a moment are not planned here.
constexpr Size planning_limit = Size{1} << 18;

std::optional<Optimum> optimum_of(const foreign::Ends& ends) {
  const Result<Problem> problem = Problem::make(ends.from, ends.to);
  if (!problem) return std::nullopt;
  PlanOptions options;
  options.search_limit = planning_limit;
  options.steps = Scope::several_dims;
  const Result<Plan> planned = plan(*problem, options);
  if (!planned) return std::nullopt;
  return Optimum{.cost = planned->cost,
                 .height = planned->height,
                 .optimal = planned->optimal,
                 .scope = planned->scope};
}

/// `line 12 (all-gather %ag)`
std::string place_text(const foreign::ValuePlace& value) {
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
std::string times_text(std::uint64_t times, const std::optional<Size>& parts) {
  return parts ? fmt::format("{}/{}", times, *parts) : fmt::format("{}", times);
}

std::string mismatch_text(const foreign::Mismatch& mismatch, const Judged& judged) {
  const Size device = mismatch.rank.value_or(mismatch.device);
  if (mismatch.tile) {
    return fmt::format("rank {} ends with a tile {}, but its tile of the end is {}", device,
                       index_text(*mismatch.tile),
                       index_text(judged.ends.to.box(mismatch.device).extent));
  }
  if (mismatch.fault == foreign::Fault::tile) {
    const auto value = mismatch.claimed.value_or(judged.function.results.front());
    const foreign::Value& result = judged.function.values[value];
    const Layout& wanted = mismatch.claimed ? *result.claim : judged.ends.to;
    return fmt::format("the result is a tile {}, but a tile of {} is {}",
                       index_text(result.type.extents),
                       mismatch.claimed ? "what it claims" : "the end", index_text(wanted.tile()));
  }
  const std::string at = index_text(mismatch.at);
  if (mismatch.fault == foreign::Fault::end) {
    return fmt::format("device {} holds {} at {}, expected {}", device, found_text(mismatch.found),
                       at, index_text(mismatch.element));
  }
  const std::string place =
      fmt::format("device {}: element {} at {}", device, index_text(mismatch.element), at);
  if (mismatch.replica) {
    return fmt::format("{} is another sum than on device {}, its replica", place,
                       *mismatch.replica);
  }
  const std::uint64_t times = mismatch.times.value_or(0);
  const Size addend = mismatch.addend.value_or(0);
  if (times == 0) return fmt::format("{} lacks addend {}", place, addend);
  return fmt::format("{} has addend {} {} times", place, addend, times_text(times, mismatch.parts));
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

std::string figures_text(const Judged& judged) {
  const foreign::Verdict& verdict = judged.verdict;
  std::string out = fmt::format("cost {}, height {} (bound {}), receives {} elements", verdict.cost,
                                verdict.height, verdict.bound, verdict.received);
  if (verdict.received_bytes > 0) out += fmt::format(" ({} bytes)", verdict.received_bytes);
  if (judged.optimum) {
    out +=
        fmt::format("; our plan: cost {}, height {}", judged.optimum->cost, judged.optimum->height);
  }
  return out;
}

/// What was taken for granted, and where that may be what is wrong.
std::string assumption_text(const Judged& judged) {
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

std::string verdict_text(const Judged& judged, std::string_view text, bool within_bound) {
  const foreign::Verdict& verdict = judged.verdict;
  std::string out = clean(shortened(judged.function.name)) + ": ";
  if (!verdict.right) {
    return out + "undecided (limit): " + verdict.limit + "\n" + assumption_text(judged);
  }
  if (*verdict.right) {
    const bool over = within_bound && !verdict.within_bound();
    out +=
        fmt::format("{}: {}\n", over ? "right, but over the bound" : "right", figures_text(judged));
  } else {
    const auto& wrong = *verdict.first_wrong;
    out += fmt::format("wrong at {}: {}\n{}", place_text(wrong),
                       mismatch_text(*verdict.mismatch, judged), line_text(text, wrong.place.line));
    out += fmt::format("  {}\n", figures_text(judged));
  }
  out += assumption_text(judged);
  if (verdict.whole_array) {
    out += fmt::format("  the whole array on one device: {}\n{}", place_text(*verdict.whole_array),
                       line_text(text, verdict.whole_array->place.line));
  } else if (!verdict.within_bound() && verdict.height_value) {
    out += fmt::format("  over the bound: {}\n{}", place_text(*verdict.height_value),
                       line_text(text, verdict.height_value->place.line));
  }
  return out;
}

Json place_json(const std::optional<foreign::ValuePlace>& value) {
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

/// Why it is wrong, in one word. Precondition: it is.
std::string reason_text(const foreign::Verdict& verdict) {
  return verdict.is_claim ? "claim" : std::string(name_of(verdict.mismatch->fault));
}

void put_mismatch(const foreign::Verdict& verdict, Json& json) {
  const auto& mismatch = verdict.mismatch;
  json["first_wrong"] = place_json(verdict.first_wrong);
  json["reason"] = nullptr;
  for (const char* key : {"device", "at", "element", "found", "addend", "times", "replica"}) {
    json[key] = nullptr;
  }
  if (!mismatch) return;
  json["reason"] = reason_text(verdict);
  const Size device = mismatch->rank.value_or(mismatch->device);
  if (mismatch->tile) json["device"] = device;
  if (mismatch->fault == foreign::Fault::tile) return;
  json["device"] = device;
  json["at"] = mismatch->at;
  json["element"] = mismatch->element;
  json["found"] = found_json(mismatch->found);
  json["addend"] = or_null(mismatch->addend);
  json["times"] = or_null(mismatch->times);
  if (mismatch->parts) json["times"] = times_text(mismatch->times.value_or(0), mismatch->parts);
  json["replica"] = or_null(mismatch->replica);
}

std::string verdict_json(const Judged& judged) {
  const foreign::Verdict& verdict = judged.verdict;
  Json json;
  json["schema"] = "retile.foreign/1";
  json["function"] = judged.function.name;
  json["line"] = judged.function.place.line;
  json["devices"] = judged.function.devices;
  json["shape"] = judged.ends.from.global();
  json["from"] = judged.ends.from_text;
  json["to"] = judged.ends.to_text;
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
  json["height_value"] = place_json(verdict.height_value);
  json["bound"] = verdict.bound;
  json["within_bound"] = verdict.within_bound();
  json["cost"] = verdict.cost;
  json["received"] = {{"elements", verdict.received}, {"bytes", verdict.received_bytes}};
  json["optimum"] = nullptr;
  if (judged.optimum) {
    json["optimum"] = {{"cost", judged.optimum->cost},
                       {"height", judged.optimum->height},
                       {"optimal", judged.optimum->optimal},
                       {"scope", scope_name(judged.optimum->scope)}};
  }
  json["whole_array"] = place_json(verdict.whole_array);
  json["notes"] = judged.ends.notes;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Exit exit_of(const foreign::Verdict& verdict, bool within_bound) {
  if (!verdict.right) return Exit::undecided;
  if (!*verdict.right) return Exit::no;
  return within_bound && !verdict.within_bound() ? Exit::no : Exit::yes;
}

/// The Program of a function, with the axes that its ends are said over.
Result<Program> program_of(const foreign::Function& function, const foreign::Ends& ends) {
  Result<Program> out = foreign::to_program(function, ends.from, ends.to);
  if (out) out->mesh = ends.mesh;
  return out;
}

/// The functions of a text, and what each of them must do.
struct Tasks {
  std::vector<foreign::Function> functions;
  std::vector<foreign::Ends> ends;
};

Result<Tasks> read_tasks(std::string_view text, const std::string& source,
                         foreign::Language language, const foreign::EndOptions& options) {
  const text::Input input{.text = text, .source = source, .numbered = true};
  auto functions = foreign::read(input, language, foreign::read_options(options));
  if (!functions) return refuse(std::move(functions.error()));
  Tasks out{.functions = *std::move(functions), .ends = {}};
  for (const foreign::Function& function : out.functions) {
    Result<foreign::Ends> ends = foreign::find_ends(function, options, input);
    if (!ends) return refuse(std::move(ends.error()));
    out.ends.push_back(*std::move(ends));
  }
  return out;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += "note: " + note + "\n";
  return out;
}

/// What the functions do, as Programs.
Outcome programs_in(std::string_view text, const std::string& source, foreign::Language language,
                    const foreign::EndOptions& options) {
  const auto tasks = read_tasks(text, source, language, options);
  if (!tasks) return failed(tasks.error());
  Outcome outcome;
  for (std::size_t k = 0; k < tasks->functions.size(); ++k) {
    outcome.words += notes_text(tasks->ends[k].notes);
    const Result<Program> program = program_of(tasks->functions[k], tasks->ends[k]);
    if (!program) return failed(program.error());
    outcome.out += to_text(*program);
  }
  return outcome;
}

/// A type with the axes of every dimension in the other order; nothing where that is the same, or where
/// another notation says which order it has.
std::optional<std::string> reversed(const std::optional<Sharding>& sharding) {
  if (!sharding || sharding->notation != Notation::paper) return std::nullopt;
  Sharding out = *sharding;
  for (CutDim& dim : out.dims) std::reverse(dim.parts.begin(), dim.parts.end());
  const std::string text = type_text(out);
  return text == type_text(*sharding) ? std::nullopt : std::optional(text);
}

/// Ends with axes in the other order that a function is right for.
std::optional<std::pair<std::string, std::string>> right_reversed(const foreign::Function& function,
                                                                  const foreign::Ends& ends,
                                                                  foreign::EndOptions options,
                                                                  const text::Input& input) {
  if (function.arrays > 1) return std::nullopt;
  const auto from = reversed(ends.from_sharding);
  const auto to = reversed(ends.to_sharding);
  for (const auto& [turns_from, turns_to] : {std::pair(true, true), {true, false}, {false, true}}) {
    if ((turns_from && !from) || (turns_to && !to)) continue;
    options.from = turns_from ? *from : ends.from_text;
    options.to = turns_to ? *to : ends.to_text;
    const Result<foreign::Ends> other = foreign::find_ends(function, options, input);
    if (!other) continue;
    const foreign::Verdict verdict = foreign::judge(function, other->from, other->to, judging());
    if (verdict.right.value_or(false)) return std::pair(*options.from, *options.to);
  }
  return std::nullopt;
}

Judged judged_by(const foreign::Function& function, foreign::Ends ends) {
  Judged out{.function = function,
             .ends = std::move(ends),
             .verdict = {},
             .optimum = {},
             .right_with = {}};
  out.verdict = foreign::judge(function, out.ends.from, out.ends.to, judging());
  out.optimum = optimum_of(out.ends);
  return out;
}

}  // namespace

foreign::JudgeOptions judging() {
  foreign::JudgeOptions out{.timeout_seconds = time_limit().seconds_left()};
  constexpr Size share = 4;
  out.most_bytes = std::max(out.most_bytes, memory_limit() / share);
  return out;
}

Result<std::vector<foreign::Ends>> ends_in(std::string_view text, const std::string& source,
                                           foreign::Language language,
                                           const foreign::EndOptions& options) {
  const auto tasks = read_tasks(text, source, language, options);
  if (!tasks) return refuse(tasks.error());
  return tasks->ends;
}

Result<std::vector<ForeignVerdict>> judge_foreign(std::string_view text, const std::string& source,
                                                  foreign::Language language,
                                                  const foreign::EndOptions& options,
                                                  bool must_be_within_bound) {
  const auto tasks = read_tasks(text, source, language, options);
  if (!tasks) return refuse(tasks.error());
  std::vector<ForeignVerdict> out;
  for (std::size_t k = 0; k < tasks->functions.size(); ++k) {
    Judged judged = judged_by(tasks->functions[k], tasks->ends[k]);
    const foreign::Verdict& verdict = judged.verdict;
    if (!verdict.right.value_or(true) && !verdict.is_claim) {
      judged.right_with = right_reversed(judged.function, judged.ends, options,
                                         {.text = text, .source = source, .numbered = true});
    }
    out.push_back({.right = verdict.right,
                   .within_bound = verdict.within_bound(),
                   .reason = verdict.mismatch ? reason_text(verdict) : "",
                   .exit = exit_of(verdict, must_be_within_bound),
                   .text = verdict_text(judged, text, must_be_within_bound),
                   .json = verdict_json(judged),
                   .notes = judged.ends.notes});
  }
  return out;
}

Outcome check_foreign(std::string_view text, const std::string& source, foreign::Language language,
                      const ForeignArguments& arguments) {
  const Result<foreign::EndOptions> options = foreign::read_ends(arguments.ends);
  if (!options) return failed(options.error());
  if (arguments.program) return programs_in(text, source, language, *options);
  const auto verdicts = judge_foreign(text, source, language, *options, arguments.within_bound);
  if (!verdicts) return failed(verdicts.error());
  Outcome outcome;
  for (const ForeignVerdict& verdict : *verdicts) {
    outcome.words += notes_text(verdict.notes);
    outcome.out += arguments.json ? verdict.json : verdict.text;
    outcome.exit = std::max(outcome.exit, verdict.exit);
  }
  return outcome;
}

}  // namespace retile::cli
