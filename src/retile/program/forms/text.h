// The text form `retile.program/1`, in and out. Grammar: docs/reference/program.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile {

/// Reads a file's text: one or more Programs, each from its header on.
/// \param source  the file's name in diagnostics, which say `source:line` and point into that line
/// \error syntax, bad_number, bad_program, bad_device, bad_dimension, and all of mesh and tiling
/// errors
[[nodiscard]] Result<std::vector<Program>> parse_programs(std::string_view text,
                                                          std::string_view source = "");

/// The text form of one Program, ready to read back: parse_programs(to_text(p)) gives {p} for every
/// Program that a reader or `lower` made. Digits that are axes print by name. Ends with a newline.
///
/// What the form has one spelling for comes back in that spelling: a tile map in ordered form as
/// listed offsets, a chain whose only stage is `[N]` without transpose as the chain without stages,
/// a mesh without axes as no mesh.
[[nodiscard]] std::string to_text(const Program& program);

/// What the forms begin with: `retile.program/`, and the first version that says the Program.
[[nodiscard]] std::string schema_of(const Program& program);

/// A certificate: the Program, lines of `facts` or `to_text(Certificate)` or both, and the line
/// `end`, without which nobody takes it for whole.
[[nodiscard]] std::string certificate_text(const Program& program, std::string_view lines);

/// One step as a line without newline; `mesh` as in to_text(Layout). The rows of an `at` claim are
/// cut by the rank of the map claim, else of the tile claim, else 1: a step alone does not know the
/// array.
[[nodiscard]] std::string to_text(const Step& step, const Mesh* mesh);

/// A tiling as `from` and `to` write it: in brackets where digits of the device number can say it,
/// else `tile=[..] global=[..] at=[[..],..]`.
[[nodiscard]] std::string tiling_to_text(const Layout& map, const Mesh* mesh);

/// A table as the form writes it: `[8,3]<=[24]`, `[[0,4],[1,5]]`; a source or part list as
/// `[24]<=...` or `[0,2,1]`.
[[nodiscard]] std::string groups_to_text(const DeviceTable& table);
[[nodiscard]] std::string list_to_text(const DeviceTable& table);

/// Reads who stands where: `[3,1,0,2]`, or an iota, `[6]<=[3,2]T(1,0)`, which says the device at each
/// position of a mesh. Devices are below 2^31.
/// \param source  what the text is called in diagnostics (`--order`)
/// \error syntax, bad_number, bad_program (another number of entries, one twice); each points into
///     `text`
[[nodiscard]] Result<DeviceTable> parse_order(std::string_view text, Size positions,
                                              std::string_view source = "");
}  // namespace retile
