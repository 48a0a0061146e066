// Diagnostics and results as whoever reads them on a terminal may get them.
#pragma once

#include <string>
#include <vector>

#include "retile/core/diagnostic.h"

namespace retile::cli {

/// A diagnostic whose line of input is empty points to the name of the input, so that every refusal
/// has a caret.
[[nodiscard]] Diagnostic pointed(Diagnostic diagnostic);

/// A text with blanks in the place of control characters: much of what is printed stood in a file of
/// somebody.
[[nodiscard]] std::string harmless(std::string text);

enum class FirstColumn { number, label };

/// Lines of cells in columns, all flush right but a first that says what its line is of. Of a line with
/// fewer cells than the first the last may be as long as it is.
[[nodiscard]] std::string columns_text(const std::vector<std::vector<std::string>>& lines,
                                       FirstColumn first, std::size_t indent = 0);

}  // namespace retile::cli
