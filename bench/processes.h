// What programs on MPI processes share: who they are, how they end, and how long something takes all of them.
#pragma once

#include <mpi.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "retile/core/result.h"

namespace bench {

inline int process = 0;
inline int processes = 1;

[[noreturn]] inline void give_up(const std::string& message) {
  std::cerr << program_invocation_short_name << ": process " << process << ": " << message << '\n';
  MPI_Abort(MPI_COMM_WORLD, 4);
  std::abort();
}

/// \param what  comes before the message, if it says anything
template <typename T>
T value_of(retile::Result<T> result, const std::string& what = "") {
  if (!result) give_up((what.empty() ? "" : what + ": ") + render(result.error()));
  return std::move(*result);
}

inline void succeed(const retile::Result<void>& done) {
  if (!done) give_up(render(done.error()));
}

[[nodiscard]] inline std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

/// Seconds since the machine started. All read the clock of the one node; MPI_Wtime would begin with each
/// process.
[[nodiscard]] inline double seconds_of_node() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds from when the first begins to when the last is through: where there are more processes than
/// processors, they take turns. Collective.
inline double time_of_all(const std::function<void()>& run) {
  MPI_Barrier(MPI_COMM_WORLD);
  double times[2] = {-seconds_of_node(), 0};
  run();
  times[1] = seconds_of_node();
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return times[0] + times[1];
}

}  // namespace bench
