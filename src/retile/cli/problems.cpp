// retile problems: redistribution problems drawn by seed, one per line.
#include "retile/problems/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/verb.h"
#include "retile/notation/convert.h"

namespace retile::cli {
namespace {

constexpr const char* problems_footer = R"HELP(
Families take turns: powers, mixed, coprime, composite, section8, uneven, orders, sums. Problem K of a
seed is the same whichever others are printed. A line without --json is arguments of `retile plan`.

Exit codes: 0 printed, 2 an argument cannot be read.

Examples:
  retile problems --seed 1 --count 8 | xargs -L 1 retile plan
  retile problems --family uneven,sums --count 100 --json
  retile problems --first 33 --count 1 --as jax,hlo2,dtensor --json)HELP";

constexpr Size most_problems = 100'000;
constexpr Size most_number = 1'000'000'000;

struct ProblemsArguments {
  std::optional<std::string> seed;
  std::optional<std::string> first;
  std::optional<std::string> count;
  std::optional<std::string> families;
  std::optional<std::string> forms;
  bool json = false;
};

/// What is to be printed.
struct Order {
  Size seed = 1;
  Size first = 0;
  Size count = 1;
  std::vector<std::size_t> families = {};  ///< none: all
  std::vector<std::size_t> forms = {};
  bool json = false;
};

/// `jax,hlo2`, each one of the names and none twice; the caret points at the one that is not.
Result<std::vector<std::size_t>> parse_list(std::string_view text, std::string_view source,
                                            std::span<const std::string_view> names) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto name = std::find(names.begin(), names.end(), word);
    const auto index = static_cast<std::size_t>(name - names.begin());
    const bool twice = std::find(out.begin(), out.end(), index) != out.end();
    if (name == names.end() || twice) {
      Diagnostic why = about_argument(Code::bad_argument, source, text,
                                      twice ? "given twice" : "not a value of this option",
                                      {fmt::format("the values are {}", fmt::join(names, ", "))});
      why.where = {at, end};
      return refuse(std::move(why));
    }
    out.push_back(index);
    at = end + 1;
  }
  return out;
}

/// `target` as an option says it, where it is given.
Result<void> read_count(const std::optional<std::string>& text, std::string_view source, Size least,
                        Size most, Size& target) {
  if (!text) return {};
  const auto number = parse_count(*text, source, least, most);
  if (!number) return refuse(number.error());
  target = *number;
  return {};
}

Result<void> read_list(const std::optional<std::string>& text, std::string_view source,
                       std::span<const std::string_view> names, std::vector<std::size_t>& target) {
  if (!text) return {};
  auto list = parse_list(*text, source, names);
  if (!list) return refuse(std::move(list.error()));
  target = *std::move(list);
  return {};
}

Result<Order> read_order(const ProblemsArguments& arguments) {
  constexpr Size most_seed = std::numeric_limits<Size>::max();
  Order out{.json = arguments.json};
  return read_count(arguments.seed, "--seed", 0, most_seed, out.seed)
      .and_then([&] { return read_count(arguments.first, "--first", 0, most_number, out.first); })
      .and_then([&] { return read_count(arguments.count, "--count", 1, most_problems, out.count); })
      .and_then([&] {
        return read_list(arguments.families, "--family", problems::family_names, out.families);
      })
      .and_then([&] { return read_list(arguments.forms, "--as", sharding_form_names, out.forms); })
      .map([&] { return out; });
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':' || c == ',';
}

/// The words as a shell and xargs read them.
std::string line_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool plain = std::all_of(word.begin(), word.end(), is_plain);
    out += out.empty() ? "" : " ";
    out += plain ? word : "'" + word + "'";
  }
  return out + "\n";
}

/// The names of axes, MAJOR to minor.
Json names_json(const Mesh& mesh, const std::vector<std::size_t>& axes) {
  Json out = Json::array();
  for (const std::size_t axis : axes) out.push_back(mesh.axes()[axis].name);
  return out;
}

