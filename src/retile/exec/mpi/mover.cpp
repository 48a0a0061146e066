#include "retile/exec/mpi/mover.h"

#include <array>
#include <utility>

namespace retile::mpi {
namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 6> names{{
    {Strategy::automatic, "automatic"},
    {Strategy::collectives, "collectives"},
    {Strategy::direct, "direct"},
    {Strategy::shared, "shared"},
    {Strategy::mixed, "mixed"},
    {Strategy::in_place, "inplace"},
}};

}  // namespace

std::string_view strategy_name(Strategy strategy) {
  for (const auto& [known, name] : names) {
    if (known == strategy) return name;
  }
  return {};
}

std::optional<Strategy> strategy_named(std::string_view name) {
  for (const auto& [strategy, known] : names) {
    if (known == name) return strategy;
  }
  return std::nullopt;
}

Size tile_bytes(const Shape& shape, Size element_bytes) {
  Size bytes = element_bytes;
  for (const Size extent : shape) bytes *= extent;
  return bytes;
}

tl::unexpected<Diagnostic> refused(Code code, std::string message, std::string rule) {
  return refuse({.code = code, .message = std::move(message), .rule = std::move(rule)});
}

}  // namespace retile::mpi
