// From the syntax of HLO to operations on tiles.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/before.h"
#include "retile/foreign/hlo/attributes.h"
#include "retile/foreign/hlo/before.h"
#include "retile/foreign/hlo/groups.h"
#include "retile/foreign/hlo/hlo.h"
#include "retile/foreign/hlo/syntax.h"
#include "retile/foreign/list_count.h"
#include "retile/operations/element.h"
#include "retile/operations/table.h"
#include "retile/text/words.h"

namespace retile::foreign {
namespace hlo {
namespace {

using operations::Id;
using operations::Row;

/// Calls in each other, which no text that a compiler wrote has.
constexpr std::size_t deepest_calls = 32;
/// Instructions that calls may make of the file's, however they multiply them.
constexpr std::size_t most_in_calls = std::size_t{1} << 18;

/// Attributes that say nothing about where elements go, of whatever instruction.
bool means_nothing(std::string_view name) {
  const auto names = operations::hlo_attributes_without_meaning();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Makes one Function of an entry computation.
class Builder {
 public:
  Builder(const Lines& lines, const Module& module, const ReadOptions& options, ListCount& lists)
      : lines_(lines), module_(module), options_(options), lists_(lists) {}

  Function function() {
    const Computation& entry = entry_of(module_);
    out_.name = module_.has_header ? module_.name.value : std::string(bare(entry.name.value));
    out_.place = place_of(module_.has_header ? module_.name.place : entry.name.place);
    find_ranks(entry);
    out_.devices = ranks_.devices();
    if (entry.instructions.empty()) {
      refuse_at(entry.name.place, Code::syntax, "a computation without an instruction");
    }
    for (const Instruction& instruction : entry.instructions) add(instruction);
    set_parameters(entry);
    set_ends(entry);
    return std::move(out_);
  }

 private:
  /// Values by which a name is known: one, or those of a tuple.
  struct Known {
    std::vector<ValueId> parts;
    bool is_tuple = false;
  };
  using Scope = std::unordered_map<std::string, Known>;

  [[nodiscard]] FilePlace place_of(const Place& place) const { return lines_.at(place); }

  // How many devices there are.

  void find_ranks(const Computation& entry) {
    const auto replicas = header_number(module_, "replica_count");
    const auto partitions = header_number(module_, "num_partitions");
    if (replicas || partitions) {
      ranks_ = {replicas.value_or(1), partitions.value_or(1)};
    } else {
      ranks_ = {1, options_.devices.value_or(named_devices(entry))};
    }
    const auto devices = checked_mul(ranks_.replicas, ranks_.partitions);
    if (!devices || *devices > most_devices) {
      refuse_at(module_.name.place, Code::limit_reached,
                fmt::format("more than {} devices", most_devices));
    }
  }
  /// As many as the first groups or pairs name, where no header and no option says it.
  [[nodiscard]] static Size named_devices(const Computation& entry) {
    Size out = 1;
    for (const Instruction& instruction : entry.instructions) {
      if (const Attribute* groups = instruction.find("replica_groups")) {
        for (const auto& group : read_groups(groups->value)) {
          for (const Size device : group) out = std::max(out, device + 1);
        }
      }
      if (const Attribute* pairs = instruction.find("source_target_pairs")) {
        for (const auto& [source, target] : read_pairs(pairs->value)) {
          out = std::max({out, source + 1, target + 1});
        }
      }
    }
    return out;
  }

  // Values and operations.

  ValueId new_value(const Instruction& instruction, const TileType& type) {
    out_.values.push_back(
        {.name = instruction.name.value, .type = type, .place = place_of(instruction.name.place)});
    is_reordered_.push_back(instruction.type.is_reordered);
    return out_.values.size() - 1;
  }
  /// That a value has the type that stands before its name.
  void check_written(const Operand& name, const Known& all) const {
    if (!name.type || name.part) return;
    const std::vector<TileType>& parts = name.type->parts;
    const bool is_so =
        std::equal(parts.begin(), parts.end(), all.parts.begin(), all.parts.end(),
                   [&](const TileType& type, ValueId id) { return out_.values[id].type == type; });
    if (is_so && name.type->is_tuple == all.is_tuple) return;
    refuse_at(name.type->place, Code::bad_program,
              fmt::format("{} has another type", shown_name(name.value)));
  }
  [[nodiscard]] Known known(const Operand& name) const {
    const auto found = known_.find(name.value);
    if (found == known_.end()) {
      refuse_at(name.place, Code::syntax,
                fmt::format("nothing is called {} above", shown_name(name.value)));
    }
    const Known& all = found->second;
    check_written(name, all);
    if (!name.part) return all;
    if (!all.is_tuple || *name.part >= static_cast<Size>(all.parts.size())) {
      refuse_at(name.place, Code::syntax, "the tuple has no such part");
    }
    return {.parts = {all.parts[static_cast<std::size_t>(*name.part)]}};
  }
  [[nodiscard]] ValueId operand(const Instruction& instruction, std::size_t k) const {
    if (k >= instruction.operands.size()) {
      refuse_at(instruction.opcode.place, Code::syntax,
                fmt::format("{} has {}", instruction.opcode.value,
                            counted(instruction.operands.size(), "operand")));
    }
    const Known value = known(instruction.operands[k]);
    if (value.is_tuple) {
      refuse_at(instruction.operands[k].place, Code::unsupported,
                fmt::format("{} of a tuple", instruction.opcode.value));
    }
    return value.parts.front();
  }
  [[nodiscard]] std::vector<ValueId> operands(const Instruction& instruction) const {
    std::vector<ValueId> out;
    for (std::size_t k = 0; k < instruction.operands.size(); ++k) {
      out.push_back(operand(instruction, k));
    }
    return out;
  }
  void define(const Instruction& instruction, Known value) {
    if (!known_.emplace(std::string(bare(instruction.name.value)), std::move(value)).second) {
      refuse_at(instruction.name.place, Code::syntax,
                fmt::format("{} is defined twice", shown_name(instruction.name.value)));
    }
  }
  /// The type of an instruction that makes one array.
  [[nodiscard]] const TileType& type_of(const Instruction& instruction) const {
    if (instruction.type.is_tuple) {
      refuse_at(instruction.type.place, Code::unsupported,
                fmt::format("{} makes one array here", instruction.opcode.value));
    }
    return instruction.type.parts.front();
  }
  void emit(const Instruction& instruction, Action action, std::vector<ValueId> operands) {
    const ValueId result = new_value(instruction, type_of(instruction));
    lists_.add(action, instruction.opcode.place);
    out_.operations.push_back({.action = std::move(action),
                               .name = instruction.opcode.value,
                               .place = place_of(instruction.opcode.place),
                               .operands = std::move(operands),
                               .results = {result}});
    define(instruction, {.parts = {result}});
  }

  /// What is made of an instruction that makes one array of arrays.
  using Make = Action (Builder::*)(const Instruction&);
  /// And of the others.
  using Add = void (Builder::*)(const Instruction&);
  void add(const Instruction& instruction) {
    if (depth_ > 0 && ++in_calls_ > most_in_calls) {
      refuse_at(instruction.opcode.place, Code::limit_reached,
                fmt::format("calls make more than {} instructions", most_in_calls));
    }
    const Row& row = row_of(instruction);
    check_attributes(instruction, row);
    const auto [make, add_all] = read_as(row.id);
    if (add_all != nullptr) return (this->*add_all)(instruction);
    Action action = (this->*make)(instruction);
    emit(instruction, std::move(action), operands(instruction));
  }
  [[nodiscard]] static const Row& row_of(const Instruction& instruction) {
    const std::string_view opcode = instruction.opcode.value;
    const Row* row = operations::find_hlo(opcode);
    if (row != nullptr && row->scope == operations::Scope::moves) return *row;
    std::vector<std::string> notes = {who_judges(row)};
    // Fusions stand in the dumps of later passes.
    notes.push_back(opcode == "fusion" ? text_to_take(Partitioner::xla)
                                       : "what is read: docs/reference/operations.md");
    refuse_at(instruction.opcode.place, Code::unsupported,
              fmt::format("{} is not read", shown_name(opcode)), std::move(notes));
  }
  /// Attributes that the table has, and those that mean nothing.
  static void check_attributes(const Instruction& instruction, const Row& row) {
    for (const Attribute& attribute : instruction.attributes) {
      if (means_nothing(attribute.name) || has_hlo_attribute(row, attribute.name)) continue;
      refuse_at(attribute.name_place, Code::unsupported,
                fmt::format("{} with {} is not read", shown_name(instruction.opcode.value),
                            shown_name(attribute.name)));
    }
  }

  /// One of both, for every operation of the table.
  [[nodiscard]] static std::pair<Make, Add> read_as(Id id) {
    constexpr auto number = [](Id one) { return static_cast<std::size_t>(one); };
    constexpr auto makes = [=] {
      std::array<Make, operations::moved_count> out{};
      out[number(Id::constant)] = &Builder::constant;
      out[number(Id::iota)] = &Builder::iota;
      out[number(Id::partition_id)] = &Builder::partition_id;
      out[number(Id::replica_id)] = &Builder::replica_id;
      out[number(Id::copy)] = &Builder::plain<Same>;
      out[number(Id::bitcast)] = &Builder::bitcast;
      out[number(Id::reshape)] = &Builder::plain<Reshape>;
      out[number(Id::transpose)] = &Builder::transpose;
      out[number(Id::reverse)] = &Builder::reverse;
      out[number(Id::slice)] = &Builder::slice;
      out[number(Id::pad)] = &Builder::pad;
      out[number(Id::concatenate)] = &Builder::concatenate;
      out[number(Id::broadcast)] = &Builder::broadcast;
      out[number(Id::dynamic_slice)] = &Builder::dynamic_slice;
      out[number(Id::dynamic_update_slice)] = &Builder::plain<DynamicUpdateSlice>;
      out[number(Id::select)] = &Builder::plain<Select>;
      out[number(Id::convert)] = &Builder::plain<Convert>;
      out[number(Id::compare)] = &Builder::compare;
      out[number(Id::clamp)] = &Builder::plain<Clamp>;
      for (std::size_t k = number(Id::add); k <= number(Id::shift_right_logical); ++k) {
        out[k] = &Builder::arithmetic;
      }
      out[number(Id::collective_permute)] = &Builder::collective_permute;
      return out;
    }();
    constexpr auto adds = [=] {
      std::array<Add, operations::moved_count> out{};
      out[number(Id::parameter)] = &Builder::add_parameter;
      out[number(Id::tuple)] = &Builder::add_tuple;
      out[number(Id::get_tuple_element)] = &Builder::add_part;
      out[number(Id::optimization_barrier)] = &Builder::add_barrier;
      out[number(Id::all_to_all)] = &Builder::add_all_to_all;
      out[number(Id::call)] = &Builder::add_call;
      out[number(Id::all_gather)] = &Builder::add_parts;
      out[number(Id::all_reduce)] = &Builder::add_parts;
      out[number(Id::reduce_scatter)] = &Builder::add_parts;
      return out;
    }();
    static_assert(operations::are_all_read(makes, adds));
    return {makes[number(id)], adds[number(id)]};
  }
  template <typename Simple>
  Action plain(const Instruction&) {
    return Simple{};
  }
  Action arithmetic(const Instruction& instruction) {
    return Calculate{*row_of(instruction).arithmetic};
  }

  void add_parameter(const Instruction& instruction) {
    Scanner scanner = scanner_of(instruction.inside);
    const Token<Size> number = scanner.number();
    scanner.expect_end();
    if (depth_ > 0) return add_argument(instruction, number);
    emit(instruction, Parameter{static_cast<std::size_t>(number.value)}, {});
    const ValueId value = out_.operations.back().results.front();
    if (!parameters_.emplace(number.value, value).second) {
      refuse_at(number.place, Code::syntax, fmt::format("a second parameter {}", number.value));
    }
  }
  /// A parameter of a computation that is called: the operand of this number.
  void add_argument(const Instruction& instruction, const Token<Size>& number) {
    if (number.value >= static_cast<Size>(arguments_.size())) {
      refuse_at(number.place, Code::syntax,
                fmt::format("parameter {}, but the call has {}", number.value,
                            counted(arguments_.size(), "operand")));
    }
    const Known& value = arguments_[static_cast<std::size_t>(number.value)];
    const bool alike =
        value.is_tuple == instruction.type.is_tuple &&
        std::equal(value.parts.begin(), value.parts.end(), instruction.type.parts.begin(),
                   instruction.type.parts.end(), [this](ValueId id, const TileType& type) {
                     return out_.values[id].type == type;
                   });
    if (!alike) {
      refuse_at(instruction.type.place, Code::bad_program, "the operand has another type");
    }
    define(instruction, value);
  }
  /// The parameters in the order of their numbers.
  void set_parameters(const Computation& entry) {
    for (const auto& [number, value] : parameters_) {
      if (number != static_cast<Size>(out_.parameters.size())) {
        refuse_at(entry.name.place, Code::syntax,
                  fmt::format("parameter {} is missing", out_.parameters.size()));
      }
      out_.parameters.push_back(value);
    }
  }
  /// Reads the instructions of the computation in the call's place.
  void add_call(const Instruction& instruction) {
    const Computation& computation = applied(instruction);
    if (depth_ >= deepest_calls) {
      refuse_at(instruction.opcode.place, Code::unsupported,
                fmt::format("calls in each other deeper than {}", deepest_calls));
    }
    std::vector<Known> arguments;
    for (const Operand& operand : instruction.operands) arguments.push_back(known(operand));
    Scope outer;
    std::swap(outer, known_);
    std::swap(arguments, arguments_);
    ++depth_;
    for (const Instruction& inner : computation.instructions) add(inner);
    --depth_;
    Known result = known_.at(std::string(bare(root_of(computation).name.value)));
    std::swap(outer, known_);
    std::swap(arguments, arguments_);
    define(instruction, std::move(result));
  }
  [[nodiscard]] const Computation& applied(const Instruction& instruction) const {
    return computation_of(module_, need(instruction, "to_apply").value);
  }
  void add_tuple(const Instruction& instruction) {
    define(instruction, {.parts = operands(instruction), .is_tuple = true});
  }
  void add_part(const Instruction& instruction) {
    if (instruction.operands.size() != 1) {
      refuse_at(instruction.opcode.place, Code::syntax, "one tuple is taken apart");
    }
    const Known tuple = known(instruction.operands.front());
    const Attribute& attribute = need(instruction, "index");
    Scanner scanner = scanner_of(attribute.value);
    const Token<Size> number = scanner.number();
    if (!tuple.is_tuple || number.value >= static_cast<Size>(tuple.parts.size())) {
      refuse_at(number.place, Code::syntax, "the tuple has no such part");
    }
    const ValueId part = tuple.parts[static_cast<std::size_t>(number.value)];
    emit(instruction, Same{}, {part});
  }
  void add_barrier(const Instruction& instruction) {
    if (instruction.operands.size() != 1) {
      refuse_at(instruction.opcode.place, Code::syntax, "a barrier has one operand");
    }
    define(instruction, known(instruction.operands.front()));
  }

  // What attributes say.

  [[nodiscard]] std::size_t one_dim(const Instruction& instruction) const {
    const auto out = dims_of(instruction);
    if (out.size() != 1) {
      refuse_at(need(instruction, "dimensions").value, Code::syntax,
                fmt::format("{} names one dimension", instruction.opcode.value));
    }
    return out.front();
  }

  // Operations on one device.

  Action constant(const Instruction& instruction) {
    Constant out{words_of(instruction, type_of(instruction))};
    if (out.numbers.empty()) out.numbers.push_back(0);
    return out;
  }
  Action slice(const Instruction& instruction) { return slice_of(instruction); }
  Action pad(const Instruction& instruction) { return pad_of(instruction); }
  Action compare(const Instruction& instruction) { return comparison_of(instruction); }
  Action partition_id(const Instruction&) {
    PerDevice out;
    for (Size d = 0; d < ranks_.devices(); ++d) out.numbers.push_back(d % ranks_.partitions);
    return out;
  }
  Action replica_id(const Instruction&) {
    PerDevice out;
    for (Size d = 0; d < ranks_.devices(); ++d) out.numbers.push_back(d / ranks_.partitions);
    return out;
  }
  Action iota(const Instruction& instruction) {
    Scanner scanner = scanner_of(need(instruction, "iota_dimension").value);
    return Iota{static_cast<std::size_t>(scanner.number().value)};
  }
  Action bitcast(const Instruction& instruction) {
    if (instruction.type.is_reordered || is_reordered_[operand(instruction, 0)]) {
      refuse_at(instruction.type.place, Code::unsupported,
                "a bitcast from or to a layout that is not row by row",
                {"what it makes is what lies in memory, which is not followed"});
    }
    return Reshape{};
  }
  Action transpose(const Instruction& instruction) { return Transpose{dims_of(instruction)}; }
  Action broadcast(const Instruction& instruction) { return Broadcast{dims_of(instruction)}; }
  Action reverse(const Instruction& instruction) {
    static_cast<void>(need(instruction, "dimensions"));
    return Reverse{dims_of(instruction)};
  }
  Action concatenate(const Instruction& instruction) { return Concatenate{one_dim(instruction)}; }
  Action dynamic_slice(const Instruction& instruction) {
    static_cast<void>(need(instruction, "dynamic_slice_sizes"));
    return DynamicSlice{numbers_of(instruction, "dynamic_slice_sizes")};
  }
  // Collectives.

  // Collectives.

  [[nodiscard]] Groups groups(const Instruction& instruction) {
    if (groups_take_all_partitions(instruction) && ranks_.partitions > 1) {
      out_.notes.push_back(
          fmt::format("line {}: these are groups of replicas, each with all its partitions: {} "
                      "without use_global_device_ids",
                      place_of(instruction.opcode.place).line, instruction.opcode.value));
    }
    return device_groups(instruction, ranks_);
  }
  Action collective_permute(const Instruction& instruction) {
    return CollectivePermute{device_pairs(instruction, ranks_)};
  }
  void add_all_to_all(const Instruction& instruction) {
    AllToAll action{.split = 0, .concat = 0, .groups = groups(instruction)};
    if (!instruction.type.is_tuple) {
      action.split = action.concat = one_dim(instruction);
      return emit(instruction, std::move(action), operands(instruction));
    }
    std::vector<ValueId> parts = operands(instruction);
    std::vector<ValueId> results;
    for (const TileType& type : instruction.type.parts) {
      results.push_back(new_value(instruction, type));
    }
    if (parts.size() == 1 && results.size() == 1) {  // groups of one
      out_.operations.push_back({.action = Same{},
                                 .name = instruction.opcode.value,
                                 .place = place_of(instruction.opcode.place),
                                 .operands = parts,
                                 .results = results});
    } else {
      out_.operations.push_back({.action = std::move(action),
                                 .name = instruction.opcode.value,
                                 .place = place_of(instruction.opcode.place),
                                 .operands = std::move(parts),
                                 .results = results});
    }
    define(instruction, {.parts = std::move(results), .is_tuple = true});
  }
  /// How a reduction adds: one operation of its two parameters, all of the type of what is reduced.
  [[nodiscard]] Addition addition_of(const Instruction& instruction) const {
    static const std::map<std::string_view, Addition> additions = {{"add", Addition::sum},
                                                                   {"maximum", Addition::max},
                                                                   {"minimum", Addition::min},
                                                                   {"or", Addition::max},
                                                                   {"and", Addition::min}};
    const Computation& computation = applied(instruction);
    const std::vector<Instruction>& body = computation.instructions;
    const auto found = additions.find(root_of(computation).opcode.value);
    const bool adds = found != additions.end() && body.size() == 3 && is_of_both(body) &&
                      adds_what(body[2].opcode.value, body[2].type);
    const Place& name = need(instruction, "to_apply").value;
    if (!adds) {
      refuse_at(name, Code::unsupported,
                "a reduction that is no addition, maximum or minimum of its two parameters");
    }
    for (const ValueId operand : operands(instruction)) {
      check_reduced(body, out_.values[operand].type.element, name);
    }
    return found->second;
  }
  static void check_reduced(const std::vector<Instruction>& body, const std::string& element,
                            const Place& name) {
    for (const Instruction& one : body) {
      const bool fits = !one.type.is_tuple && one.type.parts.front() == TileType{element, {}};
      if (fits) continue;
      refuse_at(name, Code::bad_program,
                fmt::format("a reduction of {}, whose computation has another type: {}", element,
                            text_of(one.type.place)));
    }
  }
  /// `or` and `and` are maximum and minimum of truth values alone.
  [[nodiscard]] static bool adds_what(std::string_view opcode, const WrittenType& type) {
    const bool bits = opcode == "or" || opcode == "and";
    return !type.is_tuple && (!bits || type.parts.front().element == "pred");
  }
  /// Whether these are parameters 0 and 1 and an operation on both, the root.
  [[nodiscard]] static bool is_of_both(const std::vector<Instruction>& body) {
    std::set<std::string_view> numbers;
    std::set<std::string_view> names;
    for (std::size_t k = 0; k < 2; ++k) {
      if (body[k].opcode.value != "parameter" || body[k].is_root) return false;
      numbers.insert(text_of(body[k].inside));
      names.insert(bare(body[k].name.value));
    }
    std::set<std::string_view> operands;
    for (const Operand& operand : body[2].operands) operands.insert(operand.value);
    return numbers == std::set<std::string_view>{"0", "1"} && names.size() == 2 &&
           body[2].operands.size() == 2 && operands == names;
  }
  /// A collective of one array or of several, which are moved each by itself.
  void add_parts(const Instruction& instruction) {
    const Action action = part_action(instruction);
    if (!instruction.type.is_tuple) return emit(instruction, action, operands(instruction));
    const std::vector<ValueId> parts = operands(instruction);
    if (parts.size() != instruction.type.parts.size()) {
      refuse_at(instruction.type.place, Code::syntax, "as many results as operands");
    }
    std::vector<ValueId> results;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      results.push_back(new_value(instruction, instruction.type.parts[k]));
      out_.operations.push_back({.action = action,
                                 .name = instruction.opcode.value,
                                 .place = place_of(instruction.opcode.place),
                                 .operands = {parts[k]},
                                 .results = {results.back()}});
    }
    define(instruction, {.parts = std::move(results), .is_tuple = true});
  }
  [[nodiscard]] Action part_action(const Instruction& instruction) {
    if (instruction.opcode.value == "all-gather") {
      return AllGather{.dim = one_dim(instruction), .groups = groups(instruction)};
    }
    const Addition addition = addition_of(instruction);
    if (instruction.opcode.value == "all-reduce") {
      return AllReduce{.addition = addition, .groups = groups(instruction)};
    }
    return ReduceScatter{
        .addition = addition, .dim = one_dim(instruction), .groups = groups(instruction)};
  }

  // The ends.

  void set_ends(const Computation& entry) {
    const Instruction& root = root_of(entry);
    const Known& result = known_.at(std::string(bare(root.name.value)));
    out_.results = result.parts;
    out_.starts.resize(out_.parameters.size());
    for (const Instruction& instruction : entry.instructions) {
      const Attribute* sharding = instruction.find("sharding");
      if (instruction.opcode.value != "parameter" || sharding == nullptr) continue;
      const auto number = static_cast<std::size_t>(scanner_of(instruction.inside).number().value);
      out_.starts[number] = written(sharding->value);
    }
    if (const Attribute* all = module_.find("spmd_parameters_shardings")) {
      fill(out_.starts, all->value, true);
    }
    out_.ends.resize(out_.results.size());
    if (const Attribute* sharding = root.find("sharding")) {
      fill(out_.ends, sharding->value, result.is_tuple);
    }
    if (const Attribute* all = module_.find("spmd_output_sharding")) {
      fill(out_.ends, all->value, result.is_tuple);
    }
  }
  /// Gives a sharding to all that have none: of a tuple one each, else all the same.
  void fill(std::vector<std::optional<WrittenEnd>>& ends, const Place& value, bool is_tuple) const {
    std::vector<Place> parts = shardings_of(value);
    if (parts.empty()) parts.assign(is_tuple ? ends.size() : 1, value);
    for (std::size_t k = 0; k < ends.size() && k < parts.size(); ++k) {
      if (!ends[k]) ends[k] = written(parts[k]);
    }
  }
  [[nodiscard]] WrittenEnd written(const Place& value) const {
    return {.text = std::string(text_of(value)), .place = place_of(value)};
  }

  const Lines& lines_;
  const Module& module_;
  const ReadOptions& options_;
  ListCount& lists_;
  Function out_;
  DeviceRanks ranks_;
  Scope known_;
  std::vector<Known> arguments_;        // of the call at hand
  std::map<Size, ValueId> parameters_;  // by their numbers
  std::vector<bool> is_reordered_;      // of every value, whether its layout is not row by row
  std::size_t depth_ = 0;               // of calls in each other
  std::size_t in_calls_ = 0;            // instructions
};

}  // namespace
}  // namespace hlo

std::vector<Function> read_hlo(const text::Input& input, const ReadOptions& options) {
  std::vector<Function> out;
  const hlo::Lines lines(input.text);
  ListCount lists;
  for (const hlo::Module& module : hlo::parse_modules(input)) {
    hlo::refuse_unpartitioned(module, options);
    out.push_back(hlo::Builder(lines, module, options, lists).function());
  }
  return out;
}

}  // namespace retile::foreign
