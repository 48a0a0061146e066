#include "obligation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace proofs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned z3_plain_limit_seconds = 5, z3_limit_seconds = 40, cvc5_limit_seconds = 10;

const char* name_of(Answer answer, Answer wanted) {
  if (answer == Answer::absent) return "absent";
  if (answer == Answer::unknown) return "unknown";
  if (answer == wanted) return wanted == Answer::unsat ? "proved" : "refuted";
  return wanted == Answer::unsat ? "REFUTED" : "NOT REFUTED";
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::filesystem::path output_directory() {
  const char* const chosen = std::getenv("RETILE_PROOFS_DIR");
  return chosen != nullptr ? chosen : RETILE_PROOFS_DIR;
}

/// The path of cvc5, empty when there is none. RETILE_CVC5 in the environment overrides it.
std::string cvc5_program() {
  const char* const chosen = std::getenv("RETILE_CVC5");
  return chosen != nullptr ? chosen : RETILE_CVC5;
}

struct Ran {
  int status = -1;
  std::string output;
};

Ran run_program(const std::string& command) {
  Ran ran;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    ran.output.append(buffer.data(), read);
  }
  ran.status = pclose(pipe);
  return ran;
}

std::string cvc5_version() {
  if (cvc5_program().empty()) return "absent";
  const std::string text = run_program("'" + cvc5_program() + "' --version 2>&1").output;
  const auto at = text.find("version ");
  if (at == std::string::npos) return "unknown";
  return text.substr(at + 8, text.find_first_of(" \n", at + 8) - at - 8);
}

std::string z3_version() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build);
}

/// A file name from words: letters, digits and '_' only.
std::string as_file_name(const std::string& words) {
  std::string out;
  for (const char letter : words) {
    const bool keep = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (keep) {
      out += letter;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  return out;
}

Answer read_answer(const std::string& output) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    if (line == "unsat") return Answer::unsat;
    if (line == "sat") return Answer::sat;
    if (line == "unknown" || line.find("timeout") != std::string::npos ||
        line.find("interrupted") != std::string::npos) {
      return Answer::unknown;
    }
    if (line.find("rror") != std::string::npos) {
      ADD_FAILURE() << "cvc5: " << output;
      return Answer::unknown;
    }
  }
  return Answer::unknown;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// Appends what a conjunction consists of.
void add_conjuncts(std::vector<expr>& out, const expr& formula) {
  if (!formula.is_and()) {
    out.push_back(formula);
    return;
  }
  for (unsigned at = 0; at < formula.num_args(); ++at) add_conjuncts(out, formula.arg(at));
}

/// Whether the formula has no function, no map and no product of two variables.
bool is_linear_formula(const expr& formula) {
  if (!formula.is_app()) return false;
  unsigned factors = 0;
  for (unsigned at = 0; at < formula.num_args(); ++at) {
    if (!is_linear_formula(formula.arg(at))) return false;
    if (!formula.arg(at).is_numeral()) ++factors;
  }
  const Z3_decl_kind kind = formula.decl().decl_kind();
  const bool is_function = kind == Z3_OP_UNINTERPRETED && formula.num_args() > 0;
  const bool is_map = kind == Z3_OP_SELECT || kind == Z3_OP_STORE;
  return !is_function && !is_map && !(kind == Z3_OP_MUL && factors > 1);
}

struct Row {
  std::string file, test, statement, claim, unbounded, bounded;
  std::string z3, cvc5;
  double z3_seconds = 0, cvc5_seconds = 0;
  struct Control {
    std::string label, z3, cvc5, counterexample;
    std::optional<bool> is_real;
    double seconds = 0;
  };
  std::vector<Control> controls;
  std::string example_z3, example_cvc5;
  std::size_t queries = 0;
  bool is_bookkeeping = false;
};

std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json out = {{"statement", row.statement},
                                {"claim", row.claim},
                                {"file", row.file + ".cpp"},
                                {"test", row.test},
                                {"unbounded", row.unbounded},
                                {"bounded", row.bounded},
                                {"z3", row.z3},
                                {"z3_seconds", row.z3_seconds},
                                {"cvc5", row.cvc5},
                                {"cvc5_seconds", row.cvc5_seconds},
                                {"example_z3", row.example_z3},
                                {"example_cvc5", row.example_cvc5},
                                {"queries", row.queries},
                                {"bookkeeping", row.is_bookkeeping}};
  for (const Row::Control& control : row.controls) {
    nlohmann::ordered_json line = {{"label", control.label},
                                   {"z3", control.z3},
                                   {"cvc5", control.cvc5},
                                   {"seconds", control.seconds},
                                   {"counterexample", control.counterexample}};
    line["real"] = control.is_real ? nlohmann::ordered_json(*control.is_real) : nullptr;
    out["controls"].push_back(line);
  }
  return out;
}

