// The Program: what each of D devices holds at the start, what all do step by step, and what each
// must hold at the end.
//
// Device numbers 0..D-1 are positions, nothing more, whatever the devices are called. Tiles lie in C order. The text and JSON forms
// are in text.h and json.h; what a step does to the devices' arrays is in docs/reference/program.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/device_numbers.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace retile {

/// What a step says about its own result; a false claim makes the Program wrong at that step.
struct Claims {
  std::optional<Shape> tile;            ///< the shape of every tile, or the largest extents
  std::optional<Layout> map;            ///< where the tiles lie, in digits
  std::optional<std::vector<Size>> at;  ///< base offset per device: rank numbers, device by device
  /// shape of the tile per device, likewise; beside `at`, or of an exchange in the place of `tile`
  std::optional<std::vector<Size>> shapes = {};
  friend bool operator==(const Claims&, const Claims&) = default;
};

struct Step {
  Op op;
  Claims claims;
  friend bool operator==(const Step&, const Step&) = default;
};

/// `dynslice`, `allgather`, `alltoall`, `allpermute` or `exchange`.
[[nodiscard]] std::string_view op_name(const Step& step);

/// Whether a step is an exchange, which not everybody runs or proves, and whose `tile` claim alone
/// says the shape of its tiles.
[[nodiscard]] bool is_exchange(const Step& step);

/// The ends of a Program as tiles of the array.
struct ArrayEnds {
  Layout from;
  Layout to;
  friend bool operator==(const ArrayEnds&, const ArrayEnds&) = default;
};

/// One Program. Meshes are only for printing. from, to and map claims have the same global shape;
/// tables hold numbers below `devices`; dimensions are below the rank; an exchange has a tile
/// claim, and the tile and its boxes have the rank and extents of at least 1: readers and `lower`
/// establish this, whoever builds one by hand must, too.
struct Program {
  Size devices = 1;
  std::optional<Mesh> mesh;     ///< names the axes of `from`, and of all others without mesh_to
  std::optional<Mesh> mesh_to;  ///< names the axes of `to` and the claims; another mesh than `mesh`
  Layout from;
  Layout to;
  std::vector<Step> steps;
  /// Where `from` and `to`, and with them all steps, are of a view of the array (Layout::viewed): what is
  /// viewed. Tiles have the same bytes in both.
  std::optional<ArrayEnds> array = {};
  DeviceNumbers numbers = {};  ///< what the devices are called, in the forms and in verdicts

  [[nodiscard]] const Layout& array_from() const { return array ? array->from : from; }
  [[nodiscard]] const Layout& array_to() const { return array ? array->to : to; }
  friend bool operator==(const Program&, const Program&) = default;
};

struct Problem;

/// A Program with the ends of a problem and no step yet, and with the axes that name digits of the
/// device number, if the problem's spelling has such.
[[nodiscard]] Program without_steps(const Problem& problem);

/// How a step adds, if it does.
[[nodiscard]] std::optional<Addition> addition_of(const Step& step);
/// How a Program adds: as `from` says, else `to`, else the first map claim that says it, else the
/// first step that adds; nothing where all hold the array itself and nothing is added.
[[nodiscard]] std::optional<Addition> addition_of(const Program& program);
/// Whether a step goes along several dimensions.
[[nodiscard]] bool over_dims(const Step& step);

/// What is true of a whole Program, for those who say why they do not take it.
struct Traits {
  std::optional<Addition> addition;  ///< addition_of() it
  /// All tiles have one shape before and after every step, and the form says so.
  bool alike = true;
  bool grid = false;     ///< a step goes along several dimensions
  bool in_boxes = true;  ///< what ends and claims say of tiles are boxes
  bool listed = false;   ///< an end or a claim lists boxes, device by device
  int version = 1;       ///< the first one of the forms that can say it

  /// What of its steps and tiles the first version of the forms cannot say, in words: why who takes no other
  /// refuses it. Nothing where that version says them; a view of the array is none of them.
  [[nodiscard]] std::optional<std::string_view> beyond_first_version() const;
};
/// O(steps), whatever their tables.
[[nodiscard]] Traits traits_of(const Program& program);

}  // namespace retile
