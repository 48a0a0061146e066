// What Redistributors have of a communicator, whatever they move. Not a public header.
#pragma once

#include <memory>
#include <optional>

#include "retile/core/result.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/nodes.h"

namespace retile::mpi {

class TeamOfProcesses;

struct Context {
  Communicator comm;                ///< a duplicate of the caller's
  std::optional<Nodes> nodes = {};  ///< once somebody has looked
  bool keeps_team = false;
  /// With keeps_team, what the node's processes share, once somebody has needed it: the next one takes
  /// it if it is large enough.
  std::shared_ptr<TeamOfProcesses> team = {};
};

/// Collective.
/// \error as Communicator::duplicate()
[[nodiscard]] Result<std::shared_ptr<Context>> make_context(MPI_Comm comm);

/// Collective: the one that is kept with a communicator, made where there is none. It is freed with the
/// communicator or when MPI ends. Whoever has it must have done with it when the next one comes.
[[nodiscard]] Result<std::shared_ptr<Context>> kept_context(MPI_Comm comm);

}  // namespace retile::mpi
