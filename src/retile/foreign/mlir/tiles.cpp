// StableHLO on the tiles of devices, be it plain or within sdy.manual_computation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/names.h"
#include "retile/foreign/mlir/attributes.h"
#include "retile/operations/element.h"
#include "retile/operations/table.h"
#include "retile/text/scanner.h"

namespace retile::foreign::mlir {
namespace {

using operations::Id;
using operations::Row;
using Kind = Attribute::Kind;

/// Calls in each other, which no text that a compiler wrote has.
constexpr std::size_t deepest_calls = 32;
/// Operations that calls may make of the file's, however they multiply them.
constexpr std::size_t most_in_calls = std::size_t{1} << 18;

class TileReader {
 public:
  TileReader(const ModuleContext& context, const Op& function, const ReadOptions& options)
      : context_(context), function_(function), options_(options), builder_(context, function) {}

  Function read() {
    const Block& body = body_of(function_);
    find_devices(body);
    for (std::size_t k = 0; k < body.arguments.size(); ++k) {
      const Argument& argument = body.arguments[k];
      const ValueId id =
          builder_.add_parameter(argument.name, builder_.tile_of(argument.type), argument.place);
      builder_.know(argument.name, {id}, argument.place);
    }
    builder_.out.results = block(body, 0);
    if (manual_) {
      check_returned(body);
    } else {
      check_results(builder_, function_, builder_.types_of(builder_.out.results));
      set_ends();
    }
    return std::move(builder_.out);
  }

 private:
  /// How many devices there are: the module, a mesh, options or groups say it.
  void find_devices(const Block& body) {
    Function& out = builder_.out;
    if (context_.replicas || context_.partitions) {
      const auto product =
          checked_mul(context_.replicas.value_or(1), context_.partitions.value_or(1));
      if (!product || *product > most_devices) {
        refuse_at(function_.place, Code::limit_reached, "too many devices");
      }
      if (context_.replicas.value_or(1) > 1 && context_.partitions.value_or(1) > 1) {
        refuse_at(function_.place, Code::unsupported, "several replicas of several partitions");
      }
      out.devices = *product;
    } else if (!context_.meshes.empty()) {
      for (const auto& [name, mesh] : context_.meshes) {
        out.devices = std::max(out.devices, mesh.devices());
      }
    } else {
      out.devices = options_.devices.value_or(named_devices(body));
    }
    if (out.devices > most_devices) {
      refuse_at(function_.place, Code::limit_reached,
                fmt::format("more than {} devices", most_devices));
    }
    if (context_.meshes.size() == 1 && !context_.meshes.begin()->second.order) {
      out.mesh = context_.meshes.begin()->second.mesh;
    }
  }
  /// One more than the largest device that groups and pairs name.
  [[nodiscard]] static Size named_devices(const Block& body) {
    Size most = 0;
    for (const Op& op : body.ops) {
      const Attribute* list = find(op, "replica_groups", "source_target_pairs");
      if (list == nullptr || list->kind != Kind::numbers) continue;
      for (const std::int64_t number : list->numbers) most = std::max(most, number);
    }
    return std::min(most, most_devices) + 1;
  }

  /// Operations of a block; what its terminator hands on.
  std::vector<ValueId> block(const Block& body, std::size_t level) {
    for (const Op& op : body.ops) {
      if (is_return(op.name)) {
        // Around a manual computation types are those of the whole array.
        return level == 0 && manual_ ? builder_.operands(op) : builder_.returned(op);
      }
      add(op, level);
    }
    return {};
  }

