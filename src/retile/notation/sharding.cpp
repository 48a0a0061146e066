// Which notation a text is in, and what it means over its mesh and of its array.
#include "retile/notation/sharding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/core/names.h"
#include "retile/notation/axes.h"
#include "retile/notation/dtensor/placements.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/read.h"
#include "retile/notation/paper/type_text.h"
#include "retile/notation/written.h"

namespace retile {
namespace notation {
namespace {

constexpr std::array<std::string_view, 6> names = {"the paper", "JAX",     "Shardy",
                                                   "HLO",       "DTensor", "MLIR"};

bool sees_token(Scanner scanner, std::string_view token) { return scanner.accept(token); }

bool sees_any(const Scanner& scanner, std::initializer_list<std::string_view> tokens) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](std::string_view token) { return sees_token(scanner, token); });
}

/// Whether a placement of DTensor comes next.
bool sees_placement(const Scanner& scanner) {
  return sees_any(scanner, {"Shard(", "Shard (", "_StridedShard", "Replicate", "Partial", "S(",
                            "_S(", "R,", "R)", "R]", "P,", "P)", "P]", "P("});
}

[[noreturn]] void fail_ambiguous(const Scanner& scanner, std::string message, std::string note) {
  text::fail(scanner.rest(),
             {.code = Code::syntax, .message = std::move(message), .notes = {std::move(note)}});
}

/// Which of `<@m, [[0]]>` and `<@m, [{"x"}]>` comes next.
Notation bracketed(Scanner scanner) {
  static_cast<void>(scanner.accept("<"));
  if (scanner.accept("@") && scanner.sees_name()) {
    static_cast<void>(scanner.name(""));
    if (scanner.accept(",") && scanner.accept("[") && scanner.sees('[')) return Notation::mlir;
  }
  return Notation::shardy;
}

/// Of a text that begins with `[`.
Notation listed(const Scanner& before) {
  Scanner scanner = before;
  static_cast<void>(scanner.accept("["));
  if (sees_placement(scanner)) return Notation::dtensor;
  // Shardy's and HLO's dimensions mean the same over one mesh.
  if (scanner.accept("{") && (scanner.sees_quoted() || scanner.sees('}') || scanner.sees('?'))) {
    return Notation::shardy;
  }
  if (scanner.sees('[')) {
    fail_ambiguous(before, "dimensions of MLIR without what they are over",
                   "MLIR writes #mesh.shard<@mesh, [[0], [1]]>");
  }
  return Notation::paper;
}

/// Of a text that begins with `{`.
Notation braced(Scanner scanner) {
  static_cast<void>(scanner.accept("{"));
  const bool may_be = scanner.sees_word() || scanner.sees('{') || scanner.sees('}');
  return may_be ? Notation::hlo : Notation::paper;
}

/// The notation that a text is in.
Notation notation_of(const Scanner& scanner) {
  if (sees_token(scanner, "{")) return braced(scanner);
  if (sees_token(scanner, "[")) return listed(scanner);
  if (sees_any(scanner, {"#sdy."})) return Notation::shardy;
  if (sees_any(scanner, {"#mesh.", "mesh.sharding", "shard.sharding", "%"})) return Notation::mlir;
  if (sees_token(scanner, "<")) return bracketed(scanner);
  if (sees_placements(scanner)) return Notation::dtensor;
  if (sees_any(scanner, {"P(", "PartitionSpec", "NamedSharding", "jax.sharding."})) {
    return Notation::jax;
  }
  if (!sees_token(scanner, "(")) return Notation::paper;
  Scanner inside = scanner;
  static_cast<void>(inside.accept("("));
  if (inside.sees(')')) {
    fail_ambiguous(scanner, "() may be DTensor's or JAX's",
                   "JAX writes P(); DTensor has a placement for every axis, (Replicate(),)");
  }
  return inside.sees_word() ? Notation::dtensor : Notation::paper;
}

