// Gradients of statements. Two rules are independent of the room array: the derivatives of the formal
// polynomials that the oracle's reader makes of a module, for all numbers at once, and differences of values
// that loops over every iteration point work out.
#include "retile/array/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "retile/array/choose.h"
#include "retile/array/partition.h"
#include "retile/spmd/judge.h"
#include "spec/programs/derivative.h"
#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"
#include "support/samples.h"

namespace retile::array::gradient_test {
namespace {

const std::string header = "retile.array/1\n";

Result<Gradient> derived(const std::string& text, const GradientOptions& options = {}) {
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  if (!statements) return refuse(statements.error());
  return gradient(input, *statements, options);
}
/// What is printed behind the declarations, or why nothing is.
std::string lines_of(const std::string& lines, const GradientOptions& options = {}) {
  const auto found = derived(header + lines, options);
  if (!found) return found.error().message;
  std::string out = found->program.substr(header.size());
  while (out.rfind("array ", 0) == 0) out.erase(0, out.find('\n') + 1);
  return out;
}

// What is printed.

TEST(Gradient, of_a_product_is_two_products) {
  EXPECT_EQ(derived(header + "array x[4,8] w[8,6]\ny[i,j] += x[i,k] * w[k,j]\nreturn y\n")->program,
            header +
                "array x[4,8]\narray w[8,6]\narray dy[4,6]\n"
                "dx[i,k] += dy[i,j] * w[k,j]\ndw[k,j] += dy[i,j] * x[i,k]\n"
                "return dx as x, dw as w\n");
}
TEST(Gradient, reads_what_was_written_and_leaves_out_the_rest) {
  // e is read, z and nothing else of it is not.
  EXPECT_EQ(lines_of("array x[3]\ne[i] = exp(x[i])\nz[i] = 2e[i] + 1\nreturn z\n"),
            "e[i] = exp(x[i])\nde[i] = 2 * dz[i]\ndx[i] = de[i] * e[i]\nreturn dx as x\n");
  EXPECT_EQ(lines_of("array x[3]\ny[i] = sqrt(x[i])\nreturn y\n"),
            "y[i] = sqrt(x[i])\ndx[i] = dy[i] / 2 / y[i]\nreturn dx as x\n");
  EXPECT_EQ(lines_of("array x[3] w[3]\ny[i] = x[i] / w[i]\nreturn y\n"),
            "y[i] = x[i] / w[i]\ndx[i] = dy[i] / w[i]\ndw[i] = -dy[i] * y[i] / w[i]\n"
            "return dx as x, dw as w\n");
}
TEST(Gradient, of_what_meets_at_an_array_is_one_statement_where_the_sums_are_alike) {
  EXPECT_EQ(lines_of("array x[4,3] v[3,5] w[3,5]\na[i,j] += x[i,k] * v[k,j]\n"
                     "b[j,n] += x[n,m] * w[m,j]\nz[i,j] = a[i,j] * b[j,i] + a[i,j]\nreturn z\n",
                     {.with_respect_to = {"x"}}),
            "a[i,j] += x[i,k] * v[k,j]\nb[j,n] += x[n,m] * w[m,j]\n"
            "db[j,i] = dz[i,j] * a[i,j]\n"
            "da[i,j] = dz[i,j] * b[j,i] + dz[i,j]\n"
            "dx[n,m] += db[j,n] * w[m,j] + da[n,j] * v[m,j]\nreturn dx as x\n");
}
TEST(Gradient, of_a_residual_adds_what_is_not_summed_last) {
  EXPECT_EQ(lines_of("array x[4,4] w[4,4]\ny[i,j] += x[i,k] * w[k,j]\nz[i,j] = x[i,j] + y[i,j]\n"
                     "return z\n",
                     {.with_respect_to = {"x"}}),
            "dx_1[i,k] += dz[i,j] * w[k,j]\ndx[i,j] = dz[i,j] + dx_1[i,j]\nreturn dx\n");
}
TEST(Gradient, of_sums_over_different_extents_adds_them) {
  EXPECT_EQ(lines_of("array x[4] v[3] w[2]\ny[i] += x[i] * v[k]\nz[i] += x[i] * w[k]\n"
                     "r[i] = y[i] + z[i]\nreturn r\n",
                     {.with_respect_to = {"x"}}),
            "dx_1[i] += dr[i] * w[k]\ndx_2[i] += dr[i] * v[k]\ndx[i] = dx_1[i] + dx_2[i]\n"
            "return dx\n");
}
TEST(Gradient, of_maxima_is_shared_by_all_that_are_equal) {
  EXPECT_EQ(lines_of("array x[3,4]\nm[i] max= x[i,k]\nreturn m\n"),
            "m[i] max= x[i,k]\nm_ties[i] += equal(x[i,k], m[i])\n"
            "dx[i,k] = dm[i] * equal(x[i,k], m[i]) / m_ties[i]\nreturn dx as x\n");
  EXPECT_EQ(
      lines_of("array x[3] y[3]\nm[i] = min(x[i], y[i])\nreturn m\n", {.with_respect_to = {"y"}}),
      "m[i] = min(x[i], y[i])\n"
      "dy[i] = dm[i] * equal(y[i], m[i]) / (equal(x[i], m[i]) + equal(y[i], m[i]))\n"
      "return dy as y\n");
}
TEST(Gradient, of_relu_is_a_step) {
  EXPECT_EQ(lines_of("array x[3]\ny[i] = relu(x[i])\nreturn y\n"),
            "dx[i] = dy[i] * step(x[i])\nreturn dx as x\n");
}
TEST(Gradient, ranges_say_how_far_variables_go_that_nothing_reads) {
  EXPECT_EQ(lines_of("array x[3,4]\ny[i] += x[i,k]\nreturn y\n"),
            "dx[i,k] = dy[i] for k:4\nreturn dx\n");
  EXPECT_EQ(lines_of("array x[3]\ny[i] += 2x[i] for n:5\nreturn y\n"),
            "dx[i] += 2 * dy[i] for n:5\nreturn dx\n");
  // a has six elements, of which three are read.
  EXPECT_EQ(lines_of("array a[6] b[4] c[2]\ny[] += c[k] * a[i] + b[i+1]\nreturn y\n",
                     {.with_respect_to = {"c"}}),
            "dc[k] += dy[] * a[i] for k:2,i:3\nreturn dc\n");
}
TEST(Gradient, takes_arrays_as_given) {
  const std::string softmax =
      "array x[4,8]\nm[i] max= x[i,k]\ne[i,k] = exp(x[i,k] - m[i])\ns[i] += e[i,k]\n"
      "r[i,k] = e[i,k] / s[i]\nreturn r\n";
  EXPECT_EQ(lines_of(softmax, {.constant = {"m"}, .value = true}),
            "m[i] max= x[i,k]\ne[i,k] = exp(x[i,k] - m[i])\ns[i] += e[i,k]\n"
            "r[i,k] = e[i,k] / s[i]\nds[i] += -dr[i,k] * r[i,k] / s[i]\n"
            "de[i,k] = dr[i,k] / s[i] + ds[i]\ndx[i,k] = de[i,k] * e[i,k]\n"
            "return r, dx as x\n");
  EXPECT_NE(lines_of(softmax).find("m_ties"), std::string::npos);
}
TEST(Gradient, of_an_array_within_and_names_that_are_taken) {
  EXPECT_EQ(lines_of("array x[3] dy[3]\ny[i] = x[i] * dy[i]\nz[i] = y[i] * y[i]\nreturn z\n",
                     {.of = "y"}),
            "dx[i] = dy_1[i] * dy[i]\nddy[i] = dy_1[i] * x[i]\nreturn dx as x, ddy as dy\n");
  EXPECT_EQ(lines_of("array x[3]\ny[i] = 3x[i]\nz[i] = y[i] * y[i]\nreturn z\n",
                     {.with_respect_to = {"y"}}),
            "y[i] = 3x[i]\ndy[i] = 2 * dz[i] * y[i]\nreturn dy\n");
}
TEST(Gradient, is_copied_only_where_it_is_returned) {
  EXPECT_EQ(lines_of("array x[3] w[3]\ny[i] = x[i] + w[i]\nz[i] = -y[i]\nr[i] = z[i] + 1\n"
                     "return r\n"),
            "dy[i] = -dr[i]\ndx[i] = dy[i]\ndw[i] = dy[i]\nreturn dx, dw\n");
}
TEST(Gradient, keeps_tactics_and_layouts_of_inputs) {
  EXPECT_EQ(derived(header + "array x[4] : [2{a}4]\ny[i] = x[i] * x[i]\nreturn y\n"
                             "tactic tile x 0 by a:2\ntactic propagate\n")
                ->program,
            header +
                "array x[4] : [2{a}4]\narray dy[4]\ndx[i] = 2 * dy[i] * x[i]\n"
                "return dx as x\ntactic tile x 0 by a:2\ntactic propagate\n");
}
TEST(Gradient, refuses_what_no_statement_writes) {
  const std::string part =
      "the derivative of this would be written to a part of an array, or to sums of indices";
  for (const char* const statement : {"y[i] = x[i+1]", "y[i] = x[2*i]", "y[i] = x[i] + w[i+1]",
                                      "y[i] = z[i,0]", "y[i] = z[i,i]", "y[i] += x[i+k] * w[k]"}) {
    EXPECT_EQ(lines_of(std::string("array x[6] w[3] z[4,4]\n") + statement + "\nreturn y\n"), part)
        << statement;
  }
  EXPECT_EQ(
      lines_of("array x[6] w[3]\ny[i] = x[i] + w[i+1]\nreturn y\n", {.with_respect_to = {"x"}}),
      part);
  // Of what is read so nobody may want the gradient.
  EXPECT_EQ(
      lines_of("array x[6] w[3]\ny[i] += x[i+k] * w[k]\nreturn y\n", {.with_respect_to = {"w"}}),
      "dw[k] += dy[i] * x[i+k] for k:3\nreturn dw\n");
}
TEST(Gradient, of_what_is_taken_at_indices_is_refused_and_that_beside_it_is_not) {
  const std::string sparse =
      "array val[4,2] col[4,2] x[6]\nb[i] += val[i,k] * x[col[i,k]]\nreturn b\n";
  EXPECT_EQ(lines_of(sparse),
            "the derivative by x would be added to those of its elements that col names, which no "
            "statement does (a scatter)");
  EXPECT_EQ(lines_of(sparse, {.constant = {"x"}}),
            "dval[i,k] = db[i] * x[col[i,k]]\nreturn dval\n");
  EXPECT_EQ(lines_of(sparse, {.with_respect_to = {"val"}}),
            "dval[i,k] = db[i] * x[col[i,k]]\nreturn dval\n");
  EXPECT_EQ(lines_of(sparse, {.with_respect_to = {"col"}}),
            "col is an array of indices, and whole numbers have no derivative");
  EXPECT_EQ(lines_of("array w[3] x[6,4] c[3] d[2]\ny[i] = exp(w[i] * x[c[i],d[1]])\nreturn y\n",
                     {.constant = {"x"}}),
            "y[i] = exp(w[i] * x[c[i],d[1]])\ndw[i] = dy[i] * y[i] * x[c[i],d[1]]\n"
            "return dw as w\n");
}
TEST(Gradient, refuses_arguments_that_mean_nothing) {
  const std::string lines = "array x[3] u[3]\ny[i] = x[i] * x[i]\nz[i] = step(u[i])\nreturn y\n";
  EXPECT_EQ(lines_of(lines, {.of = "q"}), "there is no array q");
  EXPECT_EQ(lines_of(lines, {.of = "x"}), "x is an input, which depends on nothing");
  EXPECT_EQ(lines_of(lines, {.with_respect_to = {"u"}}), "y does not depend on u");
  EXPECT_EQ(lines_of(lines, {.with_respect_to = {"y"}}), "y is the result itself");
  EXPECT_EQ(lines_of(lines, {.with_respect_to = {"x", "x"}}), "x stands twice");
  EXPECT_EQ(lines_of(lines, {.of = "z"}), "z depends on no input");
  EXPECT_EQ(lines_of(lines, {.of = "z", .with_respect_to = {"u"}}), "z does not depend on u");
  EXPECT_EQ(lines_of("array x[3]\ny[i] = x[i]\nz[i] = x[i]\nreturn y, z\n"),
            "several arrays are returned: --of says whose gradient is wanted");
}

TEST(Gradient, has_limits) {
  if (support::instrumented) GTEST_SKIP() << "a million terms take too long when instrumented";
  // Of a maximum of maxima every argument has the counts of all.
  std::string many = "x[i]";
  for (int depth = 0; depth < 60; ++depth) {
    many = "max(" + many;
    for (int k = 0; k < 15; ++k) many += ", x[i]";
    many += ")";
  }
  EXPECT_EQ(lines_of("array x[3]\ny[i] = " + many + "\nreturn y\n"),
            "derivatives of more than 2^20 terms");
}

// Random programs.

#ifdef RETILE_SLOW_TESTS
constexpr int programs_drawn = support::samples(4'000);
#else
constexpr int programs_drawn = support::samples(200);
#endif

using Random = std::mt19937_64;
Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}
bool chance(Random& random, Size percent) { return below(random, 100) < percent; }

/// Dimensions are of classes, each with an extent; two classes have the same one.
constexpr Size extents[] = {2, 3, 2, 1};

struct Known {
  std::string name;
  std::vector<Size> classes;
};
struct Program {
  std::string text;
  bool has_polynomials = true;  ///< and exp, but nothing else
};

class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {}