/// Prints the table of the run and writes one JSON file for each source file.
class Table : public testing::Environment {
 public:
  void TearDown() override {
    std::map<std::string, nlohmann::ordered_json> files;
    for (const Row& row : rows()) files[row.file].push_back(to_json(row));
    std::filesystem::create_directories(output_directory());
    for (const auto& [file, lines] : files) {
      const nlohmann::ordered_json all = {{"schema", "retile.proofs/1"},
                                          {"z3", z3_version()},
                                          {"cvc5", cvc5_version()},
                                          {"obligations", lines}};
      std::ofstream(output_directory() / (file + ".json")) << all.dump(2) << "\n";
    }
    std::printf("\nZ3 %s, cvc5 %s\n", z3_version().c_str(), cvc5_version().c_str());
    std::printf("%-6s %-8s %6s  %-8s %6s  %-9s %s\n", "", "Z3", "s", "cvc5", "s", "controls",
                "claim");
    for (const Row& row : rows()) {
      std::printf("%-6s %-8s %6.2f  %-8s %6.2f  %-9zu %s\n", row.statement.c_str(), row.z3.c_str(),
                  row.z3_seconds, row.cvc5.c_str(), row.cvc5_seconds, row.controls.size(),
                  row.claim.c_str());
    }
  }
};

const testing::Environment* const table = testing::AddGlobalTestEnvironment(new Table);

}  // namespace

// ---- Model -----------------------------------------------------------------------------------

std::int64_t Model::operator()(const expr& number) const {
  return model_.eval(number, true).get_numeral_int64();
}

bool Model::holds(const expr& truth) const { return model_.eval(truth, true).is_true(); }

// ---- Obligation ------------------------------------------------------------------------------

Obligation::Obligation(std::string statement, std::string claim)
    : statement_(std::move(statement)), claim_(std::move(claim)) {}

expr Obligation::constant(const std::string& name, const z3::sort& sort) {
  return function(name, {}, sort)();
}

z3::func_decl Obligation::function(const std::string& name, const std::vector<z3::sort>& from,
                                   const z3::sort& to) {
  z3::sort_vector domain(z_);
  std::vector<z3::sort> mentioned = from;
  mentioned.push_back(to);
  for (const z3::sort& sort : from) domain.push_back(sort);
  for (std::size_t at = 0; at < mentioned.size(); ++at) {
    const z3::sort sort = mentioned[at];
    if (sort.is_array()) {
      mentioned.push_back(sort.array_domain());
      mentioned.push_back(sort.array_range());
    }
    const bool known = std::any_of(sorts_.begin(), sorts_.end(),
                                   [&](const z3::sort& other) { return z3::eq(other, sort); });
    if (sort.sort_kind() == Z3_UNINTERPRETED_SORT && !known) sorts_.push_back(sort);
  }
  const z3::func_decl made = z_.function(name.c_str(), domain, to);
  for (const z3::func_decl& other : declarations_) {
    EXPECT_NE(other.name().str(), name) << "declared twice";
  }
  declarations_.push_back(made);
  return made;
}

expr Obligation::integer(const std::string& name) {
  numbers_.push_back(constant(name, z_.int_sort()));
  return numbers_.back();
}

expr Obligation::natural(const std::string& name) {
  const expr number = integer(name);
  ranges_.push_back(number >= 0);
  return number;
}

expr Obligation::size(const std::string& name) {
  const expr number = integer(name);
  ranges_.push_back(number >= 1);
  return number;
}

expr Obligation::digit(const std::string& name, const expr& base) {
  const expr number = integer(name);
  ranges_.push_back(0 <= number && number < base);
  return number;
}

void Obligation::premise(const std::string& label, const expr& formula) {
  for (const Labelled& other : premises_) EXPECT_NE(other.label, label) << "two premises";
  premises_.push_back({label, formula});
}

expr Obligation::let(const std::string& name, const expr& value) {
  const expr named = constant(name, value.get_sort());
  if (value.is_int()) numbers_.push_back(named);
  definitions_.push_back(named == value);
  return named;
}

expr Obligation::let_at(const std::string& name, const z3::sort& map,
                        const std::vector<expr>& places,
                        const std::function<expr(const expr&)>& value_at) {
  const expr named = constant(name, map);
  for (const expr& at : places) definitions_.push_back(z3::select(named, at) == value_at(at));
  return named;
}

