// The dialects mesh (MLIR 19) and shard (MLIR 22): collectives along axes by number, on the tiles of
// devices. mesh.shard and shard.shard say what the argument and the result are.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/before.h"
#include "retile/foreign/mlir/build.h"
#include "retile/text/scanner.h"

namespace retile::foreign::mlir {
namespace {

using Kind = Attribute::Kind;

class MeshReader {
 public:
  MeshReader(const ModuleContext& context, const Op& function)
      : context_(context), function_(function), builder_(context, function) {}

  Function read() {
    const Block& body = body_of(function_);
    Function& out = builder_.out;
    for (const auto& [name, mesh] : context_.meshes) {
      out.devices = std::max(out.devices, mesh.devices());
      if (context_.meshes.size() == 1) out.mesh = mesh.mesh;
    }
    if (out.devices > most_devices) {
      refuse_at(function_.place, Code::limit_reached,
                fmt::format("more than {} devices", most_devices));
    }
    for (const Argument& argument : body.arguments) {
      const ValueId id =
          builder_.add_parameter(argument.name, builder_.tile_of(argument.type), argument.place);
      builder_.know(argument.name, {id}, argument.place);
    }
    for (const Op& op : body.ops) {
      if (op.name == "return" || op.name == "func.return") {
        out.results = builder_.returned(op);
        check_results(builder_, function_, builder_.types_of(out.results), Extents::any);
        break;
      }
      add(op);
    }
    set_end();
    return std::move(out);
  }

 private:
  void add(const Op& op) {
    const std::size_t dot = op.name.find('.');
    const std::string_view dialect = std::string_view(op.name).substr(0, dot);
    const std::string_view name =
        dot == std::string::npos ? std::string_view() : std::string_view(op.name).substr(dot + 1);
    if (op.name == "tensor.cast" || op.name == "builtin.unrealized_conversion_cast")
      return same(op);
    if (dialect != "mesh" && dialect != "shard") fail_unread(op.name, op.place);
    if (name == "sharding") {
      shardings_.insert_or_assign(op.results.empty() ? "" : op.results[0].name, &op);
      return;
    }
    if (name == "shard") return shard(op);
    if (op.operands.size() != 1 || op.result_types.size() != 1 || op.operand_types.size() != 1) {
      fail_unread(op.name, op.place);
    }
    collective(op, name);
  }
  /// A cast from the whole array to its tiles says what the argument is of; one back says nothing.
  void same(const Op& op) {
    if (op.operands.size() != 1 || op.result_types.size() != 1 || op.operand_types.size() != 1) {
      fail_unread(op.name, op.place);
    }
    Function& out = builder_.out;
    const ValueId operand = builder_.look_up(op.operands[0]);
    const bool of_argument = out.operations.size() == out.parameters.size();
    const TileType type = builder_.tile_of(op.result_types[0]);
    if (of_argument) {
      out.values[operand].type = type;
    } else if (builder_.tile_of(op.operand_types[0]) != out.values[operand].type) {
      refuse_at(op.operand_types[0].place, Code::bad_program, "the operand has another type");
    }
    const TileType held = out.values[operand].type;
    const ValueId id = builder_.add(Same{}, op, Builder::result_name(op), {operand}, held);
    builder_.know(op, {id});
  }
  void put(const Op& op, Action action) {
    std::vector<ValueId> operands = builder_.operands(op);
    for (std::size_t k = 0; k < operands.size() && k < op.operand_types.size(); ++k) {
      if (builder_.tile_of(op.operand_types[k]) == builder_.out.values[operands[k]].type) continue;
      refuse_at(op.operand_types[k].place, Code::bad_program, "the operand has another type");
    }
    const ValueId id = builder_.add(std::move(action), op, Builder::result_name(op),
                                    std::move(operands), builder_.tile_of(op.result_types[0]));
    builder_.know(op, {id});
  }

  void collective(const Op& op, std::string_view name) {
    if (name == "all_gather") {
      put(op, AllGather{dim_of(need(op, "gather_axis", "gather_dim")), groups(op)});
    } else if (name == "all_slice") {
      all_slice(op);
    } else if (name == "all_to_all") {
      put(op, AllToAll{dim_of(need(op, "split_axis", "split_dim")),
                       dim_of(need(op, "concat_axis", "concat_dim")), groups(op)});
    } else if (name == "all_reduce") {
      put(op, AllReduce{addition(op), groups(op)});
    } else if (name == "reduce_scatter") {
      put(op,
          ReduceScatter{addition(op), dim_of(need(op, "scatter_axis", "scatter_dim")), groups(op)});
    } else if (name == "shift") {
      shift(op);
    } else if (name == "broadcast") {
      broadcast(op);
    } else {
      fail_unread(op.name, op.place);
    }
  }

  // Axes.

