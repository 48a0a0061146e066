#include "retile/notation/written.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/names.h"

namespace retile::notation {
namespace {

constexpr std::size_t deepest_brackets = 64;

[[noreturn]] void fail_table(const Place& place, std::string message) {
  text::fail(place, {.code = Code::bad_device, .message = std::move(message)});
}

/// Reads `[[0,1],[2,3]]`; extents of a ragged one are empty.
void read_level(Scanner& scanner, NestedNumbers& out, std::size_t depth, Shape& extents) {
  if (depth > deepest_brackets) {
    scanner.fail_expected(fmt::format("no more than {} brackets in each other", deepest_brackets));
  }
  scanner.expect("[");
  Size count = 0;
  std::optional<Shape> inner;
  bool ragged = false;
  if (!scanner.sees(']')) {
    do {
      if (scanner.sees(']')) break;  // a comma may stand behind the last
      ++count;
      Shape below;
      if (scanner.sees('[')) {
        read_level(scanner, out, depth + 1, below);
      } else {
        out.numbers.push_back(scanner.number());
      }
      ragged = ragged || (inner && *inner != below);
      inner = std::move(below);
    } while (scanner.accept(","));
  }
  if (!scanner.accept("]")) scanner.fail_expected("',' or ']' after a number");
  extents = {count};
  if (inner && !ragged) extents.insert(extents.end(), inner->begin(), inner->end());
}

/// Reads over `{1,0:T(8,128)}`, which means nothing here.
void skip_braces(Scanner& scanner) {
  scanner.expect("{");
  do {
    skip_value(scanner);
  } while (scanner.accept(","));
  scanner.expect("}");
}

/// The rest of `tensor<16x8xf32>`, behind the bracket.
Shape read_tensor(Scanner& scanner) {
  Shape out;
  while (scanner.sees_number()) {
    out.push_back(scanner.size("an extent").value);
    scanner.expect("x");
  }
  if (scanner.sees('?') || scanner.sees('*')) {
    text::fail(scanner.rest(), {.code = Code::unsupported,
                                .message = "an extent that is not known",
                                .notes = {"a reshard is judged for the extents of one array"}});
  }
  static_cast<void>(scanner.word("the element type"));
  if (scanner.accept("<")) {
    static_cast<void>(scanner.word("the element type"));
    scanner.expect(">");
  }
  if (scanner.accept(",")) skip_value(scanner);
  scanner.expect(">");
  return out;
}

}  // namespace

Mesh mesh_of(const std::vector<ReadAxis>& axes, const Place& all) {
  std::vector<Axis> list;
  list.reserve(axes.size());
  for (const ReadAxis& axis : axes) list.push_back({axis.name.value, axis.size.value});
  if (auto violation = find_violation(list)) {
    const bool of_size = violation->diagnostic.code == Code::bad_number;
    const Place place = !violation->axis ? all
                        : of_size        ? axes[*violation->axis].size.place
                                         : axes[*violation->axis].name.place;
    text::fail_with(place, std::move(violation->diagnostic));
  }
  return Mesh::make(std::move(list)).value();
}

std::string numbered_axis(std::size_t number) { return fmt::format("a{}", number); }

std::vector<Token<Size>> read_numbers(Scanner& scanner, std::string_view closing) {
  std::vector<Token<Size>> out;
  if (scanner.accept(closing)) return out;
  do {
    if (scanner.sees(closing.front())) break;
    out.push_back(scanner.number());
  } while (scanner.accept(","));
  if (!scanner.accept(closing)) {
    scanner.fail_expected(fmt::format("',' or '{}' after a number", closing));
  }
  return out;
}

std::vector<Size> values_of(const std::vector<Token<Size>>& numbers) {
  std::vector<Size> out;
  out.reserve(numbers.size());
  for (const Token<Size>& number : numbers) out.push_back(number.value);
  return out;
}

NestedNumbers read_nested(Scanner& scanner) {
  NestedNumbers out;
  read_level(scanner, out, 0, out.extents);
  return out;
}

PlacedMesh placed_by_chain(Mesh mesh, const IotaChain& chain) {
  PlacedMesh out{.mesh = std::move(mesh)};
  IotaChain simple = chain.simplified();
  if (simple.stages().empty()) return out;
  std::string text = fmt::format("[{}]", chain.size());
  for (auto stage = simple.stages().rbegin(); stage != simple.stages().rend(); ++stage) {
    text += "<=[";
    for (std::size_t k = 0; k < stage->shape.size(); ++k) {
      text += fmt::format("{}{}", k == 0 ? "" : ",", stage->shape[k]);
    }
    text += "]";
    for (std::size_t k = 0; k < stage->transpose.size(); ++k) {
      text += fmt::format("{}{}", k == 0 ? "T(" : ",", stage->transpose[k]);
    }
    if (!stage->transpose.empty()) text += ")";
  }
  out.order_text = std::move(text);
  out.order = DeviceTable::iota(std::move(simple), chain.size());
  return out;
}

PlacedMesh placed_by_list(Mesh mesh, const std::vector<Token<Size>>& devices, const Place& all) {
  if (static_cast<Size>(devices.size()) != mesh.device_count()) {
    fail_table(all, fmt::format("{} for a mesh of {} positions", counted(devices.size(), "device"),
                                mesh.device_count()));
  }
  std::vector<std::pair<Size, std::size_t>> sorted;
  for (std::size_t p = 0; p < devices.size(); ++p) sorted.emplace_back(devices[p].value, p);
  std::sort(sorted.begin(), sorted.end());
  bool identity = true;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const auto [device, p] = sorted[k];
    if (device >= max_devices) fail_table(devices[p].place, "a device beyond 2^31");
    if (k > 0 && sorted[k - 1].first == device) {
      fail_table(devices[p].place, fmt::format("device {} stands at two positions", device));
    }
    identity = identity && device == static_cast<Size>(p);
  }
  PlacedMesh out{.mesh = std::move(mesh)};
  if (identity) return out;
  out.order = DeviceTable::list(values_of(devices));
  std::string text = "[";
  for (std::size_t p = 0; p < devices.size(); ++p) {
    text += fmt::format("{}{}", p == 0 ? "" : ",", devices[p].value);
  }
  out.order_text = text + "]";
  return out;
}

