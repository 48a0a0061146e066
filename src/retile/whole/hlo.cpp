// From the syntax of HLO to a whole program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/hlo/attributes.h"
#include "retile/foreign/hlo/source.h"
#include "retile/foreign/hlo/syntax.h"
#include "retile/notation/sharding.h"
#include "retile/text/words.h"
#include "retile/whole/read.h"
#include "retile/whole/typing.h"

namespace retile::whole {
namespace {

namespace hlo = foreign::hlo;
using hlo::bare;
using hlo::dims_of;
using hlo::need;
using hlo::numbers_of;
using hlo::Place;
using hlo::refuse_at;
using hlo::Scanner;
using hlo::text_of;
using operations::Row;

/// Values by which a name is known: those of an array, or of a tuple's parts.
struct Known {
  std::vector<ValueId> parts;
  const hlo::WrittenType* type = nullptr;  ///< how the parts make tuples
};

/// `all-gather` of `all-gather-start`.
std::string_view without(std::string_view opcode, std::string_view ending) {
  const bool ends =
      opcode.size() > ending.size() && opcode.substr(opcode.size() - ending.size()) == ending;
  return ends ? opcode.substr(0, opcode.size() - ending.size()) : std::string_view();
}

Size number_of(const Place& value) {
  Scanner scanner = hlo::scanner_of(value);
  const Size out = scanner.number().value;
  scanner.expect_end();
  return out;
}

bool is_true(const hlo::Instruction& instruction, std::string_view name) {
  const hlo::Attribute* attribute = instruction.find(name);
  return attribute != nullptr && text_of(attribute->value) == "true";
}

Size number_or(const hlo::Instruction& instruction, std::string_view name, Size missing) {
  const hlo::Attribute* attribute = instruction.find(name);
  return attribute == nullptr ? missing : number_of(attribute->value);
}

/// `2x1x3`, of which every number may have a sign.
std::vector<Size> numbers_between(const Place& value, std::string_view text) {
  std::vector<Size> out;
  while (!text.empty()) {
    Size number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) refuse_at(value, Code::syntax, "numbers with 'x' between them");
    out.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x' || text.size() == 1) {
      refuse_at(value, Code::syntax, "numbers with 'x' between them");
    }
    text.remove_prefix(1);
  }
  return out;
}

/// The words of a window: `{size=2x2 stride=1x1 pad=0_1x0_1}`.
std::map<std::string_view, std::string_view> window_words(const Place& value) {
  std::string_view text = text_of(value);
  if (text.size() < 2 || text.front() != '{') {
    refuse_at(value, Code::syntax, "a window stands in braces");
  }
  text = text.substr(1, text.size() - 2);
  std::map<std::string_view, std::string_view> out;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      refuse_at(value, Code::syntax, "a window says name=value");
    out[word.substr(0, equals)] = word.substr(equals + 1);
    text.remove_prefix(end);
  }
}

/// \param rank  how many dimensions it has, where it names none
std::vector<WindowDim> window_of(const hlo::Instruction& instruction, std::size_t rank) {
  const hlo::Attribute* attribute = instruction.find("window");
  if (attribute == nullptr) return std::vector<WindowDim>(rank);
  const Place& place = attribute->value;
  const auto words = window_words(place);
  std::vector<WindowDim> out;
  const auto size = words.find("size");
  if (size == words.end()) {
    if (words.empty()) return std::vector<WindowDim>(rank);
    refuse_at(place, Code::syntax, "a window says its size");
  }
  for (const Size extent : numbers_between(place, size->second)) out.push_back({.size = extent});
  const auto set = [&](std::string_view name, std::string_view text, auto member) {
    const std::vector<Size> numbers = numbers_between(place, text);
    if (numbers.size() != out.size()) {
      refuse_at(place, Code::rank_mismatch, fmt::format("{} has another rank", name));
    }
    for (std::size_t k = 0; k < out.size(); ++k) member(out[k], numbers[k]);
  };
  for (const auto& [name, text] : words) {
    if (name == "size") continue;
    if (name == "stride") {
      set(name, text, [](WindowDim& dim, Size number) { dim.stride = number; });
    } else if (name == "lhs_dilate") {
      set(name, text, [](WindowDim& dim, Size number) { dim.base_dilation = number; });
    } else if (name == "rhs_dilate") {
      set(name, text, [](WindowDim& dim, Size number) { dim.window_dilation = number; });
    } else if (name == "rhs_reversal") {
      set(name, text, [](WindowDim& dim, Size number) { dim.is_reversed = number != 0; });
    } else if (name == "pad") {
      std::string lows;
      std::string highs;
      std::string* now = &lows;
      for (const char c : text) {
        if (c == 'x') {
          lows += 'x';
          highs += 'x';
          now = &lows;
        } else if (c == '_') {
          now = &highs;
        } else {
          *now += c;
        }
      }
      set(name, lows, [](WindowDim& dim, Size number) { dim.low = number; });
      set(name, highs, [](WindowDim& dim, Size number) { dim.high = number; });
    } else {
      refuse_at(place, Code::unsupported, fmt::format("a window with {} is not read", name));
    }
  }
  for (const WindowDim& dim : out) {
    if (!is_window(dim)) {
      refuse_at(place, Code::bad_number, "sizes, strides and dilations are at least 1");
    }
  }
  return out;
}

