// Result<T>: a value, or the reason why the input does not allow one.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "retile/core/diagnostic.h"

namespace retile {

template <typename T>
using Result = tl::expected<T, Diagnostic>;

/// The failing half of a Result: `return refuse({.code = Code::syntax, .message = "..."});`
[[nodiscard]] inline tl::unexpected<Diagnostic> refuse(Diagnostic diagnostic) {
  return tl::unexpected<Diagnostic>(std::move(diagnostic));
}

/// The same without a place or notes.
[[nodiscard]] inline tl::unexpected<Diagnostic> refuse(Code code, std::string message) {
  return refuse({.code = code, .message = std::move(message)});
}

}  // namespace retile