  Program program(bool polynomials) {
    polynomials_ = polynomials;
    std::string text = header;
    for (const char* const name : {"x", "u", "w"}) {
      Known array{name, {}};
      for (Size k = below(random_, 3); k >= 0; --k) array.classes.push_back(below(random_, 4));
      text += "array " + array.name + "[";
      for (std::size_t k = 0; k < array.classes.size(); ++k) {
        text += (k > 0 ? "," : "") + std::to_string(extents[array.classes[k]]);
      }
      text += "]\n";
      known_.push_back(std::move(array));
    }
    const Size statements = 1 + below(random_, 4);
    for (Size s = 0; s < statements; ++s) text += statement("r" + std::to_string(s)) + "\n";
    return {text + "return " + known_.back().name + "\n", polynomials};
  }

 private:
  struct Variable {
    std::string name;
    Size of_class = 0;
    bool is_read = false;
  };

  std::string statement(const std::string& name) {
    variables_.clear();
    std::string names = "abcdefgh";
    std::shuffle(names.begin(), names.end(), random_);
    const std::string body = term(chance(random_, 40) ? 3 : 2);
    Known out{name, {}};
    std::string left;
    bool sums = false;
    for (const Variable& v : variables_) {
      if (chance(random_, 35)) {
        sums = true;
        continue;
      }
      left += (left.empty() ? "" : ",") + v.name;
      out.classes.push_back(v.of_class);
    }
    std::string meeting = sums ? " += " : " = ";
    if (sums && !polynomials_ && chance(random_, 30)) {
      meeting = chance(random_, 50) ? " max= " : " min= ";
    }
    known_.push_back(std::move(out));
    return name + "[" + left + "]" + meeting + body;
  }

