// Sums of tiles that no other process sees: packed addends go to who adds them, packed sums to who
// needs them, in rounds of bounded size.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/recipe.h"
#include "retile/exec/add/shares.h"
#include "retile/exec/add/sums.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/program/tile_shapes.h"

namespace retile::add {

/// What goes through buffers; the same on all processes.
///
/// The shares of an owner, one behind the other, are cut into *windows*, one for each round. For
/// every window each process packs the addends that it has into a *parcel* for the owner. The owner
/// makes the sums and puts them one behind the other. Everyone takes those that it needs.
struct RoundSizes {
  Size window = 1;   ///< elements of a window, at most
  Size parcels = 1;  ///< windows that fit into a parcel: an addend may come several times from one
  Size rounds = 0;
};

/// Everything that does not depend on a process, once.
class Rounds {
 public:
  Rounds(const Sums& sums, Size element_bytes);

  [[nodiscard]] RoundSizes sizes(Size window) const;
  /// Most windows that a parcel takes the place of.
  [[nodiscard]] Size parcels() const { return parcels_; }
  [[nodiscard]] const std::vector<std::vector<Share>>& shares() const { return shares_; }
  /// What RoundsOf::held_bytes() never exceeds for any process.
  [[nodiscard]] Size bound_bytes(const Sums& sums, std::size_t rank) const;

 private:
  std::vector<std::vector<Share>> shares_;
  Size parcels_ = 1;
  Size longest_ = 0;  // elements of an owner
};

/// One process's side. Nothing is allocated after it is made.
class RoundsOf {
 public:
  RoundsOf(int process, const Sums& sums, const Rounds& rounds, RoundSizes sizes,
           const DeviceShapes& in_tiles, const DeviceShapes& out_tiles, Size element_bytes,
           const std::optional<Adder>& adder);

  /// Packs this process's parcel of a round for an owner. Returns its bytes.
  Size pack(Size round, int owner, const std::byte* in, std::byte* parcel);
  /// Bytes of the parcel that pack() makes, and of that which this owner gets.
  [[nodiscard]] Size sent_bytes(Size round, int owner) const;
  [[nodiscard]] Size received_bytes(Size round, int source) const;
  /// Makes this owner's sums of a round.
  /// \param parcels  of all processes
  void make(Size round, std::span<const std::byte* const> parcels, std::byte* sums);

  /// Bytes of the sums of a window.
  struct Range {
    Size begin = 0;
    Size end = 0;
    [[nodiscard]] Size bytes() const { return end - begin; }
  };
  /// Which of an owner's sums this process needs, and a process of this owner's.
  [[nodiscard]] Range taken(Size round, int owner) const;
  [[nodiscard]] Range given(Size round, int target) const;
  /// Brings an owner's sums to their places.
  /// \param sums  where the owner's window begins
  void take(Size round, int owner, const std::byte* sums, std::byte* out);

  [[nodiscard]] Size held_bytes() const;

 private:
  /// Elements of an owner's sums, as they come in its shares.
  struct Piece {
    Size position = 0;
    Size elements = 0;
    std::size_t box = 0;  // of a stream, or what make() adds
    Size begin = 0;       // in that box
  };
  using Pieces = std::vector<Piece>;
  struct Addends {
    std::size_t recipe = 0;
    std::size_t sources = 0;  // where they begin in sources_
  };
  template <typename Function>
  void for_each(const Pieces& pieces, Size round, const Function& function) const;
  [[nodiscard]] Range range(const Pieces& pieces, Size round) const;
  void find(const Sums& sums, const Rounds& rounds, const DeviceShapes& in_tiles,
            const DeviceShapes& out_tiles);
  void add_own(const SumBox& box, Size position, const Share& share);

  int process_;
  RoundSizes sizes_;
  Size element_bytes_;
  std::optional<Adder> adder_;
  std::optional<copy::BoxStream> packs_, takes_;
  std::vector<Pieces> sent_, taken_, given_, received_;  // by the other process
  Pieces own_;
  std::vector<Addends> addends_;
  std::vector<int> sources_;
  std::vector<Recipe> recipes_;
  std::vector<const std::byte*> next_;    // by process, of its parcel
  std::vector<const std::byte*> blocks_;  // of the addends
  std::vector<std::byte> scratch_;
};

}  // namespace retile::add
