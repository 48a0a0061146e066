// From the syntax of MLIR to a whole program. Regions become computations: what they use of outside
// becomes a parameter more.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/mlir/attributes.h"
#include "retile/text/scanner.h"
#include "retile/whole/formulas.h"
#include "retile/whole/read.h"
#include "retile/whole/stablehlo_details.h"
#include "retile/whole/typing.h"

namespace retile::whole {
namespace {

namespace mlir = foreign::mlir;
using operations::Row;
using operations::Scope;

/// What hands on its operands: it says where arrays lie, or orders.
constexpr std::array<std::string_view, 4> identities = {
    "sdy.propagation_barrier",
    "sdy.reshard",
    "sdy.sharding_constraint",
    "stablehlo.optimization_barrier",
};

using ValuesByName = std::unordered_map<std::string, std::vector<ValueId>>;

/// A computation in the making.
struct RegionFrame {
  Computation out;
  /// Of the region, and of what is called in it: a function knows no names of its caller.
  std::vector<ValuesByName> names = {ValuesByName()};
  RegionFrame* outer = nullptr;  ///< whose values the region may use, if it is one
  std::vector<std::pair<ValueId, ValueId>> taken = {};  ///< of outside, and what they are here
};

class StablehloBuilder {
 public:
  StablehloBuilder(const text::Input& input, std::optional<std::string_view> lowered)
      : input_(input),
        lowered_(lowered),
        lines_(mlir::line_begins(input.text)),
        locations_(input.text) {
    context_.input = &input_;
    context_.lines = &lines_;
  }

  Module module() {
    std::vector<mlir::Ops> parts = mlir::parse(input_, Scope::computes);
    if (parts.size() != 1) fail_modules();
    const mlir::Ops* ops = &parts.front();
    if (const mlir::Op* inner = only_module(*ops)) {
      set_devices(*inner);
      ops = inner->regions.front().blocks.empty() ? nullptr : &inner->regions[0].blocks[0].ops;
      out_.name = mlir::name_of(*inner);
    }
    if (ops == nullptr) fail_modules();
    for (const mlir::Op& op : *ops) declare(op);
    count_devices();
    const mlir::Op& main = entry(*ops);
    out_.entry = function(main);
    set_ends(main);
    out_.is_partitioned = out_.is_partitioned || (has_collectives_ && !has_manual_);
    return std::move(out_);
  }

 private:
  // Modules.

  [[noreturn]] void fail_modules() const {
    text::fail({.input = &input_, .span = {0, 0}},
               {.code = Code::syntax, .message = "one module is expected"});
  }
  /// The module around all functions, if there is one.
  [[nodiscard]] const mlir::Op* only_module(const mlir::Ops& ops) const {
    if (ops.empty() || ops.front().name != "builtin.module") return nullptr;
    const mlir::Op& out = ops.front();
    if (ops.size() != 1 || out.regions.size() != 1 || out.regions[0].blocks.size() > 1) {
      fail_modules();
    }
    return &out;
  }
  void set_devices(const mlir::Op& module) {
    context_.partitions = mlir::device_count(module, "mhlo.num_partitions");
    context_.replicas = mlir::device_count(module, "mhlo.num_replicas");
    // Shardy says it of what its partitioner has made.
    out_.is_partitioned = mlir::find(module, "sdy.parameters_shardings") != nullptr;
  }
  void declare(const mlir::Op& op) {
    bool is_new = true;
    if (op.name == "sdy.mesh") {
      is_new =
          context_.meshes.emplace(mlir::need(op, "sym_name").text, mlir::shardy_mesh(op)).second;
    } else if (op.name == "func.func") {
      is_new = context_.functions.emplace(mlir::name_of(op), &op).second;
    } else {
      mlir::fail_unread(op.name, op.place, Scope::computes);
    }
    if (!is_new) mlir::refuse_at(op.place, Code::syntax, "a second one of this name");
  }
  /// The module says how many devices there are, or else its meshes.
  void count_devices() {
    out_.replicas = context_.replicas.value_or(1);
    out_.partitions = context_.partitions.value_or(1);
    if (!context_.partitions) {
      for (const auto& [name, mesh] : context_.meshes) {
        out_.partitions = std::max(out_.partitions, mesh.devices());
      }
    }
    const auto devices = checked_mul(out_.replicas, out_.partitions);
    if (devices && *devices <= most_devices) return;
    text::fail({.input = &input_, .span = {0, 0}},
               {.code = Code::limit_reached,
                .message = fmt::format("more than {} devices", most_devices)});
  }
  static void find_calls(const mlir::Op& op, std::set<std::string>& called) {
    for (const mlir::Region& region : op.regions) {
      for (const mlir::Block& block : region.blocks) {
        for (const mlir::Op& inner : block.ops) {
          if (const mlir::Attribute* callee = mlir::find(inner, "callee")) {
            called.insert(callee->text);
          }
          find_calls(inner, called);
        }
      }
    }
  }
  /// `@main`, or the only function that no other calls.
  [[nodiscard]] const mlir::Op& entry(const mlir::Ops& ops) const {
    const auto main = context_.functions.find("main");
    if (main != context_.functions.end()) return *main->second;
    std::set<std::string> called;
    for (const mlir::Op& op : ops) find_calls(op, called);
    const mlir::Op* out = nullptr;
    for (const auto& [name, op] : context_.functions) {
      if (called.count(name) != 0) continue;
      if (out != nullptr) {
        mlir::refuse_at(op->place, Code::unsupported, "two functions that no other calls");
      }
      out = op;
    }
    if (out == nullptr) fail_modules();
    return *out;
  }