  std::string term(int depth) {
    if (depth == 0 || chance(random_, 25)) return chance(random_, 10) ? number() : read();
    const auto two = [&](const char* sign) {
      return "(" + term(depth - 1) + sign + term(depth - 1) + ")";
    };
    switch (below(random_, polynomials_ ? 6 : 14)) {
      case 0:
        return two(" + ");
      case 1:
        return two(" - ");
      case 2:
      case 3:
        return two(" * ");
      case 4:
        return chance(random_, 50) ? "(-" + term(depth - 1) + ")" : "neg(" + term(depth - 1) + ")";
      case 5:
        return "exp(" + term(depth - 1) + " - " + read() + ")";
      case 6:
      case 7: {
        const std::string divisor = term(depth - 1);
        return "(" + term(depth - 1) + " / (2 + " + divisor + " * " + divisor + "))";
      }
      case 8: {
        const std::string root = read();
        return "sqrt(1 + " + root + " * " + root + ")";
      }
      case 9:
      case 10:
        return "relu(" + term(depth - 1) + ")";
      case 11:
        return "max(" + term(depth - 1) + ", " + term(depth - 1) + ", " + read() + ")";
      case 12:
        return "min(" + term(depth - 1) + ", " + term(depth - 1) + ")";
      default:
        return "(" + read() + " * step(" + term(depth - 1) + "))";
    }
  }
  std::string number() { return std::to_string(1 + below(random_, 3)); }
  /// At a variable of each dimension's class, each once.
  std::string read() {
    const Known& array =
        known_[static_cast<std::size_t>(below(random_, static_cast<Size>(known_.size())))];
    std::string out;
    std::vector<std::size_t> taken;
    for (const Size of_class : array.classes) {
      std::vector<std::size_t> fit;
      for (std::size_t v = 0; v < variables_.size(); ++v) {
        const bool is_free = std::count(taken.begin(), taken.end(), v) == 0;
        if (is_free && variables_[v].of_class == of_class) fit.push_back(v);
      }
      if (fit.empty() || (variables_.size() < 4 && chance(random_, 15))) {
        fit = {variables_.size()};
        const std::string letters = "ijklmnop";
        variables_.push_back({letters.substr(variables_.size(), 1), of_class});
      }
      taken.push_back(fit[static_cast<std::size_t>(below(random_, static_cast<Size>(fit.size())))]);
      out += (out.empty() ? "" : ",") + variables_[taken.back()].name;
    }
    return array.name + "[" + out + "]";
  }

