// The command line: which verb, and its options as text. Their meaning is read by the verbs.
#pragma once

#include <memory>
#include <string>

#include "retile/cli/limits.h"
#include "retile/cli/verb.h"
#include "retile/core/result.h"

namespace retile::cli {

/// When diagnostics are coloured.
enum class Color { automatic, always, never };

struct CommandLine {
  std::unique_ptr<Verb> verb;  ///< null: --help or --version, and `information` goes to stdout
  std::string information;
  Limits limits;
  Color color = Color::automatic;
};

/// Reads argv. The verbs are those of a program with these engines. On failure the diagnostic points into the command line as it was typed.
[[nodiscard]] Result<CommandLine> parse_command_line(int argc, const char* const* argv,
                                                     const Engines& engines);

}  // namespace retile::cli
