#include "retile/program/program.h"

namespace retile {

std::string_view op_name(const Step& step) { return info(step.op).name; }

}  // namespace retile