  Random& random_;
  bool polynomials_ = true;
  std::vector<Known> known_;
  std::vector<Variable> variables_;
};

// By formal polynomials.

std::string module_of(const std::string& text) {
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  if (!statements) return statements.error().message;
  const auto module = partition(*statements);
  return module ? *module : module.error().message;
}

using spec::spmd::Polynomial;
using spec::spmd::PolynomialTensor;

/// What a module says of inputs that are made where they are new.
std::vector<PolynomialTensor> said(const std::string& module,
                                   std::map<std::string, PolynomialTensor>& inputs,
                                   spec::spmd::Variables& variables) {
  const auto parsed = spec::spmd::parse_module(module);
  for (const auto& [name, layout] : parsed.parameters) {
    if (inputs.count(name) > 0) continue;
    inputs[name] = spec::tensor_of<Polynomial>(
        spec::spmd::global_shape(layout), [&](const spec::Sizes&) { return variables.fresh(); });
  }
  return spec::spmd::values_of(*parsed.denotes, inputs, variables);
}

/// Every element of every gradient. Nothing where a limit stops it.
std::optional<bool> is_derivative(const std::string& program, const Gradient& gradient) {
  spec::spmd::Polynomial::terms_left = spec::spmd::most_terms;
  spec::spmd::Variables variables;
  std::map<std::string, PolynomialTensor> inputs;
  const std::string module = module_of(program);
  if (!spec::spmd::is_module(module)) return std::nullopt;  // a number alone is no module
  const PolynomialTensor value = said(module, inputs, variables)[0];
  const auto found = said(module_of(gradient.program), inputs, variables);
  const PolynomialTensor& cotangent = inputs.at(gradient.cotangent);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const PolynomialTensor& input = inputs.at(gradient.gradients[k].first);
    for (std::size_t e = 0; e < input.elements.size(); ++e) {
      const spec::spmd::Variable x = input.elements[e].terms().begin()->first[0];
      Polynomial wanted;
      for (std::size_t i = 0; i < value.elements.size(); ++i) {
        const auto slope = spec::spmd::derivative(value.elements[i], x, variables);
        if (!slope) return std::nullopt;
        wanted += cotangent.elements[i] * *slope;
      }
      if (found[k].elements[e] != wanted) return false;
    }
  }
  return true;
}

