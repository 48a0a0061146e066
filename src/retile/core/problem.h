// A redistribution problem: two layouts of one global array over the same devices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "retile/core/device_numbers.h"
#include "retile/core/device_table.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"

namespace retile {

/// How somebody wrote the two ends of a Problem, in whatever notation. For printing only: what a
/// Problem asks is said by its layouts.
struct Spelling {
  Mesh mesh;  ///< of `from`, and of `to` where it has none of its own
  std::string from;
  std::string to;
  std::optional<Mesh> mesh_to = {};          ///< of `to`
  std::optional<std::string> order = {};     ///< the device at each position of `mesh`
  std::optional<std::string> order_to = {};  ///< likewise at the end
  /// Why an end is no tiling in digits of the device number though its type is one: who stands where.
  std::optional<std::string> scattered = {};
  std::optional<std::string> scattered_to = {};
  bool is_counted = false;  ///< devices are counted as the orders list them (Problem::numbers)
  /// Whether position p is device p at both ends: then axes name digits of the device number.
  [[nodiscard]] bool in_order() const { return is_counted || (!order && !order_to); }
};

/// The ends of a Problem as layouts of positions, where an iota says which device stands at each.
struct Placed {
  Layout from;
  Layout to;
  DeviceTable device_at;  ///< one row, a device for each position, at both ends
};

/// What `plan` solves.
struct Problem {
  Layout from;
  Layout to;
  std::optional<Spelling> spelling = {};
  /// Where an iota says who stands where, and the same at both ends. It adds nothing to what is
  /// asked: collectives of positions are found as those of devices are.
  std::optional<Placed> placed = {};
  DeviceNumbers numbers = {};  ///< what its devices are called
  Size divisor = 1;            ///< of what is added: the addends are those of an average

  /// Without a spelling.
  /// \error bad_argument (the ends have different numbers of devices), rank_mismatch,
  ///     globaltype_mismatch (Sec. 2.5)
  [[nodiscard]] static Result<Problem> make(Layout from, Layout to);
};

/// Whether the addends of `to` can be made of those of `from` by adding: both add alike, and the
/// addends of `to` are groups of those of `from`, all of one size. A stack stays as it is.
/// \error infeasible
[[nodiscard]] Result<void> check_addends(const Layout& from, const Layout& to);
/// The same where somebody has written the steps: those may make addends of an array.
[[nodiscard]] Result<void> check_written_addends(const Layout& from, const Layout& to);

/// A refusal without a place, and the dimension that it is about.
struct ShapeViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> dim;  ///< where sizes differ; nothing: the ranks do
};

/// Why two global shapes, called by these names in the message, are not of one array; nothing if
/// they are. [Sec. 2.5]
[[nodiscard]] std::optional<ShapeViolation> find_violation(std::string_view from_name,
                                                           const Shape& from,
                                                           std::string_view to_name,
                                                           const Shape& to);

}  // namespace retile
