// Exchanges between GPUs over MPI, with devices that are host memory.
#include <gtest/gtest.h>
#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "exec/cuda/host_device.h"
#include "exec/cuda/messages.h"
#include "exec/mpi/processes.h"
#include "exec/programs.h"
#include "retile/exec/cuda/executor.h"
#include "retile/exec/mpi/device_transport.h"
#include "retile/exec/mpi/environment.h"
#include "retile/run/run.h"

namespace retile::mpi {
namespace {

using cuda::Path;
using test::DeviceFaults;
using test::HostDevice;

TEST(DeviceTransport, all_messages_arrive) {
  const auto transport = device_transport(MPI_COMM_WORLD);
  ASSERT_TRUE(transport);
  const auto wrong = test::send_messages(**transport, 10);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(*wrong, 0);
}

TEST(DeviceTransport, processes_of_a_machine_know_each_other) {
  const auto transport = device_transport(MPI_COMM_WORLD);
  ASSERT_TRUE(transport);
  EXPECT_EQ((*transport)->member(), test::process_of(MPI_COMM_WORLD));
  EXPECT_EQ((*transport)->members(), test::processes_of(MPI_COMM_WORLD));
  EXPECT_EQ((*transport)->place_on_machine(), (*transport)->member());
  for (int k = 0; k < (*transport)->members(); ++k) EXPECT_TRUE((*transport)->on_same_machine(k));
}

TEST(DeviceTransport, no_communicator_is_refused) {
  const auto transport = device_transport(MPI_COMM_NULL);
  ASSERT_FALSE(transport);
  EXPECT_EQ(transport.error().code, Code::bad_argument);
}

/// How a Program is run on devices that are host memory.
struct OnHost {
  cuda::DeviceOptions exchange;
  DeviceFaults faults_of_last = {};
  Size element_bytes = 4;
  Size repetitions = 1;
};

OnHost on_host(Path path, DeviceFaults faults_of_last = {}) {
  return {.exchange = {.path = path, .chunk_bytes = 256}, .faults_of_last = faults_of_last};
}

/// The processes of a communicator, where those of the job are too many.
class Members final : public Processes {
 public:
  explicit Members(MPI_Comm comm) : comm_(comm) {}
  [[nodiscard]] int process() const override { return test::process_of(comm_); }
  [[nodiscard]] int processes() const override { return test::processes_of(comm_); }
  [[nodiscard]] Result<void> agree(const Result<void>& mine) const override {
    int failed = mine ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm_);
    if (failed == 0 || !mine) return mine;
    return refuse({.code = Code::cuda_error, .message = "another process failed"});
  }
  void barrier() const override { MPI_Barrier(comm_); }
  [[nodiscard]] std::string broadcast(const std::string& text, int) const override { return text; }
  [[nodiscard]] std::uint64_t broadcast(std::uint64_t number, int root) const override {
    MPI_Bcast(&number, 1, MPI_UINT64_T, root, comm_);
    return number;
  }
  [[nodiscard]] std::vector<bool> gather(bool mine) const override { return {mine}; }
  void maximum(std::span<std::uint64_t> numbers) const override { reduce(numbers, MPI_MAX); }
  void sum(std::span<std::uint64_t> numbers) const override { reduce(numbers, MPI_SUM); }
  [[nodiscard]] double maximum(double number) const override {
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return number;
  }
  void send(std::span<const std::byte>, int) const override {}
  void receive(std::span<std::byte>, int) const override {}

 private:
  void reduce(std::span<std::uint64_t> numbers, MPI_Op operation) const {
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T,
                  operation, comm_);
  }
  MPI_Comm comm_;
};

Result<run::Report> run_on(MPI_Comm comm, const Program& program, const OnHost& how) {
  const Members processes(comm);
  auto transport = device_transport(comm);
  EXPECT_TRUE(transport);
  // The processes are in reverse order, so that nothing works by accident.
  const bool last = test::process_of(MPI_COMM_WORLD) == 0;
  const auto open = [&](int) -> Result<std::unique_ptr<cuda::Device>> {
    return std::make_unique<HostDevice>(true, last ? how.faults_of_last : DeviceFaults{});
  };
  const auto executor = cuda::make_executor(processes, std::move(*transport), program,
                                            how.element_bytes, how.exchange, open);
  if (!executor) return refuse(executor.error());
  const run::Source source(ElementType{ElementKind::unsigned_integer, how.element_bytes});
  return run::run(**executor, program, source, {.repetitions = how.repetitions});
}