TEST(Gradient, of_polynomials_and_exp_is_their_derivative_for_all_numbers) {
  Random random(5);
  int compared = 0, independent = 0, limited = 0;
  for (int round = 0; round < programs_drawn; ++round) {
    const Program drawn = Drawing(random).program(true);
    const auto found = derived(drawn.text);
    if (!found) {
      ++independent;
      EXPECT_NE(found.error().message.find("depends on no input"), std::string::npos)
          << found.error().message << "\n"
          << drawn.text;
      continue;
    }
    try {
      const auto same = is_derivative(drawn.text, *found);
      ASSERT_TRUE(same.value_or(true)) << drawn.text << found->program;
      compared += same ? 1 : 0;
    } catch (const spec::TooLarge&) {
      ++limited;
    } catch (const spec::ParseError& error) {
      FAIL() << error.message << "\n" << drawn.text << found->program << module_of(found->program);
    }
  }
  std::cout << compared << " compared, " << independent << " of no input, " << limited
            << " too large\n";
  EXPECT_GT(compared, programs_drawn / 2);
}

// By differences.

using Numbers = std::vector<double>;

/// The statements at every iteration point.
class Interpreter {
 public:
  explicit Interpreter(const std::string& text) : text_(text), input_{text_, "a", true} {
    auto read = read_statements(input_);
    if (!read) throw std::runtime_error(read.error().message);
    all_ = *std::move(read);
  }

  [[nodiscard]] const Statements& statements() const { return all_; }
  [[nodiscard]] std::size_t size_of(std::size_t array) const {
    return static_cast<std::size_t>(*checked_product(*all_.arrays[array].shape));
  }
  /// By array, in which inputs are given by name.
  [[nodiscard]] std::vector<Numbers> run(const std::map<std::string, Numbers>& inputs) const {
    std::vector<Numbers> out(all_.arrays.size());
    for (std::size_t a = 0; a < out.size(); ++a) {
      const Array& array = all_.arrays[a];
      if (!array.is_input) continue;
      const auto found = inputs.find(array.name);
      out[a] = found == inputs.end() ? Numbers(size_of(a), 0) : found->second;
    }
    for (const Statement& statement : all_.statements) carry_out(statement, out);
    return out;
  }