/// `b01f_01io->b01f`
ConvolutionDetail convolution_of(const hlo::Instruction& instruction) {
  ConvolutionDetail out;
  const hlo::Attribute& labels = need(instruction, "dim_labels");
  const std::string_view text = text_of(labels.value);
  const std::size_t first = text.find('_');
  const std::size_t second = text.find("->");
  if (first == std::string_view::npos || second == std::string_view::npos || second < first) {
    refuse_at(labels.value, Code::syntax, "labels are INPUT_KERNEL->OUTPUT");
  }
  const std::string_view input = text.substr(0, first);
  const std::string_view kernel = text.substr(first + 1, second - first - 1);
  const std::string_view output = text.substr(second + 2);
  if (input.size() < 2 || kernel.size() != input.size() || output.size() != input.size()) {
    refuse_at(labels.value, Code::syntax, "labels of three ranks");
  }
  const auto at = [&](std::string_view word, char label) {
    const std::size_t k = word.find(label);
    if (k == std::string_view::npos || word.find(label, k + 1) != std::string_view::npos) {
      refuse_at(labels.value, Code::syntax, fmt::format("'{}' stands once in {}", label, word));
    }
    return k;
  };
  const std::size_t spatial = input.size() - 2;
  if (spatial > 9) refuse_at(labels.value, Code::unsupported, "more than nine spatial dimensions");
  out.input_batch = at(input, 'b');
  out.input_feature = at(input, 'f');
  out.kernel_input = at(kernel, 'i');
  out.kernel_output = at(kernel, 'o');
  out.output_batch = at(output, 'b');
  out.output_feature = at(output, 'f');
  for (std::size_t k = 0; k < spatial; ++k) {
    const char label = static_cast<char>('0' + static_cast<int>(k));
    out.input_spatial.push_back(at(input, label));
    out.kernel_spatial.push_back(at(kernel, label));
    out.output_spatial.push_back(at(output, label));
  }
  out.window = window_of(instruction, spatial);
  out.feature_groups = number_or(instruction, "feature_group_count", 1);
  out.batch_groups = number_or(instruction, "batch_group_count", 1);
  return out;
}

DotDetail dot_of(const hlo::Instruction& instruction) {
  return {.left_contracting = dims_of(instruction, "lhs_contracting_dims"),
          .right_contracting = dims_of(instruction, "rhs_contracting_dims"),
          .left_batch = dims_of(instruction, "lhs_batch_dims"),
          .right_batch = dims_of(instruction, "rhs_batch_dims")};
}

GatherDetail gather_of(const hlo::Instruction& instruction) {
  return {.window_dims = dims_of(instruction, "offset_dims"),
          .collapsed = dims_of(instruction, "collapsed_slice_dims"),
          .index_map = dims_of(instruction, "start_index_map"),
          .operand_batch = dims_of(instruction, "operand_batching_dims"),
          .indices_batch = dims_of(instruction, "start_indices_batching_dims"),
          .index_vector =
              static_cast<std::size_t>(number_of(need(instruction, "index_vector_dim").value)),
          .sizes = numbers_of(instruction, "slice_sizes")};
}

GatherDetail scatter_of(const hlo::Instruction& instruction) {
  return {.window_dims = dims_of(instruction, "update_window_dims"),
          .collapsed = dims_of(instruction, "inserted_window_dims"),
          .index_map = dims_of(instruction, "scatter_dims_to_operand_dims"),
          .operand_batch = dims_of(instruction, "input_batching_dims"),
          .indices_batch = dims_of(instruction, "scatter_indices_batching_dims"),
          .index_vector =
              static_cast<std::size_t>(number_of(need(instruction, "index_vector_dim").value)),
          .sizes = {}};
}

FftDetail fft_of(const hlo::Instruction& instruction) {
  static const std::map<std::string_view, FftDetail::Kind> kinds = {
      {"FFT", FftDetail::Kind::forward},
      {"IFFT", FftDetail::Kind::inverse},
      {"RFFT", FftDetail::Kind::real_forward},
      {"IRFFT", FftDetail::Kind::real_inverse}};
  const hlo::Attribute& type = need(instruction, "fft_type");
  const auto found = kinds.find(text_of(type.value));
  if (found == kinds.end()) refuse_at(type.value, Code::syntax, "FFT, IFFT, RFFT or IRFFT");
  return {.kind = found->second, .lengths = numbers_of(instruction, "fft_length")};
}

TriangularDetail triangular_of(const hlo::Instruction& instruction) {
  TriangularDetail out{.is_left = is_true(instruction, "left_side"),
                       .is_lower = is_true(instruction, "lower"),
                       .has_unit_diagonal = is_true(instruction, "unit_diagonal")};
  if (const hlo::Attribute* transposed = instruction.find("transpose_a")) {
    const std::string_view text = text_of(transposed->value);
    out.is_transposed = text == "TRANSPOSE" || text == "ADJOINT";
  }
  return out;
}

/// Makes a Module.
class HloBuilder {
 public:
  HloBuilder(const text::Input& input, const hlo::Module& module)
      : lines_(input.text), sources_(module), module_(module) {}

  Module module() {
    const hlo::Computation& entry = hlo::entry_of(module_);
    out_.name = module_.has_header ? module_.name.value : std::string(bare(entry.name.value));
    out_.replicas = hlo::header_number(module_, "replica_count").value_or(1);
    out_.partitions = hlo::header_number(module_, "num_partitions").value_or(1);
    const auto devices = checked_mul(out_.replicas, out_.partitions);
    if (!devices || *devices > most_devices) {
      refuse_at(module_.name.place, Code::limit_reached,
                fmt::format("more than {} devices", most_devices));
    }
    out_.is_partitioned = entry.name.value.find("_spmd") != std::string::npos;
    out_.entry = computation(entry);
    set_ends(entry);
    return std::move(out_);
  }

 private:
  // Computations.

