// JAX: `P('y', None, ('x', 'z'))`, `NamedSharding(mesh=Mesh('x': 4, ..), spec=P(..))` and meshes, as
// they are printed.
#include <fmt/format.h>

#include "retile/core/names.h"
#include "retile/notation/written.h"

namespace retile::notation {
namespace {

std::vector<std::string> jax_forms() {
  return {
      "JAX's shardings are read as P('x', None), PartitionSpec(..) and NamedSharding(mesh=.., "
      "spec=..)"};
}

/// `key=`, if one comes next.
std::optional<Token<std::string>> accept_key(Scanner& scanner) {
  Scanner ahead = scanner;
  if (!ahead.sees_word()) return std::nullopt;
  auto key = ahead.word("");
  if (!ahead.accept("=")) return std::nullopt;
  scanner = ahead;
  return key;
}

[[noreturn]] void fail_key(const Token<std::string>& key, std::string_view of) {
  text::fail(key.place, {.code = Code::unsupported,
                         .message = fmt::format("{} of {} is not read", shortened(key.value), of)});
}

/// Reads axes between commas up to the closing bracket, which is read.
std::vector<WrittenPart> read_names(Scanner& scanner, std::string_view closing) {
  std::vector<WrittenPart> out;
  while (!scanner.accept(closing)) {
    if (!out.empty()) scanner.expect(",");
    if (scanner.accept(closing)) break;
    auto name = scanner.quoted("an axis in quotes");
    out.push_back({.axis = std::move(name.value), .place = name.place});
  }
  return out;
}

/// Reads `{'x'}` or `frozenset({'x'})`.
WrittenAxes read_set(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  const bool frozen = scanner.accept("frozenset");
  if (frozen) scanner.expect("(");
  WrittenAxes out;
  if (!frozen || !scanner.sees(')')) {
    scanner.expect("{");
    out.parts = read_names(scanner, "}");
  }
  if (frozen) scanner.expect(")");
  out.place = scanner.since(begin);
  return out;
}

WrittenAxes read_entry(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  WrittenAxes out;
  if (scanner.accept("(")) {
    out.parts = read_names(scanner, ")");
  } else if (scanner.sees_quoted()) {
    auto name = scanner.quoted("");
    out.parts.push_back({.axis = std::move(name.value), .place = name.place});
  } else {
    const auto word = scanner.word("an axis in quotes, a tuple of axes or None", jax_forms);
    if (word.value != "None") {
      text::fail(word.place,
                 {.code = Code::unsupported,
                  .message = fmt::format("{} leaves a dimension open", shortened(word.value)),
                  .notes = {"a reshard needs to know what each device holds; None does not cut"}});
    }
  }
  out.place = scanner.since(begin);
  return out;
}

/// Reads `P(..)`.
void read_spec(Scanner& scanner, Written& out) {
  if (!scanner.accept("PartitionSpec") && !scanner.accept("P")) scanner.fail_expected("P(..)");
  scanner.expect("(");
  out.may_be_short = true;
  while (!scanner.accept(")")) {
    if (const auto key = accept_key(scanner)) {
      WrittenAxes axes = read_set(scanner);
      if (key->value == "unreduced") {
        out.addends = std::move(axes);
      } else if (key->value != "reduced") {
        fail_key(*key, "a PartitionSpec");
      }
    } else {
      out.dims.push_back(read_entry(scanner));
    }
    if (!scanner.sees(')')) scanner.expect(",");
  }
}

/// Reads the axes behind `Mesh(` as `'x': 4, 'y': 2`.
std::vector<ReadAxis> read_pairs(Scanner& scanner) {
  std::vector<ReadAxis> out;
  while (scanner.sees_quoted()) {
    Token<std::string> name = scanner.quoted("");
    scanner.expect(":");
    out.push_back({std::move(name), scanner.size("the size of an axis")});
    if (!scanner.accept(",")) break;
  }
  return out;
}

/// What stands behind `device_ids=`: numbers in brackets, perhaps in `array(..)`.
NestedNumbers read_array(Scanner& scanner) {
  const bool wrapped = scanner.accept("array");
  if (wrapped) scanner.expect("(");
  NestedNumbers out = read_nested(scanner);
  if (wrapped) scanner.expect(")");
  return out;
}

/// Reads `('x', 'y')`.
std::vector<Token<std::string>> read_axis_names(Scanner& scanner) {
  scanner.expect("(");
  std::vector<Token<std::string>> out;
  for (WrittenPart& part : read_names(scanner, ")"))
    out.push_back({std::move(part.axis), part.place});
  return out;
}

}  // namespace

PlacedMesh read_jax_mesh(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  if (!scanner.accept("AbstractMesh")) scanner.expect("Mesh");
  scanner.expect("(");
  std::vector<ReadAxis> axes = read_pairs(scanner);
  std::vector<Token<Size>> sizes;
  std::vector<Token<std::string>> names;
  std::optional<NestedNumbers> devices;
  while (!scanner.accept(")")) {
    const auto key = accept_key(scanner);
    if (!key) scanner.fail_expected("an axis in quotes and its size", jax_forms());
    if (key->value == "axis_sizes") {
      scanner.expect("(");
      sizes = read_numbers(scanner, ")");
    } else if (key->value == "axis_names") {
      names = read_axis_names(scanner);
    } else if (key->value == "device_ids") {
      const std::size_t at = scanner.next();
      devices = read_array(scanner);
      for (const Size extent : devices->extents) sizes.push_back({extent, scanner.since(at)});
    } else {
      skip_value(scanner);
    }
    if (!scanner.sees(')')) scanner.expect(",");
  }
  const Place all = scanner.since(begin);
  if (sizes.size() != names.size()) {
    text::fail(all, {.code = Code::syntax,
                     .message = fmt::format(
                         "{} and {}", counted(names.size(), "name of an axis", "names of axes"),
                         counted(sizes.size(), "size"))});
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) axes.push_back({names[k], sizes[k]});
  Mesh mesh = mesh_of(axes, all);
  if (!devices) return {.mesh = std::move(mesh)};
  return placed_by_list(std::move(mesh), devices->numbers, all);
}

Written read_jax(Scanner& scanner) {
  Written out{.notation = Notation::jax};
  const std::size_t begin = scanner.next();
  static_cast<void>(scanner.accept("jax.sharding."));
  if (!scanner.accept("NamedSharding")) {
    read_spec(scanner, out);
    out.place = scanner.since(begin);
    return out;
  }
  scanner.expect("(");
  std::optional<std::pair<std::vector<Token<Size>>, Place>> ids;
  bool has_spec = false;
  while (!scanner.accept(")")) {
    const auto key = accept_key(scanner);
    const std::size_t at = scanner.next();
    if (key ? key->value == "mesh" : !out.mesh) {
      PlacedMesh mesh = read_jax_mesh(scanner);
      out.mesh = Token<PlacedMesh>{.value = std::move(mesh), .place = scanner.since(at)};
    } else if (key ? key->value == "spec" : !has_spec) {
      read_spec(scanner, out);
      has_spec = true;
    } else if (key && key->value == "logical_device_ids") {
      const bool none = scanner.accept("None");
      if (!none) {
        scanner.expect("(");
        auto numbers = read_numbers(scanner, ")");
        ids = std::pair(std::move(numbers), scanner.since(at));
      }
    } else if (key && key->value == "memory_kind") {
      skip_value(scanner);
    } else if (key) {
      fail_key(*key, "a NamedSharding");
    } else {
      scanner.fail_expected("')'");
    }
    if (!scanner.sees(')')) scanner.expect(",");
  }
  out.place = scanner.since(begin);
  if (!out.mesh || !has_spec) {
    text::fail(out.place, {.code = Code::syntax,
                           .message = "a NamedSharding has a mesh and a spec",
                           .notes = jax_forms()});
  }
  if (ids) out.mesh->value = placed_by_list(out.mesh->value.mesh, ids->first, ids->second);
  return out;
}

}  // namespace retile::notation
