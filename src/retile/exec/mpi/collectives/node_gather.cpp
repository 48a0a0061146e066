#include "retile/exec/mpi/collectives/node_gather.h"

#include <algorithm>
#include <utility>

#include "retile/core/index.h"

namespace retile::mpi {

std::optional<MemberPlaces> MemberPlaces::find(const std::vector<Size>& members,
                                               std::size_t position, const Nodes& nodes) {
  MemberPlaces out;
  std::vector<int> first;  // by node: its first process
  for (std::size_t place = 0; place < members.size(); ++place) {
    const int node = nodes.first[index(members[place])];
    const auto known =
        static_cast<std::size_t>(std::find(first.begin(), first.end(), node) - first.begin());
    if (known == first.size()) {
      first.push_back(node);
      out.of_nodes.emplace_back();
    }
    if (place == position) {
      out.node = known;
      out.on_node = out.of_nodes[known].size();
    }
    out.of_nodes[known].push_back(static_cast<int>(place));
  }
  const std::size_t each = out.of_nodes.front().size();
  const bool alike = std::all_of(out.of_nodes.begin(), out.of_nodes.end(),
                                 [&](const auto& those) { return those.size() == each; });
  if (!alike || each == 1 || out.of_nodes.size() == 1) return std::nullopt;
  return out;
}

NodeGather::NodeGather(MemberPlaces places, const Communicator& group)
    : places_(std::move(places)),
      across_(group.split(static_cast<int>(places_.on_node), static_cast<int>(places_.node))),
      inside_(group.split(static_cast<int>(places_.node), static_cast<int>(places_.on_node))),
      from_nodes_(places_.of_nodes.size()),
      from_members_(places_.of_nodes.front().size()) {}

Result<void> NodeGather::operator()(std::span<const std::byte> send, std::byte* receive,
                                    const Parts& received) {
  const auto expect = [&](Parts& parts, std::size_t k, int place) {
    parts.counts[k] = received.counts[index(place)];
    parts.offsets[k] = received.offsets[index(place)];
  };
  for (std::size_t node = 0; node < places_.of_nodes.size(); ++node) {
    expect(from_nodes_, node, places_.of_nodes[node][places_.on_node]);
  }
  if (auto done = across_.allgather(send, receive, from_nodes_); !done) return done;
  for (const std::vector<int>& node : places_.of_nodes) {
    for (std::size_t k = 0; k < node.size(); ++k) expect(from_members_, k, node[k]);
    if (auto done = inside_.allgather_in_place(receive, from_members_); !done) return done;
  }
  return {};
}

}  // namespace retile::mpi
