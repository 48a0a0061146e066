// Text and values are each other's inverse, for all values.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "retile/notation/paper/notation.h"
#include "support/generators.h"
#include "support/values.h"

namespace notation_property_test {
namespace {

using retile::Mesh;
using retile::parse_mesh;
using retile::parse_type;
using retile::Problem;
using retile::Size;
using support::Bounds;
using support::TypeOverMesh;

const Bounds large = {
    .max_devices = retile::max_devices, .max_axes = 6, .max_rank = 6, .large_tiles = true};

RC_GTEST_PROP(MeshText, reads_back_as_the_same_mesh, ()) {
  const Mesh mesh = *support::meshes(large);
  const auto again = parse_mesh(to_text(mesh));
  RC_TAG(std::to_string(mesh.axes().size()) + " axes");
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == mesh);
  RC_ASSERT(to_text(*again) == to_text(mesh));
}

RC_GTEST_PROP(TypeText, reads_back_as_the_same_type, ()) {
  const TypeOverMesh drawn = *support::types(large);
  support::tag(drawn.mesh, drawn.type);
  const auto again = parse_type(to_text(drawn.type), drawn.mesh);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == drawn.type);
}

/// The canonical text with blanks at random places between tokens, axis sizes repeated and names
/// quoted.
std::string dressed(const TypeOverMesh& drawn, const std::vector<int>& noise) {
  std::size_t next = 0;
  const auto toss = [&](int bound) {
    return noise.empty() ? 0 : noise[next++ % noise.size()] % bound;
  };
  const auto blank = [&] { return std::string(toss(3) == 2 ? 1 : 0, toss(2) == 0 ? ' ' : '\t'); };
  std::string out = blank() + "[" + blank();
  bool first_dim = true;
  for (const retile::DistDim& dim : drawn.type.dims()) {
    if (!first_dim) out += "," + blank();
    first_dim = false;
    if (dim.axes.empty() && toss(2) == 0) {
      out += std::to_string(dim.global) + blank();
      continue;
    }
    out +=
        std::string(toss(3) == 0 ? 2 : 0, '0') + std::to_string(dim.tile) + blank() + "{" + blank();
    bool first_axis = true;
    for (const std::string& axis : dim.axes) {
      if (!first_axis) out += "," + blank();
      first_axis = false;
      out += "\"" + axis + "\"" + blank();
      if (toss(2) == 0)
        out += ":" + blank() + std::to_string(drawn.mesh.digit(axis)->size) + blank();
    }
    out += "}" + blank() + std::to_string(dim.global) + blank();
  }
  return out + "]" + blank();
}

RC_GTEST_PROP(TypeText, other_spellings_are_the_same_type,
              (const TypeOverMesh& drawn, const std::vector<unsigned char>& bytes)) {
  const std::string text = dressed(drawn, std::vector<int>(bytes.begin(), bytes.end()));
  const auto again = parse_type(text, drawn.mesh);
  if (!again) RC_FAIL(retile::render(again.error()));
  RC_ASSERT(*again == drawn.type);
}

RC_GTEST_PROP(TypeText, any_text_is_read_or_refused_with_a_place_inside_it,
              (const TypeOverMesh& drawn)) {
  // Near misses: one or two bytes of a good text changed, removed or added.
  std::string text = to_text(drawn.type);
  const auto changes = *rc::gen::inRange(1, 3);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const char byte = *rc::gen::oneOf(rc::gen::elementOf(std::string("[]{},:\"0123456789xyz -")),
                                      rc::gen::arbitrary<char>());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      default:
        text.erase(at, 1);
        break;
    }
    if (text.empty()) break;
  }
  const auto result = parse_type(text, drawn.mesh);
  RC_CLASSIFY(result.has_value(), "still a type");
  if (result) {
    RC_ASSERT(parse_type(to_text(*result), drawn.mesh) == *result);
  } else {
    const retile::Diagnostic& diagnostic = result.error();
    RC_ASSERT(!diagnostic.message.empty());
    RC_ASSERT(diagnostic.where.begin <= diagnostic.where.end);
    RC_ASSERT(diagnostic.where.end <= diagnostic.input.size());
    RC_ASSERT(diagnostic.input == (text.empty() ? "\"\"" : text));
    const std::string rendered = retile::render(diagnostic);
    RC_ASSERT(rendered.find('^') != std::string::npos);
    RC_ASSERT(rendered.back() == '\n');
  }
}

