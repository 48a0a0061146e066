// How processes come to one outcome before they go on, or the job ends. Not a public header.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "retile/core/result.h"
#include "retile/exec/mpi/mpi_wrapper.h"

namespace retile::mpi {

/// An exception on one process would leave the others waiting, so it becomes an error to agree on.
template <typename Function>
Result<void> or_out_of_memory(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return refuse({.code = Code::mpi_error, .message = "out of memory"});
  }
}

/// Collective, in one call of MPI where all is well: as Communicator::agree(), and every number becomes the
/// largest of all processes'.
[[nodiscard]] Result<void> agree_on_maxima(const Communicator& comm, const Result<void>& mine,
                                           std::span<std::uint64_t> numbers);

/// Collective: the lowest process on which something failed, if there is one.
[[nodiscard]] std::optional<int> first_failed(const Communicator& comm, bool failed);

/// The note to a Diagnostic that says who found it.
[[nodiscard]] std::string found_by(int process, const Communicator& comm);

/// What all processes must be given alike, and what to call it.
struct Given {
  const char* name;
  std::uint64_t value;
};

/// Collective, in one call of MPI where all is well: as Communicator::agree(), and that all were given the same.
/// \error disagreement
[[nodiscard]] Result<void> agree(const Communicator& comm, const Result<void>& mine,
                                 std::span<const Given> given);

}  // namespace retile::mpi