  ComputationId computation(const hlo::Computation& from) {
    const auto known = made_.find(&from);
    if (known != made_.end()) {
      if (known->second) return *known->second;
      refuse_at(from.name.place, Code::bad_program, "a computation that calls itself");
    }
    if (from.instructions.empty()) {
      refuse_at(from.name.place, Code::syntax, "a computation without an instruction");
    }
    made_.emplace(&from, std::nullopt);
    if (++depth_ > deepest_calls) {
      refuse_at(from.name.place, Code::unsupported,
                fmt::format("computations in each other deeper than {}", deepest_calls));
    }
    Frame frame;
    frame.out.name = std::string(bare(from.name.value));
    std::swap(frame, frame_);
    add_parameters(from);
    const Known result = add_all(from);
    frame_.out.results = result.parts;
    std::swap(frame, frame_);
    out_.computations.push_back(std::move(frame.out));
    made_[&from] = out_.computations.size() - 1;
    --depth_;
    return out_.computations.size() - 1;
  }
  /// Its parameters, in the order of their numbers.
  void add_parameters(const hlo::Computation& from) {
    std::map<Size, const hlo::Instruction*> numbered;
    for (const hlo::Instruction& one : from.instructions) {
      if (one.opcode.value != "parameter") continue;
      if (!numbered.emplace(number_of(one.inside), &one).second) {
        refuse_at(one.inside, Code::syntax, "a second parameter of this number");
      }
    }
    for (const auto& [number, one] : numbered) {
      if (number != static_cast<Size>(frame_.arguments.size())) {
        refuse_at(from.name.place, Code::syntax,
                  fmt::format("parameter {} is missing", frame_.arguments.size()));
      }
      Known value{.parts = new_values(*one), .type = &one->type};
      for (const ValueId part : value.parts) frame_.out.parameters.push_back(part);
      frame_.arguments.push_back(std::move(value));
    }
  }
  /// All instructions, with `arguments` as the parameters.
  Known add_all(const hlo::Computation& from) {
    for (const hlo::Instruction& one : from.instructions) add(one);
    return known_name(from, hlo::root_of(from).name.value);
  }
  [[nodiscard]] Known known_name(const hlo::Computation& from, std::string_view name) const {
    const auto found = frame_.names.find(std::string(bare(name)));
    if (found == frame_.names.end()) {
      refuse_at(from.name.place, Code::syntax, "the computation has no result");
    }
    return found->second;
  }
  /// What is called stands in the call's place.
  Known inlined(const hlo::Instruction& instruction, std::string_view attribute,
                std::vector<Known> arguments) {
    const Place& name = need(instruction, attribute).value;
    const hlo::Computation& from = hlo::computation_of(module_, name);
    if (++count_ > most_instructions) {  // calls of nothing but calls
      refuse_at(name, Code::limit_reached,
                fmt::format("more than {} instructions", most_instructions));
    }
    if (++depth_ > deepest_calls) {
      refuse_at(name, Code::unsupported,
                fmt::format("calls in each other deeper than {}", deepest_calls));
    }
    std::unordered_map<std::string, Known> names;
    std::unordered_map<std::string, Known> started;
    std::swap(names, frame_.names);
    std::swap(started, frame_.started);
    std::swap(arguments, frame_.arguments);
    Known out = add_all(from);
    std::swap(names, frame_.names);
    std::swap(started, frame_.started);
    std::swap(arguments, frame_.arguments);
    --depth_;
    return out;
  }

  // Values.