 private:
  void carry_out(const Statement& statement, std::vector<Numbers>& values) const {
    Numbers& out = values[statement.out.array];
    out.assign(size_of(statement.out.array), 0);
    std::vector<bool> is_written(out.size(), false);
    std::vector<Size> point(statement.variables.size(), 0);
    for (;;) {
      const std::size_t at = place(statement.out, point);
      const double value = term(statement, statement.body, point, values);
      double& there = out[at];
      const bool first = !is_written[at];
      is_written[at] = true;
      if (first || statement.meeting == Meeting::assign) {
        there = value;
      } else if (statement.meeting == Meeting::add) {
        there += value;
      } else {
        there = statement.meeting == Meeting::max ? std::max(there, value) : std::min(there, value);
      }
      std::size_t v = 0;
      while (v < point.size() && ++point[v] == statement.variables[v].extent) point[v++] = 0;
      if (v == point.size()) return;
    }
  }
  [[nodiscard]] std::size_t place(const Access& access, const std::vector<Size>& point) const {
    Size out = 0;
    for (std::size_t i = 0; i < access.subscripts.size(); ++i) {
      Size index = access.subscripts[i].constant;
      for (const auto& [v, factor] : access.subscripts[i].factors) index += factor * point[v];
      out = out * (*all_.arrays[access.array].shape)[i] + index;
    }
    return static_cast<std::size_t>(out);
  }
  double term(const Statement& statement, const Term& e, const std::vector<Size>& point,
              const std::vector<Numbers>& values) const {
    if (e.kind == TermKind::number) return static_cast<double>(e.number);
    if (e.kind == TermKind::access) {
      const Access& read = statement.reads[e.access];
      return values[read.array][place(read, point)];
    }
    Numbers x;
    for (const Term& arg : e.args) x.push_back(term(statement, arg, point, values));
    switch (e.op) {
      case spmd::LocalOp::add:
        return x[0] + x[1];
      case spmd::LocalOp::sub:
        return x[0] - x[1];
      case spmd::LocalOp::mul:
        return x[0] * x[1];
      case spmd::LocalOp::div:
        return x[0] / x[1];
      case spmd::LocalOp::neg:
        return -x[0];
      case spmd::LocalOp::relu:
        return std::max(x[0], 0.0);
      case spmd::LocalOp::exp:
        return std::exp(x[0]);
      case spmd::LocalOp::sqrt:
        return std::sqrt(x[0]);
      case spmd::LocalOp::step:
        return x[0] > 0 ? 1 : 0;
      case spmd::LocalOp::equal:
        return x[0] == x[1] ? 1 : 0;
      case spmd::LocalOp::max:
        return *std::max_element(x.begin(), x.end());
      default:
        return *std::min_element(x.begin(), x.end());
    }
  }

  std::string text_;
  text::Input input_;
  Statements all_;
};

struct Compared {
  bool is_fit = true;  ///< all numbers are moderate
  bool is_same = true;
};

/// Derivatives of L = sum of result * cotangent, by central differences.
Compared by_differences(const Interpreter& forward, const Interpreter& backward,
                        const Gradient& gradient, Random& random) {
  const Statements& all = forward.statements();
  std::map<std::string, Numbers> inputs;
  const auto draw = [&](const std::string& name, std::size_t count) {
    Numbers& numbers = inputs[name];
    while (numbers.size() < count) {
      numbers.push_back(static_cast<double>(below(random, 20001) - 10000) / 8000);
    }
  };
  const std::size_t of = all.returned[0].array;
  for (std::size_t a = 0; a < all.arrays.size(); ++a) {
    if (all.arrays[a].is_input && !all.arrays[a].is_range) {
      draw(all.arrays[a].name, forward.size_of(a));
    }
  }
  draw(gradient.cotangent, forward.size_of(of));
  const auto loss = [&] {
    const Numbers value = forward.run(inputs)[of];
    double out = 0;
    for (std::size_t i = 0; i < value.size(); ++i) out += value[i] * inputs[gradient.cotangent][i];
    return out;
  };
  const auto found = backward.run(inputs);
  const double whole = loss();
  constexpr double h = 1e-5;
  for (std::size_t k = 0; k < gradient.gradients.size(); ++k) {
    const Numbers& slopes = found[backward.statements().returned[k].array];
    Numbers& x = inputs[gradient.gradients[k].first];
    for (std::size_t e = 0; e < x.size(); ++e) {
      const double here = x[e];
      x[e] = here + h;
      const double above = loss();
      x[e] = here - h;
      const double under = loss();
      x[e] = here;
      const double slope = (above - under) / (2 * h);
      if (!std::isfinite(slope) || std::abs(slope) > 1e4 || std::abs(whole) > 1e4) return {false};
      if (std::abs(slope - slopes[e]) > 1e-4 * (1 + std::abs(slope))) return {true, false};
    }
  }
  return {};
}

TEST(Gradient, agrees_with_differences) {
  Random random(7);
  int compared = 0, unfit = 0;
  for (int round = 0; round < programs_drawn; ++round) {
    const Program drawn = Drawing(random).program(false);
    const auto found = derived(drawn.text);
    if (!found) {
      EXPECT_NE(found.error().message.find("depends on no input"), std::string::npos)
          << found.error().message << "\n"
          << drawn.text;
      continue;
    }
    SCOPED_TRACE(drawn.text + found->program);
    const Interpreter forward(drawn.text), backward(found->program);
    // A difference may cross a jump or a corner, but hardly for three draws.
    Compared last;
    for (int draw = 0; draw < 3; ++draw) {
      last = by_differences(forward, backward, *found, random);
      if (last.is_fit && last.is_same) break;
    }
    if (!last.is_fit) {
      ++unfit;
      continue;
    }
    ++compared;
    ASSERT_TRUE(last.is_same);
  }
  std::cout << compared << " compared, " << unfit << " with large numbers\n";
  EXPECT_GT(compared, programs_drawn / 2);
}

