// Choice by a solver: Z3 picks a candidate for every statement such that what stands between them costs
// least. Only layouts and costs of single redistributions are shared with what is compared.
#include <gtest/gtest.h>
#include <z3++.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "retile/array/choose.h"
#include "retile/array/matching.h"
#include "retile/core/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/layout_reader.h"

namespace retile::array::choose_z3_test {
namespace {

/// One way to cut a statement.
struct Candidate {
  std::vector<std::string> needs;  // by use
  std::string makes;
  Size inputs = 0;  // elements of one device
};

/// The statements as variables of a solver: a number for each, which candidate it takes.
class Encoding {
 public:
  Encoding(const Statements& all, Size devices) : all_(all), optimize_(context_) {
    grid_.devices = devices;
    grid_.axes = {{"devices", devices}};
    for (Size left = devices, p = 2; left > 1; ++p) {
      for (; left % p == 0; left /= p) digits_.push_back({devices / left, p});
    }
    mesh_ = "devices:" + std::to_string(devices);
    const text::Input input = {mesh_, "mesh", false};
    text::Scanner scanner(input);
    reader_.emplace(scanner, 64);
    for (std::size_t s = 0; s < all.statements.size(); ++s) statement(s);
  }

  /// Least elements moved, and least elements of inputs with that; nothing where none is within.
  std::optional<std::pair<Size, Size>> best(std::optional<Size> limit) {
    if (limit) optimize_.add(sum(inputs_) <= context_.int_val(*limit));
    const auto cost = optimize_.minimize(sum(costs_));
    const auto inputs = optimize_.minimize(sum(inputs_));
    if (optimize_.check() != z3::sat) return std::nullopt;
    return std::pair(number(optimize_.lower(cost)), number(optimize_.lower(inputs)));
  }
  [[nodiscard]] std::size_t candidates() const { return candidates_in_all_; }

 private:
  static Size number(const z3::expr& value) { return value.get_numeral_int64(); }
  z3::expr sum(const std::vector<z3::expr>& terms) {
    z3::expr out = context_.int_val(0);
    for (const z3::expr& term : terms) out = out + term;
    return out;
  }

  const Layout& layout(const std::string& spelling) {
    const auto found = layouts_.find(spelling);
    if (found != layouts_.end()) return found->second;
    const text::Input input = {spelling, "layout", false};
    text::Scanner scanner(input);
    return layouts_.emplace(spelling, reader_->read(scanner).layout).first->second;
  }
  std::optional<Size> cost(const std::string& from, const std::string& to) {
    if (from == to) return 0;
    const auto problem = Problem::make(layout(from), layout(to));
    if (!problem) return std::nullopt;
    const auto planned = plan(*problem);
    if (!planned) return std::nullopt;
    return planned->cost;
  }