  void add(const Op& op, std::size_t level) {
    if (calls_ > 0 && ++in_calls_ > most_in_calls) {
      refuse_at(op.place, Code::limit_reached,
                fmt::format("calls make more than {} operations", most_in_calls));
    }
    if (op.name == "sdy.manual_computation") return manual_computation(op, level);
    if (op.name == "call" || op.name == "func.call") return call(op, level);
    constexpr std::string_view front = "stablehlo.";
    const Row* row =
        op.name.starts_with(front)
            ? operations::find_stablehlo(std::string_view(op.name).substr(front.size()),
                                         operations::Scope::moves)
            : nullptr;
    if (row == nullptr) fail_unread(op.name, op.place);
    check_operands(op);
    const Read make = read_as(row->id);
    (this->*make)(op);
  }
  /// What is made of an operation, for every one of the table that StableHLO has.
  using Read = void (TileReader::*)(const Op&);
  [[nodiscard]] static Read read_as(Id id) {
    constexpr auto number = [](Id one) { return static_cast<std::size_t>(one); };
    constexpr auto reads = [=] {
      std::array<Read, operations::moved_count> out{};
      out[number(Id::constant)] = &TileReader::constant;
      out[number(Id::iota)] = &TileReader::iota;
      out[number(Id::partition_id)] = &TileReader::partition_id;
      out[number(Id::replica_id)] = &TileReader::replica_id;
      out[number(Id::optimization_barrier)] = &TileReader::barrier;
      out[number(Id::reshape)] = &TileReader::plain<Reshape>;
      out[number(Id::transpose)] = &TileReader::transpose;
      out[number(Id::reverse)] = &TileReader::reverse;
      out[number(Id::slice)] = &TileReader::slice;
      out[number(Id::pad)] = &TileReader::pad;
      out[number(Id::concatenate)] = &TileReader::concatenate;
      out[number(Id::broadcast)] = &TileReader::broadcast;
      out[number(Id::dynamic_slice)] = &TileReader::dynamic_slice;
      out[number(Id::dynamic_update_slice)] = &TileReader::plain<DynamicUpdateSlice>;
      out[number(Id::select)] = &TileReader::plain<Select>;
      out[number(Id::convert)] = &TileReader::plain<Convert>;
      out[number(Id::compare)] = &TileReader::compare;
      out[number(Id::clamp)] = &TileReader::plain<Clamp>;
      for (std::size_t k = number(Id::add); k <= number(Id::shift_right_logical); ++k) {
        out[k] = &TileReader::arithmetic;
      }
      out[number(Id::all_gather)] = &TileReader::all_gather;
      out[number(Id::all_to_all)] = &TileReader::all_to_all;
      out[number(Id::collective_permute)] = &TileReader::collective_permute;
      out[number(Id::all_reduce)] = &TileReader::all_reduce;
      out[number(Id::reduce_scatter)] = &TileReader::reduce_scatter;
      return out;
    }();
    constexpr auto missing = [=] {  // here
      std::array<const char*, operations::moved_count> out{};
      out[number(Id::parameter)] = "arguments of the function";
      out[number(Id::tuple)] = "functions return several values";
      out[number(Id::get_tuple_element)] = "likewise";
      out[number(Id::call)] = "an operation of another dialect";
      out[number(Id::copy)] = "of HLO alone";
      out[number(Id::bitcast)] = "of HLO alone";
      return out;
    }();
    static_assert(operations::are_all_read(reads, missing));
    RETILE_ASSERT(reads[number(id)] != nullptr, "the table has no name for it in StableHLO");
    return reads[number(id)];
  }
  template <typename Simple>
  void plain(const Op& op) {
    put(op, Simple{});
  }
  /// That the types that are written are those of the values.
  void check_operands(const Op& op) const {
    if (op.operand_types.size() != op.operands.size()) {
      refuse_at(op.place, Code::syntax,
                fmt::format("{} with {}", counted(op.operands.size(), "operand"),
                            counted(op.operand_types.size(), "type")));
    }
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const TileType& type = builder_.out.values[builder_.look_up(op.operands[k])].type;
      if (builder_.tile_of(op.operand_types[k]) == type) continue;
      refuse_at(op.operand_types[k].place, Code::bad_program,
                fmt::format("{} has another type", shown_value(op.operands[k].name)));
    }
  }
  [[nodiscard]] static std::string shown_value(const std::string& name) { return shortened(name); }

