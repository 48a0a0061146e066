// `retile run` in the processes of a job, and how it starts one.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "retile/cli/launch.h"
#include "retile/cli/run.h"

namespace retile::cli {

int largest(const Processes& processes, int code) {
  auto number = static_cast<std::uint64_t>(code);
  processes.maximum(std::span(&number, 1));
  return static_cast<int>(number);
}

Outcome told_by_first(const Processes& processes, Outcome outcome) {
  if (!processes.is_first()) outcome = {.exit = outcome.exit};
  return outcome;
}

tl::expected<RunRequest, Outcome> RunVerb::prepare_together(const Processes& processes) const {
  const bool first = processes.is_first();
  tl::expected<RunRequest, Outcome> request = tl::unexpected(Outcome{});
  if (first) {
    request = Preparation(given_, {.processes = processes.processes(),
                                   .trusting = std::getenv(launched_variable) != nullptr})
                  .request();
  }
  const bool refused = first && !request;
  const int code = largest(processes, refused ? static_cast<int>(request.error().exit) : 0);
  // The Program goes to all as the text that it came in. The other values are in the command line.
  std::string text = processes.broadcast(request ? request->program_text : "", 0);
  if (first) return request;
  if (text.empty()) return tl::unexpected<Outcome>({.exit = static_cast<Exit>(code)});
  return Preparation(given_, {.trusting = true, .program_text = std::move(text)}).request();
}

Outcome RunVerb::work_in_job(const Job& job) const {
  if (given_.many) return work_on_many_in_job(job);
  if (is_module()) return work_on_module_in_job(job);
  const Processes& processes = job.processes;
  auto request = prepare_together(processes);
  if (!request) return told_by_first(processes, request.error());
  const auto make = request->backend == Backend::cuda ? job.device : job.host;
  Outcome outcome = run_on(processes, *request, [&](const ElementType& type) {
    request->how.element_type = type;
    return make(processes, request->program, type.bytes, request->how);
  });
  outcome.words = request->words + outcome.words;
  return told_by_first(processes, std::move(outcome));
}

Outcome RunVerb::work_in_started_job(const RunRequest& request) const {
  // `--option=value` and not two words: mpirun reads a lone `:` as the start of another command.
  std::vector<std::string> words = {
      "run", request.backend == Backend::cuda ? "--backend=cuda" : "--backend=mpi", "--program=-",
      fmt::format("-n{}", request.program.devices)};
  for (const auto& [name, value] :
       {std::pair("--dtype=", &given_.dtype), std::pair("--repeat=", &given_.repeat),
        std::pair("--memory-limit=", &given_.memory_limit),
        std::pair("--strategy=", &given_.strategy)}) {
    if (*value) words.push_back(name + **value);
  }
  for (const auto& [option, path] : given_.files()) {
    if (*path) words.push_back(fmt::format("{}={}", option, **path));
  }
  if (given_.collectives && !given_.strategy) words.emplace_back("--strategy=collectives");
  if (request.explain) words.emplace_back("--explain");
  if (request.json) words.emplace_back("--json");
  return launch(request.program.devices, words, request.program_text);
}

}  // namespace retile::cli
