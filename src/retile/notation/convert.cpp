#include "retile/notation/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/division.h"
#include "retile/core/names.h"
#include "retile/notation/axes.h"
#include "retile/notation/dtensor/placements.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/read.h"
#include "retile/notation/paper/type_text.h"

namespace retile {
namespace notation {
namespace {

/// Devices that are listed one by one at most.
constexpr Size most_listed_devices = Size{1} << 20;

/// What a form cannot say: thrown inside of this file.
struct Unsayable {
  Diagnostic diagnostic;
};

[[noreturn]] void refuse_form(std::string message, std::vector<std::string> notes = {}) {
  throw Unsayable{
      {.code = Code::unsupported, .message = std::move(message), .notes = std::move(notes)}};
}

Size tiles_of(const Mesh& mesh, const std::vector<AxisPart>& parts) {
  Size out = 1;
  for (const AxisPart& part : parts) out *= digit_of(mesh, part)->size;
  return out;
}

/// Whether a dimension is cut into blocks of ceil(n/k).
bool is_cut_evenly(const Mesh& mesh, const CutDim& dim) {
  const Size tiles = tiles_of(mesh, dim.parts);
  const Cuts cuts = cuts_of(cut_text(mesh, dim)).value();
  return cuts.is_blocks() && cuts.block() == ceil_div(dim.global, tiles);
}

/// Which forms can say what.
struct Ability {
  std::string_view name;
  bool parts = true;         ///< of axes
  bool listed = false;       ///< cuts
  bool only_device = false;  ///< that holds everything
  bool other_additions = false;
  bool addends = true;
  bool order = true;
  bool several_boxes = false;  ///< of a tile
};

void check_dims(const Sharding& sharding, const Ability& can) {
  if (!can.several_boxes && !sharding.layout.in_boxes()) {
    refuse_form(fmt::format("{} gives every device one box, and here some have several", can.name));
  }
  const Mesh& mesh = sharding.mesh.mesh;
  for (std::size_t i = 0; i < sharding.dims.size(); ++i) {
    const CutDim& dim = sharding.dims[i];
    if (dim.halo != Halo{} && !dim.parts.empty()) {
      refuse_form(fmt::format("{} has no halos, and dimension {} has one", can.name, i));
    }
    if (!can.listed && !is_cut_evenly(mesh, dim)) {
      refuse_form(fmt::format("{} cuts into blocks of ceil(n/k), and dimension {} is cut otherwise",
                              can.name, i));
    }
    const auto parts = joined(mesh, dim.parts);
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [](const AxisPart& found) { return found.major != 0; });
    if (!can.parts && part != parts.end()) {
      refuse_form(fmt::format("{} has no parts of axes, and {} cuts dimension {}", can.name,
                              part_text(*part), i));
    }
  }
}

void check_ability(const Sharding& sharding, const Ability& can) {
  const PlacedMesh& mesh = sharding.mesh;
  if (sharding.only_device) {
    if (!can.only_device) {
      refuse_form(fmt::format("{} has no array that one device holds alone", can.name));
    }
    return;
  }
  check_dims(sharding, can);
  if (mesh.order && !can.order) {
    refuse_form(fmt::format("{} has no order of devices", can.name));
  }
  if (sharding.addends.empty()) return;
  if (!can.addends) refuse_form(fmt::format("{} has no addends", can.name));
  if (sharding.addition != Addition::sum &&
      (!can.other_additions || sharding.addition == Addition::stack)) {
    refuse_form(fmt::format("{} has no addends of a {}", can.name, name_of(sharding.addition)));
  }
  const auto parts = joined(mesh.mesh, sharding.addends);
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [](const AxisPart& found) { return found.major != 0; });
  if (!can.parts && part != parts.end()) {
    refuse_form(
        fmt::format("{} has no parts of axes, and {} counts addends", can.name, part_text(*part)));
  }
}

/// A name between quotes, which it must not hold itself.
std::string quoted(std::string_view name, char quote) {
  if (name.find(quote) != std::string_view::npos) {
    refuse_form(fmt::format("the name of axis {} holds a quote", shown_name(name)));
  }
  return fmt::format("{}{}{}", quote, name, quote);
}

/// The devices at the positions, one by one.
std::vector<Size> device_list(const DeviceTable& order) {
  if (order.size() > most_listed_devices) {
    refuse_form(fmt::format("a list of {}", counted(order.size(), "device")));
  }
  return order.entries();
}

/// `"x"=2, "y"=4`
std::string pairs_text(const Mesh& mesh, char quote, std::string_view between,
                       std::string_view comma) {
  std::string out;
  for (const Axis& axis : mesh.axes()) {
    if (!out.empty()) out += comma;
    out += fmt::format("{}{}{}", quoted(axis.name, quote), between, axis.size);
  }
  return out;
}

/// `{"x"}, {}`
std::string braced_dims(const Sharding& sharding, char quote) {
  std::string out;
  for (const CutDim& dim : sharding.dims) {
    out += fmt::format("{}{{{}}}", out.empty() ? "" : ", ",
                       axes_text(sharding.mesh.mesh, dim.parts, quote));
  }
  return out;
}

/// Parts in the order of the mesh, as sets of axes are written; minor to major.
std::vector<AxisPart> in_mesh_order(const Mesh& mesh, std::vector<AxisPart> parts) {
  std::sort(parts.begin(), parts.end(), [&](const AxisPart& a, const AxisPart& b) {
    return digit_of(mesh, a)->stride < digit_of(mesh, b)->stride;
  });
  return parts;
}

/// `, unreduced={"x"}`, if there are addends.
std::string unreduced_text(const Sharding& sharding, char quote) {
  if (sharding.addends.empty()) return "";
  const Mesh& mesh = sharding.mesh.mesh;
  return fmt::format(", unreduced={}{{{}}}",
                     sharding.addition == Addition::sum ? "" : name_of(sharding.addition),
                     axes_text(mesh, in_mesh_order(mesh, sharding.addends), quote));
}

// ---- Shardy, JAX --------------------------------------------------------------------------------

std::string shardy_mesh(const PlacedMesh& mesh) {
  std::string out = fmt::format("<[{}]", pairs_text(mesh.mesh, '"', "=", ", "));
  if (mesh.order)
    out += fmt::format(", device_ids=[{}]", fmt::join(device_list(*mesh.order), ", "));
  return out + ">";
}

std::string shardy_text(const Sharding& sharding) {
  check_ability(sharding, {.name = "Shardy", .only_device = true, .other_additions = true});
  if (sharding.only_device) {
    return fmt::format("#sdy.sharding<mesh<[], device_ids=[{}]>, []>", *sharding.only_device);
  }
  return fmt::format("#sdy.sharding<mesh{}, [{}]{}>", shardy_mesh(sharding.mesh),
                     braced_dims(sharding, '"'), unreduced_text(sharding, '"'));
}

std::string jax_mesh(const PlacedMesh& mesh) {
  return fmt::format("Mesh({})", pairs_text(mesh.mesh, '\'', ": ", ", "));
}

std::string jax_entry(const Mesh& mesh, const CutDim& dim) {
  if (dim.parts.empty()) return "None";
  std::string names = axes_text(mesh, dim.parts, '\'');
  return joined(mesh, dim.parts).size() == 1 ? names : "(" + names + ")";
}

std::string jax_text(const Sharding& sharding) {
  check_ability(sharding, {.name = "JAX", .parts = false});
  const Mesh& mesh = sharding.mesh.mesh;
  std::string spec;
  for (const CutDim& dim : sharding.dims) {
    spec += (spec.empty() ? "" : ", ") + jax_entry(mesh, dim);
  }
  if (!sharding.addends.empty()) {
    spec += fmt::format("{}unreduced={{{}}}", spec.empty() ? "" : ", ",
                        axes_text(mesh, in_mesh_order(mesh, sharding.addends), '\''));
  }
  std::string ids;
  if (const auto& order = sharding.mesh.order) {
    ids = fmt::format(", logical_device_ids=({},)", fmt::join(device_list(*order), ", "));
  }
  return fmt::format("NamedSharding(mesh={}, spec=P({}){})", jax_mesh(sharding.mesh), spec, ids);
}

// ---- HLO ----------------------------------------------------------------------------------------

/// `[2,4]T(1,0)`, of one stage.
std::string stage_text(const IotaStage& stage) {
  std::string out = fmt::format("[{}]", fmt::join(stage.shape, ","));
  if (!stage.transpose.empty()) out += fmt::format("T({})", fmt::join(stage.transpose, ","));
  return out;
}

std::string hlo_mesh(const PlacedMesh& mesh) {
  std::string out = fmt::format("mesh[{}]", pairs_text(mesh.mesh, '\'', "=", ","));
  if (!mesh.order) return out;
  const IotaChain* chain = mesh.order->chain();
  if (chain != nullptr && chain->simplified().stages().size() == 1) {
    return out + fmt::format(", device_ids=({})", stage_text(chain->simplified().stages().front()));
  }
  return out + fmt::format(", device_ids=({})", fmt::join(device_list(*mesh.order), ","));
}

std::string hlo3_text(const Sharding& sharding) {
  check_ability(sharding, {.name = "HLO", .only_device = true, .other_additions = true});
  if (sharding.only_device) {
    return fmt::format("{{maximal_mesh[device_id={}]}}", *sharding.only_device);
  }
  return fmt::format("{{{}, [{}]{}}}", hlo_mesh(sharding.mesh), braced_dims(sharding, '\''),
                     unreduced_text(sharding, '\''));
}

/// Devices in rows of tiles.
struct HloTable {
  std::vector<Size> extents;
  std::string flags;
  IotaChain positions{1};  ///< the position of the mesh at each place of the table
};

HloTable table_of(const Sharding& sharding) {
  const Mesh& mesh = sharding.mesh.mesh;
  HloTable out;
  std::vector<Digit> order;  // major to minor places of the table
  const auto add = [&](const std::vector<AxisPart>& parts) {
    auto digits = digits_of(mesh, parts);
    order.insert(order.end(), digits.rbegin(), digits.rend());
    return tiles_of(mesh, parts);
  };
  for (const CutDim& dim : sharding.dims) out.extents.push_back(add(dim.parts));
  const Size addends = add(sharding.addends);
  if (addends > 1) out.extents.push_back(addends);
  const std::vector<Digit> factors = common_factors(mesh.device_count(), order).value();
  IotaStage stage;
  std::vector<bool> used(factors.size(), false);
  for (const Digit& factor : factors) stage.shape.push_back(factor.size);
  const auto place = [&](const Digit& digit) {  // its factors, major to minor
    for (std::size_t k = 0; k < factors.size(); ++k) {
      if (factors[k].stride < digit.stride || factors[k].stride >= digit.stride * digit.size)
        continue;
      used[k] = true;
      stage.transpose.push_back(k);
    }
  };
  for (const Digit& digit : order) place(digit);
  Size replicas = 1;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    if (used[k]) continue;
    stage.transpose.push_back(k);
    replicas *= factors[k].size;
  }
  if (replicas > 1) out.extents.push_back(replicas);
  if (addends > 1) {
    out.flags =
        replicas > 1 ? " last_tile_dims={unreduced, replicated}" : " last_tile_dims={unreduced}";
  } else if (replicas > 1) {
    out.flags = " last_tile_dim_replicate";
  }
  out.positions = IotaChain(mesh.device_count());
  if (!stage.shape.empty()) out.positions.append(std::move(stage));
  return out;
}

