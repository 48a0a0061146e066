// Layouts whose tiles need not be alike: problems and Programs of version 2, as src and spec read, judge and print them.
//
// An input is a problem, `mesh x:2,y:3`, `from [2{x,y}11]`, `to [11]`, or the text of a Program.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/naive.h"
#include "check/verdicts.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/check/check.h"
#include "retile/core/tile_stretches.h"
#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/layout/boxes.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/random_layouts.h"

const fuzz::Target fuzz::target = {"layouts", 0.5};

namespace {

using check_tests::in_our_words;
using retile::Layout;
using retile::Plan;
using retile::Problem;
using retile::Program;
using retile::Size;

/// What is replayed index by index, for each device.
constexpr Size most_devices = 16;
constexpr Size most_elements = 256;

bool is_small(const Layout& layout) {
  const auto elements = retile::checked_product(layout.global());
  return layout.devices() <= most_devices && elements && *elements <= most_elements;
}

/// Whether all numbers of a text are small: steps can make tiles larger than the array.
bool has_small_numbers(std::string_view text) {
  Size number = 0;
  for (const char c : text) {
    number = std::isdigit(static_cast<unsigned char>(c)) != 0 ? number * 10 + (c - '0') : 0;
    if (number > most_elements) return false;
  }
  return true;
}

/// Every device holds the same indices in both readings.
void compare_boxes(const Layout& ours, const spec::Tiling& theirs, const std::string& text) {
  if (!theirs.layout || !is_small(ours)) return;  // of version 1: program_text compares it
  fuzz::tally("layouts compared index by index");
  const auto boxes = spec::boxes(*theirs.layout, ours.devices());
  const retile::TileStretches tiles(ours);
  for (Size d = 0; d < ours.devices(); ++d) {
    const spec::Box& indices = boxes[static_cast<std::size_t>(d)];
    for (std::size_t i = 0; i < ours.rank(); ++i) {
      std::vector<Size> held;
      tiles.each(d, i, [&](const retile::Stretch& one, Size) {
        for (Size at = one.begin; at < one.end && !tiles.is_empty(d); ++at) held.push_back(at);
      });
      fuzz::require(
          held == indices[i],
          "device " + std::to_string(d) + " holds other indices of dimension " + std::to_string(i),
          text);
    }
  }
}

/// Both checkers say the same.
retile::Verdict judged(const Program& program, const spec::Program& theirs,
                       const std::string& text) {
  retile::Verdict ours = retile::check(program);
  const retile::Verdict oracle = in_our_words(spec::check(theirs));
  fuzz::require(naive::same_judgement(ours, oracle), "src and spec judge otherwise",
                text + "src:  " + check_tests::show(ours) + "\nspec: " + check_tests::show(oracle));
  fuzz::tally(check_tests::outcome(ours));
  return ours;
}

spec::Program read_by_spec(const std::string& text, const std::string& notation) {
  auto read = spec::parse_programs(text);
  fuzz::require(!read.error && read.programs.size() == 1,
                "spec does not read it" + (read.error ? ": " + read.error->message : ""),
                notation + "\n" + text);
  return std::move(read.programs.front());
}

/// What is printed reads as the same, and prints as the same.
void check_printing(const Program& program, const std::string& text) {
  const std::string printed = to_text(program);
  const auto again = retile::parse_programs(printed);
  fuzz::require(
      again.has_value() && again->size() == 1,
      "the printed Program is refused" + (again ? "" : ":\n" + retile::render(again.error())),
      text + "\nprinted:\n" + printed);
  fuzz::require(again->front() == program, "the printed Program reads otherwise",
                text + "\nprinted:\n" + printed);
  fuzz::require(to_text(again->front()) == printed, "printing is no fixpoint",
                text + "\nprinted:\n" + printed);
  const spec::Program theirs = read_by_spec(printed, text);
  compare_boxes(program.from, theirs.from, printed);
  compare_boxes(program.to, theirs.to, printed);
}

// ---- Problems -----------------------------------------------------------------------------------

/// The plan's Program is right for both, and is what the plan says.
void check_plan(const Problem& problem, bool collectives, const std::string& notation) {
  const auto made = retile::plan(problem, {.collectives = collectives});
  if (!made) {
    const bool may_be = made.error().code == retile::Code::size_overflow ||
                        (collectives && made.error().code == retile::Code::infeasible);
    fuzz::require(may_be, "no plan: " + retile::render(made.error()), notation);
    fuzz::tally(collectives ? "not by collectives alone" : "costs of 2^63 and more");
    return;
  }
  const Plan& plan = *made;
  const auto by_boxes = retile::program_of(plan);
  fuzz::require(by_boxes.has_value(), "no Program of a small plan", notation);
  const std::string text = to_text(*by_boxes);
  const std::string both = notation + "\n" + text;
  spec::Program theirs = read_by_spec(text, notation);
  if (fuzz::control() && !theirs.steps.empty()) theirs.steps.pop_back();
  const retile::Verdict verdict = judged(*by_boxes, theirs, both);
  fuzz::require(verdict.answer == retile::Answer::right, "the planned Program is wrong", both);
  fuzz::require(
      verdict.height == plan.height && verdict.bound == plan.bound && verdict.cost == plan.cost,
      "the planned Program has another height, bound or cost", both);
  fuzz::require(collectives || verdict.within_bound, "the plan is above its bound", both);
  fuzz::require(!collectives || !plan.exchange, "an exchange where there may be none", both);
  fuzz::tally(plan.exchange ? "exchanges" : plan.legs.empty() ? "plans in steps" : "plans in legs");
}

/// Whether digits `stride:size` stand in the text, which only Programs have.
bool has_digits(std::string_view text) {
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::string_view number = text.substr(0, at);
    const std::size_t last = number.find_last_not_of(" \t");
    if (last == std::string_view::npos) continue;
    const std::size_t before = number.substr(0, last + 1).find_last_not_of("0123456789");
    if (before == last || before == std::string_view::npos) continue;
    const std::size_t mark = number.substr(0, before + 1).find_last_not_of(" \t");
    if (mark != std::string_view::npos && (number[mark] == '{' || number[mark] == ',')) return true;
  }
  return false;
}