  /// Every order of digits on every variable.
  void digit(Cuts& cuts, std::size_t k, std::vector<Cuts>& out) {
    if (k == digits_.size() || cuts.empty()) return out.push_back(cuts);
    for (auto& cut : cuts) {
      const auto before = cut;
      const std::size_t has = before ? before->digits.size() : 0;
      for (std::size_t at = 0; at <= has; ++at) {
        cut = before.value_or(Cut{});
        cut->digits.insert(cut->digits.begin() + static_cast<std::ptrdiff_t>(at), digits_[k]);
        digit(cuts, k + 1, out);
      }
      cut = before;
    }
  }
  /// Whether a piece begins behind the end, so that a device has no work.
  static bool has_empty_piece(const Statement& statement, const Cuts& cuts) {
    bool out = false;
    for (std::size_t v = 0; v < cuts.size(); ++v) {
      Size pieces = 1;
      if (cuts[v]) {
        for (const Digit& digit : cuts[v]->digits) pieces *= digit.size;
      }
      const Size extent = statement.variables[v].extent;
      const Size width = (extent + pieces - 1) / pieces;
      out = out || (pieces - 1) * width >= extent;
    }
    return out;
  }
  /// Of those in which all devices have work, if there are some.
  std::vector<Candidate> candidates_of(std::size_t s) {
    const Statement& statement = all_.statements[s];
    std::vector<Cuts> all;
    Cuts none(statement.variables.size());
    digit(none, 0, all);
    std::vector<Cuts> full;
    for (const Cuts& cuts : all) {
      if (!has_empty_piece(statement, cuts)) full.push_back(cuts);
    }
    std::vector<Candidate> out;
    for (const Cuts& cuts : full.empty() ? all : full) {
      auto made = text::result_of([&] { return candidate(s, cuts); });
      if (made) out.push_back(*std::move(made));
    }
    return out;
  }
  Candidate candidate(std::size_t s, const Cuts& cuts) {
    const Statement& statement = all_.statements[s];
    const Matching matching(grid_, statement, cuts);
    Candidate out;
    std::vector<std::size_t> use_of;
    for (const Use& use : uses_of(statement, use_of)) {
      out.needs.push_back(matching.layout(use, *all_.arrays[use.array].shape, ""));
      if (!makers_.contains(use.array)) out.inputs += layout(out.needs.back()).tile_size();
    }
    const Use written = written_by(statement);
    out.makes = matching.layout(written, *all_.arrays[written.array].shape,
                                addition_of(statement, grid_, cuts));
    return out;
  }

  /// A condition for each spelling: that the number picks a candidate with it.
  using Spellings = std::map<std::string, z3::expr_vector>;
  void add(Spellings& spellings, const std::string& spelling, const z3::expr& condition) {
    spellings.try_emplace(spelling, context_).first->second.push_back(condition);
  }

  void statement(std::size_t s) {
    const Statement& statement = all_.statements[s];
    const std::vector<Candidate> candidates = candidates_of(s);
    candidates_in_all_ += candidates.size();
    std::vector<std::size_t> use_of;
    const std::vector<Use> uses = uses_of(statement, use_of);
    const z3::expr which = context_.int_const(("c" + std::to_string(s)).c_str());
    const z3::expr inputs = context_.int_const(("i" + std::to_string(s)).c_str());
    optimize_.add(which >= 0 && which < static_cast<int>(candidates.size()));
    Spellings makes;
    std::vector<Spellings> needs(uses.size());
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const z3::expr taken = which == static_cast<int>(c);
      optimize_.add(z3::implies(taken, inputs == context_.int_val(candidates[c].inputs)));
      add(makes, candidates[c].makes, taken);
      for (std::size_t u = 0; u < uses.size(); ++u) add(needs[u], candidates[c].needs[u], taken);
    }
    inputs_.push_back(inputs);
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const auto maker = makers_.find(uses[u].array);
      if (maker != makers_.end()) edge(maker->second, needs[u]);
    }
    makers_.emplace(statement.out.array, makes);
    if (s + 1 < all_.statements.size() || !all_.returned[0].layout) return;
    Spellings end;
    add(end, *all_.returned[0].layout, context_.bool_val(true));
    edge(makes, end);
  }
  /// What it costs to go from any of these layouts to any of those.
  void edge(const Spellings& from, const Spellings& to) {
    const z3::expr moved = context_.int_const(("e" + std::to_string(costs_.size())).c_str());
    for (const auto& [a, is_a] : from) {
      for (const auto& [b, is_b] : to) {
        const auto planned = cost(a, b);
        const z3::expr both = z3::mk_or(is_a) && z3::mk_or(is_b);
        optimize_.add(planned ? z3::implies(both, moved == context_.int_val(*planned)) : !both);
      }
    }
    costs_.push_back(moved);
  }

  const Statements& all_;
  z3::context context_;
  z3::optimize optimize_;
  Grid grid_;
  std::vector<Digit> digits_;
  std::string mesh_;
  std::optional<forms::LayoutReader> reader_;
  std::map<std::string, Layout> layouts_;
  std::map<std::size_t, Spellings> makers_;  // by array
  std::vector<z3::expr> inputs_, costs_;
  std::size_t candidates_in_all_ = 0;
};