/// The devices of a table as a list, V1, or an iota, V2.
std::string table_text(const Sharding& sharding, bool list) {
  check_ability(sharding, {.name = "a table of HLO", .only_device = true});
  if (sharding.only_device) return fmt::format("{{maximal device={}}}", *sharding.only_device);
  const PlacedMesh& mesh = sharding.mesh;
  if (mesh.devices() > mesh.mesh.device_count()) {
    refuse_form("a table of HLO has all devices, and here some stand on no mesh");
  }
  const bool whole = std::all_of(sharding.dims.begin(), sharding.dims.end(),
                                 [](const CutDim& dim) { return dim.parts.empty(); });
  if (whole && sharding.addends.empty()) return "{replicated}";
  const HloTable table = table_of(sharding);
  const IotaChain* chain = mesh.order ? mesh.order->chain() : nullptr;
  const IotaChain devices =
      (chain != nullptr ? compose(*chain, table.positions) : table.positions).simplified();
  const std::string extents = fmt::format("{}", fmt::join(table.extents, ","));
  if (!list) {
    if (devices.stages().size() > 1 || (mesh.order && chain == nullptr)) {
      refuse_form("no single iota lists these devices", {"hlo1 lists them one by one"});
    }
    const std::string iota = devices.stages().empty() ? fmt::format("[{}]", devices.size())
                                                      : stage_text(devices.stages().front());
    return fmt::format("{{devices=[{}]<={}{}}}", extents, iota, table.flags);
  }
  std::vector<Size> entries = device_list(DeviceTable::iota(devices, devices.size()));
  if (mesh.order && chain == nullptr) {
    for (Size& entry : entries) entry = mesh.order->at(entry);
  }
  return fmt::format("{{devices=[{}]{}{}}}", extents, fmt::join(entries, ","), table.flags);
}

