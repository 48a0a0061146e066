// What the files of tiles say of the tiles of a run: whether those of the start are alike where devices
// hold the same, and what those of the end must be.
//
// Without addition an element is where some file has it. Of addends it is what the Program makes of
// them, added in the Program's order (exec/add/sums.h), so that floating sums have but one value.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/core/tile_stretches.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/sums.h"
#include "retile/exec/executor/executor.h"
#include "retile/program/program.h"
#include "retile/run/files.h"
#include "retile/run/report.h"
#include "retile/run/tiles.h"

namespace retile::run {

/// The side of one process. Nothing is collective.
class Comparison {
 public:
  /// \param program  right (`check`), as are its sums then; it outlives this object, as do the files
  /// \param devices  of this process
  /// \error limit_reached (sums that take too much memory); as tile_shapes() and Adder::make
  [[nodiscard]] static Result<Comparison> make(const TileFiles& files, const Program& program,
                                               Executor::Devices devices);

  /// Opens every file that the comparison of the end will read.
  /// \error bad_file, inapplicable (an element of the end that no device holds at the start)
  [[nodiscard]] Result<void> reach() const;
  /// Compares the tiles of the start with those of lower devices, where they hold the same.
  /// \error bad_file (two that differ; an unreadable file), file_error
  [[nodiscard]] Result<void> compare_replicas(Executor& executor, Buffer& buffer) const;
  /// The first wrong element of the end, on the lowest device that has one.
  /// \param told  of the elements that are compared
  /// \error as reach(); file_error
  [[nodiscard]] Result<std::optional<Mismatch>> find_mismatch(
      Executor& executor, Buffer& buffer, const std::function<void(Size)>& told) const;

  /// Bytes of the sums, counted as they were made.
  [[nodiscard]] Size held_bytes() const { return sums_ ? sums_->making_bytes : 0; }

 private:
  Comparison(const TileFiles& files, const Program& program, Executor::Devices devices)
      : files_(&files), program_(&program), devices_(devices), held_(program.array_from()) {}

  using Visit = std::function<Result<void>(const add::SumBox& box, const add::Term& target)>;
  [[nodiscard]] Result<void> each_sum(const Visit& visit) const;
  [[nodiscard]] Result<std::vector<TilePart>> each_copy(const Layout& layout, Size device,
                                                        Size first, Size holders,
                                                        const Visit& visit) const;
  struct Reading {
    OpenTiles files;
    Buffer& buffer;
  };
  [[nodiscard]] Result<std::optional<Size>> difference(const add::SumBox& box,
                                                       const add::Term& target,
                                                       std::span<const std::byte> tile,
                                                       const Shape& shape, Reading& reading) const;
  [[nodiscard]] static Result<void> read(const add::Term& term, const Box& block, Size reader,
                                         std::span<std::byte> out, Reading& reading);

  const TileFiles* files_;
  const Program* program_;
  Executor::Devices devices_;
  TileStretches held_;  // at the start
  std::optional<add::Adder> adder_;
  std::optional<add::Sums> sums_;  // of a Program that adds
};

}  // namespace retile::run
