// The smallest program that still goes wrong, as people and programs read it.
#pragma once

#include <optional>
#include <string>

#include "retile/report/json.h"
#include "retile/whole/validate.h"

namespace retile::report {

struct ShrunkProgram {
  std::string kind;     ///< `wrong`, `aborted` or `refused`
  std::string message;  ///< of a command that aborted or refused
  std::optional<whole::Validation> validation = {};
  std::string before = {};
  std::string after = {};  ///< empty where the command made none
  /// Operations of both texts, as they were and as they are.
  struct Operations {
    std::size_t before = 0;
    std::size_t after = 0;
  };
  Operations given = {};
  Operations left = {};
  Size questions = 0;
  bool complete = false;  ///< nothing smaller goes wrong
};

/// \param with_texts  whether the texts themselves stand there
[[nodiscard]] std::string text_of(const ShrunkProgram& shrunk, bool with_texts);
/// One object, `retile.shrunk-program/1`.
[[nodiscard]] Json json_of(const ShrunkProgram& shrunk);

}  // namespace retile::report
