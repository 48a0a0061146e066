// Verbs for other programs, such as the Python package: in their process, with texts in the place of
// files, and answers that are handed back in the place of what a command prints.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/cli/caller.h"
#include "retile/cli/common.h"
#include "retile/core/layout.h"
#include "retile/core/result.h"

namespace retile::cli {

/// What a command line would say.
struct Call {
  std::string_view verb;
  /// Options and arguments by the names that the command line has for them, `--mesh`, `FROM`, and what
  /// they are given. A flag is given nothing.
  std::vector<std::pair<std::string, std::string>> options;
  Caller caller;  ///< its deadline is set anew, by its seconds
};

/// Does what the command does. Problems and words call an option as a keyword argument is called:
/// `memory_limit`, and `src` and `dst` for FROM and TO. May be called by several threads at a time.
/// \return also bad_argument (no such verb, or option of it), unsupported (a verb that starts processes)
/// \throw std::bad_alloc, std::length_error  no memory is left
[[nodiscard]] Outcome call(const Call& call);

/// What every device holds.
struct DeviceBoxes {
  std::size_t rank = 0;
  std::vector<Box> boxes;  ///< of each device
};

/// The boxes of a sharding in any notation; of all that `Call::options` may hold: --mesh, --order, --shape
/// and FROM.
/// \error as parse_sharding; unsupported (tiles of several boxes), limit_reached (more than 2^24 numbers)
[[nodiscard]] Result<DeviceBoxes> boxes_of(const Call& call);

/// The diagnostic as it is printed, with a caret below its input.
[[nodiscard]] std::string rendered(const Diagnostic& diagnostic);

}  // namespace retile::cli
