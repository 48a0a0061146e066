// Programs that are a little smaller than one: the steps of a search for the smallest that still goes wrong.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/whole/draft.h"

namespace retile::whole {

/// A way to make something smaller.
template <typename State>
struct Move {
  std::string key;                   ///< what it does, so that it is not tried twice in a round
  std::function<bool(State&)> make;  ///< false where it does not apply
};

/// Moves of one kind from a state; those that take most away stand first.
template <typename State>
using Kind = std::function<std::vector<Move<State>>(const State&)>;

/// Ways to make a program smaller that another program is made of anew. What they make need not be a
/// program.
///
/// Each takes away operations, devices, parameters, words of shardings and attributes, or elements, so
/// that one after the other comes to an end.
[[nodiscard]] std::vector<Kind<Draft>> kinds_of_moves();
/// What grows smaller, the most important first.
[[nodiscard]] std::vector<Size> weight_of(const Draft& draft);

/// Extents of `f32[4,8]`.
[[nodiscard]] Shape extents_of(std::string_view type);
/// All extents of a program.
[[nodiscard]] std::set<Size> extents_in(const Draft& draft);

/// The program with other extents, wherever they stand; constants lose what is behind their ends.
/// \param with_numbers  whether integers of no dimension change as well
[[nodiscard]] std::optional<Draft> with_extents(Draft draft, const std::map<Size, Size>& extents,
                                                bool with_numbers = false);

/// A sharding without an axis of its mesh, or with a shorter one.
/// \param to  the axis' size; 1 takes it away
[[nodiscard]] std::string with_axis(std::string_view sharding, std::string_view axis, Size to);
/// A sharding of devices by number on those whose number has 0 at a digit.
/// \param stride  what the digit counts; \param base  how many values it has
/// \return  nothing where these devices hold no grid of tiles
[[nodiscard]] std::optional<std::string> with_digit_zero(std::string_view sharding, Size devices,
                                                         Size stride, Size base);

struct SearchEnd {
  Size runs = 0;
  bool complete = false;  ///< nothing smaller goes wrong
};

}  // namespace retile::whole
