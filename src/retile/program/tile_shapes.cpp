#include "retile/program/tile_shapes.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "retile/program/apply.h"

namespace retile {
namespace {

tl::unexpected<Diagnostic> refused(Code code, std::string message, std::string rule = {}) {
  return refuse({.code = code, .message = std::move(message), .rule = std::move(rule)});
}

}  // namespace

Result<std::vector<Shape>> tile_shapes(const Program& program, Size element_bytes) {
  if (program.devices < 1 || program.from.devices() != program.devices ||
      program.to.devices() != program.devices || program.from.global() != program.to.global()) {
    return refused(Code::bad_program,
                   "the Program's ends are not tilings of one array over its devices");
  }
  if (!is_even(program)) {
    return refused(Code::unsupported, "tiles that are not all alike are not run yet");
  }
  std::vector<Shape> shapes{program.from.tile()};
  // Every sum of buffers that is ever formed is below 8 tiles, so it is enough that these fit.
  const auto fits = [&](const Shape& shape) {
    const auto elements = checked_product(shape);
    const auto bytes = elements ? checked_mul(*elements, element_bytes) : std::nullopt;
    return bytes && checked_mul(*bytes, 8);
  };
  if (!fits(program.from.tile()) || !fits(program.to.tile())) {
    return refused(Code::size_overflow, "a tile has more bytes than can be counted");
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!well_made(step, shapes.back().size(), program.devices)) {
      return refused(Code::bad_program,
                     fmt::format("step {} ({}) names a dimension or a device that does not exist",
                                 i, op_name(step)));
    }
    const auto shape = shape_after(step, shapes.back(), program.devices);
    if (!shape || !fits(*shape)) {
      const bool overflow = shape || shape.error().reason == Reason::limit;
      Diagnostic diagnostic{
          .code = overflow ? Code::size_overflow : Code::inapplicable,
          .message = fmt::format("step {} ({}) cannot be applied", i, op_name(step)),
          .rule = std::string(reason_name(overflow ? Reason::limit : shape.error().reason))};
      if (!shape && shape.error().device) {
        diagnostic.notes.push_back(
            fmt::format("device {} is missing or repeated", *shape.error().device));
      }
      return refuse(std::move(diagnostic));
    }
    shapes.push_back(*shape);
  }
  if (shapes.back() != program.to.tile()) {
    return refused(Code::inapplicable, "the steps do not end with tiles of the shape of `to`",
                   "end");
  }
  return shapes;
}

}  // namespace retile
