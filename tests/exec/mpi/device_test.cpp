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
#include "retile/exec/cuda/run.h"
#include "retile/exec/mpi/device_transport.h"

namespace retile::mpi {
namespace {

using cuda::Path;
using test::DeviceFaults;
using test::HostDevice;

TEST(DeviceTransport, all_messages_arrive) {
  for (const Size piece : {Size{100}, most_message_bytes}) {
    const auto transport = device_transport(MPI_COMM_WORLD, piece);
    ASSERT_TRUE(transport);
    const auto wrong = test::send_messages(**transport, 10);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(*wrong, 0);
  }
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

cuda::RunOptions on_host(Path path, DeviceFaults faults_of_last = {}) {
  cuda::RunOptions options;
  options.exchange.path = path;
  options.exchange.chunk_bytes = 256;
  // The processes are in reverse order, so that nothing works by accident.
  const bool last = test::process_of(MPI_COMM_WORLD) == 0;
  options.open = [=](int) -> Result<std::unique_ptr<cuda::Device>> {
    return std::make_unique<HostDevice>(true, last ? faults_of_last : DeviceFaults{});
  };
  return options;
}

/// A run by the first processes; nothing on the others.
std::unique_ptr<Result<cuda::RunReport>> run_by_first(const Program& program,
                                                      const cuda::RunOptions& options) {
  MPI_Comm comm = test::first_processes(program.devices);
  if (comm == MPI_COMM_NULL) return nullptr;
  std::unique_ptr<Result<cuda::RunReport>> out;
  {
    const auto transport = device_transport(comm);
    EXPECT_TRUE(transport);
    if (transport) {
      out = std::make_unique<Result<cuda::RunReport>>(cuda::run(**transport, program, options));
    }
  }
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
      cuda::RunOptions options = on_host(path);
      options.element_bytes = path == Path::peer ? 16 : 2;
      options.repetitions = 2;
      const auto report = run_by_first(program, options);
      if (!report) continue;
      ASSERT_TRUE(*report) << render(report->error());
      EXPECT_TRUE((*report)->right);
      EXPECT_EQ((*report)->path, path);
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
    // A box of one unit is the same either way round.
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
  cuda::RunOptions options = on_host(Path::automatic);
  options.exchange.memory_limit_bytes = 1;
  if (const auto report = run_by_first(last_program(), options)) {
    ASSERT_FALSE(*report);
    EXPECT_EQ(report->error().code, Code::infeasible);
  }
  Program program = last_program();
  const auto transport = device_transport(MPI_COMM_WORLD);
  ASSERT_TRUE(transport);
  if (program.devices == (*transport)->members()) return;
  const auto report = cuda::run(**transport, program, on_host(Path::automatic));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::bad_argument);
}

}  // namespace
}  // namespace retile::mpi
