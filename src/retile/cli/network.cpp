#include "retile/cli/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "retile/cli/common.h"
#include "retile/cli/printed.h"
#include "retile/core/names.h"
#include "retile/lower/lower.h"
#include "retile/network/read.h"
#include "retile/network/times.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/report/json.h"

namespace retile::cli {
namespace {

using report::Json;

/// Three digits and a unit of 1000.
std::string scaled(Size value, const std::vector<std::string_view>& units) {
  auto shown = static_cast<double>(value);
  std::size_t unit = 0;
  while (shown >= 999.5 && unit + 1 < units.size()) {
    shown /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} {}", value, units[0]);
  const int digits = shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", shown, digits, units[unit]);
}

}  // namespace

std::string time_text(Size picoseconds) {
  if (picoseconds == 0) return "0 s";
  return scaled(picoseconds, {"ps", "ns", "us", "ms", "s"});
}

namespace {

std::string amount_text(Size bytes) { return scaled(bytes, {"B", "kB", "MB", "GB", "TB", "PB"}); }

/// What goes over each link, from the outside in.
std::string traffic_text(const std::vector<Size>& bytes, const network::Network& network) {
  std::string out;
  for (std::size_t l = bytes.size(); l-- > 0;) {
    if (bytes[l] == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                       clean(shortened(network.levels()[l].name)), amount_text(bytes[l]));
  }
  return out.empty() ? "nothing" : out;
}

/// Every axis as a level of its own, the last one innermost, which carries an element in a picosecond.
std::optional<network::Network> network_of_axes(const Problem& problem) {
  if (!problem.spelling || !problem.spelling->in_order() || problem.spelling->mesh_to) {
    return std::nullopt;
  }
  const Mesh& mesh = problem.spelling->mesh;
  if (mesh.device_count() != problem.from.devices()) return std::nullopt;
  std::vector<network::Level> levels;
  for (auto axis = mesh.axes().rbegin(); axis != mesh.axes().rend(); ++axis) {
    if (axis->size > 1)
      levels.push_back({axis->name, {1'000'000'000'000, 0}, {*mesh.digit(axis->name)}});
  }
  if (levels.empty()) return std::nullopt;
  return network::Network(mesh.device_count(), std::move(levels));
}

/// Steps along several dimensions have their devices counted one by one.
constexpr Size most_tabled = Size{1} << 20;

/// A line of a table: what it is of, elements over each axis from the outside in, and what it takes.
struct Row {
  std::string label;
  std::vector<Size> elements;
  std::string time;
};

/// Lines of the steps, and one of all together.
std::optional<std::vector<Row>> rows_of(const Program& program,
                                        const std::vector<std::string>& labels,
                                        const std::string& all, const network::Network& axes,
                                        const network::Network* network, Size element_bytes) {
  const auto counted = network::times_of(program, axes, 1);
  if (!counted) return std::nullopt;
  std::vector<Row> out;
  Row sum{.label = all, .elements = std::vector<Size>(axes.levels().size(), 0), .time = ""};
  for (std::size_t k = 0; k < counted->size(); ++k) {
    const std::vector<Size>& bytes = (*counted)[k].bytes;
    out.push_back({labels[k], {bytes.rbegin(), bytes.rend()}, ""});
    for (std::size_t a = 0; a < bytes.size(); ++a) {
      const auto both = checked_add(sum.elements[a], out.back().elements[a]);
      if (!both) return std::nullopt;
      sum.elements[a] = *both;
    }
  }
  if (network != nullptr) {
    const auto times = network::times_of(program, *network, element_bytes);
    if (!times) return std::nullopt;
    const auto time = network::time_of(*times);
    if (!time) return std::nullopt;
    for (std::size_t k = 0; k < times->size(); ++k) out[k].time = time_text((*times)[k].time);
    sum.time = time_text(*time);
  }
  out.push_back(std::move(sum));
  return out;
}

}  // namespace

std::string network_text(const network::NetworkPlan& plan, const network::Network& network) {
  std::string out;
  std::vector<std::string> steps;
  std::size_t width = 0;
  const Mesh* const mesh = plan.program.mesh ? &*plan.program.mesh : nullptr;
  for (const Step& step : plan.program.steps) {
    Step bare = step;
    bare.claims = {};
    bare.claims.tile = step.claims.tile;
    steps.push_back(to_text(bare, mesh));
    width = std::max(width, steps.back().size());
  }
  for (std::size_t k = 0; k < steps.size(); ++k) {
    out += fmt::format("{:<{}}  {:>8}  {}\n", steps[k], std::min<std::size_t>(width, 90),
                       time_text(plan.steps[k].time), traffic_text(plan.steps[k].bytes, network));
  }
  if (steps.empty()) out += "nothing to do\n";
  out += fmt::format("time {}", time_text(plan.time));
  const auto& taken = plan.program.steps;
  if (plan.optimal && std::any_of(taken.begin(), taken.end(), over_dims)) {
    out += "; no steps along one dimension each take less\n";
  } else if (plan.optimal) {
    out += ", the least of steps along one dimension each\n";
  } else {
    out += ", not proved the least";
    if (plan.lower_bound > 0) out += ": at least " + time_text(plan.lower_bound);
    if (!plan.complete && plan.work > 0) out += "; the search stopped at its limit";
    out += "\n";
  }
  if (plan.time < plan.usual_time) {
    out += fmt::format("the plan with the fewest elements takes {}\n", time_text(plan.usual_time));
  }
  return out;
}

Json levels_json(const network::Network& network) {
  Json out = Json::array();
  for (const network::Level& level : network.levels()) {
    out.push_back({{"name", level.name},
                   {"bytes_per_second", level.link.bytes_per_second},
                   {"latency_ps", level.link.latency}});
  }
  return out;
}

Json network_object(const network::NetworkPlan& plan, const network::Network& network) {
  Json out{{"schema", network::network_schema}};
  out["levels"] = levels_json(network);
  Json steps = Json::array();
  for (const network::StepTime& step : plan.steps) {
    steps.push_back({{"time_ps", step.time}, {"bytes", step.bytes}});
  }
  out["steps"] = std::move(steps);
  out["time_ps"] = plan.time;
  out["lower_bound_ps"] = plan.lower_bound;
  out["optimal"] = plan.optimal;
  out["complete"] = plan.complete;
  out["fewest_elements_time_ps"] = plan.usual_time;
  out["program"] = Json::parse(to_json(plan.program));
  return out;
}

Result<Links> read_links(const std::string& option) {
  if (option.find(':') != std::string::npos) return Links{option, "--network", false};
  Result<std::string> file = read_text(option, "--network");
  if (!file) return refuse(std::move(file.error()));
  return Links{*std::move(file), option == "-" ? "stdin" : option, true};
}

Result<network::Network> read_network(const Links& links, const Mesh& mesh, Size devices) {
  return network::read_network(links.text, links.source, mesh, devices, links.in_lines);
}

Result<network::Network> read_network(const Links& links, const Problem& problem) {
  const bool named = problem.spelling && problem.spelling->in_order();
  auto read = read_network(links, named ? problem.spelling->mesh : Mesh{}, problem.from.devices());
  // Groups are of numbers, and the levels of a network of places.
  if (!read || !problem.numbers.are_listed()) return read;
  for (const network::Level& level : read->levels()) {
    if (level.name.find_first_of("0123456789") == 0) {
      return refuse(about_argument(Code::unsupported, "--network", links.text,
                                   "devices of listed numbers are no groups of successive ones",
                                   {"name the axes of the mesh"}));
    }
  }
  return read;
}

std::vector<std::string> bare_labels(const Program& program) {
  std::vector<std::string> out;
  const Mesh* const mesh = program.mesh ? &*program.mesh : nullptr;
  for (const Step& step : program.steps) {
    Step bare = step;
    bare.claims = {};
    out.push_back(to_text(bare, mesh));
  }
  return out;
}

std::string axes_text(const Problem& problem, const PlanOptions& options, const Program& program,
                      const std::vector<std::string>& labels, bool in_bytes,
                      const network::Network* network) {
  const auto axes = network_of_axes(problem);
  if (!axes || program.devices > most_tabled || program.steps.empty() ||
      labels.size() != program.steps.size())
    return "";
  const Size bytes = options.element_bytes;
  auto rows = rows_of(program, labels, "in all", *axes, network, bytes);
  if (!rows) return "";
  for (const auto& [cost, name] : {std::pair(CostModel::paper, "with the fewest elements"),
                                   std::pair(CostModel::bytes, "with the fewest bytes received")}) {
    PlanOptions others = options;
    others.cost_model = cost;
    const auto planned = plan(problem, others);
    const auto other = planned ? program_of(*planned) : refuse(planned.error());
    if (!other) continue;  // bytes are not counted of all tiles
    const auto all =
        rows_of(*other, std::vector<std::string>(other->steps.size()), name, *axes, network, bytes);
    if (all) rows->push_back(all->back());
  }
  std::vector<std::vector<std::string>> cells(1, {""});
  for (auto level = axes->levels().rbegin(); level != axes->levels().rend(); ++level) {
    cells[0].push_back(clean(shortened(level->name)));
  }
  if (network != nullptr) cells[0].emplace_back("time");
  for (const Row& row : *rows) {
    cells.push_back({row.label});
    for (const Size elements : row.elements) {
      const auto size = checked_mul(elements, bytes);
      cells.back().push_back(!in_bytes ? fmt::format("{}", elements)
                             : size    ? fmt::format("{} ({})", elements, *size)
                                       : fmt::format("{} (2^63 or more)", elements));
    }
    if (network != nullptr) cells.back().push_back(row.time);
  }
  std::string out = fmt::format("\nover each axis, in elements{} of the busiest device:\n",
                                in_bytes ? " (and bytes)" : "");
  out += columns_text(cells, FirstColumn::label, 2);
  return out;
}

Outcome network_outcome(const network::NetworkPlan& plan, const network::Network& network,
                        bool json) {
  return {.exit = Exit::yes,
          .out = json ? network_object(plan, network).dump() + "\n" : network_text(plan, network)};
}

}  // namespace retile::cli
