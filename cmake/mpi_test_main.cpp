// main() of the test programs that run under mpiexec. Every process runs every test; process 0
// reports, the others print only their failures. All processes end with the same code: 0, 77 when
// every test was skipped, 1 when any process saw a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "only_file.h"

namespace {

/// Prints failures with the number of the process that saw them, and nothing else.
class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int mpi_rank) : mpi_rank_(mpi_rank) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "process %d: %s:%d: %s\n", mpi_rank_,
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.message());
    std::fflush(stderr);
  }

 private:
  int mpi_rank_;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleMock(&argc, argv);
  retile_tests::narrow_to_file(argc, argv);
  int mpi_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
  if (mpi_rank != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(mpi_rank));
  }
  int failed = RUN_ALL_TESTS();
  const auto& tests = *testing::UnitTest::GetInstance();
  if (tests.test_to_run_count() == 0) failed = 1;  // a program without tests checks nothing
  int ran = tests.skipped_test_count() == tests.test_to_run_count() ? 0 : 1;
  int any_failed = 0;
  int any_ran = 0;
  MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&ran, &any_ran, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (mpi_rank == 0 && failed == 0 && any_failed != 0) {
    std::fprintf(stderr, "[  FAILED  ] on another process\n");
  }
  MPI_Finalize();
  if (any_failed != 0) return 1;
  return any_ran != 0 ? 0 : 77;
}