  void put(const Op& op, Action action) { put(op, std::move(action), builder_.operands(op)); }
  void put(const Op& op, Action action, std::vector<ValueId> operands) {
    if (op.result_types.size() != 1) {
      refuse_at(op.place, Code::unsupported, fmt::format("{} has one result here", op.name));
    }
    const ValueId id = builder_.add(std::move(action), op, Builder::result_name(op),
                                    std::move(operands), builder_.tile_of(op.result_types[0]));
    builder_.know(op, {id});
  }

  // Collectives.

  void all_gather(const Op& op) {
    put(op, AllGather{dim_of(need(op, "all_gather_dim")), groups_of(context_, op, true)});
  }
  void all_to_all(const Op& op) {
    put(op, AllToAll{dim_of(need(op, "split_dimension")), dim_of(need(op, "concat_dimension")),
                     groups_of(context_, op, false)});
    check_split_count(op);
  }
  void collective_permute(const Op& op) { put(op, CollectivePermute{pairs_of(context_, op)}); }
  void all_reduce(const Op& op) { put(op, AllReduce{addition(op), groups_of(context_, op, true)}); }
  void reduce_scatter(const Op& op) {
    put(op, ReduceScatter{addition(op), dim_of(need(op, "scatter_dimension")),
                          groups_of(context_, op, true)});
  }
  void check_split_count(const Op& op) const {
    const auto& action = std::get<AllToAll>(builder_.out.operations.back().action);
    const Attribute* count = find(op, "split_count");
    if (count == nullptr || action.groups.empty()) return;
    if (number_of(*count) == static_cast<Size>(action.groups.front().size())) return;
    refuse_at(count->place, Code::bad_program,
              fmt::format("split_count is {}, but groups have {}", count->number,
                          counted(action.groups.front().size(), "device")));
  }
  /// That a region reduces scalars of the operands' type.
  void check_reduced(const Op& op, const Block& body) const {
    std::vector<Type> types = {body.arguments[0].type, body.arguments[1].type};
    for (const Op& one : body.ops) {
      types.insert(types.end(), one.operand_types.begin(), one.operand_types.end());
      types.insert(types.end(), one.result_types.begin(), one.result_types.end());
    }
    for (const ValueId operand : builder_.operands(op)) {
      const TileType scalar{builder_.out.values[operand].type.element, {}};
      for (const Type& type : types) {
        if (type.kind == Type::Kind::tensor && builder_.tile_of(type) == scalar) continue;
        refuse_at(type.place, Code::bad_program,
                  fmt::format("a reduction of {}, whose region has another type", scalar.element));
      }
    }
  }
  /// `or` and `and` are maximum and minimum of truth values alone.
  [[nodiscard]] static bool adds_what(std::string_view name, const Type& type) {
    return (name != "stablehlo.or" && name != "stablehlo.and") || type.element == "i1";
  }
  /// What the region of a reduction adds by: one operation of its two arguments.
  [[nodiscard]] Addition addition(const Op& op) const {
    constexpr std::array<std::pair<std::string_view, Addition>, 5> names = {
        {{"stablehlo.add", Addition::sum},
         {"stablehlo.maximum", Addition::max},
         {"stablehlo.minimum", Addition::min},
         {"stablehlo.or", Addition::max},
         {"stablehlo.and", Addition::min}}};
    if (op.regions.size() != 1 || op.regions[0].blocks.size() != 1) {
      refuse_at(op.place, Code::syntax, "a reduction without its region");
    }
    const Block& body = op.regions[0].blocks[0];
    if (body.arguments.size() != 2 || body.ops.size() != 2 ||
        body.ops.front().results.size() != 1 || body.ops.front().operands.size() != 2 ||
        body.ops.back().operands.size() != 1 || !is_return(body.ops.back().name) ||
        body.ops.back().operands[0].name != body.ops.front().results[0].name) {
      refuse_at(body.ops.empty() ? op.place : body.ops.front().place, Code::unsupported,
                "a reduction by more than one operation");
    }
    const Op& adds = body.ops.front();
    const std::string& a = body.arguments[0].name;
    const std::string& b = body.arguments[1].name;
    const bool both = (adds.operands[0].name == a && adds.operands[1].name == b) ||
                      (adds.operands[0].name == b && adds.operands[1].name == a);
    for (const auto& [name, addition] : names) {
      if (adds.name != name || !both || !adds_what(name, body.arguments[0].type)) continue;
      check_reduced(op, body);
      return addition;
    }
    refuse_at(
        adds.place, Code::unsupported, fmt::format("a reduction by {}", shown_name(adds.name)),
        {"add, maximum and minimum of the two arguments are read, of truth values or and and"});
  }