  [[nodiscard]] const PlacedMesh& mesh_of(const Op& op) const {
    const Attribute& name = need(op, "mesh", "grid");
    const auto found = context_.meshes.find(name.text);
    if (found == context_.meshes.end()) {
      refuse_at(name.place, Code::bad_argument,
                fmt::format("no mesh @{} is known", shown_name(name.text)));
    }
    return found->second;
  }
  /// The axes of a collective, major to minor.
  [[nodiscard]] std::vector<Digit> digits(const Op& op) const {
    const Attribute* list = find(op, "mesh_axes", "grid_axes");
    std::vector<Digit> out;
    if (list == nullptr) return out;
    const Mesh& mesh = mesh_of(op).mesh;
    std::vector<bool> seen(mesh.axes().size());
    for (const std::int64_t number : numbers_of(*list)) {
      if (number < 0 || number >= static_cast<std::int64_t>(seen.size())) {
        refuse_at(list->place, Code::unknown_axis, fmt::format("the mesh has no axis {}", number));
      }
      const auto axis = static_cast<std::size_t>(number);
      if (seen[axis]) {
        refuse_at(list->place, Code::axis_used_twice, fmt::format("axis {} stands twice", number));
      }
      seen[axis] = true;
      out.push_back(*mesh.digit(mesh.axes()[axis].name));
    }
    return out;
  }
  [[nodiscard]] Groups groups(const Op& op) const { return groups_along(mesh_of(op), digits(op)); }

  [[nodiscard]] static Addition addition(const Op& op) {
    const Attribute* reduction = find(op, "reduction");
    if (reduction == nullptr) return Addition::sum;
    std::string_view text = reduction->text;
    if (reduction->kind == Kind::dialect) text = text_at(mlir::body_of(*reduction));
    for (const std::string_view bracket : {"<", "partial "}) {
      if (text.substr(0, bracket.size()) == bracket) text.remove_prefix(bracket.size());
    }
    text = text.substr(0, text.find('>'));
    if (const auto out = addition_named(text); out && *out != Addition::stack) return *out;
    refuse_at(reduction->place, Code::unsupported, "a reduction that is no sum, max or min");
  }

  /// Part j of a dimension for member j.
  void all_slice(const Op& op) {
    const std::size_t dim = dim_of(need(op, "slice_axis", "slice_dim"));
    const Groups all = groups(op);
    const TileType from = builder_.tile_of(op.operand_types[0]);
    const TileType to = builder_.tile_of(op.result_types[0]);
    const auto n = static_cast<Size>(all.front().size());
    Shape wanted = from.extents;
    if (dim >= wanted.size() || wanted[dim] % n != 0) {
      refuse_at(op.place, Code::bad_dimension,
                fmt::format("dimension {} cannot be cut into {}", dim, counted(n, "part")));
    }
    wanted[dim] /= n;
    if (to.extents != wanted) {
      refuse_at(op.result_types[0].place, Code::bad_program, "the slice has another type");
    }
    TakeBox boxes;
    boxes.starts.assign(static_cast<std::size_t>(builder_.out.devices), Shape(wanted.size(), 0));
    for (const std::vector<Size>& group : all) {
      for (std::size_t j = 0; j < group.size(); ++j) {
        boxes.starts[static_cast<std::size_t>(group[j])][dim] = static_cast<Size>(j) * wanted[dim];
      }
    }
    put(op, std::move(boxes));
  }

  /// Every device gets of who stands `offset` before it along an axis; undefined where nobody does, so
  /// only shifts that go round are read.
  void shift(const Op& op) {
    const std::vector<std::int64_t>& axes = numbers_of(need(op, "mesh_axes", "grid_axes"));
    const std::int64_t axis = number_of(need(op, "shift_axis"));
    const std::int64_t offset = number_of(need(op, "offset"));
    if (find(op, "rotate") == nullptr) {
      refuse_at(op.place, Code::unsupported, "a shift that does not rotate",
                {"nothing is known of what comes in at the end"});
    }
    const auto at = std::find(axes.begin(), axes.end(), axis);
    if (at == axes.end()) {
      refuse_at(op.place, Code::unknown_axis, "shift_axis is none of the axes of the group");
    }
    const Digit digit = digits(op)[static_cast<std::size_t>(at - axes.begin())];
    CollectivePermute action;
    for (const std::vector<Size>& ring : groups_along(mesh_of(op), {digit})) {
      const auto n = static_cast<std::int64_t>(ring.size());
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t target = ((k + offset % n) % n + n) % n;
        action.pairs.emplace_back(ring[static_cast<std::size_t>(k)],
                                  ring[static_cast<std::size_t>(target)]);
      }
    }
    put(op, std::move(action));
  }

  /// All of a group get what its root has.
  void broadcast(const Op& op) {
    const std::vector<std::int64_t>& root = numbers_of(need(op, "root"));
    const std::vector<Digit> axes = digits(op);
    if (root.size() != axes.size()) {
      refuse_at(need(op, "root").place, Code::rank_mismatch,
                "the root has other coordinates than the axes");
    }
    Size member = 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (root[k] < 0 || root[k] >= axes[k].size) {
        refuse_at(need(op, "root").place, Code::bad_device, "there is no such root");
      }
      member = member * axes[k].size + root[k];
    }
    CollectivePermute action;
    for (const std::vector<Size>& group : groups(op)) {
      for (const Size device : group) {
        action.pairs.emplace_back(group[static_cast<std::size_t>(member)], device);
      }
    }
    put(op, std::move(action));
  }

