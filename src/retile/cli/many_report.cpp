// What is said of many arrays: text, JSON, exit code.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/many.h"
#include "retile/cli/network.h"
#include "retile/cli/progress.h"
#include "retile/cli/report.h"
#include "retile/core/names.h"
#include "retile/many/nodes.h"
#include "retile/many/rank.h"
#include "retile/report/sentences.h"

namespace retile::cli {
namespace {

using many::Arrays;
using many::Kind;
using many::Schedule;
using many::Sums;

constexpr std::string_view many_schema = "retile.many/1";

/// What is summed over arrays: how it is called in JSON and in words.
struct Sum {
  std::string_view key;
  std::string_view words;
  Size Sums::*value;
  bool moves = false;  ///< known where boxes could be counted
  bool nodes = false;  ///< asked for with the size of a node
};
constexpr std::array<Sum, 6> sum_rows = {
    {{"from_bytes", "held at the start", &Sums::from},
     {"to_bytes", "held at the end", &Sums::to},
     {"peak_bytes", "held at once", &Sums::peak},
     {"received_bytes", "received", &Sums::received, true},
     {"sent_bytes", "sent", &Sums::sent, true},
     {"crossed_bytes", "from other nodes", &Sums::crossed, true, true}}};

std::vector<Sum> rows_of(const Schedule& schedule) {
  std::vector<Sum> out(sum_rows.begin(), sum_rows.end());
  std::erase_if(out, [&](const Sum& row) { return row.nodes && schedule.node_devices == 0; });
  return out;
}

/// The device with the most, the lowest of several.
std::size_t most_of(const Schedule& schedule, Size Sums::*value) {
  const auto most =
      std::max_element(schedule.sums.begin(), schedule.sums.end(),
                       [value](const Sums& a, const Sums& b) { return a.*value < b.*value; });
  return static_cast<std::size_t>(most - schedule.sums.begin());
}

/// Over all devices; nothing: more than 2^63 - 1.
std::optional<Size> sum_of(const Schedule& schedule, Size Sums::*value) {
  std::optional<Size> out = 0;
  for (const Sums& sums : schedule.sums) out = out ? checked_add(*out, sums.*value) : out;
  return out;
}

std::string_view instead_text(const many::Way& way) {
  if (way.node_devices > 0) return "exchanges to the nodes and inside them in the place of ";
  return way.direct ? "exchange in the place of " : "";
}

/// The steps that a network has take the place of a plan's, and what they take.
std::string timed_line(const many::Way& way, const network::NetworkPlan& plan) {
  std::string line = way.program ? "" : plan_line(way.plan);
  if (way.program) {
    Size height = way.program->from.tile_size();
    for (const Step& step : way.program->steps) {
      line += fmt::format("{}{}", line.empty() ? "" : ", ", op_name(step));
      height = std::max(height, checked_product(*step.claims.tile).value_or(height));
    }
    line += fmt::format("; height {}", height);
  }
  std::string out = fmt::format("{}; time {}", line, time_text(plan.time));
  if (plan.time < plan.usual_time) {
    out += fmt::format(", and {} with the fewest elements", time_text(plan.usual_time));
  }
  return out;
}

std::string kinds_text(const Arrays& arrays, const Schedule& schedule,
                       const std::vector<TimedKind>& timed) {
  std::string out;
  for (std::size_t k = 0; k < arrays.kinds.size(); ++k) {
    const many::Way& way = schedule.ways[k];
    const bool is_timed = !timed.empty() && !way.is_exchange();
    out += fmt::format("{}: {}{}\n", arrays_text(arrays, arrays.kinds[k]), instead_text(way),
                       is_timed ? timed_line(way, timed[k].plan) : plan_line(way.plan));
  }
  return out;
}

}  // namespace

std::string name_and_more(std::string_view name, std::size_t count) {
  std::string out = clean(shortened(name));
  if (count > 1) out += fmt::format(" and {} more", count - 1);
  return out;
}

std::string arrays_text(const Arrays& arrays, const Kind& kind) {
  return name_and_more(arrays.names[kind.arrays.front()], kind.arrays.size());
}

std::string totals_text(const Arrays& arrays, const Schedule& schedule, bool is_counted) {
  std::string out =
      fmt::format("{} of {}, {}, {}\n", counted(arrays.names.size(), "array"),
                  counted(arrays.kinds.size(), "kind"), counted(schedule.devices.size(), "device"),
                  counted(schedule.rounds.size(), "round"));
  for (const Sum& row : rows_of(schedule)) {
    if (row.moves && !is_counted) {
      out += fmt::format("{:<18} not counted: more than 2^24 boxes\n", row.words);
      continue;
    }
    const std::size_t most = most_of(schedule, row.value);
    const auto total = sum_of(schedule, row.value);
    out += fmt::format("{:<18} at most {} on a device, first on {}{}\n", row.words,
                       bytes_text(schedule.sums[most].*row.value), schedule.devices[most],
                       row.moves && total ? fmt::format("; {} in all", bytes_text(*total)) : "");
  }
  return out;
}

namespace {

Json number_or_null(bool known, const std::optional<Size>& number) {
  return known && number ? Json(*number) : Json(nullptr);
}

Json total_json(const Schedule& schedule, bool is_counted) {
  Json out;
  for (const Sum& row : rows_of(schedule)) {
    const bool known = !row.moves || is_counted;
    const std::size_t most = most_of(schedule, row.value);
    out[std::string(row.key)] = {{"all", number_or_null(known, sum_of(schedule, row.value))},
                                 {"most", number_or_null(known, schedule.sums[most].*row.value)},
                                 {"device", number_or_null(known, schedule.devices[most])}};
  }
  return out;
}

/// Devices that follow each other and have the same sums are one object.
Json devices_json(const Schedule& schedule, bool is_counted) {
  const std::vector<Sum> rows = rows_of(schedule);
  Json out = Json::array();
  for (std::size_t begin = 0, end = 0; begin < schedule.devices.size(); begin = end) {
    for (end = begin + 1; end < schedule.devices.size(); ++end) {
      if (!(schedule.sums[end] == schedule.sums[begin]) ||
          schedule.devices[end] != schedule.devices[end - 1] + 1) {
        break;
      }
    }
    Json object{{"first", schedule.devices[begin]}, {"last", schedule.devices[end - 1]}};
    for (const Sum& row : rows) {
      object[std::string(row.key)] =
          number_or_null(!row.moves || is_counted, schedule.sums[begin].*row.value);
    }
    out.push_back(std::move(object));
  }
  return out;
}

/// Of every array its name, kind and round, in the order of the file.
Json arrays_json(const Arrays& arrays, const Schedule& schedule) {
  std::vector<std::array<std::size_t, 2>> found(arrays.names.size());
  for (std::size_t round = 0; round < schedule.rounds.size(); ++round) {
    for (const many::Share& share : schedule.rounds[round]) {
      for (std::size_t n = share.begin; n < share.end; ++n) {
        found[arrays.kinds[share.kind].arrays[n]] = {share.kind, round};
      }
    }
  }
  Json out = Json::array();
  for (std::size_t a = 0; a < found.size(); ++a) {
    out.push_back({{"name", arrays.names[a]}, {"kind", found[a][0]}, {"round", found[a][1]}});
  }
  return out;
}

Json kinds_json(const Arrays& arrays, const Schedule& schedule,
                const std::vector<TimedKind>& timed) {
  Json out = Json::array();
  for (std::size_t k = 0; k < arrays.kinds.size(); ++k) {
    const Kind& kind = arrays.kinds[k];
    Json object{{"arrays", kind.arrays.size()},
                {"shape", kind.problem.from.global()},
                {"element_bytes", kind.element_bytes},
                {"direct", schedule.ways[k].direct}};
    if (schedule.node_devices > 0) object["by_nodes"] = schedule.ways[k].node_devices > 0;
    object["plan"] = plan_object(schedule.ways[k].plan);
    if (!timed.empty() && !schedule.ways[k].is_exchange()) {
      object["network"] = network_object(timed[k].plan, timed[k].network);
    }
    out.push_back(std::move(object));
  }
  return out;
}

Outcome unscheduled(const ReadArrays& read, const many::Unscheduled& failure,
                    const PlanOptions& options, bool json) {
  const std::string kind =
      failure.kind ? arrays_text(read.arrays, read.arrays.kinds[*failure.kind]) : "";
  if (failure.why.code != Code::infeasible) {
    Diagnostic why = failure.why;
    if (!kind.empty()) why.notes.push_back("the array is " + kind);
    return failed(std::move(why));
  }
  if (json) {
    Json object{{"schema", many_schema}, {"feasible", false}};
    if (failure.kind) {
      object["array"] = read.arrays.names[read.arrays.kinds[*failure.kind].arrays.front()];
      object["reason"] = failure.why.message;
    } else {
      object["limit_bytes"] = *options.memory_limit_bytes;
      object["smallest_feasible_bytes"] = or_null(failure.least_bytes);
    }
    return {.exit = Exit::no, .out = line_of(object)};
  }
  if (failure.kind) {
    return {.exit = Exit::no, .out = fmt::format("{}: {}\n", kind, failure.why.message)};
  }
  const std::string least =
      failure.least_bytes ? fmt::format("; the least that suffices is {}", *failure.least_bytes)
                          : "";
  return {.exit = Exit::no,
          .out = fmt::format("no order of the arrays holds at most {} bytes per device{}\n",
                             *options.memory_limit_bytes, least)};
}

/// Has arrays go by nodes where that is asked for; why they cannot.
std::optional<Outcome> routed(const ReadArrays& read, Schedule& schedule,
                              const std::optional<std::string>& node) {
  if (!node) return std::nullopt;
  const auto devices = parse_count(*node, "--node", 1, max_devices);
  if (!devices) return failed(devices.error());
  const auto done = many::route_by_nodes(read.arrays, schedule, *devices);
  return done ? std::nullopt : std::optional(failed(done.error()));
}

}  // namespace

tl::expected<Schedule, Outcome> scheduled(const ReadArrays& read, const ManyQuestion& question,
                                          std::vector<TimedKind>* timed) {
  Progress progress(stderr_of_this());
  many::Instead instead;
  Links links;
  if (question.network) {
    auto given = read_links(*question.network);
    if (!given) return tl::unexpected(failed(std::move(given.error())));
    links = *std::move(given);
    instead = [&](const Kind& kind, const PlanOptions& options) -> Result<std::optional<Program>> {
      auto network = read_network(links, kind.problem);
      if (!network) return refuse(std::move(network.error()));
      auto made = network::plan(kind.problem, *network, options);
      if (!made) return refuse(std::move(made.error()));
      std::optional<Program> faster;
      if (made->time < made->usual_time) faster = made->program;
      if (timed != nullptr) timed->push_back({*std::move(network), *std::move(made)});
      return faster;
    };
  }
  auto out = many::schedule(
      read.arrays, question.options,
      [&progress](Size done, Size total) { progress.update("plan", done, total); }, instead);
  if (out) return *std::move(out);
  return tl::unexpected(unscheduled(read, out.error(), question.options, question.json));
}

tl::expected<bool, Outcome> counted_traffic(const ReadArrays& read, Schedule& schedule) {
  const auto out = many::count_traffic(read.arrays, schedule);
  if (out) return *out;
  return tl::unexpected(unscheduled(read, out.error(), {}, false));
}

Outcome plan_of_many(const ReadArrays& read, const ManyQuestion& question) {
  std::vector<TimedKind> timed;
  auto schedule = scheduled(read, question, &timed);
  if (!schedule) return schedule.error();
  if (auto failure = routed(read, *schedule, question.node)) return *std::move(failure);
  const auto is_counted = counted_traffic(read, *schedule);
  if (!is_counted) return is_counted.error();
  if (!question.json) {
    return {.out = kinds_text(read.arrays, *schedule, timed) +
                   totals_text(read.arrays, *schedule, *is_counted)};
  }
  Json object;
  object["schema"] = many_schema;
  object["arrays"] = arrays_json(read.arrays, *schedule);
  object["kinds"] = kinds_json(read.arrays, *schedule, timed);
  object["rounds"] = schedule->rounds.size();
  object["total"] = total_json(*schedule, *is_counted);
  object["devices"] = devices_json(*schedule, *is_counted);
  return {.out = line_of(object)};
}

// ---- One device ---------------------------------------------------------------------------------

namespace {

/// A box as Programs write it, with the numbers that devices are called by.
std::vector<Size> numbered_row(const Transfer& box, const DeviceNumbers& numbers) {
  std::vector<Size> row = row_of(box);
  row[0] = numbers.of(box.target);
  row[1] = numbers.of(box.source);
  return row;
}

/// The steps of the device that is called `rank`, of one kind; none where it has no part in it.
Result<std::vector<many::OwnStep>> steps_of(const Kind& kind, const many::Way& way, Size rank) {
  const DeviceNumbers& numbers = kind.problem.numbers;
  std::optional<Size> place = numbers.place_of(rank);
  if (!numbers.are_listed() && rank >= kind.problem.from.devices()) place.reset();
  if (!place) return std::vector<many::OwnStep>();
  return many::own_steps(way, kind.problem, *place);
}

Json own_step_json(const many::OwnStep& step, const DeviceNumbers& numbers) {
  Json out{{"op", step.name}, {"before", step.before}, {"after", step.after}, {"adds", step.adds}};
  for (const auto& [key, boxes] :
       {std::pair("receives", &step.received), std::pair("sends", &step.sent)}) {
    out[key] = Json::array();
    for (const Transfer& box : *boxes) out[key].push_back(numbered_row(box, numbers));
  }
  return out;
}

std::string own_step_text(const many::OwnStep& step, const DeviceNumbers& numbers) {
  std::string out =
      fmt::format("  {} before=[{}] after=[{}]{}\n", step.name, fmt::join(step.before, ","),
                  fmt::join(step.after, ","), step.adds ? " adds" : "");
  for (const auto& [word, boxes] :
       {std::pair("receive", &step.received), std::pair("send", &step.sent)}) {
    for (const Transfer& box : *boxes) {
      out += fmt::format("    {} [{}]\n", word, fmt::join(numbered_row(box, numbers), ","));
    }
  }
  return out;
}

Json own_kind_json(const Kind& kind, const std::vector<many::OwnStep>& steps) {
  Json list = Json::array();
  for (const many::OwnStep& step : steps) {
    list.push_back(own_step_json(step, kind.problem.numbers));
  }
  return {{"shape", kind.problem.from.global()},
          {"element_bytes", kind.element_bytes},
          {"steps", std::move(list)}};
}

std::string own_kind_text(const Arrays& arrays, std::size_t number,
                          const std::vector<many::OwnStep>& steps) {
  const Kind& kind = arrays.kinds[number];
  std::string out =
      fmt::format("kind {}: {}, [{}] of {} bytes\n", number, arrays_text(arrays, kind),
                  fmt::join(kind.problem.from.global(), ", "), kind.element_bytes);
  for (const many::OwnStep& step : steps) out += own_step_text(step, kind.problem.numbers);
  return out;
}

std::string rounds_text(const Schedule& schedule) {
  std::string out;
  for (std::size_t round = 0; round < schedule.rounds.size(); ++round) {
    out += fmt::format("round {}:", round);
    for (const many::Share& share : schedule.rounds[round]) {
      out += fmt::format(" {} of kind {}{}", share.end - share.begin, share.kind,
                         &share == &schedule.rounds[round].back() ? "\n" : ",");
    }
  }
  return out;
}

}  // namespace

Outcome rank_outcome(const ReadArrays& read, const ManyQuestion& question, Size rank) {
  const bool json = question.json;
  auto schedule = scheduled(read, question);
  if (!schedule) return schedule.error();
  if (auto failure = routed(read, *schedule, question.node)) return *std::move(failure);
  if (!std::binary_search(schedule->devices.begin(), schedule->devices.end(), rank)) {
    return failed(about_argument(Code::bad_device, "--rank", fmt::format("{}", rank),
                                 "no array is on this device at either end"));
  }
  const Arrays& arrays = read.arrays;
  Json kinds = Json::array();
  std::string text =
      json ? ""
           : fmt::format("rank {}: {} of {}, {}\n", rank, counted(arrays.names.size(), "array"),
                         counted(arrays.kinds.size(), "kind"),
                         counted(schedule->rounds.size(), "round")) +
                 rounds_text(*schedule);
  for (std::size_t k = 0; k < arrays.kinds.size(); ++k) {
    const auto steps = steps_of(arrays.kinds[k], schedule->ways[k], rank);
    if (!steps) return failed(steps.error());
    if (json) {
      kinds.push_back(own_kind_json(arrays.kinds[k], *steps));
    } else {
      text += own_kind_text(arrays, k, *steps);
    }
  }
  if (!json) return {.out = std::move(text)};
  Json object{{"schema", "retile.rank/1"}, {"rank", rank}};
  object["arrays"] = arrays_json(arrays, *schedule);
  object["rounds"] = schedule->rounds.size();
  object["kinds"] = std::move(kinds);
  return {.out = line_of(object)};
}

}  // namespace retile::cli
