#include "retile/prove/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <utility>

#include "retile/core/cases.h"
#include "retile/prove/judge.h"
#include "retile/prove/replay.h"
#include "retile/prove/solver.h"

namespace retile {

namespace {

using symbolic::Element;
using symbolic::Encoder;
using symbolic::Number;

std::string numbered(std::string_view name, std::size_t number) {
  return fmt::format("{}_{}", name, number);
}

class Judge {
 public:
  Judge(const Program& program, const ProveOptions& options, const MakeEncoder& make, bool replays,
        Solvers solvers)
      : program_(program),
        options_(options),
        make_(make),
        replays_(replays),
        solvers_(std::move(solvers)),
        start_(std::chrono::steady_clock::now()) {
    proof_.solvers = solvers_.described();
    proof_.verdict.steps = static_cast<Size>(program.steps.size());
    proof_.verdict.bound = std::max(program.from.tile_size(), program.to.tile_size());
    proof_.verdict.height = proof_.verdict.bound;
    tiles_.push_back(program.from.tile());
  }

  Result<Proof> judge() {
    const Decision decision = decide();
    if (trouble_) return refuse(*trouble_);
    if (decision == Decision::right) answer(Answer::right);
    return proof_;
  }

 private:
  /// `wrong` and `undecided` have written their verdict.
  enum class Decision { right, wrong, undecided };

  /// What is known at a point of the Program: the arrays are boxes that lie as `map` says.
  struct Known {
    std::size_t steps = 0;
    const Layout* map = nullptr;
  };

  Decision decide() {
    Known known{0, &program_.from};
    std::vector<Known> before;  // what was known before each step
    for (std::size_t k = 0; k < program_.steps.size(); ++k) {
      const Step& step = program_.steps[k];
      before.push_back(known);
      const auto after = shape_after(step, tiles_.back(), program_.devices);
      if (!after) return refused(k, after.error());
      tiles_.push_back(*after);
      if (step.claims.tile && *step.claims.tile != *after) {
        return other_shape(k, Reason::tile_claim, *step.claims.tile,
                           claimed_base(step.claims, *step.claims.tile));
      }
      if (const Decision decision = tables(k); decision != Decision::right) return decision;
      if (const Decision decision = reads(k); decision != Decision::right) return decision;
      if (step.claims.map) {
        const Layout& claim = *step.claims.map;
        if (claim.tile() != *after) {
          return other_shape(k, Reason::map_claim, claim.tile(), claim.base_offset(0));
        }
        const Decision decision =
            compare(fmt::format("step {}: the tiles lie as its map says", k), known, k + 1, claim,
                    [&](const Witness& found) { return wrong(k, Reason::map_claim, found); });
        if (decision != Decision::right) return decision;
        known = {k + 1, &claim};
      }
      if (!count(step, k)) return undecided("the cost does not fit in 63 bits");
    }

    // A wrong end is blamed on the first step that left a device without one box in order.
    const auto wrong_end = [&](const Witness* found) {
      for (std::size_t k = 0; k < program_.steps.size(); ++k) {
        const bool is_known = k + 1 < before.size() && before[k + 1].steps == k + 1;
        if (is_known || (k + 1 == program_.steps.size() && known.steps == k + 1)) continue;
        if (const Decision decision = box(before[k], k); decision != Decision::right) {
          return decision;
        }
      }
      const std::size_t end = program_.steps.size();
      if (found != nullptr) return wrong(end, Reason::end, *found);
      return other_shape(end, Reason::end, program_.to.tile(), program_.to.base_offset(0));
    };
    if (tiles_.back() != program_.to.tile()) return wrong_end(nullptr);
    return compare("the end is the target", known, program_.steps.size(), program_.to,
                   [&](const Witness& found) { return wrong_end(&found); });
  }

  Decision refused(std::size_t k, const Refusal& refusal) {
    if (refusal.reason == Reason::limit) return undecided("a tile does not fit in 63 bits");
    const auto device = refusal.reason == Reason::indivisible ? Size{0} : refusal.device;
    if (!device) return wrong(k, refusal.reason);
    const Shape first(tiles_[k].size(), 0);
    return wrong(k, refusal.reason,
                 Witness{*device, first, global_index(program_, tiles_, k, {*device, first}), {}});
  }

  /// The tiles that are there last have another shape than `expected`, which lies at `base`.
  Decision other_shape(std::size_t step, Reason reason, const Shape& expected,
                       const std::optional<Shape>& base) {
    const auto held = [this](const Shape& at) {
      return global_index(program_, tiles_, tiles_.size() - 1, {0, at});
    };
    return wrong(step, reason, shape_witness(tiles_.back(), expected, base, held));
  }