Json dims_json(const Mesh& mesh, const problems::End& end) {
  Json out = Json::array();
  for (const auto& axes : end.dims) out.push_back(names_json(mesh, axes));
  return out;
}

/// Nothing where the form cannot say the end, its order of devices included.
Json end_json(const Sharding& end, ShardingForm form) {
  const bool loses_order = end.mesh.order && form == ShardingForm::paper;
  return loses_order || !mesh_text(end.mesh, form) ? Json() : or_null(to_text(end, form));
}

Json form_json(const Sharding& from, const Sharding& to, ShardingForm form) {
  Json out;
  const Json mesh = or_null(mesh_text(from.mesh, form));
  const Json mesh_to = or_null(mesh_text(to.mesh, form));
  out["mesh"] = mesh;
  out["mesh_to"] = mesh_to == mesh ? Json() : mesh_to;
  out["from"] = end_json(from, form);
  out["to"] = end_json(to, form);
  return out;
}

std::string problem_json(const Order& order, Size number, const problems::Problem& problem) {
  Json out;
  out["schema"] = "retile.problem/1";
  out["seed"] = order.seed;
  out["id"] = number;
  out["family"] = problems::family_names[static_cast<std::size_t>(problem.family)];
  out["mesh"] = Json::array();
  for (const Axis& axis : problem.mesh.axes()) {
    out["mesh"].push_back(Json::array({axis.name, axis.size}));
  }
  out["shape"] = problem.shape;
  out["from"] = dims_json(problem.mesh, problem.from);
  out["to"] = dims_json(problem.mesh, problem.to);
  out["from_order"] = problem.from.order ? Json(*problem.from.order) : Json();
  out["to_order"] = problem.to.order ? Json(*problem.to.order) : Json();
  out["from_sum"] = names_json(problem.mesh, problem.from.sums);
  out["to_sum"] = names_json(problem.mesh, problem.to.sums);
  out["arguments"] = problems::arguments_of(problem);
  if (order.forms.empty()) return out.dump() + "\n";
  const Sharding from = problems::sharding_of(problem, problem.from);
  const Sharding to = problems::sharding_of(problem, problem.to);
  for (const std::size_t form : order.forms) {
    out["as"][std::string(sharding_form_names[form])] =
        form_json(from, to, static_cast<ShardingForm>(form));
  }
  return out.dump() + "\n";
}

bool is_wanted(const Order& order, Size number) {
  const auto family = static_cast<std::size_t>(problems::family_of(number));
  const auto& wanted = order.families;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), family) != wanted.end();
}

Outcome work_on(const ProblemsArguments& arguments) {
  const auto order = read_order(arguments);
  if (!order) return failed(order.error());
  Outcome outcome;
  Size number = order->first;
  for (Size printed = 0; printed < order->count; ++number) {
    if (!is_wanted(*order, number)) continue;
    const problems::Problem problem = problems::draw(order->seed, number);
    outcome.out += order->json ? problem_json(*order, number, problem)
                               : line_text(problems::arguments_of(problem));
    ++printed;
  }
  return outcome;
}

class ProblemsVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "problems"; }
  [[nodiscard]] std::string summary() const override {
    return "draw problems by seed, to try planners with";
  }
  [[nodiscard]] std::string footer() const override { return problems_footer; }
  void add_options(OptionList& options) override {
    options.text("--seed", given_.seed, "what they are drawn by, default 1", "N");
    options.text("--first", given_.first, "the number of the first one, default 0", "N");
    options.text("--count", given_.count, "how many, default 1", "N");
    options.text("--family", given_.families, "only these, such as uneven,sums", "NAMES");
    options.text("--as", given_.forms, "with --json: the ends in these forms of `retile convert`",
                 "FORMS");
    options.flag("--json", given_.json, "print one JSON object per line, retile.problem/1");
  }
  [[nodiscard]] std::optional<Size> usual_timeout() const override { return std::nullopt; }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (given_.forms && !given_.json) return Complaint{"--as needs --json"};
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  ProblemsArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_problems_verb() { return std::make_unique<ProblemsVerb>(); }

}  // namespace retile::cli
