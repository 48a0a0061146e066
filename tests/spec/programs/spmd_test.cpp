// Modules: which have types, which denote what they say, and where the others go wrong. All is small;
// the verdicts hold for all numbers.
#include <gtest/gtest.h>

#include <random>

#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"

namespace spec::spmd::test {
namespace {

// Polynomials.

Polynomial drawn(std::mt19937_64& random, Index variables) {
  Polynomial out(static_cast<Size>(random() % 5) - 2);
  for (std::uint64_t k = random() % 3; k > 0; --k) {
    Polynomial term(static_cast<Size>(random() % 7) - 3);
    for (std::uint64_t n = random() % 3; n > 0; --n) {
      term = term * Polynomial::of(random() % variables);
    }
    out += term;
  }
  return out;
}

TEST(Polynomial, values_are_those_of_its_operations) {
  std::mt19937_64 random(1);
  std::size_t equal = 0;
  for (int round = 0; round < 2'000; ++round) {
    const Polynomial p = drawn(random, 3), q = drawn(random, 3);
    std::vector<Size> x;
    for (int k = 0; k < 3; ++k) x.push_back(static_cast<Size>(random() % 2'001) - 1'000);
    const Size p_x = Variables::value(p, x).value(), q_x = Variables::value(q, x).value();
    EXPECT_EQ(Variables::value(p + q, x), p_x + q_x);
    EXPECT_EQ(Variables::value(p * q, x), p_x * q_x);
    EXPECT_EQ(Variables::value(-p, x), -p_x);
    EXPECT_TRUE(p != q || p_x == q_x);
    EXPECT_EQ(p + q + -q, p);
    EXPECT_EQ(p * q, q * p);
    equal += p == q ? 1U : 0U;
  }
  EXPECT_GT(equal, 50U);
}

TEST(Polynomial, values_beyond_2_63_are_none) {
  const Polynomial x = Polynomial::of(0);
  EXPECT_EQ(Variables::value(x * x, {Size{1} << 31}), Size{1} << 62);
  EXPECT_EQ(Variables::value(x * x, {Size{1} << 32}), std::nullopt);
  EXPECT_EQ(Variables::value(x + Polynomial(1), {Tokens::most}), std::nullopt);
  Variables all;
  const Polynomial y = all.fresh();
  (void)all.max(y * y, Polynomial());
  EXPECT_EQ(all.values([] { return Size{1} << 32; }), std::nullopt);
  EXPECT_EQ(all.values([] { return Size{3}; }), (std::vector<Size>{3, 9}));
}

TEST(Polynomial, coefficients_stay_below_2_63) {
  const Polynomial large(Tokens::most), x = Polynomial::of(0);
  EXPECT_THROW((void)(large + Polynomial(1)), TooLarge);
  EXPECT_THROW((void)(large * Polynomial(2)), TooLarge);
  EXPECT_THROW((void)(large * x + x), TooLarge);
  EXPECT_EQ(large + Polynomial(-1) + Polynomial(1), large);
}

TEST(Polynomial, maxima_are_the_same_for_the_same_arguments) {
  Variables all;
  const Polynomial x = all.fresh(), y = all.fresh(), z = all.fresh();
  EXPECT_EQ(all.max(x, y), all.max(y, x));
  EXPECT_EQ(all.max(all.max(x, y), z), all.max(x, all.max(z, y)));
  EXPECT_EQ(all.max(x, x), x);
  EXPECT_EQ(all.max(Polynomial(3), Polynomial(-4)), Polynomial(3));
  EXPECT_FALSE(all.max(x, y) == all.max(x, z));
  const Polynomial p = all.max(x, y + z);
  std::vector<Size> inputs = {-3, 5, -9};
  Index next = 0;
  const auto values = all.values([&] { return inputs[next++]; }).value();
  EXPECT_EQ(Variables::value(p, values), -3);
  EXPECT_EQ(Variables::value(all.max(x, y), values), 5);
}

TEST(Polynomial, results_of_functions_are_the_same_for_the_same_argument) {
  Variables all;
  const Polynomial x = all.fresh(), y = all.fresh();
  const auto exp = [&](const Polynomial& p) { return all.function(Function::exponential, p); };
  EXPECT_EQ(exp(x + y), exp(y + x));
  EXPECT_NE(exp(x), exp(y));
  EXPECT_NE(exp(x), all.function(Function::square_root, x));
  EXPECT_NE(exp(Polynomial()), Polynomial(1));
  EXPECT_FALSE(all.is_of_inputs(exp(x) * y));
  EXPECT_TRUE(all.is_of_inputs(x * y));
  const Polynomial p = exp(all.function(Function::reciprocal, x)) + y;
  const auto none = [](Size) { return Size{0}; };
  const auto values = all.enclosures([] { return Enclosure{2, 2}; }, none).value();
  const Enclosure found = Variables::enclosure(p, values).value();
  EXPECT_LE(found.low, std::exp(0.5) + 2);
  EXPECT_GE(found.high, std::exp(0.5) + 2);
  EXPECT_LT(found.high - found.low, 1e-13);
  EXPECT_FALSE(all.enclosures([] { return Enclosure{-1, 1}; }, none));
}

TEST(Polynomial, indices_are_numbers_below_an_extent) {
  Variables all;
  const Polynomial x = all.fresh(), c = all.fresh_index(3);
  EXPECT_TRUE(all.is_of_inputs(x * c));
  EXPECT_TRUE(all.is_of_numbers(x));
  EXPECT_FALSE(all.is_of_numbers(x + c));
  const Polynomial is_2 = all.indicator(Function::is_zero, c + Polynomial(-2));
  EXPECT_EQ(is_2, all.indicator(Function::is_zero, Polynomial(-2) + c));
  for (const Size number : {-4, -3, -2, -1, 0, 1, 2, 3, 4, 5}) {
    const auto values = all.values([&] { return number; }).value();
    const Size rest = (number + 6) % 3;
    EXPECT_EQ(Variables::value(c, values), rest);
    EXPECT_EQ(Variables::value(x, values), number);
    EXPECT_EQ(Variables::value(is_2, values), rest == 2 ? 1 : 0);
  }
  for (const Size number : {0, 1, 2}) {  // no interval around 0 is left
    const auto values = all.enclosures(
                               [] {
                                 return Enclosure{0.5, 0.5};
                               },
                               [&](Size) { return number; })
                            .value();
    const Enclosure found = Variables::enclosure(is_2, values).value();
    EXPECT_EQ(found.low > 0.5, number == 2);
    EXPECT_EQ(found.high > 0.5, number == 2);
  }
}

TEST(Enclosure, holds_what_it_is_made_of) {
  std::mt19937_64 random(2);
  const auto holds = [](const MaybeEnclosure& value, long double number) {
    return value && static_cast<long double>(value->low) <= number &&
           number <= static_cast<long double>(value->high) && value->high - value->low < 1e-9;
  };
  for (int round = 0; round < 5'000; ++round) {
    const auto drawn = [&] { return static_cast<double>(random() % 20'001) / 1'000 - 10.0005; };
    const double a = drawn(), b = drawn();
    const long double x = a, y = b;
    EXPECT_TRUE(holds(added({a, a}, {b, b}), x + y));
    EXPECT_TRUE(holds(multiplied({a, a}, {b, b}), x * y));
    EXPECT_TRUE(holds(reciprocal({a, a}), 1 / x) || std::abs(a) < 1e-3);
    EXPECT_TRUE(holds(exponential({a, a}), std::exp(x)));
    EXPECT_TRUE(a < 0 ? !square_root({a, a}) : holds(square_root({a, a}), std::sqrt(x)));
    EXPECT_EQ(meet({a, a}, {b, b}), a == b);
    const auto product = multiplied({std::min(a, b), std::max(a, b)}, {-1, 2}).value();
    EXPECT_LE(product.low, std::min({-a, -b, 2 * a, 2 * b}));
    EXPECT_GE(product.high, std::max({-a, -b, 2 * a, 2 * b}));
  }
  EXPECT_FALSE(reciprocal({-1, 0}));
  EXPECT_FALSE(reciprocal({-1, 1}));
  EXPECT_FALSE(exponential({0, 1000}));
  EXPECT_GE(exponential({-1000, -1000})->low, 0);
  EXPECT_GT(exponential({-1000, -1000})->high, 0);
}

// Local operations.

TEST(LocalOps, subscripts) {
  for (const char* right : {"ik,kj->ij", "i->", "->", "i+k,k->i", "aB,Ba->B", "ii->i", "2i+k,k->i",
                            "i+4096k->", "12i3j->ij"}) {
    EXPECT_TRUE(einsum_of(right)) << right;
  }
  for (const char* wrong :
       {"ik,kj", "i+->i", "+i->i", "i k->i", "i->i+k", "i-k->i", "i,->i,", "i->2i", "2->", "i2->i",
        "0i->i", "2+i->i", "4097i->i", "2,i->i", "99999999999999999999i->i"}) {
    EXPECT_FALSE(einsum_of(wrong)) << wrong;
  }
}

TEST(LocalOps, shapes) {
  const auto shape = [](const std::string& subscripts, const std::vector<Sizes>& shapes) {
    return shape_of(LocalExpression{LocalOp::einsum, subscripts, {}, {}}, shapes);
  };
  EXPECT_EQ(shape("ik,kj->ij", {{3, 2}, {2, 5}}), (Sizes{3, 5}));
  EXPECT_EQ(shape("ik,kj->ij", {{3, 2}, {4, 5}}), std::nullopt);
  EXPECT_EQ(shape("ik,kj->ij", {{3, 0}, {0, 5}}), (Sizes{3, 5}));
  EXPECT_EQ(shape("ik,kj->ij", {{3, 0}, {2, 5}}), std::nullopt);
  EXPECT_EQ(shape("ik,kj->ii", {{3, 2}, {2, 5}}), std::nullopt);
  EXPECT_EQ(shape("ik,kj->il", {{3, 2}, {2, 5}}), std::nullopt);
  EXPECT_EQ(shape("ik->i", {{3}}), std::nullopt);
  EXPECT_EQ(shape("i+k,k->i", {{9}, {4}}), (Sizes{6}));
  EXPECT_EQ(shape("i+k,k,i->i", {{9}, {4}, {6}}), (Sizes{6}));
  EXPECT_EQ(shape("i+k,k,i->i", {{9}, {4}, {5}}), std::nullopt);
  EXPECT_EQ(shape("i+k->i", {{9}}), std::nullopt);
  EXPECT_EQ(shape("2i->i", {{9}}), (Sizes{5}));
  EXPECT_EQ(shape("2i->i", {{8}}), std::nullopt);
  EXPECT_EQ(shape("2i->i", {{0}}), (Sizes{0}));
  EXPECT_EQ(shape("3i->i", {{1}}), (Sizes{1}));
  EXPECT_EQ(shape("2i+k,k->i", {{11}, {3}}), (Sizes{5}));
  EXPECT_EQ(shape("2i+k,k,i->i", {{11}, {3}, {4}}), std::nullopt);
  EXPECT_EQ(shape("2i+k,k,i->i", {{0}, {1}, {0}}), (Sizes{0}));
  const auto trimmed = [](Size lo, Size hi) {
    return shape_of(LocalExpression{LocalOp::trim, "", {0, lo, hi}, {}}, {{5, 2}});
  };
  EXPECT_EQ(trimmed(1, 2), (Sizes{2, 2}));
  EXPECT_EQ(trimmed(4, 2), (Sizes{0, 2}));
  EXPECT_EQ(trimmed(Tokens::most, Tokens::most), (Sizes{0, 2}));
  const auto transposed = [](const Sizes& order) {
    return shape_of(LocalExpression{LocalOp::transpose, "", order, {}}, {{5, 2}});
  };
  EXPECT_EQ(transposed({1, 0}), (Sizes{2, 5}));
  for (const Sizes& wrong : {Sizes{8, 0}, Sizes{0, 8}, Sizes{0}, Sizes{0, 1, 2}, Sizes{1, 1}}) {
    EXPECT_EQ(transposed(wrong), std::nullopt);
  }
}

// Modules.

/// right, a reason with its statement, or line:column of what is refused.
std::string said(const std::string& text) {
  try {
    const Module module = parse_module("retile.spmd/1\n" + text);
    const ModuleVerdict verdict = judge(module);
    if (!verdict.decided) return std::string("undecided: ") + verdict.why_undecided;
    if (verdict.right) return "right";
    return verdict.wrong->reason + " " + verdict.wrong->statement.value_or("return");
  } catch (const ParseError& error) {
    return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
  }
}
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

const std::string product_of_rows = R"(mesh devices:4
fn main(x : [2{devices}8, 6], p : [6, 3]) -> [2{devices}8, 3]
y = spmd x p { einsum "ik,kj->ij" } as [2{devices}8, 3]
return y
denotes einsum "ik,kj->ij" x p
)";
const std::string product_of_blocks = R"(mesh xdev:2,ydev:2
fn main(x : [2{xdev}4, 6], p : [6, 3{ydev}6]) -> [2{xdev}4, 3{ydev}6]
y = spmd x p { einsum "ik,kj->ij" x p } as [2{xdev}4, 3{ydev}6]
return y
denotes einsum "ik,kj->ij" x p
)";
const std::string two_products = R"(mesh devs:4
fn main(x : [4, 8], w1 : [8, 2{devs}8], w2 : [8, 3]) -> [1{devs}4, 3]
y = spmd x w1 { einsum "ik,kj->ij" } as [4, 2{devs}8]
z = redistribute y as [1{devs}4, 8]
w = spmd z w2 { einsum "ik,kj->ij" } as [1{devs}4, 3]
return w
denotes einsum "ik,kj->ij" (einsum "ik,kj->ij" x w1) w2
)";
const std::string dot_product = R"(mesh d:4
fn main(x : [4, 2{d}8], w : [2{d}8, 4]) -> [1{d}4, 4]
y = spmd x w { einsum "ik,kj->ij" } as sum{d}[4, 4]
z = redistribute y as [1{d}4, 4]   # a reducescatter
return z
denotes einsum "ik,kj->ij" x w
)";
const std::string stencil = R"(mesh i:4
fn main(x : [3{i}12]) -> [3{i}10]
h = redistribute x as [3{i}12<0,2>]
r = spmd h {
  a = trim 0 1 1 h
  b = scale -2 a
  c = add (trim 0 0 2 h) (trim 0 2 0 h)
  d = add b c
  return d
} as [3{i}10]
return r
denotes add (sub (trim 0 0 2 x) (scale 2 (trim 0 1 1 x))) (trim 0 2 0 x)
)";
const std::string convolution = R"(mesh i:2,k:2
fn main(x : [9], w : [4]) -> sum{k}[3{i}6]
x1 = redistribute x as tile=[4] global=[9] at=[[0],[2],[3],[5]]
w1 = redistribute w as [2{k}4]
r = spmd x1 w1 { einsum "i+k,k->i" } as sum{k}[3{i}6]
return r
denotes einsum "i+k,k->i" x w
)";
const std::string uneven_product = R"(mesh i:3,k:4
fn main(a : [3{i}7, 2{k}5], b : [2{k}5, 6]) -> [7, 6]
r = spmd a b { einsum "ik,kj->ij" } as sum{k}[3{i}7, 6]
s = redistribute r as [7, 6]
return s
denotes einsum "ik,kj->ij" a b
)";
const std::string partial = R"(mesh x:2,y:2
fn main(x : sum{x,y}[3]) -> [3]
a = redistribute x as sum{x}[3]
b = spmd a { scale -3 a } as sum{x}[3]
c = redistribute b as [3]
return c
denotes scale -3 x
)";

