// Programs of other systems on the command line: what `check` does with them, and how their verdicts
// are printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/cli/common.h"
#include "retile/foreign/ends.h"
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

/// What the functions of a text must do.
/// \error as foreign::read and foreign::find_ends
[[nodiscard]] Result<std::vector<foreign::Ends>> ends_in(std::string_view text,
                                                         const std::string& source,
                                                         foreign::Language language,
                                                         const foreign::EndOptions& options);

/// Judging within what is left of the time, and of the memory: a quarter of it is for tags, but never less
/// than what judging takes anyway.
[[nodiscard]] foreign::JudgeOptions judging();

/// The verdict on one function, printed.
struct ForeignVerdict {
  std::optional<bool> right;  ///< nothing: a limit was reached
  bool within_bound = true;
  std::string reason;  ///< why it is wrong, in one word
  Exit exit = Exit::yes;
  std::string text;
  std::string json;
  std::vector<std::string> notes;
};

/// The verdicts on all functions of a text, within time_limit().
/// \error as ends_in
[[nodiscard]] Result<std::vector<ForeignVerdict>> judge_foreign(std::string_view text,
                                                                const std::string& source,
                                                                foreign::Language language,
                                                                const foreign::EndOptions& options,
                                                                bool must_be_within_bound);

/// A verdict for every function of a text.
[[nodiscard]] Outcome check_foreign(std::string_view text, const std::string& source,
                                    foreign::Language language, const ForeignArguments& arguments);

}  // namespace retile::cli
