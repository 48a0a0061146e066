/// Obligations: statements of the paper that solvers prove for all sizes.
///
/// An obligation has premises, a goal, and a control. Everything is free of quantifiers: a variable
/// is "for all" because its name is arbitrary, and an "exists" in a goal is shown by a term. Three
/// kinds of query are asked, each written as SMT-LIB 2 and answered from that text by Z3 and by
/// cvc5:
///
///   goal     premises and not goal        must be unsat, or the statement is false or undecided
///   control  the same, a premise dropped  must be sat: the premise is needed, the check can fail
///   example  premises and goal            must be sat: the premises do not contradict each other
///
/// What an earlier obligation proved and what an induction assumes are premises like all others. Every
/// premise is dropped once. What is assumed without being a premise cannot be wrong: a range of a
/// variable (a size is at least 1), a name for a value that exists (`let`, `let_at`, `divide`, `ceil`),
/// a lemma that arithmetic.cpp proves for all values, and a fact, which a query of its own proves.
///
/// An obligation says whether it is bookkeeping: sums, comparisons and cases, without a product of two
/// variables, a function or a lemma; or goals that are identities and premises. The framework compares
/// that with the formulas.
///
/// Nothing counts as proved that a solver left unknown, and a contradiction of the solvers fails.
/// The search for models (control, example) is narrowed to small numbers and by hints; a model
/// found there is a model of the whole.
#pragma once

#include <z3++.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace proofs {

using z3::expr;

/// What a solver says about a query; absent: it was not asked.
enum class Answer { unsat, sat, unknown, absent };

struct Asked {
  Answer z3 = Answer::absent, cvc5 = Answer::absent;
  double z3_seconds = 0, cvc5_seconds = 0;
  std::optional<z3::model> model;
};

/// A larger fact, proved in arithmetic.cpp for all values of its variables. `formula` is an
/// instance.
struct Lemma {
  std::string name;
  expr formula;
};

/// The values that a solver chose for the variables of an obligation.
class Model {
 public:
  explicit Model(z3::model model) : model_(std::move(model)) {}

  [[nodiscard]] std::int64_t operator()(const expr& number) const;
  [[nodiscard]] bool holds(const expr& truth) const;

 private:
  z3::model model_;
};

/// What a control says besides its verdict.
struct Counterexample {
  std::string text;  // in the paper's notation
  /// Whether `spec/` confirms that this is a counterexample; nullopt: not replayed.
  std::optional<bool> is_real;
};

/// Reads a counterexample off a model.
using Reader = std::function<Counterexample(const Model&)>;

class Obligation {
 public:
  /// \param statement  the paper's number or ours: "4.1", "S2"; empty: not for the table
  /// \param claim      what is proved, one line
  Obligation(std::string statement, std::string claim);

  Obligation(const Obligation&) = delete;
  Obligation& operator=(const Obligation&) = delete;

  z3::context& z() { return z_; }

  // Variables. A size is a number >= 1; a natural is >= 0; an integer has any sign.
  expr size(const std::string& name);
  expr natural(const std::string& name);
  expr integer(const std::string& name);
  /// 0 <= digit < base
  expr digit(const std::string& name, const expr& base);
  expr constant(const std::string& name, const z3::sort& sort);
  /// What a value of an uninterpreted sort ranges over, as "the size of an axis is at least 2".
  void range(const expr& formula) { ranges_.push_back(formula); }
  z3::sort sort(const std::string& name) { return z_.uninterpreted_sort(name.c_str()); }
  z3::func_decl function(const std::string& name, const std::vector<z3::sort>& from,
                         const z3::sort& to);
  expr value(std::int64_t number) { return z_.int_val(number); }

  /// What the statement says nothing about or fixes; "nothing" if never called.
  void bounded(std::string what) { bounded_ = std::move(what); }
  /// What is arbitrary, for the table.
  void unbounded(std::string what) { unbounded_ = std::move(what); }

  /// A premise: of the statement, of an induction, or what an earlier obligation proved. The label is
  /// the paper's formula and names it for its control. It may not be twice in one obligation.
  void premise(const std::string& label, const expr& formula);

  // Names for values. Each introduces a variable that nothing has mentioned, so no model is lost.