TEST(Modules, listings_1_to_3_and_others_are_right) {
  for (const std::string& text : {product_of_rows, product_of_blocks, two_products, dot_product,
                                  stencil, convolution, uneven_product, partial}) {
    EXPECT_EQ(said(text), "right") << text;
  }
}

TEST(Modules, the_third_listing_needs_its_redistribution) {
  std::string text = replaced(two_products, "z = redistribute y as [1{devs}4, 8]\n", "");
  text = replaced(text, "spmd z w2", "spmd y w2");
  EXPECT_EQ(said(text), "5:5 on device 0 the local operations do not fit their operands [T-SPMD]");
}

/// Footnote 2: what has a type may denote another array, or none.
TEST(Modules, types_do_not_say_all) {
  EXPECT_EQ(said(replaced(dot_product, "as sum{d}[4, 4]", "as [4, 4]")), "replicas y");
  EXPECT_EQ(said(replaced(uneven_product, "as sum{k}[3{i}7, 6]", "as [3{i}7, 6]")), "replicas r");
  const std::string other =
      replaced(product_of_blocks, "as [2{xdev}4, 3{ydev}6]", "as sum{ydev}[2{xdev}4, 3]");
  EXPECT_EQ(said(other), "5:1 what is returned has another type than main");
  EXPECT_EQ(said(replaced(
                replaced(product_of_blocks, "-> [2{xdev}4, 3{ydev}6]", "-> sum{ydev}[2{xdev}4, 3]"),
                "as [2{xdev}4, 3{ydev}6]", "as sum{ydev}[2{xdev}4, 3]")),
            "6:1 this has another global shape than the result of main");
}

