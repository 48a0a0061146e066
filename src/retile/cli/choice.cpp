// What `retile partition --choose` answers: the schedule with its module, or a table of costs.
#include "retile/cli/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/array/choose.h"
#include "retile/cli/json.h"
#include "retile/cli/network.h"
#include "retile/cli/printed.h"
#include "retile/cli/progress.h"
#include "retile/core/names.h"

namespace retile::cli {

namespace {

/// What redistributions are counted in: elements, or what they take on a network.
using MaybeNetwork = std::optional<network::Network>;

Json choice_json(const array::Choice& choice, const MaybeNetwork& network) {
  Json out;
  out["schedules"] = choice.schedules;
  out[network ? "time_ps" : "cost"] = choice.cost;
  out[network ? "times_ps" : "costs"] = choice.costs;
  out["input_bytes"] = choice.input_bytes;
  out["temporary_bytes"] = choice.temporary_bytes;
  return out;
}

std::string report_json(const array::ChoiceReport& report, Size devices,
                        const MaybeNetwork& network) {
  Json out;
  out["schema"] = "retile.choice/1";
  out["devices"] = devices;
  if (network) out["levels"] = levels_json(*network);
  out["all_digits"] = report.all_digits;
  out["candidates"] = report.candidates;
  out["planned"] = report.planned;
  out["best"] = choice_json(report.best, network);
  if (report.lower_bound) {
    out[network ? "time_lower_bound_ps" : "lower_bound"] = *report.lower_bound;
  }
  out["second_sought"] = report.sought_second;
  out["second"] = report.second ? choice_json(*report.second, network) : Json(nullptr);
  out["module"] = report.module;
  return line_of(out);
}

/// What redistributions cost, with a verb.
std::string moved_text(Size cost, const MaybeNetwork& network) {
  return network ? "takes " + time_text(cost) : "moves " + counted(cost, "element");
}

std::string choice_text(std::string_view what, const array::Choice& choice,
                        const MaybeNetwork& network) {
  std::string out =
      fmt::format("# {}: {}; inputs {} bytes a device, temporaries {} bytes\n", what,
                  moved_text(choice.cost, network), choice.input_bytes, choice.temporary_bytes);
  for (const std::string& schedule : choice.schedules) out += fmt::format("#   {}\n", schedule);
  return out;
}

/// Why the second best is second.
std::string why_second(const array::ChoiceReport& report, const MaybeNetwork& network) {
  const Size more = report.second->cost - report.best.cost;
  if (more > 0) return fmt::format("second best, which {} more", moved_text(more, network));
  const Size bytes = report.second->input_bytes - report.best.input_bytes;
  if (bytes > 0) return fmt::format("second best, whose inputs take {} bytes more", bytes);
  const Size temporaries = report.second->temporary_bytes - report.best.temporary_bytes;
  if (temporaries > 0) {
    return fmt::format("second best, whose temporaries take {} bytes more", temporaries);
  }
  return "as good, and found later";
}

std::string report_text(const array::ChoiceReport& report, const MaybeNetwork& network,
                        bool has_limit) {
  const std::string among =
      report.all_digits ? "all assignments of digits"
                        : "numbers of pieces and orders of variables, each with one run of digits";
  const bool is_least = report.lower_bound.value_or(report.best.cost) == report.best.cost;
  const char* const word = !is_least ? "best found" : network ? "fastest" : "cheapest";
  std::string out = choice_text(fmt::format("{} of {}", word, among), report.best, network);
  if (report.lower_bound) {
    const char* const within = has_limit ? " within the limit" : "";
    out += is_least ? fmt::format("# no candidate{} is better\n", within)
                    : fmt::format("# every candidate{} {} at least\n", within,
                                  moved_text(*report.lower_bound, network));
  }
  if (!report.sought_second) out += "# the second best was not looked for\n";
  if (report.second) out += choice_text(why_second(report, network), *report.second, network);
  return out + report.module;
}

/// What one redistribution takes; picoseconds.
Result<Size> time_on(const network::Network& known, const Problem& problem, Size element_bytes) {
  const auto planned =
      network::plan(problem, known, {.element_bytes = element_bytes, .steps = Scope::several_dims});
  if (!planned) return refuse(planned.error());
  return planned->time;
}

/// How many devices, and within what limit.
struct Case {
  Size devices = 1;
  std::optional<Size> limit = {};  ///< bytes a device
};

Outcome failed_choice(const Diagnostic& why) {
  return why.code == Code::infeasible ? failed(Exit::no, why) : failed(why);
}

/// Asks for the cheapest schedules of cases that differ in devices and limit alone.
class Asking {
 public:
  /// \error as parse_element_type(), parse_count() and read_links()
  static Result<Asking> make(const ChoiceArguments& arguments,
                             const array::Statements& statements) {
    Asking out(statements);
    if (arguments.dtype) {
      const auto type = parse_element_type(*arguments.dtype, "--dtype");
      if (!type) return refuse(type.error());
      out.element_bytes_ = type->bytes;
    }
    if (arguments.repeat) {
      const auto percent = parse_count(*arguments.repeat, "--repeat", 0, 100);
      if (!percent) return refuse(percent.error());
      out.repeat_percent_ = *percent;
    }
    if (arguments.network) {
      auto links = read_links(*arguments.network);
      if (!links) return refuse(links.error());
      out.links_ = *std::move(links);
    }
    return out;
  }