Written read_as(Notation notation, Scanner& scanner) {
  switch (notation) {
    case Notation::jax:
      return read_jax(scanner);
    case Notation::shardy:
      return read_shardy(scanner);
    case Notation::hlo:
      return read_hlo(scanner);
    case Notation::dtensor:
      return read_dtensor(scanner);
    case Notation::mlir:
      return read_mlir(scanner);
    case Notation::paper:
      break;
  }
  scanner.fail_expected("a sharding",
                        {"they are written P('x'), <@mesh, [{\"x\"}]>, "
                         "{devices=[2,1]<=[2]}, (Shard(0),) or #mesh.shard<@m, [[0]]>"});
}

}  // namespace

Written read_written(Scanner& scanner) {
  std::optional<WrittenShape> shape;
  if (sees_shape(scanner)) {
    shape = read_shape(scanner);
    static_cast<void>(scanner.accept(","));
    if (scanner.accept("sharding")) scanner.expect("=");
  }
  Written out = read_as(notation_of(scanner), scanner);
  if (!shape && !out.shape && scanner.accept(":")) shape = read_shape(scanner);
  if (shape) out.shape = std::move(shape);
  return out;
}

bool names_no_axis(const Written& written) {
  if (written.only_device) return true;
  if (written.all_addends || !written.addends.parts.empty() || written.placements) return false;
  if (written.dims.empty()) return written.may_be_short;
  // Dimensions that nothing cuts say no more than none, unless the mesh they are over has a name.
  return !written.mesh_name && std::all_of(written.dims.begin(), written.dims.end(),
                                           [](const auto& dim) { return dim.parts.empty(); });
}