  // What moves elements on one device.

  void transpose(const Op& op) { put(op, Transpose{dims_of(need(op, "permutation", "dims"))}); }
  void reverse(const Op& op) { put(op, Reverse{dims_of(need(op, "dimensions", "dims"))}); }
  void slice(const Op& op) {
    const std::size_t rank = rank_of(op);
    put(op, Slice{shape_of(need(op, "start_indices"), rank),
                  shape_of(need(op, "limit_indices"), rank), shape_of(need(op, "strides"), rank)});
  }
  void pad(const Op& op) {
    const std::size_t rank = rank_of(op);
    put(op, Pad{shape_of(need(op, "edge_padding_low", "low"), rank),
                shape_of(need(op, "edge_padding_high", "high"), rank),
                shape_of(need(op, "interior_padding", "interior"), rank)});
  }
  void concatenate(const Op& op) { put(op, Concatenate{dim_of(need(op, "dimension", "dim"))}); }
  void dynamic_slice(const Op& op) {
    put(op, DynamicSlice{shape_of(need(op, "slice_sizes", "sizes"), rank_of(op))});
  }
  void broadcast(const Op& op) {
    put(op, Broadcast{dims_of(need(op, "broadcast_dimensions", "dims"))});
  }
  [[nodiscard]] std::size_t rank_of(const Op& op) const {
    if (op.operand_types.empty()) refuse_at(op.place, Code::syntax, "an operand is missing");
    return op.operand_types[0].extents.size();
  }
  void barrier(const Op& op) {
    std::vector<ValueId> ids;
    for (const ValueId operand : builder_.operands(op)) {
      ids.push_back(builder_.add(Same{}, op, Builder::result_name(op, ids.size()), {operand},
                                 builder_.out.values[operand].type));
    }
    builder_.know(op, ids);
  }

  // Numbers.

  void constant(const Op& op) { put(op, Constant{numbers_of(need(op, "value"))}); }
  void iota(const Op& op) { put(op, Iota{dim_of(need(op, "iota_dimension", "dim"))}); }
  void partition_id(const Op& op) { put(op, PerDevice{device_numbers(true)}); }
  void replica_id(const Op& op) { put(op, PerDevice{device_numbers(false)}); }
  void arithmetic(const Op& op) {
    const Row* row = operations::find_stablehlo(std::string_view(op.name).substr(10));
    put(op, Calculate{*row->arithmetic});
  }
  /// Of partitions or of replicas: devices are one or the other.
  [[nodiscard]] std::vector<std::int64_t> device_numbers(bool of_partitions) const {
    const bool replicas = context_.replicas.value_or(1) > 1;
    std::vector<std::int64_t> out(static_cast<std::size_t>(builder_.out.devices), 0);
    const bool counted =
        (context_.replicas || context_.partitions) ? replicas != of_partitions : true;
    for (std::size_t k = 0; counted && k < out.size(); ++k) out[k] = static_cast<std::int64_t>(k);
    return out;
  }
  void compare(const Op& op) {
    const Compare compare = comparison_of(op);
    put(op, compare);
    const ValueId operand = builder_.out.operations.back().operands.front();
    check_order(op, compare.order, element_kind(builder_.out.values[operand].type.element));
  }
  /// That a comparison is one of the operands' type, as the verifier does.
  static void check_order(const Op& op, Order order, const ElementKind& kind) {
    const bool of_integers = order == Order::as_signed || order == Order::as_unsigned;
    if (!of_integers || !kind.is_number() || (order == Order::as_signed) == kind.is_signed) return;
    refuse_at(
        op.place, Code::bad_program,
        fmt::format("a comparison of {} numbers as {}", kind.is_signed ? "signed" : "unsigned",
                    kind.is_signed ? "UNSIGNED" : "SIGNED"));
  }
  // Regions and functions.

