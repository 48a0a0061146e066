// Which reader a text is for, and what all readers are told.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/foreign/module.h"
#include "retile/text/place.h"

namespace retile::foreign {

enum class Language { hlo, mlir, dtensor };

/// The language that a text is in; nothing for Programs, and for what nobody knows.
[[nodiscard]] std::optional<Language> language_of(std::string_view text);

struct ReadOptions {
  /// How many devices there are, where the text does not say it.
  std::optional<Size> devices = {};
  /// The array's shape, where it is known: it tells types of tiles from types of the whole array in
  /// a function that does nothing.
  std::optional<Shape> shape = {};
};

/// All functions of a text, one for every array that they move. Their types hold: as check_types says it,
/// and for traces as their reader does.
/// \error syntax, bad_number, and as check_types; unsupported (an operation that is not read, by name)
[[nodiscard]] Result<std::vector<Function>> read(const text::Input& input, Language language,
                                                 const ReadOptions& options);

/// More devices than that are not looked at one by one.
inline constexpr Size most_devices = Size{1} << 20;

}  // namespace retile::foreign
