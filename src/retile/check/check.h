// Checking: replays a Program and says whether it is right, and if not, where it goes wrong first.
#pragma once

#include <limits>
#include <optional>

#include "retile/core/size.h"
#include "retile/program/program.h"
#include "retile/program/reason.h"

namespace retile {

enum class Answer { right, wrong, undecided };

/// The verdict on one Program. Fields and their meaning for wrong Programs: docs/reference/program.md.
struct Verdict {
  Answer answer = Answer::undecided;
  bool within_bound = false;  ///< height <= bound
  Size height = 0;            ///< largest tile size seen, both ends included
  Size bound = 0;             ///< the larger of the two ends
  Size cost = 0;              ///< Fig. 11, of the steps that were replayed
  Size steps = 0;             ///< number of steps of the Program
  bool out_of_time = false;   ///< when undecided: whether that is since the time was up

  // When wrong (first_wrong_step, reason) or undecided (reason = limit):
  std::optional<Size> first_wrong_step;
  std::optional<Reason> reason;
  std::optional<Size> device;
  std::optional<Shape> at;       ///< local index; of transfers alone without element and found
  std::optional<Shape> element;  ///< global index expected there
  std::optional<Shape> found;    ///< global index that is there
  // Of addends and replicas, and of map claims that fail in such a way:
  std::optional<Size> addend;         ///< of the element
  std::optional<Size> times;          ///< how often it is there
  std::optional<Size> replica;        ///< the device that must hold the same
  std::optional<Size> replica_times;  ///< how often it is there on that device
};

struct CheckOptions {
  /// Most pieces (boxes of elements that lie together) that the replay may hold over all devices;
  /// 64 bytes each, so this is what bounds the memory. Where elements are held one by one, a
  /// quarter of it.
  Size piece_limit = Size{1} << 26;
  /// After so many seconds the verdict is undecided, and out_of_time. Kept to within about a
  /// second, whatever the Program.
  double timeout_seconds = std::numeric_limits<double>::infinity();
};

/// Replays `program` on the devices' arrays of global indices, held as boxes where they are boxes.
/// Exact for every Program; undecided only past a limit or when a size overflows.
/// \complexity independent of the devices as long as base offsets are sums over digits of the
///     device number, which Programs of the planner keep; O(devices * rank) per step as long as
///     every device holds one box; otherwise, per step, about as many numbers as there are boxes of
///     elements that lie together, or elements that have always moved together, whichever is less
[[nodiscard]] Verdict check(const Program& program, const CheckOptions& options = {});

}  // namespace retile
