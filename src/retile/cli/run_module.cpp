// retile run FILE: a module on processes, every element of the result compared.
#include "retile/cli/run_module.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "retile/cli/built.h"
#include "retile/cli/launch.h"
#include "retile/cli/run.h"
#include "retile/exec/npy/npy.h"
#include "retile/exec/sim/executor.h"
#include "retile/run/files.h"

namespace retile::cli {

namespace {

/// What the files of all parameters hold.
Result<ElementType> type_of_inputs(const ModuleRequest& request) {
  std::vector<run::NamedArray> arrays;
  for (std::size_t x = 0; x < request.module.parameters; ++x) {
    const spmd::Value& value = request.module.values[x];
    arrays.push_back({value.name, value.type.layout().global(), value.below.has_value()});
  }
  const run::RunOptions& data = request.values.data;
  const auto files = run::open_inputs(arrays, data.input, data.type);
  if (!files) return refuse(files.error());
  return files->empty() ? data.type.value_or(ElementType{})
                        : run::first_of(arrays, *files).header().type;
}

}  // namespace

Result<ModuleRequest> read_module_request(std::string text, const std::string& source) {
  ModuleRequest out;
  out.source = std::make_unique<ModuleText>();
  out.source->text = std::move(text);
  out.source->input = {out.source->text, source, true};
  auto module = spmd::read_module(out.source->input);
  if (!module) return refuse(module.error());
  out.module = *std::move(module);
  return out;
}

bool RunVerb::is_module() const {
  const ProblemArguments& problem = given_.problem;
  return problem.from && !problem.to && !problem.mesh && !given_.program &&
         problem.from->find_first_of("[{(<") == std::string::npos;
}

std::optional<Complaint> RunVerb::settle_module() const {
  if (given_.input_tiles || given_.output_tiles || given_.repeat || given_.collectives ||
      given_.explain) {
    return Complaint{"a module's parameters and result are whole arrays, and it runs once",
                     {"of the options it takes -n, --backend, --dtype, --strategy, --memory-limit, "
                      "--input, --output, --timeout and --json"}};
  }
  if (given_.output && !given_.input) {
    return Complaint{
        "a module makes its own parameters, and what it returns for them is not written",
        {"--input 'folder/{}.npy' takes those of files"}};
  }
  return std::nullopt;
}

tl::expected<ModuleRequest, Outcome> RunVerb::module_request(const Place& place) const {
  const std::string& path = *given_.problem.from;
  Result<std::string> text = place.program_text ? *place.program_text : read_text(path, "FILE");
  if (!text) return tl::unexpected(failed(text.error()));
  auto request = read_module_request(*std::move(text), place.program_text ? "process 0"
                                                       : path == "-"      ? "stdin"
                                                                          : path);
  if (!request) return tl::unexpected(failed(request.error()));
  auto values = Preparation(given_, place).values(request->module.devices);
  if (!values) return tl::unexpected(values.error());
  request->values = *std::move(values);
  if (!request->values.data.input.empty() && !place.program_text) {
    const auto type = type_of_inputs(*request);
    if (!type) return tl::unexpected(failed(Exit::usage, type.error()));
    request->values.data.type = *type;
  }
  if (request->values.backend != Backend::cuda) return *std::move(request);
  return tl::unexpected(
      failed(Exit::usage, {.code = Code::unsupported,
                           .message = "modules are not run on GPUs",
                           .notes = {"--backend mpi and --backend sim take them"}}));
}

Outcome RunVerb::work_on_module() const {
  const auto request = module_request({});
  if (!request) return request.error();
  if (request->values.backend == Backend::sim) {
    const ElementType type = request->values.data.type.value_or(ElementType{});
    return modules_(OneProcess(), *request,
                    [&type](const Program& program) { return sim::make_executor(program, type); });
  }
  if (!mpi_is_built) return not_built(std::string(without_mpi));
  std::vector<std::string> words = {"run", "-", "--backend=mpi",
                                    fmt::format("-n{}", request->module.devices)};
  for (const auto& [name, value] :
       {std::pair("--dtype=", &given_.dtype), std::pair("--memory-limit=", &given_.memory_limit),
        std::pair("--strategy=", &given_.strategy), std::pair("--input=", &given_.input),
        std::pair("--output=", &given_.output)}) {
    if (*value) words.push_back(name + **value);
  }
  if (given_.json) words.emplace_back("--json");
  return launch(request->module.devices, words, request->source->text);
}

Outcome RunVerb::work_on_module_in_job(const Job& job) const {
  const Processes& processes = job.processes;
  const bool first = processes.is_first();
  tl::expected<ModuleRequest, Outcome> request = tl::unexpected(Outcome{});
  if (first) {
    request = module_request({.processes = processes.processes(),
                              .trusting = std::getenv(launched_variable) != nullptr});
  }
  std::uint64_t code = first && !request ? static_cast<std::uint64_t>(request.error().exit) : 0;
  code = processes.broadcast(code, 0);
  const std::string text = processes.broadcast(first && request ? request->source->text : "", 0);
  if (first && !request) return request.error();
  if (text.empty()) return {.exit = static_cast<Exit>(code)};
  // Process 0 has looked what files hold; whether all see them is known when they open them.
  const std::string descr = processes.broadcast(
      first && request->values.data.type ? npy_descr(*request->values.data.type) : "", 0);
  if (!first) request = module_request({.trusting = true, .program_text = text});
  if (!request)
    return request.error();  // on all processes but the first, which has read the same text
  if (!descr.empty()) request->values.data.type = *npy_element_type(descr);
  const ElementType type = request->values.data.type.value_or(ElementType{});
  request->values.how.element_type = type;
  const Outcome out = modules_(processes, *request, [&](const Program& program) {
    return job.host(processes, program, type.bytes, request->values.how);
  });
  return first ? out : Outcome{.exit = out.exit};
}

}  // namespace retile::cli
