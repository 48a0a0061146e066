#include "retile/emit/emit.h"

#include "retile/emit/trace.h"

namespace retile::emit {

Result<std::string> emit(const Program& program, Form form) {
  try {
    switch (form) {
      case Form::sdy:
        return shardy(program);
      case Form::stablehlo:
        break;
    }
    return stablehlo(program);
  } catch (Unsayable& reason) {
    return refuse(std::move(reason.diagnostic));
  }
}

}  // namespace retile::emit