  // Computations.

  ComputationId function(const mlir::Op& op) {
    RegionFrame frame;
    frame.out.name = mlir::name_of(op);
    frame_ = &frame;
    begin(mlir::body_of(op));
    frame.out.results = block(mlir::body_of(op));
    check_function(op, frame.out.results);
    return finish(frame);
  }
  /// A parameter for each argument.
  void begin(const mlir::Block& body) {
    for (const mlir::Argument& argument : body.arguments) {
      const ValueId id = new_value(argument.name, array_type(argument.type));
      frame_->out.parameters.push_back(id);
      know(argument.name, {id}, argument.place);
    }
  }
  ComputationId finish(RegionFrame& frame) {
    frame_ = frame.outer;
    out_.computations.push_back(std::move(frame.out));
    return out_.computations.size() - 1;
  }
  /// A region whose parameters are its arguments, and what it takes of outside.
  [[nodiscard]] RegionFrame region(const mlir::Op& op, std::size_t number) {
    if (number >= op.regions.size() || op.regions[number].blocks.size() != 1) {
      mlir::refuse_at(op.place, Code::syntax,
                      fmt::format("{} without a region of one block", shown_name(op.name)));
    }
    const mlir::Block& body = op.regions[number].blocks.front();
    enter(op);
    RegionFrame frame;
    frame.out.name = fmt::format("{}.{}", op.name, number);
    frame.outer = frame_;
    frame_ = &frame;
    begin(body);
    frame.out.results = block(body);
    frame_ = frame.outer;
    --depth_;
    return frame;
  }
  /// A region of scalars, which takes nothing of outside.
  [[nodiscard]] ComputationId applied(const mlir::Op& op, std::size_t number = 0) {
    RegionFrame frame = region(op, number);
    if (!frame.taken.empty()) {
      mlir::refuse_at(op.place, Code::unsupported,
                      "a region of scalars that uses values of outside");
    }
    return finish(frame);
  }
  /// `applies stablehlo.add`, of two scalars of the operand's type.
  [[nodiscard]] ComputationId applied_by_name(const mlir::Op& op, const mlir::Attribute& name) {
    const Row* row = operations::find_mlir(name.text);
    if (row == nullptr || op.operands.size() != 2) {
      mlir::refuse_at(name.place, Code::unsupported,
                      fmt::format("a reduction by {}", shown_name(name.text)));
    }
    const ArrayType scalar{value(look_up(op.operands[0])).type.kind, {}};
    RegionFrame frame;
    frame.outer = frame_;
    frame_ = &frame;
    frame.out.name = name.text;
    frame.out.parameters = {new_value("%a", scalar), new_value("%b", scalar)};
    frame.out.results = {new_value("%r", scalar)};
    emit(op, row->id, NoDetail{}, frame.out.parameters, frame.out.results);
    return finish(frame);
  }
  /// The operations of a block, and what it hands on.
  std::vector<ValueId> block(const mlir::Block& body) {
    for (const mlir::Op& op : body.ops) {
      if (mlir::is_return(op.name)) {
        check_operands(op);
        return operands(op);
      }
      add(op);
    }
    mlir::refuse_at(body.ops.empty() ? here() : body.ops.back().place, Code::syntax,
                    "a block that nothing ends");
  }
  [[nodiscard]] text::Place here() const { return {.input = &input_, .span = {0, 0}}; }
  /// What stands in a function or region of its own, in the place of an operation. It knows no names but
  /// its arguments'.
  std::vector<ValueId> inlined(const mlir::Op& op, const mlir::Block& body,
                               const std::vector<ValueId>& arguments) {
    if (arguments.size() != body.arguments.size()) {
      mlir::refuse_at(op.place, Code::syntax,
                      fmt::format("{} for {}", counted(arguments.size(), "operand"),
                                  counted(body.arguments.size(), "argument")));
    }
    enter(op);
    frame_->names.emplace_back();
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const mlir::Argument& argument = body.arguments[k];
      check_type(argument.type, arguments[k]);
      know(argument.name, {arguments[k]}, argument.place);
    }
    std::vector<ValueId> out = block(body);
    frame_->names.pop_back();
    --depth_;
    return out;
  }

