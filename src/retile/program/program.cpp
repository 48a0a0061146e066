#include "retile/program/program.h"

#include <array>

namespace retile {

std::string_view op_name(const Step& step) {
  static constexpr std::array<std::string_view, 5> names = {"dynslice", "allgather", "alltoall",
                                                            "allpermute", "exchange"};
  static_assert(std::variant_size_v<decltype(Step::op)> == names.size());
  return names[step.op.index()];
}

}  // namespace retile