void expect_the_solvers(const std::string& lines, Size devices, std::optional<Size> limit = {}) {
  SCOPED_TRACE(lines + " on " + std::to_string(devices));
  const std::string text = "retile.array/1\n" + lines;
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  ASSERT_TRUE(statements) << statements.error().message;
  const auto found =
      choose(*statements, {.devices = devices, .element_bytes = 1, .memory_limit_bytes = limit});
  Encoding encoding(*statements, devices);
  const auto best = encoding.best(limit);
  ASSERT_EQ(found.has_value(), best.has_value()) << (found ? "" : found.error().message);
  if (!found) return;
  std::size_t candidates = 0;
  for (const Size n : found->candidates) candidates += static_cast<std::size_t>(n);
  EXPECT_EQ(candidates, encoding.candidates());
  EXPECT_EQ(found->best.cost, best->first);
  EXPECT_EQ(found->best.input_bytes, best->second);
}

const std::string chain_of_four =
    "array x[8,4] w[4,8] u[8,4]\ny[i,j] += x[i,k] * w[k,j]\nz[i,j] = relu(y[i,j])\n"
    "t[i,j] += z[i,k] * u[k,j]\nr[j,i] = t[i,j]\nreturn r";
const std::string tree_of_four =
    "array x[4,6] w[6,2] v[2,8] b[4]\np[i,j] += x[i,k] * w[k,j]\nq[i] += v[i,k]\n"
    "r[i] += p[i,k] * q[k]\ns[i] = r[i] + b[i]\nreturn s";

TEST(ChooseByZ3, is_what_a_solver_finds) {
  for (const Size devices : {2, 3, 4, 6, 8}) {
    expect_the_solvers(chain_of_four + "\n", devices);
    expect_the_solvers(tree_of_four + "\n", devices);
    expect_the_solvers(tree_of_four + " : [4]\n", devices);
  }
  for (const Size limit : {8, 24, 40, 60}) {
    expect_the_solvers(chain_of_four + " : [4, 8]\n", 8, limit);
    expect_the_solvers(tree_of_four + " : [4]\n", 8, limit);
  }
}

TEST(ChooseByZ3, random_chains_are_what_a_solver_finds) {
  std::mt19937_64 random(11);
  const auto below = [&random](Size n) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 20; ++round) {
    std::string rows = std::to_string(1 + below(8)), columns = std::to_string(1 + below(8));
    std::string declared = "array x[" + rows + "," + columns + "]", lines, at = "x";
    const Size count = 2 + below(3);
    for (Size s = 0; s < count; ++s) {
      const std::string name = "y" + std::to_string(s);
      const Size kind = below(3);
      if (kind == 0) {
        const std::string w = "w" + std::to_string(s), wide = std::to_string(1 + below(8));
        declared += " " + w + "[" + columns + "," + wide + "]";
        lines += name + "[i,j] += " + at + "[i,k] * " + w + "[k,j]\n";
        columns = wide;
      } else if (kind == 1) {
        lines += name + "[j,i] = " + at + "[i,j]\n";
        std::swap(rows, columns);
      } else {
        lines += name + "[i,j] = relu(" + at + "[i,j])\n";
      }
      at = name;
    }
    const std::string end = below(2) == 0 ? " : [" + rows + ", " + columns + "]" : "";
    const Size devices =
        std::vector<Size>{2, 3, 4, 5, 6, 7, 8, 8}[static_cast<std::size_t>(below(8))];
    const std::string text = declared + "\n" + lines + "return " + at + end + "\n";
    expect_the_solvers(text, devices);
    expect_the_solvers(text, devices, 4 + below(60));
  }
}

}  // namespace
}  // namespace retile::array::choose_z3_test