  /// One call or region more in each other. What calls multiply counts as instructions do.
  void enter(const mlir::Op& op) {
    if (++depth_ > deepest_calls) {
      mlir::refuse_at(op.place, Code::unsupported,
                      fmt::format("calls in each other deeper than {}", deepest_calls));
    }
    count(op);
  }
  void count(const mlir::Op& op) {
    if (++count_ <= most_instructions) return;
    mlir::refuse_at(op.place, Code::limit_reached,
                    fmt::format("more than {} instructions", most_instructions));
  }

  // Values.

  [[nodiscard]] const Value& value(ValueId id) const { return frame_->out.values[id]; }
  ValueId new_value(std::string name, ArrayType type) {
    frame_->out.values.push_back({.name = std::move(name), .type = std::move(type)});
    return frame_->out.values.size() - 1;
  }
  void know(const std::string& name, std::vector<ValueId> values, const text::Place& place) {
    if (!frame_->names.back().emplace(name, std::move(values)).second) {
      mlir::refuse_at(place, Code::syntax, "a second value of this name");
    }
  }
  void know(const mlir::Op& op, const std::vector<ValueId>& values) {
    std::size_t at = 0;
    for (const mlir::ResultName& result : op.results) {
      if (result.count > values.size() - at) {
        mlir::refuse_at(
            result.place, Code::syntax,
            fmt::format("{} has {}", shown_name(op.name), counted(values.size(), "result")));
      }
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
      know(result.name, {first, first + static_cast<std::ptrdiff_t>(result.count)}, result.place);
      at += result.count;
    }
  }
  [[nodiscard]] ValueId look_up(const mlir::ValueName& name) { return look_up(*frame_, name); }
  /// A value that a region uses of outside is taken in once.
  [[nodiscard]] static ValueId look_up(RegionFrame& frame, const mlir::ValueName& name) {
    const auto found = frame.names.back().find(name.name);
    if (found != frame.names.back().end() && name.number < found->second.size()) {
      return found->second[name.number];
    }
    if (found != frame.names.back().end() || frame.outer == nullptr || frame.names.size() > 1) {
      mlir::refuse_at(name.place, Code::syntax, "no value of this name is known here");
    }
    const ValueId outside = look_up(*frame.outer, name);
    for (const auto& [there, here] : frame.taken) {
      if (there == outside) return here;
    }
    frame.out.values.push_back(frame.outer->out.values[outside]);
    frame.taken.emplace_back(outside, frame.out.values.size() - 1);
    return frame.out.values.size() - 1;
  }
  [[nodiscard]] std::vector<ValueId> operands(const mlir::Op& op) {
    std::vector<ValueId> out;
    for (const mlir::ValueName& name : op.operands) out.push_back(look_up(name));
    return out;
  }
  void check_type(const mlir::Type& type, ValueId id) const {
    if (array_type(type) == value(id).type) return;
    mlir::refuse_at(type.place, Code::bad_program,
                    fmt::format("{} has another type", shortened(value(id).name)));
  }
  void check_operands(const mlir::Op& op) {
    if (op.operand_types.size() != op.operands.size()) {
      mlir::refuse_at(op.place, Code::syntax,
                      fmt::format("{} with {}", counted(op.operands.size(), "operand"),
                                  counted(op.operand_types.size(), "type")));
    }
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      check_type(op.operand_types[k], look_up(op.operands[k]));
    }
  }
  /// That values have the types that an operation says of its results, and gives them its names.
  void define(const mlir::Op& op, const std::vector<ValueId>& values) {
    if (op.result_types.size() != values.size()) {
      mlir::refuse_at(op.place, Code::bad_program, "another number of results");
    }
    for (std::size_t k = 0; k < values.size(); ++k) check_type(op.result_types[k], values[k]);
    know(op, values);
  }
  void check_function(const mlir::Op& op, const std::vector<ValueId>& values) const {
    const mlir::Attribute& type = mlir::need(op, "function_type");
    if (type.type().outputs.size() != values.size()) {
      mlir::refuse_at(op.place, Code::bad_program, "the function says another number of results");
    }
    for (std::size_t k = 0; k < values.size(); ++k) check_type(type.type().outputs[k], values[k]);
  }
  static std::string result_name(const mlir::Op& op, std::size_t number) {
    for (const mlir::ResultName& result : op.results) {
      if (number < result.count) {
        return result.count == 1 ? result.name : fmt::format("{}#{}", result.name, number);
      }
      number -= result.count;
    }
    return op.name;
  }
  [[nodiscard]] std::vector<ValueId> new_results(const mlir::Op& op) {
    std::vector<ValueId> out;
    for (std::size_t k = 0; k < op.result_types.size(); ++k) {
      out.push_back(new_value(result_name(op, k), array_type(op.result_types[k])));
    }
    return out;
  }

