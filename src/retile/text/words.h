// Words in messages: lists of them, and which one somebody may have meant.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retile::text {

/// The candidate that is most like `word`, or nothing when none is like it. The first of equals.
///
/// Two words are alike when most of the longer one stays: `xdev` is like `xdevs` and `Xdev`, `x` is
/// not like `y`. Half of it is enough where that is its beginning: `t` is like `to`. Words of more than 64 bytes are like none, and only the first 200 candidates are
/// looked at: a text may hold millions.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

/// `x`, `x and y`, `x, y and z`; of more than `most` words `and 12 more` stands for the last ones.
/// `last` may be `or`.
[[nodiscard]] std::string enumerate(const std::vector<std::string>& words,
                                    std::string_view last = "and", std::size_t most = 8);

}  // namespace retile::text
