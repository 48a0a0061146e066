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

Result<void> check_addends(const Layout& from, const Layout& to) {
  if (!from.addends() && !to.addends()) return {};
  const auto refused = [](std::string message, std::vector<std::string> notes = {}) {
    return refuse(
        {.code = Code::infeasible, .message = std::move(message), .notes = std::move(notes)});
  };
  if (!from.addends()) {
    return refused("no redistribution makes addends: from holds the array itself",
                   {"the step unreduce makes addends of it, in a Program written by hand"});
  }
  const Addition addition = from.addends()->addition;
  if (to.addends() && to.addends()->addition != addition) {
    return refused(fmt::format("addends of a {} are no addends of a {}", name_of(addition),
                               name_of(to.addends()->addition)));
  }
  const Size before = from.addend_count();
  const Size after = to.addend_count();
  if (addition == Addition::stack) {
    if (before == after) return {};
    return refused(fmt::format(
        "nothing adds the {} arrays of a stack: to must be a stack of as many", before));
  }
  if (before % after == 0) return {};
  return refused(
      fmt::format("{} addends cannot be added up to {}: their number must divide", before, after));
}

Result<void> check_written_addends(const Layout& from, const Layout& to) {
  return from.addends() ? check_addends(from, to) : Result<void>{};
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
