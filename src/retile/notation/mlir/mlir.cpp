// MLIR's shardings by number of the axis: `#mesh.shard<@m, [[0], [1]], partial = sum[2]>` of 19,
// `mesh.sharding @m split_axes = [[0], [1]]` and `shard.sharding ..` since, and its meshes.
#include <fmt/format.h>

#include "retile/core/names.h"
#include "retile/notation/written.h"

namespace retile::notation {
namespace {

WrittenPart read_axis(Scanner& scanner) {
  const auto number = scanner.number();
  return {.axis = {}, .number = number.value, .place = number.place};
}

/// Reads `[0, 1]`.
WrittenAxes read_axes(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  WrittenAxes out;
  scanner.expect("[");
  while (!scanner.accept("]")) {
    if (!out.parts.empty() && !scanner.accept(",")) {
      scanner.fail_expected("',' or ']' after the number of an axis");
    }
    out.parts.push_back(read_axis(scanner));
  }
  out.place = scanner.since(begin);
  return out;
}

/// Reads `[[0, 1], []]`.
std::vector<WrittenAxes> read_dims(Scanner& scanner) {
  std::vector<WrittenAxes> out;
  scanner.expect("[");
  do {
    out.push_back(read_axes(scanner));
  } while (scanner.accept(","));
  if (!scanner.accept("]")) scanner.fail_expected("',' or ']' after a dimension");
  return out;
}

/// Reads `partial = sum[2]`, behind the first word.
void read_partial(Scanner& scanner, Written& out, std::size_t begin) {
  scanner.expect("=");
  const auto addition = accept_addition(scanner);
  if (!addition) scanner.fail_expected("sum, max or min");
  out.addition = *addition;
  out.addends = read_axes(scanner);
  out.addends.place = scanner.since(begin);
}

/// Reads numbers in brackets that may also be values: those are not known.
std::vector<Token<Size>> read_static(Scanner& scanner) {
  std::vector<Token<Size>> out;
  scanner.expect("=");
  scanner.expect("[");
  while (!scanner.accept("]")) {
    if (!out.empty()) scanner.expect(",");
    if (scanner.sees('%') || scanner.sees('?')) {
      text::fail(scanner.rest(), {.code = Code::unsupported,
                                  .message = "a number that is not known",
                                  .notes = {"offsets and halos are read as numbers"}});
    }
    out.push_back(scanner.number());
  }
  return out;
}

/// What follows `split_axes = ..`.
void read_rest(Scanner& scanner, Written& out) {
  while (true) {
    static_cast<void>(scanner.accept(","));
    const std::size_t begin = scanner.next();
    if (scanner.accept("partial")) {
      read_partial(scanner, out, begin);
    } else if (scanner.accept("sharded_dims_offsets")) {
      out.offsets = read_static(scanner);
    } else if (scanner.accept("halo_sizes")) {
      for (const Token<Size>& halo : read_static(scanner)) {
        if (halo.value == 0) continue;
        text::fail(halo.place,
                   {.code = Code::unsupported,
                    .message = "a halo: MLIR's reaches beyond the array, and no box does",
                    .notes = {"the paper's notation has halos that end with it, 3{x}12<1,1>"}});
      }
    } else {
      return;
    }
  }
}

/// Reads `@m`.
Token<std::string> read_symbol(Scanner& scanner) {
  scanner.expect("@");
  return scanner.name("the name of a mesh");
}

/// Reads `shard.sharding @m split_axes = ..`.
void read_operation(Scanner& scanner, Written& out) {
  if (scanner.accept("%")) {
    static_cast<void>(scanner.sees_number() ? scanner.number().place
                                            : scanner.word("the name of a value").place);
    scanner.expect("=");
  }
  if (!scanner.accept("mesh.sharding") && !scanner.accept("shard.sharding")) {
    scanner.fail_expected("mesh.sharding or shard.sharding");
  }
  out.mesh_name = read_symbol(scanner);
  scanner.expect("split_axes");
  scanner.expect("=");
  out.dims = read_dims(scanner);
  read_rest(scanner, out);
  Scanner ahead = scanner;
  if (ahead.accept(":") && (ahead.accept("!mesh.sharding") || ahead.accept("!shard.sharding"))) {
    scanner = ahead;
  }
}

}  // namespace

PlacedMesh read_mlir_mesh(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  if (!scanner.accept("mesh.mesh")) scanner.expect("shard.grid");
  static_cast<void>(read_symbol(scanner));
  scanner.expect("(");
  scanner.expect("shape");
  scanner.expect("=");
  std::vector<ReadAxis> axes;
  do {
    if (scanner.sees('?')) {
      text::fail(scanner.rest(),
                 {.code = Code::unsupported, .message = "the size of an axis that is not known"});
    }
    const auto size = scanner.size("the size of an axis");
    axes.push_back({{numbered_axis(axes.size()), size.place}, size});
  } while (scanner.accept("x"));
  scanner.expect(")");
  return {.mesh = mesh_of(axes, scanner.since(begin))};
}

Written read_mlir(Scanner& scanner) {
  Written out{.notation = Notation::mlir};
  out.may_be_short = true;
  const std::size_t begin = scanner.next();
  const bool attribute = scanner.accept("#mesh.sharding") || scanner.accept("#mesh.shard");
  if (attribute || scanner.sees('<')) {
    scanner.expect("<");
    out.mesh_name = read_symbol(scanner);
    scanner.expect(",");
    out.dims = read_dims(scanner);
    read_rest(scanner, out);
    scanner.expect(">");
  } else {
    read_operation(scanner, out);
  }
  out.place = scanner.since(begin);
  return out;
}

}  // namespace retile::notation
