/// Lemma 6.6, lifting: a low-level step that is no allpermute is a weak step of the same
/// localtypes.
///
/// By induction over the sequence: the localtype c of the type is the weak state. An allpermute
/// leaves it alone (Lemma 5.1: equal images have equal localtypes). For the others the premises of
/// Fig. 10 are shown to yield those of Def. 5.3: c_i | g_i, n | N_i or n | c_i, prod N | delta. The
/// axis may stand anywhere in its list. The rewritten type with the axis in front has the same
/// localtype, so the device map does not matter. Costs are functions of localtypes
/// (theorem_6_7.cpp).
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::lemma_6_6 {
namespace {

constexpr const char* arbitrary = "sizes, lists of axes, rank, length of the sequence";

TEST(lemma_6_6, allgather) {
  Obligation o("6.6", "allgather(x), e_i = c_i{ȳ,x,x̄}s_i: n | N_i, and c_i n has N_i/n tiles");
  const expr c = o.size("c"), s = o.size("s"), n = o.size("n"), N = o.size("N");
  const expr y = o.size("k_y"), x = o.size("k_x"), N_R = o.size("N_R"), F = o.size("F");
  const expr delta = o.size("delta");
  o.unbounded(arbitrary);
  o.premise("H |- t", c * (y * n * x) == s);
  o.premise("N_i = g_i / c_i", c * N == s);
  o.premise("prod N | delta", delta == (N * N_R) * F);
  const expr M = y * x;  // N_i / n
  o.fact(c * (y * n * x) == (n * M) * c && c * N == N * c);
  o.use(product_cancels(N, n * M, c));
  o.goal("n | N_i", N == n * M);
  o.fact((c * n) * M == (n * M) * c);
  o.goal("c_i n divides g_i", (c * n) * M == s);
  o.fact(N != n * M || (M * N_R) * (n * F) == (N * N_R) * F);
  o.goal("prod N | delta", delta == (M * N_R) * (n * F));
  o.control("H |- t");
  o.check();
}

TEST(lemma_6_6, alltoall) {
  Obligation o("6.6", "alltoall(x, j), e_i = c_i{ȳ,x,x̄}s_i: n | N_i, n | c_j, prod N stays");
  const expr c_i = o.size("c_i"), s_i = o.size("s_i"), n = o.size("n"), N_i = o.size("N_i");
  const expr c_j = o.size("c_j"), s_j = o.size("s_j"), q = o.size("q"), N_j = o.size("N_j");
  const expr y = o.size("k_y"), x = o.size("k_x"), N_R = o.size("N_R");
  o.unbounded(arbitrary);
  o.premise("H |- t", c_i * (y * n * x) == s_i);
  o.premise("N_i = g_i / c_i, N_j = g_j / c_j", c_i * N_i == s_i && c_j * N_j == s_j);
  o.premise("c_j mod n = 0", c_j == n * q);
  const expr M = y * x;  // N_i / n
  o.fact(c_i * (y * n * x) == (n * M) * c_i && c_i * N_i == N_i * c_i);
  o.use(product_cancels(N_i, n * M, c_i));
  o.goal("n | N_i", N_i == n * M);
  o.fact((c_i * n) * M == (n * M) * c_i);
  o.goal("c_i n divides g_i", (c_i * n) * M == s_i);
  o.fact(c_j != n * q || q * (n * N_j) == c_j * N_j);
  o.goal("c_j / n divides g_j", q * (n * N_j) == s_j);
  o.fact(N_i != n * M || (M * (n * N_j)) * N_R == (N_i * N_j) * N_R);
  o.goal("prod N stays", (M * (n * N_j)) * N_R == (N_i * N_j) * N_R);
  o.fact(c_j != n * q || (c_i * n) * q == c_i * c_j);
  o.goal("localsize stays", (c_i * n) * q == c_i * c_j);
  o.control("H |- t");
  o.control("c_j mod n = 0");
  o.check();
}

TEST(lemma_6_6, dynslice) {
  Obligation o("6.6", "dynslice(i, x), x free: n prod N | delta, and c_i / n has n N_i tiles");
  const expr c = o.size("c"), s = o.size("s"), n = o.size("n"), N = o.size("N"), q = o.size("q");
  const expr N_R = o.size("N_R"), delta = o.size("delta"), free = o.size("free");
  const expr rest = o.size("rest");
  o.unbounded(arbitrary);
  o.premise("N_i = g_i / c_i", c * N == s);
  o.premise("e_i = (c_i n){x̄_i}s_i", c == n * q);
  // "balanced": prod N is the product of the axes in use, delta that of all axes
  o.premise("delta = prod N times the free axes", delta == (N * N_R) * free);
  o.premise("x is one of the free axes", free == n * rest);
  o.fact(c != n * q || q * (n * N) == c * N);
  o.goal("c_i / n divides g_i", q * (n * N) == s);
  o.fact(free != n * rest || ((n * N) * N_R) * rest == (N * N_R) * free);
  o.goal("n prod N | delta", delta == ((n * N) * N_R) * rest);
  o.control("x is one of the free axes", {}, {free == 1, n == 2, N == 1, N_R == 1});
  o.control("e_i = (c_i n){x̄_i}s_i");
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_6_6
