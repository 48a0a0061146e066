#include "retile/exec/mpi/context.h"

#include <utility>

#include "retile/exec/mpi/node_part.h"

namespace retile::mpi {

Result<std::shared_ptr<Context>> make_context(MPI_Comm comm) {
  auto duplicate = Communicator::duplicate(comm);
  if (!duplicate) return tl::unexpected(duplicate.error());
  return std::make_shared<Context>(Context{std::move(*duplicate)});
}

Result<std::shared_ptr<Context>> kept_context(MPI_Comm comm) {
  if (auto kept = std::static_pointer_cast<Context>(kept_with(comm))) return kept;
  auto made = make_context(comm);
  if (!made) return made;
  (*made)->keeps_team = true;
  keep_with(comm, *made);
  return made;
}

}  // namespace retile::mpi
