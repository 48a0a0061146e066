// Elements at indices that another array holds: which modules have a type, and what both judges say. What is
// right is so for all indices, and what is wrong is so for some that the arrays have: also of expressions that are
// drawn, which are worked out for all indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include "retile/spmd/smaller.h"
#include "spmd/modules.h"
#include "spmd/verdicts.h"
#include "support/samples.h"

namespace retile::spmd::indices_test {
namespace {

using test::oracles;
using test::ours;
using test::replaced;

constexpr const char* wrong = "denotes return";

std::string said(const std::string& text) { return ours(text, {.seed = 1}); }
/// At the extents of the text and at smaller ones.
void expect_both(const std::string& text, const std::string& verdict) {
  EXPECT_EQ(said(text), verdict) << text;
  EXPECT_EQ(ours(text, {.seed = 2, .full_extents = true}), verdict) << text;
}
void expect(const std::string& text, const std::string& verdict) {
  expect_both(text, verdict);
  EXPECT_EQ(oracles(text), verdict) << text;
}
/// On x of n elements, and 4 indices of it.
std::string of(const std::string& body, const std::string& denotes, const std::string& n = "3") {
  return "retile.spmd/1\nmesh d:2\nfn main(x : [" + n + "], c : [2{d}4] below " + n +
         ") -> [2{d}4]\ny = spmd x c { " + body + " } as [2{d}4]\nreturn y\ndenotes " + denotes +
         "\n";
}
const std::string taken = "take 0 x c";

TEST(Indices, elements_at_indices_are_what_they_are) {
  expect(of(taken, taken), "right");
  expect(of(taken, "take 0 (neg x) c"), wrong);
  expect(of(taken, "neg (take 0 (neg x) c)"), "right");
  expect(of("take 0 (add x x) c", "scale 2 (take 0 x c)"), "right");
  expect(of("take 0 (mul x x) c", taken), wrong);
  expect(of("mul c (take 0 x c)", "take 0 x c"), wrong);
  expect(of("exp (take 0 x c)", "exp (take 0 x c)"), "right");
  expect(of("exp (take 0 x c)", "exp (neg (take 0 x c))"), wrong);
  expect(of("max (take 0 x c) c", "max c (take 0 x c)"), "right");
  expect(of("max (take 0 x c) c", "min c (take 0 x c)"), wrong);
}

/// Each element is multiplied with what `equal` says of the index and its own number.
TEST(Indices, elements_are_those_of_their_numbers) {
  expect(of(taken, "mul (equal c (fill 0 c)) (einsum \"m,j->j\" x (fill 1 c))", "1"), "right");
  expect(of(taken, "mul (equal c (fill 1 c)) (einsum \"m,j->j\" x (fill 1 c))", "1"), wrong);
}

/// What is right because an index is just one of them, but not for any other function of index and element.
TEST(Indices, laws_of_indices_are_undecided_and_never_wrong) {
  expect(of("mul (take 0 x c) (take 0 x c)", "take 0 (mul x x) c"), "undecided");
  expect(of("take 0 (fill 1 x) c", "fill 1 c"), "undecided");
  expect(of("take 0 (fill 1 x) c", "fill 2 c"), wrong);
  expect(of("exp (take 0 x c)", "take 0 (exp x) c"), "undecided");
  expect(of("relu (take 0 x c)", "take 0 (relu x) c"), "undecided");
  expect(of("relu (take 0 x c)", "take 0 (neg (relu x)) c"), wrong);
  expect(of("exp (take 0 x c)", "take 0 (exp (neg x)) c"), wrong);
  // The only index there is.
  expect(of(taken, "einsum \"m,j->j\" x c", "1"), wrong);
  expect(of(taken, "einsum \"m,j->j\" x (fill 1 c)", "1"), "undecided");
  expect(of(taken, "einsum \"m,j->j\" x (fill 1 c)", "2"), wrong);
}

/// Numbers below an extent, which may be equal where others are not.
TEST(Indices, indices_are_numbers_below_their_extent) {
  expect(of("mul c c", "c", "2"), "undecided");
  expect(of("mul c c", "c", "3"), wrong);
  expect(of("relu c", "c"), "undecided");
  expect(of("relu (neg c)", "fill 0 c"), "undecided");
  expect(of("max c (fill 2 c)", "fill 2 c", "3"), "undecided");
  expect(of("max c (fill 2 c)", "fill 2 c", "4"), wrong);
  expect(of("sqrt (mul c c)", "c"), "undecided");
  expect(of("fill 0 c", "c", "1"), "undecided");
  expect(of("fill 0 c", "c", "2"), wrong);
  // No draw hits one of so many, but some hit others.
  expect(of("c", "add c (fill 1 c)", "1000"), wrong);
}

TEST(Indices, of_other_dimensions_and_of_indices) {
  const std::string text = R"(retile.spmd/1
mesh d:2
fn main(t : [5, 3], c : [2{d}4, 2] below 5, p : [3] below 4) -> [2{d}4, 2, 3]
r = spmd t c { take 0 t c } as [2{d}4, 2, 3]
return r
denotes take 0 t c
)";
  expect(text, "right");
  expect(replaced(text, "denotes take 0 t c", "denotes transpose [0,1,2] (take 0 t c)"), "right");
  expect(R"(retile.spmd/1
mesh d:2
fn main(t : [3, 5], c : [2{d}4] below 5) -> [3, 2{d}4]
r = spmd t c { take 1 t c } as [3, 2{d}4]
return r
denotes take 1 t c
)",
         "right");
  const std::string inner = R"(retile.spmd/1
mesh d:2
fn main(x : [5], c : [4] below 5, p : [3] below 4) -> [3]
q = redistribute p as [2{d}3]
r = spmd x c q {
  i = take 0 c q
  j = trim 0 0 0 i
  return j
} as [2{d}3]
s = redistribute r as [3]
return s
denotes take 0 c p
)";
  expect(inner, "right");
  expect(replaced(inner, "return j", "return q"), wrong);
  expect(replaced(replaced(inner, "  return j", "  k = take 0 x j\n  return k"),
                  "denotes take 0 c p", "denotes take 0 (take 0 x c) p"),
         "undecided");
  expect(replaced(replaced(inner, "  return j", "  k = take 0 x j\n  return k"),
                  "denotes take 0 c p", "denotes take 0 x (take 0 c p)"),
         "right");
}

