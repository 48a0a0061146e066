// retile check --shrink: the smallest reshard that another system still gets wrong.
#pragma once

#include <optional>
#include <string>

#include "retile/cli/common.h"
#include "retile/cli/foreign.h"

namespace retile::cli {

struct ShrinkArguments {
  bool wanted = false;
  std::optional<std::string> peer;
  std::optional<std::string> runs;
  std::optional<std::string> peer_timeout;
};

/// Asks the command for ever smaller reshards, and prints the last one that goes wrong as the first
/// does: of the same reason, above the bound, or ended by a signal.
/// \param text  what the command wrote for the ends, or another text whose ends are asked about;
///     nothing: the ends are all that is known
[[nodiscard]] Outcome shrink_foreign(const std::optional<std::string>& text,
                                     const std::string& source, const ForeignArguments& arguments,
                                     const ShrinkArguments& shrink);

}  // namespace retile::cli