// ---- DTensor, MLIR ------------------------------------------------------------------------------

bool has_axis(const std::vector<AxisPart>& parts, const std::string& axis) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const AxisPart& part) { return part.axis == axis; });
}

/// Into how many chunks an axis would cut a dimension of chunks for DTensor, if it does: of what the first devices along
/// all axes before it have, its first device has a piece of every chunk, and others have what is between.
Size chunks_cut_by(const Mesh& mesh, const CutDim& dim, const Cuts& cuts, const std::string& axis) {
  const Size own = mesh.digit(axis)->stride;
  std::vector<std::pair<Stretch, bool>> pieces;  // and whether that first device has it
  for (Size t = 0; t < cuts.count(); ++t) {
    bool counts = true;
    bool is_first = true;
    Size rest = t;
    for (const AxisPart& part : dim.parts) {  // minor to major
      const Digit digit = *digit_of(mesh, part);
      const Size at = rest % digit.size;
      rest /= digit.size;
      counts = counts && (digit.stride <= own || at == 0);
      is_first = is_first && (digit.stride != own || at == 0);
    }
    for (const Stretch& stretch : counts ? cuts.stretches(t) : std::vector<Stretch>()) {
      pieces.emplace_back(stretch, is_first);
    }
  }
  std::sort(pieces.begin(), pieces.end());
  Size out = 0;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (pieces[k].second && (k == 0 || !pieces[k - 1].second)) ++out;
  }
  return std::max<Size>(out, 1);
}

