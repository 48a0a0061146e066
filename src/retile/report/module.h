// The verdict on a module of local operations and redistributions, as text and as JSON.
#pragma once

#include <string>

#include "retile/report/json.h"
#include "retile/spmd/judge.h"

namespace retile::report {

/// A line with the verdict, and below it one for every redistribution and what the verdict rests on.
[[nodiscard]] std::string text_of(const spmd::Module& module, const spmd::ModuleVerdict& verdict);

/// One object, `retile.module-verdict/1`.
[[nodiscard]] Json json_of(const spmd::Module& module, const spmd::ModuleVerdict& verdict);

}  // namespace retile::report
