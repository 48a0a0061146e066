// Whole Programs on forked processes, over a device that is host memory.
#include <gtest/gtest.h>

#include <memory>

#include "exec/cuda/host_device.h"
#include "exec/cuda/program_run.h"
#include "exec/programs.h"
#include "retile/exec/cuda/executor.h"

namespace retile::cuda::run_test {
namespace {

using test::DeviceFaults;
using test::HostDevice;
using test::ProgramRun;
using test::run_on_forks;

ProgramRun on_host(Path path, DeviceFaults faults_of_first = {}) {
  ProgramRun options;
  options.exchange.path = path;
  options.exchange.chunk_bytes = 256;
  options.open = [faults_of_first](int member) -> Result<std::unique_ptr<Device>> {
    return std::make_unique<HostDevice>(true, member == 0 ? faults_of_first : DeviceFaults{});
  };
  return options;
}

TEST(Run, every_program_is_right_on_both_paths) {
  for (const test::NamedProgram& named : test::right_programs()) {
    const Program program = test::parsed(named.text);
    if (program.devices > 12) continue;  // forks take their time
    for (const Path path : {Path::peer, Path::staged}) {
      ProgramRun options = on_host(path);
      options.element_bytes = path == Path::peer ? 16 : 2;
      const auto report = run_on_forks(program, options);
      ASSERT_TRUE(report) << named.name << ": " << render(report.error());
      EXPECT_TRUE(report->right) << named.name;
      EXPECT_EQ(report->way, path_name(path));
      EXPECT_EQ(report->elements_checked, program.devices * program.to.tile_size());
      EXPECT_EQ(report->processes, program.devices);
      EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
      EXPECT_GT(report->seconds, 0);
      EXPECT_FALSE(report->reasons.empty());
    }
  }
}

Program listing_3() {
  for (const test::NamedProgram& named : test::right_programs()) {
    if (named.name == "listing_3_small") return test::parsed(named.text);
  }
  return {};
}

TEST(Run, a_wrong_copy_is_a_wrong_run) {
  for (const Path path : {Path::peer, Path::staged}) {
    const auto report = run_on_forks(listing_3(), on_host(path, {.wrong_box = true}));
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->right);
    EXPECT_LT(report->elements_checked, 8 * 2 * 48);
  }
}

TEST(Run, a_device_that_fails_is_reported) {
  const auto report = run_on_forks(listing_3(), on_host(Path::staged, {.refuse_copy = 1}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::cuda_error);
  EXPECT_EQ(report.error().message, "told to fail");
}

TEST(Run, a_device_that_cannot_be_opened_is_reported_with_its_reason) {
  ProgramRun options = on_host(Path::automatic);
  options.open = [](int) -> Result<std::unique_ptr<Device>> {
    return refuse({.code = Code::cuda_error, .message = "no CUDA device: for a reason"});
  };
  const auto report = run_on_forks(listing_3(), options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::cuda_error);
  EXPECT_EQ(report.error().message, "no CUDA device: for a reason");
}

TEST(Run, elements_that_cannot_be_moved_are_refused_by_all) {
  for (const Size bytes : {Size{3}, Size{1} << 60}) {
    ProgramRun options = on_host(Path::automatic);
    options.element_bytes = bytes;
    const auto report = run_on_forks(listing_3(), options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Code::bad_argument);
  }
}

TEST(Run, limits_and_repetitions_are_looked_at) {
  ProgramRun options = on_host(Path::automatic);
  options.exchange.memory_limit_bytes = 100;
  const auto small = run_on_forks(listing_3(), options);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, Code::infeasible);
  options = on_host(Path::automatic);
  options.repetitions = 0;
  const auto never = run_on_forks(listing_3(), options);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Code::bad_argument);
}

}  // namespace
}  // namespace retile::cuda::run_test
