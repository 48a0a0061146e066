// What a statement reads and writes on each device, and the layouts that say so. Room-internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partition.h"
#include "statements.h"

namespace retile::array {

/// (device div stride) mod size
struct Digit {
  Size stride = 1;
  Size size = 1;
  friend bool operator==(const Digit&, const Digit&) = default;
};

/// What cuts a variable: digits of the device number, minor to major.
struct Cut {
  std::vector<Digit> digits;
  std::string cause = {};

  [[nodiscard]] Size pieces() const;
  /// Which piece a device has.
  [[nodiscard]] Size number(Size device) const;
};
using Cuts = std::vector<std::optional<Cut>>;  // by variable

/// Who does what.
struct Grid {
  std::vector<std::pair<std::string, Size>> axes;  ///< of the mesh, major to minor
  Size devices = 1;
  std::vector<Cuts> cuts;  ///< by statement

  /// `a`, or `6:4` where no axis is the digit; several with commas.
  [[nodiscard]] std::string text(const Cut& cut) const;
};

/// What one statement reads or writes of one array, with one set of factors: all its boxes.
struct Use {
  std::size_t array = 0;
  /// By dimension, all constants that are met. An index of another array may be any: the dimension is whole.
  std::vector<std::vector<Subscript>> subscripts;
};
/// What a statement reads. \param use_of  for every read its use
[[nodiscard]] std::vector<Use> uses_of(const Statement& statement,
                                       std::vector<std::size_t>& use_of);
/// What it writes.
[[nodiscard]] Use written_by(const Statement& statement);

/// Whether the left side has the variable.
[[nodiscard]] bool is_written(const Statement& statement, std::size_t variable);

/// `sum{k}`: how the values of cut variables that the left side lacks meet; nothing where none is cut.
/// Fails where a piece without work has no neutral element (text::Failure).
[[nodiscard]] std::string addition_of(const Statement& statement, const Grid& grid,
                                      const Cuts& cuts);

/// Whether tiles of a layout may leave elements out, so that what comes next cannot come from them: boxes that
/// are listed may.
[[nodiscard]] bool may_leave_out(std::string_view layout);

/// Layouts from boxes.
class Matching {
 public:
  Matching(const Grid& grid, const Statement& statement, const Cuts& cuts)
      : grid_(grid), statement_(statement), cuts_(cuts) {}

  /// The layout whose boxes are what each device uses of an array, as text: a type if one has them,
  /// else all boxes. Fails where these would be too many (text::Failure).
  [[nodiscard]] std::string layout(const Use& use, const Shape& shape,
                                   const std::string& addition) const;

  /// The values of every variable on a device.
  [[nodiscard]] std::vector<Interval> ranges(Size device) const;

 private:
  [[nodiscard]] bool is_cut(const Subscript& subscript) const;
  /// constraint(); fails where no box would do.
  [[nodiscard]] Interval box_of(const std::vector<Subscript>& subscripts,
                                const std::vector<Interval>& ranges) const;
  [[nodiscard]] std::optional<std::string> dimension(const std::vector<Subscript>& subscripts,
                                                     Size n) const;
  [[nodiscard]] std::string listed(const Use& use, const Shape& shape) const;

  const Grid& grid_;
  const Statement& statement_;
  const Cuts& cuts_;
};

/// Fails where a layout that stands in the text is none over this mesh, or not of its array
/// (text::Failure).
void check_layouts(const Statements& statements, const std::string& mesh);

/// The module of the statements, cut like this. Fails as partition() (text::Failure).
[[nodiscard]] std::string module_of(const Statements& statements, Grid grid);

}  // namespace retile::array
