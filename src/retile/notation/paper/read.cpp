#include "retile/notation/paper/read.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/notation/paper/grammar.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/scanner.h"

namespace retile {
namespace paper {
namespace {

using Dim = WrittenDim<WrittenName>;
using Dims = WrittenDims<WrittenName>;

WrittenName read_axis(Scanner& scanner) {
  if (scanner.sees_stride()) {
    // Programs split by any digit of the device number; a type only by axes.
    scanner.fail_expected(
        "the name of an axis",
        {"digits stride:size belong to a Program, a type names axes of the mesh"});
  }
  return read_name(scanner);
}

DistDim dist_dim(const Dim& written) {
  DistDim out{written.tile.value, {}, written.global.value};
  for (const WrittenName& axis : written.parts) out.axes.push_back(axis.name.value);
  return out;
}

/// The note that completes a dimension whose global size is missing, when its axes are known.
std::vector<std::string> completion(const Mesh& mesh, const Dim& written) {
  const DistDim dim = dist_dim(written);
  const auto violation = find_violation(mesh, {DistDim{1, dim.axes, 1}});
  // Only that 1{axes}1 does not add up may be wrong with it.
  if (violation && violation->diagnostic.code != Code::ill_formed_type) return dim_form();
  const auto note = completed(dim.tile, splitters_of(mesh, dim));
  return note ? std::vector{*note} : dim_form();
}

/// The first axis that repeats its size wrongly. Unknown axes are not its business.
const WrittenName* wrong_size(const Mesh& mesh, const Dims& written) {
  for (const Dim& dim : written.dims) {
    for (const WrittenName& axis : dim.parts) {
      const auto digit = mesh.digit(axis.name.value);
      if (!axis.size || !digit || axis.size->value == digit->size) continue;
      return &axis;
    }
  }
  return nullptr;
}

/// Where a violation lies in the text.
Place place_of(const TypeViolation& violation, const Dims& written) {
  if (!violation.dim) return written.place;
  const Dim& dim = written.dims[*violation.dim];
  return violation.axis ? dim.parts[*violation.axis].name.place : dim.place;
}

/// Fails where the dimensions break a rule over `mesh`.
void check(const Mesh& mesh, const Dims& written, const std::vector<DistDim>& dims) {
  auto violation = find_violation(mesh, dims);
  if (const WrittenName* axis = wrong_size(mesh, written)) {
    // It explains tiles that do not add up in its own dimension, and what comes earlier goes first.
    const Place& size = axis->size->place;
    if (!violation || !violation->dim || size.span.begin < place_of(*violation, written).span.end) {
      const std::string& name = axis->name.value;
      fail_with(size, wrong_axis_size(name, mesh.digit(name)->size, axis->size->value));
    }
  }
  if (violation) fail_with(place_of(*violation, written), std::move(violation->diagnostic));
}

}  // namespace

Mesh read_mesh(const text::Input& input) {
  Scanner scanner(input);
  const std::vector<WrittenAxis> axes = read_axes(scanner);
  return mesh_of(axes, scanner.since(axes.front().name.place.span.begin));
}

WrittenType read_type(const text::Input& input, const Mesh& mesh) {
  Scanner scanner(input);
  const Dims written = read_dims<WrittenName>(
      scanner, read_axis, [&mesh](const Dim& dim) { return completion(mesh, dim); });
  scanner.expect_end("after ']'", {"nothing may follow a type"});

  std::vector<DistDim> dims;
  TypeText text{std::string(input.text), {}, written.closing.span};
  for (const Dim& dim : written.dims) {
    dims.push_back(dist_dim(dim));
    text.dims.push_back(dim.place.span);
  }
  check(mesh, written, dims);
  return {DistType::make(mesh, std::move(dims)).value(), std::move(text)};
}

}  // namespace paper

Result<Mesh> parse_mesh(std::string_view text, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of([&] { return paper::read_mesh(input); });
}

Result<DistType> parse_type(std::string_view text, const Mesh& mesh, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of([&] { return paper::read_type(input, mesh).type; });
}

}  // namespace retile
