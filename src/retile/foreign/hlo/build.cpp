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
using text::fail;

[[noreturn]] void refuse_at(const Place& place, Code code, std::string message,
                            std::vector<std::string> notes = {}) {
  fail(place, {.code = code, .message = std::move(message), .notes = std::move(notes)});
}

/// Calls in each other, which no text that a compiler wrote has.
constexpr std::size_t deepest_calls = 32;
/// Instructions that calls may make of the file's, however they multiply them.
constexpr std::size_t most_in_calls = std::size_t{1} << 18;

/// What an operation with groups means by their numbers.
enum class GroupMode {
  replicas,          ///< numbers of replicas; within one partition
  replicas_and_all,  ///< numbers of replicas; all partitions of theirs
  partitions,        ///< numbers of partitions; within one replica
  devices,           ///< replica * partitions + partition
};

/// How many there are of both.
struct Ranks {
  Size replicas = 1;
  Size partitions = 1;
  [[nodiscard]] Size devices() const { return replicas * partitions; }
};

/// Numbers between commas in braces, `{0,2}`.
std::vector<Token<Size>> read_numbers(Scanner& scanner) {
  std::vector<Token<Size>> out;
  scanner.expect("{");
  if (scanner.accept("}")) return out;
  do {
    out.push_back(scanner.number());
  } while (scanner.accept(","));
  scanner.expect("}");
  return out;
}