TEST(Indices, devices_must_agree) {
  const std::string text = R"(retile.spmd/1
mesh d:2
fn main(x : [2{d}4], c : [3] below 2) -> [3]
y = spmd x c { take 0 x c } as [3]
return y
)";
  expect(text, "replicas y");
  expect(replaced(text, "x : [2{d}4]", "x : [4]"), "right");
  // Parts of a sum are taken one by one.
  const std::string sum = R"(retile.spmd/1
mesh d:2
fn main(x : sum{d}[4], c : [3] below 4) -> sum{d}[3]
y = spmd x c { take 0 x c } as sum{d}[3]
return y
denotes take 0 x c
)";
  expect(sum, "right");
  expect(replaced(sum, "as sum{d}[3]", "as max{d}[3]"), "refused");
  expect(replaced(replaced(sum, "as sum{d}[3]", "as max{d}[3]"), "-> sum{d}[3]", "-> max{d}[3]"),
         wrong);
}

TEST(Indices, indices_have_a_type) {
  expect(replaced(of(taken, taken), " below 3", ""), "refused");
  expect(replaced(of(taken, taken), " below 3", " below 2"), "right");
  expect(replaced(of(taken, taken), " below 3", " below 4"), "refused");
  expect(replaced(of(taken, taken), " below 3", " below 0"), "refused");
  expect(replaced(of(taken, taken), "c : [2{d}4]", "c : sum{d}[4]"), "refused");
  expect(of("take 0 x (mul c c)", taken), "refused");
  expect(of("take 0 x (scale 1 c)", taken), "refused");
  expect(of(taken, "take 0 x (fill 1 c)"), "refused");
  expect(of("take 1 x c", taken), "refused");
  expect(of("take 0 c x", taken), "refused");
  expect(of("take -0 x c", taken), "refused");
  expect(of("take 0 x c c", taken), "refused");
  expect(of("take 0 x", taken), "refused");
  expect(of("take 0 x (reduce_sum 0 (einsum \"j,k->jk\" c c))", taken), "refused");
  // A tile that is not whole along the dimension.
  expect(replaced(replaced(of(taken, taken), "x : [3]", "x : [2{d}3]"), "mesh d:2", "mesh d:2"),
         "refused");
  // A definition of the same name is another value.
  expect(replaced(of("E", taken), "{ E }", "{\n  c = add c c\n  return c\n}"), wrong);
  expect(replaced(of("E", taken), "{ E }", "{\n  c = add c c\n  d = take 0 x c\n  return d\n}"),
         "refused");
  // Of one element that is left a sum is that element.
  const std::string one = R"(retile.spmd/1
mesh d:1
fn main(x : [3], c : [2, N] below 3) -> [2]
y = spmd x c { take 0 x (reduce_sum 1 (trim 1 0 1 c)) } as [2]
return y
denotes take 0 x (reduce_sum 1 (trim 1 0 1 c))
)";
  expect(replaced(one, "N", "2"), "right");
  expect(replaced(one, "N", "1"), "right");  // none is left, and the index is 0
  expect(replaced(one, "N", "3"), "refused");
}

