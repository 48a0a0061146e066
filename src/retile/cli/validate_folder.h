// retile validate: a pair of texts, and the modules of a folder of dumps.
#pragma once

#include <optional>
#include <string>

#include "retile/cli/common.h"
#include "retile/cli/validate_shrink.h"
#include "retile/emit/emit.h"
#include "retile/whole/validate.h"

namespace retile::cli {

struct FolderArguments {
  std::string folder;
  bool by_passes = false;
  bool json = false;
  std::optional<emit::Form> form = {};  ///< of plans; nothing: that of the text after
};

[[nodiscard]] bool is_folder(const std::string& path);
[[nodiscard]] bool is_file(const std::string& path);
/// Whether something can be read: a file, a folder, or stdin.
[[nodiscard]] bool exists(const std::string& path);

/// As messages call it: `stdin` for `-`.
[[nodiscard]] std::string name_of_source(const std::string& path);

/// Two texts, each of a file or of stdin (`-`).
[[nodiscard]] Outcome validate_pair(const std::string& before, const std::string& after,
                                    bool as_json, const whole::ValidateOptions& options,
                                    std::optional<emit::Form> form = {});

/// Every module of the folder; the exit code is the worst.
[[nodiscard]] Outcome validate_folder(const FolderArguments& arguments,
                                      const whole::ValidateOptions& options);

/// The smallest pair that is still wrong, of the first pair of a folder that is.
[[nodiscard]] Outcome shrink_folder(const FolderArguments& arguments,
                                    const whole::ValidateOptions& options,
                                    const ProgramShrinkArguments& shrink);

/// What the programs of a folder move, or those of a pair of texts, without a verdict.
[[nodiscard]] Outcome explain_programs(const std::string& before,
                                       const std::optional<std::string>& after, bool as_json,
                                       std::optional<emit::Form> form);

}  // namespace retile::cli
