// A Program as text that another system runs.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/operations/element.h"
#include "retile/program/program.h"

namespace retile::emit {

enum class Form { sdy, stablehlo, hlo, mlir19, mlir22, jax, mpi_c };

inline constexpr std::array<std::string_view, 7> form_names = {
    "sdy", "stablehlo", "hlo", "mlir19", "mlir22", "jax", "mpi-c"};

/// Whether a text in that form says what its elements are: in JAX they are any, in C 64-bit integers.
[[nodiscard]] constexpr bool says_elements(Form form) {
  return form != Form::jax && form != Form::mpi_c;
}

/// The Program in that form; ends with a newline.
/// \param element  what the elements are, where the form says it
/// \error unsupported: what the form cannot say, by the step; limit_reached (tables too long)
[[nodiscard]] Result<std::string> emit(
    const Program& program, Form form,
    const operations::ElementKind& element = operations::element_kind("f32"));

}  // namespace retile::emit
