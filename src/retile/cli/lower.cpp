// retile lower: the plan as a Program.
#include "retile/lower/lower.h"

#include "retile/cli/verbs.h"
#include "retile/plan/plan.h"
#include "retile/program/json.h"
#include "retile/program/text.h"

namespace retile::cli {

Outcome lower_verb(const LowerArguments& arguments) {
  const Result<Problem> problem = read_problem(arguments.problem);
  if (!problem) return failed(problem.error());
  const Result<Plan> planned = plan(*problem);
  if (!planned) return failed(planned.error());
  const Program program = lower(*planned);
  return {.exit = Exit::yes, .out = arguments.json ? to_json(program) + "\n" : to_text(program)};
}

}  // namespace retile::cli
