#include "retile/core/problem.h"

#include <fmt/format.h>

#include <utility>

namespace retile {
namespace {

std::string dimensions_text(std::size_t rank) {
  return fmt::format("{} dimension{}", rank, rank == 1 ? "" : "s");
}

}  // namespace

std::optional<ShapeViolation> find_violation(std::string_view from_name, const Shape& from,
                                             std::string_view to_name, const Shape& to) {
  if (from.size() != to.size()) {
    return ShapeViolation{
        {.code = Code::rank_mismatch,
         .message = fmt::format("{} has {}, {} has {}", from_name, dimensions_text(from.size()),
                                to_name, dimensions_text(to.size())),
         .rule = "Sec. 2.5"},
        std::nullopt};
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    return ShapeViolation{
        {.code = Code::globaltype_mismatch,
         .message =
             fmt::format("global sizes must agree: dimension {} has size {} in {} and {} in {}", i,
                         from[i], from_name, to[i], to_name),
         .rule = "Sec. 2.5"},
        i};
  }
  return std::nullopt;
}

Result<Problem> Problem::make(Layout from, Layout to) {
  if (from.devices() != to.devices()) {
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("both ends have the same devices: from has {}, to has {}",
                                          from.devices(), to.devices())});
  }
  if (auto violation = find_violation("from", from.global(), "to", to.global())) {
    return refuse(std::move(violation->diagnostic));
  }
  return Problem{std::move(from), std::move(to)};
}

}  // namespace retile
