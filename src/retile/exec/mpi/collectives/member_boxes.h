// The boxes of a tile that go to the members of a group, or come from them. Not a public header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/task.h"
#include "retile/program/ops.h"

namespace retile::mpi {

/// The most bytes that go through a buffer, or without one, at once.
struct Limits {
  explicit Limits(const Task& task)
      : chunk_bytes(std::min(task.chunk_bytes, most_message_bytes)),
        message_bytes(task.options.message_bytes),
        element_bytes(task.element_bytes) {}
  Size chunk_bytes;
  Size message_bytes;
  Size element_bytes;

  /// The most bytes of each of `parts` parts that one round may take within `budget`: whole
  /// elements, at least one, and no more than a part has.
  [[nodiscard]] Size round_bytes(Size budget, Size parts, Size part_bytes) const {
    const Size share = budget / parts / element_bytes * element_bytes;
    return std::min(part_bytes, std::max(share, element_bytes));
  }
};

/// How the boxes of a tile are handed to MPI.
enum class Handling {
  packed,   ///< one behind the other in a buffer, a part of each in a round
  in_place  ///< where they lie in the tile, each in one piece and before byte 2^31
};

/// At most one box for each member. Nothing is allocated after construction.
class MemberBoxes {
 public:
  /// \param transfers  between members, by their places in the group; those without this process at
  ///     that end are left out
  /// \param tile       of this process, at that end
  MemberBoxes(copy::End end, std::span<const Transfer> transfers, const Shape& tile,
              const Communicator& group, Size element_bytes, Handling handling);

  /// Of the box of a member, 0 where there is none.
  [[nodiscard]] const std::vector<Size>& bytes() const { return bytes_; }
  [[nodiscard]] bool is_packed() const { return handling_ == Handling::packed; }

  /// Goes to the round that moves the bytes of every box from `begin` on, at most so many of each.
  void go_to(Size begin, Size most);
  /// What the round moves.
  [[nodiscard]] const Parts& parts() const { return parts_; }
  /// Between the tile and the buffer of the round; nothing is done in place.
  void pack(const std::byte* tile, std::byte* packed);
  void unpack(const std::byte* packed, std::byte* tile);

 private:
  /// \param own  those with this process at that end
  MemberBoxes(copy::End end, const std::vector<Transfer>& own, const Shape& tile,
              std::size_t members, Size element_bytes, Handling handling);
  template <typename Move>
  void each(const Move& move);

  Handling handling_;
  std::vector<Size> bytes_;
  std::vector<Size> offsets_;       // in the tile, where boxes are handled in place
  std::vector<std::size_t> boxes_;  // of the stream, where there are bytes
  copy::BoxStream stream_;
  Size begin_ = 0;
  Parts parts_;
};

}  // namespace retile::mpi