  /// The links between groups of so many devices, as which axes there will be is chosen.
  /// \error as read_network()
  [[nodiscard]] Result<MaybeNetwork> network(Size devices) const {
    if (!links_) return MaybeNetwork();
    auto read = read_network(*links_, Mesh{}, devices);
    if (!read) return refuse(read.error());
    return MaybeNetwork(*std::move(read));
  }

  /// \error as array::choose()
  [[nodiscard]] Result<array::ChoiceReport> report(const Case& one,
                                                   const MaybeNetwork& known) const {
    array::ChoiceOptions options{.devices = one.devices,
                                 .element_bytes = element_bytes_,
                                 .memory_limit_bytes = one.limit,
                                 .repeat_percent = repeat_percent_};
    if (known) {
      for (std::size_t l = known->levels().size(); l-- > 0;) {
        options.digits.push_back(known->domain_size(l + 1) / known->domain_size(l));
      }
      options.price = [&known, bytes = element_bytes_](const Problem& problem) {
        return time_on(*known, problem, bytes);
      };
    }
    Progress progress(stderr_of_this());
    options.progress = [&progress](Size done, Size total) { progress.update("plan", done, total); };
    return array::choose(*statements_, options);
  }

 private:
  explicit Asking(const array::Statements& statements) : statements_(&statements) {}

