// A transport between members that share memory: processes that one process forked, or threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/cuda/transport.h"
#include "retile/exec/team/team.h"

namespace retile::cuda {

/// Uses the beginning of every member's memory: a place for gather(), then two slots through which
/// messages go in pieces, filled while the receiver empties the other.
class TeamTransport final : public Transport {
 public:
  static constexpr Size slot_bytes = Size{1} << 20;
  /// What every member's memory must have.
  static constexpr Size memory_bytes = static_cast<Size>(most_gathered_bytes) + 2 * slot_bytes;

  /// Collective.
  /// \param team  outlives the transport
  /// \error team_broken
  /// \param slot  bytes of a slot, at most slot_bytes; less makes tests go through more pieces
  [[nodiscard]] static Result<std::unique_ptr<TeamTransport>> create(team::Team& team,
                                                                     Size slot = slot_bytes);

  [[nodiscard]] int member() const override { return team_->member(); }
  [[nodiscard]] int members() const override { return team_->members(); }
  [[nodiscard]] int place_on_machine() const override { return team_->member(); }
  [[nodiscard]] bool on_same_machine(int) const override { return true; }
  [[nodiscard]] bool takes_device_memory() const override { return false; }
  [[nodiscard]] Result<void> barrier() override { return team_->barrier(); }
  [[nodiscard]] Result<void> gather(std::span<const std::byte> mine,
                                    std::span<std::byte> all) override;
  [[nodiscard]] Result<void> send_receive(int target, std::span<const std::byte> out, int source,
                                          std::span<std::byte> in) override;
  void give_up(const Diagnostic&) override { team_->break_team(); }

 private:
  TeamTransport(team::Team& team, std::size_t slot);
  [[nodiscard]] std::byte* slot(int member, std::size_t number) const;
  [[nodiscard]] Result<void> send_piece(int target, std::size_t slot_number,
                                        std::span<const std::byte> piece);
  [[nodiscard]] Result<void> receive_piece(int source, std::size_t slot_number,
                                           std::span<std::byte> piece);

  /// What a slot of this member still has to be read by.
  struct Reader {
    int target = -1;
    std::uint64_t taken = 0;  ///< what the target's counter says when it has read the slot
  };
  /// Where the counters between this member and another stand.
  struct Peer {
    std::uint64_t given = 0;          ///< by this member
    std::uint64_t taken_by_peer = 0;  ///< once all that was given is read
    std::uint64_t received = 0;       ///< given by the other
    std::uint64_t taken = 0;          ///< by this member
  };
  team::Team* team_;
  std::size_t slot_;
  std::array<Reader, 2> readers_;
  std::vector<Peer> peers_;
};

}  // namespace retile::cuda
