// The command line: verbs, options and positionals, as text. Their meaning is read by the verbs.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "retile/core/result.h"

namespace retile::cli {

/// --mesh M FROM TO. Absent ones stay empty optionals, so that "" can be told from nothing.
struct ProblemArguments {
  std::optional<std::string> mesh;
  std::optional<std::string> from;
  std::optional<std::string> to;
};

struct PlanArguments {
  ProblemArguments problem;
  bool json = false;
  bool explain = false;
  std::optional<std::string> cost;
  std::optional<std::string> memory_limit;
  std::optional<std::string> dtype;
  std::optional<std::string> certificate;
  std::optional<std::string> svg;
};

struct LowerArguments {
  ProblemArguments problem;
  bool direct = false;
  bool json = false;
};

struct CheckArguments {
  std::optional<std::string> program;
  std::optional<std::string> timeout;
  bool within_bound = false;
  bool json = false;
};

struct ProveArguments {
  ProblemArguments problem;            ///< empty when a Program is given
  std::optional<std::string> program;  ///< a file, or - for stdin
  std::optional<std::string> solver;
  std::optional<std::string> timeout;
  std::optional<std::string> smt2;
  std::optional<std::string> certificate;
  bool json = false;
};

struct RunArguments {
  ProblemArguments problem;
  std::optional<std::string> program;
  std::optional<std::string> processes;
  std::optional<std::string> backend;
  std::optional<std::string> dtype;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> repeat;
  std::optional<std::string> memory_limit;
  std::optional<std::string> strategy;
  bool explain = false;
  bool json = false;
};

/// --help or --version: text for stdout, exit code 0.
struct Information {
  std::string text;
};

/// When diagnostics are coloured.
enum class Color { automatic, always, never };

struct CommandLine {
  std::variant<Information, PlanArguments, LowerArguments, CheckArguments, ProveArguments,
               RunArguments>
      verb;
  Color color = Color::automatic;
};

/// Reads argv. On failure the diagnostic points into the command line as it was typed.
[[nodiscard]] Result<CommandLine> parse_command_line(int argc, const char* const* argv);

}  // namespace retile::cli