TEST(Modules, what_is_denoted_is_compared_for_all_numbers) {
  EXPECT_EQ(said(replaced(product_of_rows, "denotes einsum \"ik,kj->ij\" x p",
                          "denotes scale 2 (einsum \"ik,kj->ij\" x p)")),
            "denotes return");
  EXPECT_EQ(said(replaced(stencil, "scale -2 a", "scale -3 a")), "denotes return");
  EXPECT_EQ(said(replaced(stencil, "a = trim 0 1 1 h", "a = trim 0 2 0 h")), "denotes return");
  EXPECT_EQ(said(replaced(convolution, "at=[[0],[2],[3],[5]]", "at=[[0],[2],[3],[4]]")),
            "denotes return");
}

/// No module may depend on how a sum is cut into addends.
TEST(Modules, addends_are_any_numbers_with_their_sum) {
  EXPECT_EQ(said(replaced(partial, "{ scale -3 a }", "{ relu a }")), "denotes return");
  EXPECT_EQ(said(replaced(replaced(partial, "{ scale -3 a }", "{ relu a }"), "denotes scale -3 x",
                          "denotes relu x")),
            "denotes return");
  EXPECT_EQ(said(replaced(partial, "{ scale -3 a }", "{ mul a a }")), "denotes return");
  const std::string closed = R"(mesh x:2
fn main(x : sum{x}[3]) -> [3]
a = redistribute x as [3]
b = spmd a { relu a } as [3]
return b
denotes relu x
)";
  EXPECT_EQ(said(closed), "right");
  EXPECT_EQ(said(replaced(closed, "denotes relu x", "denotes add x (relu (neg x))")),
            "undecided: the maxima in this are not the same, but no numbers show it");
}

