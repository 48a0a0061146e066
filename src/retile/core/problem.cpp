#include "retile/core/problem.h"

#include <fmt/format.h>

#include <utility>

#include "retile/core/notation.h"
#include "retile/core/type_text.h"
#include "retile/core/wellformed.h"

namespace retile {
namespace {

constexpr std::string_view from_source = "FROM";
constexpr std::string_view to_source = "TO";

std::string dimensions_text(std::size_t rank) {
  return fmt::format("{} dimension{}", rank, rank == 1 ? "" : "s");
}

/// The Problem, or why there is none, pointing into the target's text.
Result<Problem> make_written(const Mesh& mesh, const WrittenType& from, const WrittenType& to,
                             std::string_view source) {
  const std::vector<DistDim>& before = from.type.dims();
  const std::vector<DistDim>& after = to.type.dims();
  if (before.size() != after.size()) {
    // The first dimension too many, or the place where one is missing.
    const Span where = after.size() > before.size() ? to.text.dims[before.size()] : to.text.closing;
    return refuse(
        {.code = Code::rank_mismatch,
         .message = fmt::format("{} has {}, {} has {}", from_source, dimensions_text(before.size()),
                                to_source, dimensions_text(after.size())),
         .rule = "Sec. 2.5",
         .source = std::string(source),
         .input = to.text.text,
         .where = where,
         .notes = {fmt::format("a redistribution keeps the array; {} is {}", from_source,
                               from.text.text)}});
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].global == after[i].global) continue;
    Diagnostic out{.code = Code::globaltype_mismatch,
                   .message = fmt::format(
                       "global sizes must agree: dimension {} has size {} in {} and {} in {}", i,
                       before[i].global, from_source, after[i].global, to_source),
                   .rule = "Sec. 2.5",
                   .source = std::string(source),
                   .input = to.text.text,
                   .where = to.text.dims[i]};
    DistDim repaired = after[i];
    const Size parts = axes_product(mesh, repaired.axes);
    repaired.global = before[i].global;
    repaired.tile = repaired.global / parts;
    out.notes.push_back(fmt::format("{} is {}", from_source, from.text.text));
    if (repaired.global % parts == 0) {
      out.notes.push_back(
          fmt::format("{} has the global size of {}", dim_text(repaired), from_source));
    }
    return refuse(std::move(out));
  }
  return Problem{mesh, from.type, to.type, layout_of(mesh, from.type), layout_of(mesh, to.type)};
}

/// A type that came as a value must belong to the mesh beside it.
Result<WrittenType> written(const Mesh& mesh, const DistType& type, std::string_view source) {
  TypeText text = type_text(type);
  if (auto violation = find_violation(mesh, type.dims())) {
    Diagnostic& diagnostic = violation->diagnostic;
    diagnostic.source = source;
    diagnostic.where = violation->dim ? text.dims[*violation->dim] : Span{0, text.text.size()};
    diagnostic.input = std::move(text.text);
    return refuse(std::move(diagnostic));
  }
  auto own = DistType::make(mesh, type.dims());
  if (!own) return refuse(std::move(own.error()));
  return WrittenType{std::move(*own), std::move(text)};
}

}  // namespace

Result<Problem> Problem::make(const Mesh& mesh, const DistType& from, const DistType& to) {
  const auto written_from = written(mesh, from, "from");
  if (!written_from) return refuse(written_from.error());
  const auto written_to = written(mesh, to, "to");
  if (!written_to) return refuse(written_to.error());
  return make_written(mesh, *written_from, *written_to, "to");
}

Result<Problem> parse_problem(std::string_view mesh, std::string_view from, std::string_view to) {
  const auto parsed_mesh = parse_mesh(mesh, "--mesh");
  if (!parsed_mesh) return refuse(parsed_mesh.error());
  const auto written_from = parse_written_type(from, *parsed_mesh, from_source);
  if (!written_from) return refuse(written_from.error());
  const auto written_to = parse_written_type(to, *parsed_mesh, to_source);
  if (!written_to) return refuse(written_to.error());
  return make_written(*parsed_mesh, *written_from, *written_to, to_source);
}

}  // namespace retile