Obligation::Quotient Obligation::divide(const std::string& quotient, const std::string& rest,
                                        const expr& t, const expr& n) {
  const expr q = integer(quotient), r = integer(rest);
  definitions_.push_back(z3::implies(n >= 1, t == q * n + r && 0 <= r && r < n));
  definitions_.push_back(z3::implies(n >= 1 && t >= 0, q >= 0));
  return {q, r};
}

expr Obligation::ceil(const std::string& name, const expr& s, const expr& n) {
  const expr h = integer(name);
  definitions_.push_back(z3::implies(n >= 1, n * (h - 1) < s && s <= n * h));
  definitions_.push_back(z3::implies(n >= 1 && s >= 1, h >= 1));
  return h;
}

void Obligation::goal(const std::string& label, const expr& formula) {
  goals_.push_back({label, formula});
}

void Obligation::unchanged(const std::string& label, const expr& formula) {
  goals_.push_back({label, formula, false, true});
}

void Obligation::identity(const std::string& label, const expr& formula) {
  goals_.push_back({label, formula, true});
}

bool Obligation::is_valid_alone(const expr& formula) {
  z3::solver solver(z_, z3::solver::simple());
  z3::params params(z_);
  params.set("timeout", 500U);
  solver.set(params);
  solver.add(!formula);
  return solver.check() == z3::unsat;
}

bool Obligation::is_premise(const expr& goal) const {
  std::vector<expr> given;
  for (const expr& range : ranges_) add_conjuncts(given, range);
  for (const Labelled& premise : premises_) add_conjuncts(given, premise.formula);
  std::vector<expr> wanted;
  add_conjuncts(wanted, goal);
  return std::all_of(wanted.begin(), wanted.end(), [&](const expr& one) {
    return std::any_of(given.begin(), given.end(),
                       [&](const expr& other) { return z3::eq(one, other); });
  });
}

bool Obligation::is_made_of_sums_and_cases() const {
  const bool concludes = std::any_of(goals_.begin(), goals_.end(), [](const Labelled& goal) {
    return !goal.is_identity && !goal.is_unchanged;
  });
  if (!concludes) return true;
  std::vector<expr> all = definitions_;
  for (const Labelled& premise : premises_) all.push_back(premise.formula);
  for (const Labelled& goal : goals_) all.push_back(goal.formula);
  return lemmas_.empty() && std::all_of(all.begin(), all.end(), is_linear_formula);
}

void Obligation::add_controls_of_premises() {
  for (const Labelled& premise : premises_) {
    const bool has_one = std::any_of(controls_.begin(), controls_.end(), [&](const Control& at) {
      return at.dropped == premise.label;
    });
    if (!has_one) control(premise.label);
  }
}

void Obligation::control(const std::string& dropped, const Reader& reader,
                         const std::vector<expr>& hints) {
  const bool known = std::any_of(premises_.begin(), premises_.end(),
                                 [&](const Labelled& at) { return at.label == dropped; });
  EXPECT_TRUE(known) << claim_ << ": no premise " << dropped;
  controls_.push_back({"without " + dropped, dropped, std::nullopt, reader, hints});
}

void Obligation::control_goal(const std::string& label, const expr& formula, const Reader& reader,
                              const std::vector<expr>& hints) {
  controls_.push_back({"not: " + label, "", formula, reader, hints});
}

expr Obligation::all_goals() {
  expr all = z_.bool_val(true);
  for (const Labelled& goal : goals_) all = all && goal.formula;
  return all;
}

void Obligation::ask_z3(Asked& asked, const std::string& text) {
  const auto start = Clock::now();
  // Z3's plain SMT core answers most queries at once; its strategy for integer arithmetic others.
  for (const bool is_plain : {true, false}) {
    z3::solver solver = is_plain ? z3::solver(z_, z3::solver::simple()) : z3::solver(z_);
    z3::params params(z_);
    const unsigned usual = is_plain ? z3_plain_limit_seconds : z3_limit_seconds;
    params.set("timeout", (limit_seconds_ > 0 ? limit_seconds_ : usual) * 1000);
    solver.set(params);
    solver.from_string(text.c_str());
    const z3::check_result result = solver.check();
    asked.z3 = result == z3::unsat ? Answer::unsat
               : result == z3::sat ? Answer::sat
                                   : Answer::unknown;
    if (result == z3::sat) asked.model = solver.get_model();
    if (result != z3::unknown) break;
  }
  asked.z3_seconds += seconds_since(start);
}

