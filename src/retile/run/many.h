// One run of many arrays: all data in, all moved, every element of every array verified.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/program/program.h"
#include "retile/run/files.h"
#include "retile/run/report.h"

namespace retile::run {

/// Arrays that go as one, of which they are equal parts one after the other in every tile.
struct Batch {
  const Program* program = nullptr;
  std::unique_ptr<Executor> executor;  ///< made of the Program
  Size element_bytes = 4;
  Size arrays = 1;
};

/// The first wrong element, of the lowest process that has one.
struct WrongArray {
  std::size_t batch = 0;
  Size array = 0;  ///< among those of its batch
  Size device = 0;
  Size local_index = 0;  ///< in the tile of this array
  friend bool operator==(const WrongArray&, const WrongArray&) = default;
};

/// The same on all processes.
struct ManyReport {
  std::optional<WrongArray> wrong;
  Size repetitions = 0;
  Size elements_checked = 0;  ///< of right arrays, summed over processes
  /// Median over repetitions of the slowest process, between barriers, of moving all arrays.
  double seconds = 0;
  Size bytes_per_process = 0;       ///< most received from others by one, per repetition
  Size peak_bytes_per_process = 0;  ///< largest sum of live buffers
  Size peak_limit_bytes = 0;        ///< what that cannot exceed
  std::vector<std::string> ways;    ///< how the data went, each way once
};

/// Collective over the processes of the executors, which are the same for all and hold the tiles of all
/// arrays from the first to the last. Data is the generated array of each batch.
/// \param progress  told on process 0, in bytes, of `generate` and `verify`, and in repetitions of `move`
/// \error the executors' own, on all processes
/// Preconditions: a batch and a repetition at least; Programs without addends, which `check` calls right.
[[nodiscard]] Result<ManyReport> run_many(const std::vector<Batch>& batches, Size repetitions,
                                          const Progress& progress);

}  // namespace retile::run