std::string one_of(const std::string& body, const std::string& denotes) {
  return "mesh d:2\nfn main(x : [2{d}4], w : [2{d}4]) -> [2{d}4]\ny = spmd x w { " + body +
         " } as [2{d}4]\nreturn y\ndenotes " + denotes + "\n";
}

/// A maximum of multiples is none of all arguments, one of constants is the larger, and relu is the
/// identity above 0 alone.
TEST(Modules, maxima_are_taken_apart_as_far_as_they_are_maxima) {
  const auto wrong = "denotes return";
  EXPECT_EQ(said(one_of("max (scale 2 (max x w)) (neg x)", "max x w (neg x)")), wrong);
  EXPECT_EQ(said(one_of("max (neg (max x w)) (neg x)", "max x w (neg x)")), wrong);
  EXPECT_EQ(said(one_of("max (mul x (max x w)) w", "max x w")), wrong);
  EXPECT_EQ(said(one_of("max (fill 1 x) (fill 2 x)", "fill 1 x")), wrong);
  EXPECT_EQ(said(one_of("max (fill 1 x) (fill 2 x)", "fill 2 x")), "right");
  EXPECT_EQ(said(one_of("max (fill 2 x) (fill 1 x)", "fill 2 x")), "right");
  EXPECT_EQ(said(one_of("relu x", "scale 1 x")), wrong);
  EXPECT_EQ(said(one_of("relu x", "neg (relu (neg x))")), wrong);
  EXPECT_EQ(said(one_of("max x w (neg x)", "max (max (neg x) w) x")), "right");
}