TEST(Indices, empty_arrays_have_no_elements) {
  const std::string text = R"(retile.spmd/1
mesh d:4
fn main(x : [3, 2], c : [2{d}5] below 3) -> [2{d}5, 2]
y = spmd x c { take 0 x c } as [2{d}5, 2]
return y
denotes take 0 x c
)";
  expect(text, "right");
  expect(replaced(text, "denotes take 0 x c", "denotes neg (take 0 x c)"), wrong);
}

/// Of the dimension as many indices stay as beside any function.
TEST(Indices, dimensions_of_which_elements_are_taken_are_divided) {
  const std::string text = R"(retile.spmd/1
mesh d:2
fn main(t : [16, 16], c : [8{d}16] below 16, v : [8{d}16]) -> [8{d}16, 16]
r = spmd t c v { einsum "ij,i->ij" (take 0 t c) v } as [8{d}16, 16]
return r
denotes einsum "ij,i->ij" (take 0 t c) v
)";
  const auto extents = [](const std::string& module_text) {
    const text::Input input = {module_text, "m", true};
    const auto module = read_module(input);
    Shape out;
    if (!module) return out;
    const Smaller at = smaller(*module);
    for (const Scale& scale : at.scales[0]) out.push_back(scale(16));
    for (const Scale& scale : at.scales[1]) out.push_back(scale(16));
    return out;
  };
  const auto denoted = [&](const std::string& by) {
    return replaced(text, "denotes einsum \"ij,i->ij\" (take 0 t c) v", "denotes " + by);
  };
  EXPECT_EQ(extents(text), (Shape{5, 1, 10}));
  expect(text, "right");
  const std::string turned = "einsum \"ij,i->ij\" (take 0 (transpose [1,0] t) c) v";
  EXPECT_EQ(extents(denoted(turned)), (Shape{7, 7, 10}));
  expect_both(denoted(turned), wrong);
  expect_both(denoted("einsum \"ij,i->ij\" (take 0 (neg t) c) v"), wrong);
  expect_both(denoted("einsum \"ij,i->ij\" (take 0 t c) c"), wrong);
  expect_both(denoted("mul (take 0 t c) (einsum \"i,ij->ij\" v (fill 1 (take 0 t c)))"), "right");
  expect_both(denoted("take 0 (einsum \"ij,i->ij\" t v) c"), wrong);
  // What is the same for all of them says how many there are.
  const std::string ones = "einsum \"ij,i->ij\" (take 0 (fill 1 t) c) v";
  EXPECT_EQ(extents(denoted(ones)), (Shape{16, 1, 10}));
  expect_both(denoted(ones), wrong);
  // Which of them an index is may be known elsewhere.
  EXPECT_EQ(extents(denoted("einsum \"ij,i->ij\" (take 0 t c) (equal c (fill 3 c))")),
            (Shape{16, 1, 10}));
  // Another dimension of which elements are taken has the same numbers.
  const std::string two = R"(retile.spmd/1
