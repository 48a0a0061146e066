#include "retile/program/program.h"

#include "retile/core/cases.h"

namespace retile {

std::string_view op_name(const Step& step) { return info(step.op).name; }

bool is_exchange(const Step& step) {
  return match(
      step.op, [](const Dynslice&) { return false; }, [](const Allgather&) { return false; },
      [](const Alltoall&) { return false; }, [](const Allpermute&) { return false; },
      [](const Exchange&) { return true; });
}

}  // namespace retile