/// The lines' texts behind `mesh `, `from `, `to `; nothing where a Program could not say them.
std::optional<std::vector<std::string>> problem_lines(std::string_view text) {
  const auto lines = support::lines_of(text);
  const std::vector<std::string> words = {"mesh ", "from ", "to "};
  if (lines.size() != words.size()) return std::nullopt;
  std::vector<std::string> out;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (lines[k].substr(0, words[k].size()) != words[k]) return std::nullopt;
    out.push_back(lines[k].substr(words[k].size()));
    // In a Program the order of devices may stand behind the mesh, and layouts may be listed.
    if (out.back().find_first_of("#\r=") != std::string::npos) return std::nullopt;
  }
  if (out[0].empty() || has_digits(out[1]) || has_digits(out[2])) return std::nullopt;
  return out;
}

void check_problem(std::string_view bytes) {
  const auto lines = problem_lines(bytes);
  if (!lines) return;
  const std::string& mesh = lines->at(0);
  const std::string& from = lines->at(1);
  const std::string& to = lines->at(2);
  const std::string notation = "retile plan --mesh " + fuzz::shell_quoted(mesh) + " " +
                               fuzz::shell_quoted(from) + " " + fuzz::shell_quoted(to) + "\n" +
                               std::string(bytes);
  const auto ours = retile::parse_problem(mesh, from, to);
  const auto theirs = spec::parse_programs("retile.program/2\nmesh " + mesh + "\nfrom " + from +
                                           "\nto " + to + "\n");
  if (!ours) {
    const retile::Diagnostic& said = ours.error();
    fuzz::require(theirs.error.has_value(), "src refuses, spec accepts:\n" + retile::render(said),
                  notation);
    fuzz::check_refusal(said, notation);
    fuzz::require(retile::render(said).find('^') != std::string::npos,
                  "a refusal points nowhere:\n" + retile::render(said), notation);
    fuzz::tally("problems refused by both");
    return;
  }
  fuzz::require(!theirs.error,
                "src accepts, spec refuses: " + (theirs.error ? theirs.error->message : ""),
                notation);
  fuzz::reached();
  compare_boxes(ours->from, theirs.programs.front().from, notation);
  compare_boxes(ours->to, theirs.programs.front().to, notation);
  if (!is_small(ours->from) || !is_small(ours->to)) return;
  check_plan(*ours, false, notation);
  check_plan(*ours, true, notation);
}

