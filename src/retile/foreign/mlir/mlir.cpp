// Which functions of a text are judged, and by which reader.
#include "retile/foreign/mlir/mlir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/before.h"
#include "retile/foreign/mlir/attributes.h"
#include "retile/foreign/mlir/before.h"
#include "retile/foreign/mlir/build.h"
#include "retile/foreign/mlir/tree.h"
#include "retile/text/scanner.h"

namespace retile::foreign {
namespace mlir {
namespace {

using Kind = Attribute::Kind;

/// The mesh of `shape = 4x6`, or of the generic form's list.
PlacedMesh numbered_mesh(const Op& op) {
  const Attribute& shape = need(op, "shape");
  std::vector<Axis> axes;
  const auto add = [&](Size size) {
    if (size < 1) {
      refuse_at(shape.place, Code::unsupported, "the size of an axis that is not known");
    }
    axes.push_back({fmt::format("a{}", axes.size()), size});
  };
  if (shape.kind == Kind::numbers) {
    for (const std::int64_t size : numbers_of(shape)) add(size);
  } else {
    text::Scanner scanner(*shape.place.input, shape.place.span);
    do {
      if (scanner.sees('?')) add(0);
      add(scanner.size("the size of an axis").value);
    } while (scanner.accept("x"));
    scanner.expect_end("of the mesh");
  }
  auto mesh = Mesh::make(std::move(axes));
  if (!mesh) text::fail_with(shape.place, mesh.error());
  return {.mesh = *std::move(mesh)};
}

/// What a function is made of decides by which reader it is read.
bool has_dialect(const Block& body, std::initializer_list<std::string_view> fronts) {
  return std::any_of(body.ops.begin(), body.ops.end(), [&](const Op& op) {
    return std::any_of(fronts.begin(), fronts.end(),
                       [&](std::string_view front) { return op.name.starts_with(front); });
  });
}

/// Only its module may call it. Where nobody does, it is left over, as reductions are in what XLA
/// makes of HLO.
bool is_private_function(const Op& function) {
  const Attribute* visibility = find(function, "sym_visibility");
  return visibility != nullptr && visibility->text == "private";
}

class ModuleReader {
 public:
  ModuleReader(const text::Input& input, const std::vector<std::size_t>& lines,
               const ReadOptions& options, ListCount& lists, std::vector<Function>& out)
      : context_{.input = &input, .lines = &lines, .lists = &lists}, options_(options), out_(out) {}

  void read(Ops& ops, const Op* module) {
    if (module != nullptr) {
      context_.partitions = device_count(*module, "mhlo.num_partitions");
      context_.replicas = device_count(*module, "mhlo.num_replicas");
    }
    for (const Op& op : ops) declare(op);
    std::set<std::string> called;
    for (const Op& op : ops) {
      if (op.name == "func.func") find_calls(op, called);
    }
    const auto begins = [&](const Op& op) {
      return op.name == "func.func" && !op.regions.empty() && called.count(name_of(op)) == 0;
    };
    const bool others_begin = std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
      return begins(op) && !is_private_function(op);
    });
    for (Op& op : ops) {
      if (op.name == "builtin.module") {
        inner(op);
      } else if (begins(op) && !(others_begin && is_private_function(op))) {
        out_.push_back(function(op));
      }
    }
  }

 private:
  void declare(const Op& op) {
    const bool of_shardy = op.name == "sdy.mesh";
    if (of_shardy || op.name == "mesh.mesh" || op.name == "shard.grid") {
      PlacedMesh mesh = of_shardy ? shardy_mesh(op) : numbered_mesh(op);
      if (!context_.meshes.emplace(need(op, "sym_name").text, std::move(mesh)).second) {
        refuse_at(op.place, Code::syntax, "a second mesh of this name");
      }
    } else if (op.name == "func.func") {
      if (!context_.functions.emplace(name_of(op), &op).second) {
        refuse_at(op.place, Code::syntax, "a second function of this name");
      }
    } else if (op.name != "builtin.module") {
      fail_unread(op.name, op.place);
    }
  }
  static void find_calls(const Op& op, std::set<std::string>& called) {
    for (const Region& region : op.regions) {
      for (const Block& block : region.blocks) {
        for (const Op& inner : block.ops) {
          if (inner.name == "call" || inner.name == "func.call") {
            if (const Attribute* callee = find(inner, "callee")) called.insert(callee->text);
          }
          find_calls(inner, called);
        }
      }
    }
  }
  void inner(Op& module) {
    if (module.regions.size() != 1 || module.regions[0].blocks.size() > 1) {
      refuse_at(module.place, Code::syntax, "a module is one block");
    }
    ModuleReader reader(*context_.input, *context_.lines, options_, *context_.lists, out_);
    Ops none;
    reader.read(module.regions[0].blocks.empty() ? none : module.regions[0].blocks[0].ops, &module);
  }
  Function function(Op& op) {
    const Block& body = body_of(op);
    if (has_dialect(body, {"mesh.", "shard."})) return read_mesh(context_, op);
    refuse_unpartitioned(context_, op, options_);
    const bool manual = has_dialect(body, {"sdy.manual_computation"});
    if (!manual && (has_dialect(body, {"sdy."}) || does_nothing(op))) {
      return read_shardy(context_, op);
    }
    return read_tiles(context_, op, options_);
  }

  /// A function of shardings alone, whose types are of the whole array as far as is known.
  [[nodiscard]] bool does_nothing(const Op& op) const {
    const Block& body = body_of(op);
    if (body.ops.size() != 1 || sharding_attribute(op, "arg_attrs", 0) == nullptr) return false;
    if (!options_.shape || body.arguments.size() != 1) return true;
    return Builder(context_, op).tile_of(body.arguments[0].type).extents == *options_.shape;
  }

  ModuleContext context_;
  const ReadOptions& options_;
  std::vector<Function>& out_;
};

}  // namespace
}  // namespace mlir

std::vector<Function> read_mlir(const text::Input& input, const ReadOptions& options) {
  const std::vector<std::size_t> lines = mlir::line_begins(input.text);
  std::vector<Function> out;
  ListCount lists;
  try {
    for (mlir::Ops& ops : mlir::parse(input)) {
      mlir::ModuleReader(input, lines, options, lists, out).read(ops, nullptr);
    }
  } catch (const text::Failure& failure) {
    // Text from before the partitioner may have any operation: that it is, is said first.
    if (!says_unpartitioned(failure.diagnostic)) mlir::refuse_unpartitioned_words(input, options);
    throw;
  }
  if (out.empty()) {
    text::fail({.input = &input, .span = {0, 0}},
               {.code = Code::syntax, .message = "no function with a body stands here"});
  }
  return out;
}

}  // namespace retile::foreign
