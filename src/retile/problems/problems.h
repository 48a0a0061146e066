// Redistribution problems drawn by seed, in families, the same on every platform.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/notation/sharding.h"

namespace retile::problems {

/// Meshes of powers of two, of small primes mixed, of coprime axes, of large composite axes, those of
/// Section 8 of the paper; tiles that are not all alike; other orders of the devices; sums.
enum class Family { powers, mixed, coprime, composite, section8, uneven, orders, sums };

inline constexpr std::array<std::string_view, 8> family_names = {
    "powers", "mixed", "coprime", "composite", "section8", "uneven", "orders", "sums"};

/// The family of problem `number`: they take turns.
[[nodiscard]] constexpr Family family_of(Size number) {
  return static_cast<Family>(number % static_cast<Size>(family_names.size()));
}

/// One end of a problem.
struct End {
  /// For every dimension the numbers of the axes that cut it, MAJOR to minor.
  std::vector<std::vector<std::size_t>> dims = {};
  std::vector<std::size_t> sums = {};  ///< axes along which devices hold addends, major to minor
  std::optional<std::vector<Size>> order = {};  ///< the device at each position; nothing counts
  friend bool operator==(const End&, const End&) = default;
};

struct Problem {
  Family family{};
  Mesh mesh = {};
  Shape shape = {};
  End from = {};
  End to = {};
};

/// Problem `number` of the seed: the same whichever others are drawn. Its ends differ, it has at most
/// 64 devices and 4,096 elements.
[[nodiscard]] Problem draw(Size seed, Size number);

/// An end in the paper's notation: `sum{z}[3{x}12, 2{y}12]`. Tiles are of ceil(n/k).
[[nodiscard]] std::string type_text(const Problem& problem, const End& end);

/// An end as a sharding, which `to_text` writes in any form.
[[nodiscard]] Sharding sharding_of(const Problem& problem, const End& end);

/// What the verbs take as arguments, a word each: `--mesh`, `x:4,y:6`, orders where there are any, and
/// the two types.
[[nodiscard]] std::vector<std::string> arguments_of(const Problem& problem);

}  // namespace retile::problems
