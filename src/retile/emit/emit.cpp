#include "retile/emit/emit.h"

#include "retile/emit/trace.h"

namespace retile::emit {

Result<std::string> emit(const Program& program, Form form) {
  try {
    switch (form) {
      case Form::sdy:
        return shardy(program);
      case Form::stablehlo:
        return stablehlo(program);
      case Form::hlo:
        return hlo(program);
      case Form::mlir19:
        return mlir19(program);
      case Form::mlir22:
        return mlir22(program);
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
