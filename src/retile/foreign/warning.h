// Warnings of reshards: XLA's where it gathers a whole array, and torch's where it takes several collectives
// one after the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"

namespace retile::foreign {

/// What every such warning says, in all wordings.
inline constexpr std::string_view warning_words = "Involuntary full rematerialization";

/// What torch's begins with.
inline constexpr std::string_view torch_warning_words = "While redistributing from ";

/// Whether there is one of either in a text.
[[nodiscard]] bool has_warning(std::string_view text);

struct Warning {
  std::string from;  ///< shardings of HLO, or placements of DTensor
  std::string to;
  bool is_torch = false;
  /// Its name, or what torch does; empty: the warning does not say it.
  std::string operation = {};
  std::optional<Shape> tile = {};  ///< of each device, of that operation
  std::string element = {};        ///< what its elements are, as HLO calls it; empty as above
};

/// All warnings of a log, each once. Other lines are passed over.
/// \error syntax (a warning in neither of its wordings, or that was cut), and as parse_shape
[[nodiscard]] Result<std::vector<Warning>> read_warnings(std::string_view text,
                                                         std::string_view source);

/// Whether an array of that shape has tiles as the warning says; a warning of no tile says nothing.
/// \param mesh  as of array_of
/// \error as parse_sharding
[[nodiscard]] Result<bool> is_array_of(const Warning& warning, const Shape& shape,
                                       const std::optional<PlacedMesh>& mesh = std::nullopt);

/// The largest array that has tiles as the warning says.
/// \param mesh  the one that it is over; nothing: its shardings say it
/// Precondition: warning.tile
/// \error as parse_sharding; size_overflow
[[nodiscard]] Result<Shape> array_of(const Warning& warning,
                                     const std::optional<PlacedMesh>& mesh = std::nullopt);

}  // namespace retile::foreign