/// What a constant parts is looked at on both sides of it, up to 2^63.
TEST(Modules, gates_far_from_0_are_found) {
  const auto wrong = "denotes return";
  for (const char* c : {"9", "-9", "1000", "1000000007", "4611686018427387904"}) {
    const std::string gate = std::string("(sub w (fill ") + c + " w))";
    EXPECT_EQ(said(one_of("relu " + gate, "fill 0 x")), wrong) << c;
    EXPECT_EQ(said(one_of("add x (relu " + gate + ")", "x")), wrong) << c;
    EXPECT_EQ(said(one_of("relu " + gate, "relu " + gate)), "right") << c;
  }
  EXPECT_EQ(said(one_of("relu (sub x (fill 9223372036854775807 x))", "fill 0 x")),
            "undecided: the maxima in this are not the same, but no numbers show it");
  EXPECT_EQ(said(one_of("relu (sub (scale 3 x) (fill 1000 x))", "fill 0 x")), wrong);
  EXPECT_EQ(said(one_of("relu (sub (scale 1000 x) w)", "scale 1000 (relu (sub x w))")), wrong);
}

/// No number is taken for another that it is modulo 2^64.
TEST(Modules, large_values_do_not_wrap) {
  EXPECT_EQ(said(one_of("relu (scale 4611686018427387904 x)",
                        "add (scale 4611686018427387904 x) (relu (scale -4611686018427387904 x))")),
            "undecided: the maxima in this are not the same, but no numbers show it");
}