mesh d:2
fn main(t : [16], c : [8{d}16] below 16, v : [48]) -> [8{d}16]
w = redistribute v as [24{d}48]
u = redistribute w as [48]
r = spmd t c u { mul (take 0 t c) (take 0 u c) } as [8{d}16]
return r
denotes mul (take 0 t c) (take 0 v c)
)";
  EXPECT_EQ(extents(two), (Shape{14, 10}));
  expect_both(two, "right");
  expect_both(replaced(two, "denotes mul (take 0 t c) (take 0 v c)",
                       "denotes mul (take 0 t c) (take 0 (trim 0 0 32 v) c)"),
              "undecided");
  expect_both(replaced(two, "denotes mul (take 0 t c) (take 0 v c)",
                       "denotes mul (take 0 t c) (take 0 (trim 0 32 0 v) c)"),
              wrong);
}

TEST(Indices, what_is_too_large_is_undecided_soon) {
  const std::string text = R"(retile.spmd/1
mesh d:1
fn main(x : [N], c : [8] below N) -> [8]
y = spmd x c { take 0 x c } as [8]
return y
denotes take 0 x c
)";
  const auto sized = [&](const std::string& n) { return replaced(replaced(text, "N", n), "N", n); };
  EXPECT_EQ(said(sized("4294967296")), "right");
  EXPECT_EQ(oracles(sized("4294967296")), "undecided");
  EXPECT_EQ(said(sized("1099511627776")), "refused");  // a value has at most 2^32 elements
  EXPECT_EQ(oracles(sized("1099511627776")), "undecided");
  EXPECT_EQ(said(sized("9223372036854775807")), "refused");
  EXPECT_EQ(oracles(sized("9223372036854775807")), "undecided");
}

// Expressions drawn at random, on x of two elements and indices c and e of it.

using Random = std::mt19937_64;

struct Drawn {
  std::string text;
  /// Of elements of x, or of one element of c and one of e.
  std::function<std::int64_t(const std::array<std::int64_t, 2>& x, std::size_t at, std::int64_t c,
                             std::int64_t e)>
      value;
};

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

/// \param is_taken  as many elements as there are indices, else as there are of x
Drawn drawn(Random& random, bool is_taken, int depth) {
  if (depth == 0 || below(random, 6) == 0) {
    if (!is_taken) return {"x", [](const auto& x, auto at, auto, auto) { return x[at]; }};
    if (below(random, 3) == 0) {
      return {"c", [](const auto&, auto, auto c, auto) { return c; }};
    }
    return {"(take 0 x c)",
            [](const auto& x, auto, auto c, auto) { return x[static_cast<std::size_t>(c)]; }};
  }
  const Drawn a = drawn(random, is_taken, depth - 1);
  switch (below(random, is_taken ? 9U : 5U)) {
    case 0:
    case 1: {
      const Drawn b = drawn(random, is_taken, depth - 1);
      const auto f = a.value, g = b.value;
      const bool adds = below(random, 2) == 0;
      return {(adds ? "(add " : "(mul ") + a.text + " " + b.text + ")",
              [f, g, adds](const auto& x, auto at, auto c, auto e) {
                const std::int64_t p = f(x, at, c, e), q = g(x, at, c, e);
                return adds ? p + q : p * q;
              }};
    }
    case 2:
      return {"(neg " + a.text + ")",
              [f = a.value](const auto& x, auto at, auto c, auto e) { return -f(x, at, c, e); }};
    case 3:
      return {"(relu " + a.text + ")", [f = a.value](const auto& x, auto at, auto c, auto e) {
                return std::max<std::int64_t>(f(x, at, c, e), 0);
              }};
    case 4:
      return {"(fill 1 " + a.text + ")", [](const auto&, auto, auto, auto) { return 1; }};
    default: {
      const Drawn b = drawn(random, false, depth - 1);
      const bool is_first = below(random, 3) > 0;
      return {"(take 0 " + b.text + (is_first ? " c)" : " e)"),
              [f = b.value, is_first](const auto& x, auto, auto c, auto e) {
                return f(x, static_cast<std::size_t>(is_first ? c : e), c, e);
              }};
    }
  }
}