namespace {

[[noreturn]] void fail_argument(const Place& place, std::string message, std::string note) {
  text::fail(
      place,
      {.code = Code::bad_argument, .message = std::move(message), .notes = {std::move(note)}});
}

std::string mesh_words(const PlacedMesh& mesh) {
  std::string out = to_text(mesh.mesh);
  if (mesh.order_text) out += fmt::format(" in the order {}", shortened(*mesh.order_text));
  return out;
}

/// How many devices there are where no mesh says it, and no axis is named.
std::optional<Size> devices_for(const Written& written, const ShardingContext& context) {
  if (context.devices && names_no_axis(written)) return context.devices;
  // Shardy's mesh of one device has it, and those before it.
  if (written.only_device && written.notation == Notation::shardy) {
    return written.only_device->value + 1;
  }
  return std::nullopt;
}

/// The mesh that the text is over.
PlacedMesh mesh_for(const Written& written, const ShardingContext& context) {
  if (written.mesh) {
    const PlacedMesh& own = written.mesh->value;
    if (!context.mesh) return own;
    const bool same =
        written.table ? own.devices() == context.mesh->devices() : own.mesh == context.mesh->mesh;
    if (same && !written.table && !own.order) return *context.mesh;
    if (same) return own;
    fail_argument(written.mesh->place,
                  written.table
                      ? fmt::format("a table of {} over a mesh of {}",
                                    counted(own.devices(), "device"), context.mesh->devices())
                      : fmt::format("the mesh is {} here", mesh_words(own)),
                  fmt::format("it was said to be {}", mesh_words(*context.mesh)));
  }
  if (written.mesh_name) {
    const auto found = context.meshes.find(written.mesh_name->value);
    if (found != context.meshes.end()) return found->second;
  }
  if (context.mesh) return *context.mesh;
  if (context.meshes.size() == 1 && !written.mesh_name) return context.meshes.begin()->second;
  if (const auto devices = devices_for(written, context)) {
    return {.mesh = Mesh::make({{numbered_axis(0), *devices}}).value()};
  }
  if (written.mesh_name) {
    fail_argument(written.mesh_name->place,
                  fmt::format("no mesh @{} is known", shown_name(written.mesh_name->value)),
                  "give --mesh x:2,y:4 or the mesh as it is written");
  }
  fail_argument(written.place, "the mesh is missing",
                "give --mesh x:2,y:4, or a mesh as the notation writes it");
}

/// The global shape of the text.
Shape shape_for(const Written& written, const ShardingContext& context) {
  if (!written.shape) {
    if (context.shape) return *context.shape;
    fail_argument(written.place, "the global shape is missing",
                  "end it with : tensor<16x8xf32>, or give --shape 16,8");
  }
  if (context.shape && *context.shape != written.shape->value) {
    fail_argument(written.shape->place,
                  fmt::format("the shape is [{}] here", fmt::join(written.shape->value, ", ")),
                  fmt::format("it was said to be [{}]", fmt::join(*context.shape, ", ")));
  }
  return written.shape->value;
}

/// What a part says over a mesh.
AxisPart part_over(const Mesh& mesh, const WrittenPart& part) {
  if (!part.number) return {part.axis, part.major, part.size};
  if (*part.number >= static_cast<Size>(mesh.axes().size())) {
    text::fail(part.place, {.code = Code::unknown_axis,
                            .message = fmt::format("the mesh has no axis {}", *part.number),
                            .notes = {fmt::format("it has {}, counted from 0",
                                                  counted(mesh.axes().size(), "axis", "axes"))},
                            .rule = "WF-DIM"});
  }
  return {mesh.axes()[static_cast<std::size_t>(*part.number)].name};
}

/// Minor to major.
std::vector<AxisPart> parts_of(const Mesh& mesh, const WrittenAxes& axes) {
  std::vector<AxisPart> out;
  for (auto part = axes.parts.rbegin(); part != axes.parts.rend(); ++part) {
    out.push_back(part_over(mesh, *part));
  }
  return out;
}

/// Blocks of ceil(n/k); where the axes say no k, somebody else complains of them.
void cut_evenly(const Mesh& mesh, CutDim& dim) {
  Size count = 1;
  for (const AxisPart& part : dim.parts) {
    const auto digit = digit_of(mesh, part);
    const auto product = digit ? checked_mul(count, digit->size) : std::nullopt;
    if (!product) return;
    count = *product;
  }
  dim.tile = ceil_div(dim.global, count);
}

void check_rank(const Written& written, const Shape& shape) {
  const std::size_t rank = shape.size();
  const std::size_t dims = written.dims.size();
  if (dims == rank || (dims < rank && written.may_be_short)) return;
  text::fail(dims > rank ? written.dims[rank].place : written.place,
             {.code = Code::rank_mismatch,
              .message = fmt::format("{} for an array of {}", counted(dims, "dimension"), rank),
              .notes = {fmt::format("the global shape is [{}]", fmt::join(shape, ", "))}});
}

/// Takes MLIR's offsets, a list for every dimension that is cut, one behind the other.
void put_offsets(const Written& written, const Mesh& mesh, std::vector<CutDim>& dims) {
  std::size_t at = 0;
  for (CutDim& dim : dims) {
    if (dim.parts.empty()) continue;
    Size tiles = 1;
    for (const AxisPart& part : dim.parts) tiles *= digit_of(mesh, part)->size;
    dim.cutting = paper::Cutting::listed;
    for (Size t = 0; t <= tiles && at < written.offsets.size(); ++t) {
      dim.cuts.push_back(written.offsets[at++].value);
    }
  }
  if (at == written.offsets.size()) return;
  text::fail(written.offsets[at].place,
             {.code = Code::ill_formed_type, .message = "more offsets than tiles need"});
}

/// Where a violation stands in the text.
Place place_of(const TypeViolation& violation, const Written& written) {
  if (!violation.dim || *violation.dim >= written.dims.size()) return written.place;
  const WrittenAxes& dim = written.dims[*violation.dim];
  if (!violation.axis || *violation.axis >= dim.parts.size()) return dim.place;
  return dim.parts[dim.parts.size() - 1 - *violation.axis].place;
}

std::vector<CutDim> dims_over(const Mesh& mesh, const Written& written, const Shape& shape) {
  check_rank(written, shape);
  std::vector<CutDim> out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    CutDim& dim = out.emplace_back();
    dim.global = shape[i];
    if (i < written.dims.size()) dim.parts = parts_of(mesh, written.dims[i]);
    cut_evenly(mesh, dim);
  }
  auto violation = find_violation(mesh, out);
  if (!violation && !written.offsets.empty()) {
    put_offsets(written, mesh, out);
    violation = find_violation(mesh, out);
  }
  if (violation) text::fail_with(place_of(*violation, written), std::move(violation->diagnostic));
  return out;
}

