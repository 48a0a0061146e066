// Modules in `retile run`.
#pragma once

#include <memory>
#include <string>

#include "retile/cli/run.h"
#include "retile/spmd/judge.h"

namespace retile::cli {

/// A module's text, and where its places point.
struct ModuleText {
  std::string text;
  text::Input input;
};
/// A module to run, and the options that say how.
struct ModuleRequest {
  RunRequest values;
  std::unique_ptr<ModuleText> source;  ///< outlives the module
  spmd::Module module;
};

/// \error as spmd::read_module
[[nodiscard]] Result<ModuleRequest> read_module_request(std::string text,
                                                        const std::string& source);

}  // namespace retile::cli
