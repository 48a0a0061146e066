#include "retile/exec/executor/executor.h"

#include "retile/exec/npy/pattern.h"

namespace retile {

Result<void> Executor::generate(const Layout& from, Size device, Size element_bytes) {
  fill_pattern(from, device, element_bytes, input(device));
  return {};
}

Result<std::optional<Size>> Executor::find_mismatch(const Layout& to, Size device,
                                                    Size element_bytes) {
  return find_pattern_mismatch(to, device, element_bytes, output(device));
}

}  // namespace retile
