#include "retile/foreign/judge_text.h"

#include <utility>

#include "retile/foreign/ends.h"
#include "retile/foreign/reader.h"
#include "retile/text/place.h"

namespace retile::foreign {

Result<std::vector<JudgedFunction>> judge_text(std::string_view text, std::string_view source,
                                               const EndTexts& ends, const JudgeOptions& options) {
  const text::Input input{.text = text, .source = std::string(source), .numbered = true};
  const std::optional<Language> language = language_of(text);
  if (!language) {
    return text::result_of([&]() -> std::vector<JudgedFunction> {
      text::fail({.input = &input, .span = {0, 0}},
                 {.code = Code::syntax, .message = "neither HLO, MLIR nor a trace of DTensor"});
    });
  }
  const Result<EndOptions> asked = read_ends(ends);
  if (!asked) return refuse(asked.error());
  const auto functions = read(input, *language, read_options(*asked));
  if (!functions) return refuse(functions.error());

  std::vector<JudgedFunction> out;
  for (const Function& function : *functions) {
    Result<Ends> found = find_ends(function, *asked, input);
    if (!found) return refuse(std::move(found.error()));
    Verdict verdict = judge(function, found->from, found->to, options);
    out.push_back({.name = function.name,
                   .place = function.place,
                   .devices = function.devices,
                   .from = std::move(found->from),
                   .to = std::move(found->to),
                   .notes = std::move(found->notes),
                   .verdict = std::move(verdict)});
  }
  return out;
}

}  // namespace retile::foreign
