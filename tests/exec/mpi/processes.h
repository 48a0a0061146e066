// What the tests on several processes share.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "retile/core/diagnostic.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile::test {

inline int process_of(MPI_Comm comm) {
  int process = 0;
  MPI_Comm_rank(comm, &process);
  return process;
}

inline int processes_of(MPI_Comm comm) {
  int processes = 0;
  MPI_Comm_size(comm, &processes);
  return processes;
}

/// Collective: whether all processes have the same text.
inline bool same_everywhere(const std::string& text, MPI_Comm comm = MPI_COMM_WORLD) {
  long long length = static_cast<long long>(text.size());
  MPI_Bcast(&length, 1, MPI_LONG_LONG, 0, comm);
  std::string first = text;
  first.resize(static_cast<std::size_t>(length));
  MPI_Bcast(first.data(), static_cast<int>(length), MPI_CHAR, 0, comm);
  int same = first == text ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm);
  return same != 0;
}

/// Collective: the sum of a number over all processes.
inline long long sum_of(long long value, MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_LONG_LONG, MPI_SUM, comm);
  return value;
}

/// `accepted`, or the whole Diagnostic.
template <typename T>
std::string outcome_text(const Result<T>& result) {
  return result ? "accepted"
                : std::string(code_name(result.error().code)) + "\n" + render(result.error());
}

/// Collective: a communicator of the first `count` processes, in reverse order, so that nothing
/// works by accident because it is the world; MPI_COMM_NULL on the others. The caller frees it.
inline MPI_Comm first_processes(Size count) {
  const int process = process_of(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, process < count ? 0 : MPI_UNDEFINED, -process, &comm);
  return comm;
}

}  // namespace retile::test
