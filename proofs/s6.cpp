/// S6, factor two: if OPT > 0 then W + valley <= 2 OPT for every W-optimal path, and 2 is sharp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/sec7_multi_axis.h"
#include "spec/program/type_text.h"

namespace proofs::s6 {
namespace {

TEST(s6, w_and_valley_are_at_most_twice_the_optimum) {
  Obligation o("S6", "OPT > 0: W + V <= 2 OPT");
  const expr W = o.natural("W"), OPT = o.natural("OPT"), V = o.size("V"), L2 = o.size("L2");
  o.unbounded("sizes");
  o.bookkeeping();
  o.premise("W <= OPT", W <= OPT);                           // S2
  o.premise("OPT = 0 or OPT >= L2", OPT == 0 || OPT >= L2);  // S5
  o.premise("V <= L2", V <= L2);                             // the target is a tile of the sequence
  o.premise("OPT > 0", OPT > 0);
  o.goal("W + V <= 2 OPT", W + V <= 2 * OPT);
  o.control("OPT = 0 or OPT >= L2");
  o.control("OPT > 0");
  o.check();
}

TEST(s6, two_is_sharp) {
  Obligation o("S6",
               "{a:2,b:2,c:q}, [4q, q{a,b}4q] ~> [2q{b}4q, 2q{a}4q]: (W + V) / OPT >= 2q/(q+2)");
  const expr q = o.size("q"), p = o.size("p"), s = o.size("s");
  o.unbounded("q");
  // W: one alltoall(1, 0) of a factor 2; by S5 nothing is cheaper, as it costs L2. Its valley is
  // L2.
  const expr L2 = (2 * q) * (2 * q), W = (4 * q) * q;
  // A sequence that needs no permutation: dynslice(1, c), alltoall(1, 0, {c,a,b}), alltoall(0, 1,
  // {c,a}), allgather(1, c), with tiles [4q, 1], [1, 4q], [2q, 2], [2q, 2q].
  const expr exact = 4 * q + 4 * q + (2 * q) * (2 * q);
  o.premise("p / s < 2", p < 2 * s);
  o.premise("q > 2 p", q > 2 * p);
  o.use(product_is_monotone(p + 1, 2 * s, q));
  o.fact((p + 1) * q == p * q + q);
  o.fact(s * (2 * q) == (2 * s) * q);
  o.identity("W = L2", W == L2);
  o.identity("cost of the exact sequence is 4 q^2 + 8 q", exact == 4 * q * q + 8 * q);
  o.goal("2q/(q+2) > p/s: any ratio below 2 is passed", s * (2 * q) > p * (q + 2));
  o.fact((W + L2) * (q + 2) == (2 * q) * exact);
  o.identity("(W + V) / cost = 2q / (q+2)", (W + L2) * (q + 2) == (2 * q) * exact);
  o.control("q > 2 p");
  o.check();

  // The sequence itself, for primes q, by the rules of the specification.
  for (const spec::Size prime : {3, 5, 7, 11, 13}) {
    const spec::Mesh H = {{"a", 2}, {"b", 2}, {"c", prime}};
    const spec::Type from = {{4 * prime, {}, 4 * prime}, {prime, {"a", "b"}, 4 * prime}};
    const spec::Type to = {{2 * prime, {"b"}, 4 * prime}, {2 * prime, {"a"}, 4 * prime}};
    auto t = spec::t_dynslice(H, 1, spec::Names{"c"}, from);
    ASSERT_TRUE(t && (t = spec::t_alltoall(H, 1, 0, spec::Names{"c", "a", "b"}, *t)));
    ASSERT_TRUE((t = spec::t_alltoall(H, 0, 1, spec::Names{"c", "a"}, *t)));
    ASSERT_TRUE((t = spec::t_allgather(H, 1, spec::Names{"c"}, *t)));
    EXPECT_EQ(*t, to) << spec::to_text(*t);
  }
}

}  // namespace
}  // namespace proofs::s6