TEST(Modules, replicas_of_maxima_that_only_look_different_are_undecided) {
  const std::string text = R"(mesh d:2
fn main(x : [1{d}2]) -> [1]
y = spmd x { sub (add (relu x) (relu (neg x))) (max x (neg x)) } as [1]
return y
)";
  EXPECT_EQ(said(text), "undecided: the maxima in this are not the same, but no numbers show it");
  EXPECT_EQ(said(replaced(text, "(max x (neg x))", "x")), "replicas y");
}

TEST(Modules, what_nobody_holds_is_no_zero) {
  EXPECT_EQ(said("mesh d:2\nfn main(x : tile=[2] global=[5] at=[[0],[2]]) -> [5]\n"
                 "y = redistribute x as [5]\nreturn y\n"),
            "uncovered y");
}

/// Of every addend those who hold it must agree.
TEST(Modules, replicas_of_the_second_addend_are_compared) {
  EXPECT_EQ(
      said("mesh d:2,e:2\nfn main(w : tile=[1] global=[3] at=[[0],[0],[1],[2]]) -> sum{d}[1]\n"
           "y = spmd w { scale 1 w } as sum{d}[1]\nreturn y\n"),
      "replicas y");
}

/// A function has one result for one argument, and no law besides; numbers show what differs.
TEST(Modules, functions_are_known_by_their_arguments) {
  const auto wrong = "denotes return";
  const auto undecided =
      "undecided: the functions in this are not of the same numbers, but no numbers show a "
      "difference";
  EXPECT_EQ(said(one_of("exp (add x w)", "exp (add w x)")), "right");
  EXPECT_EQ(said(one_of("div (add x w) w", "add (div x w) (div w w)")), "right");
  EXPECT_EQ(said(one_of("min x w", "neg (max (neg x) (neg w))")), "right");
  EXPECT_EQ(said(one_of("exp x", "exp w")), wrong);
  EXPECT_EQ(said(one_of("exp x", "sqrt x")), wrong);
  EXPECT_EQ(said(one_of("div x w", "div w x")), wrong);
  EXPECT_EQ(said(one_of("min x w", "max x w")), wrong);
  EXPECT_EQ(said(one_of("exp (add x w)", "add (exp x) (exp w)")), wrong);
  EXPECT_EQ(said(one_of("exp (add x w)", "mul (exp x) (exp w)")), undecided);
  EXPECT_EQ(said(one_of("div x x", "fill 1 x")), undecided);
  const std::string sums =
      replaced(replaced(partial, "scale -3 a", "exp a"), "scale -3 x", "exp x");
  EXPECT_EQ(said(sums), wrong);
  EXPECT_EQ(said("mesh d:2\nfn main(x : [1{d}2]) -> [1]\ny = spmd x { exp x } as [1]\nreturn y\n"),
            "replicas y");
}

TEST(Modules, subscripts_with_factors_go_on_by_them) {
  const std::string text =
      "mesh d:2\nfn main(x : [9]) -> [2{d}4]\n"
      "a = redistribute x as tile=[4] global=[9] at=[[0],[4]]\n"
      "y = spmd a { sub (einsum \"2i->i\" (trim 0 0 1 a)) (einsum \"2i->i\" (trim 0 1 0 a)) } as "
      "[2{d}4]\nreturn y\n"
      "denotes sub (einsum \"2i->i\" (trim 0 0 2 x)) (einsum \"2i->i\" (trim 0 1 1 x))\n";
  EXPECT_EQ(said(text), "right");
  EXPECT_EQ(said(replaced(text, "[[0],[4]]", "[[0],[5]]")), "denotes return");
  EXPECT_EQ(said(replaced(text, "trim 0 1 0 a", "trim 0 0 1 a")), "denotes return");
}

