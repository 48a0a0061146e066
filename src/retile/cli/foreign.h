// Programs of other systems on the command line: what `check` does with them, and how their verdicts
// are printed.
#pragma once

#include <string>
#include <string_view>

#include "retile/cli/common.h"
#include "retile/foreign/judge_text.h"
#include "retile/foreign/reader.h"

namespace retile::cli {

struct ForeignArguments {
  foreign::EndTexts ends;
  bool within_bound = false;
  bool json = false;
  bool program = false;  ///< print Programs in the place of verdicts

  /// Whether an option is given that only they have.
  [[nodiscard]] bool has_ends() const { return ends.mesh || ends.from || ends.to || ends.shape; }
};

/// A verdict for every function of a text.
/// \param timeout_seconds  of each
[[nodiscard]] Outcome check_foreign(std::string_view text, const std::string& source,
                                    foreign::Language language, const ForeignArguments& arguments,
                                    double timeout_seconds);

}  // namespace retile::cli
