// retile explain: what a peer holds and moves for a reshard, what suffices, and the plan in the
// peer's own form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "retile/cli/foreign.h"
#include "retile/cli/json.h"
#include "retile/cli/many.h"
#include "retile/cli/network.h"
#include "retile/cli/report.h"
#include "retile/cli/validate_folder.h"
#include "retile/cli/verb.h"
#include "retile/core/names.h"
#include "retile/emit/emit.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/judge.h"
#include "retile/foreign/reader.h"
#include "retile/foreign/warning.h"
#include "retile/lower/lower.h"
#include "retile/notation/sharding.h"
#include "retile/operations/element.h"
#include "retile/plan/lacking.h"
#include "retile/plan/plan.h"

namespace retile::cli {
namespace {

constexpr const char* explain_footer = R"HELP(
One argument: XLA's warning `Involuntary full rematerialization`, or a file (- for stdin) that holds such
warnings, or a file that `retile check` reads, such as a trace of DTensor. Two arguments: the two ends.
The plan comes in the form of the notation that was read, or as --as says.

A folder of XLA's dumps, or two files, the texts before and after the partitioner: what whole programs move,
as `retile validate --explain` says it. Plans come in the language of the text after, or as --as says.

Exit codes: 0 explained, 2 the input cannot be read or --as cannot say the plan, 3 a limit was reached.

Examples:
  retile explain "$(grep Involuntary log.txt | head -n 1)"
  retile explain --as sdy log.txt
  retile explain --shape 16,64 "NamedSharding(mesh=Mesh('x': 4), spec=P('x'))" "P(None, 'x')"
  retile explain trace.json
  retile explain --many parameters.jsonl
  retile explain dump
  retile explain before.hlo after.hlo)HELP";

struct ExplainArguments {
  ProblemArguments problem;
  std::optional<std::string> many;
  std::optional<std::string> dtype;
  std::optional<std::string> form;
  std::optional<std::string> network;
  bool json = false;
};

/// What somebody else holds and moves.
struct Peer {
  std::string text;  ///< who, and what it does
  std::optional<Size> cost = {};
  Size height = 0;
  std::optional<Size> received = {};  ///< most elements that one device gets of others
};

/// One reshard that is asked about.
struct Question {
  std::string name = {};  ///< of the operation, function or array; empty: of two arguments
  std::vector<std::string> arrays = {};  ///< with --many: that are resharded so
  Problem problem;
  std::optional<Peer> peer = {};  ///< nothing: gathering everything stands in its place
  bool replicates = false;        ///< the peer says that it gathers everything
  std::string element = {};       ///< its type, by any name; empty: nobody says it
  Size element_bytes = 0;         ///< 0: nobody knows
  std::optional<emit::Form> form = {};
  std::vector<std::string> notes = {};
};

/// What the input itself says of its elements.
void say_element(Question& question, const std::string& element) {
  question.element = element;
  if (!element.empty()) question.element_bytes = operations::element_kind(element).bytes();
}

// ---- The warning --------------------------------------------------------------------------------

/// The shape of the array: as --shape says, or of the tiles that the warning names.
Result<std::optional<std::string>> shape_of(const foreign::Warning& warning,
                                            const ExplainArguments& arguments) {
  if (arguments.problem.shape || !warning.tile) return arguments.problem.shape;
  const auto mesh =
      read_placed(arguments.problem.mesh, "--mesh", arguments.problem.order, "--order");
  if (!mesh) return refuse(mesh.error());
  const auto out = foreign::array_of(warning, *mesh);
  if (!out) return refuse(out.error());
  return std::optional(fmt::format("{}", fmt::join(*out, ",")));
}

Result<Question> question_of(const foreign::Warning& warning, const ExplainArguments& arguments) {
  const auto shape = shape_of(warning, arguments);
  if (!shape) return refuse(shape.error());
  ProblemArguments ends = arguments.problem;
  ends.from = warning.from;
  ends.to = warning.to;
  ends.shape = *shape;
  auto problem = ends.read(true);
  if (!problem) return refuse(std::move(problem.error()));
  Question out{.name = warning.operation, .problem = *std::move(problem)};
  out.replicates = !warning.is_torch;
  if (!warning.is_torch) out.form = emit::Form::hlo;
  say_element(out, warning.element);
  if (*shape && !arguments.problem.shape) {
    out.notes.push_back(fmt::format("the warning names tiles {}: the array is taken to be {}",
                                    fmt::join(*warning.tile, ","), **shape));
  }
  return out;
}

// ---- Files and ends -----------------------------------------------------------------------------

/// What the parameter of a function holds, as its file spells it; a trace of DTensor does not say it.
std::string element_of(const foreign::Function& function) {
  for (const foreign::Operation& operation : function.operations) {
    if (!std::holds_alternative<foreign::Parameter>(operation.action)) continue;
    return function.values[operation.results.front()].type.element;
  }
  return "";
}

Result<Question> question_of(const foreign::Task& task, foreign::Language language) {
  const auto& [function, ends] = task;
  const foreign::Verdict verdict = foreign::judge(function, ends.from, ends.to, judging());
  auto problem = Problem::make(ends.from, ends.to);
  if (!problem) return refuse(std::move(problem.error()));
  problem->numbers = DeviceNumbers(function.ranks);
  Question out{.name = function.name, .problem = *std::move(problem)};
  out.notes = ends.notes;
  if (!verdict.right) {
    out.notes.push_back("what it does is not known: " + verdict.limit);
  } else {
    out.peer = Peer{.text = *verdict.right ? "as it stands" : "as it stands, and wrong",
                    .cost = verdict.cost,
                    .height = verdict.height,
                    .received = verdict.received};
  }
  if (language != foreign::Language::dtensor) say_element(out, element_of(function));
  if (language == foreign::Language::hlo) out.form = emit::Form::hlo;
  if (language == foreign::Language::mlir) out.form = emit::Form::stablehlo;
  return out;
}

Result<std::vector<Question>> of_file(std::string_view text, const std::string& source,
                                      foreign::Language language,
                                      const ExplainArguments& arguments) {
  const auto mesh =
      read_placed(arguments.problem.mesh, "--mesh", arguments.problem.order, "--order");
  if (!mesh) return refuse(mesh.error());
  foreign::EndOptions options{.mesh = *mesh};
  if (arguments.problem.shape) {
    const auto shape = parse_shape(*arguments.problem.shape, "--shape");
    if (!shape) return refuse(shape.error());
    options.shape = *shape;
  }
  const auto tasks =
      foreign::read_tasks({.text = text, .source = source, .numbered = true}, language, options);
  if (!tasks) return refuse(tasks.error());
  std::vector<Question> out;
  for (const foreign::Task& task : *tasks) {
    auto question = question_of(task, language);
    if (!question) return refuse(std::move(question.error()));
    out.push_back(*std::move(question));
  }
  return out;
}

/// Whether the array of --shape, if it was given, can be that of the warning.
Result<bool> fits_shape(const foreign::Warning& warning, const ExplainArguments& arguments) {
  if (!arguments.problem.shape) return true;
  const auto shape = parse_shape(*arguments.problem.shape, "--shape");
  if (!shape) return refuse(shape.error());
  const auto mesh =
      read_placed(arguments.problem.mesh, "--mesh", arguments.problem.order, "--order");
  if (!mesh) return refuse(mesh.error());
  return foreign::is_array_of(warning, *shape, *mesh);
}

/// `%dot of tiles 8,32,16`
std::string tiles_text(const foreign::Warning& warning) {
  return fmt::format("{} of tiles {}", shortened(warning.operation), fmt::join(*warning.tile, ","));
}

/// The refusal of a shape that is that of no warning.
Diagnostic foreign_shape(const foreign::Warning& warning, const std::string& shape) {
  return about_argument(
      Code::bad_argument, "--shape", shape,
      "no array of this shape is in the warning of " + tiles_text(warning),
      {"the warning names the shape of one tile, and --shape is that of the whole "
       "array: without it the array is taken from the tile"});
}

/// The questions of all warnings; of several those that --shape cannot mean are passed over.
Result<std::vector<Question>> of_warnings(std::string_view text,
                                          const ExplainArguments& arguments) {
  const auto warnings = foreign::read_warnings(text, "WARNING");
  if (!warnings) return refuse(warnings.error());
  std::vector<Question> out;
  std::vector<std::string> passed_over;
  for (const foreign::Warning& warning : *warnings) {
    const auto fits = fits_shape(warning, arguments);
    if (!fits) return refuse(fits.error());
    if (!*fits) {
      passed_over.push_back(fmt::format("passed over: {} has no array of --shape {}",
                                        tiles_text(warning), *arguments.problem.shape));
      continue;
    }
    auto question = question_of(warning, arguments);
    if (!question) return refuse(std::move(question.error()));
    out.push_back(*std::move(question));
  }
  if (out.empty()) return refuse(foreign_shape(warnings->front(), *arguments.problem.shape));
  out.front().notes.insert(out.front().notes.begin(), passed_over.begin(), passed_over.end());
  return out;
}

/// The form in which a peer of that notation takes a plan; nothing where there is none.
std::optional<emit::Form> form_of(const ProblemArguments& problem) {
  if (!is_foreign_sharding(*problem.from)) return std::nullopt;
  ShardingContext context{.by_position = true};
  if (auto mesh = read_placed(problem.mesh, "--mesh", problem.order, "--order"))
    context.mesh = *mesh;
  if (problem.shape) {
    if (auto shape = parse_shape(*problem.shape)) context.shape = *shape;
  }
  const auto sharding = parse_sharding(*problem.from, context);
  if (!sharding) return std::nullopt;
  switch (sharding->notation) {
    case Notation::jax:
      return emit::Form::jax;
    case Notation::shardy:
      return emit::Form::sdy;
    case Notation::hlo:
      return emit::Form::hlo;
    case Notation::mlir:
      return emit::Form::mlir19;
    case Notation::paper:
    case Notation::dtensor:
      break;
  }
  return std::nullopt;
}

Result<std::vector<Question>> read_questions(const ExplainArguments& arguments) {
  const ProblemArguments& ends = arguments.problem;
  if (ends.to) {
    auto problem = ends.read(true);
    if (!problem) return refuse(std::move(problem.error()));
    Question out{.problem = *std::move(problem)};
    out.form = form_of(ends);
    return std::vector<Question>{std::move(out)};
  }
  if (foreign::has_warning(*ends.from)) return of_warnings(*ends.from, arguments);
  const auto text = read_text(*ends.from, "FROM");
  if (!text) return refuse(text.error());
  if (foreign::has_warning(*text)) return of_warnings(*text, arguments);
  const std::string source = *ends.from == "-" ? "stdin" : *ends.from;
  if (const auto language = foreign::language_of(*text)) {
    return of_file(*text, source, *language, arguments);
  }
  return refuse(
      about_argument(Code::syntax, "FROM", *ends.from,
                     "no warning, and no file of another system that `retile check` reads",
                     {"two arguments are the two ends"}));
}

// ---- The answer ---------------------------------------------------------------------------------

struct Explanation {
  Question question;
  Peer peer;
  Plan plan;
  std::optional<emit::Form> form = {};
  std::string text = {};  ///< the plan in that form
  /// The plan that takes the least time, where links are known.
  std::optional<std::pair<network::Network, network::NetworkPlan>> timed = {};
};

Peer gathering(const Question& question, const Plan& plan) {
  const Baseline baseline = gather_everything(plan);
  return {.text = question.replicates ? "XLA gathers everything, then slices"
                                      : std::string(words_of(baseline)),
          .cost = baseline.cost,
          .height = baseline.height};
}

/// `4096 elements (16384 bytes)`
std::string amount_text(Size elements, Size element_bytes) {
  std::string out = fmt::format("{} elements", elements);
  const auto bytes = checked_mul(elements, element_bytes);
  if (element_bytes > 0 && bytes) out += fmt::format(" ({} bytes)", *bytes);
  return out;
}

std::string peer_text(const Peer& peer, Size element_bytes) {
  std::string out = fmt::format("{}: holds {}", peer.text, amount_text(peer.height, element_bytes));
  if (peer.cost) out += fmt::format(", cost {}", *peer.cost);
  if (peer.received) out += ", receives " + amount_text(*peer.received, element_bytes);
  return out + "\n";
}

/// Whether nothing is proved of the cost of a plan that has one.
bool is_unproved(const Plan& plan) { return !plan.optimal && plan.scope == Scope::any; }

std::string proof_text(const Plan& plan, const Question& question) {
  if (!is_unproved(plan)) {
    return plan.optimal ? fmt::format("proved: no {} cost less", scope_words(plan.scope))
                        : fmt::format("proved: {} cost at least {}", scope_words(plan.scope),
                                      plan.lower_bound);
  }
  const auto received = least_received(question.problem);
  if (!received) return "not proved";
  return fmt::format("not proved; whatever the steps, some device receives at least {}",
                     amount_text(*received, question.element_bytes));
}

PlanOptions timed_options(const Question& question) {
  return {.element_bytes = question.element_bytes > 0 ? question.element_bytes : 4};
}

/// The plan that takes the least time, and what goes over each axis.
std::string timed_text(const Explanation& answer) {
  const auto& [network, made] = *answer.timed;
  return network_text(made, network) + axes_text(answer.question.problem,
                                                 timed_options(answer.question), made.program,
                                                 bare_labels(made.program), true, &network);
}

std::string answer_text(const Explanation& answer) {
  const Plan& plan = answer.plan;
  const Size bytes = answer.question.element_bytes;
  std::string out;
  const std::string& name = answer.question.name;
  if (!name.empty()) out += name_and_more(name, answer.question.arrays.size()) + "\n";
  out += peer_text(answer.peer, bytes);
  out += fmt::format("enough: holds {}, cost {} ({})\n", amount_text(plan.height, bytes), plan.cost,
                     proof_text(plan, answer.question));
  out += plan_text(plan) + answer.text;
  if (answer.timed) out += "\n" + timed_text(answer);
  return out;
}

std::string answer_json(const Explanation& answer) {
  const Plan& plan = answer.plan;
  Json json;
  json["schema"] = "retile.explain/1";
  json["operation"] = answer.question.name;
  if (!answer.question.arrays.empty()) json["arrays"] = answer.question.arrays;
  json["devices"] = answer.question.problem.from.devices();
  json["shape"] = answer.question.problem.from.global();
  json["element_bytes"] = answer.question.element_bytes;
  json["peer"] = {{"does", answer.peer.text},
                  {"height", answer.peer.height},
                  {"cost", or_null(answer.peer.cost)},
                  {"received", or_null(answer.peer.received)}};
  json["plan"] = {{"height", plan.height},
                  {"bound", plan.bound},
                  {"cost", plan.cost},
                  {"lower_bound", is_unproved(plan) ? Json(nullptr) : Json(plan.lower_bound)},
                  {"optimal", plan.optimal},
                  {"scope", is_unproved(plan) ? Json(nullptr) : Json(scope_name(plan.scope))}};
  if (is_unproved(plan)) {
    json["plan"]["least_received"] = or_null(least_received(answer.question.problem));
  }
  json["as"] = nullptr;
  json["text"] = nullptr;
  if (answer.form) {
    json["as"] = emit::form_names[static_cast<std::size_t>(*answer.form)];
    json["text"] = answer.text;
  }
  json["notes"] = answer.question.notes;
  if (answer.timed) json["network"] = network_object(answer.timed->second, answer.timed->first);
  return line_of(json);
}

/// The elements as --dtype says them if the input does not; a note says that the option does not count.
void settle_element(Question& question, const std::optional<std::string>& dtype) {
  if (!dtype) return;
  if (question.element.empty()) return say_element(question, *dtype);
  if (operations::element_kind(question.element) == operations::element_kind(*dtype)) return;
  question.notes.push_back(fmt::format("elements are {}, as the input says: --dtype {} is not used",
                                       shortened(question.element), *dtype));
}

/// The type that the text of a plan has; a note says where it is not that of the question.
operations::ElementKind written_element(Question& question, emit::Form form) {
  const auto usual = operations::element_kind("f32");
  if (question.element.empty() || form == emit::Form::jax) return usual;
  auto kind = operations::element_kind(question.element);
  if (form == emit::Form::mpi_c && kind != operations::element_kind("i64")) {
    question.notes.push_back(
        fmt::format("the C program moves 64-bit integers, not {}", shortened(question.element)));
  }
  return kind;
}

/// The plan in a form. No form has steps along several dimensions yet, so what has them is planned
/// without: then the plan that is shown is the one in the form.
Result<std::string> text_of(Explanation& answer, emit::Form form) {
  const auto element = written_element(answer.question, form);
  const auto program = program_of(answer.plan);
  if (!program) return refuse(program.error());
  auto text = emit::emit(*program, form, element);
  if (text || std::none_of(program->steps.begin(), program->steps.end(), over_dims)) return text;
  auto planned = plan(answer.question.problem, {.steps = Scope::one_dim});
  if (!planned) return refuse(planned.error());
  const auto single = program_of(*planned);
  if (!single) return refuse(single.error());
  text = emit::emit(*single, form, element);
  if (text) answer.plan = *std::move(planned);
  return text;
}

/// The plan in a form; where only the notation asked for it, a note says what the form cannot say.
Result<void> write_plan(Explanation& answer, std::optional<emit::Form> asked,
                        const std::optional<std::string>& form) {
  const auto wanted = asked ? asked : answer.question.form;
  if (!wanted) return {};
  auto text = text_of(answer, *wanted);
  if (text) {
    answer.form = wanted;
    answer.text = *std::move(text);
    return {};
  }
  if (asked) {
    return refuse(
        about_argument(text.error().code, "--as", *form, text.error().message, text.error().notes));
  }
  answer.question.notes.push_back(fmt::format("no text of {}: {}",
                                              emit::form_names[static_cast<std::size_t>(*wanted)],
                                              text.error().message));
  return {};
}

Result<Explanation> answer(Question question, std::optional<emit::Form> asked,
                           const std::optional<std::string>& form,
                           const std::optional<Links>& links) {
  auto planned = plan(question.problem, {.steps = Scope::several_dims});
  if (!planned) return refuse(std::move(planned.error()));
  const Peer peer = question.peer ? *question.peer : gathering(question, *planned);
  Explanation out{.question = std::move(question), .peer = peer, .plan = *std::move(planned)};
  if (auto written = write_plan(out, asked, form); !written) return refuse(written.error());
  if (!links) return out;
  auto network = read_network(*links, out.question.problem);
  if (!network) return refuse(network.error());
  auto timed = network::plan(out.question.problem, *network, timed_options(out.question));
  if (!timed) return refuse(timed.error());
  if (out.question.element_bytes == 0) {
    out.question.notes.emplace_back("elements are taken to have 4 bytes: --dtype says it");
  }
  out.timed.emplace(*std::move(network), *std::move(timed));
  return out;
}

/// Whether the arguments are a folder or two files, of whole programs.
bool are_programs(const ExplainArguments& arguments) {
  const ProblemArguments& ends = arguments.problem;
  if (!ends.to) return is_folder(*ends.from);
  return is_file(*ends.from) && is_file(*ends.to);
}

/// The answers, each by itself.
Outcome answered(std::vector<Question> questions, const ExplainArguments& arguments,
                 std::optional<emit::Form> asked) {
  Outcome outcome;
  std::optional<Links> links;
  if (arguments.network) {
    auto read = read_links(*arguments.network);
    if (!read) return failed(std::move(read.error()));
    links = *std::move(read);
  }
  for (Question& question : questions) {
    settle_element(question, arguments.dtype);
    const auto found = answer(std::move(question), asked, arguments.form, links);
    if (!found) return failed(found.error());
    for (const std::string& note : found->question.notes) outcome.words += "note: " + note + "\n";
    add_answer(
        outcome, arguments.json, [&] { return answer_json(*found); },
        [&] { return answer_text(*found); });
  }
  return outcome;
}

/// Every kind of arrays, and in text what all take together.
Outcome answered_many(const ExplainArguments& arguments, std::optional<emit::Form> asked) {
  const auto read = read_arrays(*arguments.many, arguments.problem, arguments.dtype);
  if (!read) return failed(read.error());
  std::vector<Question> questions;
  for (std::size_t k = 0; k < read->arrays.kinds.size(); ++k) {
    const many::Kind& kind = read->arrays.kinds[k];
    Question question{.problem = kind.problem};
    for (const std::size_t a : kind.arrays) question.arrays.push_back(read->arrays.names[a]);
    question.name = question.arrays.front();
    question.form = form_of(read->texts[k]);
    say_element(question, read->elements[k]);
    questions.push_back(std::move(question));
  }
  ExplainArguments each = arguments;
  each.dtype.reset();  // which the arrays have said, or it was said for them
  Outcome outcome = answered(std::move(questions), each, asked);
  if (outcome.exit != Exit::yes || arguments.json) return outcome;
  auto schedule = scheduled(*read, {.options = {.steps = Scope::several_dims}});
  if (!schedule) return schedule.error();
  const auto is_counted = counted_traffic(*read, *schedule);
  if (!is_counted) return is_counted.error();
  outcome.out += totals_text(read->arrays, *schedule, *is_counted);
  return outcome;
}

Outcome work_on(const ExplainArguments& arguments) {
  std::optional<emit::Form> asked;
  if (arguments.form) {
    const auto form =
        parse_choice(*arguments.form, "--as", {emit::form_names.begin(), emit::form_names.end()});
    if (!form) return failed(form.error());
    asked = static_cast<emit::Form>(*form);
  }
  if (arguments.many) return answered_many(arguments, asked);
  if (are_programs(arguments)) {
    return explain_programs(*arguments.problem.from, arguments.problem.to, arguments.json, asked);
  }
  if (arguments.dtype) {
    if (auto read = parse_element_name(*arguments.dtype, "--dtype"); !read)
      return failed(read.error());
  }
  auto questions = read_questions(arguments);
  if (!questions) return failed(std::move(questions.error()));
  return answered(*std::move(questions), arguments, asked);
}

class ExplainVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "explain"; }
  [[nodiscard]] std::string summary() const override {
    return "say what a reshard takes elsewhere, and what suffices";
  }
  [[nodiscard]] std::string footer() const override { return explain_footer; }
  void add_options(OptionList& options) override {
    given_.problem.add_mesh_options(options);
    options.text("FROM", given_.problem.from,
                 "a warning, a file, - for stdin, the start, or a folder", "TEXT");
    options.text("TO", given_.problem.to, "the end, where FROM is the start", "TYPE");
    options.text("--many", given_.many, std::string(many_help), "FILE");
    options.text("--dtype", given_.dtype, "type of elements, such as bf16, where nobody says it",
                 "TYPE");
    options.text("--as", given_.form,
                 "the plan as sdy, stablehlo, hlo, mlir19, mlir22, jax or mpi-c", "FORM");
    options.text("--network", given_.network,
                 "links as of `plan`: also the plan that takes the least time, and what goes over "
                 "each axis",
                 "LINKS");
    options.flag("--json", given_.json, "print one JSON object per reshard, retile.explain/1");
  }
  [[nodiscard]] std::string without_timeout() const override { return "a folder"; }
  /// A folder has as many texts as it has.
  [[nodiscard]] std::optional<Size> usual_timeout() const override {
    if (given_.problem.from && !given_.problem.to && is_folder(*given_.problem.from)) return {};
    return usual_seconds;
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (given_.many) return beside_many(given_.problem);
    if (!given_.problem.from) return Complaint{"a warning, a file, or the two ends are missing"};
    if (are_programs(given_)) {
      const ProblemArguments& ends = given_.problem;
      const bool is_told = ends.mesh || ends.order || ends.mesh_to || ends.order_to || ends.shape ||
                           given_.dtype || given_.network;
      if (!is_told) return std::nullopt;
      return Complaint{
          "whole programs say meshes, orders, shapes and types themselves, and have no --network"};
    }
    return given_.problem.to ? given_.problem.missing() : std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  ExplainArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_explain_verb() { return std::make_unique<ExplainVerb>(); }

}  // namespace retile::cli
