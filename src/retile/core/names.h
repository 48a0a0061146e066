// Names of axes as text: which need quotes, and which one somebody may have meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retile {

/// May `c` begin a name without quotes? [A-Za-z_], whatever the locale.
[[nodiscard]] bool begins_name(char c);
/// May `c` stand in a name without quotes? [A-Za-z0-9_.-]
[[nodiscard]] bool continues_name(char c);

/// The name as the notation writes it: in double quotes unless it is [A-Za-z_][A-Za-z0-9_.-]*.
[[nodiscard]] std::string name_text(std::string_view name);

/// The candidate that is most like `name`, or nothing when none is like it. The first of equals.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view name,
                                                      const std::vector<std::string>& candidates);

/// `x`, `x and y`, `x, y and z`; long lists end in `and 12 more`.
[[nodiscard]] std::string enumerate(const std::vector<std::string>& words);

}  // namespace retile
