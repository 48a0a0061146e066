#include "retile/problems/problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/device_table.h"
#include "retile/notation/paper/notation.h"
#include "retile/problems/drawing.h"

namespace retile::problems {
namespace {

using Sizes = std::vector<Size>;

/// Meshes of each family, as sizes of axes.
const std::vector<Sizes>& meshes_of(Family family) {
  static const std::array<std::vector<Sizes>, family_names.size()> meshes = {{
      {{2, 2}, {2, 4}, {4, 2}, {8}, {2, 2, 2}, {4, 4}, {2, 2, 4}, {4, 2, 4}, {16}, {8, 4}},
      {{2, 3}, {6, 2}, {3, 2, 2}, {4, 3}, {6, 4}, {2, 3, 4}, {12}, {2, 6, 2}, {3, 6}},
      {{3, 5}, {2, 5}, {2, 3, 5}, {4, 3}, {8, 3}, {5, 4}, {7, 2}, {3, 7}, {4, 9}, {5, 6}},
      {{12, 2}, {16, 2}, {24}, {8, 6}, {12, 4}, {18, 2}, {36}, {32, 2}, {20, 3}},
      {{2, 2, 2}, {4, 2, 4}, {8, 4, 2}},
      {{2, 2}, {4, 2}, {3, 2}, {8}, {2, 3, 2}, {5}, {4, 3}, {7, 2}},
      {{2, 2}, {4, 2}, {2, 3}, {2, 2, 2}, {4, 3}, {6, 2}, {2, 4, 3}, {8, 2}},
      {{2, 2}, {4, 2}, {2, 3}, {2, 2, 2}, {4, 3}, {6, 2}, {2, 4, 3}, {8, 2}},
  }};
  return meshes[static_cast<std::size_t>(family)];
}

Mesh draw_mesh(Family family, Drawing& drawing) {
  constexpr std::string_view names = "xyz";
  std::vector<Axis> axes;
  for (const Size size : drawing.one_of(meshes_of(family))) {
    axes.push_back({std::string(1, names[axes.size()]), size});
  }
  return Mesh::make(std::move(axes)).value();
}

Size product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Size{1}, std::multiplies<>());
}

Size blocks(Size extent, Size parts) { return extent / parts + (extent % parts == 0 ? 0 : 1); }

/// Extents that some of the axes divide, or any where tiles need not be alike.
Shape draw_extents(Family family, const Mesh& mesh, Drawing& drawing) {
  constexpr std::array<Size, 4> factors = {1, 1, 2, 3};
  Shape out(static_cast<std::size_t>(drawing.between(1, family == Family::section8 ? 4 : 3)), 1);
  if (family == Family::uneven) {
    Size largest = 1;
    for (const Axis& axis : mesh.axes()) largest = std::max(largest, axis.size);
    for (Size& extent : out) extent = drawing.between(1, 4 * largest + 3);
    return out;
  }
  for (const Axis& axis : mesh.axes()) {
    for (Size& extent : out) {
      if (drawing.between(0, 3) > 0) extent *= axis.size;
    }
  }
  for (Size& extent : out) extent *= drawing.one_of(factors);
  return out;
}

Shape draw_shape(Family family, const Mesh& mesh, Drawing& drawing) {
  const Size devices = mesh.device_count();
  const Size most = devices <= 32 ? 4096 : 2048;
  const Size least = family == Family::uneven ? 2 : devices;
  while (true) {
    Shape out = draw_extents(family, mesh, drawing);
    const Size elements = product(out);
    if (least <= elements && elements <= most) return out;
  }
}

/// Every axis but those taken, in a random order, cuts a dimension or none; where it would not divide
/// the tile it replicates.
std::vector<std::vector<std::size_t>> spread(const Mesh& mesh, const Shape& shape, bool uneven,
                                             const std::vector<std::size_t>& taken,
                                             Drawing& drawing) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    if (std::find(taken.begin(), taken.end(), axis) == taken.end()) axes.push_back(axis);
  }
  drawing.shuffle(axes);
  std::vector<std::vector<std::size_t>> out(shape.size());
  Shape tile = shape;
  for (const std::size_t axis : axes) {
    const Size size = mesh.axes()[axis].size;
    const auto dim = static_cast<std::size_t>(drawing.between(0, static_cast<Size>(shape.size())));
    if (dim == shape.size() || (tile[dim] % size != 0 && !uneven)) continue;
    out[dim].push_back(axis);
    tile[dim] = blocks(tile[dim], size);
  }
  return out;
}