// Ties, exactly.

TEST(Gradient, of_equal_arguments_is_shared) {
  const std::string lines =
      "array x[1,4]\nm[i] max= x[i,k]\nn[i] min= x[i,k]\nz[i] = 6m[i] + n[i] + max(m[i], m[i])\n"
      "return z\n";
  const auto found = derived(header + lines);
  const Interpreter backward(found->program);
  const auto values = backward.run({{"x", {2, 5, 5, 5}}, {found->cotangent, {3}}});
  const Numbers slopes = values[backward.statements().returned[0].array];
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(slopes[k], k == 0 ? 3 : 7, 1e-12) << k;
}

// On many devices.

std::string oracles(const std::string& module) {
  try {
    const auto verdict = spec::spmd::judge(spec::spmd::parse_module(module));
    if (!verdict.decided) return "undecided";
    return verdict.right ? "right" : verdict.wrong->reason;
  } catch (const spec::ParseError& error) {
    return error.message;
  }
}
std::string checks(const std::string& module) {
  const text::Input input = {module, "m", true};
  const auto read = spmd::read_module(input);
  if (!read) return read.error().message;
  const auto verdict = spmd::judge(*read);
  if (!verdict) return verdict.error().message;
  if (verdict->answer == Answer::undecided) return "undecided";
  return verdict->wrong ? verdict->wrong->reason : "right";
}

/// What all redistributions of a module cost.
Size cost_of(const std::string& module) {
  const text::Input input = {module, "m", true};
  const auto read = spmd::read_module(input);
  const auto routes = spmd::routes_of(*read);
  Size out = 0;
  for (const auto& route : *routes) out += route.verdict.cost;
  return out;
}

/// Attention without its scale and two products, each behind a norm, and residuals.
const std::string block =
    "array x[2,8,16] wq[16,4,4] wk[16,4,4] wv[16,4,4] wo[4,4,16] w1[16,32] w2[32,16]\n"
    "u1[b,i] += x[b,i,k]\nc1[b,i,k] = x[b,i,k] - u1[b,i] / 16\n"
    "s1[b,i] += c1[b,i,k] * c1[b,i,k]\na1[b,i] = sqrt(s1[b,i] / 16)\n"
    "n1[b,i,k] = c1[b,i,k] / a1[b,i]\nq[b,h,i,j] += n1[b,i,k] * wq[k,h,j]\n"
    "kk[b,h,i,j] += n1[b,i,k] * wk[k,h,j]\nv[b,h,i,j] += n1[b,i,k] * wv[k,h,j]\n"
    "s[b,h,i,j] += q[b,h,i,k] * kk[b,h,j,k]\nm[b,h,i] max= s[b,h,i,j]\n"
    "e[b,h,i,j] = exp(s[b,h,i,j] - m[b,h,i])\nt[b,h,i] += e[b,h,i,j]\n"
    "p[b,h,i,j] = e[b,h,i,j] / t[b,h,i]\no[b,h,i,j] += p[b,h,i,k] * v[b,h,k,j]\n"
    "y[b,i,j] += o[b,h,i,e] * wo[h,e,j]\nr[b,i,j] = x[b,i,j] + y[b,i,j]\n"
    "f[b,i,j] += r[b,i,k] * w1[k,j]\ng[b,i,j] = relu(f[b,i,j])\nd[b,i,j] += g[b,i,k] * w2[k,j]\n"
    "z[b,i,j] = r[b,i,j] + d[b,i,j]\nreturn z\n";

