// What became of the modules of a folder, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/emit/emit.h"
#include "retile/report/json.h"
#include "retile/whole/folder.h"

namespace retile::report {

/// The module with its verdict on the pair around the partitioner.
/// \param form  of the plans beside reshards; nothing: that of the text after
[[nodiscard]] std::string text_of(const whole::JudgedModule& module,
                                  std::optional<emit::Form> form = {});
/// The same where neighbours were compared: the first that is wrong, and what was not judged.
[[nodiscard]] std::string passes_text_of(const whole::JudgedModule& module);
/// Of several modules, how many are right, wrong and so on: `12 modules: 11 right, 1 wrong`.
[[nodiscard]] std::string summary_text_of(const std::vector<whole::JudgedModule>& modules);
/// An object for every pair, `retile.validation/1`; where there is none, one that says so.
[[nodiscard]] std::vector<Json> json_of(const whole::JudgedModule& module,
                                        std::optional<emit::Form> form = {});

}  // namespace retile::report
