// What may be wrong with a Program.
#pragma once

#include <string_view>

namespace retile {

/// Why a Program is wrong, in the words of the verdict.
enum class Reason {
  groups,
  bijection,
  indivisible,
  ragged,
  transfers,
  tile_claim,
  map_claim,
  not_a_box,
  addends,
  replicas,
  end,
  limit
};

/// `groups`, `bijection`, ...
[[nodiscard]] std::string_view reason_name(Reason reason);

}  // namespace retile
