// retile lower: the plan as a Program, or one exchange in its place.
#include "retile/lower/lower.h"

#include "retile/cli/verbs.h"
#include "retile/exec/exchange/direct.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"

namespace retile::cli {

namespace {

Result<Program> program_of(const Problem& problem, bool is_direct) {
  if (is_direct) {
    Program ends;
    ends.devices = problem.from.devices();
    if (problem.spelling) ends.mesh = problem.spelling->mesh;
    ends.from = problem.from;
    ends.to = problem.to;
    return direct(ends);
  }
  const Result<Plan> planned = plan(problem);
  if (!planned) return refuse(planned.error());
  return lower(*planned);
}

}  // namespace

Outcome lower_verb(const LowerArguments& arguments) {
  const Result<Problem> problem = read_problem(arguments.problem);
  if (!problem) return failed(problem.error());
  const Result<Program> program = program_of(*problem, arguments.direct);
  if (!program) return failed(program.error());
  return {.exit = Exit::yes, .out = arguments.json ? to_json(*program) + "\n" : to_text(*program)};
}

}  // namespace retile::cli