  // Operations.

  void emit(const mlir::Op& op, Id id, Detail detail, std::vector<ValueId> operands,
            std::vector<ValueId> results, std::vector<ComputationId> calls = {}) {
    count(op);
    const foreign::FilePlace place = mlir::file_place(context_, op.place);
    frame_->out.body.push_back({.id = id,
                                .opcode = op.name,
                                .detail = std::move(detail),
                                .operands = std::move(operands),
                                .results = std::move(results),
                                .calls = std::move(calls),
                                .place = {.line = place.line, .column = place.column},
                                .source = locations_.line_of(op.location)});
    if (const auto fault = type_fault(out_, frame_->out, frame_->out.body.back())) {
      mlir::refuse_at(op.place, Code::bad_program, fmt::format("{}: {}", op.name, *fault));
    }
  }
  /// An operation whose results are the names and types that stand there.
  void make(const mlir::Op& op, Id id, Detail detail, std::vector<ValueId> operands,
            std::vector<ComputationId> calls = {}) {
    const std::vector<ValueId> results = new_results(op);
    emit(op, id, std::move(detail), std::move(operands), results, std::move(calls));
    know(op, results);
  }
  /// One more value on the way to what an operation makes.
  ValueId step(const mlir::Op& op, Id id, Detail detail, ValueId operand, Shape extents) {
    const ArrayType type{value(operand).type.kind, std::move(extents)};
    const ValueId out = new_value(result_name(op, 0), type);
    emit(op, id, std::move(detail), {operand}, {out});
    return out;
  }

