// Diagnostics and results as whoever reads them on a terminal may get them.
#pragma once

#include <string>

#include "retile/core/diagnostic.h"

namespace retile::cli {

/// A diagnostic whose line of input is empty points to the name of the input, so that every refusal
/// has a caret.
[[nodiscard]] Diagnostic pointed(Diagnostic diagnostic);

/// A text with blanks in the place of control characters: much of what is printed stood in a file of
/// somebody.
[[nodiscard]] std::string harmless(std::string text);

}  // namespace retile::cli