  bool count(const Step& step, std::size_t k) {
    const Size before = checked_product(tiles_[k]).value_or(0);
    const Size after = checked_product(tiles_[k + 1]).value_or(0);
    const auto cost = checked_add(proof_.verdict.cost, step_cost(step, before, after));
    if (!cost) return false;
    proof_.verdict.cost = *cost;
    proof_.verdict.height = std::max(proof_.verdict.height, after);
    return true;
  }

  // ---- Questions --------------------------------------------------------------------------------

  /// Every device stands at one place of the step's table.
  Decision tables(std::size_t k) {
    const Step& step = program_.steps[k];
    std::string_view what = "groups partition the devices";
    const DeviceTable* const table = match(
        step.op, [&step](const Dynslice&) { return groups_of(step.op); },
        [&step](const Allgather&) { return groups_of(step.op); },
        [&step](const Alltoall&) { return groups_of(step.op); },
        [&what](const Allpermute& op) {
          what = "the permutation is a bijection";
          return std::get_if<DeviceTable>(&op.source);
        },
        [](const Exchange&) -> const DeviceTable* { return nullptr; });
    if (table == nullptr) return Decision::right;  // parts: any list will do
    const auto encoder = make_();
    symbolic::Digits& digits = encoder->digits();
    const Number device = digits.any(program_.devices);
    const Number place = digits.any(program_.devices);
    const Number back = encoder->entry(*table->chain(), encoder->position(*table->chain(), device));
    const Number again = encoder->position(*table->chain(), encoder->entry(*table->chain(), place));
    const std::string goal = fmt::format("(and (= {} {}) (= {} {}))", digits.term(device),
                                         digits.term(back), digits.term(place), digits.term(again));
    return must_hold(fmt::format("step {}: {}", k, what), digits.declarations(), goal,
                     "the solver finds a fault in a table that has none");
  }

  /// The element that an element comes from is on a device, and inside its tile.
  Decision reads(std::size_t k) {
    const auto encoder = make_();
    const Element after = encoder->any(program_.devices, tiles_[k + 1]);
    const Element before = encoder->source(program_.steps[k], tiles_[k], after);
    const symbolic::Digits& digits = encoder->digits();
    std::string inside =
        fmt::format("(<= 0 {0}) (< {0} {1})", digits.term(before.device), program_.devices);
    for (std::size_t i = 0; i < before.at.size(); ++i) {
      inside += fmt::format(" (<= 0 {0}) (< {0} {1})", digits.term(before.at[i]), tiles_[k][i]);
    }
    return must_hold(fmt::format("step {}: no read outside a tile", k), digits.declarations(),
                     fmt::format("(and {})", inside), "the solver finds a read outside a tile");
  }

  /// An element of the array after `steps` steps, and its global index.
  std::vector<Number> traced(Encoder& encoder, const Known& known, std::size_t steps,
                             Element element) {
    for (std::size_t k = steps; k-- > known.steps;) {
      element = encoder.source(program_.steps[k], tiles_[k], element);
    }
    return encoder.global(*known.map, element);
  }

  /// The arrays after `steps` steps are boxes that lie as `map` says.
  template <typename Refuted>
  Decision compare(const std::string& name, const Known& known, std::size_t steps,
                   const Layout& map, const Refuted& refuted) {
    const auto encoder = make_();
    const Element element = encoder->any(program_.devices, tiles_[steps]);
    const std::vector<Number> found = traced(*encoder, known, steps, element);
    const std::vector<Number> expected = encoder->global(map, element);
    const symbolic::Digits& digits = encoder->digits();
    std::vector<std::string> expected_terms;
    for (const Number& number : expected) expected_terms.push_back(digits.term(number));
    return element_query(
        name, *encoder, element, found, expected_terms, steps,
        [&](const HeldElement& held) {
          Shape index = map.base_offset(held.device);
          for (std::size_t i = 0; i < index.size(); ++i) index[i] += held.at[i];
          return index;
        },
        refuted);
  }