  void add(const mlir::Op& op) {
    check_operands(op);
    if (add_formula(op) || add_plumbing(op)) return;
    const Row* row = operations::find_mlir(op.name);
    if (op.name == "sdy.constant") row = &operations::row_of(Id::constant);
    if (row == nullptr || !is_evaluated(row->id)) {
      mlir::fail_unread(op.name, op.place, Scope::computes);
    }
    check_stablehlo_attributes(op, *row);
    switch (row->id) {
      case Id::constant:
        return constant(op);
      case Id::while_loop:
        return while_loop(op);
      case Id::conditional:
        return conditional(op);
      case Id::partition_id:
      case Id::replica_id:
        return make(op, row->id, numbers_of_devices(out_, row->id), {});
      case Id::all_to_all:
        return all_to_all(op);
      default:
        return ordinary(op, row->id);
    }
  }
  /// What is left of an operation that has no tuples and no tokens.
  [[nodiscard]] static bool is_evaluated(Id id) {
    return id != Id::tuple && id != Id::get_tuple_element && id != Id::after_all;
  }
  void ordinary(const mlir::Op& op, Id id) {
    std::vector<ValueId> ids = operands(op);
    if (id == Id::rng && ids.size() == 3) ids.pop_back();  // the extents, which the type says
    std::vector<ArrayType> types;
    for (const ValueId one : ids) types.push_back(value(one).type);
    if (id >= Id::all_gather && id <= Id::reduce_scatter) has_collectives_ = true;
    Detail detail = stablehlo_detail(context_, op, id, types);
    make(op, id, std::move(detail), std::move(ids), calls_of(op, id));
  }
  [[nodiscard]] std::vector<ComputationId> calls_of(const mlir::Op& op, Id id) {
    switch (id) {
      case Id::reduce:
        if (const mlir::Attribute* name = mlir::find(op, "applies")) {
          return {applied_by_name(op, *name)};
        }
        return {applied(op)};
      case Id::reduce_window:
      case Id::scatter:
      case Id::sort:
      case Id::map:
      case Id::all_reduce:
      case Id::reduce_scatter:
        return {applied(op)};
      case Id::select_and_scatter: {
        const ComputationId select = applied(op, 0);
        return {select, applied(op, 1)};
      }
      default:
        return {};
    }
  }
  void note_sharding(const mlir::Op& op) {
    const mlir::Attribute* sharding = mlir::find(op, "sharding");
    const std::vector<ValueId> values = operands(op);
    if (sharding == nullptr || values.size() != 1) return;
    out_.declared.push_back({.sharding = mlir::with_mesh(context_, sharding->place),
                             .type = frame_->out.values[values.front()].type});
  }
  /// What only names values anew, or stands for others; whether it was such.
  bool add_plumbing(const mlir::Op& op) {
    if (std::find(identities.begin(), identities.end(), op.name) != identities.end()) {
      note_sharding(op);
      define(op, operands(op));
    } else if (op.name == "call" || op.name == "func.call") {
      call(op);
    } else if (op.name == "sdy.manual_computation") {
      manual_computation(op);
    } else if (op.name == "chlo.square") {
      const std::vector<ValueId> ids = operands(op);
      if (ids.size() != 1) mlir::refuse_at(op.place, Code::syntax, "it has one operand");
      make(op, Id::multiply, NoDetail{}, {ids[0], ids[0]});
    } else if (mlir::is_unnamed_function(op.name)) {
      make(op, Id::custom_call, UnknownDetail{.text = std::string(op.name), .is_by_element = true},
           operands(op));
    } else {
      return false;
    }
    return true;
  }
  /// What XLA writes formulas for, where these are wanted; whether it was such.
  bool add_formula(const mlir::Op& op) {
    if (!lowered_ || op.result_types.size() != 1) return false;
    const Row* row = operations::find_mlir(op.name);
    const std::string in_hlo = row == nullptr ? "" : fmt::format(" {}(", row->hlo);
    if (row != nullptr && lowered_->find(in_hlo) != std::string_view::npos) return false;
    const ArrayType type = array_type(op.result_types.front());
    const std::vector<ValueId> ids = operands(op);
    const bool is_binary = op.name == "chlo.next_after";
    const auto is_alike = [&](ValueId id) { return value(id).type == type; };
    if (!has_formula(op.name, type.kind) || ids.size() != (is_binary ? 2 : 1) ||
        !std::all_of(ids.begin(), ids.end(), is_alike)) {
      return false;
    }
    const auto put = [&](Id id, Detail detail, std::vector<ValueId> taken,
                         const ElementKind& kind) {
      const bool is_number = id == Id::constant && !type.extents.empty();
      const Shape extents = is_number ? Shape{} : type.extents;
      const ValueId out = new_value(result_name(op, 0), {kind, extents});
      emit(op, id, std::move(detail), std::move(taken), {out});
      return is_number ? step(op, Id::broadcast, Dims{}, out, type.extents) : out;
    };
    define(op, {put_formula(op.name, ids, type.kind, put)});
    ++out_.formulas[op.name];
    return true;
  }
  void call(const mlir::Op& op) {
    const mlir::Attribute& callee = mlir::need(op, "callee");
    const auto found = context_.functions.find(callee.text);
    if (found == context_.functions.end()) {
      mlir::refuse_at(callee.place, Code::syntax, "no function of this name is known");
    }
    const std::vector<ValueId> results = inlined(op, mlir::body_of(*found->second), operands(op));
    check_function(*found->second, results);
    define(op, results);
  }
  void constant(const mlir::Op& op) {
    std::vector<Word> words = constant_words(op);
    const std::vector<ValueId> results = new_results(op);
    if (results.size() != 1) mlir::refuse_at(op.place, Code::syntax, "a constant is one array");
    const ArrayType& type = value(results[0]).type;
    const std::size_t width = type.kind.form == ElementKind::Form::complex ? 2 : 1;
    if (words.size() == width && !type.extents.empty()) {  // one number for all
      const ValueId scalar = new_value(result_name(op, 0), {type.kind, {}});
      emit(op, Id::constant, Literal{std::move(words)}, {}, {scalar});
      emit(op, Id::broadcast, Dims{}, {scalar}, results);
    } else {
      emit(op, Id::constant, Literal{std::move(words)}, {}, results);
    }
    know(op, results);
  }