/// Whether two are equal for all indices, and all small numbers in x.
bool are_equal(const Drawn& a, const Drawn& b) {
  for (std::int64_t k = 0; k < 11 * 11 * 4; ++k) {
    const std::array<std::int64_t, 2> x = {k / 4 % 11 - 5, k / 44 - 5};
    if (a.value(x, 0, k % 2, k / 2 % 2) != b.value(x, 0, k % 2, k / 2 % 2)) return false;
  }
  return true;
}

TEST(Indices, what_is_right_is_equal_and_what_is_wrong_differs) {
  const Size count = support::samples(1'000);
  Random random(7);
  std::map<std::string, Size> found;
  for (Size k = 0; k < count; ++k) {
    const Drawn a = drawn(random, true, 3);
    Drawn b = drawn(random, true, 2);
    const std::size_t way = below(random, 4);
    if (way == 0) b = a;
    if (way == 1) {  // the same by a law of numbers
      b.text = "(add (neg " + a.text + ") (add " + a.text + " " + a.text + "))";
      b.value = a.value;
    }
    if (way == 2) {  // the same by one of indices
      b.text = "(mul " + a.text + " (take 0 (fill 1 x) e))";
      b.value = a.value;
    }
    const std::string text =
        "retile.spmd/1\nmesh d:2\nfn main(x : [2], c : [1{d}2] below 2, e : [1{d}2] below 2) -> "
        "[1{d}2]\ny = spmd x c e { " +
        a.text + " } as [1{d}2]\nreturn y\ndenotes " + b.text + "\n";
    SCOPED_TRACE(text);
    const bool equal = are_equal(a, b);
    for (const std::string& verdict : {said(text), oracles(text)}) {
      ASSERT_TRUE(verdict == "right" || verdict == wrong || verdict == "undecided") << verdict;
      ASSERT_TRUE(verdict != "right" || equal);
      ASSERT_TRUE(verdict != wrong || !equal);
      ++found[verdict + (equal ? ", equal" : ", different")];
    }
  }
  for (const auto& [what, number] : found) std::cout << "  " << what << ": " << number << "\n";
  EXPECT_GT(found["right, equal"], count / 2);
  EXPECT_GT(found["undecided, equal"], count / 5);
  EXPECT_GT(found["denotes return, different"], count / 5);
  EXPECT_LE(found["undecided, different"], count / 50);
}

/// Of all that is divided, the verdict is that of the extents of the text.
TEST(Indices, smaller_extents_have_the_same_verdict) {
  const Size count = support::samples(300);
  Random random(8);
  std::map<std::string, Size> found;
  for (Size k = 0; k < count; ++k) {
    const Drawn a = drawn(random, true, 3);
    const Drawn b = below(random, 3) == 0 ? a : drawn(random, true, 2);
    const std::string end = below(random, 2) == 0 ? "(reduce_sum 0 " : "(neg ";
    const std::string shape = end == "(neg " ? "[8]" : "[]";
    const std::string text =
        "retile.spmd/1\nmesh d:1\nfn main(x : [16], c : [8] below 16, e : [8] below 16) -> " +
        shape + "\ny = spmd x c e { " + end + a.text + ") } as " + shape + "\nreturn y\ndenotes " +
        end + b.text + ")\n";
    const std::string verdict = said(text);
    ASSERT_EQ(verdict, ours(text, {.seed = 3, .full_extents = true})) << text;
    ++found[verdict];
  }
  EXPECT_GT(found["right"], count / 5);
  EXPECT_GT(found[wrong], count / 5);
}

}  // namespace
}  // namespace retile::spmd::indices_test
