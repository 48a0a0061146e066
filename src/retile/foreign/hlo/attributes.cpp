#include "retile/foreign/hlo/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/hlo/groups.h"
#include "retile/operations/element.h"
#include "retile/text/words.h"

namespace retile::foreign::hlo {
namespace {

/// What an operation with groups means by their numbers.
enum class GroupMode {
  replicas,          ///< numbers of replicas; within one partition
  replicas_and_all,  ///< numbers of replicas; all partitions of theirs
  partitions,        ///< numbers of partitions; within one replica
  devices,           ///< replica * partitions + partition
};

/// All of a word as a number.
template <typename T>
std::optional<T> whole(std::string_view word) {
  T out{};
  const char* end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, out);
  return read.ec == std::errc() && read.ptr == end ? std::optional(out) : std::nullopt;
}

/// `1.5`, `-inf`, `nan`, `-nan(0x1)`, and of old texts `true`.
std::optional<std::int64_t> real(std::string_view word, const ElementKind& kind) {
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

Order order_of(const Instruction& instruction) {
  static const std::map<std::string_view, Order> orders = {{"SIGNED", Order::as_signed},
                                                           {"UNSIGNED", Order::as_unsigned},
                                                           {"FLOAT", Order::floating},
                                                           {"TOTALORDER", Order::total}};
  const Attribute* type = instruction.find("type");
  if (const Attribute* order = instruction.find("order")) {
    const std::string_view word = text_of(order->value);
    if (word != "TOTAL" && word != "PARTIAL") {
      refuse_at(order->value, Code::syntax, "an order is TOTAL or PARTIAL");
    }
    if (type != nullptr) refuse_at(order->name_place, Code::syntax, "an order beside a type");
    return word == "TOTAL" ? Order::total : Order::of_type;
  }
  if (type == nullptr) return Order::of_type;
  const auto found = orders.find(text_of(type->value));
  if (found != orders.end()) return found->second;
  refuse_at(type->value, Code::syntax, "a comparison is SIGNED, UNSIGNED, FLOAT or TOTALORDER");
}

/// Whether a collective has a channel. As XLA reads it, a number that is not positive is none.
bool has_channel(const Instruction& instruction) {
  const Attribute* channel = instruction.find("channel_id");
  if (channel == nullptr) return false;
  Scanner scanner = scanner_of(channel->value);
  const Size number = signed_number(scanner);
  scanner.expect_end();
  return number > 0;
}
GroupMode mode_of(const Instruction& instruction) {
  const bool channel = has_channel(instruction);
  if (instruction.opcode.value == "all-to-all" ||
      instruction.opcode.value == "collective-broadcast") {
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

[[noreturn]] void refuse_number(const Attribute& attribute, GroupMode mode, Size number,
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

Groups of_devices(const Groups& rows, GroupMode mode, const DeviceRanks& ranks) {
  Groups out;
  const auto device = [&](Size replica, Size partition) {
    return replica * ranks.partitions + partition;
  };
  const Size repeats = mode == GroupMode::replicas     ? ranks.partitions
                       : mode == GroupMode::partitions ? ranks.replicas
                                                       : 1;
  for (const auto& row : rows) {
    for (Size repeat = 0; repeat < repeats; ++repeat) {
      auto& group = out.emplace_back();
      for (const Size number : row) {
        if (mode == GroupMode::devices) group.push_back(number);
        if (mode == GroupMode::replicas) group.push_back(device(number, repeat));
        if (mode == GroupMode::partitions) group.push_back(device(repeat, number));
        if (mode != GroupMode::replicas_and_all) continue;
        for (Size p = 0; p < ranks.partitions; ++p) group.push_back(device(number, p));
      }
    }
  }
  return out;
}

}  // namespace

[[noreturn]] void refuse_at(const Place& place, Code code, std::string message,
                            std::vector<std::string> notes) {
  text::fail(place, {.code = code, .message = std::move(message), .notes = std::move(notes)});
}

Lines::Lines(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    begins_.push_back(end + 1);
  }
}

FilePlace Lines::at(const Place& place) const {
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), place.span.begin);
  const auto line = static_cast<std::size_t>(next - begins_.begin());
  return {.line = line, .column = place.span.begin - begins_[line - 1] + 1};
}

std::optional<Size> header_number(const Module& module, std::string_view name) {
  const Attribute* attribute = module.find(name);
  if (attribute == nullptr) return std::nullopt;
  Scanner scanner = scanner_of(attribute->value);
  const Size out = scanner.size(name).value;
  scanner.expect_end();
  return out;
}

const Computation& computation_of(const Module& module, const Place& name) {
  for (const Computation& computation : module.computations) {
    if (bare(computation.name.value) != bare(text_of(name))) continue;
    if (!computation.instructions.empty()) return computation;
  }
  refuse_at(name, Code::syntax, "no computation has this name");
}

const Computation& entry_of(const Module& module) {
  const Computation* entry = nullptr;
  for (const Computation& computation : module.computations) {
    if (!computation.is_entry) continue;
    if (entry != nullptr) {
      refuse_at(computation.name.place, Code::syntax, "a second entry computation");
    }
    entry = &computation;
  }
  if (entry != nullptr) return *entry;
  if (module.computations.size() == 1) return module.computations.front();
  refuse_at(module.name.place, Code::syntax, "no computation is the entry",
            {"ENTRY stands before it"});
}

const Instruction& root_of(const Computation& computation) {
  for (const Instruction& instruction : computation.instructions) {
    if (instruction.is_root) return instruction;
  }
  return computation.instructions.back();
}

const Attribute& need(const Instruction& instruction, std::string_view name) {
  if (const Attribute* attribute = instruction.find(name)) return *attribute;
  refuse_at(instruction.opcode.place, Code::syntax,
            fmt::format("{} needs {}", instruction.opcode.value, name));
}

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

std::vector<Size> numbers_of(const Instruction& instruction, std::string_view name) {
  const Attribute* attribute = instruction.find(name);
  std::vector<Size> out;
  if (attribute == nullptr) return out;
  Scanner scanner = scanner_of(attribute->value);
  for (const Token<Size>& number : read_numbers(scanner)) out.push_back(number.value);
  scanner.expect_end();
  return out;
}

std::vector<std::size_t> dims_of(const Instruction& instruction, std::string_view name) {
  std::vector<std::size_t> out;
  for (const Size dim : numbers_of(instruction, name)) {
    out.push_back(static_cast<std::size_t>(dim));
  }
  return out;
}

Size signed_number(Scanner& scanner) {
  return scanner.accept("-") ? -scanner.number().value : scanner.number().value;
}

/// The word that a literal is; of types without words 0 or 1.
std::optional<std::int64_t> literal(std::string_view word, const ElementKind& kind) {
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

std::vector<Place> literals(const Instruction& instruction) {
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
    const std::size_t end = pair ? text.find(')', begin) : text.find_first_of(" \t\r\n,{}", begin);
    k = std::min(end, text.size() - (pair ? 1 : 0)) + (pair ? 1 : 0);
    out.push_back(
        {.input = instruction.inside.input,
         .span = {instruction.inside.span.begin + begin, instruction.inside.span.begin + k}});
  }
  return out;
}

std::vector<std::int64_t> words_of(const Instruction& instruction, const TileType& type) {
  const ElementKind kind = element_kind(type.element);
  std::vector<std::int64_t> out;
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
    out.push_back(*number);
  }
  const auto count = checked_product(type.extents);
  if (count != static_cast<Size>(out.size())) {
    refuse_at(instruction.inside, Code::syntax,
              fmt::format("a constant with {} where {}", counted(out.size(), "number"),
                          count ? fmt::format("there are {}", *count) : "there are too many"));
  }
  return out;
}