  // Ends.

  /// Where a sharding stands: in the operation, or in the one that its second operand names.
  [[nodiscard]] std::string sharding_text(const Op& op) const {
    if (const Attribute* written = find(op, "shard")) {
      return std::string(text_at(mlir::body_of(*written)));
    }
    if (op.operands.size() < 2) refuse_at(op.place, Code::syntax, "no sharding");
    const auto found = shardings_.find(op.operands[1].name);
    if (found == shardings_.end()) {
      refuse_at(op.operands[1].place, Code::syntax, "no sharding of this name is known");
    }
    const Op& sharding = *found->second;
    for (const std::string_view name : {"halo_sizes", "sharded_dims_offsets", "static_halo_sizes",
                                        "static_sharded_dims_offsets"}) {
      const Attribute* list = find(sharding, name);
      if (list == nullptr || (list->kind == Kind::numbers && list->numbers.empty())) continue;
      refuse_at(list->place, Code::unsupported, "halos, and tiles of listed extents");
    }
    const Attribute& axes = need(sharding, "split_axes");
    std::string text;
    if (axes.kind == Kind::dialect) {
      text = text_at(mlir::body_of(axes));
      const std::size_t begin = text.find('[');
      if (begin == std::string::npos) refuse_at(axes.place, Code::syntax, "no lists of axes");
      text = text.substr(begin, text.rfind(']') + 1 - begin);
    } else {
      text = text_at(axes.place);
    }
    const Attribute& mesh =
        need(sharding, "callee", sharding.name == "mesh.sharding" ? "mesh" : "grid");
    return fmt::format("<@{}, {}>", name_text(mesh.text), text);
  }
  /// As Shardy writes it, which brings its mesh.
  [[nodiscard]] std::string shardy_text(const Sharding& sharding) const {
    const auto list = [](const std::vector<AxisPart>& parts) {
      std::string out;
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", part->axis);
      }
      return "{" + out + "}";
    };
    std::string out = "<mesh<[";
    for (const Axis& axis : sharding.mesh.mesh.axes()) {
      out += fmt::format("{}\"{}\"={}", out.back() == '[' ? "" : ", ", axis.name, axis.size);
    }
    out += "]>, [";
    for (const CutDim& dim : sharding.dims) {
      out += fmt::format("{}{}", out.back() == '[' ? "" : ", ", list(dim.parts));
    }
    out += "]";
    if (!sharding.addends.empty()) {
      out += fmt::format(", unreduced={}{}", retile::name_of(sharding.addition),
                         list(sharding.addends));
    }
    return out + ">";
  }
  void shard(const Op& op) {
    if (op.operands.empty() || op.result_types.size() != 1) fail_unread(op.name, op.place);
    const ValueId operand = builder_.look_up(op.operands[0]);
    Function& out = builder_.out;
    const WrittenEnd end = end_of(op);
    const TileType type = out.values[operand].type;
    const ValueId id = builder_.add(Same{}, op, Builder::result_name(op), {operand}, type);
    builder_.know(op, {id});
    const auto moves = static_cast<std::size_t>(
        std::count_if(out.operations.begin(), out.operations.end(), [](const Operation& one) {
          return !std::holds_alternative<Parameter>(one.action) &&
                 !std::holds_alternative<Same>(one.action);
        }));
    if (moves == 0 && !out.from) out.from = end;
    // Between collectives a sharding that changes is a reshard that nobody does.
    const std::optional<WrittenEnd>& before = moves == 0 ? out.from : last_;
    if (before && (moves == 0 || moves == last_moves_) && before->text != end.text) {
      fail_unpartitioned(op.place, Partitioner::mesh_dialect,
                         fmt::format("{} leaves a reshard to others", shown_name(op.name)));
    }
    last_ = end;
    last_value_ = id;
    last_moves_ = moves;
  }
  [[nodiscard]] WrittenEnd end_of(const Op& op) const {
    const std::string text = sharding_text(op);
    const text::Input input{.text = text, .source = context_.input->source};
    text::Scanner scanner(input);
    scanner.read_over_lines();
    const Sharding sharding =
        read_sharding(scanner, {.meshes = context_.meshes, .shape = op.result_types[0].extents});
    return {.text = shardy_text(sharding), .place = file_place(context_, op.place)};
  }
  void set_end() {
    Function& out = builder_.out;
    if (!last_ || out.results.size() != 1 || out.results[0] != last_value_) return;
    out.to = last_;
  }

  const ModuleContext& context_;
  const Op& function_;
  Builder builder_;
  std::map<std::string, const Op*> shardings_;
  std::optional<WrittenEnd> last_;
  ValueId last_value_ = 0;
  std::size_t last_moves_ = 0;  // how many operations moved elements before it
};

}  // namespace

Function read_mesh(const ModuleContext& context, const Op& function) {
  return MeshReader(context, function).read();
}

}  // namespace retile::foreign::mlir
