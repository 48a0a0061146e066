#include "retile/notation/paper/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/names.h"
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

CutDim cut_dim(const Dim& written) {
  CutDim out{.cutting = written.cutting,
             .tile = written.tile.value,
             .cuts = {},
             .parts = {},
             .global = written.global.value,
             .halo = written.halo,
             .sections = written.sections,
             .chunks = written.chunks};
  if (written.cutting == Cutting::listed || written.cutting == Cutting::chunks) out.tile = 1;
  for (const Token<Size>& cut : written.cuts) out.cuts.push_back(cut.value);
  for (const WrittenName& part : written.parts) {
    out.parts.push_back(
        {part.name.value, part.major ? part.major->value : 0, part.major ? part.size->value : 0});
  }
  return out;
}

/// The dimension as the paper has it, if it has it.
std::optional<DistDim> dist_dim(const CutDim& dim) {
  if (dim.cutting != Cutting::tile || dim.halo != Halo{} || !dim.sections.empty()) {
    return std::nullopt;
  }
  DistDim out{dim.tile, {}, dim.global};
  for (const AxisPart& part : dim.parts) {
    if (part.major != 0) return std::nullopt;
    out.axes.push_back(part.axis);
  }
  return out;
}

/// The note that completes a dimension whose global size is missing, when its axes are known.
std::vector<std::string> completion(const Mesh& mesh, const Dim& written) {
  CutDim dim = cut_dim(written);
  if (dim.cutting != Cutting::tile) return dim_form();
  const Size tile = std::exchange(dim.tile, 1);
  dim.global = 1;
  const auto violation = find_violation(mesh, std::vector{dim});
  // Only that 1{axes}1 does not add up may be wrong with it.
  if (violation && violation->diagnostic.code != Code::ill_formed_type) return dim_form();
  const auto note = completed(tile, splitters_of(mesh, dim));
  return note ? std::vector{*note} : dim_form();
}

/// The first axis that repeats its size wrongly. Unknown axes are not its business.
const WrittenName* wrong_size(const Mesh& mesh, const Dims& written) {
  for (const Dim& dim : written.dims) {
    for (const WrittenName& axis : dim.parts) {
      const auto digit = mesh.digit(axis.name.value);
      if (!axis.size || axis.major || !digit || axis.size->value == digit->size) continue;
      return &axis;
    }
  }
  return nullptr;
}

/// Where a violation lies in the text.
Place place_of(const TypeViolation& violation, const Dims& written) {
  if (!violation.dim) return written.place;
  const Dim& dim = written.dims[*violation.dim];
  if (violation.cut) return dim.cuts[*violation.cut].place;
  return violation.axis ? dim.parts[*violation.axis].name.place : dim.place;
}

