// What attributes of operations mean.
#include "retile/foreign/mlir/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "retile/core/names.h"
#include "retile/text/scanner.h"

namespace retile::foreign::mlir {
namespace {

using Kind = Attribute::Kind;

constexpr std::array<std::pair<std::string_view, Comparison>, 6> comparisons = {{
    {"EQ", Comparison::eq},
    {"NE", Comparison::ne},
    {"LT", Comparison::lt},
    {"LE", Comparison::le},
    {"GT", Comparison::gt},
    {"GE", Comparison::ge},
}};
constexpr std::array<std::pair<std::string_view, Order>, 5> orders = {{
    {"NOTYPE", Order::of_type},
    {"SIGNED", Order::as_signed},
    {"UNSIGNED", Order::as_unsigned},
    {"FLOAT", Order::floating},
    {"TOTALORDER", Order::total},
}};

/// What an attribute says by a word, which stands alone in the operation's own form.
template <typename Names>
auto word_of(const Op& op, std::string_view attribute, const Names& names)
    -> std::optional<decltype(names[0].second)> {
  const Attribute* generic = find(op, attribute);
  std::string_view last;
  if (generic != nullptr && generic->kind == Kind::dialect) last = last_word(*generic);
  for (const auto& [name, meaning] : names) {
    if (generic == nullptr ? find(op, name) != nullptr : name == last) return meaning;
  }
  return std::nullopt;
}

/// The handle of a channel: 0 where there is none.
Size channel(const Op& op) {
  const Attribute* handle = find(op, "channel_handle", "channel_id");
  if (handle == nullptr) return 0;
  if (handle->kind == Kind::number) return handle->number;
  const Place& body = body_of(*handle);
  text::Scanner scanner(*body.input, body.span);
  scanner.read_over_lines();
  scanner.expect("<");
  scanner.expect("handle");
  scanner.expect("=");
  return scanner.number().value;
}
/// Refuses groups of replicas in a program of partitions: who means them does not mean devices.
void check_numbers(const ModuleContext& context, const Op& op, bool has_global_ids) {
  const bool has_channel = channel(op) > 0;
  const Attribute* global_ids = find(op, "use_global_device_ids");
  if (global_ids != nullptr && global_ids->kind != Kind::unit) {
    refuse_at(global_ids->place, Code::syntax, "use_global_device_ids stands without a value");
  }
  const bool global = has_global_ids && global_ids != nullptr;
  if (global && !has_channel) {
    refuse_at(op.place, Code::syntax, "use_global_device_ids without a channel_handle");
  }
  if (!has_global_ids && has_channel && context.replicas.value_or(1) > 1) {
    refuse_at(op.place, Code::unsupported, "numbers of partitions in a program of several replicas",
              {"channel_handle makes them partitions"});
  }
  const bool several_partitions = context.partitions.value_or(1) > 1;
  if (!several_partitions || (has_channel && (!has_global_ids || global))) return;
  refuse_at(op.place, Code::unsupported, "numbers of replicas in a program of several partitions",
            {has_global_ids ? "channel_handle and use_global_device_ids make them devices"
                            : "channel_handle makes them partitions"});
}
/// Numbers of devices, which the verifier has in 64 bits.
const std::vector<std::int64_t>& device_list(const Attribute& list) {
  const std::vector<std::int64_t>& numbers = numbers_of(list);
  if (list.type().element != "i64") {
    refuse_at(list.place, Code::syntax, "numbers of devices are of the type i64");
  }
  return numbers;
}
bool meets(const Digit& digit, const std::vector<Digit>& others) {
  return std::any_of(others.begin(), others.end(), [&](const Digit& other) {
    return digit.size > 1 && other.size > 1 && digit.stride < other.stride * other.size &&
           other.stride < digit.stride * digit.size;
  });
}
Digit axis_ref(text::Scanner& scanner, const Mesh& mesh) {
  const std::size_t begin = scanner.next();
  if (scanner.accept("#")) scanner.expect("stablehlo.axis_ref");
  scanner.expect("<");
  scanner.expect("name");
  scanner.expect("=");
  AxisPart part{scanner.quoted("the name of an axis").value};
  if (scanner.accept(",")) {
    scanner.expect("sub_axis_info");
    scanner.expect("=");
    scanner.expect("(");
    part.major = scanner.size("what is cut off before a part of an axis").value;
    scanner.expect(")");
    part.size = scanner.size("the size of a part of an axis").value;
  }
  scanner.expect(">");
  const auto digit = digit_of(mesh, part);
  if (!digit) refuse_at(scanner.since(begin), Code::unknown_axis, "the mesh has no such axis");
  return *digit;
}
/// `<mesh = @m, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>`
Groups axis_groups(const ModuleContext& context, const Attribute& list) {
  const Place& body = body_of(list);
  text::Scanner scanner(*body.input, body.span);
  scanner.read_over_lines();
  scanner.expect("<");
  if (!scanner.accept("mesh_name")) scanner.expect("mesh");
  scanner.expect("=");
  scanner.expect("@");
  const auto name = scanner.name("the name of a mesh");
  const auto mesh = context.meshes.find(name.value);
  if (mesh == context.meshes.end()) {
    refuse_at(name.place, Code::bad_argument, "no mesh of this name is known");
  }
  if (mesh->second.mesh.device_count() > most_devices) {
    refuse_at(name.place, Code::limit_reached, fmt::format("more than {} devices", most_devices));
  }
  scanner.expect(",");
  scanner.expect("axes");
  scanner.expect("=");
  scanner.expect("[");
  std::vector<Digit> digits;
  if (!scanner.accept("]")) {
    do {
      digits.push_back(axis_ref(scanner, mesh->second.mesh));
    } while (scanner.accept(","));
    scanner.expect("]");
  }
  scanner.expect(">");
  for (std::size_t k = 0; k < digits.size(); ++k) {
    std::vector<Digit> rest = digits;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    if (meets(digits[k], rest)) refuse_at(list.place, Code::axis_used_twice, "axes that meet");
  }
  return groups_along(mesh->second, digits);
}

/// Without comments and ends of lines.
std::string one_line(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '"') quoted = !quoted;
    if (!quoted && text.substr(k, 2) == "//") k = std::min(text.find('\n', k), text.size());
    if (k < text.size()) out += text[k] == '\n' ? ' ' : text[k];
  }
  return out;
}
std::string mesh_text(const PlacedMesh& mesh) {
  std::string out = "mesh<[";
  for (const Axis& axis : mesh.mesh.axes()) {
    if (out.back() != '[') out += ", ";
    out += fmt::format("\"{}\"={}", axis.name, axis.size);
  }
  out += "]";
  for (Size p = 0; mesh.order && p < mesh.mesh.device_count(); ++p) {
    out += fmt::format("{}{}", p == 0 ? ", device_ids=[" : ", ", mesh.order->at(p));
  }
  return out + (mesh.order ? "]>" : ">");
}

}  // namespace