/// What counts addends: axes of the mesh that cut nothing.
std::vector<AxisPart> addends_over(const Mesh& mesh, const Written& written,
                                   const std::vector<CutDim>& dims) {
  if (written.all_addends) {
    std::vector<AxisPart> out;
    for (auto axis = mesh.axes().rbegin(); axis != mesh.axes().rend(); ++axis) {
      out.push_back({axis->name});
    }
    return out;
  }
  for (std::size_t k = 0; k < written.addends.parts.size(); ++k) {
    const WrittenPart& part = written.addends.parts[k];
    const AxisPart over = part_over(mesh, part);
    if (!mesh.digit(over.axis)) text::fail_with(part.place, unknown_axis(mesh, over.axis));
    if (const auto digit = mesh.digit(over.axis); !digit_of(mesh, over)) {
      text::fail_with(part.place, wrong_part(over.axis, digit->size, over.major, over.size));
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto& cutting = dims[i].parts;
      if (std::find(cutting.begin(), cutting.end(), over) == cutting.end()) continue;
      text::fail_with(part.place, addends_use_twice(over.axis, i));
    }
  }
  return parts_of(mesh, written.addends);
}

/// Names the axes of a table by a mesh that is known, where that can say them.
void rename_table(const Written& written, const ShardingContext& context, Sharding& out) {
  if (!written.table || !context.mesh || context.mesh->order || out.mesh.order) return;
  const Mesh& mesh = context.mesh->mesh;
  const auto renamed = [&](const std::vector<AxisPart>& parts) {
    return parts_over(mesh, digits_of(out.mesh.mesh, parts));
  };
  std::vector<CutDim> dims = out.dims;
  for (CutDim& dim : dims) {
    auto parts = renamed(dim.parts);
    if (!parts) return;
    dim.parts = *std::move(parts);
  }
  auto addends = renamed(out.addends);
  if (!addends) return;
  out.mesh = *context.mesh;
  out.dims = std::move(dims);
  out.addends = *std::move(addends);
}

void check_only_device(const Written& written, const Shape& shape, Size devices) {
  const Token<Size>& device = *written.only_device;
  if (device.value >= devices) {
    text::fail(device.place, {.code = Code::bad_device,
                              .message = fmt::format("there is no device {}", device.value),
                              .notes = {fmt::format("devices are 0 to {}", devices - 1)}});
  }
  if (shape.empty()) {
    text::fail(written.place, {.code = Code::unsupported,
                               .message = "an array of rank 0 is held by every device"});
  }
  if (auto listed = check_listed(devices, shape.size()); !listed) {
    text::fail_with(device.place, listed.error());
  }
}

