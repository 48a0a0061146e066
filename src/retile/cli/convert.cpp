// retile convert: a sharding of one system as another one writes it, or a program as a Program.
#include "retile/notation/convert.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/cli/foreign.h"
#include "retile/cli/json.h"
#include "retile/cli/verb.h"
#include "retile/foreign/reader.h"

namespace retile::cli {

namespace {

constexpr const char* convert_footer = R"HELP(
With --as program FROM is a file, or - for stdin, that holds what another system compiled. The answer is
what `retile check --program` prints.

Exit codes: 0 written, 2 FROM cannot be read, or the form cannot say it.

Examples:
  retile convert --shape 32,24 --as hlo2 "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=P('y'))"
  retile convert --mesh x:2,y:4 --shape 32,24 --as sdy '{devices=[4,2]<=[2,4]T(1,0)}'
  retile convert --shape 8,8 --as program module.txt)HELP";

/// The form that is none of shardings.
constexpr std::string_view program_form = "program";

struct ConvertArguments {
  ShardingArguments given;
  std::optional<std::string> mesh_to;
  std::optional<std::string> order_to;
  std::optional<std::string> form;
  bool json = false;
};

Result<ShardingForm> read_form(const std::string& text) {
  if (text == "mlir") return ShardingForm::mlir19;
  std::vector<std::string_view> names(sharding_form_names.begin(), sharding_form_names.end());
  names.push_back(program_form);
  return parse_choice(text, "--as", names).map([](std::size_t index) {
    return static_cast<ShardingForm>(index);
  });
}

Result<Sharding> read_from(const ConvertArguments& arguments) {
  auto sharding = arguments.given.read(!arguments.mesh_to && !arguments.order_to);
  if (!sharding || (!arguments.mesh_to && !arguments.order_to)) return sharding;
  const auto& over = arguments.mesh_to ? arguments.mesh_to : arguments.given.mesh;
  const auto to = read_placed(over, "--mesh-to", arguments.order_to, "--order-to");
  if (!to) return refuse(to.error());
  auto out = over_mesh(*sharding, **to);
  if (out) return out;
  Diagnostic why = about_argument(out.error().code, "--mesh-to", *over, out.error().message);
  return refuse(std::move(why));
}

std::string json_text(const Sharding& sharding, ShardingForm form, const std::string& text) {
  Json object;
  object["schema"] = "retile.convert/1";
  object["as"] = sharding_form_names[static_cast<std::size_t>(form)];
  object["text"] = text;
  object["mesh"] = or_null(mesh_text(sharding.mesh, form));
  object["shape"] = sharding.layout.global();
  object["type"] = type_text(sharding);
  return object.dump();
}

/// What another system compiled, as Programs.
Outcome convert_file(const ConvertArguments& arguments) {
  const auto text = read_text(*arguments.given.from, "FROM");
  if (!text) return failed(text.error());
  const auto language = foreign::language_of(*text);
  if (!language) {
    return failed(about_argument(Code::syntax, "FROM", *arguments.given.from,
                                 "no file of another system's programs",
                                 {"docs/reference/foreign.md lists what is read"}));
  }
  ForeignArguments foreign;
  foreign.ends.mesh = arguments.given.mesh;
  foreign.ends.shape = arguments.given.shape;
  foreign.program = true;
  const std::string source = *arguments.given.from == "-" ? "stdin" : *arguments.given.from;
  return check_foreign(*text, source, *language, foreign);
}

Outcome work_on(const ConvertArguments& arguments) {
  if (*arguments.form == program_form) return convert_file(arguments);
  const auto form = read_form(*arguments.form);
  if (!form) return failed(form.error());
  const auto sharding = read_from(arguments);
  if (!sharding) return failed(sharding.error());
  const auto text = to_text(*sharding, *form);
  if (!text) {
    return failed(about_argument(text.error().code, "FROM", *arguments.given.from,
                                 text.error().message, text.error().notes));
  }
  return {.exit = Exit::yes,
          .out = (arguments.json ? json_text(*sharding, *form, *text) : *text) + "\n"};
}

class ConvertVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "convert"; }
  [[nodiscard]] std::string summary() const override {
    return "write a sharding as another system does";
  }
  [[nodiscard]] std::string footer() const override { return convert_footer; }
  void add_options(OptionList& options) override {
    options.text("--mesh", given_.given.mesh, "axes of the mesh, such as x:4,y:6, in any notation",
                 "MESH");
    options.text("--order", given_.given.order, "the device at each position of the mesh", "ORDER");
    options.text("--mesh-to", given_.mesh_to, "a mesh whose axes the answer names", "MESH");
    options.text("--order-to", given_.order_to, "the device at each position of that mesh",
                 "ORDER");
    options.text("--shape", given_.given.shape,
                 "the global shape, such as 16,8, where FROM does not say it", "SHAPE");
    options.text("--as", given_.form,
                 "jax, hlo1, hlo2, hlo3, sdy, dtensor, mlir19 (mlir), mlir22 or paper; or program",
                 "FORM");
    options.text("FROM", given_.given.from, "a sharding in any notation, or the file of a program",
                 "TYPE");
    options.flag("--json", given_.json, "print one JSON object, retile.convert/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (!given_.given.from) return Complaint{"FROM is missing"};
    if (!given_.form) return Complaint{"--as is missing"};
    if (given_.form != program_form) return std::nullopt;
    if (given_.json) return Complaint{"--as program has no JSON form"};
    if (given_.given.order || given_.mesh_to || given_.order_to) {
      return Complaint{"--order, --mesh-to and --order-to are for shardings"};
    }
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  ConvertArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_convert_verb() { return std::make_unique<ConvertVerb>(); }

}  // namespace retile::cli