/// How many tiles the axes behind `axis` in the mesh make that are more major in the dimension. Where tiles are dealt out
/// or have sections, of how many chunks a tile has a part each, if any does.
Size split_factor(const Mesh& mesh, const CutDim& dim, const std::string& axis) {
  if (dim.is_dealt()) {
    const Cuts cuts = cuts_of(cut_text(mesh, dim)).value();
    if (cuts.is_chunked()) return chunks_cut_by(mesh, dim, cuts, axis);
    if (cuts.sections().size() > 1) return static_cast<Size>(cuts.sections().size());
    if (!cuts.sections().empty())
      return ceil_div(cuts.global(), cuts.count() * cuts.sections().front().block);
  }
  Size out = 1;
  bool major = false;
  const Digit own = *mesh.digit(axis);
  for (const AxisPart& part : joined(mesh, dim.parts)) {  // minor to major
    const Digit digit = *mesh.digit(part.axis);
    if (major && digit.stride < own.stride) out *= digit.size;
    major = major || part.axis == axis;
  }
  return out;
}

Placement placement_of(const Sharding& sharding, const Axis& axis) {
  const Mesh& mesh = sharding.mesh.mesh;
  if (axis.size > 1 && has_axis(sharding.addends, axis.name)) {
    return {.kind = Placement::Kind::partial,
            .addition = sharding.addition,
            .is_average = sharding.divisor > 1};
  }
  for (std::size_t i = 0; axis.size > 1 && i < sharding.dims.size(); ++i) {
    if (!has_axis(sharding.dims[i].parts, axis.name)) continue;
    return {.kind = Placement::Kind::shard,
            .dim = static_cast<Size>(i),
            .split_factor = split_factor(mesh, sharding.dims[i], axis.name)};
  }
  return {};
}