Layout placed_layout(Layout layout, PlacedMesh mesh, Size devices, const Place& all) {
  const bool by_digits = layout.addends() || !layout.in_boxes();  // alone
  if (by_digits && mesh.order && mesh.order->chain() == nullptr) {
    // JAX lists what HLO writes as an iota.
    if (auto chain = chain_of(mesh.order->entries())) {
      const Size columns = chain->size();
      mesh.order = DeviceTable::iota(*std::move(chain), columns);
    }
  }
  if (!layout.in_boxes()) {
    auto out = placed(layout, mesh.order, devices);
    if (!out) text::fail_with(all, out.error());
    return *std::move(out);
  }
  const bool by_list =
      (mesh.order && mesh.order->chain() == nullptr) || layout.devices() != devices;
  if (!by_list) return layout.placed(mesh.order, devices);
  if (layout.addends()) {
    text::fail(all,
               {.code = Code::unsupported, .message = "addends on devices that no iota lists"});
  }
  if (layout.rank() == 0 && layout.devices() != devices) {
    text::fail(all, {.code = Code::unsupported,
                     .message = "an array of rank 0 is held by every device, also by those on no "
                                "mesh"});
  }
  if (auto listed = check_listed(devices, layout.rank()); !listed) {
    text::fail_with(all, listed.error());
  }
  return layout.placed(mesh.order, devices);
}

/// The layout of a sharding whose other fields are known.
Layout layout_over(const Sharding& sharding, const Shape& shape, Size devices,
                   const Written& written, bool by_position) {
  if (sharding.only_device) {
    check_only_device(written, shape, devices);
    return Layout::rooted(devices, shape, *sharding.only_device);
  }
  Layout layout = paper::layout_of(sharding.mesh.mesh, sharding.dims);
  if (!sharding.addends.empty()) {
    const Place& place = written.placements ? written.place : written.addends.place;
    auto with =
        layout.with_addends(sharding.addition, digits_of(sharding.mesh.mesh, sharding.addends));
    if (!with) {
      text::fail(place, {.code = Code::axis_used_twice,
                         .message = with.error().message,
                         .notes = {"an axis counts addends or cuts one dimension, once"},
                         .rule = "WF-TYPE"});
    }
    layout = *std::move(with);
  }
  if (by_position) return layout;
  return placed_layout(std::move(layout), sharding.mesh, devices, written.place);
}

/// Takes out what splits nothing.
void drop_single(const Mesh& mesh, std::vector<AxisPart>& parts) {
  std::erase_if(parts, [&](const AxisPart& part) { return digit_of(mesh, part)->size == 1; });
}

}  // namespace

Sharding resolve(Written written, const ShardingContext& context) {
  Sharding out{.notation = written.notation, .mesh = mesh_for(written, context)};
  const Shape shape = shape_for(written, context);
  const Mesh& mesh = out.mesh.mesh;
  if (mesh.axes().empty() && out.mesh.order && !written.only_device) {
    written.only_device = Token<Size>{.value = out.mesh.order->at(0), .place = written.place};
  }
  if (written.only_device) {
    out.only_device = written.only_device->value;
    for (const Size extent : shape) {
      out.dims.push_back({.tile = extent, .cuts = {}, .parts = {}, .global = extent});
    }
  } else if (written.placements) {
    Placed placed = place_by_axis(*written.placements, mesh, shape, written.place);
    out.dims = std::move(placed.dims);
    out.addition = placed.addition;
    out.addends = std::move(placed.addends);
    out.divisor = placed.divisor;
  } else {
    out.dims = dims_over(mesh, written, shape);
    out.addition = written.addition;
    out.addends = addends_over(mesh, written, out.dims);
  }
  for (CutDim& dim : out.dims) drop_single(mesh, dim.parts);
  drop_single(mesh, out.addends);
  const Size devices = std::max(out.mesh.devices(), context.devices.value_or(1));
  out.layout = layout_over(out, shape, devices, written, context.by_position);
  rename_table(written, context, out);
  return out;
}

