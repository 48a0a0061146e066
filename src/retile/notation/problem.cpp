// Problems whose ends are in any notations: each becomes a type of the paper, over a mesh of its
// own where it has one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/notation/paper/notation.h"
#include "retile/notation/sharding.h"
#include "retile/notation/written.h"

namespace retile {
namespace notation {
namespace {

/// One end as text, and what it is when it has been read.
struct End {
  std::string text;
  text::Input input;
  std::optional<Written> written = {};  ///< of another notation than the paper's
  std::optional<PlacedMesh> given = {};
  Sharding sharding = {};

  End(std::string_view typed, std::string source, std::optional<PlacedMesh> mesh)
      : text(typed), input{.text = {}, .source = std::move(source)}, given(std::move(mesh)) {
    if (is_foreign_sharding(typed)) {
      std::replace(text.begin(), text.end(), '\n', ' ');
      input.text = text;
      Scanner scanner(input);
      written = read_written(scanner);
      scanner.expect_end("after a sharding",
                         {"a global shape may stand behind it, : tensor<16x8xf32>"});
    } else {
      input.text = text;
    }
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() = default;
};

/// The mesh that an end can lend to the other.
std::optional<PlacedMesh> own_mesh(const End& end, const End& other) {
  if (!end.written || !end.written->mesh) return std::nullopt;
  const bool named = !end.written->table;
  const bool any = other.written && names_no_axis(*other.written);
  return named || any ? std::optional(end.written->mesh->value) : std::nullopt;
}

/// The mesh of an end: as given, or as the other end says it.
std::optional<PlacedMesh> mesh_of(const End& end, const End& other) {
  if (end.given || (end.written && end.written->mesh)) return end.given;
  if (auto mesh = own_mesh(other, end)) return mesh;
  return other.given;
}

/// The shape that an end says by itself.
std::optional<Shape> own_shape(const End& end, const End& other) {
  if (end.written) {
    return end.written->shape ? std::optional(end.written->shape->value) : std::nullopt;
  }
  const auto mesh = mesh_of(end, other);
  if (!mesh) return std::nullopt;
  const auto layout = parse_layout(end.text, mesh->mesh);
  return layout ? std::optional(layout->global()) : std::nullopt;
}

void resolve_end(End& end, const End& other, const std::optional<Shape>& shape) {
  ShardingContext context{
      .mesh = mesh_of(end, other), .meshes = {}, .shape = shape, .by_position = true};
  if (!end.written) {
    auto read = parse_sharding(end.text, context, end.input.source);
    if (!read) throw text::Failure{std::move(read.error())};
    end.sharding = *std::move(read);
    return;
  }
  if (!context.shape && !end.written->shape) context.shape = own_shape(other, end);
  end.sharding = resolve(*end.written, context);
}

bool same_mesh(const PlacedMesh& a, const PlacedMesh& b) {
  return a.mesh == b.mesh && a.order == b.order;
}

}  // namespace
}  // namespace notation

Result<Problem> parse_problem(const ProblemText& text) {
  if (!is_foreign_sharding(text.from) && !is_foreign_sharding(text.to) && text.mesh &&
      !text.shape) {
    return parse_problem(*text.mesh, text.mesh_to, text.from, text.to);
  }
  const auto ends = text::result_of([&] {
    using notation::End;
    End from(text.from, "FROM", text.mesh);
    End to(text.to, "TO", text.mesh_to ? text.mesh_to : text.mesh);
    resolve_end(from, to, text.shape);
    resolve_end(to, from, text.shape);
    return std::pair(std::move(from.sharding), std::move(to.sharding));
  });
  if (!ends) return refuse(ends.error());
  const auto& [from, to] = *ends;
  const bool one_mesh = notation::same_mesh(from.mesh, to.mesh);
  auto out = parse_problem(from.mesh, one_mesh ? std::nullopt : std::optional(to.mesh),
                           type_text(from), type_text(to));
  if (!out) return out;
  if (from.divisor % to.divisor != 0) {
    return refuse({.code = Code::unsupported,
                   .message = "addends of an average are not made of those of a sum"});
  }
  out->divisor = from.divisor / to.divisor;
  return out;
}

}  // namespace retile
