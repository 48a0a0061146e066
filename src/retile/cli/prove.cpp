// retile prove: a proof or a counterexample for the plan of a problem, or every Program of a file.
#include "retile/cli/prove.h"

#include <utility>

#include "retile/cli/beside.h"
#include "retile/cli/built.h"

namespace retile::cli {
namespace {

constexpr const char* prove_footer = R"(
For a problem: plans, lowers and proves. A file holds one or more Programs, in text or JSON form;
each gets a verdict, and the exit code is the largest. Programs whose tables are iotas are proved
with symbolic digits, whatever the number of devices; others by looking at every device.

Exit codes: 0 proved, 1 refuted, 2 the input cannot be read, 3 undecided, 4 no solver.

Examples:
  retile prove --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile prove sequence.txt --solver both --smt2 queries --json
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' | retile prove -
  retile prove sequence.txt --certificate - | retile-oracle certify)";

class ProveVerb final : public Verb {
 public:
  explicit ProveVerb(const Engines& engines) : proofs_(engines.proofs) {}
  [[nodiscard]] std::string name() const override { return "prove"; }
  [[nodiscard]] std::string summary() const override {
    return "prove that Programs are right for all devices and elements";
  }
  [[nodiscard]] std::string footer() const override { return prove_footer; }
  void add_options(OptionList& options) override {
    options.text("--mesh", given_.problem.mesh, "axes of the mesh, such as x:4,y:6", "MESH");
    options.text("--shape", given_.problem.shape,
                 "the global shape, such as 16,8, where a notation does not say it", "SHAPE");
    options.text("FROM|PROGRAM", given_.program,
                 "with --mesh the type at the start; else a file, or - for stdin", "TYPE|FILE");
    options.text("TO", given_.problem.to, "type at the end", "TYPE");
    options.text("--solver", given_.solver, "z3 (default), cvc5 or both", "NAME");
    options.text("--smt2", given_.smt2, "write every query to this folder, as SMT-LIB 2", "DIR");
    options.text("--certificate", given_.certificate,
                 "if proved, write the Program and the facts; - for stdout, without the verdict",
                 "FILE");
    options.flag("--json", given_.json, "print one JSON object per Program, retile.proof/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (given_.problem.mesh || given_.problem.to) {
      given_.problem.from = std::exchange(given_.program, std::nullopt);
      return given_.problem.missing();
    }
    if (!given_.program) return Complaint{"--mesh FROM TO, or a PROGRAM, is missing"};
    return std::nullopt;
  }
  [[nodiscard]] std::string_view beside() const override {
    return solver_is_built && proofs_ == nullptr ? prove_program : std::string_view();
  }
  [[nodiscard]] Outcome work() const override {
    if (proofs_ != nullptr) return proofs_(given_);
    return failed(Exit::environment,
                  {.code = Code::unsupported,
                   .message = "this retile was built without Z3, so it cannot prove",
                   .notes = {"`retile check` replays a Program on all devices"}});
  }

 private:
  decltype(Engines::proofs) proofs_;
  ProveArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_prove_verb(const Engines& engines) {
  return std::make_unique<ProveVerb>(engines);
}

}  // namespace retile::cli
