// A step as boxes that go from process to process in one order. Not a public header.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/order.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/exec/mpi/collectives/member_boxes.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/program/ops.h"

namespace retile::mpi {

/// Every box is sent, received, and copied or added before the next one of its sender or receiver.
///
/// No deadlock: all processes go through the boxes in one order, first the first box of every
/// target, then the second, and so on. Of all that are not through, the first in that order is the
/// next one of both its ends.
class OrderedMove {
 public:
  /// \param transfers  sorted by target, and of one in the order in which they come there
  /// \param before, after  this process's tile
  /// \param adder, manner  of a step that adds
  /// \param comm  numbers devices as the transfers do; outlives the move
  OrderedMove(std::vector<Transfer> transfers, const Shape& before, const Shape& after,
              const std::optional<add::Adder>& adder, const std::optional<add::Manner>& manner,
              const Communicator& comm, const Limits& limits);

  /// Bytes of the buffer that it needs.
  [[nodiscard]] Size buffer_bytes() const { return 2 * round_bytes_; }
  /// Collective over the devices of the transfers. The two tiles do not overlap.
  [[nodiscard]] Result<void> operator()(const std::byte* from, std::byte* to, std::byte* buffer);

 private:
  /// What this process does about one box.
  struct Action {
    int source = 0;
    int target = 0;
    Size bytes = 0;
    bool adds = false;
  };
  /// Brings a part of a box to this process's tile, from where it lies packed.
  void take(const Action& action, copy::BoxStream::Cursor& at, const std::byte* packed,
            std::byte* to, std::byte* spare, Size bytes);

  const Communicator& comm_;
  std::optional<add::Adder> adder_;
  bool clears_ = false;
  Size out_bytes_;
  Size element_bytes_;
  Size round_bytes_ = 0;  // of a box, at most
  std::vector<Action> actions_;
  std::optional<copy::BoxStream> sends_, receives_;  // boxes in the order of the actions
};

}  // namespace retile::mpi
