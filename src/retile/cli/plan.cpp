// retile plan: the cheapest sequence of collectives, as text or JSON.
#include "retile/plan/plan.h"

#include <fmt/format.h>

#include "retile/cli/json.h"
#include "retile/cli/kernel.h"
#include "retile/cli/many.h"
#include "retile/cli/network.h"
#include "retile/cli/report.h"
#include "retile/cli/verb.h"
#include "retile/draw/svg.h"
#include "retile/lower/lower.h"
#include "retile/plan/certificate.h"
#include "retile/program/forms/text.h"

namespace retile::cli {
namespace {

constexpr const char* plan_footer = R"(
Exit codes: 0 a plan, 1 none within --memory-limit or of --collectives, 2 the input cannot be read,
3 the certificate or the picture is too large, or retile-kernel says nothing, 4 a file cannot be written.

`retile-oracle certify` checks a certificate line by line, with code of its own.

Examples:
  retile plan --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile plan --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' --explain
  retile plan --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' --one-dim --kernel
  retile plan --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' --dtype f64 --memory-limit 8KiB --json
  retile plan --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' --certificate - | retile-oracle certify
  retile plan --mesh n:4,a:4 '[2048{a}8192, 8192]' '[8192, 2048{a}8192]' --network 'n:50GB/s:15us,*:450GB/s:5us'
  retile plan --mesh x:2,y:3 '[2{x}4, 6]' '[4, 2{y}6]' --svg tiles.svg
  retile plan --mesh x:4 --many parameters.jsonl --dtype bf16 --memory-limit 80GB)";

struct PlanArguments {
  ProblemArguments problem;
  std::optional<std::string> many;
  std::optional<std::string> node;
  std::optional<std::string> network;
  bool json = false;
  bool explain = false;
  bool kernel = false;
  PlanningArguments planning;
  std::optional<std::string> certificate;
  std::optional<std::string> svg;
};

Result<PlanOptions> read_options(const PlanArguments& arguments) {
  const auto options = arguments.planning.read();
  if (!options) return options;
  for (const auto& [path, option] :
       {std::pair(&arguments.certificate, "--certificate"), std::pair(&arguments.svg, "--svg")}) {
    if (const auto named = not_empty(option, *path); !named) return refuse(named.error());
  }
  if (arguments.certificate == "-" && (arguments.json || arguments.explain)) {
    return refuse(
        about_argument(Code::bad_argument, "--certificate", "-",
                       fmt::format("the Program and its proof stand on stdout alone, without {}",
                                   arguments.json ? "--json" : "--explain"),
                       {"a file takes them beside it: --certificate FILE"}));
  }
  if (arguments.svg == "-") {
    return refuse(about_argument(Code::bad_argument, "--svg", "-",
                                 "a picture goes to a file, not to stdout", {"--svg plan.svg"}));
  }
  if (arguments.svg && arguments.svg == arguments.certificate) {
    return refuse(about_argument(Code::bad_argument, "--svg", *arguments.svg,
                                 "--certificate names this file, too"));
  }
  return options;
}

/// Writes the files that the options ask for beside the plan: the proof of its lower bound and the
/// picture. What ends the verb: a failure, or the proof where it goes to stdout.
std::optional<Outcome> write_beside(const PlanArguments& arguments, const Plan& plan) {
  if (!arguments.certificate && !arguments.svg) return std::nullopt;
  const Result<Program> made = program_of(plan);
  if (!made) return failed(made.error());
  const Program& program = *made;
  std::optional<Outcome> instead;
  if (arguments.certificate) {
    const Result<Certificate> certificate = certify(plan);
    if (!certificate) return failed(certificate.error());
    std::string text = certificate_text(program, to_text(*certificate));
    if (*arguments.certificate == "-") {
      instead = Outcome{.exit = Exit::yes, .out = std::move(text)};
    } else if (auto failure = write_named("--certificate", *arguments.certificate, text)) {
      return failure;
    }
  }
  if (arguments.svg) {
    const Result<std::string> picture = to_svg(program);
    if (!picture) return failed(picture.error());
    if (auto failure = write_named("--svg", *arguments.svg, *picture)) return failure;
  }
  return instead;
}

/// Why the plan is as it is.
std::string explained(const PlanArguments& arguments, const Problem& problem,
                      const PlanOptions& options, const Plan& plan) {
  const Result<Program> program = program_of(plan);
  if (!program) return plan_explanation(plan, "");
  const bool in_bytes = arguments.planning.dtype || options.cost_model == CostModel::bytes;
  return plan_explanation(
      plan, axes_text(problem, options, *program, step_labels(plan), in_bytes, nullptr));
}

/// No limit would help.
Outcome no_way(const Diagnostic& why, std::string_view schema, bool json) {
  if (!json) return {.exit = Exit::no, .out = why.message + "\n"};
  const Json object{{"schema", schema}, {"feasible", false}, {"reason", why.message}};
  return {.exit = Exit::no, .out = object.dump() + "\n"};
}

}  // namespace

Outcome infeasible(const Problem& problem, const PlanOptions& options, const Diagnostic& why,
                   std::string_view schema, bool json) {
  if (!options.memory_limit_bytes) return no_way(why, schema, json);
  const Result<Size> smallest =
      smallest_feasible_bytes(problem, options.element_bytes, options.collectives, options.steps);
  if (!smallest && smallest.error().code == Code::infeasible) return no_way(why, schema, json);
  // One that cannot be counted is still over the limit; then the answer just goes without it.
  if (!smallest && smallest.error().code != Code::size_overflow) return failed(smallest.error());
  const Size limit = *options.memory_limit_bytes;
  if (json) {
    Json object;
    object["schema"] = schema;
    object["feasible"] = false;
    object["limit_bytes"] = limit;
    object["smallest_feasible_bytes"] = nullptr;
    if (smallest) object["smallest_feasible_bytes"] = *smallest;
    return {.exit = Exit::no, .out = object.dump() + "\n"};
  }
  const std::string least =
      smallest ? fmt::format("; the least that suffices is {}", *smallest) : "";
  return {.exit = Exit::no,
          .out = fmt::format("no plan within {} bytes per device{}\n", limit, least)};
}

