// Random tile maps in the three forms: compact, ordered (digits over rearranged positions), and
// explicit (a base offset per device, anywhere in the array).
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <ostream>
#include <utility>

#include "retile/core/layout.h"
#include "retile/notation/paper/notation.h"
#include "support/layout_walk.h"
#include "support/program_generators.h"

namespace support {

enum class MapForm { compact, ordered, explicit_ };

struct DrawnMap {
  MapForm form{};  ///< what the map is: an ordered one that was asked for may come out compact
  retile::Layout map;
};

namespace detail {

/// An array whose extents digits of `devices` can cut: products of its divisors and small factors.
inline retile::Shape choose_global(const Choose& choose, retile::Size devices,
                                   std::size_t max_rank) {
  retile::Shape out;
  for (std::size_t rank = pick_index(choose, max_rank + 1); rank > 0; --rank) {
    out.push_back(pick(choose, divisors(devices)) * (1 + choose(3)));
  }
  return out;
}

}  // namespace detail

/// A map whose digits lie over rearranged positions: a factor popped across digits is what makes
/// one. Compact when the draw leaves no way to pop across.
inline retile::Layout choose_ordered(const Choose& choose, retile::Layout map) {
  for (int attempt = 0; attempt < 4 && map.is_compact(); ++attempt) {
    for (std::size_t i = 0; i < map.rank() && map.is_compact(); ++i) {
      const auto& digits = map.digits()[i];
      if (digits.size() < 2) continue;
      // The major part of the digit that follows the first: not a product of minor digits.
      const retile::Size first = digits.front().size;
      for (const retile::Size n : factors_of(map.global()[i] / map.tile()[i])) {
        if (n % first == 0 || first % n == 0 || !map.is_compact()) continue;
        const std::vector<retile::Digit> popped = map.pop(i, n);
        if (choose(2) == 0) map.push(i, popped);
      }
    }
  }
  return map;
}

inline DrawnMap choose_tile_map(const Choose& choose, retile::Size max_devices = 48,
                                std::size_t max_rank = 3) {
  static const std::vector<retile::Size> sizes = {1, 2, 4, 6, 12, 3, 30, 36, 24, 48, 8, 5};
  std::vector<retile::Size> fitting;
  for (const retile::Size size : sizes) {
    if (size <= max_devices) fitting.push_back(size);
  }
  const auto form = static_cast<MapForm>(choose(3));
  const retile::Size devices = form == MapForm::ordered && max_devices >= 30
                                   ? (choose(2) == 0 ? 30 : std::min<retile::Size>(36, max_devices))
                                   : detail::pick(choose, fitting);
  if (form == MapForm::ordered) {  // all the devices' digits in few dimensions, mixed
    const std::size_t rank = 1 + detail::pick_index(choose, std::max<std::size_t>(max_rank, 1));
    retile::Shape global(rank, devices);
    for (int attempt = 0; attempt < 4; ++attempt) {
      retile::Layout map = choose_ordered(choose, choose_compact(choose, devices, global));
      if (!map.is_compact()) return {MapForm::ordered, std::move(map)};
    }
    return {MapForm::compact, choose_compact(choose, devices, global)};
  }
  const retile::Shape global = detail::choose_global(choose, devices, max_rank);
  if (form == MapForm::explicit_) {
    return {MapForm::explicit_, choose_explicit(choose, devices, global)};
  }
  return {MapForm::compact, choose_compact(choose, devices, global)};
}

/// The same map as spec has it, in tile numbers. Precondition: not explicit.
inline spec::TileMap to_physical(const retile::Layout& map) {
  spec::TileMap f{map.global(), map.tile(), {}};
  for (retile::Size d = 0; d < map.devices(); ++d) {
    spec::Sizes t = map.base_offset(d);
    for (std::size_t i = 0; i < t.size(); ++i) t[i] /= map.tile()[i];
    f.t.push_back(std::move(t));
  }
  return f;
}

/// Another explicit map of the same function.
inline retile::Layout listed(const retile::Layout& map) {
  return detail::value(
      retile::Layout::listed(map.devices(), map.global(), map.tile(), map.base_offsets()));
}

inline rc::Gen<DrawnMap> tile_maps(retile::Size max_devices = 48, std::size_t max_rank = 3) {
  return decoded([max_devices, max_rank](const Choose& choose) {
    return choose_tile_map(choose, max_devices, max_rank);
  });
}

inline void showValue(const DrawnMap& drawn, std::ostream& os) {
  os << drawn.map.devices() << " devices ";
  if (drawn.map.is_compact()) {
    os << to_text(drawn.map, nullptr);
    return;
  }
  os << "at";
  const auto at = drawn.map.base_offsets();
  for (const retile::Size number : at) os << ' ' << number;
}

}  // namespace support

namespace rc {

template <>
struct Arbitrary<support::DrawnMap> {
  static Gen<support::DrawnMap> arbitrary() { return support::tile_maps(); }
};

}  // namespace rc