  void call(const Op& op, std::size_t level) {
    const Attribute& callee = need(op, "callee");
    const auto found = context_.functions.find(callee.text);
    if (found == context_.functions.end()) {
      refuse_at(callee.place, Code::syntax, "no function of this name is known");
    }
    if (level >= deepest_calls) {
      refuse_at(op.place, Code::unsupported,
                fmt::format("calls in each other deeper than {}", deepest_calls));
    }
    check_operands(op);
    ++calls_;
    const std::vector<TileType> types =
        builder_.types_of(inside(op, body_of(*found->second), level));
    --calls_;
    check_results(builder_, *found->second, types);
    const bool is_called_so = std::equal(
        types.begin(), types.end(), op.result_types.begin(), op.result_types.end(),
        [&](const TileType& tile, const Type& type) { return builder_.tile_of(type) == tile; });
    if (!is_called_so) {
      refuse_at(op.place, Code::bad_program, "the call says another type of its result");
    }
  }
  /// The operations of a block whose arguments are the operands.
  std::vector<ValueId> inside(const Op& op, const Block& body, std::size_t level) {
    std::vector<ValueId> operands = builder_.operands(op);
    if (operands.size() != body.arguments.size()) {
      refuse_at(op.place, Code::syntax,
                fmt::format("{} for {}", counted(operands.size(), "operand"),
                            counted(body.arguments.size(), "argument")));
    }
    Builder::Scope outer;
    std::swap(outer, builder_.scope());
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Argument& argument = body.arguments[k];
      if (builder_.tile_of(argument.type) != builder_.out.values[operands[k]].type) {
        refuse_at(argument.type.place, Code::bad_program, "the operand has another type");
      }
      builder_.know(argument.name, {operands[k]}, argument.place);
    }
    std::vector<ValueId> results = block(body, level + 1);
    std::swap(outer, builder_.scope());
    builder_.know(op, results);
    return results;
  }

