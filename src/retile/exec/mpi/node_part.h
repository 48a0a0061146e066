// What stays on a node: the processes of it exchange tiles through memory that they share. Not a
// public header.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "retile/exec/mpi/own_exchange.h"
#include "retile/exec/mpi/task.h"
#include "retile/exec/team/memory.h"
#include "retile/exec/team/shared.h"
#include "retile/exec/team/team.h"

namespace retile::mpi {

/// All processes of a communicator as a team.
class TeamOfProcesses {
 public:
  /// Collective; `memory_bytes` of shared memory for each. Fails on all processes or on none.
  /// \error shared_memory_error
  [[nodiscard]] Result<void> make(const Communicator& comm, Size memory_bytes);

  [[nodiscard]] team::Team& team() { return *team_; }
  [[nodiscard]] std::span<std::byte> memory() const { return team_->memory(team_->member()); }

  /// Bytes of the control block, with the page in which it lies.
  [[nodiscard]] static Size control_bytes(int processes);

 private:
  [[nodiscard]] Result<void> share_control(const Communicator& comm);
  [[nodiscard]] Result<void> share_control(const Communicator& comm, team::SharedKind kind);

  team::SharedMemory control_;
  std::vector<team::SharedMemory> memories_;
  std::optional<team::Team> team_;
};

/// Bytes in whole pages.
[[nodiscard]] Size in_pages(Size bytes);

/// Of an exchange, what has both ends on this process's node.
class NodePart {
 public:
  NodePart(const Task& task, const OwnExchange& exchange)
      : task_(task), most_transfers_(exchange.most().on_node), here_(on_this_node(exchange)) {}

  /// What this part never counts more than, on any process; with own buffers these are in it.
  [[nodiscard]] Size limit_bytes() const;
  /// Collective over all nodes; fails on all processes or on none.
  [[nodiscard]] Result<void> make_ready();

  /// \error bad_argument (before anything moves, on all processes), team_broken
  [[nodiscard]] Result<void> run(std::span<const std::byte> in, std::span<std::byte> out);
  [[nodiscard]] Size received_bytes() const { return received_bytes_; }
  /// Own tiles, or nothing.
  [[nodiscard]] std::span<std::byte> input() const { return input_; }
  [[nodiscard]] std::span<std::byte> output() const { return output_; }

 private:
  /// Where tiles, slots and copies lie in a process's memory.
  struct Segment {
    team::SharedOptions places;
    Size output_offset = 0;
    Size bytes = 0;
  };
  [[nodiscard]] Segment segment(int processes) const;
  /// This process's transfers on its node, by numbers on that node.
  [[nodiscard]] TileExchange on_this_node(const OwnExchange& exchange) const;
  [[nodiscard]] DeviceShapes on_node(const DeviceShapes& tiles, int here) const;
  [[nodiscard]] Result<void> make_on_node();
  [[nodiscard]] Result<void> make_team(Size bytes);

  const Task task_;
  Size most_transfers_;
  std::optional<TileExchange> here_;  ///< until it is made ready
  std::shared_ptr<TeamOfProcesses> team_;
  std::optional<team::SharedExchange> exchange_;
  std::span<std::byte> input_, output_;
  Size received_bytes_ = 0;
};

}  // namespace retile::mpi
