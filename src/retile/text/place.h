// Places in texts, and the first mistake of a text on its way to its reader's Result.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/result.h"

namespace retile::text {

/// A text that diagnostics point into.
struct Input {
  std::string_view text;
  std::string source;
  /// Whether the text has lines, of which diagnostics show one and say `source:line`. Else it is one
  /// line of a known place, such as an argument, and shown whole.
  bool numbered = false;
};

/// Bytes of an Input, which outlives its places.
struct Place {
  const Input* input = nullptr;
  Span span;
};

/// A value and where it stands.
template <typename T>
struct Token {
  T value;
  Place place;
};

/// What is wrong at a place.
struct Mistake {
  Code code{};
  std::string message;
  std::vector<std::string> notes = {};
  std::string rule = {};
};

/// The first mistake of a text. Thrown inside readers and caught at the edge of their room.
struct Failure {
  Diagnostic diagnostic;
};

[[noreturn]] void fail(const Place& place, Mistake mistake);
/// A refusal that somebody made who does not know the place.
[[noreturn]] void fail_with(const Place& place, Diagnostic diagnostic);

/// What `read` returns, or the mistake at which it failed: the edge of a room of readers.
template <typename Read>
[[nodiscard]] auto result_of(Read&& read) -> Result<decltype(read())> {
  try {
    return std::forward<Read>(read)();
  } catch (Failure& failure) {
    return refuse(std::move(failure.diagnostic));
  }
}

/// The place of number `index`, counted from 0, among the numbers of a value, of which `4..7` has four;
/// the whole value if it has fewer. Tables keep no place per entry: it is looked for when an entry is wrong.
[[nodiscard]] Place number_place(const Place& value, std::size_t index);

}  // namespace retile::text
