#include "retile/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/emit/trace.h"

namespace retile::emit {
namespace {

bool adds_by(const Step& step, bool (*is_such)(Addition)) {
  const auto* const scatter = std::get_if<Reducescatter>(&step.op);
  const auto* const reduce = std::get_if<Allreduce>(&step.op);
  return (scatter != nullptr && is_such(scatter->add)) ||
         (reduce != nullptr && is_such(reduce->add));
}

/// Refuses what no compiler takes: the largest of complex numbers. A sum of truth values would be
/// whether one of them is true.
void check_addition(const Program& program, const operations::ElementKind& element) {
  using Form = operations::ElementKind::Form;
  const auto is_sum = [](Addition addition) { return addition == Addition::sum; };
  const auto is_none = [](Addition addition) { return addition != Addition::sum; };
  for (const Step& step : program.steps) {
    if (element.form == Form::complex && adds_by(step, is_none)) {
      refuse_form("complex numbers have no maximum and no minimum");
    }
    if (element.form == Form::truth && adds_by(step, is_sum)) {
      refuse_form("truth values have no sum");
    }
  }
}

/// What the form calls the elements.
std::string element_name(const Program& program, Form form,
                         const operations::ElementKind& element) {
  if (!says_elements(form)) return "";
  check_addition(program, element);
  std::string name = form == Form::hlo ? hlo_name(element) : mlir_name(element);
  if (name.empty()) {
    refuse_form(
        fmt::format("{} has no such type of elements", form_names[static_cast<std::size_t>(form)]));
  }
  return name;
}

}  // namespace

Result<std::string> emit(const Program& program, Form form,
                         const operations::ElementKind& element) {
  try {
    const std::string name = element_name(program, form, element);
    switch (form) {
      case Form::sdy:
        return shardy(program, name);
      case Form::stablehlo:
        return stablehlo(program, name);
      case Form::hlo:
        return hlo(program, name);
      case Form::mlir19:
        return mlir19(program, name);
      case Form::mlir22:
        return mlir22(program, name);
      case Form::jax:
        return jax(program);
      case Form::mpi_c:
        break;
    }
    return mpi_c(program);
  } catch (Unsayable& reason) {
    return refuse(std::move(reason.diagnostic));
  }
}

}  // namespace retile::emit