/// The mesh turned: its least factor, the fastest of all, becomes the slowest.
Sizes turned(Size devices) {
  Size rows = 1;
  for (Size k = 2; k < devices && rows == 1; ++k) {
    if (devices % k == 0) rows = k;
  }
  Sizes out;
  for (Size column = 0; column < devices / rows; ++column) {
    for (Size row = 0; row < rows; ++row) out.push_back(column + row * (devices / rows));
  }
  return out;
}

/// Two devices exchanged, the mesh turned, or any order.
Sizes draw_order(Size devices, Drawing& drawing) {
  Sizes out(static_cast<std::size_t>(devices));
  std::iota(out.begin(), out.end(), Size{0});
  const Size kind = drawing.between(0, 2);
  if (kind == 1) return turned(devices);
  if (kind == 2) {
    drawing.shuffle(out);
    return out;
  }
  const auto [one, other] = drawing.two_below(devices);
  std::swap(out[static_cast<std::size_t>(one)], out[static_cast<std::size_t>(other)]);
  return out;
}

void draw_orders(Problem& problem, Drawing& drawing) {
  const Size devices = problem.mesh.device_count();
  Sizes order = draw_order(devices, drawing);
  (drawing.between(0, 1) == 0 ? problem.from : problem.to).order = std::move(order);
  if (!drawing.happens(0.3)) return;
  problem.from.order = draw_order(devices, drawing);
  problem.to.order = draw_order(devices, drawing);
}

/// The ends of an array of that shape.
void draw_ends(Problem& problem, Drawing& drawing) {
  const Family family = problem.family;
  problem.from = {};
  problem.to = {};
  for (std::size_t axis = 0; family == Family::sums && axis < problem.mesh.axes().size(); ++axis) {
    if (drawing.happens(0.5)) problem.from.sums.push_back(axis);
  }
  for (const std::size_t axis : problem.from.sums) {
    if (drawing.happens(0.25)) problem.to.sums.push_back(axis);
  }
  const bool uneven = family == Family::uneven || (family == Family::sums && drawing.happens(0.1));
  for (End* end : {&problem.from, &problem.to}) {
    end->dims = spread(problem.mesh, problem.shape, uneven, end->sums, drawing);
  }
  if (family == Family::orders) draw_orders(problem, drawing);
}

std::string names_text(const Mesh& mesh, std::span<const std::size_t> major_to_minor) {
  std::string out;
  for (auto axis = major_to_minor.rbegin(); axis != major_to_minor.rend(); ++axis) {
    out += (out.empty() ? "" : ",") + mesh.axes()[*axis].name;
  }
  return out;
}

std::string dim_text(const Mesh& mesh, Size extent, const std::vector<std::size_t>& axes) {
  if (axes.empty()) return fmt::to_string(extent);
  Size parts = 1;
  for (const std::size_t axis : axes) parts *= mesh.axes()[axis].size;
  return fmt::format("{}{{{}}}{}", blocks(extent, parts), names_text(mesh, axes), extent);
}

}  // namespace

Problem draw(Size seed, Size number) {
  Drawing drawing(fmt::format("retile peers {} {}", seed, number));
  Problem out{.family = family_of(number)};
  out.mesh = draw_mesh(out.family, drawing);
  do {
    out.shape = draw_shape(out.family, out.mesh, drawing);
    draw_ends(out, drawing);
  } while (out.from == out.to && !out.from.order);
  return out;
}

std::string type_text(const Problem& problem, const End& end) {
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < problem.shape.size(); ++i) {
    dims.push_back(dim_text(problem.mesh, problem.shape[i], end.dims[i]));
  }
  const std::string addends =
      end.sums.empty() ? "" : fmt::format("sum{{{}}}", names_text(problem.mesh, end.sums));
  return fmt::format("{}[{}]", addends, fmt::join(dims, ", "));
}

Sharding sharding_of(const Problem& problem, const End& end) {
  ShardingContext context;
  context.mesh = {.mesh = problem.mesh};
  if (end.order) context.mesh->order = DeviceTable::list(*end.order);
  auto out = parse_sharding(type_text(problem, end), context);
  RETILE_ASSERT(out.has_value(), out ? "" : out.error().message);
  return *std::move(out);
}

std::vector<std::string> arguments_of(const Problem& problem) {
  std::vector<std::string> out = {"--mesh", to_text(problem.mesh)};
  const auto add_order = [&](const std::string& option, const End& end) {
    out.push_back(option);
    out.push_back(end.order ? fmt::format("[{}]", fmt::join(*end.order, ","))
                            : fmt::format("[{0}]<=[{0}]", problem.mesh.device_count()));
  };
  if (problem.from.order || problem.to.order) {
    add_order("--order", problem.from);
    add_order("--order-to", problem.to);
  }
  out.push_back(type_text(problem, problem.from));
  out.push_back(type_text(problem, problem.to));
  return out;
}

}  // namespace retile::problems