  /// Condition and body take the same: what one of them takes of outside is handed on by the body.
  void while_loop(const mlir::Op& op) {
    RegionFrame condition = region(op, 0);
    RegionFrame body = region(op, 1);
    std::vector<ValueId> ids = operands(op);
    std::vector<ValueId> results = new_results(op);
    std::vector<ValueId> outside;
    for (const RegionFrame* frame : {&condition, &body}) {
      for (const auto& [there, here] : frame->taken) {
        if (std::find(outside.begin(), outside.end(), there) == outside.end()) {
          outside.push_back(there);
        }
      }
    }
    for (const ValueId there : outside) {
      ids.push_back(there);
      results.push_back(new_value(value(there).name, value(there).type));
      static_cast<void>(take_in(condition, there));
      body.out.results.push_back(take_in(body, there));
    }
    const ComputationId first = finish(condition);
    const ComputationId second = finish(body);
    emit(op, Id::while_loop, NoDetail{}, std::move(ids), results, {first, second});
    results.resize(op.result_types.size());
    know(op, results);
  }
  /// A parameter for a value of outside.
  [[nodiscard]] ValueId take_in(RegionFrame& frame, ValueId there) const {
    ValueId here = frame.out.values.size();
    for (const auto& [outside, inside] : frame.taken) {
      if (outside == there) here = inside;
    }
    if (here == frame.out.values.size()) frame.out.values.push_back(value(there));
    frame.out.parameters.push_back(here);
    return here;
  }
  /// A branch takes what it uses of outside, and nothing else.
  void conditional(const mlir::Op& op) {
    std::vector<ValueId> ids = operands(op);
    std::vector<ComputationId> calls;
    for (std::size_t k = 0; k < op.regions.size(); ++k) {
      RegionFrame branch = region(op, k);
      for (const auto& [there, here] : branch.taken) {
        branch.out.parameters.push_back(here);
        ids.push_back(there);
      }
      calls.push_back(finish(branch));
    }
    make(op, Id::conditional, NoDetail{}, std::move(ids), std::move(calls));
  }

  // Devices.