IotaStage stage_of(const std::vector<Token<Size>>& shape, const std::vector<Token<Size>>& transpose,
                   const Place& all) {
  Size count = 1;
  for (const Token<Size>& extent : shape) {
    const auto product = checked_mul(count, extent.value);
    if (extent.value < 1 || !product || *product > max_devices) {
      text::fail(extent.place, {.code = Code::bad_number,
                                .message = "the extents of a table are at least 1, and make at "
                                           "most 2^31 devices"});
    }
    count = *product;
  }
  IotaStage out{values_of(shape), {}};
  std::vector<bool> seen(shape.size(), false);
  for (const Token<Size>& dim : transpose) {
    const auto k = static_cast<std::size_t>(dim.value);
    if (k >= shape.size() || seen[k]) {
      text::fail(dim.place, {.code = Code::bad_dimension,
                             .message = fmt::format("T(..) is no permutation of {}",
                                                    counted(shape.size(), "dimension"))});
    }
    seen[k] = true;
    out.transpose.push_back(k);
  }
  if (!transpose.empty() && transpose.size() != shape.size()) {
    text::fail(all, {.code = Code::bad_dimension,
                     .message = fmt::format("T(..) is no permutation of {}",
                                            counted(shape.size(), "dimension"))});
  }
  return out;
}

