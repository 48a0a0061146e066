// A Program as text that another system runs.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile::emit {

enum class Form { sdy, stablehlo };

inline constexpr std::array<std::string_view, 2> form_names = {"sdy", "stablehlo"};

/// The Program in that form; ends with a newline. Elements are f32.
/// \error unsupported: what the form cannot say, by the step; limit_reached (tables too long)
[[nodiscard]] Result<std::string> emit(const Program& program, Form form);

}  // namespace retile::emit
