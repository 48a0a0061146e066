// An Exchange between members of a team: straight into each other's tiles where these lie in shared
// memory, through small shared slots where they are private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/exec/copy/pass.h"
#include "retile/exec/exchange/tile_exchange.h"
#include "retile/exec/team/team.h"

namespace retile::team {

/// Where in every member's memory an exchange has its own place; the same on all.
struct SharedOptions {
  /// Where its slots begin.
  Size slots_offset = 0;
  /// Most bytes of slots per member, and the bytes that are kept for them. 0: the exchange refuses
  /// tiles outside shared memory.
  Size slots_bytes = Size{1} << 20;
  /// For small tiles: a run copies the old tile to one of two places in shared memory, from where
  /// the others take it, and waits once instead of twice. Slots are then not needed.
  bool copies = false;
  /// Where copies_bytes() begin that belong to this exchange alone.
  Size copies_offset = 0;

  /// What SharedExchange::held_bytes() never exceeds, slots included, for a member that takes part in
  /// `transfers` transfers (one that goes from it to itself counts twice) of arrays of `rank`
  /// dimensions.
  [[nodiscard]] Size bound_bytes(int members, Size transfers, std::size_t rank) const;
};

/// Bytes that two copies of a tile take.
[[nodiscard]] constexpr Size copies_bytes(Size in_bytes) { return 2 * ((in_bytes + 63) / 64 * 64); }

/// The way a run took.
enum class SharedPath {
  straight,  ///< from tile to tile
  staged,    ///< through slots
  copied,    ///< from copies of the old tiles
};

/// One member's side of the traffic with another member, through slots.
struct SharedPeer {
  // Where there is nothing to send or no slot to send it through there is no stream.
  std::optional<copy::BoxStream> outgoing, incoming;
  copy::BoxStream::Cursor sent, received;
  // Chunks since the team was made: where the counters stood at entry plus those of this run.
  std::uint64_t given = 0;           ///< by this member to the peer
  std::uint64_t given_start = 0;     ///< the same at entry
  std::uint64_t taken_start = 0;     ///< by the peer from this member, at entry
  std::uint64_t given_by_start = 0;  ///< by the peer to this member, at entry
  std::uint64_t taken = 0;           ///< by this member from the peer
  std::uint64_t begun = 0;           ///< chunks of this run that this member has begun to unpack

  [[nodiscard]] bool all_sent() const { return !outgoing || outgoing->finished(sent); }
  [[nodiscard]] bool all_received() const { return !incoming || incoming->finished(received); }
};

/// Built once, run many times. Building and running are collective: all members call them in the
/// same order. Nothing is allocated by run().
///
/// Preconditions: the transfers are applicable (shape_after()) and name members; all members give
/// the same, and have room in their memories for the places in the options.
class SharedExchange {
 public:
  /// \param team  outlives the exchange
  /// \error limit_reached (out of memory) on all members, team_broken
  [[nodiscard]] static Result<SharedExchange> create(Team& team, const TileExchange& exchange,
                                                     const SharedOptions& options = {});

  /// Moves `in`, this member's tile, to where it belongs; `out` is complete on return, and nobody
  /// reads `in` any more. Copied if the options say so. Straight where every member's `out` lies in
  /// its own shared memory, or every `in` and pulling jumps less; else staged. Precondition: the two
  /// overlap neither each other nor the places in the options.
  /// \error bad_argument (tiles of other sizes, on whichever member; before anything moves, on all),
  ///     team_broken (`out` is undefined)
  [[nodiscard]] Result<SharedPath> run(std::span<const std::byte> in, std::span<std::byte> out);
  /// The same with somebody who watches every step (shared_protocol.h).
  template <typename Watch>
  [[nodiscard]] Result<SharedPath> run(std::span<const std::byte> in, std::span<std::byte> out,
                                       Watch& watch);

  /// Bytes that this member holds for the exchange: slots and descriptions of boxes; not the tiles
  /// and their copies.
  [[nodiscard]] Size held_bytes() const;

 private:
  // The word that a member tells at entry: flags, and where a tile of it lies in its memory.
  static constexpr std::uint64_t fine = 1, can_stage = 2, out_is_shared = 4, in_is_shared = 8;
  static constexpr int offset_shift = 4;
  enum class Way { push, pull, staged };

  struct Making;
  SharedExchange(const Making& making, Size slot_bytes);

  [[nodiscard]] Team& team() const { return *team_; }
  [[nodiscard]] SharedPeer& peer(int member) { return peers_[static_cast<std::size_t>(member)]; }
  /// The member `distance` places after this one.
  [[nodiscard]] int after(int distance) const {
    return (team().member() + distance) % team().members();
  }
  /// Where the tile of `member` that it has told of lies in this member's address space.
  [[nodiscard]] std::byte* tile_of(int member) const {
    const std::uint64_t offset = words_[static_cast<std::size_t>(member)] >> offset_shift;
    return team().memory(member).data() + offset;
  }
  /// Where `bytes` bytes lie in a member's memory.
  [[nodiscard]] std::byte* place(int member, Size offset, Size bytes) const;
  /// Flags, and the place of `tile` if it lies in this member's memory; 0 where the tiles have not
  /// the sizes of the exchange.
  [[nodiscard]] std::uint64_t word_of(std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::span<const std::byte> tile) const;
  /// Whether all were given tiles of the right sizes.
  [[nodiscard]] Result<void> all_fine() const;
  /// Which way they go then.
  [[nodiscard]] Result<Way> decide() const;
  void rewind();
  /// One of the two slots from `source` to `target`, which lie in the memory of the source.
  [[nodiscard]] std::byte* slot(int source, int target, std::uint64_t chunk) const;

  template <typename Watch>
  [[nodiscard]] Result<Way> enter(std::span<const std::byte> in, std::span<std::byte> out,
                                  Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> straight(Way way, std::span<const std::byte> in,
                                      std::span<std::byte> out, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> copied(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> staged(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> send_chunk(int target, std::span<const std::byte> in, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> receive_chunk(int source, std::span<std::byte> out, Watch& watch);

  Team* team_;
  Size in_bytes_;
  Size copied_bytes_;  ///< of the largest tile before
  Size out_bytes_;
  SharedOptions options_;
  Size slot_bytes_;  ///< 0: no slots
  // For tiles outside shared memory: what goes through slots, by member, and what stays.
  std::vector<SharedPeer> peers_;
  std::optional<copy::Pass> kept_;
  Size shares_of_kept_ = 1;  // one beside each chunk that goes to a peer
  // For tiles in shared memory: one pass over what this member gives, and, where that jumps less,
  // one over what it gets; with copies that one alone.
  std::optional<copy::Pass> push_;
  std::optional<copy::Pass> pull_;

  std::uint64_t runs_ = 0;            ///< with copies; the same on all members
  std::vector<std::uint64_t> words_;  ///< what each member has told at entry
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> targets_;
};

}  // namespace retile::team
