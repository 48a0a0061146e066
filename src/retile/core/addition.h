// How several arrays make one: what the devices hold may be addends of what is meant.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "retile/core/size.h"
#include "retile/core/tile_map.h"

namespace retile {

enum class Addition {
  sum,
  max,
  min,
  stack,  ///< the arrays stay apart: nothing adds them
};

inline constexpr std::array<std::string_view, 4> addition_names = {"sum", "max", "min", "stack"};

/// `sum`, `max`, `min` or `stack`.
[[nodiscard]] constexpr std::string_view name_of(Addition addition) {
  return addition_names[static_cast<std::size_t>(addition)];
}
/// The addition of that name.
[[nodiscard]] constexpr std::optional<Addition> addition_named(std::string_view name) {
  for (std::size_t k = 0; k < addition_names.size(); ++k) {
    if (addition_names[k] == name) return static_cast<Addition>(k);
  }
  return std::nullopt;
}

/// Which addend each device holds.
struct Addends {
  Addition addition = Addition::sum;
  TileMap numbers;  ///< of rank 1: the addend's number in the place of a tile's

  [[nodiscard]] Size count() const { return numbers.count(0); }
  [[nodiscard]] Size number(Size device) const { return numbers.numbers(device).front(); }
  friend bool operator==(const Addends&, const Addends&) = default;
};

}  // namespace retile