namespace {

/// A paper's type with all that a Sharding knows.
Sharding paper_sharding(const text::Input& input, const ShardingContext& context) {
  if (!context.mesh) {
    fail_argument({.input = &input, .span = {0, input.text.size()}}, "the mesh is missing",
                  "give --mesh x:2,y:4");
  }
  Sharding out{.notation = Notation::paper, .mesh = *context.mesh};
  const Size devices = std::max(out.mesh.devices(), context.devices.value_or(1));
  paper::WrittenLayout read = paper::read_layout(input, out.mesh.mesh, devices);
  if (context.shape && *context.shape != read.layout.global()) {
    fail_argument({.input = &input, .span = {0, input.text.size()}},
                  fmt::format("the shape is [{}] here", fmt::join(read.layout.global(), ", ")),
                  fmt::format("it was said to be [{}]", fmt::join(*context.shape, ", ")));
  }
  out.dims = std::move(read.dims);
  for (CutDim& dim : out.dims) drop_single(out.mesh.mesh, dim.parts);
  if (read.root) {
    out.only_device = read.root;
    out.layout = std::move(read.layout);
    return out;
  }
  if (const auto& addends = read.layout.addends()) {
    out.addition = addends->addition;
    out.addends = parts_over(out.mesh.mesh, addends->numbers.digits().front()).value();
  }
  if (context.by_position) {
    out.layout = std::move(read.layout);
    return out;
  }
  const Place all{.input = &input, .span = {0, input.text.size()}};
  out.layout = placed_layout(std::move(read.layout), out.mesh, devices, all);
  return out;
}

/// Line ends are blanks: what is printed over several lines is read as one.
std::string on_one_line(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return out;
}

}  // namespace
}  // namespace notation

std::string_view name_of(Notation notation) {
  return notation::names[static_cast<std::size_t>(notation)];
}

bool is_foreign_sharding(std::string_view text) {
  const std::string line = notation::on_one_line(text);
  const text::Input input{.text = line, .source = {}};
  text::Scanner scanner(input);
  if (scanner.done()) return false;
  if (notation::sees_shape(scanner)) return true;
  const auto notation = text::result_of([&] { return notation::notation_of(scanner); });
  return !notation || *notation != Notation::paper;  // an ambiguous one is explained by its reader
}

Sharding read_sharding(text::Scanner& scanner, const ShardingContext& context) {
  return notation::resolve(notation::read_written(scanner), context);
}

namespace {

/// The sharding, where it need not be one of boxes or is.
Sharding in_boxes(Sharding sharding, const ShardingContext& context, const text::Input& input) {
  if (context.in_boxes && !sharding.layout.in_boxes()) {
    text::fail(
        {.input = &input, .span = {0, input.text.size()}},
        {.code = Code::unsupported, .message = "what a module's devices hold is one box each"});
  }
  return sharding;
}

}  // namespace

Result<Sharding> parse_sharding(std::string_view text, const ShardingContext& context,
                                std::string_view source) {
  if (!is_foreign_sharding(text)) {
    const text::Input input{.text = text, .source = std::string(source)};
    return text::result_of(
        [&] { return in_boxes(notation::paper_sharding(input, context), context, input); });
  }
  const std::string line = notation::on_one_line(text);
  const text::Input input{.text = line, .source = std::string(source)};
  return text::result_of([&] {
    text::Scanner scanner(input);
    notation::Written written = notation::read_written(scanner);
    scanner.expect_end("after a sharding",
                       {"a global shape may stand behind it, : tensor<16x8xf32>"});
    return in_boxes(notation::resolve(std::move(written), context), context, input);
  });
}

std::string type_text(const Sharding& sharding) {
  std::string out = paper::layout_text(sharding.mesh.mesh, sharding.dims);
  if (sharding.only_device) return fmt::format("{}@{}", out, *sharding.only_device);
  if (sharding.addends.empty()) return out;
  std::vector<std::string> parts;
  for (const AxisPart& part : sharding.addends) parts.push_back(part_text(part));
  return fmt::format("{}{{{}}}{}", name_of(sharding.addition), fmt::join(parts, ","), out);
}

}  // namespace retile