/// Fails where the dimensions break a rule over `mesh`.
template <typename AnyDim>
void check(const Mesh& mesh, const Dims& written, const std::vector<AnyDim>& dims) {
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

Dims read_written(Scanner& scanner, const Mesh& mesh) {
  return read_dims<WrittenName>(scanner, read_axis,
                                [&mesh](const Dim& dim) { return completion(mesh, dim); });
}

TypeText text_of(const text::Input& input, const Dims& written) {
  TypeText out{std::string(input.text), {}, written.closing.span};
  for (const Dim& dim : written.dims) out.dims.push_back(dim.place.span);
  return out;
}

/// `sum{x}` before the dimensions.
struct WrittenAddends {
  Addition addition = Addition::sum;
  std::vector<WrittenName> parts;
  Place place;
};

WrittenAddends read_addends(Scanner& scanner) {
  WrittenAddends out;
  const std::size_t begin = scanner.next();
  out.addition = read_addition(scanner).value;
  scanner.expect("{");
  do {
    out.parts.push_back(read_axis(scanner));
  } while (scanner.accept(","));
  if (!scanner.accept("}")) scanner.fail_expected("',' or '}' after an axis");
  out.place = scanner.since(begin);
  return out;
}

/// The digit of an axis that counts addends, or of a part of one.
Digit counting_digit(const Mesh& mesh, const WrittenName& part) {
  const std::string& name = part.name.value;
  const auto axis = mesh.digit(name);
  if (!axis) fail_with(part.name.place, unknown_axis(mesh, name));
  if (part.major) {
    const auto digit = part_of(*axis, part.major->value, part.size->value);
    if (digit) return *digit;
    fail_with(part.size->place, wrong_part(name, axis->size, part.major->value, part.size->value));
  }
  if (part.size && part.size->value != axis->size) {
    fail_with(part.size->place, wrong_axis_size(name, axis->size, part.size->value));
  }
  return *axis;
}

/// Fails where an axis of size 2 or more that counts addends stands twice.
void check_axes(const Mesh& mesh, const WrittenAddends& addends, const Dims& written) {
  for (std::size_t k = 0; k < addends.parts.size(); ++k) {
    const WrittenName& part = addends.parts[k];
    if (counting_digit(mesh, part).size == 1 || part.major) continue;
    const auto is_same = [&part](const WrittenName& other) {
      return !other.major && other.name.value == part.name.value;
    };
    for (std::size_t before = 0; before < k; ++before) {
      if (!is_same(addends.parts[before])) continue;
      fail_with(part.name.place, addends_use_twice(part.name.value, std::nullopt));
    }
    for (std::size_t i = 0; i < written.dims.size(); ++i) {
      const auto& parts = written.dims[i].parts;
      const auto other = std::find_if(parts.begin(), parts.end(), is_same);
      if (other == parts.end()) continue;
      fail_with(other->name.place, addends_use_twice(part.name.value, i));
    }
  }
}

/// The layout with addends; `spelling` gets them, too.
Layout with_addends(const Layout& layout, const Mesh& mesh, const WrittenAddends& addends,
                    const Dims& written, std::string& spelling) {
  check_axes(mesh, addends, written);
  std::vector<Digit> digits;
  std::vector<std::string> names;
  for (const WrittenName& part : addends.parts) {
    const Digit digit = counting_digit(mesh, part);
    if (digit.size == 1) continue;
    digits.push_back(digit);
    names.push_back(part_text(
        {part.name.value, part.major ? part.major->value : 0, part.major ? part.size->value : 0}));
  }
  auto out = layout.with_addends(addends.addition, std::move(digits));
  if (!out) {
    fail(addends.place, {.code = out.error().code,
                         .message = out.error().message,
                         .notes = {"parts that count addends and parts that cut may not overlap"},
                         .rule = "WF-TYPE"});
  }
  if (!names.empty()) {
    spelling =
        fmt::format("{}{{{}}}{}", name_of(addends.addition), fmt::join(names, ","), spelling);
  }
  return *std::move(out);
}

/// The layout in which one device holds everything, and the others nothing.
Layout rooted(Size devices, const Mesh& mesh, const std::vector<CutDim>& dims,
              const Token<Size>& device, const Place& type) {
  if (auto listed = check_listed(devices, dims.size()); !listed)
    fail_with(device.place, listed.error());
  Shape global;
  for (const CutDim& dim : dims) {
    if (std::any_of(dim.parts.begin(), dim.parts.end(),
                    [&](const AxisPart& part) { return digit_of(mesh, part)->size > 1; })) {
      fail(type, {.code = Code::ill_formed_type,
                  .message = "what one device holds alone is not cut by axes",
                  .notes = {"[9, 4]@3 is all of an array on device 3"}});
    }
    global.push_back(dim.global);
  }
  if (dims.empty()) {
    fail(type, {.code = Code::unsupported,
                .message = "an array of rank 0 is held by every device",
                .notes = {"write it as [1]@0, an array of one element"}});
  }
  return Layout::rooted(devices, std::move(global), device.value);
}

}  // namespace