  /// A name for a value.
  expr let(const std::string& name, const expr& value);
  /// A map with the values `value_at` everywhere, of which those at `places` are said.
  expr let_at(const std::string& name, const z3::sort& map, const std::vector<expr>& places,
              const std::function<expr(const expr&)>& value_at);
  struct Quotient {
    expr quotient, rest;
  };
  /// t = quotient n + rest with 0 <= rest < n, for n >= 1.
  Quotient divide(const std::string& quotient, const std::string& rest, const expr& t,
                  const expr& n);
  /// The least h with s <= n h, for n >= 1.
  expr ceil(const std::string& name, const expr& s, const expr& n);

  /// An instance of what arithmetic.cpp proves for all values.
  void use(const Lemma& lemma) { lemmas_.push_back(lemma.formula); }
  /// A formula that is valid by itself, for instance an identity: a query of its own proves it.
  void fact(const expr& formula) { facts_.push_back(formula); }

  /// The obligation is bookkeeping, see above.
  void bookkeeping() { is_bookkeeping_ = true; }

  /// All goals must hold; each is a query of its own. A goal that is valid without any premise
  /// fails: it would say nothing about the statement. So does a goal that is a premise.
  void goal(const std::string& label, const expr& formula);
  /// A part of the claim that is a premise as it stands, as a rule's condition on what an earlier
  /// step does not touch.
  void unchanged(const std::string& label, const expr& formula);
  /// A goal that is valid by itself and says so: no premise helps it.
  void identity(const std::string& label, const expr& formula);

  /// The goals without the premise `dropped` must be refuted. `hints` narrow the search. A premise
  /// without a control of its own gets one, without a reader and hints.
  void control(const std::string& dropped, const Reader& reader = {},
               const std::vector<expr>& hints = {});
  /// The premises must not yield `formula`, which is stronger than what the statement says.
  void control_goal(const std::string& label, const expr& formula, const Reader& reader = {},
                    const std::vector<expr>& hints = {});
  /// Numbers of models lie below this; 20 if never called.
  void small(std::int64_t below) { small_ = below; }
  /// Seconds that a solver gets for one query, instead of the usual.
  void limit(unsigned seconds) { limit_seconds_ = seconds; }
  /// Narrows the search for the example.
  void example(const expr& hint) { example_hints_.push_back(hint); }

  /// Asks the solvers, reports to GoogleTest and adds a line to the table.
  void check();

 private:
  struct Labelled {
    std::string label;
    expr formula;
    bool is_identity = false;
    bool is_unchanged = false;
  };
  struct Control {
    std::string label, dropped;
    std::optional<expr> instead;
    Reader reader;
    std::vector<expr> hints;
  };

  [[nodiscard]] expr all_goals();
  /// Searches for a model with small numbers, then with larger ones.
  [[nodiscard]] Asked find(const std::string& title, std::vector<expr> asserted,
                           const std::filesystem::path& file);
  void ask_z3(Asked& asked, const std::string& text);
  /// Whether Z3 sees at once that the formula needs no premise.
  [[nodiscard]] bool is_valid_alone(const expr& formula);
  /// Whether each of the conjuncts of the goal is one of a premise's or of a range.
  [[nodiscard]] bool is_premise(const expr& goal) const;
  /// Whether no lemma, no function and no product of two variables occurs; or nothing is concluded.
  [[nodiscard]] bool is_made_of_sums_and_cases() const;
  void add_controls_of_premises();
  void ask_cvc5(Asked& asked, const std::filesystem::path& file) const;
  [[nodiscard]] std::string smt2(const std::string& title, const std::vector<expr>& asserted);

  z3::context z_;
  std::string statement_, claim_, unbounded_ = "all sizes", bounded_ = "nothing";
  std::vector<z3::sort> sorts_;
  std::vector<z3::func_decl> declarations_;
  std::vector<expr> numbers_;
  std::vector<expr> ranges_;
  std::vector<Labelled> premises_, goals_;
  std::vector<expr> definitions_, lemmas_, facts_, example_hints_;
  std::vector<Control> controls_;
  std::int64_t small_ = 20;
  bool is_bookkeeping_ = false;
  unsigned limit_seconds_ = 0;  // 0: the usual
};

}  // namespace proofs