std::string placement_text(const Placement& placement) {
  switch (placement.kind) {
    case Placement::Kind::replicate:
      return "Replicate()";
    case Placement::Kind::partial:
      return fmt::format("Partial({})", placement.is_average ? "avg" : name_of(placement.addition));
    case Placement::Kind::shard:
      break;
  }
  if (placement.split_factor == 1) return fmt::format("Shard(dim={})", placement.dim);
  return fmt::format("_StridedShard(dim={}, sf={})", placement.dim, placement.split_factor);
}

/// Whether every device has the same of both dimensions. Cuts without gaps are compared alone: whose axes count otherwise
/// has other split factors.
bool cut_alike(const Mesh& mesh, const CutDim& a, const CutDim& b) {
  const Cuts first = cuts_of(cut_text(mesh, a)).value();
  const Cuts second = cuts_of(cut_text(mesh, b)).value();
  if (!first.is_dealt() && !second.is_dealt()) return first == second;
  return paper::layout_of(mesh, {a}).equivalent(paper::layout_of(mesh, {b}));
}

/// Whether DTensor means by these placements what the sharding says.
bool means_the_same(const std::vector<Placement>& placements, const Sharding& sharding) {
  const text::Input nowhere{.text = {}, .source = {}};
  std::vector<Placement> placed = placements;
  for (Placement& placement : placed) placement.place.input = &nowhere;
  const auto read = text::result_of([&] {
    return place_by_axis(placed, sharding.mesh.mesh, sharding.layout.global(),
                         {.input = &nowhere, .span = {}});
  });
  if (!read || read->divisor != sharding.divisor) return false;
  for (std::size_t i = 0; i < sharding.dims.size(); ++i) {
    if (!cut_alike(sharding.mesh.mesh, read->dims[i], sharding.dims[i])) return false;
  }
  return true;
}

std::string dtensor_text(const Sharding& sharding) {
  check_ability(sharding, {.name = "DTensor",
                           .parts = false,
                           .listed = true,
                           .other_additions = true,
                           .several_boxes = true});
  std::vector<Placement> placements;
  std::string out;
  for (const Axis& axis : sharding.mesh.mesh.axes()) {
    placements.push_back(placement_of(sharding, axis));
    out += (out.empty() ? "" : ", ") + placement_text(placements.back());
  }
  if (!means_the_same(placements, sharding)) {
    refuse_form("DTensor cuts one axis after the other, and these tiles are cut otherwise");
  }
  return fmt::format("({}{})", out, placements.size() == 1 ? "," : "");
}

std::string dtensor_mesh(const PlacedMesh& mesh) {
  if (mesh.order) refuse_form("DTensor's mesh is written without the order of its devices");
  std::string out;
  for (const Axis& axis : mesh.mesh.axes()) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name_text(axis.name), axis.size);
  }
  return fmt::format("DeviceMesh(({}))", out);
}