  [[nodiscard]] TextPlace place_of(const Place& place) const {
    const foreign::FilePlace at = lines_.at(place);
    return {.line = at.line, .column = at.column};
  }
  ValueId new_value(std::string name, const foreign::TileType& type) {
    frame_.out.values.push_back(
        {.name = std::move(name),
         .type = {.kind = operations::element_kind(type.element), .extents = type.extents}});
    return frame_.out.values.size() - 1;
  }
  std::vector<ValueId> new_values(const hlo::Instruction& instruction) {
    std::vector<ValueId> out;
    for (std::size_t k = 0; k < instruction.type.parts.size(); ++k) {
      std::string name = instruction.name.value;
      if (instruction.type.is_tuple) name += fmt::format("#{}", k);
      out.push_back(new_value(std::move(name), instruction.type.parts[k]));
    }
    return out;
  }
  [[nodiscard]] static Known part_of(const Known& tuple, Size index, const Place& place) {
    if (!tuple.type->is_tuple || index >= static_cast<Size>(tuple.type->elements.size())) {
      refuse_at(place, Code::syntax, "the tuple has no such part");
    }
    std::size_t begin = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(index); ++k) {
      begin += tuple.type->elements[k].parts.size();
    }
    const hlo::WrittenType& type = tuple.type->elements[static_cast<std::size_t>(index)];
    if (begin + type.parts.size() > tuple.parts.size()) {
      refuse_at(place, Code::syntax, "the tuple has no such part");
    }
    const auto first = tuple.parts.begin() + static_cast<std::ptrdiff_t>(begin);
    return {.parts = {first, first + static_cast<std::ptrdiff_t>(type.parts.size())},
            .type = &type};
  }
  [[nodiscard]] Known known(const hlo::Operand& operand) const {
    const auto found = frame_.names.find(operand.value);
    if (found == frame_.names.end()) {
      refuse_at(operand.place, Code::syntax,
                fmt::format("nothing is called {} above", shown_name(operand.value)));
    }
    if (!operand.part) return found->second;
    return part_of(found->second, *operand.part, operand.place);
  }
  [[nodiscard]] std::vector<Known> known_operands(const hlo::Instruction& instruction) const {
    std::vector<Known> out;
    for (const hlo::Operand& operand : instruction.operands) out.push_back(known(operand));
    return out;
  }
  /// All values of all operands.
  [[nodiscard]] std::vector<ValueId> operands(const hlo::Instruction& instruction) const {
    std::vector<ValueId> out;
    for (const Known& value : known_operands(instruction)) {
      out.insert(out.end(), value.parts.begin(), value.parts.end());
    }
    return out;
  }
  void define(const hlo::Instruction& instruction, Known value) {
    if (value.parts.size() != instruction.type.parts.size()) {
      refuse_at(instruction.type.place, Code::bad_program, "what it makes has another type");
    }
    for (std::size_t k = 0; k < value.parts.size(); ++k) {
      const foreign::TileType& written = instruction.type.parts[k];
      const ArrayType type{operations::element_kind(written.element), written.extents};
      if (frame_.out.values[value.parts[k]].type == type) continue;
      refuse_at(instruction.type.place, Code::bad_program, "what it makes has another type");
    }
    value.type = &instruction.type;
    name(instruction, std::move(value));
  }
  void name(const hlo::Instruction& instruction, Known value) {
    std::string bare_name(bare(instruction.name.value));
    if (!frame_.names.emplace(std::move(bare_name), std::move(value)).second) {
      refuse_at(instruction.name.place, Code::syntax,
                fmt::format("{} is defined twice", shown_name(instruction.name.value)));
    }
  }

  // Instructions.

  void emit(const hlo::Instruction& instruction, Id id, Detail detail,
            std::vector<ComputationId> calls = {}) {
    Known value{.parts = new_values(instruction), .type = &instruction.type};
    emit_as(instruction, id, std::move(detail), operands(instruction), value.parts,
            std::move(calls));
    name(instruction, std::move(value));
  }
  void emit_as(const hlo::Instruction& instruction, Id id, Detail detail,
               std::vector<ValueId> operands, std::vector<ValueId> results,
               std::vector<ComputationId> calls = {}) {
    if (++count_ > most_instructions) {
      refuse_at(instruction.opcode.place, Code::limit_reached,
                fmt::format("more than {} instructions", most_instructions));
    }
    frame_.out.body.push_back({.id = id,
                               .opcode = instruction.opcode.value,
                               .detail = std::move(detail),
                               .operands = std::move(operands),
                               .results = std::move(results),
                               .calls = std::move(calls),
                               .place = place_of(instruction.opcode.place),
                               .source = sources_.of(instruction)});
    if (const auto fault = type_fault(out_, frame_.out, frame_.out.body.back())) {
      refuse_at(instruction.opcode.place, Code::bad_program,
                fmt::format("{}: {}", instruction.opcode.value, *fault));
    }
  }
  void add(const hlo::Instruction& instruction) {
    const std::string_view opcode = instruction.opcode.value;
    note_sharding(instruction);
    if (add_plumbing(instruction)) return;
    const std::string_view started = without(opcode, "-start");
    const std::string_view done = without(opcode, "-done");
    if (!done.empty() && operations::find_hlo(opcode) == nullptr) return add_done(instruction);
    if (!started.empty() && operations::find_hlo(opcode) == nullptr) {
      return add_start(instruction, started);
    }
    const Row* row = operations::find_hlo(opcode);
    if (row == nullptr) {
      refuse_at(instruction.opcode.place, Code::unsupported,
                fmt::format("{} is not read", shown_name(opcode)),
                {"what is read: docs/reference/operations.md"});
    }
    check_attributes(instruction, *row);
    emit(instruction, row->id, detail_of(instruction, row->id), calls_of(instruction, row->id));
  }
  void note_sharding(const hlo::Instruction& instruction) {
    const hlo::Attribute* sharding = instruction.find("sharding");
    if (sharding == nullptr || instruction.type.is_tuple) return;
    const foreign::TileType& type = instruction.type.parts.front();
    std::string text(text_of(sharding->value));
    if (!declared_.emplace(text, type.element, type.extents).second) return;
    out_.declared.push_back({.sharding = std::move(text),
                             .type = {operations::element_kind(type.element), type.extents}});
  }
  static void check_attributes(const hlo::Instruction& instruction, const Row& row) {
    const auto none = operations::hlo_attributes_without_meaning();
    for (const hlo::Attribute& attribute : instruction.attributes) {
      if (std::find(none.begin(), none.end(), attribute.name) != none.end()) continue;
      if (has_hlo_attribute(row, attribute.name)) continue;
      refuse_at(attribute.name_place, Code::unsupported,
                fmt::format("{} with {} is not read", shown_name(instruction.opcode.value),
                            shown_name(attribute.name)));
    }
  }
  /// What only names values anew; whether it was such.
  bool add_plumbing(const hlo::Instruction& instruction) {
    const std::string_view opcode = instruction.opcode.value;
    if (opcode == "parameter") {
      const auto number = static_cast<std::size_t>(number_of(instruction.inside));
      if (number >= frame_.arguments.size()) {
        refuse_at(instruction.inside, Code::syntax,
                  fmt::format("parameter {}, but the call has {}", number,
                              counted(frame_.arguments.size(), "operand")));
      }
      define(instruction, frame_.arguments[number]);
      return true;
    }
    if (opcode == "tuple") {
      define(instruction, {.parts = operands(instruction), .type = &instruction.type});
      return true;
    }
    if (opcode == "get-tuple-element") {
      const Place& index = need(instruction, "index").value;
      define(instruction, part_of(only(instruction), number_of(index), index));
      return true;
    }
    if (opcode == "copy" || opcode == "opt-barrier" || opcode == "add-dependency") {
      if (instruction.operands.empty()) {
        refuse_at(instruction.opcode.place, Code::syntax, "it has an operand");
      }
      note_copy(instruction);
      define(instruction, known(instruction.operands.front()));
      return true;
    }
    if (opcode == "bitcast") return add_reordering_bitcast(instruction);
    if (opcode == "call" || opcode == "fusion") {
      define(instruction, inlined(instruction, opcode == "call" ? "to_apply" : "calls",
                                  known_operands(instruction)));
      return true;
    }
    if (opcode == "custom-call") return add_custom_plumbing(instruction);
    return false;
  }
  void note_copy(const hlo::Instruction& instruction) {
    const Known copied = known(instruction.operands.front());
    if (copied.parts.size() != 1) return;
    frame_.out.copies.push_back({.value = copied.parts.front(),
                                 .name = instruction.name.value,
                                 .opcode = instruction.opcode.value,
                                 .place = place_of(instruction.opcode.place),
                                 .source = sources_.of(instruction)});
  }
  [[nodiscard]] Known only(const hlo::Instruction& instruction) const {
    if (instruction.operands.size() != 1) {
      refuse_at(instruction.opcode.place, Code::syntax,
                fmt::format("{} has one operand", instruction.opcode.value));
    }
    return known(instruction.operands.front());
  }

  /// A bitcast between layouts of which one is not row by row keeps what lies in memory: it is a
  /// transpose to what lies there, a bitcast of that, and a transpose to what is read of it. One to
  /// another type reads the same bits anew.
  bool add_reordering_bitcast(const hlo::Instruction& instruction) {
    const Known operand = only(instruction);
    if (operand.parts.size() != 1 || instruction.type.is_tuple) return false;
    const foreign::TileType& written = instruction.type.parts.front();
    const ElementKind kind = operations::element_kind(written.element);
    const bool is_same_kind = frame_.out.values[operand.parts.front()].type.kind == kind;
    const bool is_reordered = operand.type->is_reordered || instruction.type.is_reordered;
    if (!is_reordered && is_same_kind) return false;
    if (operand.type->is_tiled || instruction.type.is_tiled) {
      refuse_at(instruction.type.place, Code::unsupported,
                "a bitcast between layouts with tiles of memory");
    }
    check_attributes(instruction, *operations::find_hlo("bitcast"));
    const std::vector<std::size_t>& from = operand.type->order;
    const std::vector<std::size_t>& to = instruction.type.order;
    ValueId value = operand.parts.front();
    if (!from.empty()) value = transposed(instruction, value, from);
    if (!is_same_kind) {
      const ValueId converted =
          new_memory(instruction, {kind, frame_.out.values[value].type.extents});
      emit_as(instruction, Id::bitcast_convert, NoDetail{}, {value}, {converted});
      value = converted;
    }
    Shape in_memory = written.extents;
    for (std::size_t k = 0; k < to.size(); ++k) in_memory[k] = written.extents[to[k]];
    const ValueId cells = new_memory(instruction, {kind, in_memory});
    emit_as(instruction, Id::bitcast, NoDetail{}, {value}, {cells});
    std::vector<std::size_t> back(to.size());
    for (std::size_t k = 0; k < to.size(); ++k) back[to[k]] = k;
    const ValueId result = to.empty() ? cells : transposed(instruction, cells, back);
    frame_.out.values[result].name = instruction.name.value;
    name(instruction, {.parts = {result}, .type = &instruction.type});
    return true;
  }
  ValueId new_memory(const hlo::Instruction& instruction, ArrayType type) {
    frame_.out.values.push_back(
        {.name = instruction.name.value + "#memory", .type = std::move(type)});
    return frame_.out.values.size() - 1;
  }
  ValueId transposed(const hlo::Instruction& instruction, ValueId value,
                     const std::vector<std::size_t>& dims) {
    ArrayType type = frame_.out.values[value].type;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      type.extents[k] = frame_.out.values[value].type.extents[dims[k]];
    }
    const ValueId out = new_memory(instruction, std::move(type));
    emit_as(instruction, Id::transpose, Dims{dims}, {value}, {out});
    return out;
  }

  // Operations in two halves.

  void add_start(const hlo::Instruction& instruction, std::string_view opcode) {
    Known result;
    if (opcode == "async") {
      result = inlined(instruction, "calls", known_operands(instruction));
    } else if (opcode == "copy") {
      result = only(instruction);
    } else {
      const Row* row = operations::find_hlo(opcode);
      if (row == nullptr) {
        refuse_at(instruction.opcode.place, Code::unsupported,
                  fmt::format("{} is not read", shown_name(instruction.opcode.value)));
      }
      check_attributes(instruction, *row);
      result = started(instruction, *row);
    }
    frame_.started.emplace(std::string(bare(instruction.name.value)), result);
    name(instruction, {.parts = {}, .type = &instruction.type});
  }
  /// The operation itself, whose results are the second part of the type, or all of it.
  Known started(const hlo::Instruction& instruction, const Row& row) {
    const hlo::WrittenType* type = &instruction.type;
    const bool has_operands = row.id == Id::all_gather || row.id == Id::collective_permute;
    if (has_operands && type->is_tuple && type->elements.size() >= 2) type = &type->elements[1];
    Known out{.parts = {}, .type = type};
    for (std::size_t k = 0; k < type->parts.size(); ++k) {
      out.parts.push_back(
          new_value(fmt::format("{}#{}", instruction.name.value, k), type->parts[k]));
    }
    emit_as(instruction, row.id, detail_of(instruction, row.id), operands(instruction), out.parts,
            calls_of(instruction, row.id));
    return out;
  }
  void add_done(const hlo::Instruction& instruction) {
    if (instruction.operands.size() != 1) {
      refuse_at(instruction.opcode.place, Code::syntax, "it ends what one operand has begun");
    }
    const auto found = frame_.started.find(instruction.operands.front().value);
    if (found == frame_.started.end()) {
      refuse_at(instruction.operands.front().place, Code::syntax, "nothing of this name has begun");
    }
    define(instruction, found->second);
  }

  // Custom calls that say where arrays lie.

  bool add_custom_plumbing(const hlo::Instruction& instruction) {
    const Place& target = need(instruction, "custom_call_target").value;
    const std::string_view text = text_of(target);
    if (text == "\"Sharding\"" || text == "\"xla.sdy.FuncResultSharding\"") {
      define(instruction, only(instruction));
      if (const hlo::Attribute* sharding = instruction.find("sharding")) {
        shardings_[std::string(bare(instruction.name.value))] = sharding->value;
      }
      return true;
    }
    if (text == "\"TopK\"") return add_top_k(instruction);
    const bool to_tiles = text == "\"SPMDFullToShardShape\"";
    if (!to_tiles && text != "\"SPMDShardToFullShape\"") return false;
    const Known value = only(instruction);
    if (value.parts.size() != 1 || instruction.type.is_tuple) {
      refuse_at(instruction.opcode.place, Code::unsupported, "a tuple between regions");
    }
    const foreign::TileType& type = instruction.type.parts.front();
    const ArrayType& before = frame_.out.values[value.parts.front()].type;
    const Place sharding =
        to_tiles ? sharding_of(instruction.operands.front()) : need(instruction, "sharding").value;
    const Place inner =
        to_tiles ? need(instruction, "sharding").value : sharding_of(instruction.operands.front());
    Detail detail = manual_detail(sharding, inner, to_tiles ? before.extents : type.extents,
                                  to_tiles ? type.extents : before.extents);
    emit(instruction, to_tiles ? Id::slice : Id::pad, std::move(detail));
    return true;
  }
  /// The operation topk as a call, if its comparison says which end it takes.
  bool add_top_k(const hlo::Instruction& instruction) {
    bool takes_largest = true;
    if (const hlo::Attribute* called = instruction.find("called_computations")) {
      const std::string_view list = text_of(called->value);
      if (list.size() < 2 || list.front() != '{') return false;
      const Place name{called->value.input,
                       {called->value.span.begin + 1, called->value.span.end - 1}};
      const hlo::Computation& compared = hlo::computation_of(module_, name);
      if (compared.instructions.empty()) return false;
      const hlo::Instruction& root = hlo::root_of(compared);
      if (root.opcode.value != "compare") return false;
      const operations::Comparison comparison = hlo::comparison_of(root).comparison;
      takes_largest =
          comparison == operations::Comparison::gt || comparison == operations::Comparison::ge;
      const bool takes_least =
          comparison == operations::Comparison::lt || comparison == operations::Comparison::le;
      if (!takes_largest && !takes_least) return false;
    }
    emit(instruction, Id::top_k, Dims{{takes_largest ? std::size_t{1} : std::size_t{0}}});
    return true;
  }
  /// The sharding that an operand was given.
  [[nodiscard]] Place sharding_of(const hlo::Operand& operand) const {
    const auto found = shardings_.find(operand.value);
    if (found != shardings_.end()) return found->second;
    for (const hlo::Computation& computation : module_.computations) {
      for (const hlo::Instruction& one : computation.instructions) {
        if (bare(one.name.value) != operand.value) continue;
        if (const hlo::Attribute* sharding = one.find("sharding")) return sharding->value;
      }
    }
    refuse_at(operand.place, Code::unsupported, "nothing says how this operand is cut");
  }
  /// Where each device's tile of a manual region lies.
  /// \param inner  which axes are manual
  [[nodiscard]] ManualDetail manual_detail(const Place& sharding, const Place& inner,
                                           const Shape& global, const Shape& tile) const {
    const auto read = parsed_sharding(sharding, std::string(text_of(sharding)), global);
    if (read.addends()) {
      refuse_at(sharding, Code::unsupported, "a sum of several devices at a region's end");
    }
    ManualDetail out;
    for (const Box& box : read.boxes()) out.starts.push_back(box.at);
    if (read.tile() == tile || tile.empty()) return out;
    // Along other axes the region has the whole array. Those stand behind the manual ones wherever
    // both cut a dimension; what follows sees to it.
    if (!are_whole_tiles(read.tile(), tile, global)) {
      refuse_at(inner, Code::unsupported, "a region whose tiles are no boxes of its arrays");
    }
    for (Shape& start : out.starts) {
      for (std::size_t i = 0; i < start.size(); ++i) start[i] -= start[i] % tile[i];
    }
    std::map<Size, Shape> start_at;
    const std::vector<Size> places = manual_places(inner);
    for (std::size_t d = 0; d < out.starts.size(); ++d) {
      const bool is_placed = d < places.size();
      if (is_placed && start_at.emplace(places[d], out.starts[d]).first->second == out.starts[d]) {
        continue;
      }
      refuse_at(inner, Code::unsupported, "a region whose axes cut behind others");
    }
    return out;
  }
  [[nodiscard]] static bool are_whole_tiles(const Shape& small, const Shape& tile,
                                            const Shape& global) {
    if (tile.size() != global.size()) return false;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      if (tile[i] < 1 || global[i] % tile[i] != 0 || small[i] > tile[i]) return false;
    }
    return true;
  }
  [[nodiscard]] Layout parsed_sharding(const Place& place, const std::string& text,
                                       const Shape& shape) const {
    ShardingContext context;
    context.shape = shape;
    context.devices = out_.devices();
    auto read = parse_sharding(text, context);
    if (!read) text::fail_with(place, read.error());
    return std::move(read->layout);
  }
  /// Of every device its place along the manual axes of a sharding such as
  /// `{mesh['x'=2,'y'=2], [{}, {'y'}], manual={'x'}}` or
  /// `{devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}`.
  [[nodiscard]] std::vector<Size> manual_places(const Place& inner) const {
    const std::string text(text_of(inner));
    const auto [sharding, shape] = text.find(", manual={") != std::string::npos
                                       ? cut_by_manual_axes(text)
                                       : cut_by_manual_tiles(inner, text);
    std::vector<Size> out;
    for (const Box& box : parsed_sharding(inner, sharding, shape).boxes()) {
      out.push_back(box.at.back());
    }
    return out;
  }
  /// The sharding of a vector whose place is that along the manual axes, and its extent.
  [[nodiscard]] std::pair<std::string, Shape> cut_by_manual_axes(const std::string& text) const {
    constexpr std::string_view key = ", manual=";
    const std::size_t at = text.find(key);
    const std::size_t list = at + key.size();
    const std::string axes = text.substr(list, text.find('}', list) + 1 - list);
    const std::size_t dims = std::min({text.find(", [{"), text.find(", []"), at});
    return {fmt::format("{}, [{}]}}", text.substr(0, dims), axes), {out_.devices()}};
  }
  /// The same of a list, in which the manual axes are another dimension, the last.
  [[nodiscard]] static std::pair<std::string, Shape> cut_by_manual_tiles(const Place& inner,
                                                                         const std::string& text) {
    const std::size_t end = std::min(text.find(" last_tile_dims="), text.size());
    const bool is_alone = text.substr(end) == " last_tile_dims={manual}}";
    const std::size_t open = text.find("devices=[");
    if (open == std::string::npos ||
        (!is_alone && text.substr(end) != " last_tile_dims={manual, replicated}}")) {
      refuse_at(inner, Code::unsupported, "it does not say which axes are manual");
    }
    const std::size_t first = inner.span.begin + open + std::string_view("devices=[").size();
    Scanner numbers = hlo::scanner_of({inner.input, {first, inner.span.end}});
    Shape shape;
    do {
      shape.push_back(numbers.number().value);
    } while (numbers.accept(","));
    if (!is_alone && shape.size() > 1) shape.pop_back();
    return {text.substr(0, end) + (is_alone ? "}" : " last_tile_dim_replicate}"), shape};
  }

  // Details.

  [[nodiscard]] std::vector<ComputationId> calls_of(const hlo::Instruction& instruction, Id id) {
    const auto applied = [&](std::string_view name) {
      return computation(hlo::computation_of(module_, need(instruction, name).value));
    };
    switch (id) {
      case Id::reduce:
      case Id::reduce_window:
      case Id::scatter:
      case Id::sort:
      case Id::map:
      case Id::all_reduce:
      case Id::reduce_scatter:
        return {applied("to_apply")};
      case Id::select_and_scatter:
        return {applied("select"), applied("scatter")};
      case Id::while_loop:
        return {applied("condition"), applied("body")};
      case Id::conditional:
        return branches(instruction);
      default:
        return {};
    }
  }
  [[nodiscard]] std::vector<ComputationId> branches(const hlo::Instruction& instruction) {
    std::vector<ComputationId> out;
    if (const hlo::Attribute* all = instruction.find("branch_computations")) {
      std::size_t begin = all->value.span.begin;
      const std::string_view text = text_of(all->value);
      for (std::size_t k = 0; k < text.size();) {
        const std::size_t first = text.find_first_not_of("{}, \n", k);
        if (first == std::string_view::npos) break;
        k = std::min(text.find_first_of("{}, \n", first), text.size());
        const Place one{.input = all->value.input, .span = {begin + first, begin + k}};
        out.push_back(computation(hlo::computation_of(module_, one)));
      }
    } else {
      for (const char* name : {"true_computation", "false_computation"}) {
        out.push_back(computation(hlo::computation_of(module_, need(instruction, name).value)));
      }
    }
    return out;
  }
  [[nodiscard]] Detail detail_of(const hlo::Instruction& instruction, Id id) {
    switch (id) {
      case Id::constant:
        return literal_of(instruction);
      case Id::partition_id:
      case Id::replica_id:
        return numbers_of_devices(out_, id);
      case Id::iota:
        return Dims{
            {static_cast<std::size_t>(number_of(need(instruction, "iota_dimension").value))}};
      case Id::transpose:
      case Id::broadcast:
      case Id::reverse:
      case Id::concatenate:
      case Id::reduce:
      case Id::sort:
      case Id::map:
        return Dims{dims_of(instruction)};
      case Id::slice: {
        const foreign::Slice slice = hlo::slice_of(instruction);
        return SliceDetail{slice.start, slice.limit, slice.stride};
      }
      case Id::pad: {
        const foreign::Pad pad = hlo::pad_of(instruction);
        return PadDetail{pad.low, pad.high, pad.interior};
      }
      case Id::compare: {
        const foreign::Compare compare = hlo::comparison_of(instruction);
        return CompareDetail{compare.comparison, compare.order};
      }
      case Id::dot:
        return dot_of(instruction);
      case Id::convolution:
        return convolution_of(instruction);
      case Id::reduce_window:
      case Id::select_and_scatter:
        return WindowDetail{window_of(instruction, instruction.type.parts.front().extents.size())};
      case Id::gather:
        return gather_of(instruction);
      case Id::scatter:
        return scatter_of(instruction);
      case Id::fft:
        return fft_of(instruction);
      case Id::reduce_precision:
        return RoundDetail{number_of(need(instruction, "exponent_bits").value),
                           number_of(need(instruction, "mantissa_bits").value)};
      case Id::triangular_solve:
        return triangular_of(instruction);
      case Id::cholesky:
        return UnknownDetail{unknown_cholesky(is_true(instruction, "lower"))};
      case Id::top_k:
        if (const auto k = number_or(instruction, "k", -1); k >= 0) {
          const Shape& kept = instruction.type.parts.front().extents;
          if (kept.empty() || kept.back() != k) {
            refuse_at(need(instruction, "k").value, Code::bad_program, "its result has others");
          }
        }
        return Dims{{is_true(instruction, "largest") ? std::size_t{1} : std::size_t{0}}};
      case Id::all_gather:
      case Id::reduce_scatter:
      case Id::all_to_all:
      case Id::all_reduce:
        return groups_of(instruction);
      case Id::collective_broadcast:
        if (is_true(instruction, "has_dynamic_root")) {
          refuse_at(need(instruction, "has_dynamic_root").name_place, Code::unsupported,
                    "a member that an operand names is not read");
        }
        return groups_of(instruction);
      case Id::collective_permute:
        return PairsDetail{hlo::device_pairs(instruction, ranks())};
      case Id::custom_call:
      case Id::rng:
      case Id::rng_bit_generator:
        return UnknownDetail{unknown_text(instruction, operations::row_of(id))};
      default:
        return NoDetail{};
    }
  }
  [[nodiscard]] hlo::DeviceRanks ranks() const { return {out_.replicas, out_.partitions}; }
  [[nodiscard]] Detail groups_of(const hlo::Instruction& instruction) const {
    GroupsDetail out{.groups = hlo::device_groups(instruction, ranks())};
    const std::vector<std::size_t> dims = dims_of(instruction);
    out.has_dim = !dims.empty();
    if (out.has_dim) out.dim = dims.front();
    return out;
  }
  /// Of complex numbers two words each.
  [[nodiscard]] static Detail literal_of(const hlo::Instruction& instruction) {
    const foreign::TileType& type = instruction.type.parts.front();
    const ElementKind kind = operations::element_kind(type.element);
    if (kind.form != ElementKind::Form::complex) return Literal{hlo::words_of(instruction, type)};
    static_cast<void>(hlo::words_of(instruction, type));
    const ElementKind part{
        .form = ElementKind::Form::real, .bits = kind.bits / 2, .format = kind.format};
    Literal out;
    for (const Place& place : hlo::literals(instruction)) {
      std::string_view text = text_of(place);
      if (!text.empty() && text.front() == '(') text = text.substr(1, text.size() - 2);
      const std::size_t comma = text.find(',');
      for (const std::string_view word :
           {text.substr(0, comma),
            comma == std::string_view::npos ? std::string_view("0") : text.substr(comma + 1)}) {
        const std::size_t first = std::min(word.find_first_not_of(' '), word.size());
        const auto number = hlo::literal(word.substr(first), part);
        if (!number) refuse_at(place, Code::bad_number, "no complex number");
        out.words.push_back(*number);
      }
    }
    return out;
  }
  /// What an operation says of itself, names of values and computations aside: all attributes that
  /// decide what it makes.
  [[nodiscard]] std::string unknown_text(const hlo::Instruction& instruction, const Row& row) {
    std::map<std::string_view, std::string> said;
    for (const hlo::Attribute& one : instruction.attributes) {
      if (!operations::decides_in_hlo(row, one.name)) continue;
      const auto own = std::find_if(row.attributes.begin(), row.attributes.end(),
                                    [&](const auto& known) { return known.hlo == one.name; });
      const std::string_view text = text_of(one.value);
      if (own != row.attributes.end() && own->missing == text) continue;
      said[one.name] = with_computations_told(one.value);
    }
    std::string out = instruction.opcode.value;
    // As the reader of StableHLO says it: the name stands first.
    if (const auto target = said.extract("custom_call_target")) {
      out += fmt::format(" {}={}", target.key(), target.mapped());
    }
    for (const auto& [name, text] : said) out += fmt::format(" {}={}", name, text);
    return out;
  }
  /// An attribute's text, in which what a computation is stands for its name.
  [[nodiscard]] std::string with_computations_told(const Place& value) {
    const std::string_view text = text_of(value);
    if (text.find('"') != std::string_view::npos) return std::string(text);
    constexpr std::string_view between = "{}, \n";
    std::string out;
    for (std::size_t k = 0; k < text.size();) {
      const std::size_t end = std::min(text.find_first_of(between, k), text.size());
      const std::string_view word = text.substr(k, end - k);
      const auto named = std::find_if(
          module_.computations.begin(), module_.computations.end(),
          [&](const hlo::Computation& one) { return bare(one.name.value) == bare(word); });
      out += named == module_.computations.end() ? std::string(word) : told(*named);
      if (end < text.size()) out += text[end];
      k = end + 1;
    }
    return out;
  }
  /// A number of what a computation is, the same for those that differ in names only.
  [[nodiscard]] std::string told(const hlo::Computation& from) {
    const auto [known, is_new] = told_.emplace(&from, "itself");
    if (!is_new) return known->second;
    if (++depth_ > deepest_calls) {
      refuse_at(from.name.place, Code::unsupported,
                fmt::format("computations in each other deeper than {}", deepest_calls));
    }
    std::string text;
    std::map<std::string_view, std::size_t> numbers;
    for (const hlo::Instruction& one : from.instructions) {
      numbers.emplace(bare(one.name.value), numbers.size());
      text += one.is_root ? "\nROOT " : "\n";
      for (const foreign::TileType& part : one.type.parts) {
        text += fmt::format("{}[{}]", part.element, fmt::join(part.extents, ","));
      }
      const Row* row = operations::find_hlo(one.opcode.value);
      text += " " + (row == nullptr ? one.opcode.value : unknown_text(one, *row));
      if (one.operands.empty()) text += text_of(one.inside);
      for (const hlo::Operand& operand : one.operands) {
        text += fmt::format(" {}#{}", numbers[bare(operand.value)], operand.part.value_or(-1));
      }
      if (row != nullptr) continue;
      for (const hlo::Attribute& attribute : one.attributes) {
        text += fmt::format(" {}={}", attribute.name, with_computations_told(attribute.value));
      }
    }
    --depth_;
    return told_[&from] = fmt::format("#{:016x}", std::hash<std::string>()(text));
  }

  // The ends.

  void set_ends(const hlo::Computation& entry) {
    const Computation& main = out_.main();
    out_.starts.resize(main.parameters.size());
    out_.ends.resize(main.results.size());
    std::map<Size, const hlo::Instruction*> numbered;
    for (const hlo::Instruction& one : entry.instructions) {
      if (one.opcode.value == "parameter") numbered.emplace(number_of(one.inside), &one);
    }
    std::size_t begin = 0;
    for (const auto& [number, one] : numbered) {
      const std::size_t count = one->type.parts.size();
      if (const hlo::Attribute* sharding = one->find("sharding")) {
        fill(out_.starts, begin, count, sharding->value);
      }
      begin += count;
    }
    if (const hlo::Attribute* all = module_.find("spmd_parameters_shardings")) {
      fill(out_.starts, 0, out_.starts.size(), all->value);
    }
    const hlo::Instruction& root = hlo::root_of(entry);
    if (const hlo::Attribute* sharding = root.find("sharding")) {
      fill(out_.ends, 0, out_.ends.size(), sharding->value);
    } else if (root.opcode.value == "tuple" && root.operands.size() == out_.ends.size()) {
      fill_from_operands(entry, root);
    }
    if (const hlo::Attribute* all = module_.find("spmd_output_sharding")) {
      fill(out_.ends, 0, out_.ends.size(), all->value);
    }
  }
  void fill_from_operands(const hlo::Computation& entry, const hlo::Instruction& root) {
    std::map<std::string_view, const hlo::Instruction*> by_name;
    for (const hlo::Instruction& one : entry.instructions) by_name[bare(one.name.value)] = &one;
    for (std::size_t k = 0; k < root.operands.size(); ++k) {
      const auto found = by_name.find(root.operands[k].value);
      if (found == by_name.end() || root.operands[k].part) continue;
      if (const hlo::Attribute* sharding = found->second->find("sharding")) {
        fill(out_.ends, k, 1, sharding->value);
      }
    }
  }
  void fill(std::vector<End>& ends, std::size_t begin, std::size_t count,
            const Place& value) const {
    std::vector<Place> parts = hlo::shardings_of(value);
    if (parts.empty()) parts.assign(count, value);
    for (std::size_t k = 0; k < count && k < parts.size(); ++k) {
      End& end = ends[begin + k];
      if (!end.sharding) {
        end = {.sharding = std::string(text_of(parts[k])), .place = place_of(parts[k])};
      }
    }
  }

  struct Frame {
    Computation out;
    std::unordered_map<std::string, Known> names;
    std::unordered_map<std::string, Known> started;  // by operations in two halves
    std::vector<Known> arguments;
  };

  hlo::Lines lines_;
  hlo::SourceLines sources_;
  const hlo::Module& module_;
  Module out_;
  Frame frame_;  // of the computation at hand
  std::map<const hlo::Computation*, std::optional<ComputationId>> made_;
  std::map<const hlo::Computation*, std::string> told_;  // what a computation is but for names
  std::map<std::string, Place, std::less<>> shardings_;  // of values that were given one
  std::set<std::tuple<std::string, std::string, Shape>> declared_;
  std::size_t depth_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

Result<Module> read_hlo(const text::Input& input) {
  return text::result_of([&] {
    const std::vector<hlo::Module> modules = hlo::parse_modules(input);
    if (modules.size() != 1) {
      text::fail({.input = &input, .span = {0, 0}},
                 {.code = Code::syntax, .message = "one module is expected"});
    }
    return HloBuilder(input, modules.front()).module();
  });
}

}  // namespace retile::whole
