// Plans, lowers, reads back, checks and proves Example 3.1 through the installed header, judges
// text of XLA, and prints the Program.
#include <retile/retile.h>

#include <iostream>
#include <string>

namespace {

/// Judges an all-gather as XLA prints it, and the same with members of its groups swapped.
bool judges_text() {
  const std::string right =
      "HloModule m, num_partitions=2\nENTRY e {\n p = f32[4] parameter(0)\n ROOT r = f32[8] "
      "all-gather(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
      "use_global_device_ids=true\n}\n";
  std::string wrong = right;
  wrong.replace(wrong.find("{{0,1}}"), 7, "{{1,0}}");
  const retile::foreign::EndTexts ends{.mesh = "x:2", .from = "[4{x}8]", .to = "[8]"};
  const auto good = retile::foreign::judge_text(right, "right.hlo", ends);
  const auto bad = retile::foreign::judge_text(wrong, "wrong.hlo", ends);
  const auto none = retile::foreign::judge_text("nothing", "none.hlo");
  return good && good->size() == 1 && good->front().verdict.right == true && bad &&
         bad->front().verdict.right == false && bad->front().verdict.first_wrong->place.line == 4 &&
         !none && none.error().code == retile::Code::syntax;
}

}  // namespace

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
  if (!judges_text()) return 8;
  std::cout << retile::to_text(program);
  return 0;
}
