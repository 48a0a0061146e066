// A Program as text that another system runs.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile::emit {

enum class Form { sdy, stablehlo, hlo, mlir19, mlir22, jax, mpi_c };

inline constexpr std::array<std::string_view, 7> form_names = {
    "sdy", "stablehlo", "hlo", "mlir19", "mlir22", "jax", "mpi-c"};

/// The Program in that form; ends with a newline. Elements are f32, in C 64-bit integers, in JAX any.
/// \error unsupported: what the form cannot say, by the step; limit_reached (tables too long)
[[nodiscard]] Result<std::string> emit(const Program& program, Form form);

}  // namespace retile::emit
