// Verdicts on right and wrong Programs: src's checker, spec's checker and an explicit replay of
// every element.
//
// An input is choices (a planned Program or one with steps of any kind, then mutants and raw edits
// of it), or a Program's text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "check/forms.h"
#include "check/naive.h"
#include "check/random_programs.h"
#include "check/verdicts.h"
#include "fuzz/fuzz_target.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/apply.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/mutants.h"
#include "support/program_bridge.h"

const fuzz::Target fuzz::target = {"check", 0.9};

namespace {

using check_tests::show;
using retile::Program;
using retile::Shape;
using retile::Size;
using retile::Verdict;
using support::Choose;

// Of all devices together; written Programs are few and may be larger than drawn ones.
constexpr Size most_written_elements = 4096;
constexpr Size most_drawn_elements = 1024;

/// Whether the explicit replay can hold all states up to the first step that does not apply.
bool is_replayable(const Program& program, Size most_elements) {
  if (program.devices > 64) return false;
  const auto holds = [&](const Shape& tile) {
    const auto size = retile::checked_product(tile);
    return size && *size <= most_elements / program.devices;
  };
  if (!holds(program.from.tile()) || !holds(program.to.tile())) return false;
  Shape tile = program.from.tile();
  for (const retile::Step& step : program.steps) {
    if (std::holds_alternative<retile::Exchange>(step.op) && !holds(*step.claims.tile))
      return false;
    const auto next = retile::shape_after(step, tile, program.devices);
    if (!next) return next.error().reason != retile::Reason::limit;
    tile = *next;
    if (!holds(tile)) return false;
    if (step.claims.map && !holds(step.claims.map->tile())) return false;
  }
  return true;
}

Program planned(const Choose& choose) {
  const auto text = check_tests::random_problem(choose);
  const auto problem = retile::parse_problem(text.mesh, text.from, text.to);
  fuzz::require(problem.has_value(), "the drawn problem is none", text.from + " " + text.to);
  const auto plan = retile::plan(*problem);
  fuzz::require(plan.has_value(), "no plan", text.from + " " + text.to);
  return retile::lower(*plan);
}

retile::Step& pick_step(const Choose& choose, std::vector<retile::Step>& steps) {
  return steps[static_cast<std::size_t>(choose(static_cast<Size>(steps.size())))];
}

/// Changes that no mutation operator makes: claims, parts, the order of steps, whole tables.
void edit(const Choose& choose, Program& program) {
  if (program.steps.empty()) {
    std::swap(program.from, program.to);
    return;
  }
  retile::Step& step = pick_step(choose, program.steps);
  const Size rank = static_cast<Size>(program.from.rank());
  switch (choose(8)) {
    case 0:
      step.claims = {};
      break;
    case 1:
      step.claims.tile.emplace(static_cast<std::size_t>(rank));
      for (Size& extent : *step.claims.tile) extent = choose(13);
      break;
    case 2: {
      step.claims.at.emplace(static_cast<std::size_t>(rank * program.devices));
      for (Size& base : *step.claims.at) base = choose(13);
      break;
    }
    case 3: {  // a claim that is true of another step
      step.claims = pick_step(choose, program.steps).claims;
      break;
    }
    case 4:
      std::swap(step.op, pick_step(choose, program.steps).op);
      break;
    case 5:
      if (rank > 0) step = check_tests::random_step(choose, program.from.tile(), program.devices);
      break;
    case 6:
      std::swap(program.from, program.to);
      break;
    default:
      step.claims.map =
          check_tests::random_tile_map(choose, program.devices, program.from.global());
      if (!step.claims.map->is_compact()) step.claims.map.reset();
  }
  for (retile::Step& any : program.steps) {  // what no form can say
    const bool is_exchange = std::holds_alternative<retile::Exchange>(any.op);
    if (is_exchange && !well_made(any, program.from.rank(), program.devices)) {
      any.op = retile::Allpermute{retile::PairList{}};
    }
  }
}

Program choose_program(const Choose& choose) {
  Program program = choose(3) == 2 ? check_tests::random_program(choose) : planned(choose);
  for (Size changes = choose(4); changes > 0; --changes) {
    if (choose(3) == 2) {
      edit(choose, program);
      continue;
    }
    const auto mutation = support::all_mutations[static_cast<std::size_t>(
        choose(static_cast<Size>(support::all_mutations.size())))];
    if (auto mutant = support::mutate(program, mutation, choose))
      program = std::move(mutant->program);
  }
  if (choose(4) == 3) program = support::without_claims(std::move(program));
  return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::input(data, size);
  Program program;
  const bool is_text = bytes.substr(0, 6) == "retile";
  if (is_text) {
    auto read = retile::parse_programs(bytes);
    if (!read || traits_of(read->front()).version > 1) return 0;  // for those that are not: layouts
    program = std::move(read->front());
  } else {
    program = choose_program(support::byte_choices(bytes));
  }
  if (!is_replayable(program, is_text ? most_written_elements : most_drawn_elements)) {
    fuzz::tally("too large for the explicit replay");
    return 0;
  }
  const std::string text = to_text(program);
  const auto read = spec::parse_programs(text);
  fuzz::require(!read.error && read.programs.size() == 1,
                "spec does not read the Program: " + (read.error ? read.error->message : ""), text);
  fuzz::reached();
  const Verdict ours = retile::check(program);
  const spec::Verdict want = spec::check(read.programs.front());
  fuzz::require(want.decided, "spec does not decide", text);
  const Verdict theirs = check_tests::in_our_words(want);
  const Verdict replayed =
      fuzz::control() ? naive::check(program, naive::Fault::claims) : naive::check(program);
  fuzz::tally(check_tests::outcome(ours));
  const std::string all =
      text + "src:    " + show(ours) + "\nspec:   " + show(theirs) + "\nreplay: " + show(replayed);
  fuzz::require(support::same_judgement(ours, want), "src and spec judge otherwise", all);
  fuzz::require(naive::same_judgement(ours, replayed), "the explicit replay judges otherwise", all);
  const std::string forms = check_tests::other_forms(program);
  fuzz::require(forms.empty(), forms, all);
  if (ours.answer != retile::Answer::wrong) return 0;
  fuzz::require(ours.wrong->witness.device.has_value() == theirs.wrong->witness.device.has_value(),
                "witnesses of different kinds", all);
  const auto fault = naive::witness_fault(program, ours);
  fuzz::require(fault.empty(), "a false witness: " + fault, all);
  const auto their_fault = naive::witness_fault(program, theirs, naive::OtherShape::names_none);
  fuzz::require(their_fault.empty(), "a false witness of spec: " + their_fault, all);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    " tile=[3]",
    " map=[3{x}6]",
    " at=[[0],[3]]",
    " parts=2 part=[0,1,0,1]",
    " dim=0",
    " dim=1",
    " groups=",
    " source=",
    "<=[6]",
    "<=",
    "T(1,0)",
    "\ndynslice dim=0 groups=[[0,1]]\n",
    "\nallgather dim=0 groups=[3,2]<=[6]\n",
    "\nalltoall split=0 concat=1 groups=[[0,1],[2,3]]\n",
    "\nallpermute source=[4]<=[2,2]T(1,0)\n",
    "\nallpermute pairs=[[0,1],[1,0]]\n",
    "\nexchange tile=[3] transfers=[[0,1,0,0,3],[1,0,0,0,3]]\n",
    " transfers=",
    "[",
    "]",
    ",",
    "x",
    "y",
    "split=0",
    "concat=0",
    "{",
    "}"};
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::mutate_text_or_choices("retile", data, size, max_size, seed, vocabulary);
}
