// Which processes share memory. Not a public header.
#pragma once

#include <vector>

#include "retile/core/result.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/ops.h"

namespace retile::mpi {

struct Nodes {
  Communicator mine;        ///< the processes of this one's node, in their order
  std::vector<int> first;   ///< for every process, the first process of its node
  std::vector<int> member;  ///< for every process, its number on its node
  int count = 0;
  int most_processes = 0;  ///< on one node
  int on_machine = 0;      ///< how many share this one's cores, also where each is taken for a node

  /// Processes of each node, if all have as many, numbered one node after the other; else 1.
  [[nodiscard]] Size successive() const {
    const auto each = static_cast<std::size_t>(most_processes);
    if (each * static_cast<std::size_t>(count) != first.size()) return 1;
    for (std::size_t p = 0; p < first.size(); ++p) {
      if (first[p] != static_cast<int>(p / each * each)) return 1;
    }
    return most_processes;
  }
  [[nodiscard]] bool together(const Transfer& transfer) const {
    return first[static_cast<std::size_t>(transfer.source)] ==
           first[static_cast<std::size_t>(transfer.target)];
  }
};

/// Collective.
/// \error mpi_error (out of memory), on all processes
[[nodiscard]] Result<Nodes> find_nodes(const Communicator& comm, Partition partition);

}  // namespace retile::mpi