Groups groups_of(const ModuleContext& context, const Op& op, bool has_global_ids) {
  check_numbers(context, op, has_global_ids);
  const Attribute& list = need(op, "replica_groups");
  if (list.kind == Kind::dialect && list.text == "stablehlo.replica_group_mesh_axes") {
    return axis_groups(context, list);
  }
  const std::vector<std::int64_t>& numbers = device_list(list);
  const Shape& extents = list.type().extents;
  if (extents.size() != 2) refuse_at(list.place, Code::syntax, "groups are rows of numbers");
  const auto count = checked_product(extents);
  if (numbers.size() == 1 && count != 1) {
    refuse_at(list.place, Code::bad_device, "one number for all of the groups' devices");
  }
  if (!count || static_cast<Size>(numbers.size()) != *count) {
    refuse_at(list.place, Code::syntax, "not as many numbers as the type has");
  }
  Groups out;
  for (Size row = 0; row < extents[0]; ++row) {
    std::vector<Size>& group = out.emplace_back();
    for (Size k = 0; k < extents[1]; ++k) {
      group.push_back(numbers[static_cast<std::size_t>(row * extents[1] + k)]);
    }
  }
  return out;
}

std::vector<std::pair<Size, Size>> pairs_of(const ModuleContext& context, const Op& op) {
  check_numbers(context, op, false);
  const Attribute& list = need(op, "source_target_pairs");
  const std::vector<std::int64_t>& numbers = device_list(list);
  const Shape& extents = list.type().extents;
  std::vector<std::pair<Size, Size>> out;
  if (extents.size() == 2 && extents[0] == 0) return out;
  if (extents.size() != 2 || extents[1] != 2) {
    refuse_at(list.place, Code::syntax, "pairs are rows of two numbers");
  }
  if (numbers.size() == 1 && extents[0] == 1) return {{numbers[0], numbers[0]}};
  if (numbers.size() % 2 != 0 || static_cast<Size>(numbers.size() / 2) != extents[0]) {
    refuse_at(list.place, Code::syntax, "not as many numbers as the type has");
  }
  std::set<Size> sources;
  for (std::size_t k = 0; k < numbers.size(); k += 2) {
    if (!sources.insert(numbers[k]).second) {
      refuse_at(list.place, Code::bad_device, fmt::format("{} is a source twice", numbers[k]));
    }
    out.emplace_back(numbers[k], numbers[k + 1]);
  }
  return out;
}

