// The text form of Programs: src's reader against spec's, and printing against reading.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/program/forms/text.h"
#include "spec/program/text.h"
#include "support/program_bridge.h"
#include "support/program_generators.h"

const fuzz::Target fuzz::target = {"program_text", 0.15};

namespace {

using retile::Program;

constexpr retile::Size most_compared = 1024;  // devices, listed one by one

/// Control: takes split for concat.
void turn_around(std::vector<Program>& programs) {
  for (Program& program : programs) {
    for (retile::Step& step : program.steps) {
      if (auto* alltoall = std::get_if<retile::Alltoall>(&step.op)) {
        std::swap(alltoall->split, alltoall->concat);
      }
    }
  }
}

void compare(const std::vector<Program>& ours, const spec::Programs& theirs,
             const std::string& text) {
  fuzz::require(!theirs.error,
                "src accepts, spec refuses: " + (theirs.error ? theirs.error->message : ""), text);
  fuzz::require(ours.size() == theirs.programs.size(), "another number of Programs", text);
  for (std::size_t p = 0; p < ours.size(); ++p) {
    if (ours[p].devices > most_compared || traits_of(ours[p]).version > 1) continue;
    fuzz::tally("Programs compared number by number");
    fuzz::require(support::same_program(support::to_spec(ours[p]), theirs.programs[p]),
                  "the two readings of Program " + std::to_string(p) + " differ", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  auto ours = retile::parse_programs(text, "input");
  const auto theirs = spec::parse_programs(text);
  if (!ours) {
    const retile::Diagnostic& diagnostic = ours.error();
    fuzz::require(theirs.error.has_value(),
                  "src refuses, spec accepts:\n" + retile::render(diagnostic), text);
    fuzz::check_refusal(diagnostic, text);
    fuzz::tally("texts refused by both");
    return 0;
  }
  fuzz::reached();
  if (fuzz::control()) turn_around(*ours);
  compare(*ours, theirs, text);
  std::string printed;
  for (const Program& program : *ours) printed += to_text(program);
  const auto again = retile::parse_programs(printed);
  fuzz::require(again.has_value(),
                "the printed Program is refused:\n" + (again ? "" : retile::render(again.error())),
                text + "\nprinted:\n" + printed);
  fuzz::require(*again == *ours, "the printed Program reads otherwise",
                text + "\nprinted:\n" + printed);
  std::string once_more;
  for (const Program& program : *again) once_more += to_text(program);
  fuzz::require(once_more == printed, "printing is no fixpoint", text + "\nprinted:\n" + printed);
  compare(*ours, spec::parse_programs(printed), printed);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "retile.program/1\n",
    "\nmesh x:2,y:3\n",
    "\nmesh x:6\n",
    "\ndevices 6\n",
    "\nfrom [3{x}6]\n",
    "\nto [6]\n",
    "\ndynslice dim=0 groups=[[0,1]]\n",
    "\nallgather dim=0 groups=[3,2]<=[6]\n",
    "\nalltoall split=0 concat=1 groups=[[0,1],[2,3],[4,5]]\n",
    "\nallpermute source=[6]<=[2,3]T(1,0)\n",
    "\nallpermute pairs=[[0,1],[1,0]]\n",
    " tile=[3]",
    " map=[3{x}6]",
    " at=[[0],[3]]",
    " parts=2 part=[0,1,0,1,0,1]",
    " dim=0",
    " groups=",
    " source=",
    "<=[6]",
    "<=",
    "< =",
    "T(1,0)",
    "T(0)",
    "\nfrom tile=[1] global=[2] at=[[0],[1]]\n",
    "global",
    "at",
    "exchange",
    "\nexchange tile=[1] transfers=[[0,0,0,0,1]]\n",
    "transfers",
    "pad",
    "[",
    "]",
    "[]",
    "[[]]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ":",
    "=",
    "#",
    "\"x\"",
    "\"a # b\"",
    "\"",
    "x",
    "1:2",
    "2:3",
    "x:2",
    "\r\n",
    "\r",
    "\t",
    "-1",
    "\xC3\xA9"};

static std::string fresh(std::uint64_t seed) {
  const auto choose = support::seeded(seed);
  const std::string text = to_text(support::choose_program(choose, {.max_devices = 12}));
  return choose(2) == 0 ? text : support::choose_spelling(choose, text);
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
