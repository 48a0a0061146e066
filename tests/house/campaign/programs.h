// Comparisons about problems and Programs: weak costs, verdicts, texts.
#pragma once

#include <string>
#include <utility>

#include "check/random_programs.h"
#include "house/campaign/tally.h"
#include "house/campaign/types.h"
#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "spec/program/type_text.h"
#include "spec/search/search.h"
#include "support/mutants.h"
#include "support/program_bridge.h"
#include "support/program_generators.h"

namespace campaign {

// ---- Weak costs

inline void compare_weak_cost(Tally& tally, const retile::Problem& problem,
                              const retile::Plan& plan) {
  if (!plan.complete) return;  // then plan says that its weak cost is only the least found
  const auto want = spec::cheapest_weak(problem.from.devices(), problem.from.global(),
                                        problem.from.tile(), problem.to.tile());
  tally.compared(Kind::weak);
  const retile::Size got = plan.weak_cost + (tally.falsifies(Kind::weak) ? 1 : 0);
  if (want && want->cost == got) return;
  tally.disagree(Kind::weak, "--mesh '" + to_text(problem.spelling->mesh) + "' '" +
                                 problem.spelling->from + "' '" + problem.spelling->to +
                                 "': src says " + std::to_string(got) + ", spec says " +
                                 (want ? std::to_string(want->cost) : "no sequence"));
}

// ---- Verdicts

inline void compare_verdict(Tally& tally, const retile::Program& program) {
  retile::Verdict got = retile::check(program);
  const spec::Verdict want = spec::check(support::to_spec(program));
  // The two have limits of their own; past them there is nothing to compare.
  if (got.answer == retile::Answer::undecided || !want.decided) return;
  tally.compared(Kind::verdict);
  if (tally.falsifies(Kind::verdict)) got.cost += 1;
  if (support::same_judgement(got, want)) return;
  tally.disagree(Kind::verdict,
                 "\n" + to_text(program) +
                     "src: " + (got.answer == retile::Answer::right ? "right" : "wrong") +
                     ", cost " + std::to_string(got.cost) +
                     "\nspec: " + (want.right ? "right" : "wrong: " + want.wrong->reason) +
                     ", cost " + std::to_string(want.cost));
}

/// A planned Program, and a mutant of it of every kind that it has.
inline void compare_planned(Tally& tally, const Choose& choose, const retile::Problem& problem) {
  const auto plan = retile::plan(problem);
  if (!plan) return;  // costs that do not fit; small problems have none
  if (tally.selected(Kind::weak)) compare_weak_cost(tally, problem, *plan);
  if (!tally.selected(Kind::verdict)) return;
  const retile::Program program = retile::lower(*plan);
  compare_verdict(tally, program);
  for (const support::Mutation mutation : support::all_mutations) {
    if (const auto mutant = support::mutate(program, mutation, choose))
      compare_verdict(tally, mutant->program);
  }
  // The same in one exchange, and what may be wrong about that.
  const auto exchange = retile::direct(program);
  if (!exchange) return;  // too large: small problems are not
  compare_verdict(tally, *exchange);
  const auto mutation = support::Mutation::transfer_changed;
  if (const auto mutant = support::mutate(*exchange, mutation, choose))
    compare_verdict(tally, mutant->program);
}

/// A Program of others, right about as often as wrong, and a mutant of it.
inline void compare_foreign(Tally& tally, const Choose& choose) {
  const retile::Program program = check_tests::random_program(choose);
  compare_verdict(tally, program);
  const auto mutation = support::detail::pick(
      choose,
      std::vector<support::Mutation>(support::all_mutations.begin(), support::all_mutations.end()));
  if (const auto mutant = support::mutate(program, mutation, choose))
    compare_verdict(tally, mutant->program);
}

// ---- Texts

inline void hold_text(Tally& tally, std::string_view what, const std::string& text, bool same,
                      bool accepted) {
  tally.compared(Kind::text);
  if (same) return;
  tally.disagree(Kind::text, std::string(what) + " " + (accepted ? "accepted" : "refused") +
                                 " by src, not so by spec:\n" + text);
}

/// Programs: whether both read the text, and then every number.
inline void compare_program_text(Tally& tally, const std::string& text) {
  const auto got = retile::parse_programs(text);
  const auto want = spec::parse_programs(text);
  const bool accepted = got.has_value() != tally.falsifies(Kind::text);
  bool same = accepted == !want.error.has_value();
  if (same && accepted && got) {
    same = got->size() == want.programs.size();
    for (std::size_t k = 0; same && k < got->size(); ++k) {
      const bool small = (*got)[k].devices <= 4096;  // more would have to be listed
      same = !small || support::same_program(support::to_spec((*got)[k]), want.programs[k]);
    }
  }
  hold_text(tally, "Programs", text, same, accepted);
}

/// Whether a text has a comment or a line end outside quotes. spec reads a mesh or a type as one
/// line of a Program, where both are allowed; src reads it as an argument, where neither is.
inline bool is_more_than_a_line(const std::string& text) {
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '\n' || c == '\r' || (c == '#' && !quoted)) return true;
  }
  return false;
}

/// Meshes: names distinct, at most 2^31 devices, and then every axis.
inline void compare_mesh_text(Tally& tally, const std::string& text) {
  if (is_more_than_a_line(text)) return;
  const auto got = retile::parse_mesh(text);
  auto want = spec::parse_mesh(text);
  if (want) {
    spec::Names xs;
    for (const spec::Axis& alpha : *want) xs.push_back(alpha.x);
    const auto devices = spec::device_count(*want);
    if (!spec::pairwise_distinct(xs) || !devices || *devices > retile::max_devices)
      want = std::nullopt;
  }
  const bool accepted = got.has_value() != tally.falsifies(Kind::text);
  bool same = accepted == want.has_value();
  if (same && accepted && got) same = support::to_spec(*got) == spec::without_unit_axes(*want);
  hold_text(tally, "mesh", text, same, accepted);
}

/// Types over a mesh: syntax, well-formedness, and then every dimension.
inline void compare_type_text(Tally& tally, const retile::Mesh& mesh, const std::string& text) {
  if (is_more_than_a_line(text)) return;
  spec::Mesh H;  // with axes of size 1, which a type may name
  for (const retile::Axis& axis : mesh.axes()) H.push_back({axis.name, axis.size});
  const auto got = retile::parse_type(text, mesh);
  auto want = spec::parse_type(H, text);
  if (want) {
    want = spec::without_unit_axes(H, *want);
    if (!spec::wf_type(spec::without_unit_axes(H), *want)) want = std::nullopt;
  }
  const bool same = same_type(got, want);
  hold_text(tally, "type over " + to_text(mesh), text, same, got.has_value());
}

inline void compare_texts(Tally& tally, const Choose& choose) {
  const support::Bounds bounds = {.max_devices = 1 << 10, .large_tiles = choose(4) == 0};
  const retile::Mesh mesh = support::choose_mesh(choose, bounds);
  const auto spoilt = [&](std::string text) {
    if (choose(4) != 0) text = support::choose_damage(choose, std::move(text));
    return text;
  };
  compare_mesh_text(tally, spoilt(to_text(mesh)));
  for (int k = 0; k < 3; ++k) {
    compare_type_text(tally, mesh, spoilt(to_text(support::choose_type(choose, mesh, bounds))));
  }
  std::string text = to_text(support::choose_program(choose, {.max_devices = 12}));
  if (choose(4) == 0) text = support::choose_spelling(choose, text);
  compare_program_text(tally, spoilt(std::move(text)));
}

}  // namespace campaign
