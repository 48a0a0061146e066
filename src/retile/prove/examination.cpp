#include "retile/prove/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/atomic_file.h"
#include "retile/program/apply.h"

namespace retile {
namespace {

/// The longest question that is asked, in bytes: a solver needs about a hundred times as many.
constexpr std::size_t longest_question = std::size_t{1} << 24;

std::string numbered(std::string_view name, std::size_t number) {
  return fmt::format("{}_{}", name, number);
}

/// The dimensions that a question is about. Of very many those are left out in which there is one
/// index only, for whoever holds it and for whoever should.
std::vector<std::size_t> dimensions_asked(const ElementQuestion& question) {
  std::vector<std::size_t> out;
  const std::size_t rank = question.found.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_zero = question.at[i] == "0" && question.found[i] == "0" &&
                         (question.expected[i] == "0" || question.expected[i] == "(+ 0 0)");
    if (rank <= few_dimensions || !is_zero) out.push_back(i);
  }
  return out;
}

std::string denied(const std::string& goal) { return fmt::format("(assert (not {}))\n", goal); }

}  // namespace

Examination::Examination(const Program& program, const ProveOptions& options, Solvers solvers)
    : program_(program),
      traces_(!addition_of(program)),
      options_(options),
      solvers_(std::move(solvers)),
      deadline_(Deadline::in(options.timeout_seconds)) {
  proof_.solvers = solvers_.described();
  proof_.verdict.steps = static_cast<Size>(program.steps.size());
  proof_.verdict.bound = std::max(program.from.tile_size(), program.to.tile_size());
  proof_.verdict.height = proof_.verdict.bound;
  tiles_.push_back(program.from.tile());
}

Result<Proof> Examination::concluded(Decision decision) {
  if (trouble_) return refuse(*trouble_);
  if (decision == Decision::right) answer(Answer::right);
  return proof_;
}

// ---- Steps --------------------------------------------------------------------------------------

Decision Examination::take(std::size_t k) {
  if (deadline_.passed()) return late(fmt::format("step {}", k));
  const auto after = shape_after(program_.steps[k], tiles_.back(), program_.devices, deadline_);
  if (!after && !traces_) return Decision::undecided;
  if (!after) return refused(k, after.error());
  tiles_.push_back(*after);
  return Decision::right;
}

Decision Examination::refused(std::size_t k, const Refusal& refusal) {
  if (refusal.reason == Reason::limit) return undecided("a tile does not fit in 63 bits");
  const auto device = refusal.reason == Reason::indivisible ? Size{0} : refusal.device;
  if (!device) return wrong(k, refusal.reason, {});
  const Shape first(tiles_[k].size(), 0);
  return wrong(
      k, refusal.reason,
      {*device, Witness::StuckElement{first, global_index(program_, tiles_, k, {*device, first})}});
}

Decision Examination::count(std::size_t k) {
  const Size before = checked_product(tiles_[k]).value_or(0);
  const Size after = checked_product(tiles_[k + 1]).value_or(0);
  const auto step = step_cost(program_.steps[k], before, after, deadline_);
  const auto cost = step ? checked_add(proof_.verdict.cost, *step) : std::nullopt;
  if (!cost) return undecided("the cost does not fit in 63 bits");
  if (deadline_.passed()) return late(fmt::format("step {}", k));
  proof_.verdict.cost = *cost;
  proof_.verdict.height = std::max(proof_.verdict.height, after);
  return Decision::right;
}

Decision Examination::other_shape(std::size_t step, Reason reason, const Shape& expected,
                                  const std::optional<Shape>& base) {
  const auto held = [this](const Shape& at) {
    return global_index(program_, tiles_, tiles_.size() - 1, {0, at});
  };
  return wrong(step, reason, shape_witness(tiles_.back(), expected, base, held));
}

// ---- Questions ----------------------------------------------------------------------------------

Decision Examination::all_are_meant(const ElementQuestion& question, const ExpectedAt& expected_at,
                                    const Refuted& refuted) {
  const std::size_t rank = question.found.size();
  if (rank == 0) return Decision::right;  // one element, wherever it is
  std::string text = question.declarations;
  std::vector<std::string> names = {"device"};
  const auto define = [&text](const std::string& number, const std::string& term) {
    text += fmt::format("(declare-const {0} Int)\n(assert (= {0} {1}))\n", number, term);
  };
  define("device", question.device);
  const std::vector<std::size_t> asked = dimensions_asked(question);
  for (const std::size_t i : asked) {
    names.push_back(numbered("at", i));
    define(names.back(), question.at[i]);
  }
  std::string same;
  for (const std::size_t i : question.compared) {
    if (!std::binary_search(asked.begin(), asked.end(), i)) continue;
    define(numbered("expected", i), question.expected[i]);
    define(numbered("found", i), question.found[i]);
    same += fmt::format(" (= found_{0} expected_{0})", i);
  }
  const std::string goal = fmt::format("(and true{})", same);

  SolverAnswer answer = ask(question.name, text, goal, names);
  if (trouble_) return Decision::undecided;
  if (answer.together() == Satisfiable::no) return Decision::right;
  if (answer.together() == Satisfiable::unknown) return unanswered(answer, question.name);

  // The first device, and its first local index in C order.
  std::string fixed = text + denied(goal);
  HeldElement held{0, Shape(rank, 0)};
  for (std::size_t n = 0; n < names.size(); ++n) {
    const Size below = n == 0 ? program_.devices : tiles_[question.steps][asked[n - 1]];
    const Decision found = least(names[n], below, fixed, names, question.name, answer);
    if (found != Decision::right) return found;
    const Size value = answer.values.at(names[n]);
    (n == 0 ? held.device : held.at[asked[n - 1]]) = value;
    fixed += fmt::format("(assert (= {} {}))\n", names[n], value);
  }
  const Witness::OtherElement other{held.at, expected_at(held),
                                    global_index(program_, tiles_, question.steps, held)};
  if (other.element == other.found) {
    return undecided(
        fmt::format("{}: the replay does not confirm the solver's counterexample", question.name));
  }
  return refuted({held.device, other});
}

