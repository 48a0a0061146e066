// Checking: replays a Program and says whether it is right, and if not, where it goes wrong first.
#pragma once

#include <limits>
#include <optional>
#include <variant>

#include "retile/core/size.h"
#include "retile/program/program.h"
#include "retile/program/reason.h"

namespace retile {

enum class Answer { right, wrong, undecided };

/// What shows that a Program is wrong. Devices have the numbers that the Program calls them. In all of it `at` is a local index of the device, `element` the
/// global index expected there, and `found` the global index that is there.
struct Witness {
  struct OtherElement {
    Shape at;
    Shape element;
    Shape found;
  };
  /// Of a step that cannot be applied: what is there before it has no place after it, or several.
  struct StuckElement {
    Shape at;
    Shape element;
  };
  /// Of a tile of another shape: it has no such place.
  struct MissingElement {
    Shape at;
    Shape element;
  };
  /// Of a tile of another shape: it should have no such place.
  struct SpareElement {
    Shape at;
    Shape found;
  };
  /// Of transfers: the beginning of a box that leaves its tile, or a place that is not written once.
  struct OtherPlace {
    Shape at;
  };
  /// An addend that is not there as often as it should be.
  struct OtherAddend {
    /// A device that must hold the same.
    struct Replica {
      Size device = 0;
      Size times = 0;
    };
    Shape at;
    Shape element;
    Size addend = 0;
    Size times = 0;
    std::optional<Replica> replica = {};
  };

  std::optional<Size> device = {};
  /// Nothing: no element is known that shows it.
  std::variant<std::monostate, OtherElement, StuckElement, MissingElement, SpareElement, OtherPlace,
               OtherAddend>
      sign = {};
};

/// Calls the devices of a witness, which is of devices as they are counted, by their numbers.
[[nodiscard]] Witness called(Witness witness, const DeviceNumbers& numbers);

/// Where and why a Program is wrong.
struct Wrong {
  Size step = 0;  ///< the first wrong one; the number of steps: the end
  Reason reason = Reason::end;
  Witness witness = {};
};

/// The verdict on one Program. What it means for wrong Programs: docs/reference/program.md.
struct Verdict {
  Answer answer = Answer::undecided;
  bool within_bound = false;        ///< height <= bound
  Size height = 0;                  ///< largest tile size seen, both ends included
  Size bound = 0;                   ///< the larger of the two ends
  Size cost = 0;                    ///< Fig. 11, of the steps that were replayed
  Size steps = 0;                   ///< number of steps of the Program
  bool out_of_time = false;         ///< when undecided: whether that is since the time was up
  std::optional<Wrong> wrong = {};  ///< when it is
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
