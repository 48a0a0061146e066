#include "retile/foreign/mlir/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/names.h"
#include "retile/text/scanner.h"

namespace retile::foreign::mlir {
namespace {

using Kind = Attribute::Kind;

}  // namespace

void refuse_at(const Place& place, Code code, std::string message, std::vector<std::string> notes) {
  text::fail(place, {.code = code, .message = std::move(message), .notes = std::move(notes)});
}

std::vector<std::size_t> line_begins(std::string_view text) {
  std::vector<std::size_t> out = {0};
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\n') out.push_back(k + 1);
  }
  return out;
}

FilePlace file_place(const ModuleContext& context, const Place& place) {
  const std::vector<std::size_t>& lines = *context.lines;
  const auto next = std::upper_bound(lines.begin(), lines.end(), place.span.begin);
  const auto line = static_cast<std::size_t>(next - lines.begin());
  return {.line = line, .column = place.span.begin - lines[line - 1] + 1};
}

const Attribute* find(const Op& op, std::string_view name, std::string_view other) {
  const Attribute* out = find_in(op.attributes, name);
  return out != nullptr || other.empty() ? out : find_in(op.attributes, other);
}

const Attribute& need(const Op& op, std::string_view name, std::string_view other) {
  const Attribute* out = find(op, name, other);
  if (out == nullptr) {
    refuse_at(op.place, Code::syntax, fmt::format("{} without {}", shown_name(op.name), name));
  }
  return *out;
}

std::int64_t number_of(const Attribute& attribute) {
  if (attribute.kind != Kind::number) refuse_at(attribute.place, Code::syntax, "no number");
  return attribute.number;
}

std::size_t dim_of(const Attribute& attribute) {
  const std::int64_t out = number_of(attribute);
  if (out < 0) refuse_at(attribute.place, Code::bad_dimension, "a dimension below 0");
  return static_cast<std::size_t>(out);
}

const std::vector<std::int64_t>& numbers_of(const Attribute& attribute) {
  if (attribute.kind != Kind::numbers)
    refuse_at(attribute.place, Code::syntax, "no list of numbers");
  if (!attribute.value_places.empty()) {
    refuse_at(attribute.value_places.front(), Code::unsupported, "a number that is not known");
  }
  return attribute.numbers;
}

Shape shape_of(const Attribute& attribute, std::size_t count) {
  const std::vector<std::int64_t>& numbers = numbers_of(attribute);
  const Shape& extents = attribute.type().extents;
  const bool splat = numbers.size() == 1 && extents.size() == 1 &&
                     extents[0] == static_cast<Size>(count) && count <= 64;
  return splat ? Shape(count, numbers[0]) : Shape(numbers.begin(), numbers.end());
}

std::vector<std::size_t> dims_of(const Attribute& attribute) {
  std::vector<std::size_t> out;
  const auto count = attribute.type().extents.empty()
                         ? numbers_of(attribute).size()
                         : static_cast<std::size_t>(attribute.type().extents[0]);
  for (const Size dim : shape_of(attribute, count)) {
    if (dim < 0) refuse_at(attribute.place, Code::bad_dimension, "a dimension below 0");
    out.push_back(static_cast<std::size_t>(dim));
  }
  return out;
}

const Place& body_of(const Attribute& attribute) {
  if (attribute.kind != Kind::dialect || attribute.body.input == nullptr) {
    refuse_at(attribute.place, Code::syntax, "no attribute of a dialect, with brackets");
  }
  return attribute.body;
}

std::string_view text_at(const Place& place) {
  return place.input->text.substr(place.span.begin, place.span.end - place.span.begin);
}

Sharding sharding_at(const ModuleContext& context, const Place& place, std::optional<Shape> shape) {
  text::Scanner scanner(*place.input, place.span);
  scanner.read_over_lines();
  Sharding out = read_sharding(scanner, {.meshes = context.meshes, .shape = std::move(shape)});
  scanner.expect_end("of the sharding");
  check_parts(out, place);
  return out;
}

void check_parts(const Sharding& sharding, const Place& place) {
  const auto check = [&](const std::vector<AxisPart>& minor_first) {
    for (std::size_t k = 1; k < minor_first.size(); ++k) {
      const auto major = digit_of(sharding.mesh.mesh, minor_first[k]);
      const auto minor = digit_of(sharding.mesh.mesh, minor_first[k - 1]);
      if (minor_first[k].axis != minor_first[k - 1].axis || !major || !minor ||
          major->stride != minor->stride * minor->size) {
        continue;
      }
      refuse_at(place, Code::ill_formed_type, "two parts of an axis that are one part");
    }
  };
  for (const CutDim& dim : sharding.dims) check(dim.parts);
  check(sharding.addends);
}

Builder::Builder(const ModuleContext& context, const Op& function) : context_(context) {
  out.name = name_of(function);
  out.place = file_place(context, function.place);
}

