#include <retile/retile.h>

#include <cstdio>

int main() {
  const auto problem = retile::parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]");
  if (!problem) {
    std::fputs(retile::render(problem.error()).c_str(), stderr);
    return 2;
  }
  const auto plan = retile::plan(*problem);
  if (!plan) {
    std::fputs(retile::render(plan.error()).c_str(), stderr);
    return 2;
  }
  const retile::Program program = retile::lower(*plan);
  std::fputs(retile::to_text(program).c_str(), stdout);
  const bool right = retile::check(program).answer == retile::Answer::right;
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
