#include "retile/notation/paper/problem.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/read.h"
#include "retile/notation/paper/wellformed.h"

namespace retile {
namespace {

using paper::WrittenType;

constexpr std::string_view from_source = "FROM";
constexpr std::string_view to_source = "TO";

/// The dimension with the global size of the other end, if its axes divide that.
std::optional<std::string> repair(const Mesh& mesh, DistDim dim, Size global) {
  const Size parts = axes_product(mesh, dim.axes);
  if (global % parts != 0) return std::nullopt;
  dim.global = global;
  dim.tile = global / parts;
  return fmt::format("{} has the global size of {}", dim_text(dim), from_source);
}

/// Fails, pointing into the target's text, where the two are not types of one array.
void check(const Mesh& mesh, const WrittenType& from, const WrittenType& to,
           const text::Input& to_input) {
  const Shape before = from.type.globaltype();
  auto violation = find_violation(from_source, before, to_source, to.type.globaltype());
  if (!violation) return;
  std::vector<std::string>& notes = violation->diagnostic.notes;
  const std::vector<DistDim>& after = to.type.dims();
  Span where = to.text.closing;
  if (violation->dim) {
    where = to.text.dims[*violation->dim];
    notes.push_back(fmt::format("{} is {}", from_source, from.text.text));
    const Size global = before[*violation->dim];
    if (auto note = repair(mesh, after[*violation->dim], global)) notes.push_back(*note);
  } else {
    // The first dimension too many, or the place where one is missing.
    if (after.size() > before.size()) where = to.text.dims[before.size()];
    notes.push_back(
        fmt::format("a redistribution keeps the array; {} is {}", from_source, from.text.text));
  }
  fail_with(text::Place{.input = &to_input, .span = where}, std::move(violation->diagnostic));
}

Problem problem_of(const Mesh& mesh, const DistType& from, const DistType& to) {
  Problem out = Problem::make(layout_of(mesh, from), layout_of(mesh, to)).value();
  out.spelling = Spelling{mesh, to_text(from), to_text(to)};
  return out;
}

/// A type that came as a value, which must belong to the mesh beside it.
/// \param input  its canonical text
WrittenType written(const Mesh& mesh, const DistType& type, const text::Input& input) {
  TypeText text = type_text(type);
  if (auto violation = find_violation(mesh, type.dims())) {
    const Span where = violation->dim ? text.dims[*violation->dim] : Span{0, text.text.size()};
    fail_with(text::Place{.input = &input, .span = where}, std::move(violation->diagnostic));
  }
  return {DistType::make(mesh, type.dims()).value(), std::move(text)};
}

}  // namespace

Result<Problem> make_problem(const Mesh& mesh, const DistType& from, const DistType& to) {
  const std::string source_text = to_text(from);
  const std::string target_text = to_text(to);
  const text::Input source_input{.text = source_text, .source = "from"};
  const text::Input target_input{.text = target_text, .source = "to"};
  return text::result_of([&] {
    const WrittenType source = written(mesh, from, source_input);
    const WrittenType target = written(mesh, to, target_input);
    check(mesh, source, target, target_input);
    return problem_of(mesh, source.type, target.type);
  });
}

Result<Problem> parse_problem(std::string_view mesh, std::string_view from, std::string_view to) {
  const text::Input mesh_input{.text = mesh, .source = "--mesh"};
  const text::Input from_input{.text = from, .source = std::string(from_source)};
  const text::Input to_input{.text = to, .source = std::string(to_source)};
  return text::result_of([&] {
    const Mesh over = paper::read_mesh(mesh_input);
    const WrittenType source = paper::read_type(from_input, over);
    const WrittenType target = paper::read_type(to_input, over);
    check(over, source, target, to_input);
    return problem_of(over, source.type, target.type);
  });
}

}  // namespace retile
