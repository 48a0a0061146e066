// DTensor: `(Shard(dim=0), Replicate(), Partial(sum))`, a placement for every axis of the mesh, and
// its meshes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "retile/core/names.h"
#include "retile/notation/written.h"

namespace retile::notation {
namespace {

std::vector<std::string> dtensor_forms() {
  return {"placements are Shard(0), Replicate(), Partial() and _StridedShard(dim=0, sf=2)"};
}

/// Reads `0`, `dim=0` or `-1`.
void read_dim(Scanner& scanner, Placement& out) {
  if (scanner.accept("dim")) scanner.expect("=");
  out.from_end = scanner.accept("-");
  out.dim = scanner.number().value;
  if (!out.from_end) return;
  if (out.dim == 0) scanner.fail_expected("a dimension: -0 is none");
  --out.dim;
}

/// Reads `sum`, `'sum'`, `reduce_op='sum'`, or nothing.
void read_operation(Scanner& scanner, Placement& out) {
  if (scanner.accept("reduce_op")) scanner.expect("=");
  if (scanner.sees(')')) return;
  const auto word = scanner.sees_quoted() ? scanner.quoted("") : scanner.word("sum, max or min");
  out.is_average = word.value == "avg";
  const auto addition = addition_named(out.is_average ? "sum" : word.value);
  if (!addition || *addition == Addition::stack) {
    text::fail(word.place, {.code = Code::unsupported,
                            .message = fmt::format("{} is no way of adding that is read",
                                                   shortened(word.value)),
                            .notes = {"addends are of a sum, an avg, a max or a min"}});
  }
  out.addition = *addition;
}

/// Reads what stands behind a name of addends, as torch prints them. Rows that a mask leaves out are zeros
/// when they are added.
void read_addends(Scanner& scanner, const Token<std::string>& name, Placement& out) {
  scanner.expect("(");
  if (name.value == "_NormPartial" || name.value == "_NormP") {
    text::fail(name.place,
               {.code = Code::unsupported,
                .message = "addends of a norm are raised to a power before they are added",
                .notes = {"with Partial(sum) the collectives are the same"}});
  }
  read_operation(scanner, out);
  const bool is_masked = name.value == "_MaskPartial" || name.value == "MaskP";
  while (is_masked && scanner.accept(",")) skip_value(scanner);
  scanner.expect(")");
}

bool names_addends(std::string_view name) {
  constexpr std::array names = {"Partial", "P", "_MaskPartial", "MaskP", "_NormPartial", "_NormP"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The word that a placement begins with.
/// \param together  whether placements stand behind each other without commas, `RP(sum)RS(0)`
Token<std::string> read_kind(Scanner& scanner, bool together) {
  const std::size_t begin = scanner.next();
  if (together) {
    // A name before those that it begins with.
    for (const std::string_view kind :
         {"Replicate", "Partial", "_MaskPartial", "MaskP", "_NormPartial", "_NormP", "Shard",
          "_StridedShard", "_S", "R", "P", "S"}) {
      if (scanner.accept(kind)) return {.value = std::string(kind), .place = scanner.since(begin)};
    }
  }
  return scanner.word("a placement", dtensor_forms);
}

Placement read_placement(Scanner& scanner, bool together) {
  const std::size_t begin = scanner.next();
  Placement out;
  const auto word = read_kind(scanner, together);
  const bool strided = word.value == "_StridedShard" || word.value == "_S";
  if (strided || word.value == "Shard" || word.value == "S") {
    out.kind = Placement::Kind::shard;
    scanner.expect("(");
    read_dim(scanner, out);
    if (strided) {
      scanner.expect(",");
      if (scanner.accept("sf") || scanner.accept("split_factor")) scanner.expect("=");
      out.split_factor = scanner.size("the split factor").value;
    }
    scanner.expect(")");
    if (scanner.accept("[")) {
      out.turn = scanner.number().value;
      scanner.expect("]");
    }
  } else if (names_addends(word.value)) {
    out.kind = Placement::Kind::partial;
    if (word.value != "P" || scanner.sees('(')) read_addends(scanner, word, out);
  } else if (word.value == "Replicate") {
    scanner.expect("(");
    scanner.expect(")");
  } else if (word.value != "R") {
    text::fail(word.place, {.code = Code::unsupported,
                            .message = fmt::format("{} is not read", shortened(word.value)),
                            .notes = dtensor_forms()});
  }
  out.place = scanner.since(begin);
  return out;
}

/// Reads `(dp=2, tp=2)`, or `(2, 2)` of a mesh without names, behind the bracket.
std::vector<ReadAxis> read_named_axes(Scanner& scanner) {
  std::vector<ReadAxis> out;
  while (!scanner.accept(")")) {
    if (!out.empty()) scanner.expect(",");
    if (scanner.accept(")")) break;
    if (scanner.sees_number()) {
      const Token<Size> size = scanner.size("the size of an axis");
      out.push_back({{numbered_axis(out.size()), size.place}, size});
      continue;
    }
    Token<std::string> name =
        scanner.sees_quoted() ? scanner.quoted("") : scanner.word("the name of an axis");
    if (!scanner.accept("=")) scanner.expect(":");
    out.push_back({std::move(name), scanner.size("the size of an axis")});
  }
  return out;
}

/// Reads `('dp', 'tp')`.
std::vector<Token<std::string>> read_names(Scanner& scanner) {
  std::vector<Token<std::string>> out;
  const bool list = scanner.accept("[");
  if (!list) scanner.expect("(");
  const std::string_view closing = list ? "]" : ")";
  while (!scanner.accept(closing)) {
    if (!out.empty()) scanner.expect(",");
    if (scanner.accept(closing)) break;
    out.push_back(scanner.quoted("the name of an axis"));
  }
  return out;
}

}  // namespace

PlacedMesh read_dtensor_mesh(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  if (!scanner.accept("init_device_mesh")) scanner.expect("DeviceMesh");
  scanner.expect("(");
  std::vector<ReadAxis> axes;
  std::optional<NestedNumbers> devices;
  Place devices_place;
  std::vector<Token<std::string>> names;
  while (!scanner.accept(")")) {
    if (scanner.accept("mesh_shape")) scanner.expect("=");
    const std::size_t at = scanner.next();
    if (scanner.accept("mesh_dim_names")) {
      scanner.expect("=");
      if (!scanner.accept("None")) names = read_names(scanner);
    } else if (scanner.sees('[')) {
      devices = read_nested(scanner);
      devices_place = scanner.since(at);
    } else if (axes.empty() && scanner.accept("(")) {
      axes = read_named_axes(scanner);
    } else {
      skip_value(scanner);
    }
    if (!scanner.sees(')')) scanner.expect(",");
  }
  const Place all = scanner.since(begin);
  if (!devices && axes.empty()) {
    text::fail(all, {.code = Code::empty_mesh,
                     .message = "a DeviceMesh lists its devices, or its axes as (dp=2, tp=4)"});
  }
  for (std::size_t k = 0; k < std::min(axes.size(), names.size()); ++k) {
    if (axes[k].name.value == numbered_axis(k)) axes[k].name = names[k];
  }
  for (std::size_t k = axes.size(); devices && k < devices->extents.size(); ++k) {
    const bool named = k < names.size();
    axes.push_back(
        {{named ? names[k].value : numbered_axis(k), named ? names[k].place : devices_place},
         {devices->extents[k], devices_place}});
  }
  Mesh mesh = mesh_of(axes, all);
  if (!devices) return {.mesh = std::move(mesh)};
  return placed_by_list(std::move(mesh), devices->numbers, devices_place);
}

namespace {

/// Reads `S(0)RP(sum)`, as far as there are placements.
std::vector<Placement> read_together(Scanner& scanner) {
  std::vector<Placement> out;
  do {
    out.push_back(read_placement(scanner, true));
  } while (scanner.sees_word());
  return out;
}

/// Reads `Spec(f32[8, 4](S(0)R))`, as torch prints the spec of a DTensor.
void read_printed_spec(Scanner& scanner, Written& out) {
  scanner.expect("Spec");
  scanner.expect("(");
  if (!scanner.accept("unknown dtypeunknown shape")) out.shape = read_shape(scanner);
  scanner.expect("(");
  if (!scanner.sees(')')) out.placements = read_together(scanner);
  scanner.expect(")");
  scanner.expect(")");
}

/// Reads `DTensorSpec(mesh=DeviceMesh(..), placements=(..), tensor_meta=TensorMeta(shape=torch.Size([8, 4]), ..), ..)`,
/// behind the bracket.
void read_whole_spec(Scanner& scanner, Written& out) {
  while (!scanner.accept(")")) {
    const std::size_t begin = scanner.next();
    if (scanner.accept("mesh=")) {
      out.mesh = Token<PlacedMesh>{read_dtensor_mesh(scanner), scanner.since(begin)};
    } else if (scanner.accept("placements=")) {
      out.placements = read_dtensor(scanner).placements;
    } else if (scanner.accept("tensor_meta=TensorMeta(shape=torch.Size(")) {
      const std::size_t shape = scanner.next();
      const NestedNumbers extents = read_nested(scanner);
      out.shape = WrittenShape{values_of(extents.numbers), scanner.since(shape)};
      scanner.expect(")");
      while (scanner.accept(",")) skip_value(scanner);
      scanner.expect(")");
    } else {
      skip_value(scanner);
    }
    if (!scanner.sees(')')) scanner.expect(",");
  }
  if (!out.placements) scanner.fail_expected("placements in a DTensorSpec", dtensor_forms());
}

}  // namespace

bool sees_placements(Scanner scanner) {
  for (const std::string_view kind :
       {"Shard(", "_StridedShard(", "_S(", "S(", "Replicate(", "Partial(", "Spec(", "DTensorSpec(",
        "_MaskPartial(", "MaskP(", "_NormPartial(", "_NormP("}) {
    if (Scanner(scanner).accept(kind)) return true;
  }
  if (scanner.accept("R")) return scanner.done() || scanner.sees(':') || sees_placements(scanner);
  // P('x') is JAX's.
  if (!scanner.accept("P(") || !scanner.sees_word()) return false;
  const std::string word = scanner.word("").value;
  return (word == "avg" || word == "product" || addition_named(word)) && scanner.sees(')');
}

Written read_dtensor(Scanner& scanner) {
  Written out{.notation = Notation::dtensor};
  const std::size_t begin = scanner.next();
  if (sees_placements(scanner)) {
    out.placements.emplace();
    if (scanner.accept("DTensorSpec(")) {
      out.placements.reset();
      read_whole_spec(scanner, out);
    } else if (scanner.sees('S') && Scanner(scanner).accept("Spec(")) {
      read_printed_spec(scanner, out);
    } else {
      out.placements = read_together(scanner);
    }
    out.place = scanner.since(begin);
    return out;
  }
  const bool list = scanner.accept("[");
  if (!list) scanner.expect("(");
  const std::string_view closing = list ? "]" : ")";
  out.placements.emplace();
  while (!scanner.accept(closing)) {
    if (!out.placements->empty()) {
      if (!scanner.accept(","))
        scanner.fail_expected(fmt::format("',' or '{}' after a placement", closing));
      if (scanner.accept(closing)) break;
    }
    out.placements->push_back(read_placement(scanner, false));
  }
  out.place = scanner.since(begin);
  return out;
}

}  // namespace retile::notation