  /// HLO's cuts and concatenates along one dimension: parts move from there to where they are wanted.
  void all_to_all(const mlir::Op& op) {
    has_collectives_ = true;
    const std::vector<ValueId> ids = operands(op);
    const std::size_t cut = mlir::dim_of(mlir::need(op, "split_dimension"));
    const std::size_t joined = mlir::dim_of(mlir::need(op, "concat_dimension"));
    std::vector<ArrayType> types;
    for (const ValueId one : ids) types.push_back(value(one).type);
    const Detail detail = stablehlo_detail(context_, op, Id::all_to_all, types);
    const auto& groups = std::get<GroupsDetail>(detail).groups;
    const Size parts = groups.empty() ? 1 : static_cast<Size>(groups.front().size());
    check_split_count(op, parts);
    if (ids.size() != 1 || op.result_types.size() != 1) {
      mlir::refuse_at(op.place, Code::unsupported, "an all_to_all of several arrays");
    }
    const Shape& from = types[0].extents;
    if (cut >= from.size() || joined >= from.size() || parts < 1 || from[cut] % parts != 0) {
      mlir::refuse_at(op.place, Code::bad_dimension, "the array cannot be cut so");
    }
    if (cut == joined) return make(op, Id::all_to_all, detail, ids);
    const ValueId exchanged = step(op, Id::all_to_all, detail, ids[0], from);
    Shape apart = from;
    apart[cut] /= parts;
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(cut), parts);
    const ValueId split = step(op, Id::reshape, NoDetail{}, exchanged, apart);
    Dims order;
    for (std::size_t k = 0; k < apart.size(); ++k) {
      if (k != cut) order.dims.push_back(k);
    }
    const auto place = static_cast<std::ptrdiff_t>(joined);  // where it stands without the new one
    order.dims.insert(order.dims.begin() + place, cut);
    Shape moved;
    for (const std::size_t k : order.dims) moved.push_back(apart[k]);
    const ValueId turned = step(op, Id::transpose, order, split, moved);
    make(op, Id::reshape, NoDetail{}, {turned});
    check_joined(op, from, cut, joined, parts);
  }
  static void check_split_count(const mlir::Op& op, Size parts) {
    const mlir::Attribute* count = mlir::find(op, "split_count");
    if (count == nullptr || mlir::number_of(*count) == parts) return;
    mlir::refuse_at(count->place, Code::bad_program,
                    fmt::format("split_count is {}, but groups have {}", count->number,
                                counted(parts, "device")));
  }
  static void check_joined(const mlir::Op& op, Shape extents, std::size_t cut, std::size_t joined,
                           Size parts) {
    extents[cut] /= parts;
    const auto grown = checked_mul(extents[joined], parts);
    extents[joined] = grown.value_or(0);
    if (grown && op.result_types[0].extents == extents) return;
    mlir::refuse_at(op.place, Code::bad_program, "the result has other extents");
  }

  /// Its arguments are what each device holds along the manual axes.
  void manual_computation(const mlir::Op& op) {
    if (op.regions.size() != 1 || op.regions[0].blocks.size() != 1) {
      mlir::refuse_at(op.place, Code::syntax, "a manual computation of one block");
    }
    if (is_manual_) {
      mlir::refuse_at(op.place, Code::unsupported, "a manual computation within another");
    }
    const mlir::Block& body = op.regions[0].blocks[0];
    const std::vector<ValueId> ids = operands(op);
    const auto before = manual_starts(op, "in_shardings", op.operand_types);
    if (ids.size() != body.arguments.size()) {
      mlir::refuse_at(op.place, Code::syntax, "an argument for each operand");
    }
    std::vector<ValueId> tiles;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const ArrayType tile = array_type(body.arguments[k].type);
      check_tile(op, before[k], tile);
      tiles.push_back(step(op, Id::slice, before[k].detail, ids[k], tile.extents));
    }
    is_manual_ = true;
    has_manual_ = true;
    const std::vector<ValueId> made = inlined(op, body, tiles);
    is_manual_ = false;
    const auto after = manual_starts(op, "out_shardings", op.result_types);
    if (made.size() != op.result_types.size()) {
      mlir::refuse_at(op.place, Code::bad_program, "another number of results");
    }
    std::vector<ValueId> results;
    for (std::size_t k = 0; k < made.size(); ++k) {
      check_tile(op, after[k], value(made[k]).type);
      results.push_back(
          step(op, Id::pad, after[k].detail, made[k], array_type(op.result_types[k]).extents));
    }
    define(op, results);
  }
  /// Where tiles lie, and how long they are.
  struct Tiles {
    ManualDetail detail;
    Shape tile;
  };
  static void check_tile(const mlir::Op& op, const Tiles& tiles, const ArrayType& type) {
    if (tiles.tile == type.extents) return;
    mlir::refuse_at(op.place, Code::bad_program,
                    fmt::format("{}: a tile has other extents", shown_name(op.name)));
  }
  /// `[<@m, [{"x"}]>, ..]`, or `#sdy.sharding_per_value<[..]>`: of each only the axes that are manual.
  [[nodiscard]] std::vector<Tiles> manual_starts(const mlir::Op& op, std::string_view list,
                                                 const std::vector<mlir::Type>& types) const {
    const std::set<std::string> axes = quoted(mlir::need(op, "manual_axes"));
    const text::Place& body = mlir::body_of(mlir::need(op, list));
    text::Scanner scanner(*body.input, body.span);
    scanner.read_over_lines();
    static_cast<void>(scanner.accept("<"));
    scanner.expect("[");
    std::vector<Tiles> out;
    for (const mlir::Type& type : types) {
      if (!out.empty()) scanner.expect(",");
      const std::size_t begin = scanner.next();
      const Shape extents = array_type(type).extents;
      Sharding sharding = read_sharding(scanner, {.meshes = context_.meshes, .shape = extents});
      out.push_back(tiles_of(std::move(sharding), extents, axes, scanner.since(begin)));
    }
    scanner.expect("]");
    return out;
  }
  [[nodiscard]] Tiles tiles_of(Sharding sharding, const Shape& extents,
                               const std::set<std::string>& axes, const text::Place& place) const {
    for (CutDim& dim : sharding.dims) {
      std::erase_if(dim.parts, [&](const AxisPart& part) { return axes.count(part.axis) == 0; });
    }
    const mlir::Spread spread = mlir::spread_of(sharding, extents);
    const auto layout = mlir::layout_of(spread);
    if (!layout || !sharding.addends.empty() || sharding.only_device ||
        layout->devices() != out_.devices()) {
      mlir::refuse_at(place, Code::unsupported,
                      "tiles of a region that are not those of all devices");
    }
    Tiles out{.detail = {}, .tile = spread.tile()};
    for (const Box& box : layout->boxes()) out.detail.starts.push_back(box.at);
    return out;
  }
  /// Words in quotes: `{"x", "y"}`.
  [[nodiscard]] static std::set<std::string> quoted(const mlir::Attribute& attribute) {
    std::set<std::string> out;
    const std::string_view text = mlir::text_at(mlir::body_of(attribute));
    for (std::size_t open = text.find('"'); open != std::string_view::npos;) {
      const std::size_t close = std::min(text.find('"', open + 1), text.size());
      out.insert(std::string(text.substr(open + 1, close - open - 1)));
      open = text.find('"', close + 1);
    }
    return out;
  }

  // The ends.

  void set_ends(const mlir::Op& main) {
    out_.starts.resize(out_.main().parameters.size());
    out_.ends.resize(out_.main().results.size());
    set_ends(main, "arg_attrs", out_.starts);
    set_ends(main, "res_attrs", out_.ends);
  }
  void set_ends(const mlir::Op& main, std::string_view list, std::vector<End>& ends) const {
    const mlir::Attribute* all = mlir::find(main, list);
    if (all == nullptr) return;
    for (std::size_t k = 0; k < ends.size() && k < all->items.size(); ++k) {
      const std::vector<mlir::NamedAttribute>& entries = all->items[k]->entries;
      const mlir::Attribute* shardy = mlir::find_in(entries, "sdy.sharding");
      const mlir::Attribute* plain = mlir::find_in(entries, "mhlo.sharding");
      if (shardy == nullptr && plain == nullptr) continue;
      const text::Place place = shardy != nullptr ? mlir::body_of(*shardy) : plain->place;
      const foreign::FilePlace at = mlir::file_place(context_, place);
      ends[k] = {.sharding = shardy != nullptr ? mlir::with_mesh(context_, place) : plain->text,
                 .place = {.line = at.line, .column = at.column}};
    }
  }

  const text::Input& input_;
  std::optional<std::string_view> lowered_;  // in HLO, beside it
  const std::vector<std::size_t> lines_;
  mlir::Locations locations_;
  mlir::ModuleContext context_;
  Module out_;
  RegionFrame* frame_ = nullptr;  // of the computation at hand
  std::size_t depth_ = 0;
  std::size_t count_ = 0;
  bool is_manual_ = false;
  bool has_manual_ = false;
  bool has_collectives_ = false;
};

}  // namespace

Result<Module> read_stablehlo(const text::Input& input, std::optional<std::string_view> lowered) {
  return text::result_of([&] { return StablehloBuilder(input, lowered).module(); });
}

}  // namespace retile::whole
