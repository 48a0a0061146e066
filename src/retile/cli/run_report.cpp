// What `retile run` says of a run: text, JSON, exit code.
#include <fmt/format.h>

#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/progress.h"
#include "retile/cli/run.h"
#include "retile/core/names.h"

namespace retile::cli {
namespace {

std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::mpi:
      return "mpi";
    case Backend::sim:
      return "sim";
    case Backend::cuda:
      return "cuda";
  }
  return {};
}

std::string report_json(const run::Report& report, const RunRequest& request) {
  Json json;
  json["schema"] = "retile.run/1";
  json["right"] = report.right;
  json["backend"] = name_of(request.backend);
  if (!report.way.empty()) json["strategy"] = report.way;
  if (request.explain && !report.reasons.empty()) json["reasons"] = report.reasons;
  json["processes"] = report.processes;
  json["repetitions"] = report.repetitions;
  json["elements_checked"] = report.elements_checked;
  json["seconds"] = report.seconds;
  json["bytes_per_process"] = report.bytes_per_process;
  json["peak_bytes_per_process"] = report.peak_bytes_per_process;
  json["peak_limit_bytes"] = report.peak_limit_bytes;
  json["resident_bytes"] = report.resident_bytes;
  json["bound_bytes"] = report.bound_bytes;
  return json.dump() + "\n";
}

std::string report_text(const run::Report& report, const RunRequest& request) {
  std::string text;
  if (report.right) {
    const std::string_view backend = name_of(request.backend);
    text = fmt::format(
        "right: {} compared on {} ({})\n", counted(report.elements_checked, "element"),
        report.processes == 1 ? "1 process" : fmt::format("{} processes", report.processes),
        report.way.empty() ? std::string(backend) : fmt::format("{}, {}", backend, report.way));
  } else {
    const run::Mismatch mismatch = report.mismatch.value_or(run::Mismatch{});
    text = fmt::format("wrong: process {} holds a wrong element at position {} of its tile\n",
                       mismatch.device, mismatch.local_index);
  }
  text += fmt::format("moved in {:.6f} s (median of {}); a process received at most {}\n",
                      report.seconds, report.repetitions, bytes_text(report.bytes_per_process));
  text +=
      fmt::format("memory per process: peak {} (limit {}), resident {}, larger end tile {}\n",
                  bytes_text(report.peak_bytes_per_process), bytes_text(report.peak_limit_bytes),
                  bytes_text(report.resident_bytes), bytes_text(report.bound_bytes));
  for (const std::string& reason : report.reasons) {
    if (request.explain) text += "  " + reason + "\n";
  }
  return text;
}

/// Where no way to run stays within the memory limit: the same object with one more value, or a text.
Outcome not_feasible(Size limit_bytes, const char* why, Json value, bool json, std::string text) {
  if (!json) return {.exit = Exit::no, .out = "not run: " + text};
  Json object;
  object["schema"] = "retile.run/1";
  object["feasible"] = false;
  object["limit_bytes"] = limit_bytes;
  object[why] = std::move(value);
  return {.exit = Exit::no, .out = object.dump() + "\n"};
}

Outcome over_limit(const Diagnostic& diagnostic, const RunRequest& request) {
  std::string text = diagnostic.message + "\n";
  for (const std::string& note : diagnostic.notes) text += "  " + note + "\n";
  return not_feasible(request.how.memory_limit_bytes.value_or(0), "reasons", diagnostic.notes,
                      request.json, std::move(text));
}

}  // namespace

Outcome over_limit(Size limit_bytes, std::optional<Size> resident_bytes, bool json) {
  const std::string held = resident_bytes ? counted(*resident_bytes, "byte") : "2^63 bytes or more";
  return not_feasible(limit_bytes, "resident_bytes",
                      resident_bytes ? Json(*resident_bytes) : Json(nullptr), json,
                      fmt::format("the Program holds {} per process, over the limit of {}\n", held,
                                  counted(limit_bytes, "byte")));
}

Outcome refusal_of(Diagnostic diagnostic, const RunRequest& request) {
  const bool cuda = request.backend == Backend::cuda;
  if (diagnostic.code == Code::infeasible) {
    if (cuda) {
      diagnostic.notes = {
          std::exchange(diagnostic.message, "no path on the GPUs stays within the memory limit")};
    }
    return over_limit(diagnostic, request);
  }
  if (!diagnostic.source.empty() && diagnostic.source == request.data.output &&
      diagnostic.code == Code::unsupported) {
    diagnostic.input = std::exchange(diagnostic.source, "--output");
    diagnostic.where = {0, diagnostic.input.size()};
    diagnostic.notes.emplace_back("--output-tiles writes a file for each device");
  }
  if (!request.data.input_tiles.empty() && !diagnostic.source.empty() && diagnostic.input.empty() &&
      diagnostic.code == Code::bad_file) {
    diagnostic.input = std::exchange(diagnostic.source, "--input-tiles");
    diagnostic.where = {0, diagnostic.input.size()};
  }
  // Files that cannot be written or read to their end are the environment's fault, and so is what a
  // machine without GPUs cannot do.
  const bool cannot = cuda && diagnostic.code == Code::unsupported;
  if (cannot && diagnostic.notes.empty()) {
    diagnostic.notes = {"--backend sim runs all devices in one process"};
  }
  const Exit exit =
      cannot || diagnostic.code == Code::file_error ? Exit::environment : exit_of(diagnostic);
  return failed(exit, std::move(diagnostic));
}

Outcome report_of(const Result<run::Report>& report, const RunRequest& request) {
  if (!report) return refusal_of(report.error(), request);
  return {.exit = report->right ? Exit::yes : Exit::no,
          .out = request.json ? report_json(*report, request) : report_text(*report, request)};
}

}  // namespace retile::cli
