// retile lower: the plan as a Program, or one exchange in its place.
#include "retile/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "retile/cli/many.h"
#include "retile/cli/network.h"
#include "retile/cli/verb.h"
#include "retile/core/names.h"
#include "retile/emit/emit.h"
#include "retile/exec/exchange/direct.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/spmd/emit/mpi_c.h"
#include "retile/spmd/judge.h"

namespace retile::cli {

namespace {

constexpr const char* lower_footer = R"(
Instead of --mesh, FROM and TO: a file with a module, retile.spmd/1, or - for stdin. It is printed with
the steps of every redistribution; with --network and --dtype these are plans for that network. With
--as mpi-c a C program is printed that runs it on that many processes and compares every element.

Exit codes: 0 a Program, 1 none of --collectives or within --memory-limit, 2 the input cannot be read or --as cannot say the
plan, 3 more than 2^22 transfers of an exchange.

Examples:
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' --json
  retile lower --mesh x:2 '[2{x}4, 4]' '[4, 2{x}4]' --direct
  retile lower --mesh x:4,y:4 '[4{y}16]' '[4{x}16]' --direct --node 4
  retile lower --mesh x:2 '[2{x}4, 4]' '[4, 2{x}4]' --as sdy
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' --dtype f64 --memory-limit 8KiB
  retile lower --many parameters.jsonl --rank 0 --json
  retile lower listing_3.spmd
  retile lower listing_3.spmd --as mpi-c
  retile lower listing_3.spmd --network '*:50GB/s:15us')";

class LowerVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "lower"; }
  [[nodiscard]] std::string summary() const override { return "print the plan as a Program"; }
  [[nodiscard]] std::string footer() const override { return lower_footer; }
  void add_options(OptionList& options) override {
    problem_.add_options(options);
    options.flag("--direct", direct_,
                 "no plan: one exchange that moves every element straight to its new tile");
    options.flag("--collectives", planning_.collectives, std::string(collectives_help));
    options.flag("--one-dim", planning_.one_dim, std::string(one_dim_help));
    options.text("--cost", planning_.cost, std::string(cost_help), "MODEL");
    options.text("--as", form_,
                 "in another system's text: sdy, stablehlo, hlo, mlir19, mlir22, jax or mpi-c",
                 "FORM");
    options.text(
        "--dtype", planning_.dtype,
        "with --as, --many, --memory-limit or --cost: type of elements, such as bf16 (default f32)",
        "TYPE");
    options.text("--many", many_, std::string(many_help), "FILE");
    options.text("--rank", rank_, "with --many: the device whose own part is printed", "RANK");
    options.text(
        "--node", node_,
        "devices of a node, by their numbers: an exchange serves each from its own node where "
        "it can, and with --many what several of them need alike comes from other nodes once",
        "N");
    options.text("--network", network_, std::string(network_help), "LINKS");
    options.text("--memory-limit", planning_.memory_limit,
                 "most bytes per device, tile before and after a step together, with --many of all "
                 "arrays, which go in rounds",
                 "BYTES");
    options.flag("--json", json_, "print one JSON object, retile.program/1 or retile.rank/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (direct_ && planning_.collectives)
      return Complaint{"--direct is an exchange, --collectives has none"};
    if (form_ && json_) return Complaint{"--json is a form of its own, and --as another one"};
    const bool counts_bytes = planning_.memory_limit || planning_.cost || network_;
    if (network_ && (planning_.cost || planning_.collectives)) {
      return Complaint{"--network plans by time, without --cost and --collectives"};
    }
    if (planning_.dtype && !form_ && !many_ && !counts_bytes)
      return Complaint{"--dtype is for --as: a Program moves any elements"};
    if (direct_ && (planning_.one_dim || counts_bytes)) {
      return Complaint{
          "--direct is an exchange, --one-dim, --cost, --network and --memory-limit are for plans"};
    }
    if (many_) return settle_many();
    if (rank_) return Complaint{"--rank is for --many"};
    if (!is_module()) return problem_.missing();
    if (node_ || json_ || direct_ || planning_.collectives || planning_.one_dim ||
        planning_.memory_limit || planning_.cost) {
      return Complaint{"a module is printed as a module, with plans of its own or for a --network"};
    }
    return form_ ? settle_module_form() : std::nullopt;
  }
  [[nodiscard]] Outcome work() const override {
    if (many_) return many();
    if (is_module()) return module();
    const Result<Problem> problem = problem_.read();
    if (!problem) return failed(problem.error());
    Result<std::size_t> form = 0;
    if (form_) {
      form = parse_choice(*form_, "--as", {emit::form_names.begin(), emit::form_names.end()});
    }
    if (!form) return failed(form.error());
    const auto element = read_element(static_cast<emit::Form>(*form));
    if (!element) return failed(element.error());
    const auto options = planning();
    if (!options) return failed(options.error());
    Result<Size> node = 1;
    if (node_) node = parse_count(*node_, "--node", 1, max_devices);
    if (!node) return failed(node.error());
    const Result<Program> program = make(*problem, *options, {.node_devices = *node});
    if (!program && program.error().code == Code::infeasible) {
      return infeasible(*problem, *options, program.error(), "retile.plan/1", json_);
    }
    if (!program) return failed(program.error());
    if (form_)
      return in_form(*problem, *options, *program, {static_cast<emit::Form>(*form), *element});
    return {.exit = Exit::yes, .out = json_ ? to_json(*program) + "\n" : to_text(*program)};
  }

 private:
  /// Whether one file stands in the place of FROM and TO: no type is written without a bracket.
  [[nodiscard]] bool is_module() const {
    return problem_.from && !problem_.to && !problem_.mesh &&
           problem_.from->find_first_of("[{(<") == std::string::npos;
  }
  [[nodiscard]] std::optional<Complaint> settle_module_form() const {
    if (*form_ != emit::form_names[static_cast<std::size_t>(emit::Form::mpi_c)]) {
      return Complaint{fmt::format("no module is printed as {}", shown_name(*form_)),
                       {"--as mpi-c writes a module as a C program"}};
    }
    if (network_ || planning_.dtype) {
      return Complaint{"a module in C has elements and plans of its own",
                       {"`retile lower MODULE --network LINKS | retile lower - --as mpi-c` takes "
                        "those for a network"}};
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Complaint> settle_many() const {
    if (form_ || direct_)
      return Complaint{"--as and --direct are of one array, and --many names several"};
    if (!rank_) {
      return Complaint{"--rank is missing",
                       {"of many arrays the part of one device is printed: --rank 0"}};
    }
    return beside_many(problem_);
  }
  /// A type of elements without a limit or a cost in bytes is one of --as alone, and may have no bytes.
  [[nodiscard]] Result<PlanOptions> planning() const {
    PlanningArguments out = planning_;
    if (!out.memory_limit && !out.cost && !network_) out.dtype.reset();
    return out.read();
  }
  [[nodiscard]] Outcome many() const {
    const auto rank = parse_count(*rank_, "--rank", 0, std::numeric_limits<Size>::max());
    if (!rank) return failed(rank.error());
    const auto options = planning();
    if (!options) return failed(options.error());
    const auto read = read_arrays(*many_, problem_, planning_.dtype);
    return read ? rank_outcome(*read, {*options, node_, network_, json_}, *rank)
                : failed(read.error());
  }
  [[nodiscard]] Outcome module() const {
    const Result<std::string> text = read_text(*problem_.from, "FILE");
    if (!text) return failed(text.error());
    const std::string source = *problem_.from == "-" ? "stdin" : *problem_.from;
    const auto module = spmd::read_module({.text = *text, .source = source, .numbered = true});
    if (!module) return failed(module.error());
    if (form_) {
      auto program = spmd::mpi_c(*module, *text);
      return program ? Outcome{.out = *std::move(program)} : failed(program.error());
    }
    auto planner = module_planner(*module);
    if (!planner) return failed(planner.error());
    auto out = spmd::lowered(*module, *text, *planner);
    return out ? Outcome{.out = *std::move(out)} : failed(out.error());
  }
  [[nodiscard]] Result<spmd::Planner> module_planner(const spmd::Module& module) const {
    if (!network_) return spmd::usual_planner();
    const auto options = planning();
    if (!options) return refuse(options.error());
    const auto links = read_links(*network_);
    if (!links) return refuse(links.error());
    if (module.has_order) {
      return refuse(about_argument(Code::unsupported, "--network", *network_,
                                   "the module has an order of its devices",
                                   {"without --network, plans are of fewest elements"}));
    }
    auto known = read_network(*links, module.mesh, module.devices);
    if (!known) return refuse(known.error());
    return network_planner(*std::move(known), *options);
  }
  static spmd::Planner network_planner(network::Network known, const PlanOptions& options) {
    return {[known = std::move(known),
             options](const Problem& problem) -> Result<spmd::Planner::Steps> {
              auto planned = network::plan(problem, known, options);
              if (!planned) return refuse(planned.error());
              return spmd::Planner::Steps{std::move(planned->program), planned->time};
            },
            time_text};
  }

  [[nodiscard]] Result<Program> make(const Problem& problem, const PlanOptions& options,
                                     const DirectOptions& exchange) const {
    if (direct_) return direct(problem, exchange);
    if (network_) {
      const auto links = read_links(*network_);
      if (!links) return refuse(links.error());
      const auto network = read_network(*links, problem);
      if (!network) return refuse(network.error());
      auto planned = network::plan(problem, *network, options);
      if (!planned) return refuse(planned.error());
      return std::move(planned->program);
    }
    const Result<Plan> planned = plan(problem, options);
    if (!planned) return refuse(planned.error());
    return planned->exchange ? direct(planned->problem, exchange) : program_of(*planned);
  }

  /// A form, and what the elements are in it.
  struct Written {
    emit::Form form;
    operations::ElementKind element;
  };
  [[nodiscard]] Result<operations::ElementKind> read_element(emit::Form form) const {
    if (!planning_.dtype) return operations::element_kind("f32");
    if (emit::says_elements(form)) return parse_element_name(*planning_.dtype, "--dtype");
    if (planning_.memory_limit || planning_.cost || network_) {
      return operations::element_kind("f32");
    }
    return refuse(about_argument(Code::bad_argument, "--dtype", *planning_.dtype,
                                 fmt::format("--as {} has elements of its own", *form_),
                                 {"in JAX they are any, in C 64-bit integers"}));
  }

  /// No form has steps along several dimensions yet: what has them is planned without.
  [[nodiscard]] Outcome in_form(const Problem& problem, PlanOptions options, const Program& program,
                                const Written& wanted) const {
    if (std::none_of(program.steps.begin(), program.steps.end(), over_dims)) {
      return emitted(program, wanted);
    }
    options.steps = Scope::one_dim;
    const Result<Program> single = make(problem, options, {});
    return single ? emitted(*single, wanted) : failed(single.error());
  }
  [[nodiscard]] Outcome emitted(const Program& program, const Written& wanted) const {
    auto text = emit::emit(program, wanted.form, wanted.element);
    if (text) return {.exit = Exit::yes, .out = *std::move(text)};
    return failed(about_argument(text.error().code, "--as", *form_, text.error().message,
                                 text.error().notes));
  }

  ProblemArguments problem_;
  std::optional<std::string> many_;
  std::optional<std::string> rank_;
  std::optional<std::string> node_;
  std::optional<std::string> network_;
  PlanningArguments planning_;
  std::optional<std::string> form_;
  bool direct_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_lower_verb() { return std::make_unique<LowerVerb>(); }

}  // namespace retile::cli