  const array::Statements* statements_;
  Size element_bytes_ = array::ChoiceOptions().element_bytes;
  Size repeat_percent_ = array::ChoiceOptions().repeat_percent;
  std::optional<Links> links_;
};

Outcome one_choice(const ChoiceArguments& arguments, const Asking& asking, const Case& one) {
  const auto known = asking.network(one.devices);
  if (!known) return failed(known.error());
  const auto report = asking.report(one, *known);
  if (!report) return failed_choice(report.error());
  return {.exit = Exit::yes,
          .out = arguments.json ? report_json(*report, one.devices, *known)
                                : report_text(*report, *known, one.limit.has_value())};
}

// ---- What if ------------------------------------------------------------------------------------

constexpr std::size_t most_cases = 256;

std::vector<std::string_view> entries(std::string_view list) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t comma = list.find(',');
    out.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

Result<std::vector<Case>> cases_of(const ChoiceArguments& arguments) {
  std::vector<std::optional<Size>> limits;
  const std::string given = arguments.memory_limit.value_or("none");
  for (const std::string_view entry : entries(given)) {
    if (entry == "none") {
      limits.emplace_back();
      continue;
    }
    const auto limit = parse_bytes(entry, "--memory-limit");
    if (!limit) return refuse(limit.error());
    limits.emplace_back(*limit);
  }
  std::vector<Case> out;
  for (const std::string_view entry : entries(*arguments.devices)) {
    const auto devices = parse_count(entry, "--devices", 1, max_devices);
    if (!devices) return refuse(devices.error());
    for (const auto& limit : limits) out.push_back({*devices, limit});
  }
  if (out.size() > most_cases) {
    return refuse(Diagnostic{
        .code = Code::bad_argument,
        .message = fmt::format("--what-if has {} cases, of {} at most", out.size(), most_cases)});
  }
  return out;
}

/// What an answer says, or why there is none.
struct CaseAnswer {
  Case one;
  std::optional<array::ChoiceReport> report = {};
  std::optional<Diagnostic> why = {};
};

std::string why_text(const Diagnostic& why) {
  return why.notes.empty() ? why.message : fmt::format("{}: {}", why.message, why.notes[0]);
}

/// Columns as wide as what stands in them.
std::string table_text(const std::vector<CaseAnswer>& rows, bool in_time) {
  std::vector<std::vector<std::string>> lines = {{"devices", "memory limit",
                                                  in_time ? "takes" : "moves", "at least", "inputs",
                                                  "temporaries"}};
  for (const CaseAnswer& row : rows) {
    auto& line = lines.emplace_back();
    line.push_back(fmt::format("{}", row.one.devices));
    line.push_back(row.one.limit ? fmt::format("{}", *row.one.limit) : "none");
    if (row.why) line.push_back(why_text(*row.why));
    if (!row.report) continue;
    const array::Choice& best = row.report->best;
    const auto said = [&](Size cost) {
      return in_time ? time_text(cost) : fmt::format("{}", cost);
    };
    line.push_back(said(best.cost));
    line.push_back(said(row.report->lower_bound.value_or(best.cost)));
    line.push_back(fmt::format("{}", best.input_bytes));
    line.push_back(fmt::format("{}", best.temporary_bytes));
  }
  return columns_text(lines, FirstColumn::number);
}

std::string table_json(const std::vector<CaseAnswer>& rows, bool in_time) {
  Json out;
  out["schema"] = "retile.what_if/1";
  out["cases"] = Json::array();
  for (const CaseAnswer& row : rows) {
    Json one;
    one["devices"] = row.one.devices;
    one["memory_limit_bytes"] = row.one.limit ? Json(*row.one.limit) : Json(nullptr);
    if (row.report) {
      const Size cost = row.report->best.cost;
      one[in_time ? "time_ps" : "cost"] = cost;
      one[in_time ? "time_lower_bound_ps" : "lower_bound"] = row.report->lower_bound.value_or(cost);
      one["input_bytes"] = row.report->best.input_bytes;
      one["temporary_bytes"] = row.report->best.temporary_bytes;
      one["schedules"] = row.report->best.schedules;
    }
    if (row.why) one["why"] = why_text(*row.why);
    out["cases"].push_back(std::move(one));
  }
  return line_of(out);
}

Outcome what_if(const ChoiceArguments& arguments, const Asking& asking) {
  const auto cases = cases_of(arguments);
  if (!cases) return failed(cases.error());
  std::vector<CaseAnswer> rows;
  Outcome out{.exit = Exit::yes};
  for (const Case& one : *cases) {
    const auto known = asking.network(one.devices);
    if (!known) return failed(known.error());
    auto report = asking.report(one, *known);
    if (report) {
      rows.push_back({.one = one, .report = *std::move(report)});
      continue;
    }
    // What holds for this case alone stands in its row; all else is about what was asked.
    const Code code = report.error().code;
    if (code == Code::limit_reached) out.exit = Exit::undecided;
    if (code != Code::limit_reached && code != Code::infeasible && code != Code::unsupported) {
      return failed(report.error());
    }
    rows.push_back({.one = one, .why = report.error()});
  }
  const bool in_time = arguments.network.has_value();
  out.out = arguments.json ? table_json(rows, in_time) : table_text(rows, in_time);
  return out;
}

}  // namespace

Outcome choose_schedule(const ChoiceArguments& arguments, const array::Statements& statements) {
  const auto asking = Asking::make(arguments, statements);
  if (!asking) return failed(asking.error());
  if (arguments.what_if) return what_if(arguments, *asking);
  const auto devices = parse_count(*arguments.devices, "--devices", 1, max_devices);
  if (!devices) return failed(devices.error());
  Case one{*devices};
  if (arguments.memory_limit) {
    const auto limit = parse_bytes(*arguments.memory_limit, "--memory-limit");
    if (!limit) return failed(limit.error());
    one.limit = *limit;
  }
  return one_choice(arguments, *asking, one);
}

}  // namespace retile::cli
