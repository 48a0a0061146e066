// retile run: real bytes through a Program, every element compared.
#include "retile/cli/run.h"

#include <tuple>
#include <utility>

#include "retile/cli/beside.h"
#include "retile/cli/built.h"
#include "retile/cli/many.h"
#include "retile/cli/progress.h"
#include "retile/cli/signals.h"
#include "retile/exec/sim/executor.h"

namespace retile::cli {
namespace {

constexpr const char* run_footer = R"(
Device d of the mesh is process d. Without an input, an element's bytes are the low bytes of
splitmix64(its global index). Every element of the result is compared, always.

Instead of --mesh, FROM and TO: a file with a module, retile.spmd/1, or - for stdin. Its parameters are
small integers, or arrays of --input files, in whose path {} is the name of a parameter. Every element of
what it returns is compared with what it denotes, and --output writes it.

Exit codes: 0 right, 1 the Program or the result is wrong, or over --memory-limit, 2 the input
cannot be read, 3 undecided: a limit was reached, 4 the environment failed.

Examples:
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]'
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]' -n 4 --dtype f64 --repeat 10 --json
  retile run --program sequence.txt --input a.npy --output b.npy
  retile run --mesh a:4 '[4{a}16]' '[4~{a}16]' --input-tiles 'in/{}.npy' --output-tiles 'out/{}.npy'
  retile run --mesh a:2,b:2 '[512{a}1024, 4096]' '[1024, 1024{b,a}4096]' --strategy inplace --explain
  retile run listing_3.spmd --backend sim
  retile run listing_3.spmd --input 'in/{}.npy' --output z.npy
  retile run --many parameters.jsonl --memory-limit 2GiB
  mpirun -n 4 retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]')";

Outcome run_simulated(RunRequest& request) {
  clean_up_on_signals();
  return run_on(OneProcess(), request, [&request](const ElementType& type) {
    return sim::make_executor(request.program, type);
  });
}

}  // namespace

Outcome not_built(std::string message) {
  return failed(Exit::environment, {.code = Code::unsupported,
                                    .message = std::move(message),
                                    .notes = {"--backend sim runs all devices in one process"}});
}

std::string RunVerb::footer() const { return run_footer; }

void RunVerb::add_options(OptionList& options) {
  given_.problem.add_options(options);
  options.text("--many", given_.many, std::string(many_help), "FILE");
  options.text("--program", given_.program, "a Program instead of --mesh FROM TO; - for stdin",
               "FILE");
  options.text("-n", given_.processes, "number of processes; it must be the number of devices",
               "N");
  options.text("--backend", given_.backend, "mpi (default), sim or cuda", "NAME");
  options.text("--dtype", given_.dtype, std::string(element_type_help), "TYPE");
  options.text("--input", given_.input,
               "read the array from a .npy file; of a module each parameter, whose name is {}",
               "FILE");
  options.text("--output", given_.output, "write the array to a .npy file", "FILE");
  options.text("--input-tiles", given_.input_tiles,
               "read the tile of each device from a .npy file of its own; {} is its number",
               "FILES");
  options.text("--output-tiles", given_.output_tiles,
               "write the tile of each device to a .npy file of its own", "FILES");
  options.text("--repeat", given_.repeat, "times to run; seconds are the median (default 1)", "R");
  options.text("--memory-limit", given_.memory_limit,
               "most bytes per process, tile before and after a step together; B, KiB, MiB, GiB, "
               "TiB, kB, MB, GB, TB",
               "BYTES");
  options.text("--strategy", given_.strategy,
               "how the data goes: automatic (default), collectives, exchange or inplace", "NAME");
  options.flag("--collectives", given_.collectives, std::string(collectives_help));
  options.flag("--explain", given_.explain, "also say why this strategy");
  options.flag("--json", given_.json, "print one JSON object, retile.run/1 or retile.run-many/1");
}

std::optional<Complaint> RunVerb::settle() {
  if (given_.many) return settle_many();
  if (is_module()) return settle_module();
  const bool problem_given = given_.problem.mesh || given_.problem.from || given_.problem.to;
  if (given_.program && problem_given) {
    return Complaint{"--program carries its own mesh, from and to",
                     {"leave out --mesh, FROM and TO, or --program"}};
  }
  if (given_.program && given_.collectives) {
    return Complaint{"--collectives is for planning, and --program is run as it is",
                     {"--strategy collectives runs its steps as they stand"}};
  }
  for (const auto& [option, one, several] :
       {std::tuple("--input", &given_.input, &given_.input_tiles),
        std::tuple("--output", &given_.output, &given_.output_tiles)}) {
    if (!*one || !*several) continue;
    return Complaint{
        std::string(option) + " is one file with the array, and " + option + "-tiles are several",
        {"leave out one of them"}};
  }
  if (given_.program) return std::nullopt;
  if (!problem_given) return Complaint{"--mesh FROM TO, or --program, is missing"};
  return given_.problem.missing();
}

std::string_view RunVerb::beside() const {
  const bool runs_module = is_module() && given_.backend == "sim";
  return runs_module && modules_ == nullptr ? run_program : std::string_view();
}

Outcome RunVerb::work() const {
  if (given_.many) return work_on_many();
  if (is_module()) return work_on_module();
  auto request = Preparation(given_, {}).request();
  if (!request) return request.error();
  if (request->backend == Backend::sim) return run_simulated(*request);
  if (request->backend == Backend::cuda && !cuda_is_built) {
    return not_built("the backend cuda is not built into this program");
  }
  if (!mpi_is_built) {
    return not_built(request->backend == Backend::mpi
                         ? std::string(without_mpi)
                         : "the backend cuda starts processes by MPI, which is not built into this "
                           "program");
  }
  return work_in_started_job(*request);
}

Outcome run_on(const Processes& processes, RunRequest& request, const MakeExecutor& make) {
  lift_memory_limit();
  std::optional<Progress> progress;
  if (processes.is_first()) {
    progress.emplace(stderr_of_this());
    request.data.progress = [&progress](std::string_view stage, Size done, Size total) {
      progress->update(stage, done, total);
    };
  }
  const auto source = run::open_source(processes, request.program, request.data);
  if (!source) return refusal_of(source.error(), request);
  const auto executor = make(source->type());
  if (!executor) return refusal_of(executor.error(), request);
  return report_of(run::run(**executor, request.program, *source, request.data), request);
}

std::unique_ptr<Verb> make_run_verb(const Engines& engines) {
  return std::make_unique<RunVerb>(engines);
}

}  // namespace retile::cli
