// Problems planned, lowered and checked twice: by src's checker and, through the text form, by
// spec's.
//
// An input is choices, or a text: `mesh x:2,y:2`, `from [1{x,y}4, 4]`, `to [4, 1{x,y}4]`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "spec/search/search.h"
#include "support/generators.h"
#include "support/program_bridge.h"

const fuzz::Target fuzz::target = {"plan", 0.9};

namespace {

using retile::Plan;
using retile::Problem;
using retile::Shape;
using retile::Size;

constexpr Size most_devices = 32;
constexpr std::size_t most_dims = 4;

std::optional<Problem> read_problem(std::string_view text) {
  const auto lines = support::lines_of(text);
  const auto rest = [&](std::size_t line, std::string_view word) {
    const std::string_view all = lines[line];
    return all.substr(0, word.size()) == word ? all.substr(word.size()) : std::string_view();
  };
  if (lines.size() < 3) return std::nullopt;
  auto problem = retile::parse_problem(rest(0, "mesh "), rest(1, "from "), rest(2, "to "));
  if (!problem || problem->from.devices() > most_devices || problem->from.rank() > most_dims) {
    return std::nullopt;
  }
  return *std::move(problem);
}

/// Tags that spec's checker would move: elements of the largest tile in units of what all tiles are
/// multiples of.
Size tags(const Plan& plan) {
  const Shape& first = plan.problem.from.tile();
  Shape unit = first;
  std::vector<Shape> tiles = {first, plan.problem.to.tile()};
  for (const auto& step : plan.steps) tiles.push_back(step.tile);
  for (const Shape& tile : tiles) {
    for (std::size_t i = 0; i < unit.size(); ++i) unit[i] = std::gcd(unit[i], tile[i]);
  }
  Size most = 0;
  for (const Shape& tile : tiles) {
    std::optional<Size> blocks = plan.problem.from.devices();
    for (std::size_t i = 0; i < unit.size() && blocks; ++i) {
      blocks = retile::checked_mul(*blocks, tile[i] / unit[i]);
    }
    most = std::max(most, blocks.value_or(INT64_MAX));
  }
  return most;
}

/// Normal form (Def. 4.5) with at most one permutation, and that one in the valley.
void check_form(const Plan& plan, const std::string& notation) {
  int phase = 0;
  std::size_t permutes = 0;
  for (const auto& step : plan.steps) {
    const int now = step.op == retile::Collective::dynslice    ? 0
                    : step.op == retile::Collective::allgather ? 2
                                                               : 1;
    fuzz::require(now >= phase, "no normal form", notation);
    phase = now;
    if (step.op != retile::Collective::allpermute) continue;
    ++permutes;
    fuzz::require(retile::checked_product(step.tile) == plan.valley,
                  "a permutation above the valley", notation);
  }
  fuzz::require(permutes <= 1 && permutes == plan.permutes(), "more than one permutation",
                notation);
}

/// The Program of a plan is right, within the bound and costs what the plan says, for both
/// checkers.
void check_program(const Plan& plan, const std::string& notation) {
  const retile::Program program = retile::lower(plan);
  const std::string text = to_text(program);
  const std::string both = notation + "\n" + text;
  const retile::Verdict ours = retile::check(program);
  fuzz::require(ours.answer == retile::Answer::right, "src: the planned Program is not right",
                both);
  fuzz::require(ours.within_bound && ours.height == plan.height && ours.bound == plan.bound &&
                    plan.height <= plan.bound,
                "src: the planned Program is not within its bound", both);
  if (plan.options.cost_model == retile::CostModel::paper) {
    fuzz::require(ours.cost == plan.cost, "src: the planned Program has another cost", both);
  }
  if (tags(plan) > 1 << 14) {
    fuzz::tally("too large for spec's checker");
    return;
  }
  fuzz::tally("Programs checked by spec");
  const auto read = spec::parse_programs(text);
  fuzz::require(!read.error && read.programs.size() == 1, "spec does not read the Program", both);
  spec::Program theirs = read.programs.front();
  if (fuzz::control() && !theirs.steps.empty()) theirs.steps.pop_back();
  const spec::Verdict verdict = spec::check(theirs);
  fuzz::require(verdict.decided && verdict.right, "spec: the planned Program is not right", both);
  fuzz::require(support::same_judgement(ours, verdict),
                "spec: another height, bound, cost or number of steps", both);
}

void check_plan(const Problem& problem, const std::string& notation) {
  const auto made = retile::plan(problem);
  if (!made) {
    fuzz::require(made.error().code == retile::Code::size_overflow,
                  "no plan: " + retile::render(made.error()), notation);
    fuzz::tally("costs of 2^63 and more");
    return;
  }
  const Plan& plan = *made;
  fuzz::require(plan.lower_bound <= plan.cost && plan.weak_cost <= plan.cost,
                "cheaper than its lower bound", notation);
  fuzz::require(plan.optimal == (plan.cost == plan.lower_bound), "`optimal` is not what it says",
                notation);
  const Size smaller = std::min(problem.from.tile_size(), problem.to.tile_size());
  fuzz::require(!plan.complete || plan.cost - plan.weak_cost <= smaller,
                "dearer than W and a permutation in the valley", notation);
  check_form(plan, notation);
  check_program(plan, notation);
  if (problem.from.equivalent(problem.to)) {
    fuzz::require(plan.cost == 0 && plan.steps.empty(), "steps where there is nothing to do",
                  notation);
  }
  const Shape& global = problem.from.global();
  if (problem.from.devices() > 16 || global.size() > 3) return;
  const auto weak = spec::cheapest_weak(problem.from.devices(), {global.begin(), global.end()},
                                        problem.from.tile(), problem.to.tile());
  fuzz::require(weak.has_value() && weak->cost == plan.weak_cost,
                "W is " + std::to_string(weak ? weak->cost : -1) + " for spec, " +
                    std::to_string(plan.weak_cost) + " for src",
                notation);
  fuzz::tally("W compared with brute force");
}

/// The least memory limit has a plan that keeps it, and one byte less has none.
void check_limit(const Problem& problem, const std::string& notation) {
  const auto least = retile::smallest_feasible_bytes(problem, 1);
  if (!least) return;
  const auto within = [&](Size limit) {
    return retile::plan(problem, {.element_bytes = 1, .memory_limit_bytes = limit});
  };
  const auto made = within(*least);
  if (!made && made.error().code == retile::Code::size_overflow) return;
  fuzz::require(made.has_value(), "no plan within the least limit " + std::to_string(*least),
                notation);
  fuzz::require(made->resident <= *least, "a plan above its limit " + std::to_string(*least),
                notation);
  check_form(*made, notation + "  (--memory-limit " + std::to_string(*least) + ")");
  check_program(*made, notation + "  (--memory-limit " + std::to_string(*least) + ")");
  fuzz::tally("least memory limits");
  if (*least == 0) return;
  const auto below = within(*least - 1);
  fuzz::require(!below.has_value() && below.error().code == retile::Code::infeasible,
                "a plan below the least limit " + std::to_string(*least), notation);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::input(data, size);
  std::optional<Problem> read;
  bool limited = true;
  if (bytes.substr(0, 5) == "mesh ") {
    read = read_problem(bytes);
    if (!read) return 0;
  } else {
    const auto choose = support::byte_choices(bytes);
    limited = choose(4) == 3;
    support::Bounds bounds = {.max_devices = 24, .max_axes = 4, .max_rank = 3};
    bounds.large_tiles = choose(4) == 3;
    read = support::choose_problem(choose, bounds);
  }
  const retile::Spelling& said = *read->spelling;
  const std::string mesh = to_text(said.mesh);
  const std::string notation = "retile plan --mesh " + fuzz::shell_quoted(mesh) + " " +
                               fuzz::shell_quoted(said.from) + " " + fuzz::shell_quoted(said.to) +
                               "\nmesh " + mesh + "\nfrom " + said.from + "\nto " + said.to;
  fuzz::reached();
  check_plan(*read, notation);
  if (limited) check_limit(*read, notation);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "mesh ", "from ", "to ", "{x}", "{x,y}", "{y,x}", "{y}",   "x", "y", "z", "x:2",
    "y:3",   "z:2",   "[",   "]",   ", 4",   ", 12",  "1{x}2", "{", "}", ",", ":"};
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::mutate_text_or_choices("mesh ", data, size, max_size, seed, vocabulary);
}
