// What moves the data of a Program: simulator, MPI processes, GPUs. A run needs no more of it than
// this.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/processes.h"

namespace retile {

/// What an executor has to say of itself after a move, in bytes.
struct ExecutorFigures {
  Size received = 0;  ///< most that a device of this process received from others in one move
  Size peak = 0;      ///< most that was held at once, tiles included
  Size limit = 0;     ///< what `peak` cannot exceed
};

/// A Program made ready to be run many times.
///
/// Everything but the accessors is collective. `tiles` are those of this process's devices: one per
/// process, or all of them.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  [[nodiscard]] virtual const Processes& processes() const = 0;

  /// The devices whose tiles this process has: first .. first + count - 1.
  struct Devices {
    Size first = 0;
    Size count = 1;
  };
  [[nodiscard]] virtual Devices devices() const = 0;
  /// The tile of `from` of one of them, in C order, to be written before the first move; and the
  /// tile of `to`, to be read after a move. Empty where the host cannot reach it.
  [[nodiscard]] virtual std::span<std::byte> input(Size device) = 0;
  [[nodiscard]] virtual std::span<std::byte> output(Size device) = 0;

  /// Writes the generated array into a tile of `from`, or compares one of `to` with it and gives the
  /// local index of the first element that differs. Not collective.
  /// \error cuda_error, from where the tiles lie on devices
  [[nodiscard]] virtual Result<void> generate(const Layout& from, Size device, Size element_bytes);
  [[nodiscard]] virtual Result<std::optional<Size>> find_mismatch(const Layout& to, Size device,
                                                                  Size element_bytes);

  /// Whether a move leaves the inputs as they are.
  [[nodiscard]] virtual bool keeps_input() const { return true; }
  /// What an earlier move left in the outputs must not make up for the next one.
  [[nodiscard]] virtual Result<void> clear_output() = 0;
  /// Moves all inputs to the outputs.
  /// \error on all processes, or the job ends
  [[nodiscard]] virtual Result<void> move() = 0;

  /// How it moves them, and why so, a line each; empty where there is but one way.
  [[nodiscard]] virtual std::string_view way() const { return {}; }
  [[nodiscard]] virtual std::vector<std::string> reasons() const { return {}; }
  [[nodiscard]] virtual ExecutorFigures figures() const = 0;
  /// Whether figures are of processes, which have buffers for files beside the tiles, and not of
  /// devices.
  [[nodiscard]] virtual bool counts_processes() const { return true; }
};

}  // namespace retile
