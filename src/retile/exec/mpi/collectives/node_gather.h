// What all members of a group get of each other, so that it enters every node once. Not a public header.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/nodes.h"

namespace retile::mpi {

/// Where the members of a group are.
struct MemberPlaces {
  std::vector<std::vector<int>> of_nodes;  ///< by node: the places in the group of those on it
  std::size_t node = 0;                    ///< of this process, among them
  std::size_t on_node = 0;                 ///< of this process, among those on its node

  /// Nothing where it makes no difference, or where the group has more members on one node than on another.
  [[nodiscard]] static std::optional<MemberPlaces> find(const std::vector<Size>& members,
                                                        std::size_t position, const Nodes& nodes);
};

/// An MPI_Allgatherv in two parts. First everyone gets the parts of those who have the same number on their
/// nodes. Then the members on a node tell each other what came, node by node, each part to its own place, so
/// no buffer is needed.
class NodeGather {
 public:
  /// Collective over the group.
  NodeGather(MemberPlaces places, const Communicator& group);

  /// Collective over the group.
  /// \param received  by places in the group
  [[nodiscard]] Result<void> operator()(std::span<const std::byte> send, std::byte* receive,
                                        const Parts& received);

 private:
  MemberPlaces places_;
  Communicator across_;
  Communicator inside_;
  Parts from_nodes_;
  Parts from_members_;
};

}  // namespace retile::mpi
