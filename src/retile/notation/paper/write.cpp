#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/core/names.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/type_text.h"

namespace retile {
namespace {

/// The digit cut at the strides of the mesh's axes, minor to major; where an axis boundary does not
/// divide it, it stays whole.
std::vector<Digit> cut(Digit digit, const Mesh& mesh) {
  std::vector<Digit> out;
  const std::vector<Axis>& axes = mesh.axes();
  Size boundary = 1;
  // Strides grow from the last axis to the first.
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    boundary *= axis->size;
    if (boundary <= digit.stride || boundary % digit.stride != 0) continue;
    const Size below = boundary / digit.stride;
    if (below >= digit.size || digit.size % below != 0) continue;
    out.push_back({digit.stride, below});
    digit = {boundary, digit.size / below};
  }
  out.push_back(digit);
  return out;
}

std::string digit_text(const Digit& digit, const Mesh* mesh) {
  if (mesh != nullptr) {
    for (const Axis& axis : mesh->axes()) {
      // Looked up once more because the digit of an axis is known by its name; of axes of size 1 no
      // digit remains.
      if (axis.size == digit.size && mesh->digit(axis.name) == digit) return name_text(axis.name);
    }
  }
  return fmt::format("{}:{}", digit.stride, digit.size);
}

/// Digits by the names of axes where they have some.
std::vector<std::string> parts_of(const std::vector<Digit>& digits, const Mesh* mesh) {
  std::vector<std::string> out;
  for (const Digit& digit : digits) {
    if (mesh == nullptr) {
      out.push_back(digit_text(digit, nullptr));
      continue;
    }
    for (const Digit& piece : cut(digit, *mesh)) out.push_back(digit_text(piece, mesh));
  }
  return out;
}

/// `(0,3,6,10)*(0,5,10)@`, with the tiles behind it unless the chunks go round.
std::string chunks_text(const Chunks& chunks, Size count) {
  std::string out;
  for (const std::vector<Size>& ends : chunks.ends) {
    out += fmt::format("{}({})", out.empty() ? "" : "*", fmt::join(ends, ","));
  }
  bool in_turn = true;
  for (std::size_t k = 0; k < chunks.tiles.size(); ++k) {
    in_turn = in_turn && chunks.tiles[k] == static_cast<Size>(k) % count;
  }
  return out + (in_turn ? "@" : fmt::format("@({})", fmt::join(chunks.tiles, ",")));
}

/// `2@`, or the extent of the largest tile where every section is cut as equally as can be.
std::string dealt_text(const Cuts& cuts) {
  if (cuts.is_chunked()) return chunks_text(cuts.chunks(), cuts.count());
  Size begin = 0;
  Size block = 1;
  bool is_cut = cuts.sections().size() > 1;
  for (const Section& section : cuts.sections()) {
    is_cut = is_cut && section.block == ceil_div(section.end - begin, cuts.count());
    block = std::max(block, section.block);
    begin = section.end;
  }
  return is_cut ? fmt::to_string(cuts.largest()) : fmt::format("{}@", block);
}

/// `12`, or `8+4` of sections.
std::string global_text(const Cuts& cuts) {
  if (cuts.sections().empty()) return fmt::to_string(cuts.global());
  std::string out;
  Size begin = 0;
  for (const Section& section : cuts.sections()) {
    out += fmt::format("{}{}", out.empty() ? "" : "+", section.end - begin);
    begin = section.end;
  }
  return out;
}

/// `3`, `4~`, `3=`, `(0,3,10)` or `2@`: the first of these that says the tiles.
std::string cuts_text(const Cuts& cuts) {
  const Size global = cuts.global();
  const Size tile = ceil_div(global, cuts.count());
  if (cuts.is_blocks()) return fmt::format("{}{}", cuts.block(), cuts.block() == tile ? "" : "~");
  if (cuts.is_balanced()) return fmt::format("{}=", tile);
  if (cuts.is_dealt()) return dealt_text(cuts);
  std::string out;
  for (Size t = 0; t <= cuts.count(); ++t) {
    out += t == 0 ? '(' : ',';
    out += fmt::to_string(cuts.at(t));
  }
  return out + ")";
}

}  // namespace

