// What there is to say of every code: its name, what is refused, by which rule, and how the program
// then ends. docs/reference/errors.md is this table with an example of each.
#pragma once

#include <span>
#include <string_view>

#include "retile/core/diagnostic.h"

namespace retile {

struct CodeRow {
  Code code{};
  std::string_view name;
  std::string_view meaning;  ///< one or several sentences
  std::string_view rule;     ///< the paper's or the form's; empty: none
  int exit_code = 0;         ///< of the program, where a verb does not know better
};

/// Every code, in the order of the enumeration.
[[nodiscard]] std::span<const CodeRow> code_rows();

[[nodiscard]] const CodeRow& code_row(Code code);

}  // namespace retile
