// retile grad: the backward pass of statements.
#include <algorithm>
#include <utility>

#include "retile/array/gradient.h"
#include "retile/cli/json.h"
#include "retile/cli/verb.h"

namespace retile::cli {

namespace {

constexpr const char* grad_footer = R"HELP(
Prints a program, retile.array/1, that returns for each input x an array dx: the derivatives by its elements of

  sum over all i of NAME[i] * dNAME[i],

where dNAME is a new input of the shape of NAME. With ones in it that is the derivative of the sum of NAME.
Arrays that FILE's statements write are read and not worked out again, and what no derivative needs is left out.
Each dx is returned in the layout that x has. Schedules are left out, tactics stay.

Derivatives are shared equally by the arguments of a maximum or minimum that are equal to it. That of relu at 0 is 0.

Exit codes: 0 printed, 2 FILE cannot be read, or a derivative is no statement: of x[i+1], x[2*i], x[i,0] and x[i,i], which
read a part of x.

Examples:
  retile grad mlp.array
  retile grad block.array --constant m | retile partition - --devices 8 --choose --memory-limit 2MiB
  retile grad mlp.array --with-respect-to w,u --value
  retile grad mlp.array --of h --json)HELP";

struct GradArguments {
  std::optional<std::string> file;
  std::optional<std::string> of;
  std::optional<std::string> with_respect_to;
  std::optional<std::string> constant;
  bool value = false;
  bool json = false;
};

std::string gradient_json(const array::Gradient& gradient) {
  Json out;
  out["schema"] = "retile.gradient/1";
  out["of"] = gradient.of;
  out["cotangent"] = gradient.cotangent;
  out["gradients"] = Json::array();
  for (const auto& [array, name] : gradient.gradients) {
    out["gradients"].push_back({{"array", array}, {"gradient", name}});
  }
  out["program"] = gradient.program;
  return line_of(out);
}

/// Names with commas between them.
std::vector<std::string> names_of(const std::optional<std::string>& option) {
  std::vector<std::string> out;
  if (!option) return out;
  for (std::size_t begin = 0; begin <= option->size();) {
    const std::size_t end = std::min(option->find(',', begin), option->size());
    out.push_back(option->substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Outcome work_on(const GradArguments& arguments) {
  const auto text = read_text(*arguments.file, "FILE");
  if (!text) return failed(text.error());
  const text::Input input = {*text, *arguments.file, true};
  const auto statements = array::read_statements(input);
  if (!statements) return failed(statements.error());
  const auto gradient = array::gradient(input, *statements,
                                        {.of = arguments.of.value_or(""),
                                         .with_respect_to = names_of(arguments.with_respect_to),
                                         .constant = names_of(arguments.constant),
                                         .value = arguments.value});
  if (!gradient) return failed(gradient.error());
  return {.exit = Exit::yes, .out = arguments.json ? gradient_json(*gradient) : gradient->program};
}

class GradVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "grad"; }
  [[nodiscard]] std::string summary() const override { return "the backward pass of statements"; }
  [[nodiscard]] std::string footer() const override { return grad_footer; }
  void add_options(OptionList& options) override {
    options.text("FILE", given_.file, "statements, retile.array/1, or - for standard input",
                 "FILE");
    options.text("--of", given_.of,
                 "the array whose gradient is wanted (default: what is returned)", "NAME");
    options.text("--with-respect-to", given_.with_respect_to,
                 "arrays, with commas between them (default: all inputs that it depends on)",
                 "NAMES");
    options.text("--constant", given_.constant,
                 "arrays that are taken as given, such as the maximum that keeps softmax in range",
                 "NAMES");
    options.flag("--value", given_.value, "return the array itself, too");
    options.flag("--json", given_.json, "print one JSON object, retile.gradient/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (!given_.file) return Complaint{"FILE is missing"};
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  GradArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_grad_verb() { return std::make_unique<GradVerb>(); }

}  // namespace retile::cli
