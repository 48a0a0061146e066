// What every refusal owes its reader, in the targets that read texts.
#pragma once

#include <string>

#include "fuzz/fuzz_target.h"
#include "retile/core/diagnostic.h"

namespace fuzz {

/// It says something, points into its own input, and can be rendered.
inline void check_refusal(const retile::Diagnostic& diagnostic, const std::string& notation) {
  const auto& [begin, end] = diagnostic.where;
  const std::string rendered = retile::render(diagnostic);
  require(!diagnostic.message.empty(), "a refusal without a message", notation);
  require(begin <= end && end <= diagnostic.input.size(), "a refusal points beside its input",
          notation);
  require(!rendered.empty(), "a refusal is not rendered", notation);
}

}  // namespace fuzz