RC_GTEST_PROP(MeshText, any_bytes_are_read_or_refused, (const std::string& text)) {
  const auto result = parse_mesh(text);
  if (result) {
    RC_ASSERT(parse_mesh(to_text(*result)) == *result);
  } else {
    RC_ASSERT(result.error().where.end <= result.error().input.size());
    RC_ASSERT(!retile::render(result.error()).empty());
  }
}

RC_GTEST_PROP(ProblemText, reads_back_as_the_same_problem, ()) {
  const Problem problem = *support::problems(large);
  RC_CLASSIFY(problem.spelling->from == problem.spelling->to, "nothing to do");
  const auto again = retile::parse_problem(to_text(problem.spelling->mesh), problem.spelling->from,
                                           problem.spelling->to);
  RC_ASSERT(again.has_value());
  RC_ASSERT(support::from_type(*again) == support::from_type(problem));
  RC_ASSERT(support::to_type(*again) == support::to_type(problem));
  RC_ASSERT(again->from == problem.from);
  RC_ASSERT(again->to == problem.to);
}

/// The tile map's text, read as a bracket tiling whose digits are axes or stride:size: decoded here
/// by hand.
retile::Layout read_back(const std::string& text, const Mesh& mesh) {
  const auto number = [&](std::size_t& at) {
    Size value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      value = value * 10 + (text[at++] - '0');
    return value;
  };
  retile::Shape tile;
  retile::Shape global;
  std::vector<std::vector<retile::Digit>> digits;
  std::size_t at = 1;
  while (text[at] != ']') {
    if (text[at] == ',') at += 2;
    tile.push_back(number(at));
    digits.emplace_back();
    if (text[at] != '{') {
      global.push_back(tile.back());
      continue;
    }
    do {
      ++at;
      if (text[at] >= '0' && text[at] <= '9') {
        const Size stride = number(at);
        ++at;
        digits.back().push_back({stride, number(at)});
      } else {
        const bool quoted = text[at] == '"';
        const std::size_t end = quoted ? text.find('"', at + 1) : text.find_first_of(",}", at);
        const std::string name =
            text.substr(quoted ? at + 1 : at, quoted ? end - at - 1 : end - at);
        at = quoted ? end + 1 : end;
        digits.back().push_back(*mesh.digit(name));
      }
    } while (text[at] == ',');
    ++at;
    global.push_back(number(at));
  }
  return support::value(retile::Layout::compact(mesh.device_count(), global, tile, digits));
}

RC_GTEST_PROP(TileMapText, reads_back_as_the_same_map, ()) {
  const TypeOverMesh drawn = *support::types(large);
  const retile::Layout map = layout_of(drawn.mesh, drawn.type);
  RC_ASSERT(read_back(to_text(map, &drawn.mesh), drawn.mesh) == map);
  RC_ASSERT(read_back(to_text(map, nullptr), drawn.mesh) == map);
}

RC_GTEST_PROP(TileMapText, of_a_type_is_the_types_text, ()) {
  const TypeOverMesh drawn = *support::types(large);
  RC_ASSERT(to_text(layout_of(drawn.mesh, drawn.type), &drawn.mesh) == to_text(drawn.type));
}

RC_GTEST_PROP(TileMapText, over_another_mesh_names_what_it_can, ()) {
  // The digits of one factorisation of the devices printed over another: names, parts and uncut
  // digits mix.
  const TypeOverMesh drawn = *support::types({.max_devices = 720, .max_axes = 5});
  const Size devices = drawn.mesh.device_count();
  std::vector<retile::Axis> axes;
  Size left = devices;
  while (left > 1) {
    std::vector<Size> divisors;
    for (Size k = 2; k <= left; ++k) {
      if (left % k == 0) divisors.push_back(k);
    }
    axes.push_back({"a" + std::to_string(axes.size()), *rc::gen::elementOf(divisors)});
    left /= axes.back().size;
  }
  const Mesh other = support::value(Mesh::make(axes));
  const retile::Layout map = layout_of(drawn.mesh, drawn.type);
  const std::string text = to_text(map, &other);
  RC_CLASSIFY(text.find(':') != std::string::npos, "with parts of axes");
  RC_CLASSIFY(text.find('a') != std::string::npos, "with whole axes");
  RC_ASSERT(read_back(text, other) == map);
}

}  // namespace
}  // namespace notation_property_test
