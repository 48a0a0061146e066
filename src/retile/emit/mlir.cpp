// MLIR's mesh dialect (19), which is called shard since (22): collectives on the tiles of devices, along
// axes of the mesh by number.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/core/cases.h"
#include "retile/emit/trace.h"

namespace retile::emit {
namespace {

/// What the two call things.
struct Dialect {
  std::string_view name;
  std::string_view mesh;  ///< the operation that defines one
  std::string_view axes;
  std::string_view open;  ///< around a reduction
  std::string_view close;
};

constexpr Dialect mesh_dialect = {"mesh", "mesh.mesh", "mesh_axes", "<", ">"};
constexpr Dialect shard_dialect = {"shard", "shard.grid", "grid_axes", "", ""};

/// All factors of the device number that a Program's steps move or its ends have.
std::vector<Digit> axes_of(const Program& program, const std::vector<Traced>& steps) {
  std::vector<Digit> all;
  const auto add = [&](const std::vector<Digit>& digits) {
    all.insert(all.end(), digits.begin(), digits.end());
  };
  if (program.mesh) {
    for (const Axis& axis : program.mesh->axes()) add({*program.mesh->digit(axis.name)});
  }
  for (const auto& digits : program.from.digits()) add(digits);
  for (const auto& digits : program.to.digits()) add(digits);
  for (const Traced& traced : steps) add(traced.digits);
  return factors_of(program.devices, all);
}

/// `[0, 2]`: the axes that make up these digits, major to minor.
std::string numbers(const std::vector<Digit>& axes, const std::vector<Digit>& digits) {
  std::vector<std::size_t> out;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const bool inside =
          digit->stride <= axes[k].stride && axes[k].stride < digit->stride * digit->size;
      if (inside) out.push_back(k);
    }
  }
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string reduction(const Dialect& dialect, Addition addition) {
  if (addition == Addition::sum) return "";
  return fmt::format(" reduction = {}{}{}", dialect.open, name_of(addition), dialect.close);
}

[[noreturn]] std::string refuse_step(const Traced& traced, const Dialect& dialect) {
  refuse_form(fmt::format("step {} ({}) is no collective of the dialect {}", traced.number,
                          op_name(*traced.step), dialect.name));
}

/// The operation's name, and its attributes behind the axes.
std::pair<std::string, std::string> operation(const Traced& traced, const Dialect& dialect) {
  using Pair = std::pair<std::string, std::string>;
  return match(
      traced.step->op,
      [&](const Dynslice& op) {
        return Pair{"all_slice", fmt::format(" slice_axis = {}", op.dim)};
      },
      [&](const Allgather& op) {
        return Pair{"all_gather", fmt::format(" gather_axis = {}", op.dim)};
      },
      [&](const Alltoall& op) {
        return Pair{"all_to_all",
                    fmt::format(" split_axis = {} concat_axis = {}", op.split, op.concat)};
      },
      [&](const Allpermute&) {
        return Pair{refuse_step(traced, dialect), ""};
      },
      [&](const Exchange&) {
        return Pair{refuse_step(traced, dialect), ""};
      },
      [&](const Reducescatter& op) {
        return Pair{"reduce_scatter",
                    fmt::format("{} scatter_axis = {}", reduction(dialect, op.add), op.dim)};
      },
      [&](const Allreduce& op) {
        return Pair{"all_reduce", reduction(dialect, op.add)};
      },
      [&](const Unreduce&) {
        return Pair{refuse_step(traced, dialect), ""};
      },
      [&](const Embed&) {
        return Pair{refuse_step(traced, dialect), ""};
      },
      [&](const OverDims auto&) {
        return Pair{refuse_step(traced, dialect), ""};
      });
}

std::string written(const Program& program, const Dialect& dialect, std::string_view element) {
  const std::vector<Shape> tiles = even_tiles(program, "MLIR");
  const std::vector<Traced> steps = trace(program, true);
  const std::vector<Digit> axes = axes_of(program, steps);
  std::string shape;
  for (const Digit& axis : axes) shape += fmt::format("{}{}", shape.empty() ? "" : "x", axis.size);
  std::string out = ends_text(program, "// ");
  out +=
      fmt::format("module {{\n  {} @mesh(shape = {})\n", dialect.mesh, shape.empty() ? "1" : shape);
  out += fmt::format("  func.func @main(%arg0: {}) -> {} {{\n", tensor(tiles.front(), element),
                     tensor(tiles.back(), element));
  std::string value = "%arg0";
  for (const Traced& traced : steps) {
    const auto [name, attributes] = operation(traced, dialect);
    const std::string next = fmt::format("%{}", traced.number - 1);
    out += fmt::format("    {} = {}.{} {} on @mesh {} = {}{} : {} -> {}\n", next, dialect.name,
                       name, value, dialect.axes, numbers(axes, traced.digits), attributes,
                       tensor(tiles[traced.number - 1], element),
                       tensor(tiles[traced.number], element));
    value = next;
  }
  return out + fmt::format("    return {} : {}\n  }}\n}}\n", value, tensor(tiles.back(), element));
}

}  // namespace

std::string mlir19(const Program& program, std::string_view element) {
  return written(program, mesh_dialect, element);
}
std::string mlir22(const Program& program, std::string_view element) {
  return written(program, shard_dialect, element);
}

}  // namespace retile::emit
