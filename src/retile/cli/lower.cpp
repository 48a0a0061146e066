// retile lower: the plan as a Program, or one exchange in its place.
#include "retile/lower/lower.h"

#include "retile/cli/verb.h"
#include "retile/exec/exchange/direct.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"

namespace retile::cli {

namespace {

constexpr const char* footer_text = R"(
Exit codes: 0 a Program, 2 the input cannot be read, 3 with --direct, more than 2^22 transfers.

Examples:
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' --json
  retile lower --mesh x:2 '[2{x}4, 4]' '[4, 2{x}4]' --direct)";

Result<Program> program_of(const Problem& problem, bool is_direct) {
  if (is_direct) return direct(problem);
  const Result<Plan> planned = plan(problem);
  if (!planned) return refuse(planned.error());
  return lowered(*planned);
}

class LowerVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "lower"; }
  [[nodiscard]] std::string summary() const override { return "print the plan as a Program"; }
  [[nodiscard]] std::string footer() const override { return footer_text; }
  void add_options(OptionList& options) override {
    problem_.add_options(options);
    options.flag("--direct", direct_,
                 "no plan: one exchange that moves every element straight to its new tile");
    options.flag("--json", json_, "print one JSON object, retile.program/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override { return problem_.missing(); }
  [[nodiscard]] Outcome work() const override {
    const Result<Problem> problem = problem_.read();
    if (!problem) return failed(problem.error());
    const Result<Program> program = program_of(*problem, direct_);
    if (!program) return failed(program.error());
    return {.exit = Exit::yes, .out = json_ ? to_json(*program) + "\n" : to_text(*program)};
  }

 private:
  ProblemArguments problem_;
  bool direct_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_lower_verb() { return std::make_unique<LowerVerb>(); }

}  // namespace retile::cli
