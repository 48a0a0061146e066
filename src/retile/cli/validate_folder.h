// retile validate DIR: the modules of a folder of dumps.
#pragma once

#include <string>

#include "retile/cli/common.h"
#include "retile/whole/validate.h"

namespace retile::cli {

struct FolderArguments {
  std::string folder;
  bool by_passes = false;
  bool json = false;
};

[[nodiscard]] bool is_folder(const std::string& path);

/// Every module of the folder; the exit code is the worst.
[[nodiscard]] Outcome validate_folder(const FolderArguments& arguments,
                                      const whole::ValidateOptions& options);

}  // namespace retile::cli