Decision Examination::least(const std::string& number, Size below, const std::string& text,
                            const std::vector<std::string>& names, const std::string& question,
                            SolverAnswer& answer) {
  const auto first = answer.values.find(number);
  if (first == answer.values.end()) return no_element(question);
  Size high = first->second;
  if (high < 0 || high >= below) return no_element(question);
  for (Size low = 0; low < high;) {
    const Size middle = low + (high - low) / 2;
    const SolverAnswer half =
        ask_solvers(text + fmt::format("(assert (<= {} {}))\n", number, middle), names);
    if (trouble_) return Decision::undecided;
    if (half.together() == Satisfiable::unknown) return unanswered(half, question);
    if (half.together() == Satisfiable::no) {
      low = middle + 1;
      continue;
    }
    answer = half;
    const auto value = answer.values.find(number);
    if (value == answer.values.end() || value->second < low || value->second > middle) {
      return no_element(question);
    }
    high = value->second;
  }
  answer.values[number] = high;
  return Decision::right;
}

Decision Examination::must_hold(const std::string& name, const std::string& declarations,
                                const std::string& goal, std::string_view otherwise) {
  const SolverAnswer answer = ask(name, declarations, goal, {});
  if (trouble_) return Decision::undecided;
  if (answer.together() == Satisfiable::no) return Decision::right;
  if (answer.together() == Satisfiable::unknown) return unanswered(answer, name);
  return undecided(fmt::format("{}: {}", name, otherwise));
}

SolverAnswer Examination::ask(const std::string& name, const std::string& declarations,
                              const std::string& goal, const std::vector<std::string>& names) {
  const std::string text = declarations + denied(goal);
  if (options_.smt2_prefix && !write_question(name, text)) return {};
  SolverAnswer answer = ask_solvers(text, names);
  if (answer.together() == Satisfiable::no) {
    const SolverAnswer alone = ask_solvers(declarations, {});
    answer.z3_seconds += alone.z3_seconds;
    answer.cvc5_seconds += alone.cvc5_seconds;
    if (alone.together() != Satisfiable::yes) {
      answer.z3 = answer.cvc5 = Satisfiable::unknown;
      is_vacuous_ = !deadline_.passed();
    }
  }
  proof_.queries.push_back({.name = name,
                            .proved = answer.together() == Satisfiable::no,
                            .seconds = answer.z3_seconds + answer.cvc5_seconds});
  if (options_.progress) options_.progress(proof_.queries.back());
  return answer;
}

SolverAnswer Examination::ask_solvers(const std::string& text,
                                      const std::vector<std::string>& names) {
  is_too_large_ = text.size() > longest_question;
  if (is_too_large_ || deadline_.passed()) return {};
  SolverAnswer answer = solvers_.ask(text, names, deadline_);
  if (answer.trouble) trouble_ = answer.trouble;
  return answer;
}

bool Examination::write_question(const std::string& name, const std::string& text) {
  const std::string path =
      fmt::format("{}{:03}.smt2", *options_.smt2_prefix, proof_.queries.size());
  // It asks for no values: where the answer is `unsat`, as it must be, a solver has none to give.
  if (write_file(path, complete_query(name, text, {}))) return true;
  trouble_ = {.code = Code::file_error, .message = fmt::format("cannot write {}", path)};
  return false;
}

// ---- Verdicts -----------------------------------------------------------------------------------

void Examination::answer(Answer answer) {
  proof_.verdict.answer = answer;
  proof_.verdict.within_bound = proof_.verdict.height <= proof_.verdict.bound;
}

Decision Examination::unanswered(const SolverAnswer& answer, const std::string& name) {
  std::string_view why = "no answer in time";
  if (answer.contradictory()) why = "the solvers contradict each other";
  if (is_vacuous_) why = "the solver does not see that the question is free of contradictions";
  if (is_too_large_) why = "the question is too long for a solver";
  return undecided(fmt::format("{}: {}", name, why));
}

Decision Examination::no_element(const std::string& name) {
  return undecided(fmt::format("{}: the solver's counterexample is no element", name));
}

Decision Examination::late(const std::string& name) {
  return undecided(fmt::format("{}: no answer in time", name));
}

Decision Examination::undecided(std::string why) {
  proof_.undecided = std::move(why);
  proof_.verdict.out_of_time = deadline_.passed();
  answer(Answer::undecided);
  return Decision::undecided;
}

Decision Examination::wrong(std::size_t step, Reason reason, const Witness& found) {
  proof_.verdict.wrong = Wrong{static_cast<Size>(step), reason, called(found, program_.numbers)};
  answer(Answer::wrong);
  return Decision::wrong;
}

}  // namespace retile
