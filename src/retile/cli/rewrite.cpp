// retile rewrite: a rule of PartIR. The oracle does it, whose words it is called with.
#include "retile/cli/beside.h"
#include "retile/cli/verb.h"

namespace retile::cli {

namespace {

constexpr std::string_view oracle_program = "retile-oracle";

constexpr const char* rewrite_footer = R"(
`retile-oracle rewrite` does it, which has no --timeout, --memory and --color. The expression is a text
retile.partir/1. What is printed is one, too, with comments that say what is proved.

Exit codes: 0 type and values are the same, 1 they are not, or the rule does not apply, 2 the input cannot be read,
3 undecided, 4 retile-oracle is not there.

Examples:
  retile rewrite --rules
  retile rewrite mlp.partir --rule dumb-tiling --at 0,0 --dim 0 --range r:8
  retile rewrite before.partir --to after.partir)";

class RewriteVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "rewrite"; }
  [[nodiscard]] std::string summary() const override {
    return "apply a rule of PartIR, and prove that type and values stay";
  }
  [[nodiscard]] std::string footer() const override { return rewrite_footer; }
  void add_options(OptionList& options) override {
    options.text("FILE", file_, "an expression, or - for stdin (default)", "FILE");
    options.text("--rule", rule_, "the rule that is applied", "NAME");
    options.text("--at", at_, "the part that it is applied to, such as 0,1: of operand 0 operand 1",
                 "PATH");
    options.text("--dim", dim_, "of dumb-tiling: the dimension", "D");
    options.text("--range", range_, "name and width of a new range value", "NAME:WIDTH");
    options.text("--to", to_, "no rule: compares with the expression of another file", "FILE");
    options.flag("--rules", rules_, "list the rules, what they need, and their obligations");
  }
  [[nodiscard]] std::optional<Complaint> settle() override { return std::nullopt; }
  [[nodiscard]] std::string_view beside() const override { return oracle_program; }
  [[nodiscard]] Outcome work() const override {
    return failed(Exit::environment, {.code = Code::unsupported,
                                      .message = "retile-oracle rewrites, and no call in process"});
  }

 private:
  std::optional<std::string> file_;
  std::optional<std::string> rule_;
  std::optional<std::string> at_;
  std::optional<std::string> dim_;
  std::optional<std::string> range_;
  std::optional<std::string> to_;
  bool rules_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_rewrite_verb() { return std::make_unique<RewriteVerb>(); }

}  // namespace retile::cli
