// The JSON form `retile.program/1`, in and out. Fields: docs/reference/program.md.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile {

/// One Program as a JSON object (no newline at the end).
[[nodiscard]] std::string to_json(const Program& program);

/// Reads one JSON object.
/// \error syntax (with the byte position), bad_program and all that the text form refuses.
[[nodiscard]] Result<Program> parse_program_json(std::string_view json,
                                                 std::string_view source = "");

/// Reads either form: JSON when the first non-blank byte is `{` (one object per Program, one after
/// another).
[[nodiscard]] Result<std::vector<Program>> parse_any(std::string_view text,
                                                     std::string_view source = "");

}  // namespace retile
