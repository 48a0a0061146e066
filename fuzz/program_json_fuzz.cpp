// The JSON form of Programs against itself, and against the text form in both readings.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "spec/program/text.h"
#include "support/program_bridge.h"
#include "support/program_generators.h"

const fuzz::Target fuzz::target = {"program_json", 0.15};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string json(fuzz::input(data, size));
  const auto all = retile::parse_any(json, "input");  // several objects, or the text form
  const auto one = retile::parse_program_json(json, "input");
  if (!all) fuzz::require(!retile::render(all.error()).empty(), "a refusal is not rendered", json);
  if (!one) {
    fuzz::tally("refused");
    fuzz::check_refusal(one.error(), json);
    return 0;
  }
  fuzz::reached();
  fuzz::require(all.has_value() && all->size() == 1 && all->front() == *one,
                "an object is read otherwise where several may stand", json);
  const std::string printed = to_json(*one);
  const auto again = retile::parse_program_json(printed);
  fuzz::require(again.has_value(),
                "the printed object is refused: " + (again ? "" : retile::render(again.error())),
                json + "\nprinted:\n" + printed);
  retile::Program read = *again;
  if (fuzz::control()) {  // forgets the tile claims
    for (retile::Step& step : read.steps) step.claims.tile.reset();
  }
  fuzz::require(read == *one, "the printed object reads otherwise",
                json + "\nprinted:\n" + printed);
  fuzz::require(to_json(read) == printed, "printing is no fixpoint",
                json + "\nprinted:\n" + printed);

  const std::string text = to_text(*one);
  const auto from_text = retile::parse_programs(text);
  fuzz::require(from_text.has_value() && from_text->size() == 1,
                "the text form of the Program is refused" +
                    (from_text ? "" : ":\n" + retile::render(from_text.error())),
                json + "\ntext:\n" + text);
  fuzz::require(from_text->front() == *one, "text and JSON are not the same Program",
                json + "\ntext:\n" + text);
  fuzz::require(to_json(from_text->front()) == printed, "text and JSON print otherwise",
                json + "\ntext:\n" + text);
  const auto theirs = spec::parse_programs(text);
  fuzz::require(!theirs.error && theirs.programs.size() == 1, "spec refuses the text form",
                json + "\ntext:\n" + text);
  if (one->devices > 1024) return 0;
  fuzz::tally("Programs compared with spec number by number");
  fuzz::require(support::same_program(support::to_spec(*one), theirs.programs.front()),
                "spec reads the text form otherwise", json + "\ntext:\n" + text);
  return 0;
}

static const std::vector<std::string> vocabulary = {"\"schema\"",
                                                    "\"retile.program/1\"",
                                                    "\"devices\"",
                                                    "\"mesh\"",
                                                    "\"mesh_to\"",
                                                    "\"from\"",
                                                    "\"to\"",
                                                    "\"steps\"",
                                                    "\"op\"",
                                                    "\"dynslice\"",
                                                    "\"allgather\"",
                                                    "\"alltoall\"",
                                                    "\"allpermute\"",
                                                    "\"dim\"",
                                                    "\"split\"",
                                                    "\"concat\"",
                                                    "\"groups\"",
                                                    "\"source\"",
                                                    "\"pairs\"",
                                                    "\"parts\"",
                                                    "\"part\"",
                                                    "\"tile\"",
                                                    "\"map\"",
                                                    "\"at\"",
                                                    "\"global\"",
                                                    "\"digits\"",
                                                    "\"iota\"",
                                                    "\"shape\"",
                                                    "\"transpose\"",
                                                    "\"name\"",
                                                    "\"size\"",
                                                    "{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    "[]",
                                                    "{}",
                                                    "[[]]",
                                                    ",",
                                                    ":",
                                                    "null",
                                                    "true",
                                                    "1.5",
                                                    "1e3",
                                                    "-1",
                                                    "-0",
                                                    "\"x\"",
                                                    "\"\\u0000\"",
                                                    "\"\\\"\"",
                                                    "\"\\n\"",
                                                    "\"\xC3\xA9\"",
                                                    "\"\xFF\""};

static std::string fresh(std::uint64_t seed) {
  return to_json(support::choose_program(support::seeded(seed), {.max_devices = 12}));
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