Slice slice_of(const Instruction& instruction) {
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

Pad pad_of(const Instruction& instruction) {
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

Compare comparison_of(const Instruction& instruction) {
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

std::vector<Place> shardings_of(const Place& value) {
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

Groups device_groups(const Instruction& instruction, const DeviceRanks& ranks) {
  const GroupMode mode = mode_of(instruction);
  const bool of_partitions = mode == GroupMode::partitions;
  const Size numbers = mode == GroupMode::devices ? ranks.devices()
                       : of_partitions            ? ranks.partitions
                                                  : ranks.replicas;
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
  return of_devices(rows, mode, ranks);
}

bool groups_take_all_partitions(const Instruction& instruction) {
  return mode_of(instruction) == GroupMode::replicas_and_all;
}

std::vector<std::pair<Size, Size>> device_pairs(const Instruction& instruction,
                                                const DeviceRanks& ranks) {
  const bool of_partitions = has_channel(instruction);
  const Size numbers = of_partitions ? ranks.partitions : ranks.replicas;
  const Size repeats = ranks.devices() / numbers;
  std::vector<std::pair<Size, Size>> out;
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
      const Size stride = of_partitions ? 1 : ranks.partitions;
      const Size first = of_partitions ? k * ranks.partitions : k;
      out.emplace_back(first + source * stride, first + target * stride);
    }
  }
  return out;
}

}  // namespace retile::foreign::hlo