  /// After step k every device holds one box in order: its elements lie as the first one says.
  Decision box(const Known& known, std::size_t k) {
    const auto encoder = make_();
    const Element element = encoder->any(program_.devices, tiles_[k + 1]);
    const Element first = encoder->first(element.device, tiles_[k + 1]);
    const std::vector<Number> found = traced(*encoder, known, k + 1, element);
    const std::vector<Number> corner = traced(*encoder, known, k + 1, first);
    const symbolic::Digits& digits = encoder->digits();
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < corner.size(); ++i) {
      expected.push_back(
          fmt::format("(+ {} {})", digits.term(corner[i]), digits.term(element.at[i])));
    }
    return element_query(
        fmt::format("step {}: every device holds one box", k), *encoder, element, found, expected,
        k + 1,
        [&](const HeldElement& held) {
          Shape index =
              global_index(program_, tiles_, k + 1, {held.device, Shape(held.at.size(), 0)});
          for (std::size_t i = 0; i < index.size(); ++i) index[i] += held.at[i];
          return index;
        },
        [&](const Witness& counterexample) { return wrong(k, Reason::not_a_box, counterexample); });
  }

  /// Asks whether some element has an unexpected global index; hands the first one to `refuted`.
  template <typename Expected, typename Refuted>
  Decision element_query(const std::string& name, Encoder& encoder, const Element& element,
                         const std::vector<Number>& found, const std::vector<std::string>& expected,
                         std::size_t steps, const Expected& expected_at, const Refuted& refuted) {
    const std::size_t rank = found.size();
    if (rank == 0) return Decision::right;  // one element, wherever it is
    const symbolic::Digits& digits = encoder.digits();
    std::string text = digits.declarations();
    std::vector<std::string> place = {"device"};
    const auto define = [&text](const std::string& number, const std::string& term) {
      text += fmt::format("(declare-const {0} Int)\n(assert (= {0} {1}))\n", number, term);
    };
    define("device", digits.term(element.device));
    for (std::size_t i = 0; i < rank; ++i) {
      place.push_back(numbered("at", i));
      define(place.back(), digits.term(element.at[i]));
    }
    std::vector<std::string> names = place;
    std::string same;
    for (const std::size_t i : encoder.compared(rank)) {
      define(numbered("expected", i), expected[i]);
      define(numbered("found", i), digits.term(found[i]));
      same += fmt::format(" (= found_{0} expected_{0})", i);
    }
    const std::string goal = fmt::format("(and true{})", same);

    SolverAnswer answer = ask(name, text, goal, names);
    if (trouble_) return Decision::undecided;
    if (answer.together() == Satisfiable::no) return Decision::right;
    if (answer.together() == Satisfiable::unknown) return unanswered(answer, name);

    // The first device, and its first local index in C order.
    std::string fixed = text + denied(goal);
    HeldElement held;
    const auto lies = [&] {
      return undecided(fmt::format("{}: the solver's counterexample is no element", name));
    };
    for (const std::string& number : place) {
      const Size below = number == "device" ? program_.devices : tiles_[steps][held.at.size()];
      const auto first = answer.values.find(number);
      if (first == answer.values.end()) return lies();
      Size high = first->second;
      if (high < 0 || high >= below) return lies();
      for (Size low = 0; low < high;) {
        const Size middle = low + (high - low) / 2;
        const SolverAnswer half = solvers_.ask(
            fixed + fmt::format("(assert (<= {} {}))\n", number, middle), names, seconds_left());
        if (half.together() == Satisfiable::unknown) return unanswered(half, name);
        if (half.together() == Satisfiable::yes) {
          answer = half;
          const auto value = half.values.find(number);
          if (value == half.values.end() || value->second < low || value->second > middle) {
            return lies();
          }
          high = value->second;
        } else {
          low = middle + 1;
        }
      }
      fixed += fmt::format("(assert (= {} {}))\n", number, high);
      if (number == "device") {
        held.device = high;
      } else {
        held.at.push_back(high);
      }
    }
    const Witness counterexample{held.device, held.at, expected_at(held),
                                 global_index(program_, tiles_, steps, held)};
    if (replays_ && counterexample.element == counterexample.found) {
      return undecided(
          fmt::format("{}: the replay does not confirm the solver's counterexample", name));
    }
    return refuted(counterexample);
  }

  /// A question whose answer is no would mean that the encoding is at fault, not the Program.
  Decision must_hold(const std::string& name, const std::string& declarations,
                     const std::string& goal, std::string_view otherwise) {
    const SolverAnswer answer = ask(name, declarations, goal, {});
    if (trouble_) return Decision::undecided;
    if (answer.together() == Satisfiable::no) return Decision::right;
    if (answer.together() == Satisfiable::unknown) return unanswered(answer, name);
    return undecided(fmt::format("{}: {}", name, otherwise));
  }

