// What `retile partition --choose` answers.
#pragma once

#include <optional>
#include <string>

#include "retile/array/statements.h"
#include "retile/cli/common.h"

namespace retile::cli {

/// Options as they were written.
struct ChoiceArguments {
  bool choose = false;
  bool what_if = false;  ///< devices and memory_limit are lists, such as `8,16` and `none,1GiB`
  std::optional<std::string> devices;
  std::optional<std::string> memory_limit;
  std::optional<std::string> dtype;
  std::optional<std::string> repeat;
  std::optional<std::string> network;
  bool json = false;
};

/// The cheapest schedule and its module; with `what_if` a table of what the cheapest costs for each
/// number of devices within each memory limit.
/// Precondition: devices are said.
[[nodiscard]] Outcome choose_schedule(const ChoiceArguments& arguments,
                                      const array::Statements& statements);

}  // namespace retile::cli