/// `[0, 1]`, major to minor.
std::string mlir_axes(const Mesh& mesh, const std::vector<AxisPart>& parts) {
  std::vector<std::size_t> numbers;
  for (const AxisPart& part : joined(mesh, parts)) {
    const auto& axes = mesh.axes();
    const auto found = std::find_if(axes.begin(), axes.end(),
                                    [&](const Axis& axis) { return axis.name == part.axis; });
    numbers.insert(numbers.begin(), static_cast<std::size_t>(found - axes.begin()));
  }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string mlir_dims(const Sharding& sharding) {
  if (sharding.dims.empty()) refuse_form("MLIR's sharding has a list for one dimension at least");
  std::string out;
  for (const CutDim& dim : sharding.dims) {
    out += (out.empty() ? "" : ", ") + mlir_axes(sharding.mesh.mesh, dim.parts);
  }
  return out;
}

std::string mlir19_text(const Sharding& sharding) {
  check_ability(sharding,
                {.name = "MLIR 19", .parts = false, .other_additions = true, .order = false});
  std::string partial;
  if (!sharding.addends.empty()) {
    partial = fmt::format(", partial = {}{}", name_of(sharding.addition),
                          mlir_axes(sharding.mesh.mesh, sharding.addends));
  }
  return fmt::format("#mesh.shard<@mesh, [{}]{}>", mlir_dims(sharding), partial);
}

/// `sharded_dims_offsets = [0, 3, 8]`, where a dimension is not cut into blocks of ceil(n/k).
std::string offsets_text(const Sharding& sharding) {
  const Mesh& mesh = sharding.mesh.mesh;
  std::vector<Size> out;
  bool needed = false;
  for (const CutDim& dim : sharding.dims) {
    if (dim.parts.empty()) continue;
    needed = needed || !is_cut_evenly(mesh, dim);
    const Cuts cuts = cuts_of(cut_text(mesh, dim)).value();
    if (cuts.count() > most_listed_devices) refuse_form("too many offsets to list");
    for (Size t = 0; t <= cuts.count(); ++t) out.push_back(cuts.at(t));
  }
  return needed ? fmt::format(" sharded_dims_offsets = [{}]", fmt::join(out, ", ")) : "";
}

std::string mlir22_text(const Sharding& sharding) {
  check_ability(
      sharding,
      {.name = "MLIR 22", .parts = false, .listed = true, .addends = false, .order = false});
  return fmt::format("shard.sharding @mesh split_axes = [{}]{} : !shard.sharding",
                     mlir_dims(sharding), offsets_text(sharding));
}

std::string mlir_mesh(const PlacedMesh& mesh, std::string_view operation) {
  if (mesh.order) refuse_form("MLIR's mesh has no order of devices");
  std::vector<Size> sizes;
  for (const Axis& axis : mesh.mesh.axes()) sizes.push_back(axis.size);
  return fmt::format("{} @mesh(shape = {})", operation, fmt::join(sizes, "x"));
}

std::string written_as(const Sharding& sharding, ShardingForm form) {
  if (sharding.divisor > 1 && form != ShardingForm::dtensor) {
    refuse_form("an average is written as DTensor's Partial(avg) alone");
  }
  switch (form) {
    case ShardingForm::jax:
      return jax_text(sharding);
    case ShardingForm::hlo1:
      return table_text(sharding, true);
    case ShardingForm::hlo2:
      return table_text(sharding, false);
    case ShardingForm::hlo3:
      return hlo3_text(sharding);
    case ShardingForm::sdy:
      return shardy_text(sharding);
    case ShardingForm::dtensor:
      return dtensor_text(sharding);
    case ShardingForm::mlir19:
      return mlir19_text(sharding);
    case ShardingForm::mlir22:
      return mlir22_text(sharding);
    case ShardingForm::paper:
      break;
  }
  return type_text(sharding);
}

std::string mesh_as(const PlacedMesh& mesh, ShardingForm form) {
  switch (form) {
    case ShardingForm::jax:
      return jax_mesh(mesh);
    case ShardingForm::hlo3:
      return hlo_mesh(mesh);
    case ShardingForm::sdy:
      return "sdy.mesh @mesh = " + shardy_mesh(mesh);
    case ShardingForm::dtensor:
      return dtensor_mesh(mesh);
    case ShardingForm::mlir19:
      return mlir_mesh(mesh, "mesh.mesh");
    case ShardingForm::mlir22:
      return mlir_mesh(mesh, "shard.grid");
    case ShardingForm::hlo1:
    case ShardingForm::hlo2:
    case ShardingForm::paper:
      break;
  }
  return to_text(mesh.mesh);
}

/// What `write` says, or why it cannot.
template <typename Write>
Result<std::string> said(const Write& write) {
  try {
    return write();
  } catch (Unsayable& reason) {
    return refuse(std::move(reason.diagnostic));
  }
}

}  // namespace
}  // namespace notation