namespace {

Outcome plan_on_network(const PlanArguments& arguments, const Problem& problem,
                        const PlanOptions& options) {
  const auto links = read_links(*arguments.network);
  if (!links) return failed(links.error());
  const auto network = read_network(*links, problem);
  if (!network) return failed(network.error());
  const auto planned = network::plan(problem, *network, options);
  if (planned) {
    const std::string explanation = arguments.explain
                                        ? axes_text(problem, options, planned->program,
                                                    bare_labels(planned->program), true, &*network)
                                        : "";
    Outcome out = network_outcome(*planned, *network, arguments.json);
    (arguments.json ? out.words : out.out) += explanation;
    return out;
  }
  if (planned.error().code == Code::infeasible) {
    return infeasible(problem, options, planned.error(), "retile.plan/1", arguments.json);
  }
  return failed(planned.error());
}

Outcome work_on(const PlanArguments& arguments) {
  Result<PlanOptions> options = read_options(arguments);
  if (!options) return failed(options.error());
  if (arguments.many) {
    const auto read = read_arrays(*arguments.many, arguments.problem, arguments.planning.dtype);
    return read ? plan_of_many(*read, {*options, arguments.node, arguments.network, arguments.json})
                : failed(read.error());
  }
  const Result<Problem> problem = arguments.problem.read(true);
  if (!problem) return failed(problem.error());
  if (arguments.network) return plan_on_network(arguments, *problem, *options);
  if (arguments.certificate) *options = certifiable(*problem, *options);
  const Result<Plan> planned = plan(*problem, *options);
  if (!planned) {
    if (planned.error().code == Code::infeasible) {
      return infeasible(*problem, *options, planned.error(), "retile.plan/1", arguments.json);
    }
    return failed(planned.error());
  }
  std::optional<KernelOnPlan> says;
  if (arguments.kernel) {
    const auto asked = ask_kernel(*planned, time_limit().seconds_left());
    if (!asked) return failed(asked.error());
    says = *asked;
  }
  const Exit exit = says && says->reached_limit() ? Exit::undecided : Exit::yes;
  const std::string heard = says ? kernel_line(*says, *planned) : "";
  if (auto instead = write_beside(arguments, *planned)) {
    if (instead->exit == Exit::yes) instead->exit = exit, instead->words = heard;
    return *std::move(instead);
  }
  const std::string explanation =
      arguments.explain ? explained(arguments, *problem, *options, *planned) : "";
  if (arguments.json) {
    Json object = plan_object(*planned);
    if (says) object["kernel"] = kernel_object(*says);
    return {.exit = exit, .out = line_of(object), .words = explanation};
  }
  return {.exit = exit, .out = plan_text(*planned) + heard + explanation};
}

class PlanVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "plan"; }
  [[nodiscard]] std::string summary() const override {
    return "find a sequence of collectives, and say whether it is proved the cheapest";
  }
  [[nodiscard]] std::string footer() const override { return plan_footer; }
  void add_options(OptionList& options) override {
    given_.problem.add_options(options);
    options.text("--many", given_.many, std::string(many_help), "FILE");
    options.text("--node", given_.node, std::string(node_help), "N");
    options.flag("--json", given_.json, "print one JSON object, retile.plan/1 or retile.many/1");
    options.flag("--explain", given_.explain, "say why the plan is as it is");
    options.flag(
        "--kernel", given_.kernel,
        "also ask retile-kernel, which is proved, whether the Program is right and nothing "
        "is cheaper");
    options.flag("--collectives", given_.planning.collectives, std::string(collectives_help));
    options.flag("--one-dim", given_.planning.one_dim, std::string(one_dim_help));
    options.text("--cost", given_.planning.cost, std::string(cost_help), "MODEL");
    options.text("--network", given_.network, std::string(network_help), "LINKS");
    options.text("--memory-limit", given_.planning.memory_limit,
                 "most bytes per device, tile before and after a step together, with --many of all "
                 "arrays; B, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
                 "BYTES");
    options.text("--dtype", given_.planning.dtype, std::string(element_type_help), "TYPE");
    options.text("--certificate", given_.certificate,
                 "write the Program and the proof of its lower bound; - for stdout, without the "
                 "plan",
                 "FILE");
    options.text("--svg", given_.svg, "draw who holds what: before, at the largest and after",
                 "FILE");
  }
  [[nodiscard]] std::optional<Size> usual_timeout() const override { return std::nullopt; }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (!given_.many && given_.node) return Complaint{"--node is for --many"};
    if (given_.network && (given_.planning.cost || given_.planning.collectives ||
                           given_.certificate || given_.svg || given_.kernel)) {
      return Complaint{
          "--network plans by time, without --cost, --collectives, --certificate, --kernel and "
          "--svg"};
    }
    if (!given_.many) return given_.problem.missing();
    if (given_.certificate || given_.svg || given_.explain || given_.kernel) {
      return Complaint{
          "--certificate, --kernel, --svg and --explain are of one array, and --many names "
          "several"};
    }
    return beside_many(given_.problem);
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  PlanArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_plan_verb() { return std::make_unique<PlanVerb>(); }

}  // namespace retile::cli
