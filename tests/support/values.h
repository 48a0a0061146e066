// Values from the paper's notation, for tests: a text that cannot be read fails the test with the
// diagnostic.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"

namespace support {

/// The value, or an exception that holds the diagnostic; GoogleTest and RapidCheck report it.
template <typename T>
T value(retile::Result<T> result) {
  if (!result) throw std::runtime_error("\n" + retile::render(result.error()));
  return std::move(*result);
}

inline retile::Mesh mesh(std::string_view text) { return value(retile::parse_mesh(text)); }
inline retile::DistType type(std::string_view text, const retile::Mesh& over) {
  return value(retile::parse_type(text, over));
}
inline retile::DistType type(std::string_view text, std::string_view over) {
  return type(text, mesh(over));
}
inline retile::Problem problem(std::string_view over, std::string_view from, std::string_view to) {
  return value(retile::parse_problem(over, from, to));
}
/// The ends of a problem in the paper's notation.
inline retile::DistType from_type(const retile::Problem& problem) {
  return type(problem.spelling->from, problem.spelling->mesh);
}
inline retile::DistType to_type(const retile::Problem& problem) {
  return type(problem.spelling->to, problem.spelling->mesh);
}

}  // namespace support