TEST(Modules, maxima_over_shards) {
  const std::string text = R"(mesh x:2,y:2
fn main(x : [4, 2{x}4]) -> [2{x}4]
a = spmd x { reduce_max 1 } as max{x}[4]
b = redistribute a as [2{x}4]
return b
denotes reduce_max 1 x
)";
  EXPECT_EQ(said(text), "right");
  EXPECT_EQ(said(replaced(text, "max{x}", "min{x}")), "denotes return");
  EXPECT_EQ(said(replaced(text, "max{x}", "sum{x}")), "denotes return");
}

TEST(Modules, without_a_claim_statements_must_have_a_value) {
  const std::string silent = replaced(dot_product, "denotes einsum \"ik,kj->ij\" x w\n", "");
  EXPECT_EQ(said(silent), "right");
  EXPECT_EQ(said(replaced(silent, "as sum{d}[4, 4]", "as [4, 4]")), "replicas y");
}

TEST(Modules, wrong_texts_are_pointed_at) {
  const auto begins = [](const std::string& text, const std::string& start) {
    EXPECT_EQ(said(text).substr(0, start.size()), start) << text.substr(0, 400);
  };
  begins("", "1:14 the module ends here too early");
  begins("devices 4\n", "2:1 expected 'mesh'");
  begins(replaced(dot_product, "sum{d}[4, 4]", "stack{d}[4, 4]"), "4:40 a module has no stacks");
  begins(replaced(dot_product, "as sum{d}[4, 4]", "as sum{d}[4, 1{d}4]"), "4:40 axes overlap");
  begins(replaced(dot_product, "as [1{d}4, 4]", "as [1{d}4, 8]"), "5:5 a redistribution keeps");
  begins(replaced(dot_product, "z = ", "y = "), "5:1 y stands for another value");
  begins(replaced(dot_product, "redistribute y", "redistribute q"), "5:5 there is no value q");
  begins(replaced(dot_product, "spmd x w", "spmd x"), "4:33 there are not as many");
  begins(replaced(dot_product, "\"ik,kj->ij\" }", "\"ik,kj\" }"), "4:23 these are no subscripts");
  begins(replaced(dot_product, "{ einsum", "{ conv"), "4:16 there is no operation conv");
  begins(replaced(dot_product, "as sum{d}[4, 4]", "as sum{d}[4, 8]"),
         "4:5 on device 0 the result is");
  begins(replaced(dot_product, "return z", "return w"), "6:1 what is returned has another type");
  begins(replaced(dot_product, "denotes", "means"), "7:1 expected denotes");
  begins(dot_product + "y\n", "8:1 unexpected text behind");
  begins(replaced(partial, "as sum{x}[3]", "as max{x}[3]"), "4:5 no redistribution makes addends");
  begins(replaced(convolution, "at=[[0],[2],[3],[5]]", "at=[[0],[2],[3],[6]]"), "4:28 the lists");
  std::string deep;
  for (int k = 0; k < 100'000; ++k) deep += "neg (";
  begins(replaced(partial, "{ scale -3 a }", "{ " + deep), "5:339 more than 64 brackets");
}

TEST(Modules, brackets_stand_around_any_expression) {
  EXPECT_EQ(said(one_of("(add x w)", "(add w x)")), "right");
  EXPECT_EQ(said(one_of("((x))", "((scale 1 (x)))")), "right");
  EXPECT_EQ(said(one_of("(add x w", "x")).substr(0, 12), "4:25 expecte");
}

TEST(Modules, limits_are_named) {
  EXPECT_EQ(said("mesh d:2\nfn main(x : [2000, 2000]) -> [2000, 2000]\nreturn x\n"),
            "undecided: more than 2^20 elements on all devices together");
  Polynomial::terms_left = 2;
  const Polynomial x = Polynomial::of(0);
  EXPECT_THROW((void)(x * x * x), TooLarge);
  Polynomial::terms_left = most_terms;
  // Few terms, but of more and more variables.
  const auto squared = [&] {
    Polynomial power = x;
    for (int k = 0; k < 40; ++k) power = power * power;
  };
  EXPECT_THROW(squared(), TooLarge);
  Polynomial::terms_left = most_terms;
}

}  // namespace
}  // namespace spec::spmd::test
