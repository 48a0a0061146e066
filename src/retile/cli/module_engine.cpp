#include "retile/cli/module_engine.h"

#include <fmt/format.h>

#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/cli/run_module.h"
#include "retile/core/names.h"
#include "retile/report/sentences.h"
#include "retile/spmd/run/run.h"

namespace retile::cli {

namespace {

std::string returned_name(const spmd::Module& module, std::size_t number) {
  return module.values[module.returned[number].value].name;
}

std::string report_text(const spmd::Module& module, const spmd::RunReport& report) {
  std::string out;
  if (report.difference) {
    const auto& [returned, device, element, expected, found] = *report.difference;
    out = fmt::format("wrong: device {} holds {} at element {}{}, denotes says {}\n", device, found,
                      report::shape_text(element),
                      module.returned.size() > 1 ? " of " + returned_name(module, returned) : "",
                      expected);
  } else {
    out = fmt::format("right: {} compared on {}{}\n", counted(report.compared, "element"),
                      counted(module.devices, "device"),
                      report.tolerance > 0 ? fmt::format(", none off by more than rounding, {:.1e}",
                                                         report.tolerance)
                                           : "");
  }
  out += fmt::format("{}, which brought a device up to {} bytes\n",
                     counted(report.moves, "redistribution"), report.received_bytes);
  out += fmt::format(
      "{:.6f} s, of them {:.6f} s in redistributions; made ready in {:.6f} s; peak {} bytes\n",
      report.seconds, report.moving_seconds, report.making_seconds, report.peak_bytes);
  return out;
}

std::string report_json(const spmd::Module& module, const spmd::RunReport& report) {
  Json out;
  out["schema"] = "retile.module-run/1";
  out["right"] = !report.difference;
  out["devices"] = module.devices;
  out["compared"] = report.compared;
  out["tolerance"] = report.tolerance;
  out["difference"] = nullptr;
  if (report.difference) {
    out["difference"] = {{"returned", returned_name(module, report.difference->returned)},
                         {"device", report.difference->device},
                         {"element", report.difference->element},
                         {"expected", report.difference->expected},
                         {"found", report.difference->found}};
  }
  out["redistributions"] = report.moves;
  out["received_bytes"] = report.received_bytes;
  out["seconds"] = report.seconds;
  out["moving_seconds"] = report.moving_seconds;
  out["making_seconds"] = report.making_seconds;
  out["peak_bytes"] = report.peak_bytes;
  return out.dump();
}

/// What is refused of numbers in files points at the option that names them.
Diagnostic of_input(Diagnostic problem, const std::string& pattern) {
  if (pattern.empty() || problem.code != Code::unsupported || !problem.source.empty())
    return problem;
  problem.source = "--input";
  problem.input = pattern;
  problem.where = {0, pattern.size()};
  return problem;
}

}  // namespace

Outcome run_module(const Processes& processes, const ModuleRequest& request,
                   const MakeMover& make) {
  const auto routes =
      spmd::routes_of(request.module, {.timeout_seconds = time_limit().seconds_left()});
  if (!routes) return failed(routes.error());
  lift_memory_limit();
  const ElementType type = request.values.data.type.value_or(ElementType{});
  const auto report = spmd::run(processes, request.module, *routes, type, make,
                                {request.values.data.input, request.values.data.output});
  if (!report) return failed(of_input(report.error(), request.values.data.input));
  return {.exit = report->difference ? Exit::no : Exit::yes,
          .out = request.values.json ? report_json(request.module, *report) + "\n"
                                     : report_text(request.module, *report)};
}

}  // namespace retile::cli
