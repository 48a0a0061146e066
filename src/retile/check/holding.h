// What all devices hold while a Program is replayed, as its judge asks for it, whatever form it has. Private
// to this room.
#pragma once

#include <optional>

#include "retile/check/state.h"
#include "retile/check/witness.h"
#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/program/apply.h"
#include "retile/program/program.h"

namespace retile {

/// How what the devices hold is not what a layout says.
struct Fault {
  Reason reason = Reason::end;
  Witness witness = {};
};

/// What became of a step.
struct Stepped {
  std::optional<Refusal> refusal = {};  ///< why it cannot be applied; then nothing else is said
  Applied applied = Applied::done;
  Shape largest = {};  ///< the largest extents of all tiles after it, whatever became of it
  Size elements = 0;   ///< of the largest tile
};

class Holding {
 public:
  Holding() = default;
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  Holding(Holding&&) = default;
  Holding& operator=(Holding&&) = default;
  virtual ~Holding() = default;

  /// Whether there was room for it at the start.
  [[nodiscard]] virtual bool is_there() const { return true; }
  /// Applies a step. After anything but `done` it is not asked for anything but its tiles.
  [[nodiscard]] virtual Stepped apply(const Step& step) = 0;
  /// What shows that a step cannot be applied.
  [[nodiscard]] virtual Witness refused(const Refusal& refusal) const = 0;
  /// What shows that the tiles after a step are not those that it claims.
  [[nodiscard]] virtual Witness other_tile(const Claims& /*claims*/) const { return {.device = 0}; }
  /// How a claim of where tiles lie fails, if it does.
  [[nodiscard]] virtual std::optional<Witness> broken(const Claims& claims) = 0;
  [[nodiscard]] virtual std::optional<Fault> fault(const Layout& expected) = 0;
  /// The first device that holds no box in order.
  [[nodiscard]] virtual std::optional<Witness> not_a_box() const = 0;
  /// Whether something was too large to be counted, so that all of it means nothing.
  [[nodiscard]] virtual bool is_lost() const { return false; }
};

}  // namespace retile
