#include "retile/program/tile_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "retile/core/assert.h"
#include "retile/program/apply.h"
#include "retile/program/moves.h"

namespace retile {
namespace {

tl::unexpected<Diagnostic> refused(Code code, std::string message, std::string rule = {}) {
  return refuse({.code = code, .message = std::move(message), .rule = std::move(rule)});
}

/// The shapes after a step, or why it cannot be applied.
tl::expected<DeviceShapes, Refusal> shapes_after(const Step& step, const DeviceShapes& before,
                                                 Size devices) {
  if (before.alike()) {
    auto shape = shape_after(step, before.largest(), devices);
    if (!shape) return tl::unexpected(shape.error());
    return DeviceShapes(*std::move(shape));
  }
  auto after = tiles_after(step, before.of_all(devices));
  if (!after) return tl::unexpected(after.error());
  return DeviceShapes(*std::move(after));
}

/// Sums of buffers that are ever formed are below 8 tiles, so it is enough that these fit.
bool fits(const DeviceShapes& shapes, Size element_bytes) {
  const auto elements = checked_product(shapes.largest());
  const auto bytes = elements ? checked_mul(*elements, element_bytes) : std::nullopt;
  return bytes && checked_mul(*bytes, 8);
}

}  // namespace

TileShapes shapes_of(const Layout& layout) {
  const auto extents = layout.extents();
  if (!extents) return TileShapes(static_cast<std::size_t>(layout.devices()), layout.tile());
  return shapes_of_rows(*extents, layout.rank());
}

TileShapes shapes_of_rows(const std::vector<Size>& rows, std::size_t rank) {
  TileShapes out;
  RETILE_ASSERT(rank > 0, "rows of an array of rank 0 cannot be counted");
  for (auto row = rows.begin(); row != rows.end(); row += static_cast<std::ptrdiff_t>(rank)) {
    out.emplace_back(row, row + static_cast<std::ptrdiff_t>(rank));
  }
  return out;
}

bool is_empty(const Shape& tile) {
  return std::find(tile.begin(), tile.end(), Size{0}) != tile.end();
}

Shape largest_extents(const TileShapes& shapes) {
  Shape out = shapes.front();
  for (const Shape& shape : shapes) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = std::max(out[k], shape[k]);
  }
  return out;
}

Size largest_tile(const TileShapes& shapes) {
  Size out = 0;
  for (const Shape& shape : shapes) out = std::max(out, checked_product(shape).value());
  return out;
}

DeviceShapes::DeviceShapes(TileShapes each) : each_(std::move(each)) {
  const auto fewer = [](const Shape& a, const Shape& b) {
    return checked_product(a).value() < checked_product(b).value();
  };
  largest_ = *std::max_element(each_.begin(), each_.end(), fewer);
}

Result<std::vector<DeviceShapes>> tile_shapes(const Program& program, Size element_bytes) {
  if (program.devices < 1 || program.from.devices() != program.devices ||
      program.to.devices() != program.devices || program.from.global() != program.to.global()) {
    return refused(Code::bad_program,
                   "the Program's ends are not tilings of one array over its devices");
  }
  const Traits traits = traits_of(program);
  // What later versions say goes as the boxes of each device: those who run it know no other way.
  const auto shapes_at = [&traits](const Layout& layout) {
    if (!traits.beyond_first_version()) return DeviceShapes(layout.tile());
    return DeviceShapes(shapes_of(layout));
  };
  std::vector<DeviceShapes> shapes{shapes_at(program.from)};
  const DeviceShapes wanted = shapes_at(program.to);
  if (!fits(shapes.front(), element_bytes) || !fits(wanted, element_bytes)) {
    return refused(Code::size_overflow, "a tile has more bytes than can be counted");
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!well_made(step, program.from.rank(), program.devices)) {
      return refused(Code::bad_program,
                     fmt::format("step {} ({}) names a dimension or a device that does not exist",
                                 i, op_name(step)));
    }
    const auto added = addition_of(step);
    if (added && added != traits.addition) {
      return refused(Code::inapplicable,
                     fmt::format("step {} ({}) does not add as the Program does ({})", i,
                                 op_name(step), name_of(*traits.addition)),
                     std::string(reason_name(Reason::addends)));
    }
    auto after = shapes_after(step, shapes.back(), program.devices);
    if (!after || !fits(*after, element_bytes)) {
      const bool too_large = after || after.error().reason == Reason::limit;
      Diagnostic diagnostic{
          .code = too_large ? Code::size_overflow : Code::inapplicable,
          .message = fmt::format("step {} ({}) cannot be applied", i, op_name(step)),
          .rule = std::string(reason_name(too_large ? Reason::limit : after.error().reason))};
      if (!after && after.error().device) {
        const Size device = program.numbers.of(*after.error().device);
        diagnostic.notes.push_back(after.error().reason == Reason::ragged ||
                                           after.error().reason == Reason::indivisible
                                       ? fmt::format("the tile of device {} does not fit", device)
                                       : fmt::format("device {} is missing or repeated", device));
      }
      return refuse(std::move(diagnostic));
    }
    shapes.push_back(*std::move(after));
  }
  if (shapes.back() != wanted) {
    return refused(Code::inapplicable, "the steps do not end with tiles of the shape of `to`",
                   "end");
  }
  return shapes;
}

std::optional<std::vector<Shape>> shapes_alike(const std::vector<DeviceShapes>& shapes) {
  std::vector<Shape> out;
  for (const DeviceShapes& all : shapes) {
    if (!all.alike()) return std::nullopt;
    out.push_back(all.largest());
  }
  return out;
}

}  // namespace retile