TileType Builder::tile_of(const Type& type) const {
  if (type.kind == Type::Kind::scalar) return {type.element, {}};
  if (type.kind != Type::Kind::tensor || !type.is_known) {
    refuse_at(type.place, Code::unsupported, "a type that is no tensor of known extents");
  }
  return {type.element, type.extents};
}

std::string Builder::result_name(const Op& op, std::size_t number) {
  for (const ResultName& result : op.results) {
    if (number < result.count) {
      return result.count == 1 ? result.name : fmt::format("{}#{}", result.name, number);
    }
    number -= result.count;
  }
  return op.name;
}

ValueId Builder::add(Action action, const Op& op, std::string name, std::vector<ValueId> operands,
                     TileType type) {
  const ValueId id = out.values.size();
  context_.lists->add(action, op.place);
  const FilePlace place = file_place(context_, op.results.empty() ? op.place : op.results[0].place);
  out.values.push_back({std::move(name), std::move(type), place});
  out.operations.push_back(
      {std::move(action), op.name, file_place(context_, op.place), std::move(operands), {id}});
  return id;
}

ValueId Builder::add_parameter(const std::string& name, TileType type, const Place& place) {
  const ValueId id = out.values.size();
  const FilePlace where = file_place(context_, place);
  out.values.push_back({name, std::move(type), where});
  out.operations.push_back({Parameter{out.parameters.size()}, "argument", where, {}, {id}});
  out.parameters.push_back(id);
  return id;
}

ValueId Builder::look_up(const ValueName& name) const {
  const auto found = scope_.find(name.name);
  if (found == scope_.end() || name.number >= found->second.size()) {
    refuse_at(name.place, Code::syntax, "no value of this name is known here");
  }
  return found->second[name.number];
}

std::vector<ValueId> Builder::operands(const Op& op) const {
  std::vector<ValueId> ids;
  for (const ValueName& name : op.operands) ids.push_back(look_up(name));
  return ids;
}

std::vector<TileType> Builder::types_of(const std::vector<ValueId>& ids) const {
  std::vector<TileType> types;
  types.reserve(ids.size());
  for (const ValueId id : ids) types.push_back(out.values[id].type);
  return types;
}

std::vector<ValueId> Builder::returned(const Op& terminator) const {
  std::vector<ValueId> ids = operands(terminator);
  if (terminator.operand_types.size() != ids.size()) {
    refuse_at(terminator.place, Code::syntax, "not as many types as values are returned");
  }
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Type& type = terminator.operand_types[k];
    if (tile_of(type) == out.values[ids[k]].type) continue;
    refuse_at(type.place, Code::bad_program, "what is returned has another type");
  }
  return ids;
}

void check_results(const Builder& builder, const Op& function, const std::vector<TileType>& types,
                   Extents extents) {
  const Attribute* attribute = find(function, "function_type");
  if (attribute == nullptr || attribute->kind != Attribute::Kind::type) return;
  const std::vector<Type>& said = attribute->type().outputs;
  const auto is_same = [&](const Type& type, const TileType& tile) {
    const TileType made = builder.tile_of(type);
    return extents == Extents::said ? made == tile : made.element == tile.element;
  };
  if (std::equal(said.begin(), said.end(), types.begin(), types.end(), is_same)) return;
  refuse_at(function.place, Code::bad_program,
            "the function says another type of its result than it returns");
}

void Builder::know(const std::string& name, std::vector<ValueId> values, const Place& place) {
  if (!scope_.emplace(name, std::move(values)).second) {
    refuse_at(place, Code::syntax, "a second value of this name");
  }
}

void Builder::know(const Op& op, const std::vector<ValueId>& values) {
  std::size_t at = 0;
  for (const ResultName& result : op.results) {
    if (result.count > values.size() - at) {
      refuse_at(result.place, Code::syntax,
                fmt::format("{} has {}", shown_name(op.name), counted(values.size(), "result")));
    }
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(at);
    know(result.name, {begin, begin + static_cast<std::ptrdiff_t>(result.count)}, result.place);
    at += result.count;
  }
}

const Block& body_of(const Op& function) {
  if (function.regions.size() != 1 || function.regions[0].blocks.size() != 1) {
    refuse_at(function.place, Code::unsupported, "a function of more than one block");
  }
  return function.regions[0].blocks[0];
}

std::string name_of(const Op& function) {
  const Attribute* name = find(function, "sym_name");
  return name == nullptr ? std::string() : name->text;
}

const Attribute* sharding_attribute(const Op& function, std::string_view list, std::size_t number) {
  const Attribute* all = find(function, list);
  if (all == nullptr || number >= all->items.size()) return nullptr;
  return find_in(all->items[number]->entries, "sdy.sharding");
}

}  // namespace retile::foreign::mlir