std::vector<AxisPart> joined(const Mesh& mesh, const std::vector<AxisPart>& parts) {
  std::vector<Digit> digits;
  std::vector<AxisPart> out;
  for (const AxisPart& part : parts) {
    const Digit digit = *digit_of(mesh, part);
    if (digit.size == 1) continue;
    if (!out.empty() && out.back().axis == part.axis &&
        digits.back().stride * digits.back().size == digit.stride) {
      digits.back().size *= digit.size;
    } else {
      digits.push_back(digit);
      out.push_back(part);
    }
    const Digit whole = *mesh.digit(part.axis);
    const Digit& now = digits.back();
    const Size major = whole.stride * whole.size / (now.stride * now.size);
    const bool is_whole = now.size == whole.size;
    out.back() = {part.axis, is_whole ? 0 : major, is_whole ? 0 : now.size};
  }
  return out;
}

std::string axes_text(const Mesh& mesh, const std::vector<AxisPart>& parts, char quote) {
  std::string out;
  const auto all = joined(mesh, parts);
  for (auto part = all.rbegin(); part != all.rend(); ++part) {
    out += (out.empty() ? "" : ", ") + notation::quoted(part->axis, quote);
    if (part->major != 0) out += fmt::format(":({}){}", part->major, part->size);
  }
  return out;
}

Result<Sharding> over_mesh(const Sharding& sharding, const PlacedMesh& mesh) {
  if (sharding.layout.devices() != mesh.devices()) {
    return refuse(
        {.code = Code::bad_argument,
         .message = fmt::format("the mesh has {}, the sharding {}",
                                counted(mesh.devices(), "device"), sharding.layout.devices())});
  }
  Sharding out = sharding;
  out.mesh = mesh;
  if (sharding.only_device) return out;
  const auto no = [](std::string message) {
    return refuse({.code = Code::unsupported, .message = std::move(message)});
  };
  Layout layout = sharding.layout;
  if (mesh.order) {  // what stands at the positions
    if (mesh.order->chain() == nullptr || layout.is_listed()) {
      return no("no axes of a mesh say what devices hold that are listed one by one");
    }
    layout = layout.renamed(*mesh.order->chain());
  }
  if (!layout.is_compact()) return no("no axes of the mesh say what the devices hold");
  for (std::size_t i = 0; i < out.dims.size(); ++i) {
    auto parts = notation::parts_over(mesh.mesh, layout.digits()[i]);
    if (!parts) return no(fmt::format("no axes of the mesh cut dimension {}", i));
    out.dims[i].parts = *std::move(parts);
  }
  out.addends.clear();
  if (const auto& addends = layout.addends()) {
    auto parts = notation::parts_over(mesh.mesh, addends->numbers.digits().front());
    if (!parts) return no("no axes of the mesh count the addends");
    out.addends = *std::move(parts);
  }
  return out;
}

Result<std::string> to_text(const Sharding& sharding, ShardingForm form) {
  return notation::said([&] { return notation::written_as(sharding, form); });
}

Result<std::string> mesh_text(const PlacedMesh& mesh, ShardingForm form) {
  return notation::said([&] { return notation::mesh_as(mesh, form); });
}

}  // namespace retile