/// Attributes that say nothing about where elements go, of whatever instruction.
bool means_nothing(std::string_view name) {
  const auto names = operations::hlo_attributes_without_meaning();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Makes one Function of an entry computation.
class Builder {
 public:
  /// \param lines  where every line of the text begins
  Builder(const text::Input& input, const std::vector<std::size_t>& lines, const Module& module,
          const ReadOptions& options, ListCount& lists)
      : input_(input), lines_(lines), module_(module), options_(options), lists_(lists) {}

  Function function() {
    const Computation& entry = entry_computation();
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

  [[nodiscard]] FilePlace place_of(const Place& place) const {
    const auto next = std::upper_bound(lines_.begin(), lines_.end(), place.span.begin);
    const auto line = static_cast<std::size_t>(next - lines_.begin());
    return {.line = line, .column = place.span.begin - lines_[line - 1] + 1};
  }

  [[nodiscard]] const Computation& entry_computation() const {
    const Computation* entry = nullptr;
    for (const Computation& computation : module_.computations) {
      if (!computation.is_entry) continue;
      if (entry != nullptr) {
        refuse_at(computation.name.place, Code::syntax, "a second entry computation");
      }
      entry = &computation;
    }
    if (entry != nullptr) return *entry;
    if (module_.computations.size() == 1) return module_.computations.front();
    refuse_at(module_.name.place, Code::syntax, "no computation is the entry",
              {"ENTRY stands before it"});
  }

  // How many devices there are.

  void find_ranks(const Computation& entry) {
    const auto replicas = header_number("replica_count");
    const auto partitions = header_number("num_partitions");
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
  [[nodiscard]] std::optional<Size> header_number(std::string_view name) const {
    const Attribute* attribute = module_.find(name);
    if (attribute == nullptr) return std::nullopt;
    Scanner scanner = scanner_of(attribute->value);
    const Size out = scanner.size(name).value;
    scanner.expect_end();
    return out;
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
    if (const Row* row = operations::find_hlo(opcode, operations::Scope::moves)) return *row;
    std::vector<std::string> notes = {
        "check judges moves: compile the move alone (docs/how-to/xla.md) where a module computes",
        "what is read: docs/reference/operations.md"};
    // Fusions stand in the dumps of later passes.
    if (opcode == "fusion") notes = {text_to_take(Partitioner::xla)};
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
    const Attribute& attribute = need(instruction, "to_apply");
    const std::string_view name = bare(text_of(attribute.value));
    for (const Computation& computation : module_.computations) {
      if (bare(computation.name.value) != name) continue;
      if (!computation.instructions.empty()) return computation;
    }
    refuse_at(attribute.value, Code::syntax, "no computation has this name");
  }
  [[nodiscard]] static const Instruction& root_of(const Computation& computation) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.is_root) return instruction;
    }
    return computation.instructions.back();
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

  [[nodiscard]] const Attribute& need(const Instruction& instruction, std::string_view name) const {
    if (const Attribute* attribute = instruction.find(name)) return *attribute;
    refuse_at(instruction.opcode.place, Code::syntax,
              fmt::format("{} needs {}", instruction.opcode.value, name));
  }
  /// Numbers of dimensions, `{1,0}`.
  [[nodiscard]] std::vector<std::size_t> dims(const Instruction& instruction) const {
    const Attribute* attribute = instruction.find("dimensions");
    std::vector<std::size_t> out;
    if (attribute == nullptr) return out;
    Scanner scanner = scanner_of(attribute->value);
    for (const Token<Size>& dim : read_numbers(scanner)) {
      out.push_back(static_cast<std::size_t>(dim.value));
    }
    scanner.expect_end();
    return out;
  }
  [[nodiscard]] std::size_t one_dim(const Instruction& instruction) const {
    const auto out = dims(instruction);
    if (out.size() != 1) {
      refuse_at(need(instruction, "dimensions").value, Code::syntax,
                fmt::format("{} names one dimension", instruction.opcode.value));
    }
    return out.front();
  }

  // Operations on one device.

  /// The word that a literal is; of types without words 0 or 1.
  [[nodiscard]] static std::optional<std::int64_t> literal(std::string_view word,
                                                           const ElementKind& kind) {
    if (kind.is_real()) return real(word, kind);
    if (!kind.is_number()) {
      const bool is_zero = word.find_first_not_of("-+0.()") == std::string_view::npos;
      return is_zero ? 0 : 1;
    }
    if (word == "true" || word == "false") {
      if (kind.form != ElementKind::Form::truth) return std::nullopt;
      return word == "true" ? 1 : 0;
    }
    if (!kind.is_signed && word.substr(0, 1) != "-") {
      const auto large = whole<std::uint64_t>(word);
      if (!large) return std::nullopt;
      const auto number = static_cast<std::int64_t>(*large);
      return kind.bits == 64 || (number >= 0 && operations::fits(number, kind))
                 ? std::optional(number)
                 : std::nullopt;
    }
    const auto number = whole<std::int64_t>(word);
    const bool negative = number && *number < 0 && !kind.is_signed;
    return number && !negative && operations::fits(*number, kind) ? number : std::nullopt;
  }
  /// All of a word as a number.
  template <typename T>
  [[nodiscard]] static std::optional<T> whole(std::string_view word) {
    T out{};
    const char* end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, out);
    return read.ec == std::errc() && read.ptr == end ? std::optional(out) : std::nullopt;
  }
  /// `1.5`, `-inf`, `nan`, `-nan(0x1)`, and of old texts `true`.
  [[nodiscard]] static std::optional<std::int64_t> real(std::string_view word,
                                                        const ElementKind& kind) {
    const bool negative = word.substr(0, 1) == "-";
    double out = 0;
    if (word.substr(negative ? 1 : 0, 3) == "nan") {
      out = std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
    } else if (const auto read = whole<double>(word)) {
      out = *read;
    } else {
      return std::nullopt;
    }
    return operations::word_of(operations::rounded(out, *kind.format));
  }
  Action constant(const Instruction& instruction) {
    const TileType& type = type_of(instruction);
    const ElementKind kind = element_kind(type.element);
    Constant out;
    for (const Place& place : literals(instruction)) {
      if (text_of(place) == "...") {
        refuse_at(place, Code::unsupported, "the numbers of this constant were left out",
                  {"XLA prints them with --xla_dump_large_constants=true"});
      }
      const auto number = literal(text_of(place), kind);
      if (!number) {
        refuse_at(place, Code::bad_number,
                  fmt::format("{} is no value of {}", shortened(text_of(place)), type.element));
      }
      out.numbers.push_back(*number);
    }
    const auto count = checked_product(type.extents);
    if (count != static_cast<Size>(out.numbers.size())) {
      refuse_at(instruction.inside, Code::syntax,
                fmt::format("a constant with {} where {}", counted(out.numbers.size(), "number"),
                            count ? fmt::format("there are {}", *count) : "there are too many"));
    }
    if (out.numbers.empty()) out.numbers.push_back(0);
    return out;
  }
  /// The numbers of a constant, one behind the other.
  [[nodiscard]] std::vector<Place> literals(const Instruction& instruction) const {
    const std::string_view text = text_of(instruction.inside);
    std::vector<Place> out;
    std::size_t k = 0;
    while (k < text.size()) {
      const std::size_t begin = text.find_first_not_of(" \t\r\n,{}", k);
      if (begin == std::string_view::npos) break;
      if (text.substr(begin, 2) == "/*") {
        k = std::min(text.find("*/", begin), text.size() - 2) + 2;
        continue;
      }
      const bool pair = text[begin] == '(';  // a complex number
      const std::size_t end =
          pair ? text.find(')', begin) : text.find_first_of(" \t\r\n,{}", begin);
      k = std::min(end, text.size() - (pair ? 1 : 0)) + (pair ? 1 : 0);
      out.push_back(
          {.input = &input_,
           .span = {instruction.inside.span.begin + begin, instruction.inside.span.begin + k}});
    }
    return out;
  }
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
  Action transpose(const Instruction& instruction) { return Transpose{dims(instruction)}; }
  Action broadcast(const Instruction& instruction) { return Broadcast{dims(instruction)}; }
  Action reverse(const Instruction& instruction) {
    static_cast<void>(need(instruction, "dimensions"));
    return Reverse{dims(instruction)};
  }
  Action concatenate(const Instruction& instruction) { return Concatenate{one_dim(instruction)}; }
  Action dynamic_slice(const Instruction& instruction) {
    Scanner scanner = scanner_of(need(instruction, "dynamic_slice_sizes").value);
    DynamicSlice out;
    for (const Token<Size>& size : read_numbers(scanner)) out.sizes.push_back(size.value);
    return out;
  }
  /// `{[0:4], [0:8:2]}`
  Action slice(const Instruction& instruction) {
    Scanner scanner = scanner_of(need(instruction, "slice").value);
    Slice out;
    scanner.expect("{");
    if (scanner.accept("}")) return out;
    do {
      scanner.expect("[");
      out.start.push_back(scanner.number().value);
      scanner.expect(":");
      out.limit.push_back(scanner.number().value);
      out.stride.push_back(scanner.accept(":") ? scanner.size("a stride").value : 1);
      scanner.expect("]");
    } while (scanner.accept(","));
    scanner.expect("}");
    return out;
  }
  /// `0_1x2_-3x0_0_1`: low, high and between neighbours, for every dimension.
  Action pad(const Instruction& instruction) {
    Scanner scanner = scanner_of(need(instruction, "padding").value);
    Pad out;
    do {
      out.low.push_back(signed_number(scanner));
      scanner.expect("_");
      out.high.push_back(signed_number(scanner));
      out.interior.push_back(scanner.accept("_") ? signed_number(scanner) : 0);
    } while (scanner.accept("x"));
    scanner.expect_end("of the padding");
    return out;
  }
  static Size signed_number(Scanner& scanner) {
    return scanner.accept("-") ? -scanner.number().value : scanner.number().value;
  }
  Action compare(const Instruction& instruction) {
    static const std::map<std::string_view, Comparison> directions = {
        {"EQ", Comparison::eq}, {"NE", Comparison::ne}, {"LT", Comparison::lt},
        {"LE", Comparison::le}, {"GT", Comparison::gt}, {"GE", Comparison::ge}};
    const Attribute& direction = need(instruction, "direction");
    const auto found = directions.find(text_of(direction.value));
    if (found == directions.end()) {
      refuse_at(direction.value, Code::syntax, "a direction is EQ, NE, LT, LE, GT or GE");
    }
    return Compare{found->second, order_of(instruction)};
  }
  [[nodiscard]] static Order order_of(const Instruction& instruction) {
    static const std::map<std::string_view, Order> orders = {{"SIGNED", Order::as_signed},
                                                             {"UNSIGNED", Order::as_unsigned},
                                                             {"FLOAT", Order::floating},
                                                             {"TOTALORDER", Order::total}};
    const Attribute* type = instruction.find("type");
    if (type == nullptr) return Order::of_type;
    const auto found = orders.find(text_of(type->value));
    if (found != orders.end()) return found->second;
    refuse_at(type->value, Code::syntax, "a comparison is SIGNED, UNSIGNED, FLOAT or TOTALORDER");
  }

  // Collectives.

  /// Whether a collective has a channel. As XLA reads it, a number that is not positive is none.
  [[nodiscard]] static bool has_channel(const Instruction& instruction) {
    const Attribute* channel = instruction.find("channel_id");
    if (channel == nullptr) return false;
    Scanner scanner = scanner_of(channel->value);
    const Size number = signed_number(scanner);
    scanner.expect_end();
    return number > 0;
  }
  [[nodiscard]] static GroupMode mode_of(const Instruction& instruction) {
    const bool channel = has_channel(instruction);
    if (instruction.opcode.value == "all-to-all") {
      return channel ? GroupMode::partitions : GroupMode::replicas;
    }
    const Attribute* global = instruction.find("use_global_device_ids");
    if (global != nullptr && text_of(global->value) == "true") {
      if (channel) return GroupMode::devices;
      refuse_at(global->name_place, Code::syntax, "use_global_device_ids without channel_id",
                {"a channel_id that is not positive is none"});
    }
    return channel ? GroupMode::replicas_and_all : GroupMode::replicas;
  }
  [[nodiscard]] Groups groups(const Instruction& instruction) {
    const GroupMode mode = mode_of(instruction);
    if (mode == GroupMode::replicas_and_all && ranks_.partitions > 1) {
      out_.notes.push_back(
          fmt::format("line {}: these are groups of replicas, each with all its partitions: {} "
                      "without use_global_device_ids",
                      place_of(instruction.opcode.place).line, instruction.opcode.value));
    }
    const bool of_partitions = mode == GroupMode::partitions;
    const Size numbers = mode == GroupMode::devices ? ranks_.devices()
                         : of_partitions            ? ranks_.partitions
                                                    : ranks_.replicas;
    const Attribute* attribute = instruction.find("replica_groups");
    Groups rows;
    if (attribute != nullptr) rows = read_groups(attribute->value);
    if (rows.empty() || (rows.size() == 1 && rows.front().empty())) {
      // As XLA's verifier: empty groups mean all replicas, and nothing where devices are meant.
      if (mode == GroupMode::devices ||
          (instruction.opcode.value == "all-to-all" && !instruction.type.is_tuple)) {
        refuse_at(attribute == nullptr ? instruction.opcode.place : attribute->value, Code::syntax,
                  fmt::format("{} here needs groups that are not empty", instruction.opcode.value));
      }
      rows.assign(1, {});
      for (Size k = 0; k < numbers; ++k) rows.front().push_back(k);
    }
    for (const auto& row : rows) {
      for (const Size number : row) {
        if (number >= numbers) refuse_number(*attribute, mode, number, numbers);
      }
    }
    return of_devices(rows, mode);
  }
  [[noreturn]] static void refuse_number(const Attribute& attribute, GroupMode mode, Size number,
                                         Size numbers) {
    const std::string_view what = mode == GroupMode::devices      ? "device"
                                  : mode == GroupMode::partitions ? "partition"
                                                                  : "replica";
    std::vector<std::string> notes;
    if (mode == GroupMode::replicas) {
      notes = {"without channel_id the groups are of replicas, not of partitions"};
    }
    refuse_at(attribute.value, Code::bad_device,
              fmt::format("{} {} stands in a group, but there {} {}", what, number,
                          numbers == 1 ? "is" : "are", counted(numbers, what)),
              std::move(notes));
  }
  [[nodiscard]] Groups of_devices(const Groups& rows, GroupMode mode) const {
    Groups out;
    const auto device = [&](Size replica, Size partition) {
      return replica * ranks_.partitions + partition;
    };
    const Size repeats = mode == GroupMode::replicas     ? ranks_.partitions
                         : mode == GroupMode::partitions ? ranks_.replicas
                                                         : 1;
    for (const auto& row : rows) {
      for (Size repeat = 0; repeat < repeats; ++repeat) {
        auto& group = out.emplace_back();
        for (const Size number : row) {
          if (mode == GroupMode::devices) group.push_back(number);
          if (mode == GroupMode::replicas) group.push_back(device(number, repeat));
          if (mode == GroupMode::partitions) group.push_back(device(repeat, number));
          if (mode != GroupMode::replicas_and_all) continue;
          for (Size p = 0; p < ranks_.partitions; ++p) group.push_back(device(number, p));
        }
      }
    }
    return out;
  }
  Action collective_permute(const Instruction& instruction) {
    const bool of_partitions = has_channel(instruction);
    const Size numbers = of_partitions ? ranks_.partitions : ranks_.replicas;
    const Size repeats = ranks_.devices() / numbers;
    CollectivePermute out;
    const Attribute& attribute = need(instruction, "source_target_pairs");
    std::set<Size> sources;
    for (const auto& [source, target] : read_pairs(attribute.value)) {
      if (!sources.insert(source).second) {
        refuse_at(attribute.value, Code::bad_device, fmt::format("{} is a source twice", source));
      }
      if (source >= numbers || target >= numbers) {
        refuse_number(attribute, of_partitions ? GroupMode::partitions : GroupMode::replicas,
                      std::max(source, target), numbers);
      }
      for (Size k = 0; k < repeats; ++k) {
        const Size stride = of_partitions ? 1 : ranks_.partitions;
        const Size first = of_partitions ? k * ranks_.partitions : k;
        out.pairs.emplace_back(first + source * stride, first + target * stride);
      }
    }
    return out;
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
    std::vector<Place> parts = parts_of(value);
    if (parts.empty()) parts.assign(is_tuple ? ends.size() : 1, value);
    for (std::size_t k = 0; k < ends.size() && k < parts.size(); ++k) {
      if (!ends[k]) ends[k] = written(parts[k]);
    }
  }
  [[nodiscard]] WrittenEnd written(const Place& value) const {
    return {.text = std::string(text_of(value)), .place = place_of(value)};
  }
  /// The shardings of a tuple, `{{replicated}, {devices=[2]<=[2]}}`; none where it is one.
  [[nodiscard]] static std::vector<Place> parts_of(const Place& value) {
    const std::string_view text = text_of(value);
    // Braces within one sharding, `[{'x'}, {}]`, stand behind other words.
    const std::size_t second = text.find_first_not_of(" \n", 1);
    if (second == std::string_view::npos || text[0] != '{' || text[second] != '{') return {};
    std::vector<Place> out;
    std::size_t depth = 0;
    std::size_t begin = 0;
    for (std::size_t k = 0; k < text.size(); ++k) {
      if (text[k] == '}') --depth;
      if (depth == 1 && text[k] == '}') {
        const std::size_t first = value.span.begin + begin;
        out.push_back({.input = value.input, .span = {first, value.span.begin + k + 1}});
      }
      if (depth == 1 && text[k] == '{') begin = k;
      if (text[k] == '{') ++depth;
    }
    return out;
  }

  const text::Input& input_;
  const std::vector<std::size_t>& lines_;
  const Module& module_;
  const ReadOptions& options_;
  ListCount& lists_;
  Function out_;
  Ranks ranks_;
  Scope known_;
  std::vector<Known> arguments_;        // of the call at hand
  std::map<Size, ValueId> parameters_;  // by their numbers
  std::vector<bool> is_reordered_;      // of every value, whether its layout is not row by row
  std::size_t depth_ = 0;               // of calls in each other
  std::size_t in_calls_ = 0;            // instructions
};

std::vector<std::size_t> lines_of(std::string_view text) {
  std::vector<std::size_t> out = {0};
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    out.push_back(end + 1);
  }
  return out;
}

}  // namespace
}  // namespace hlo

std::vector<Function> read_hlo(const text::Input& input, const ReadOptions& options) {
  std::vector<Function> out;
  const std::vector<std::size_t> lines = hlo::lines_of(input.text);
  ListCount lists;
  for (const hlo::Module& module : hlo::parse_modules(input)) {
    hlo::refuse_unpartitioned(module, options);
    out.push_back(hlo::Builder(input, lines, module, options, lists).function());
  }
  return out;
}

}  // namespace retile::foreign
