// What the reshards of a whole program cost, and what would do: a plan for the same two layouts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/core/size.h"
#include "retile/emit/emit.h"
#include "retile/whole/movement.h"

namespace retile::prices {

/// A plan whose Program was checked, and is right.
struct Enough {
  std::vector<std::string> steps;  ///< `alltoall of dimension 0 to 2 by 4`
  Size cost = 0;                   ///< elements per device
  Size height = 0;                 ///< elements
  bool is_optimal = false;         ///< proved among steps of the scope
  std::string scope;               ///< `one_dim`
  std::string least_of;            ///< the scope in words: `collectives along one dimension each`
  std::optional<Size> cost_over_dims;  ///< of a cheaper plan that the peer's form cannot say
  std::string text;                    ///< in the form that is asked for, if that can say it
  std::string unwritten;               ///< or why not
};

struct Price {
  std::string from;  ///< the two layouts
  std::string to;
  Size bytes = 0;       ///< that all devices receive, each time
  Size most_bytes = 0;  ///< that one receives at most
  Size cost = 0;        ///< of the collectives: elements per device
  std::optional<Enough> enough;
  std::string unplanned;  ///< or why there is no plan

  /// Elements per device, each time; never below 0.
  [[nodiscard]] Size saved() const;
};

/// Of every reshard.
[[nodiscard]] std::vector<Price> prices_of(const whole::Movement& movement, emit::Form form);

/// Reshards, those first with which most bytes could be saved.
[[nodiscard]] std::vector<std::size_t> by_saving(const whole::Movement& movement,
                                                 const std::vector<Price>& prices);

}  // namespace retile::prices
