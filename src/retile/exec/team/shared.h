// An Exchange between members of a team: straight into each other's tiles where these lie in shared
// memory, through small shared slots where they are private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/team/team.h"
#include "retile/program/ops.h"

namespace retile::team {

class SharedProtocol;

/// What is exchanged; the same on all members.
struct SharedProblem {
  Exchange exchange;
  Shape in_tile;   ///< every member's tile before
  Shape out_tile;  ///< and after
  Size element_bytes = 0;
  /// Whether the exchange fills the new tiles; else what it does not write is left as it is.
  bool whole = true;
};

/// What is wrong with a problem for that many members, if anything: bad_device, bad_dimension,
/// bad_argument, size_overflow. Overlaps of boxes are not looked for.
[[nodiscard]] std::optional<Diagnostic> fault(int members, const SharedProblem& problem);

/// The same on all members.
struct SharedOptions {
  /// Where in every member's memory its slots begin.
  Size slots_offset = 0;
  /// Most bytes of slots per member, and the bytes of its memory that are kept for them. 0: the
  /// exchange refuses tiles outside shared memory.
  Size slots_bytes = Size{1} << 20;
  /// For small tiles: a run copies the old tile to one of two places in shared memory, from where
  /// the others take it, and waits once instead of twice. Slots are then not needed.
  bool copies = false;
  /// Where in every member's memory copies_bytes() begin that belong to this exchange alone.
  Size copies_offset = 0;
};

/// Bytes that two copies of a tile take.
[[nodiscard]] constexpr Size copies_bytes(Size in_bytes) { return 2 * ((in_bytes + 63) / 64 * 64); }

/// A number by which members find out that they were given different problems by mistake.
[[nodiscard]] std::uint64_t hash_of(const SharedProblem& problem, const SharedOptions& options);

/// The way a run took.
enum class SharedPath {
  direct,  ///< written straight into the peers' tiles
  staged,  ///< through slots
  copied,  ///< from copies of the old tiles
};

/// Built once, run many times. Building and running are collective: all members call them in the
/// same order. Nothing is allocated by run().
///
/// Precondition, judged by `check` and not here: no two transfers of a target overlap. (That boxes
/// lie within their tiles, and that their sizes add up to the tile, is looked at here.)
class SharedExchange {
 public:
  /// \param team  outlives the exchange
  /// \error bad_device, bad_dimension, bad_argument, size_overflow: all members, where it is one's
  ///        own fault with the place, else by the same code; disagreement; team_broken
  [[nodiscard]] static Result<SharedExchange> create(Team& team, const SharedProblem& problem,
                                                     const SharedOptions& options = {});

  SharedExchange(SharedExchange&&) noexcept;
  SharedExchange& operator=(SharedExchange&&) noexcept;
  ~SharedExchange();

  /// Moves `in`, this member's tile, to where it belongs; `out` is complete on return, and nobody
  /// reads `in` any more. Copied if the options say so. Direct where every member's `out` lies in
  /// its own shared memory, or every `in` and pulling jumps less; else staged. The two may not
  /// overlap each other or the slots.
  /// \error bad_argument (before anything moves, on all members), team_broken (`out` is undefined)
  [[nodiscard]] Result<SharedPath> run(std::span<const std::byte> in, std::span<std::byte> out);

  /// Bytes that this member holds for the exchange: slots and descriptions of boxes; not the tiles
  /// and their copies.
  [[nodiscard]] Size held_bytes() const;

 private:
  explicit SharedExchange(std::unique_ptr<SharedProtocol> protocol);
  std::unique_ptr<SharedProtocol> protocol_;
};

/// What held_bytes() never exceeds, slots included, for a member that takes part in `transfers`
/// transfers (one that goes from it to itself counts twice) of arrays of `rank` dimensions.
[[nodiscard]] Size shared_bound_bytes(int members, Size transfers, std::size_t rank,
                                      const SharedOptions& options);

}  // namespace retile::team
