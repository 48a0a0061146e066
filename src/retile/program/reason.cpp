#include "retile/program/reason.h"

#include <array>
#include <cstddef>

namespace retile {

std::string_view reason_name(Reason reason) {
  static constexpr std::array<std::string_view, 12> names = {
      "groups",    "bijection", "indivisible", "ragged",   "transfers", "tile_claim",
      "map_claim", "not_a_box", "addends",     "replicas", "end",       "limit"};
  return names[static_cast<std::size_t>(reason)];
}

}  // namespace retile