  static std::string denied(const std::string& goal) {
    return fmt::format("(assert (not {}))\n", goal);
  }

  /// Asks whether the goal can fail. That it cannot counts only if the declarations by themselves
  /// can be fulfilled: from a contradiction everything follows.
  SolverAnswer ask(const std::string& name, const std::string& declarations,
                   const std::string& goal, const std::vector<std::string>& names) {
    const std::string text = declarations + denied(goal);
    const std::size_t number = proof_.queries.size();
    if (options_.smt2_prefix) {
      const std::string path = fmt::format("{}{:03}.smt2", *options_.smt2_prefix, number);
      std::ofstream file(path);
      file << complete_query(name, text, names);
      if (!file.flush()) {
        trouble_ = {.code = Code::file_error, .message = fmt::format("cannot write {}", path)};
        return {};
      }
    }
    SolverAnswer answer = solvers_.ask(text, names, seconds_left());
    if (answer.together() == Satisfiable::no) {
      const SolverAnswer alone = solvers_.ask(declarations, {}, seconds_left());
      answer.z3_seconds += alone.z3_seconds;
      answer.cvc5_seconds += alone.cvc5_seconds;
      if (alone.together() != Satisfiable::yes) {
        answer.z3 = answer.cvc5 = Satisfiable::unknown;
        is_vacuous_ = true;
      }
    }
    proof_.queries.push_back({.name = name,
                              .proved = answer.together() == Satisfiable::no,
                              .seconds = answer.z3_seconds + answer.cvc5_seconds});
    if (options_.progress) options_.progress(proof_.queries.back());
    return answer;
  }

  double seconds_left() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return std::max(0.001, options_.timeout_seconds - spent.count());
  }

  // ---- Verdicts ---------------------------------------------------------------------------------

  void answer(Answer answer) {
    proof_.verdict.answer = answer;
    proof_.verdict.within_bound = proof_.verdict.height <= proof_.verdict.bound;
  }

  Decision unanswered(const SolverAnswer& answer, const std::string& name) {
    std::string_view why = "no answer in time";
    if (answer.contradictory()) why = "the solvers contradict each other";
    if (is_vacuous_) why = "the solver does not see that the question is free of contradictions";
    return undecided(fmt::format("{}: {}", name, why));
  }

  Decision undecided(std::string why) {
    proof_.undecided = std::move(why);
    proof_.verdict.reason = Reason::limit;
    answer(Answer::undecided);
    return Decision::undecided;
  }

  Decision wrong(std::size_t step, Reason reason) {
    proof_.verdict.first_wrong_step = static_cast<Size>(step);
    proof_.verdict.reason = reason;
    answer(Answer::wrong);
    return Decision::wrong;
  }

  Decision wrong(std::size_t step, Reason reason, const Witness& found) {
    proof_.verdict.device = found.device;
    proof_.verdict.at = found.at;
    proof_.verdict.element = found.element;
    proof_.verdict.found = found.found;
    return wrong(step, reason);
  }

  const Program& program_;
  const ProveOptions& options_;
  const MakeEncoder& make_;
  bool replays_;
  Solvers solvers_;
  std::chrono::steady_clock::time_point start_;
  std::vector<Shape> tiles_;  // at the start and after each step
  Proof proof_;
  bool is_vacuous_ = false;
  std::optional<Diagnostic> trouble_;
};

}  // namespace

std::string_view method_name(ProofMethod method) {
  return method == ProofMethod::symbolic ? "symbolic" : "evaluation";
}

Result<Proof> prove_with(const Program& program, const ProveOptions& options,
                         const MakeEncoder& make, bool replays) {
  if (!symbolic::is_regular(program)) {
    Proof proof;
    proof.method = ProofMethod::evaluation;
    const auto start = std::chrono::steady_clock::now();
    proof.verdict = check(
        program, {.piece_limit = options.piece_limit, .timeout_seconds = options.timeout_seconds});
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (proof.verdict.answer == Answer::undecided) {
      proof.undecided = spent.count() >= options.timeout_seconds
                            ? "the evaluation has no answer in time"
                            : "the evaluation needs too much memory";
    }
    return proof;
  }
  auto solvers = Solvers::make(options.solver);
  if (!solvers) return refuse(solvers.error());
  return Judge(program, options, make, replays, *std::move(solvers)).judge();
}

Result<Proof> prove(const Program& program, const ProveOptions& options) {
  return prove_with(
      program, options, [] { return std::make_unique<Encoder>(); }, true);
}

}  // namespace retile