  /// One, of the function's argument, whose results the function hands on.
  void manual_computation(const Op& op, std::size_t level) {
    Function& out = builder_.out;
    const bool alone = level == 0 && !manual_ && op.operands.size() == 1 &&
                       op.result_types.size() == 1 && out.parameters.size() == 1 &&
                       out.operations.size() == 1 &&
                       builder_.look_up(op.operands[0]) == out.parameters[0];
    if (!alone) fail_accompanied(op);
    manual_ = true;
    if (op.regions.size() != 1 || op.regions[0].blocks.size() != 1 ||
        op.regions[0].blocks[0].arguments.size() != 1) {
      refuse_at(op.place, Code::syntax, "a manual computation of one block with one argument");
    }
    const Block& body = op.regions[0].blocks[0];
    const Argument& argument = body.arguments[0];
    const TileType global = out.values[out.parameters[0]].type;
    out.from = manual_end(need(op, "in_shardings"), global.extents);
    out.to = manual_end(need(op, "out_shardings"), builder_.tile_of(op.result_types[0]).extents);
    check_manual_axes(op);
    out.values[out.parameters[0]].name = argument.name;
    out.values[out.parameters[0]].type = builder_.tile_of(argument.type);
    out.values[out.parameters[0]].place = file_place(context_, argument.place);
    static_cast<void>(inside(op, body, level));
  }
  /// That nothing stands behind it but the return of what it makes: other operations have arrays there.
  void check_returned(const Block& body) const {
    const Op& first = body.ops.front();
    const Op& last = body.ops.back();
    const bool alone = body.ops.size() == 2 && last.operands.size() == 1 &&
                       !first.results.empty() && last.operands[0].name == first.results[0].name;
    if (!alone) fail_accompanied(first);
    const TileType global = builder_.tile_of(first.result_types[0]);
    check_results(builder_, function_, {global});
    if (last.operand_types.size() == 1 && builder_.tile_of(last.operand_types[0]) == global) return;
    refuse_at(last.place, Code::bad_program, "what is returned has another type");
  }
  [[noreturn]] static void fail_accompanied(const Op& op) {
    refuse_at(op.place, Code::unsupported,
              "a manual computation that is not all that a function of one argument does");
  }
  /// The one sharding of `[<..>]` or `#sdy.sharding_per_value<[<..>]>`.
  [[nodiscard]] WrittenEnd manual_end(const Attribute& list, const Shape& global) const {
    const Place& body = body_of(list);
    text::Scanner scanner(*body.input, body.span);
    scanner.read_over_lines();
    static_cast<void>(scanner.accept("<"));
    scanner.expect("[");
    const std::size_t begin = scanner.next();
    const Sharding sharding = read_sharding(scanner, {.meshes = context_.meshes, .shape = global});
    const Place place = scanner.since(begin);
    check_parts(sharding, place);
    if (!scanner.accept("]")) scanner.fail_expected("']' after one sharding");
    return {.text = std::string(text_at(place)),
            .place = file_place(context_, place),
            .layout = sharding.layout};
  }
  /// That the body is of every device: all axes are manual.
  void check_manual_axes(const Op& op) const {
    const Attribute& list = need(op, "manual_axes");
    const std::string_view text = text_at(body_of(list));
    for (const auto& [name, mesh] : context_.meshes) {
      for (const Axis& axis : mesh.mesh.axes()) {
        if (axis.size == 1 || text.find('"' + axis.name + '"') != std::string_view::npos) continue;
        refuse_at(list.place, Code::unsupported,
                  fmt::format("axis {} is not manual: the tiles are not those of devices",
                              shown_name(axis.name)));
      }
    }
  }

  /// Ends that the attributes of the function say, of tiles: the global shape is known to nobody.
  void set_ends() {
    Function& out = builder_.out;
    for (std::size_t k = 0; k < out.parameters.size(); ++k) {
      out.starts.push_back(attribute_end("arg_attrs", k));
    }
    for (std::size_t k = 0; k < out.results.size(); ++k) {
      out.ends.push_back(attribute_end("res_attrs", k));
    }
  }
  [[nodiscard]] std::optional<WrittenEnd> attribute_end(std::string_view list,
                                                        std::size_t number) const {
    const Attribute* sharding = sharding_attribute(function_, list, number);
    if (sharding == nullptr) return std::nullopt;
    return WrittenEnd{.text = with_mesh(context_, body_of(*sharding)),
                      .place = file_place(context_, sharding->place)};
  }
  const ModuleContext& context_;
  const Op& function_;
  const ReadOptions& options_;
  Builder builder_;
  bool manual_ = false;
  std::size_t calls_ = 0;     // in each other, of the operation at hand
  std::size_t in_calls_ = 0;  // operations
};

}  // namespace

Function read_tiles(const ModuleContext& context, const Op& function, const ReadOptions& options) {
  return TileReader(context, function, options).read();
}

}  // namespace retile::foreign::mlir
