#include "retile/exec/mpi/nodes.h"

#include <algorithm>
#include <array>
#include <span>

#include "retile/exec/mpi/agreement.h"

namespace retile::mpi {

Result<Nodes> find_nodes(const Communicator& comm, Partition partition) {
  const auto processes = static_cast<std::size_t>(comm.processes());
  Nodes nodes;
  std::vector<std::array<int, 2>> places;
  const auto reserved = or_out_of_memory([&]() -> Result<void> {
    places.resize(processes);
    nodes.first.reserve(processes);
    nodes.member.reserve(processes);
    return {};
  });
  if (auto agreed = comm.agree(reserved); !agreed) return tl::unexpected(agreed.error());
  nodes.mine = partition == Partition::apart ? comm.split(comm.process(), 0) : comm.node();
  nodes.on_machine =
      partition == Partition::apart ? comm.node().processes() : nodes.mine.processes();
  // The first process of this one's node, and this one's number there.
  std::array<int, 2> place{comm.process(), nodes.mine.process()};
  nodes.mine.broadcast(std::as_writable_bytes(std::span(place).first(1)), 0);
  comm.gather(std::as_bytes(std::span(place)), std::as_writable_bytes(std::span(places)));
  for (const std::array<int, 2>& other : places) {
    nodes.first.push_back(other[0]);
    nodes.member.push_back(other[1]);
    if (other[1] == 0) ++nodes.count;
    nodes.most_processes = std::max(nodes.most_processes, other[1] + 1);
  }
  return nodes;
}

}  // namespace retile::mpi
