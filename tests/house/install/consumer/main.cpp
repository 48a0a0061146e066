// Plans, lowers, reads back, checks and proves Example 3.1 through the installed header, and prints
// the Program.
#include <retile/retile.h>

#include <iostream>

int main() {
  const auto problem = retile::parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]");
  if (!problem) return 1;
  const auto plan = retile::plan(*problem);
  if (!plan || !plan->optimal) return 2;
  const retile::Program program = retile::lower(*plan);
  const auto from_text = retile::parse_programs(retile::to_text(program));
  if (!from_text || from_text->size() != 1 || from_text->front() != program) return 3;
  const auto from_json = retile::parse_program_json(retile::to_json(program));
  if (!from_json || *from_json != program) return 4;
  if (retile::check(program).answer != retile::Answer::right) return 5;

  const auto proof = retile::prove(program);
  const bool as_built = retile::solver_is_built()
                            ? proof && proof->proved()
                            : !proof && proof.error().code == retile::Code::unsupported;
  if (!as_built) return 6;

  const auto certificate = retile::certify(*plan);
  if (!certificate || certificate->lower_bound != plan->cost) return 7;
  std::cout << retile::to_text(program);
  return 0;
}