std::string to_text(const Mesh& mesh) {
  std::string out;
  for (const Axis& axis : mesh.axes()) {
    if (!out.empty()) out += ',';
    out += fmt::format("{}:{}", name_text(axis.name), axis.size);
  }
  return out;
}

std::string dim_text(Size tile, const std::vector<std::string>& parts, Size global) {
  return dim_text(fmt::to_string(tile), parts, fmt::to_string(global));
}

std::string dim_text(const std::string& cuts, const std::vector<std::string>& parts,
                     const std::string& global) {
  if (parts.empty()) return global;
  std::string inner;
  for (const std::string& part : parts) {
    if (!inner.empty()) inner += ',';
    inner += part;
  }
  return fmt::format("{}{{{}}}{}", cuts, inner, global);
}

std::string dim_text(const DistDim& dim) {
  std::vector<std::string> names;
  for (const std::string& axis : dim.axes) names.push_back(name_text(axis));
  return dim_text(dim.tile, names, dim.global);
}

std::string part_text(const AxisPart& part) {
  const std::string name = name_text(part.axis);
  return part.major == 0 ? name : fmt::format("{}:({}){}", name, part.major, part.size);
}

namespace {

/// What stands before the braces.
std::string cutting_text(const CutDim& dim) {
  switch (dim.cutting) {
    case paper::Cutting::tile:
      break;
    case paper::Cutting::blocks:
      return fmt::format("{}~", dim.tile);
    case paper::Cutting::balanced:
      return fmt::format("{}=", dim.tile);
    case paper::Cutting::listed:
      return fmt::format("({})", fmt::join(dim.cuts, ","));
    case paper::Cutting::dealt:
      return fmt::format("{}@", dim.tile);
    case paper::Cutting::chunks:
      // How many tiles there are is not known here: a list stays one unless every chunk has its own tile.
      return chunks_text(dim.chunks, max_devices + 1);
  }
  return fmt::to_string(dim.tile);
}

}  // namespace

std::string dim_text(const CutDim& dim) {
  std::vector<std::string> parts;
  for (const AxisPart& part : dim.parts) parts.push_back(part_text(part));
  // Without axes nothing is cut, and sections say nothing.
  const std::string global = dim.sections.empty() || parts.empty()
                                 ? fmt::to_string(dim.global)
                                 : fmt::format("{}", fmt::join(dim.sections, "+"));
  std::string out = dim_text(cutting_text(dim), parts, global);
  if (!parts.empty() && dim.halo != Halo{}) {
    out += fmt::format("<{},{}>", dim.halo.below, dim.halo.above);
  }
  return out;
}

TypeText type_text(const DistType& type) {
  TypeText out;
  out.text = "[";
  for (const DistDim& dim : type.dims()) {
    if (!out.dims.empty()) out.text += ", ";
    const std::size_t begin = out.text.size();
    out.text += dim_text(dim);
    out.dims.push_back({begin, out.text.size()});
  }
  out.text += "]";
  out.closing = {out.text.size() - 1, out.text.size()};
  return out;
}

std::string to_text(const DistType& type) { return type_text(type).text; }

std::string to_text(const Layout& layout, const Mesh* mesh) {
  RETILE_ASSERT(layout.is_compact(), "only compact layouts can be written as a bracket tiling");
  std::string out;
  if (const auto& addends = layout.addends()) {
    out = fmt::format("{}{{{}}}", name_of(addends->addition),
                      fmt::join(parts_of(addends->numbers.digits().front(), mesh), ","));
  }
  out += "[";
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    if (i > 0) out += ", ";
    const std::vector<std::string> parts = parts_of(layout.digits()[i], mesh);
    out += dim_text(cuts_text(layout.cuts()[i]), parts, global_text(layout.cuts()[i]));
    if (layout.halos().empty() || layout.halos()[i] == Halo{}) continue;
    out += fmt::format("<{},{}>", layout.halos()[i].below, layout.halos()[i].above);
  }
  return out + "]";
}

}  // namespace retile
