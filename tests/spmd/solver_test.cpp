// Which of the thesis' solvers redistributions are for: of its evaluation (8.1), and one for each name.
#include "retile/spmd/solver.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

#include "retile/array/partition.h"
#include "retile/spmd/module.h"

namespace retile::spmd::solver_test {
namespace {

/// By the value that a redistribution makes.
std::map<std::string, std::string> solvers_of(const std::string& module) {
  const text::Input input = {module, "m", true};
  const auto read = read_module(input);
  EXPECT_TRUE(read) << module << (read ? "" : read.error().message);
  std::map<std::string, std::string> out;
  if (!read) return out;
  for (const Statement& statement : read->body) {
    const auto* op = std::get_if<RedistributeOp>(&statement.op);
    if (op == nullptr) continue;
    const Value& to = read->values[statement.value];
    out[to.name] = solver_of(read->values[op->argument].type.layout(), to.type.layout());
  }
  return out;
}

using Names = std::map<std::string, std::string>;

Names of_product(const std::string& schedule) {
  const std::string text =
      "retile.array/1\narray a[8,8] at root b[8,8] at root\nc[i,j] += a[i,k] * b[k,j]\nschedule "
      "c " +
      schedule + "\nreturn c at root\n";
  const text::Input input = {text, "a", true};
  const auto statements = array::read_statements(input);
  EXPECT_TRUE(statements);
  const auto module = array::partition(*statements);
  EXPECT_TRUE(module);
  return solvers_of(*module);
}

/// The four schemes of 8.1.1. Of a the thesis says scatter and broadcast where rows alone are cut: its
/// replica groups have one process then, so that the second stage moves nothing.
TEST(Solver, of_the_products_of_the_thesis) {
  EXPECT_EQ(of_product("i:4"), (Names{{"a_1", "scatterv"}, {"b_1", "bcast"}, {"c_1", "gatherv"}}));
  EXPECT_EQ(of_product("k:4"),
            (Names{{"a_1", "scatterv"}, {"b_1", "scatterv"}, {"c_1", "reduce"}}));
  EXPECT_EQ(
      of_product("i:2,k:2,j:2"),
      (Names{{"a_1", "scatterv+bcast"}, {"b_1", "scatterv+bcast"}, {"c_1", "reduce+gatherv"}}));
  EXPECT_EQ(of_product("i:1"), (Names{{"a_1", "none"}, {"b_1", "none"}, {"c_1", "none"}}));
}

std::string of(const std::string& mesh, const std::string& from, const std::string& to) {
  return solvers_of("retile.spmd/1\nmesh " + mesh + "\nfn main(x : " + from + ") -> " + to +
                    "\ny = redistribute x as " + to + "\nreturn y\ndenotes x\n")["y"];
}

TEST(Solver, has_a_name_for_every_redistribution) {
  EXPECT_EQ(of("d:4", "[8]@0", "[8]"), "bcast");
  EXPECT_EQ(of("d:4", "[8]@0", "[2{d}8]"), "scatterv");
  EXPECT_EQ(of("d:4", "[7]@0", "[2{d}7]"), "scatterv");
  EXPECT_EQ(of("d:4,e:2", "[8]@0", "[2{d}8]"), "scatterv+bcast");
  // SpMV of 8.1.2: rows and the first of the next one.
  EXPECT_EQ(of("d:4", "[8]@0", "[2{d}8<0,1>]"), "overlapping-scatterv");
  EXPECT_EQ(of("d:2", "[5]@0", "tile=[3] global=[5] at=[[0],[2]]"), "overlapping-scatterv");
  EXPECT_EQ(of("d:2", "[4,4]@0", "tile=[2,4] global=[4,4] at=[[0,0],[2,0]]"), "scatterv");
  EXPECT_EQ(of("d:4", "[2{d}8]", "[8]@0"), "gatherv");
  EXPECT_EQ(of("d:4", "sum{d}[8]", "[8]@0"), "reduce");
  EXPECT_EQ(of("d:4,e:2", "sum{d}[4{e}8]", "[8]@0"), "reduce+gatherv");
  EXPECT_EQ(of("d:4", "sum{d}[8]", "[8]"), "allreduce");
  EXPECT_EQ(of("d:4", "sum{d}[8]", "[2{d}8]"), "reduce+alltoallv");
  EXPECT_EQ(of("d:4", "[2{d}8, 8]", "[8, 2{d}8]"), "alltoallv");
  EXPECT_EQ(of("d:4", "[2{d}8]", "[8]"), "alltoallv");
  EXPECT_EQ(of("d:2,e:2", "[4{d}8]", "[4{d}8]"), "none");
  // The root is device 0: another one that has it all is none.
  EXPECT_EQ(of("d:4", "[8]@1", "[8]"), "alltoallv");
}

}  // namespace
}  // namespace retile::spmd::solver_test
