#include "retile/cli/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "retile/cli/common.h"
#include "retile/network/read.h"
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

std::string time_text(Size picoseconds) {
  if (picoseconds == 0) return "0 s";
  return scaled(picoseconds, {"ps", "ns", "us", "ms", "s"});
}
std::string amount_text(Size bytes) { return scaled(bytes, {"B", "kB", "MB", "GB", "TB", "PB"}); }

/// What goes over each link, from the outside in.
std::string traffic_text(const std::vector<Size>& bytes, const network::Network& network) {
  std::string out;
  for (std::size_t l = bytes.size(); l-- > 0;) {
    if (bytes[l] == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", network.levels()[l].name,
                       amount_text(bytes[l]));
  }
  return out.empty() ? "nothing" : out;
}

std::string timed_text(const network::NetworkPlan& plan, const network::Network& network) {
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

Json timed_object(const network::NetworkPlan& plan, const network::Network& network) {
  Json out{{"schema", "retile.network/1"}};
  Json levels = Json::array();
  for (const network::Level& level : network.levels()) {
    levels.push_back({{"name", level.name},
                      {"bytes_per_second", level.link.bytes_per_second},
                      {"latency_ps", level.link.latency}});
  }
  out["levels"] = std::move(levels);
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

}  // namespace

Result<network::Network> read_network(const std::string& text, const Problem& problem) {
  const bool named = problem.spelling && problem.spelling->in_order();
  const Mesh mesh = named ? problem.spelling->mesh : Mesh{};
  const Size devices = problem.from.devices();
  const auto unnumbered = [&](Result<network::Network> read) -> Result<network::Network> {
    // Groups are of numbers, and the levels of a network of places.
    if (!read || !problem.numbers.are_listed()) return read;
    for (const network::Level& level : read->levels()) {
      if (level.name.find_first_of("0123456789") == 0) {
        return refuse(about_argument(Code::unsupported, "--network", text,
                                     "devices of listed numbers are no groups of successive ones",
                                     {"name the axes of the mesh"}));
      }
    }
    return read;
  };
  if (text.find(':') != std::string::npos) {
    return unnumbered(network::read_network(text, "--network", mesh, devices));
  }
  const Result<std::string> file = read_text(text, "--network");
  if (!file) return refuse(file.error());
  return unnumbered(
      network::read_network(*file, text == "-" ? "stdin" : text, mesh, devices, true));
}

Outcome network_outcome(const network::NetworkPlan& plan, const network::Network& network,
                        bool json) {
  return {.exit = Exit::yes,
          .out = json ? timed_object(plan, network).dump() + "\n" : timed_text(plan, network)};
}

}  // namespace retile::cli
