// Runs exchanged between the members of a group where they lie.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/team/team.h"

namespace retile::team {

/// Every member has `batches` matrices of blocks, one after the other. What the members of a group
/// have in one batch is turned as if it were one matrix, one row per member:
///
///   [members][members * columns] becomes its transpose, read in the same order of members
///   (turned_before: the other way).
struct BlockTurn {
  Size members = 1;
  Size columns = 1;  ///< blocks that each member has for each
  Size block_bytes = 1;
  Size batches = 1;
  bool turned_before = false;
};

/// One member's share of a turn: blocks follow the cycles of their permutation, straight from where
/// one lies, in whosever memory, to where it belongs, so all bytes are read and written once. All
/// blocks, in the order of their cycles, are dealt out to the members in equal parts. Where a cycle
/// is cut, who has the part before a cut keeps the block behind it, which another member
/// overwrites.
class Cycles {
 public:
  /// Bytes that are copied at once, so that what is overwritten next is still in the first cache.
  static constexpr Size most_bytes = Size{16} << 10;
  /// Cuts of one member's part.
  static constexpr Size most_cuts = 2;

  /// \param members        of the group, turn.members of them
  /// \param position       of this member among them
  /// \param scratch_bytes  what run() and keep() will be given, at least most_cuts
  /// \param marks          a bit for every block of a batch of all members; with fewer, a cycle is
  ///                       found by walking it. Used as long as this object
  Cycles(const BlockTurn& turn, std::vector<int> members, Size position, Size scratch_bytes,
         std::span<std::byte> marks);

  /// Blocks of a batch of all members.
  [[nodiscard]] static Size blocks_of(const BlockTurn& turn) {
    return turn.members * turn.members * turn.columns;
  }

  /// Bytes of marks that it uses, if it gets so many.
  [[nodiscard]] static Size mark_bytes(const BlockTurn& turn) { return (blocks_of(turn) + 7) / 8; }

  /// To be called on all members before run() is called on any.
  void keep(const Team& team, std::span<std::byte> scratch);
  /// Moves this member's part.
  /// \param scratch  as keep() has left it
  void run(std::span<std::byte> scratch) const;

 private:
  /// Where a block lies.
  struct Place {
    Size member = 0;
    Size index = 0;
    friend bool operator==(const Place& a, const Place& b) {
      return a.member == b.member && a.index == b.index;
    }
  };
  /// A part of a cycle.
  struct Walk {
    Place first;
    Place stop;  ///< whose block belongs to the last place
  };
  /// What lies in some layers: cut cycles, of one layer only, and whole ones.
  struct Part {
    Size layer_begin = 0;
    Size layer_end = 0;
    std::vector<Walk> cut;
    Size leaders_begin = 0;
    Size leaders_end = 0;
  };

  [[nodiscard]] Place place_of(Size block) const { return {block / row_, block % row_}; }
  [[nodiscard]] Size number_of(const Place& place) const {
    return place.member * row_ + place.index;
  }
  /// Where the block comes from that belongs to `place`.
  [[nodiscard]] Place source_of(const Place& place) const;
  [[nodiscard]] bool leads(Size block) const;
  void mark_leaders(std::span<std::byte> marks);
  [[nodiscard]] Part part_of(Size layer_begin, Size layer_end, Size begin, Size end) const;
  template <typename Function>
  void for_each_cut(const Function& function) const;
  [[nodiscard]] Size bytes_in(Size layer) const;  // of each block
  void copy(Size layer, std::byte* target, Size target_stride, const std::byte* source,
            Size source_stride) const;
  [[nodiscard]] std::byte* at(Size layer, const Place& place) const;
  void follow(Size layer, const Walk& walk, const std::byte* kept) const;

  BlockTurn turn_;
  std::vector<int> members_;
  std::vector<std::byte*> memories_;  // of the group, while it runs
  Size row_ = 1;                      // blocks of a member in a batch
  Size batch_bytes_ = 1;              // of a member
  Size together_ = 1;                 // batches whose blocks move together
  Size slice_bytes_ = 1;              // of a block that move together
  Size slices_ = 1;
  std::span<const std::byte> leaders_;  // a bit per block; empty: found by walking
  std::vector<Part> parts_;
};

}  // namespace retile::team
