/// Fig. 11: the costs, from the counting of App. B: elements moved in the whole mesh, divided by
/// delta.
///
/// App. B counts own elements as moved. What is received from others is less by the factor 1 - 1/n
/// for allgather and alltoall, which for n = 2 is half and not "of lower order" (E24).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/fig11_cost.h"

namespace proofs::fig_11 {
namespace {

TEST(fig_11, allgather_costs_the_tile_after) {
  Obligation o("Fig. 11", "allgather: delta/n groups, n^2 L1 each, is delta L2");
  const expr delta = o.size("delta"), n = o.size("n"), groups = o.size("groups");
  const expr L1 = o.size("L1"), L2 = o.size("L2");
  o.unbounded("delta, n, tile sizes");
  o.premise("delta = n groups", delta == n * groups);
  o.premise("L2 = n L1", L2 == n * L1);  // T-ALLGATHER
  const expr moved = groups * (n * n * L1);
  o.fact(groups * (n * n * L1) == (n * groups) * (n * L1));
  o.fact(z3::implies(delta == n * groups && L2 == n * L1, (n * groups) * (n * L1) == delta * L2));
  o.fact(groups * (n * (n - 1) * L1) * n == (n - 1) * ((n * groups) * (n * L1)));
  o.goal("moved = delta L2", moved == delta * L2);
  o.goal("from others: (1 - 1/n) times as much",
         groups * (n * (n - 1) * L1) * n == (n - 1) * (delta * L2));
  o.control("L2 = n L1", [&](const Model& v) {
    return Counterexample{
        fmt::format("delta = {}, n = {}, L1 = {}, L2 = {}", v(delta), v(n), v(L1), v(L2)),
        v(groups) * v(n) * v(n) * v(L1) !=
            v(delta) * spec::cost(spec::Op::allgather, v(L1), v(L2))};
  });
  o.check();
}

TEST(fig_11, alltoall_costs_the_tile_before) {
  Obligation o("Fig. 11", "alltoall: each device sends n pieces of L1/n, in all delta L1");
  const expr delta = o.size("delta"), n = o.size("n");
  const expr c_i = o.size("c_i"), c_j = o.size("c_j"), q = o.size("q");
  o.unbounded("delta, n, tile sizes");
  o.premise("c_j = n q", c_j == n * q);  // T-ALLTOALL
  const expr L1 = o.let("L1", c_i * c_j), L2 = o.let("L2", (c_i * n) * q);
  const expr piece = o.let("piece", c_i * q);
  o.fact((c_i * n) * q == c_i * (n * q));
  o.fact(n * (c_i * q) == c_i * (n * q));
  o.goal("L1 = n piece", L1 == n * piece);
  o.goal("L1 = L2", L1 == L2);
  o.goal("moved = delta L1", delta * (n * piece) == delta * L1);
  o.goal("from others: (1 - 1/n) times as much", (n - 1) * piece * n == (n - 1) * L1);
  o.control("c_j = n q", [&](const Model& v) {
    return Counterexample{fmt::format("c_i = {}, c_j = {}, n = {}", v(c_i), v(c_j), v(n)),
                          v(n) * v(piece) != spec::cost(spec::Op::alltoall, v(L1), v(L2))};
  });
  o.check();
}

// An allpermute needs no proof: every device receives a tile.
TEST(fig_11, dynslice_costs_nothing) {
  Obligation o("Fig. 11", "dynslice: every device has what it keeps");
  const expr n = o.size("n"), digit = o.natural("digit");
  const expr L1 = o.size("L1"), L2 = o.size("L2"), at = o.natural("at");
  o.unbounded("n, tile sizes");
  o.premise("L1 = n L2", L1 == n * L2);  // T-DYNSLICE, one dimension; the others do not change
  o.premise("digit < n", digit < n);
  o.premise("at < L2", at < L2);                   // an element of the new tile
  const expr o_1 = o.let("o_1", digit * L2 + at);  // where it is in the old one
  o.use(digits_stay_below(at, L2, digit, n));
  o.goal("dynslice: it is in the old tile", o_1 < L1);
  o.control("digit < n");
  o.check();
}

}  // namespace
}  // namespace proofs::fig_11
