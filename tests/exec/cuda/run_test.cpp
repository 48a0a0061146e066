// Whole Programs on forked processes, over a device that is host memory.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "exec/cuda/host_device.h"
#include "exec/cuda/program_run.h"
#include "exec/programs.h"
#include "retile/exec/cuda/executor.h"
#include "retile/exec/team/memory.h"

namespace retile::cuda::run_test {
namespace {

using test::DeviceFaults;
using test::HostDevice;
using test::named_program;
using test::ProgramRun;
using test::run_all_on_forks;
using test::run_on_forks;
using test::WantedRun;

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
  std::vector<WantedRun> runs;
  for (const Path path : {Path::peer, Path::staged}) {
    ProgramRun options = on_host(path);
    options.open = test::kept_open(options.open);
    options.element_bytes = path == Path::peer ? 16 : 2;
    for (const test::NamedProgram& named : test::right_programs()) {
      const Program program = test::parsed(named.text);
      if (program.devices > 12) continue;  // forks take their time
      runs.push_back({std::string(named.name), program, options});
    }
  }
  test::expect_all_right(runs);
}

Program listing_3() { return named_program("listing_3_small"); }

TEST(Run, processes_keep_their_devices_from_run_to_run) {
  auto counted = team::SharedMemory::create(sizeof(std::atomic<int>)).value();
  auto* const opened = new (counted.bytes().data()) std::atomic<int>(0);
  ProgramRun options = on_host(Path::peer);
  options.open = test::kept_open([opened](int) -> Result<std::unique_ptr<Device>> {
    ++*opened;
    return std::make_unique<HostDevice>(true);
  });
  const auto reports = run_all_on_forks({{"eight", listing_3(), options},
                                         {"one", named_program("one_device"), options},
                                         {"eight again", listing_3(), options}});
  ASSERT_EQ(reports.size(), std::size_t{3});
  for (std::size_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(reports[k]) << render(reports[k].error());
    EXPECT_TRUE(reports[k]->right);
    EXPECT_EQ(reports[k]->processes, k == 1 ? 1 : 8);
  }
  EXPECT_EQ(*opened, 9);
}

TEST(Run, a_process_that_ends_early_is_noticed_and_no_run_begins_after_it) {
  ProgramRun options = on_host(Path::peer, {.die_at_copy = 1});
  options.open = test::kept_open(options.open);
  const auto reports =
      run_all_on_forks({{"right", listing_3(), options},
                        {"ends early", listing_3(), options},
                        {"not begun", listing_3(), options},
                        {"on another", named_program("one_device"), on_host(Path::peer)}});
  ASSERT_EQ(reports.size(), std::size_t{4});
  ASSERT_TRUE(reports[0]) << render(reports[0].error());
  EXPECT_TRUE(reports[0]->right);
  ASSERT_FALSE(reports[1]);
  EXPECT_EQ(reports[1].error().message, "a process ended early");
  ASSERT_FALSE(reports[2]);
  EXPECT_EQ(reports[2].error().message, "not begun, since a run before failed");
  ASSERT_TRUE(reports[3]) << render(reports[3].error());
  EXPECT_TRUE(reports[3]->right);
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
