// What `retile partition` prints is judged twice, by `retile check`'s room and by the oracle. Neither
// knows anything of statements: a mistake of the room array shows in their verdicts alone. What the
// clause `denotes` says is compared with the statements by every iteration point.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "drawn.h"
#include "retile/array/partition.h"
#include "retile/spmd/judge.h"
#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"
#include "support/samples.h"

namespace retile::array::emitter_test {
namespace {

/// The module, or nothing and why not.
std::optional<std::string> module_of(const std::string& text, std::string& why) {
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  const auto module = statements ? partition(*statements) : refuse(statements.error());
  if (module) return *module;
  why = module.error().message;
  return std::nullopt;
}

/// `right`, `undecided`, or what is wrong.
std::string oracles(const std::string& module) {
  try {
    spec::spmd::Polynomial::terms_left = spec::spmd::most_terms;
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

/// Statements of every kind, cut in every way that has a layout of its own.
const char* const statements[] = {
    // Reductions, products, and a last piece without work.
    "array x[16,8]\nr[o] += x[o,i]\nschedule r o:2,i:4\nreturn r\n",
    "array a[7,5] b[5,6]\nc[i,j] += a[i,k] * b[k,j]\nschedule c i:2,k:2,j:2\nreturn c\n",
    "array a[7,5] b[5,6]\nc[i,j] += a[i,k] * b[k,j]\nschedule c i:3,k:4,j:1\nreturn c\n",
    "array x[4,6]\nr[j,i] = 3x[i,j]\nschedule r i:2,j:3\nreturn r\n",
    "array x[4,4]\nr[i] = x[i,i]\nschedule r i:2\nreturn r\n",
    // Maxima and minima.
    "array x[4,6]\nr[i] max= x[i,k]\nschedule r i:2,k:2\nreturn r\n",
    "array x[4,6]\nr[i] min= x[i,k]\nschedule r i:2,k:3\nreturn r\n",
    "array x[4,6]\nr[i] min= relu(x[i,k]) - x[i,k]\nschedule r k:3,i:2\nreturn r\n",
    // Neighbours, windows, differences.
    "array row[10]\nb[i] = row[i+1] - row[i]\nschedule b i:2\nreturn b\n",
    "array row[11]\nb[i] = row[i+3] - 2row[i+1]\nschedule b i:3\nreturn b\n",
    "array x[12] : [3{i}12]\nr[i] = x[i] - 2x[i+1] + x[i+2]\nschedule r i:4\nreturn r\n",
    "array x[9] w[4]\nr[i] += x[i+k] * w[k]\nschedule r i:2,k:2\nreturn r\n",
    "array x[6,5] w[2,3]\nr[i,j] += x[i+k,j+l] * w[k,l]\nschedule r i:2,k:1,j:3,l:1\nreturn r\n",
    "array x[3]\ny[i] = x[i]\nz[j] = y[j+1]\nschedule y i:2\nschedule z j:2\nreturn z\n",
    "array x[6] w[2]\nr[i] += x[i+k] * w[k]\nschedule r i:1,k:3\nreturn r\n",
    "array x[7] w[2]\nr[i] += x[i+k] * w[k]\nschedule r i:3,k:4\nreturn r\n",
    "array x[6] w[2] s[5]\nr[i] += x[i+k] + w[k]*s[i]\nschedule r i:2,k:2\nreturn r\n",
    "array x[4,6] w[2,4] s[5]\nr[j,i] += relu(w[k,j]) - x[j,i+k] * s[i]\nschedule r "
    "i:2,j:2\nreturn r\n",
    "array x[2,3]\nr[i,k,j] = x[k+1,j] - x[i,j]\nschedule r k:3,i:3,j:1\nreturn r\n",
    "array x[4,4]\nr[i] max= x[i,k] - x[k,i]\nschedule r i:2,k:2\nreturn r\n",
    "array x[6,5]\nr[i,j] = x[i+1,j+1] - x[i+1,j]\nschedule r i:2\nreturn r\n",
    // Several statements, whose schedules differ.
    "array x[8,4] w1[4,16] w2[16,3]\ny[i,j] += x[i,k] * w1[k,j]\nz[i,j] += y[i,k] * w2[k,j]\n"
    "schedule y i:1,k:1,j:8\nschedule z i:8,k:1,j:1\nreturn z\n",
    "array x[4,4] w[4,4] u[4,4]\ny[i,j] += x[i,k] * w[k,j]\nz[i,j] += y[i,k] * u[k,j]\n"
    "schedule y i:2,k:2,j:1\nschedule z j:2,k:2,i:1\nreturn z\n",
    "array x[4,6] w[6,6] u[6,6]\nh[i,j] += x[i,k] * w[k,j]\ny[i,j] += h[i,k] * u[k,j]\nreturn y\n"
    "tactic tile x 0 by r:2\ntactic tile w 1 by s:3\ntactic propagate\n",
    "array x[5]\ny[i] = x[i] + 1\nz[i] = 2 * y[i] - x[i]\nschedule y i:2\nschedule z i:2\nreturn "
    "z\n",
    "array x[5]\ny[i] = x[i] + 1\nz[i] = 2 * y[i] - x[i]\nt[i] = x[i] - z[i]\nschedule y i:4\n"
    "schedule z i:2\nschedule t i:2\nreturn t\n",
    "array x[4] : [4] x_1[4]\nr[i] = x[i] * x_1[i]\nt[] += r[i]\nschedule r i:4\n"
    "schedule t i:2\nreturn t : []\n",
    "array x[4,6,2]\nr[] += x[i,j,k]\nschedule r i:2,j:3,k:2\nreturn r : []\n",
    // What a term lacks is repeated.
    "array x[4,3] y[3]\nr[i,j] = x[i,j] + y[j]\nschedule r i:2,j:3\nreturn r\n",
    "array x[4] y[3]\nr[i,j] = x[i] - y[j]\nschedule r i:2,j:3\nreturn r\n",
    "array x[4] y[6]\nr[i] += x[i] + y[j]\nschedule r i:2,j:3\nreturn r\n",
    "array x[4] y[6]\nr[j,i] = neg(x[i]) * (y[j] + 2)\nschedule r i:2,j:3\nreturn r\n",
    // Every second, columns, and windows that go on by two.
    "array x[8]\nr[i] = x[2*i]\nschedule r i:2\nreturn r\n",
    "array x[9]\nr[i] = x[2*i+1] - 3x[2*i]\nschedule r i:3\nreturn r\n",
    "array x[5,4]\nr[i] = x[i,0] - x[i,3]\nschedule r i:2\nreturn r\n",
    "array x[3,6] y[3]\nr[i] += x[2,3*k+1] * y[i]\nschedule r i:2,k:2\nreturn r\n",
    "array x[11] w[3]\nr[i] += x[2*i+k] * w[k]\nschedule r i:3\nreturn r\n",
    "array x[11] w[3]\nr[i] += x[2*i+k] * w[k]\nschedule r i:5,k:2\nreturn r\n",
    "array x[11]\nr[i] = x[2*i] + 1\nschedule r i:4\nreturn r\n",
    "array x[12] w[2]\nr[i] += x[3*i+k] * w[k]\nschedule r i:2,k:3\nreturn r\n",
    "array x[7,7]\nr[i] max= x[2*i,3*k]\nschedule r i:2,k:3\nreturn r\n",
    "array x[8] y[4]\nz[i] = x[i] * x[i]\nr[i] = z[2*i+1] / y[i]\nschedule z i:4\nschedule r "
    "i:4\nreturn r : [4]\n",
    // Ranges of variables that no array has, and parts of those that one has.
    "array x[4]\nr[i] += x[i] for n:5\nschedule r i:2,n:2\nreturn r\n",
    "array x[4]\nr[i,n] = x[i] / 2 for n:3\nschedule r i:2,n:2\nreturn r : [4,3]\n",
    "array x[]\nr[] += exp(x[]) for n:7,m:2\nschedule r n:4,m:2\nreturn r : []\n",
    "array x[8]\nr[i] = x[i] for i:3\nschedule r i:2\nreturn r\n",
    "array x[9] w[4]\nr[i] += x[2*i+k] * w[k] for k:2\nschedule r i:2,k:2\nreturn r\n",
    "array n[3]\nr[n] = n[n]\nt[n] += r[n] for m:2\nu[n] += t[n] for m:2\nschedule r n:2\n"
    "schedule t m:2\nschedule u m:2\nreturn u\n",
    // Indices that another array holds: a sparse product, rows of a table, both dimensions, and one in another.
    "array val[4,3] col[4,3] x[6]\nb[i] += val[i,k] * x[col[i,k]]\nschedule b i:2,k:2\nreturn b\n",
    "array t[5,3] w[5]\nr[i,j] = t[w[i],j]\nschedule r i:2,j:2\nreturn r\n",
    "array t[5,3] w[5] p[4]\nr[i] += t[w[i+1],p[k]]\nschedule r i:2,k:2\nreturn r : [4]\n",
    "array x[4] p[6] q[5]\nr[i] = x[p[q[i]]] - 2\nschedule r i:3\nreturn r\n",
    "array x[3,4] c[3]\nr[i] = x[i,c[i]] * c[i]\nschedule r i:3\nreturn r\n",
    "array x[4] c[2,3]\nr[i] max= exp(x[c[1,i]]) - x[i+1]\nschedule r i:3\nreturn r\n",
    "array x[3] : [2{i}3] c[3]\ny[i] = 2 * x[i]\nz[i] = y[c[i]]\nschedule y i:2\nschedule z "
    "i:2\nreturn z\n",
    "array x[4,2] c[3] y[2]\nr[i,k] = x[c[i],1] + y[k]\nschedule r i:3\nreturn r\n",
    // Functions, and softmax along what is cut, and along what is not.
    "array x[8] y[8]\nr[i] = x[i] / y[i]\nschedule r i:3\nreturn r\n",
    "array x[4,6] y[6]\nr[i] += -x[i,k] / y[k]\nschedule r i:2,k:3\nreturn r\n",
    "array x[5,3] y[3]\nr[i,j] = max(x[i,j], -y[j], 2) - min(x[i,j], y[j]) / sqrt(2)\nschedule r "
    "i:2,j:2\nreturn r : [5,3]\n",
    "array x[4,6]\nm[i] max= x[i,k]\ne[i,k] = exp(x[i,k] - m[i])\ns[i] += e[i,k]\n"
    "r[i,k] = e[i,k] / s[i]\nschedule m i:4\nschedule e i:4\nschedule s i:4\nschedule r i:4\n"
    "return r\n",
    "array x[4,6]\nm[i] max= x[i,k]\ne[i,k] = exp(x[i,k] - m[i])\ns[i] += e[i,k]\n"
    "r[i,k] = e[i,k] / s[i]\nschedule m i:2,k:2\nschedule e i:2,k:2\nschedule s i:2,k:2\n"
    "schedule r k:4\nreturn r\n",
    // Ends.
    "array x[6] at root\nr[i] = 3 * x[i]\nschedule r i:3\nreturn r at root\n",
    "array x[6] : [2{i}6]\nr[i] = relu(x[i])\nschedule r i:3\nreturn r : [6]\n",
    "array x[4,6] s[]\nr[] += x[i,j] * s[]\nschedule r i:2,j:3\nreturn r : []\n",
};

TEST(Emitter, check_calls_right_what_is_printed) {
  for (const char* const lines : statements) {
    std::string why;
    const auto module = module_of(std::string("retile.array/1\n") + lines, why);
    ASSERT_TRUE(module) << lines << why;
    EXPECT_EQ(checks(*module), "right") << lines << *module;
    EXPECT_EQ(oracles(*module), "right") << lines << *module;
  }
}

// Random programs.

/// Whether what `denotes` says is what the statements mean, for all numbers: with maxima for 64 draws.
bool denoted(const drawn::Program& program, const std::string& module) {
  using namespace spec::spmd;
  Polynomial::terms_left = most_terms;
  const auto parsed = parse_module(module);
  Variables variables;
  std::map<std::string, PolynomialTensor> inputs;
  std::vector<PolynomialTensor> arrays;
  for (const drawn::Array& array : program.arrays) {
    arrays.push_back(array.is_input ? spec::tensor_of<Polynomial>(
                                          array.shape,
                                          [&](const spec::Sizes&) {
                                            return array.below > 0
                                                       ? variables.fresh_index(array.below)
                                                       : variables.fresh();
                                          })
                                    : PolynomialTensor{});
    inputs[array.name] = arrays.back();
  }
  for (const auto& [name, layout] : parsed.parameters) {  // ranges, of which only the extents count
    if (inputs.count(name) == 0) inputs[name] = zeros(global_shape(layout));
  }
  const PolynomialTensor wanted = meaning(program, arrays, variables);
  const PolynomialTensor said = values_of(*parsed.denotes, inputs, variables)[0];
  if (said == wanted) return true;
  if (said.shape != wanted.shape) return false;
  for (std::size_t e = 0; e < said.elements.size(); ++e) {
    const Polynomial& p = said.elements[e];
    const Polynomial& q = wanted.elements[e];
    if (p != q && variables.is_of_inputs(p) && variables.is_of_inputs(q)) return false;
  }
  // Functions of other numbers are other functions: no draw is asked.
  if (variables.has_functions()) return false;
  std::mt19937_64 random(1);
  for (int draw = 0; draw < 64; ++draw) {
    const auto values = variables.values([&] { return drawn::below(random, 15) - 7; });
    for (std::size_t e = 0; values && e < said.elements.size(); ++e) {
      if (Variables::value(said.elements[e], *values) !=
          Variables::value(wanted.elements[e], *values))
        return false;
    }
  }
  return true;
}

/// How many programs, and from which seed on; another environment asks for others.
Size number_of(const char* name, Size otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::atoll(given);
}

/// What became of the programs that were drawn.
struct Tally {
  Size judged = 0, undecided = 0, drawn = 0;
  std::map<std::string, Size> refused, with;
};

/// What a program is an example of.
const std::pair<const char*, const char*> features[] = {{"halo", "<"},
                                                        {"listed boxes", "tile="},
                                                        {"sum", "as sum{"},
                                                        {"maximum", "as max{"},
                                                        {"minimum", "as min{"},
                                                        {"redistribution", "redistribute"},
                                                        {"root", "]@0"},
                                                        {"rank 0", " -> []"},
                                                        {"relu", "relu"},
                                                        {"exponential", "exp "},
                                                        {"root of a number", "sqrt "},
                                                        {"quotient", "div "},
                                                        {"maximum of two", "{ max "},
                                                        {"minimum of two", "{ min "},
                                                        {"whether above 0", "step "},
                                                        {"whether equal", "equal "},
                                                        {"stride", "2i"},
                                                        {"index", "reduce_sum"},
                                                        {"range", "for "},
                                                        {"indirect", "take "},
                                                        {"indices", " below "}};

/// Both readings and the statements say the same of so many programs.
void judge_programs(drawn::Random& random, Size wanted, Tally& out) {
  const Size all = out.judged + wanted;
  const Size most_drawn = out.drawn + 3 * wanted + 100;
  while (out.judged < all) {
    ++out.drawn;
    ASSERT_LT(out.drawn, most_drawn) << "too few can be judged";
    const drawn::Program program = drawn::Drawing(random).program();
    SCOPED_TRACE(program.text);
    std::string why;
    const auto module = module_of(program.text, why);
    if (!module) {
      ++out.refused[why.substr(0, why.find_first_of("0123456789"))];
      continue;
    }
    const std::string one = checks(*module), other = oracles(*module);
    if (one == "undecided" || other == "undecided") {
      ++out.undecided;
      continue;
    }
    ASSERT_EQ(one, "right") << *module;
    ASSERT_EQ(other, "right") << *module;
    ASSERT_TRUE(denoted(program, *module)) << *module;
    ++out.judged;
    ++out.with[program.statements.size() == 1 ? "one statement" : "several statements"];
    for (const auto& [what, word] : features) {
      if ((*module + program.text).find(word) != std::string::npos) ++out.with[what];
    }
  }
}

/// In pieces, each of which has a seed of its own, so that one alone can be had again.
TEST(Emitter, random_programs_are_denoted_in_both_readings) {
#ifdef RETILE_SLOW_TESTS
  const Size wanted = number_of("RETILE_ARRAY_COUNT", 100'000);
#else
  const Size wanted = number_of("RETILE_ARRAY_COUNT", support::samples(1'600));
#endif
  constexpr Size in_a_piece = 1'000;
  Size seed = number_of("RETILE_ARRAY_SEED", 1);
  Tally tally;
  for (; tally.judged < wanted; ++seed) {
    SCOPED_TRACE("RETILE_ARRAY_SEED=" + std::to_string(seed));
    drawn::Random random(static_cast<std::uint64_t>(seed));
    judge_programs(random, std::min(in_a_piece, wanted - tally.judged), tally);
    if (HasFatalFailure()) return;
    if (wanted > in_a_piece && seed % 5 == 0) {
      std::cout << "seed " << seed << ": " << tally.judged << " of " << wanted << std::endl;
    }
  }
  std::cout << tally.judged << " judged, " << tally.undecided << " undecided of " << tally.drawn
            << "\n";
  for (const auto& [what, count] : tally.with) std::cout << "  " << what << ": " << count << "\n";
  for (const auto& [what, count] : tally.refused)
    std::cout << "  refused, " << what << ": " << count << "\n";
  // Of few programs the rarest features may be missing.
  const std::size_t rare = wanted < in_a_piece ? 4 : 0;
  EXPECT_GE(tally.with.size(), std::size(features) + 2 - rare);
}

}  // namespace
}  // namespace retile::array::emitter_test