void Obligation::ask_cvc5(Asked& asked, const std::filesystem::path& file) const {
  if (cvc5_program().empty()) return;
  const auto start = Clock::now();
  const unsigned limit = limit_seconds_ > 0 ? limit_seconds_ : cvc5_limit_seconds;
  std::ostringstream command;
  command << "'" << cvc5_program() << "' --lang=smt2 --nl-ext-tplanes --tlimit=" << limit * 1000
          << " '" << file.string() << "' 2>&1";
  asked.cvc5 = read_answer(run_program(command.str()).output);
  asked.cvc5_seconds = seconds_since(start);
}

Asked Obligation::find(const std::string& title, std::vector<expr> asserted,
                       const std::filesystem::path& file) {
  const std::size_t given = asserted.size();
  Asked asked;
  for (const std::int64_t below : {std::int64_t{4}, std::int64_t{8}, small_}) {
    asserted.resize(given, z_.bool_val(true));
    for (const expr& number : numbers_) {
      asserted.push_back(number < value(below) && number > value(-below));
    }
    const std::string text = smt2(title, asserted);
    write(file, text);
    ask_z3(asked, text);
    if (asked.z3 == Answer::sat) break;
  }
  if (!asked.model) return asked;
  // The second solver judges the numbers that the first one found.
  asserted.resize(given, z_.bool_val(true));
  for (const expr& number : numbers_) asserted.push_back(number == asked.model->eval(number, true));
  write(file, smt2(title + ", with the numbers found", asserted));
  ask_cvc5(asked, file);
  return asked;
}

std::string Obligation::smt2(const std::string& title, const std::vector<expr>& asserted) {
  std::ostringstream out;
  out << "; " << statement_ << ": " << claim_ << "\n; " << title << "\n(set-logic ALL)\n";
  for (const z3::sort& sort : sorts_) out << "(declare-sort " << sort << " 0)\n";
  for (const z3::func_decl& declaration : declarations_) out << declaration << "\n";
  for (const expr& formula : asserted) out << "(assert " << formula << ")\n";
  out << "(check-sat)\n";
  return out.str();
}

