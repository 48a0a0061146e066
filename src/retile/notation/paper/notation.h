// The paper's notation, in and out: meshes `x:4,y:6` and types `[3{x}12, 2{y}12]`.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/notation/paper/dist_type.h"

namespace retile {

/// Reads `x:4,y:6`. Blanks are free; names are [A-Za-z_][A-Za-z0-9_.-]* or any text in double
/// quotes.
/// \param source  what the text is called in diagnostics (`--mesh`)
/// \error empty_mesh, syntax, duplicate_axis, bad_number (zero, negative, 20 digits),
///     too_many_devices; each points into `text`
[[nodiscard]] Result<Mesh> parse_mesh(std::string_view text, std::string_view source = "");

/// Reads `[3{x}12, 2{y}12]`: tile{axes, minor to major}global per dimension; `12` means 12{}12; an
/// axis may repeat its size (`184{c:2}368`). Axes of size 1 are dropped.
/// \error syntax, bad_number, unknown_axis, axis_used_twice, axis_size_mismatch, ill_formed_type,
///     size_overflow; each points at the number, axis or dimension meant, names the rule and offers
///     a repair where there is one
[[nodiscard]] Result<DistType> parse_type(std::string_view text, const Mesh& mesh,
                                          std::string_view source = "");

/// Reads a type that may be more than the paper's: `3{x}10` with a short last tile, blocks
/// `4~{x}10`, balanced tiles `3={x}10`, listed cuts `(0,3,10){x}10`, halos `3{x}12<1,1>`, parts of axes `2{x:(2)3}6`, and
/// `[9, 4]@3`, which device 3 holds whole.
/// \error as parse_type, and bad_device (a device that the mesh does not have)
[[nodiscard]] Result<Layout> parse_layout(std::string_view text, const Mesh& mesh,
                                          std::string_view source = "");

/// `x:4,y:6`; names that are no identifiers in double quotes.
[[nodiscard]] std::string to_text(const Mesh& mesh);

/// Canonical: ", " between dimensions, "," between axes, `12` for `12{}12`.
[[nodiscard]] std::string to_text(const DistType& type);

/// A compact layout as a bracket tiling: a digit that is a whole axis by its name, any other as
/// `stride:size`; without a mesh all are `stride:size`. Neighbouring digits that make up an axis or
/// a longer digit are joined. Precondition: layout.is_compact().
[[nodiscard]] std::string to_text(const Layout& layout, const Mesh* mesh);

}  // namespace retile