std::string_view last_word(const Attribute& attribute) {
  if (attribute.kind == Kind::text) return attribute.text;
  std::string_view out = text_at(body_of(attribute));
  out = out.substr(0, out.find_last_not_of("> ") + 1);
  return out.substr(out.find_last_of(" <") + 1);
}

Compare comparison_of(const Op& op) {
  const auto comparison = word_of(op, "comparison_direction", comparisons);
  if (!comparison) refuse_at(op.place, Code::syntax, "a comparison of no direction");
  return {*comparison, word_of(op, "compare_type", orders).value_or(Order::of_type)};
}

std::string with_mesh(const ModuleContext& context, const Place& sharding) {
  const std::string text = one_line(text_at(sharding));
  const std::size_t at = text.find('@');
  const std::size_t comma = text.find(',');
  if (at == std::string_view::npos || comma == std::string_view::npos || comma < at) {
    return text;
  }
  std::string name(text.substr(at + 1, comma - at - 1));
  if (name.size() > 1 && name[0] == '"') name = name.substr(1, name.size() - 2);
  const auto mesh = context.meshes.find(name);
  if (mesh == context.meshes.end()) return text;
  return fmt::format("{}{}{}", text.substr(0, at), mesh_text(mesh->second), text.substr(comma));
}

Locations::Locations(std::string_view text) {
  constexpr std::string_view mark = "\n#loc";
  constexpr std::string_view middle = " = loc(";
  for (std::size_t at = text.find(mark); at != std::string_view::npos;
       at = text.find(mark, at + 1)) {
    const std::string_view line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    const std::size_t equals = line.find(middle);
    if (equals == std::string_view::npos) continue;
    aliases_.emplace(line.substr(0, equals), line.substr(equals + middle.size()));
  }
}

std::string Locations::line_of(const Place& location) {
  return location.input == nullptr ? std::string() : resolved(text_at(location), 0);
}

/// The first file with a line, or what the first alias says.
std::string Locations::resolved(std::string_view text, std::size_t depth) {
  constexpr std::size_t deepest = 64;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '"') {
      const std::size_t close = std::min(text.find('"', k + 1), text.size());
      const std::size_t digits = close + 2;
      const std::size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
      if (text.substr(close, 2) == "\":" && end > digits) {
        return fmt::format("{}:{}", text.substr(k + 1, close - k - 1),
                           text.substr(digits, end - digits));
      }
      k = close;
    } else if (text[k] == '#' && depth < deepest) {
      const std::size_t end = std::min(text.find_first_of(" ,)(", k), text.size());
      const auto alias = aliases_.find(text.substr(k, end - k));
      if (alias == aliases_.end()) return {};
      const auto known = lines_.find(alias->first);
      if (known != lines_.end()) return known->second;
      return lines_[alias->first] = resolved(alias->second, depth + 1);
    }
  }
  return {};
}

PlacedMesh shardy_mesh(const Op& op) {
  const Place& body = body_of(need(op, "mesh"));
  text::Scanner scanner(*body.input, body.span);
  scanner.read_over_lines();
  return read_any_mesh(scanner);
}

std::optional<Size> device_count(const Op& module, std::string_view name) {
  const Attribute* attribute = find(module, name);
  if (attribute == nullptr) return std::nullopt;
  const Size out = number_of(*attribute);
  if (out < 1) refuse_at(attribute->place, Code::bad_number, "there is one at least");
  return out;
}

}  // namespace retile::foreign::mlir
