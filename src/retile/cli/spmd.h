// Modules in the verbs that take them.
#pragma once

#include <optional>
#include <string>

#include "retile/cli/common.h"

namespace retile::cli {

/// What `retile check` says of a module: one verdict. \param source  the file's name
/// \param seed  what --seed says
[[nodiscard]] Outcome check_module(const std::string& text, const std::string& source, bool json,
                                   const std::optional<std::string>& seed);

/// `retile lower FILE`: the module with the steps of its redistributions.
[[nodiscard]] Outcome lower_module(const std::string& text, const std::string& source);

}  // namespace retile::cli