Layout layout_of(const Mesh& mesh, const std::vector<CutDim>& dims) {
  std::vector<Cuts> cuts;
  std::vector<std::vector<Digit>> digits;
  std::vector<Halo> halos;
  for (const CutDim& dim : dims) {
    cuts.push_back(cuts_of(cut_text(mesh, dim)).value());
    halos.push_back(dim.halo);
    std::vector<Digit>& out = digits.emplace_back();
    for (const AxisPart& part : dim.parts) out.push_back(*digit_of(mesh, part));
  }
  auto layout =
      Layout::numbered(mesh.device_count(), std::move(cuts), std::move(digits), std::move(halos));
  if (!layout && layout.error().code == Code::limit_reached) {
    throw text::Failure{layout.error()};  // of the dimensions together
  }
  RETILE_ASSERT(layout.has_value(), "a well-formed type has a layout");
  return std::move(*layout);
}

std::string layout_text(const Mesh& mesh, std::vector<CutDim> dims) {
  std::string out;
  for (CutDim& dim : dims) {
    std::erase_if(dim.parts, [&](const AxisPart& part) { return digit_of(mesh, part)->size == 1; });
    out += (out.empty() ? "[" : ", ") + dim_text(dim);
  }
  return out.empty() ? "[]" : out + "]";
}

Mesh read_mesh(const text::Input& input) {
  Scanner scanner(input);
  const std::vector<WrittenAxis> axes = read_axes(scanner);
  return mesh_of(axes, scanner.since(axes.front().name.place.span.begin));
}

WrittenType read_type(const text::Input& input, const Mesh& mesh) {
  Scanner scanner(input);
  const Dims written = read_written(scanner, mesh);
  scanner.expect_end("after ']'", {"nothing may follow a type"});

  std::vector<DistDim> dims;
  for (const Dim& dim : written.dims) {
    auto plain = dist_dim(cut_dim(dim));
    if (!plain) {
      fail(dim.place, {.code = Code::unsupported,
                       .message = "a type of the paper has no such dimension",
                       .notes = dim_form()});
    }
    dims.push_back(*std::move(plain));
  }
  check(mesh, written, dims);
  return {DistType::make(mesh, std::move(dims)).value(), text_of(input, written)};
}

WrittenLayout read_layout(const text::Input& input, const Mesh& mesh, Size devices) {
  Scanner scanner(input);
  std::optional<WrittenAddends> addends;
  if (sees_addition(scanner)) addends = read_addends(scanner);
  const Dims written = read_written(scanner, mesh);
  std::optional<Token<Size>> root;
  if (scanner.accept("@")) root = scanner.number();
  scanner.expect_end("after ']'", {"nothing may follow a type"});

  std::vector<CutDim> dims;
  for (const Dim& dim : written.dims) dims.push_back(cut_dim(dim));
  check(mesh, written, dims);
  if (!root) {
    std::string spelling = layout_text(mesh, dims);
    Layout layout = layout_of(mesh, dims);
    if (addends) layout = with_addends(layout, mesh, *addends, written, spelling);
    return {std::move(layout), std::move(spelling), text_of(input, written), std::move(dims)};
  }
  if (addends) {
    fail(addends->place,
         {.code = Code::ill_formed_type, .message = "what one device holds alone has no addends"});
  }
  if (root->value >= devices) {
    fail(root->place, {.code = Code::bad_device,
                       .message = fmt::format("there is no device {}", root->value),
                       .notes = {fmt::format("devices are 0 to {}", devices - 1)}});
  }
  std::string spelling = fmt::format("{}@{}", layout_text(mesh, dims), root->value);
  return {rooted(devices, mesh, dims, *root, written.place), std::move(spelling),
          text_of(input, written), std::move(dims), root->value};
}

}  // namespace paper

Result<Mesh> parse_mesh(std::string_view text, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of([&] { return paper::read_mesh(input); });
}

Result<Layout> parse_layout(std::string_view text, const Mesh& mesh, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of(
      [&] { return paper::read_layout(input, mesh, mesh.device_count()).layout; });
}

Result<DistType> parse_type(std::string_view text, const Mesh& mesh, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of([&] { return paper::read_type(input, mesh).type; });
}

}  // namespace retile