void Obligation::check() {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  Row row;
  row.file = std::filesystem::path(test->file()).stem().string();
  row.test = std::string(test->test_suite_name()) + "." + test->name();
  row.statement = statement_;
  row.claim = claim_;
  row.unbounded = unbounded_;
  row.bounded = bounded_;
  row.is_bookkeeping = is_bookkeeping_;
  const std::filesystem::path smt2_directory = output_directory() / "smt2" / row.file;
  const std::string stem = as_file_name(std::string(test->name()));
  ASSERT_FALSE(goals_.empty()) << claim_;
  add_controls_of_premises();
  EXPECT_FALSE(controls_.empty()) << claim_ << ": an obligation without a control";
  EXPECT_EQ(is_made_of_sums_and_cases(), is_bookkeeping_) << claim_ << ": is it bookkeeping?";

  const auto assumptions = [&](const std::string& dropped) {
    std::vector<expr> out = ranges_;
    for (const Labelled& premise : premises_) {
      if (premise.label != dropped) out.push_back(premise.formula);
    }
    out.insert(out.end(), definitions_.begin(), definitions_.end());
    out.insert(out.end(), lemmas_.begin(), lemmas_.end());
    out.insert(out.end(), facts_.begin(), facts_.end());
    return out;
  };
  const auto contradict = [](const Asked& asked) {
    return (asked.z3 == Answer::sat && asked.cvc5 == Answer::unsat) ||
           (asked.z3 == Answer::unsat && asked.cvc5 == Answer::sat);
  };

  // Goals. The weaker answer of several goals is that of the obligation.
  Answer z3_all = Answer::unsat, cvc5_all = Answer::unsat;
  const auto weaken = [](Answer& all, Answer one) {
    if (one == Answer::absent || all == Answer::absent) {
      all = Answer::absent;
    } else if (one == Answer::sat || all == Answer::sat) {
      all = Answer::sat;
    } else if (one == Answer::unknown) {
      all = Answer::unknown;
    }
  };
  // Facts stand alone: no premise helps them.
  std::vector<Labelled> proved_alone;
  for (const expr& fact : facts_) proved_alone.push_back({"fact", fact, true});
  proved_alone.insert(proved_alone.end(), goals_.begin(), goals_.end());
  for (std::size_t at = 0; at < proved_alone.size(); ++at) {
    const bool is_fact = at < facts_.size();
    const Labelled& wanted = proved_alone[at];
    std::vector<expr> asserted = wanted.is_identity ? std::vector<expr>() : assumptions("");
    asserted.push_back(!wanted.formula);
    EXPECT_TRUE(wanted.is_identity || !is_valid_alone(wanted.formula))
        << claim_ << ", " << wanted.label << ": the goal needs no premise";
    EXPECT_EQ(!wanted.is_identity && is_premise(wanted.formula), wanted.is_unchanged)
        << claim_ << ", " << wanted.label << ": is the goal a premise?";
    const std::string text = smt2((is_fact ? "" : "goal, negated: ") + wanted.label, asserted);
    const std::string number = std::to_string(is_fact ? at + 1 : at + 1 - facts_.size());
    const auto file = smt2_directory / (stem + (is_fact ? ".fact_" : ".goal_") + number + ".smt2");
    Asked asked;  // both solvers read the same text
    write(file, text);
    ask_z3(asked, text);
    ask_cvc5(asked, file);
    ++row.queries;
    row.z3_seconds += asked.z3_seconds;
    row.cvc5_seconds += asked.cvc5_seconds;
    weaken(z3_all, asked.z3);
    weaken(cvc5_all, asked.cvc5);
    EXPECT_FALSE(contradict(asked))
        << claim_ << ", " << wanted.label << ": the solvers contradict each other";
    const bool proved = asked.z3 == Answer::unsat || asked.cvc5 == Answer::unsat;
    EXPECT_TRUE(proved) << claim_ << ", " << wanted.label << ": Z3 says "
                        << name_of(asked.z3, Answer::unsat) << ", cvc5 says "
                        << name_of(asked.cvc5, Answer::unsat);
    if (asked.model) {
      std::ostringstream values;
      values << *asked.model;
      ADD_FAILURE() << claim_ << ", " << wanted.label << " is refuted by\n" << values.str();
    }
  }
  row.z3 = name_of(z3_all, Answer::unsat);
  row.cvc5 = name_of(cvc5_all, Answer::unsat);

  for (std::size_t at = 0; at < controls_.size(); ++at) {
    const Control& control = controls_[at];
    std::vector<expr> asserted = assumptions(control.dropped);
    asserted.push_back(!(control.instead ? *control.instead : all_goals()));
    asserted.insert(asserted.end(), control.hints.begin(), control.hints.end());
    const Asked asked =
        find("control " + control.label, asserted,
             smt2_directory / (stem + ".control_" + std::to_string(at + 1) + ".smt2"));
    ++row.queries;
    EXPECT_FALSE(contradict(asked))
        << claim_ << ", control " << control.label << ": the solvers contradict each other";
    EXPECT_EQ(asked.z3, Answer::sat)
        << claim_ << ", control " << control.label << ": Z3 finds no counterexample";
    Row::Control line;
    line.label = control.label;
    line.z3 = name_of(asked.z3, Answer::sat);
    line.cvc5 = name_of(asked.cvc5, Answer::sat);
    line.seconds = asked.z3_seconds;
    if (asked.model && control.reader) {
      const Counterexample found = control.reader(Model(*asked.model));
      line.counterexample = found.text;
      line.is_real = found.is_real;
    } else if (asked.model) {
      for (const expr& number : numbers_) {
        std::ostringstream value;
        value << asked.model->eval(number, true);
        line.counterexample += (line.counterexample.empty() ? "" : ", ") +
                               number.decl().name().str() + " = " + value.str();
      }
    }
    if (asked.model) {
      std::cout << claim_ << "; " << control.label << ": " << line.counterexample;
      if (line.is_real) std::cout << (*line.is_real ? " (confirmed)" : " (DENIED)");
      std::cout << "\n";
      EXPECT_NE(line.is_real, std::optional<bool>(false)) << line.counterexample;
    }
    row.controls.push_back(line);
  }

  std::vector<expr> asserted = assumptions("");
  asserted.push_back(all_goals());
  asserted.insert(asserted.end(), example_hints_.begin(), example_hints_.end());
  const Asked asked = find("example", asserted, smt2_directory / (stem + ".example.smt2"));
  ++row.queries;
  EXPECT_FALSE(contradict(asked)) << claim_ << ", example: the solvers contradict each other";
  EXPECT_EQ(asked.z3, Answer::sat) << claim_ << ": the premises may contradict each other";
  row.example_z3 = asked.z3 == Answer::sat ? "found" : "none";
  row.example_cvc5 = asked.cvc5 == Answer::sat      ? "found"
                     : asked.cvc5 == Answer::absent ? "absent"
                                                    : "none";
  if (!statement_.empty()) rows().push_back(row);
}

}  // namespace proofs
