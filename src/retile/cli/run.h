// What the parts of `retile run` share.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "retile/cli/verb.h"
#include "retile/exec/executor/executor.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"
#include "retile/run/run.h"

namespace retile::cli {

/// Who moves the data.
enum class Backend : std::size_t { mpi, sim, cuda };

/// The options as text.
struct RunArguments {
  ProblemArguments problem;
  std::optional<std::string> many;
  std::optional<std::string> program;
  std::optional<std::string> processes;
  std::optional<std::string> backend;
  std::optional<std::string> dtype;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> input_tiles;
  std::optional<std::string> output_tiles;
  std::optional<std::string> repeat;
  std::optional<std::string> memory_limit;
  std::optional<std::string> strategy;
  bool collectives = false;
  bool explain = false;
  bool json = false;

  /// The options that name files, and what they say.
  using NamedFile = std::pair<std::string_view, const std::optional<std::string>*>;
  [[nodiscard]] std::array<NamedFile, 4> files() const {
    return {{{"--input", &input},
             {"--output", &output},
             {"--input-tiles", &input_tiles},
             {"--output-tiles", &output_tiles}}};
  }
};

/// A run whose arguments were read.
struct RunRequest {
  Backend backend = Backend::mpi;
  Program program;
  std::string program_text;  ///< a form of it, for other processes
  run::RunOptions data;
  mpi::Options how;   ///< of the simulator, the memory limit of a device's tiles alone
  std::string words;  ///< for stderr, beside the report
  bool explain = false;
  bool json = false;
};

/// Who a process is when it prepares a run.
struct Place {
  /// How many processes mpirun has started; nothing where they are still to be started.
  std::optional<Size> processes = {};
  /// Whether somebody else, a launch or process 0, has read and checked everything: then this
  /// process reads its values and the Program, nothing more.
  bool trusting = false;
  /// The Program that process 0 gave, where it is another process.
  std::optional<std::string> program_text = {};
};

/// Reads arguments and Program, plans where needed, checks.
class Preparation {
 public:
  Preparation(const RunArguments& given, Place place) : given_(given), place_(std::move(place)) {}

  /// An Outcome where that already is the answer.
  [[nodiscard]] tl::expected<RunRequest, Outcome> request();
  /// The options alone, for a module of so many devices.
  [[nodiscard]] tl::expected<RunRequest, Outcome> values(Size devices);

 private:
  // Each hands back the answer where it already is one.
  using Step = std::optional<Outcome>;
  [[nodiscard]] Step read_values();
  [[nodiscard]] Step read_program();
  [[nodiscard]] Step read_problem();
  [[nodiscard]] Step count_processes();
  [[nodiscard]] Step look_at_input();
  [[nodiscard]] Step plan_problem();
  [[nodiscard]] Step check_program();
  [[nodiscard]] Step keep_to_limit();

  [[nodiscard]] Result<void> read_backend();
  [[nodiscard]] Result<void> read_data();
  [[nodiscard]] Result<void> read_strategy();
  [[nodiscard]] Result<void> read_limit();
  /// Processes have several ways to run a Program and say themselves whether one of them fits.
  [[nodiscard]] bool by_steps() const { return request_.backend == Backend::sim; }

  const RunArguments& given_;
  Place place_;
  RunRequest request_;
  std::optional<Problem> problem_;
  Size element_bytes_ = ElementType{}.bytes;
};

/// The processes of a job, and what makes those who move their data, in host memory and on GPUs.
struct Job {
  using Make = Result<std::unique_ptr<Executor>> (*)(const Processes& processes,
                                                     const Program& program, Size element_bytes,
                                                     const mpi::Options& options);
  const Processes& processes;
  Make host;
  Make device;
};

struct ManyRequest;

inline constexpr std::string_view without_mpi = "the backend mpi is not built into this program";
/// The answer where a backend is asked for that this program has not.
[[nodiscard]] Outcome not_built(std::string message);

/// The largest exit code that a process brings.
[[nodiscard]] int largest(const Processes& processes, int code);

/// On processes other than 0: the exit code without words, which process 0 has.
[[nodiscard]] Outcome told_by_first(const Processes& processes, Outcome outcome);

class RunVerb final : public Verb {
 public:
  explicit RunVerb(const Engines& engines) : modules_(engines.modules) {}
  [[nodiscard]] std::string name() const override { return "run"; }
  [[nodiscard]] std::string summary() const override {
    return "redistribute real bytes and compare every element";
  }
  [[nodiscard]] std::string footer() const override;
  void add_options(OptionList& options) override;
  [[nodiscard]] std::optional<Size> usual_timeout() const override { return std::nullopt; }
  [[nodiscard]] std::optional<Complaint> settle() override;
  [[nodiscard]] Outcome work() const override;
  [[nodiscard]] bool works_in_job() const override {
    return given_.backend.value_or("mpi") != "sim";
  }
  /// Process 0 prepares and reports; the Program goes from it to all. The outcomes of the others
  /// have the same exit code and no words.
  [[nodiscard]] Outcome work_in_job(const Job& job) const override;
  [[nodiscard]] std::string_view beside() const override;

 private:
  /// Starts one process per device of the Program, which get the same options, and waits.
  [[nodiscard]] Outcome work_in_started_job(const RunRequest& request) const;
  [[nodiscard]] tl::expected<RunRequest, Outcome> prepare_together(
      const Processes& processes) const;

  // Modules: run_module.cpp.

  /// Whether one file stands in the place of FROM and TO: no type is written without a bracket.
  [[nodiscard]] bool is_module() const;
  [[nodiscard]] std::optional<Complaint> settle_module() const;
  [[nodiscard]] tl::expected<ModuleRequest, Outcome> module_request(const Place& place) const;
  [[nodiscard]] Outcome work_on_module() const;
  [[nodiscard]] Outcome work_on_module_in_job(const Job& job) const;

  // Many arrays: run_many.cpp.

  [[nodiscard]] std::optional<Complaint> settle_many() const;
  [[nodiscard]] tl::expected<ManyRequest, Outcome> many_request(const Place& place) const;
  [[nodiscard]] Outcome work_on_many() const;
  [[nodiscard]] Outcome work_on_many_in_job(const Job& job) const;

  decltype(Engines::modules) modules_;
  RunArguments given_;
};

using MakeExecutor = std::function<Result<std::unique_ptr<Executor>>(const ElementType& type)>;

/// The run itself; told of on process 0.
[[nodiscard]] Outcome run_on(const Processes& processes, RunRequest& request,
                             const MakeExecutor& make);

/// What is said of it: exit code yes or no, or of an error the one that it means.
[[nodiscard]] Outcome report_of(const Result<run::Report>& report, const RunRequest& request);
[[nodiscard]] Outcome refusal_of(Diagnostic diagnostic, const RunRequest& request);

/// Where nothing stays within the memory limit: exit code no.
[[nodiscard]] Outcome over_limit(Size limit_bytes, std::optional<Size> resident_bytes, bool json);

}  // namespace retile::cli