void skip_value(Scanner& scanner) {
  std::string open;
  while (!scanner.done()) {
    const auto c = static_cast<char>(scanner.peek());
    if (scanner.sees_quoted()) {
      static_cast<void>(scanner.quoted(""));
      continue;
    }
    const std::size_t opening = std::string_view("([{<").find(c);
    if (opening != std::string_view::npos) {
      open += ")]}>"[opening];
    } else if (std::string_view(")]}>").find(c) != std::string_view::npos) {
      if (open.empty()) return;
      if (open.back() != c) scanner.fail_expected(fmt::format("'{}'", open.back()));
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      return;
    }
    static_cast<void>(scanner.accept(std::string_view(&c, 1)));
  }
  if (!open.empty()) scanner.fail_expected(fmt::format("'{}'", open.back()));
}

WrittenPart read_part(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  WrittenPart out{.axis = scanner.quoted("an axis in quotes").value};
  if (scanner.accept(":")) {
    scanner.expect("(");
    out.major = scanner.size("what is cut off before a part of an axis").value;
    scanner.expect(")");
    out.size = scanner.size("the size of a part of an axis").value;
  }
  out.place = scanner.since(begin);
  return out;
}

WrittenAxes read_parts(Scanner& scanner) {
  WrittenAxes out;
  if (!scanner.sees('}')) {
    do {
      if (scanner.accept("?")) break;
      out.parts.push_back(read_part(scanner));
    } while (scanner.accept(","));
  }
  if (!scanner.accept("}")) scanner.fail_expected("',' or '}' after an axis");
  return out;
}

std::vector<WrittenAxes> read_braced_dims(Scanner& scanner) {
  std::vector<WrittenAxes> out;
  scanner.expect("[");
  if (scanner.accept("]")) return out;
  do {
    const std::size_t begin = scanner.next();
    scanner.expect("{");
    out.push_back(read_parts(scanner));
    if (scanner.accept("p")) static_cast<void>(scanner.number());
    out.back().place = scanner.since(begin);
  } while (scanner.accept(","));
  if (!scanner.accept("]")) scanner.fail_expected("',' or ']' after a dimension");
  return out;
}

std::optional<Addition> accept_addition(Scanner& scanner) {
  if (!scanner.sees_word()) return std::nullopt;
  const auto word = scanner.word("sum, max or min");
  const auto addition = addition_named(word.value);
  if (!addition || *addition == Addition::stack) {
    text::fail(word.place, {.code = Code::unsupported,
                            .message = fmt::format("{} is no way of adding that is read",
                                                   shortened(word.value)),
                            .notes = {"addends are of a sum, a max or a min"}});
  }
  return addition;
}

bool sees_shape(Scanner& scanner) {
  for (const std::string_view other : {"mesh", "maximal_mesh"}) {
    Scanner ahead = scanner;
    if (ahead.accept(other) && ahead.sees('[')) return false;
  }
  Scanner ahead = scanner;
  if (ahead.accept("tensor") && ahead.sees('<')) return true;
  ahead = scanner;
  if (!ahead.sees_word()) return false;
  static_cast<void>(ahead.word("").place);
  return ahead.sees('[');
}

WrittenShape read_shape(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  WrittenShape out;
  if (scanner.accept("tensor")) {
    scanner.expect("<");
    out.value = read_tensor(scanner);
  } else {
    if (scanner.sees_word()) static_cast<void>(scanner.word("an element type"));
    scanner.expect("[");
    while (!scanner.accept("]")) {
      if (!out.value.empty()) scanner.expect(",");
      out.value.push_back(scanner.size("an extent").value);
    }
    Scanner ahead = scanner;
    if (ahead.accept("{") && (ahead.sees_number() || ahead.sees('}'))) skip_braces(scanner);
  }
  out.place = scanner.since(begin);
  if (!checked_product(out.value)) {
    text::fail(out.place,
               {.code = Code::size_overflow, .message = "the global size does not fit in 63 bits"});
  }
  return out;
}

}  // namespace retile::notation
