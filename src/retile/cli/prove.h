// The options of `retile prove` as text.
#pragma once

#include <optional>
#include <string>

#include "retile/cli/verb.h"

namespace retile::cli {

struct ProveArguments {
  ProblemArguments problem;            ///< empty when a Program is given
  std::optional<std::string> program;  ///< a file, or - for stdin
  std::optional<std::string> solver;
  std::optional<std::string> smt2;
  std::optional<std::string> certificate;
  bool json = false;
};

}  // namespace retile::cli