// ---- Programs -----------------------------------------------------------------------------------

void check_programs(std::string_view bytes) {
  const std::string text(bytes);
  const auto ours = retile::parse_programs(text, "input");
  const auto theirs = spec::parse_programs(text);
  if (!ours) {
    fuzz::require(theirs.error.has_value(),
                  "src refuses, spec accepts:\n" + retile::render(ours.error()), text);
    fuzz::check_refusal(ours.error(), text);
    fuzz::tally("texts refused by both");
    return;
  }
  fuzz::require(!theirs.error,
                "src accepts, spec refuses: " + (theirs.error ? theirs.error->message : ""), text);
  fuzz::reached();
  for (std::size_t p = 0; p < ours->size(); ++p) {
    const Program& program = (*ours)[p];
    compare_boxes(program.from, theirs.programs[p].from, text);
    compare_boxes(program.to, theirs.programs[p].to, text);
    check_printing(program, text);
    if (!has_small_numbers(text) || !is_small(program.from) || program.steps.size() > 8) continue;
    judged(program, theirs.programs[p], text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::input(data, size);
  if (bytes.substr(0, 5) == "mesh ") {
    check_problem(bytes);
  } else {
    check_programs(bytes);
  }
  return 0;
}

static const std::vector<std::string> vocabulary = {"retile.program/2\n",
                                                    "retile.program/1\n",
                                                    "\nmesh x:2,y:3\n",
                                                    "mesh x:2,y:3 order=[5,4,3,2,1,0]\n",
                                                    " order=[6]<=[2,3]T(1,0)",
                                                    "\ndevices 6\n",
                                                    "\nfrom [2{x,y}11]\n",
                                                    "\nfrom [6{x}11, 4{y}10]\n",
                                                    "\nto [11]@3\n",
                                                    "\nto [3~{x,y}11]\n",
                                                    "\nto [(0,2,2,5,7,9,11){x,y}11]\n",
                                                    "<1,1>",
                                                    "<0,2>",
                                                    "@3",
                                                    "~",
                                                    "{x,y}",
                                                    "{y,x}",
                                                    "{x:(1)2}",
                                                    "y:(3)1",
                                                    "1:2",
                                                    "2:3",
                                                    "(0,1,2)",
                                                    " piece=3",
                                                    " shapes=[[1],[2]]",
                                                    " at=[[0],[2]]",
                                                    " tile=[2]",
                                                    " map=[2{x,y}11]",
                                                    "\ndynslice dim=0 groups=[[0,1]] piece=2\n",
                                                    "\nallgather dim=0 groups=[3,2]<=[6]\n",
                                                    "\nallpermute source=[6]<=[2,3]T(1,0)\n",
                                                    "\nexchange transfers=[[0,0,0,0,1]]\n",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    "(",
                                                    ")",
                                                    "<",
                                                    ">",
                                                    ",",
                                                    ":",
                                                    "=",
                                                    "0",
                                                    "9223372036854775807"};

/// A problem's Program, planned or an exchange, over layouts of any kind.
static std::string fresh(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<Size> counts{1, 2, 3, 4, 6, 8, 12};
  const Size devices = counts[random() % counts.size()];
  const retile::Shape global = support::random_global(random, 2, 9);
  auto from = support::random_layout(random, devices, global);
  auto to = support::random_layout(random, devices, global);
  const auto problem = Problem::make(std::move(from), std::move(to));
  const auto plan = retile::plan(*problem, {.collectives = random() % 2 == 0});
  if (plan && !plan->exchange) return to_text(retile::lower(*plan));
  return to_text(retile::direct(*problem).value());
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