TEST(Gradient, a_chosen_step_moves_no_more_than_one_by_heads_and_columns) {
  const auto step = derived(header + block, {.constant = {"m"}});
  ASSERT_TRUE(step) << step.error().message;
  // Heads and hidden columns, and the rest on every device [Shoeybi et al. 2019].
  std::string by_hand;
  for (const char* const by_heads :
       {"q",  "kk", "v",  "s",  "m",   "e",  "t",   "p",   "o",   "y",   "do", "dp",
        "dt", "de", "ds", "dv", "dkk", "dq", "dn1", "dwq", "dwk", "dwv", "dwo"}) {
    by_hand += std::string("schedule ") + by_heads + " h:4\n";
  }
  for (const char* const by_columns : {"f j", "g j", "dg k", "df j", "dr_1 j", "dw1 j", "dw2 k"}) {
    by_hand += std::string("schedule ") + by_columns + ":4\n";
  }
  const std::string known = module_of(step->program + by_hand);
  ASSERT_EQ(checks(known), "right") << known;
  const text::Input input = {step->program, "g", true};
  const auto statements = read_statements(input);
  ASSERT_TRUE(statements);
  const auto chosen = choose(*statements, {.devices = 4, .repeat_percent = 100});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(checks(chosen->module), "right") << chosen->module;
  EXPECT_EQ(cost_of(chosen->module), chosen->best.cost);
  EXPECT_LE(chosen->best.cost, cost_of(known));
  EXPECT_LE(chosen->lower_bound.value_or(0), chosen->best.cost);
  // With every statement cut more must move, and no bound is above what moves.
  const auto cut = choose(*statements, {.devices = 4});
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_GT(cut->best.cost, chosen->best.cost);
  EXPECT_LE(cut->lower_bound.value_or(0), cut->best.cost);
  EXPECT_GT(cut->lower_bound.value_or(0), 0);
}
TEST(Gradient, cheap_work_is_repeated_up_to_the_percentage) {
  // z takes 8 of 136 points, and a device's part of all is 68: 8 are 11.8 percent of these.
  const std::string text =
      header + "array x[16,8]\ny[k] += x[i,k]\nz[k] = y[k] * y[k]\nreturn z : [8]\n";
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  ASSERT_TRUE(statements) << statements.error().message;
  const auto repeats = [&](Size percent) {
    const auto chosen = choose(*statements, {.devices = 2, .repeat_percent = percent});
    return chosen && (chosen->best.schedules[1] == "z: on all devices" ||
                      (chosen->second && chosen->second->schedules[1] == "z: on all devices"));
  };
  EXPECT_FALSE(repeats(0));
  EXPECT_FALSE(repeats(11));
  EXPECT_TRUE(repeats(12));
}

TEST(Gradient, programs_are_right_when_they_are_cut) {
  Random random(9);
  int right = 0, other_limits = 0, unread = 0;
  const int programs = programs_drawn / 5;
  for (int round = 0; round < programs; ++round) {
    const Program drawn = Drawing(random).program(round % 2 == 0);
    const auto found = derived(drawn.text);
    if (!found) continue;
    SCOPED_TRACE(drawn.text + found->program);
    const text::Input input = {found->program, "g", true};
    const auto statements = read_statements(input);
    ASSERT_TRUE(statements) << statements.error().message;
    const auto chosen = choose(*statements, {.devices = round % 4 == 0 ? 4 : 2});
    if (!chosen) {
      ++unread;
      continue;
    }
    ASSERT_EQ(checks(chosen->module), "right") << chosen->module;
    // Nothing else is redistributed than was counted.
    ASSERT_EQ(cost_of(chosen->module), chosen->best.cost) << chosen->module;
    const std::string other = oracles(chosen->module);
    ASSERT_TRUE(other == "right" || other == "undecided") << other << chosen->module;
    (other == "right" ? right : other_limits) += 1;
  }
  std::cout << right << " right by both, " << other_limits << " too large for the oracle, "
            << unread << " not chosen\n";
  EXPECT_GT(right, programs / 2);
}

TEST(Gradient, of_layer_norm_and_softmax_is_right_when_rows_are_cut) {
  const std::string norm =
      "array x[4,6]\nu[i] += x[i,k]\nc[i,k] = x[i,k] - u[i] / 6\ns[i] += c[i,k] * c[i,k]\n"
      "a[i] = sqrt(s[i] / 6)\nn[i,k] = c[i,k] / a[i]\nreturn n\n";
  const std::string softmax =
      "array x[4,6]\nm[i] max= x[i,k]\ne[i,k] = exp(x[i,k] - m[i])\ns[i] += e[i,k]\n"
      "r[i,k] = e[i,k] / s[i]\nreturn r\n";
  for (const std::string& lines : {norm, softmax}) {
    const auto found = derived(header + lines);
    ASSERT_TRUE(found);
    Random random(1);
    const Interpreter forward(header + lines), backward(found->program);
    EXPECT_TRUE(by_differences(forward, backward, *found, random).is_same);
    const std::string tactics =
        "tactic tile x 0 by r:2\ntactic tile x 1 by c:2\ntactic propagate\n";
    const std::string module = module_of(found->program + tactics);
    EXPECT_NE(module.find("redistribute"), std::string::npos) << module;
    EXPECT_EQ(checks(module), "right") << module;
    EXPECT_EQ(oracles(module), "right") << module;
  }
}

}  // namespace
}  // namespace retile::array::gradient_test
