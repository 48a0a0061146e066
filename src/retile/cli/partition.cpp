// retile partition: statements and how their work is cut, as a module of many devices.
#include "retile/array/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/array/choose.h"
#include "retile/cli/json.h"
#include "retile/cli/network.h"
#include "retile/cli/progress.h"
#include "retile/cli/verb.h"
#include "retile/core/names.h"

namespace retile::cli {

namespace {

constexpr const char* partition_footer = R"HELP(
With --choose the schedule is looked for that moves fewest elements, as the planner's best
redistributions do, of those in which every device has work. With --network it is the one whose redistributions take the least time together, each by the plan for that network.
`retile lower MODULE --network LINKS` prints these plans.

Exit codes: 0 printed, 1 no schedule keeps --memory-limit, 2 FILE cannot be read, or no module says it,
3 more candidates than are looked at.

Examples:
  retile partition mlp.array
  retile partition matmul.array --schedule c=i:2,k:2
  retile partition chain.array --devices 64 --choose
  retile partition chain.array --devices 8 --choose --memory-limit 64MiB --json
  retile partition chain.array --devices 8 --choose --network '4:450GB/s:5us,*:50GB/s:15us')HELP";

struct PartitionArguments {
  std::optional<std::string> file;
  std::optional<std::string> schedule;
  std::optional<std::string> devices;
  std::optional<std::string> memory_limit;
  std::optional<std::string> dtype;
  std::optional<std::string> repeat;
  std::optional<std::string> network;
  bool choose = false;
  bool json = false;
};

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

Outcome choose(const PartitionArguments& arguments, const array::Statements& statements) {
  const auto devices = parse_count(*arguments.devices, "--devices", 1, max_devices);
  if (!devices) return failed(devices.error());
  array::ChoiceOptions options{.devices = *devices};
  if (arguments.memory_limit) {
    const auto limit = parse_bytes(*arguments.memory_limit, "--memory-limit");
    if (!limit) return failed(limit.error());
    options.memory_limit_bytes = *limit;
  }
  if (arguments.dtype) {
    const auto type = parse_element_type(*arguments.dtype, "--dtype");
    if (!type) return failed(type.error());
    options.element_bytes = type->bytes;
  }
  if (arguments.repeat) {
    const auto percent = parse_count(*arguments.repeat, "--repeat", 0, 100);
    if (!percent) return failed(percent.error());
    options.repeat_percent = *percent;
  }
  MaybeNetwork known;
  if (arguments.network) {
    const auto links = read_links(*arguments.network);
    if (!links) return failed(links.error());
    // Which axes there will be is chosen, so links are between groups of devices.
    auto read = read_network(*links, Mesh{}, *devices);
    if (!read) return failed(read.error());
    known = *std::move(read);
    for (std::size_t l = known->levels().size(); l-- > 0;) {
      options.digits.push_back(known->domain_size(l + 1) / known->domain_size(l));
    }
    options.price = [&known, bytes = options.element_bytes](const Problem& problem) {
      return time_on(*known, problem, bytes);
    };
  }
  Progress progress(stderr_of_this());
  options.progress = [&progress](Size done, Size total) { progress.update("plan", done, total); };
  const auto report = array::choose(statements, options);
  if (!report) {
    const bool no = report.error().code == Code::infeasible;
    return no ? failed(Exit::no, report.error()) : failed(report.error());
  }
  return {.exit = Exit::yes,
          .out = arguments.json ? report_json(*report, *devices, known)
                                : report_text(*report, known, arguments.memory_limit.has_value())};
}

Outcome work_on(const PartitionArguments& arguments) {
  const auto text = read_text(*arguments.file, "FILE");
  if (!text) return failed(text.error());
  const text::Input input = {*text, *arguments.file, true};
  auto statements = array::read_statements(input);
  if (!statements) return failed(statements.error());
  if (arguments.choose) return choose(arguments, *statements);
  const std::string given = arguments.schedule.value_or("");
  const text::Input option = {given, "--schedule", false};
  if (arguments.schedule) {
    auto schedules = array::read_schedules(option);
    if (!schedules) return failed(schedules.error());
    statements->schedules = *std::move(schedules);
  }
  auto module = array::partition(*statements);
  if (!module) return failed(module.error());
  return {.exit = Exit::yes, .out = *std::move(module)};
}

class PartitionVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "partition"; }
  [[nodiscard]] std::string summary() const override {
    return "cut statements on arrays among devices";
  }
  [[nodiscard]] std::string footer() const override { return partition_footer; }
  void add_options(OptionList& options) override {
    options.text("FILE", given_.file, "statements, retile.array/1, or - for standard input",
                 "FILE");
    options.text("--schedule", given_.schedule,
                 "into how many pieces variables are cut, such as h=i:2,j:2;y=i:2,k:2, instead of "
                 "those in FILE",
                 "SCHEDULES");
    options.flag("--choose", given_.choose, "the cheapest schedule, and the second best");
    options.text("--devices", given_.devices, "of --choose: how many devices", "N");
    options.text("--memory-limit", given_.memory_limit,
                 "of --choose: most bytes of the local inputs of all statements; B, KiB, MiB, GiB, "
                 "TiB, kB, MB, GB, TB",
                 "BYTES");
    options.text(
        "--repeat", given_.repeat,
        "of --choose: cheap statements may be done by several devices, as long as that adds at "
        "most so many percent to a device's work (default: 0)",
        "PERCENT");
    options.text("--dtype", given_.dtype, std::string(element_type_help), "TYPE");
    options.text("--network", given_.network,
                 "of --choose: the schedule whose redistributions take the least time: links as "
                 "'8:450GB/s:5us,*:50GB/s:15us', by groups of successive devices; or a file",
                 "LINKS");
    options.flag("--json", given_.json, "of --choose: print one JSON object, retile.choice/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (!given_.file) return Complaint{"FILE is missing"};
    if (given_.choose && !given_.devices) return Complaint{"--choose needs --devices"};
    if (given_.choose && given_.schedule) {
      return Complaint{"--choose finds the schedule that --schedule says"};
    }
    if (!given_.choose && (given_.devices || given_.memory_limit || given_.dtype || given_.repeat ||
                           given_.network || given_.json)) {
      return Complaint{
          "--devices, --memory-limit, --repeat, --dtype, --network and --json are for --choose"};
    }
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  PartitionArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_partition_verb() { return std::make_unique<PartitionVerb>(); }

}  // namespace retile::cli