/// A run by the first processes; nothing on the others.
std::unique_ptr<Result<run::Report>> run_by_first(const Program& program, const OnHost& how) {
  MPI_Comm comm = test::first_processes(program.devices);
  if (comm == MPI_COMM_NULL) return nullptr;
  auto out = std::make_unique<Result<run::Report>>(run_on(comm, program, how));
  MPI_Comm_free(&comm);
  return out;
}

/// The Programs that there are enough processes for.
std::vector<Program> programs() {
  std::vector<Program> out;
  for (const test::NamedProgram& named : test::right_programs()) {
    Program program = test::parsed(named.text);
    if (program.devices <= test::processes_of(MPI_COMM_WORLD)) out.push_back(std::move(program));
  }
  return out;
}

TEST(DeviceRun, every_program_is_right_on_both_paths) {
  ASSERT_FALSE(programs().empty());
  for (const Program& program : programs()) {
    for (const Path path : {Path::peer, Path::staged}) {
      OnHost how = on_host(path);
      how.element_bytes = path == Path::peer ? 16 : 2;
      how.repetitions = 2;
      const auto report = run_by_first(program, how);
      if (!report) continue;
      ASSERT_TRUE(*report) << render(report->error());
      EXPECT_TRUE((*report)->right);
      EXPECT_EQ((*report)->way, path_name(path));
      EXPECT_EQ((*report)->elements_checked, program.devices * program.to.tile_size());
      EXPECT_LE((*report)->peak_bytes_per_process, (*report)->peak_limit_bytes);
    }
  }
}

/// Of several devices and steps, so that there is something to do wrong.
Program last_program() { return programs().back(); }

TEST(DeviceRun, all_processes_learn_of_a_wrong_element) {
  const auto all = programs();
  int noticed = 0;
  for (const Program& program : all) {
    const auto report = run_by_first(program, on_host(Path::staged, {.wrong_box = true}));
    if (!report) continue;
    ASSERT_TRUE(*report) << render(report->error());
    // Runs of one unit are right all the same.
    if ((*report)->right) continue;
    EXPECT_TRUE((*report)->mismatch);
    ++noticed;
  }
  const long long total = test::sum_of(noticed);
  EXPECT_GT(total, 0);
}

TEST(DeviceRun, all_processes_return_the_error_of_one) {
  const auto report = run_by_first(last_program(), on_host(Path::staged, {.refuse_allocation = 1}));
  if (!report) return;
  ASSERT_FALSE(*report);
  EXPECT_EQ(report->error().code, Code::cuda_error);
  EXPECT_NE(report->error().message.find("told to fail"), std::string::npos);
}

TEST(DeviceRun, the_memory_limit_and_the_number_of_processes_are_looked_at) {
  OnHost how = on_host(Path::automatic);
  how.exchange.memory_limit_bytes = 1;
  if (const auto report = run_by_first(last_program(), how)) {
    ASSERT_FALSE(*report);
    EXPECT_EQ(report->error().code, Code::infeasible);
  }
  const Program program = last_program();
  if (program.devices == test::processes_of(MPI_COMM_WORLD)) return;
  const auto report = run_on(MPI_COMM_WORLD, program, on_host(Path::automatic));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::bad_argument);
}

TEST(DeviceRun, without_a_device_all_processes_say_why) {
  const auto environment = Environment::start(nullptr, nullptr);
  ASSERT_TRUE(environment);
  auto transport = device_transport(MPI_COMM_WORLD);
  ASSERT_TRUE(transport);
  Program program;
  program.devices = environment->processes().processes();
  const std::vector<Size> at(static_cast<std::size_t>(program.devices), 0);
  program.from = Layout::listed(program.devices, {4}, {4}, at).value();
  program.to = program.from;
  const auto open = [&](int) -> Result<std::unique_ptr<cuda::Device>> {
    if (!environment->processes().is_first()) return std::make_unique<HostDevice>(true);
    return refuse({.code = Code::cuda_error, .message = "no CUDA device: for a reason"});
  };
  const auto executor =
      cuda::make_executor(environment->processes(), std::move(*transport), program, 4, {}, open);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, Code::cuda_error);
  EXPECT_NE(executor.error().message.find("no CUDA device: for a reason"), std::string::npos);
}

}  // namespace
}  // namespace retile::mpi
