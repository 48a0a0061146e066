// C programs of modules, compiled and run. tests/cli/modules_c_test.py runs many more from outside.
#include "retile/spmd/emit/mpi_c.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "exec/npy/files.h"
#include "modules.h"

namespace retile::spmd {
namespace {

using test::module_named;
using test::replaced;

std::string written(const std::string& text) {
  const text::Input input = {.text = text, .source = "m.spmd", .numbered = true};
  const auto module = read_module(input);
  const auto out = module ? mpi_c(*module, text) : refuse(module.error());
  return out ? *out : "refused: " + out.error().message;
}

/// The exit code of a command.
int exit_code(const std::string& command) {
  const int status = std::system(("exec 2> /dev/null > /dev/null; " + command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The exit code of a program on so many processes.
int run_c(const std::string& program, int processes) {
  const retile::test::TemporaryDirectory directory;
  retile::test::write_file(directory.file("m.c"), program);
  const std::string out = directory.file("m");
  if (exit_code("mpicc -std=c11 -Wall -Wextra -Werror -O1 -DNO_CBLAS " + directory.file("m.c") +
                " -o " + out + " -lm") != 0) {
    return -2;
  }
  return exit_code(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 mpirun "
      "--oversubscribe -n " +
      std::to_string(processes) + " " + out);
}

class ModulesInC : public testing::Test {
 protected:
  void SetUp() override {
    if (exit_code("command -v mpicc mpirun") != 0) GTEST_SKIP() << "no mpicc, or no mpirun";
  }
};

TEST_F(ModulesInC, run_and_compare_themselves) {
  // Addends of all kinds, values that are read after they were redistributed, uneven tiles, and functions.
  const std::string twice = R"(retile.spmd/1
mesh d:3
fn main(x : [2{d}5, 3], y : sum{d}[5, 3], m : max{d}[4]) -> [2{d}5, 2]
c = redistribute y as [2{d}5, 3]
n = redistribute m as [2{d}4]
k = redistribute n as [4]
e = spmd x c { transpose [1,0] (sub (relu x) (exp c)) } as [3, 2{d}5]
f = redistribute e as [3, 5]
g = redistribute f as [3, 2{d}5]
h = spmd x g k { einsum "ij,ji,->ij" x g (reduce_sum 0 (div k (add (mul k k) (fill 1 k)))) } as [2{d}5, 3]
j = spmd h x { add h (trim 1 0 0 x) } as [2{d}5, 3]
r = spmd j { trim 1 1 0 (max j (scale -3 j)) } as [2{d}5, 2]
return r
denotes trim 1 1 0 (max (add (einsum "ij,ij,->ij" x (sub (relu x) (exp y)) (reduce_sum 0 (div m (add (mul m m) (fill 1 m))))) x) (scale -3 (add (einsum "ij,ij,->ij" x (sub (relu x) (exp y)) (reduce_sum 0 (div m (add (mul m m) (fill 1 m))))) x)))
)";
  for (const std::string& text :
       {twice, module_named("stencil"), module_named("dealt"), module_named("strides")}) {
    SCOPED_TRACE(text);
    const int processes = text == twice ? 3 : text == module_named("strides") ? 2 : 4;
    EXPECT_EQ(run_c(written(text), processes), 0);
  }
}

TEST_F(ModulesInC, dimensions_of_an_array_of_lower_rank) {
  // And a result of which the devices hold addends.
  const std::string text = R"(retile.spmd/1
mesh d:2
fn main(x : [4, 3{d}6], y : [2{d}4], z : [2, 3, 2{d}4]) -> sum{d}[2, 3]
a = redistribute x as [2{d}4, 6]
b = redistribute y as [4]
c = redistribute a as [4, 6]
e = spmd z y { einsum "ijk,k->ij" } as sum{d}[2, 3]
f = spmd e c b { einsum "ij,->ij" e (reduce_sum 0 (reduce_sum 0 (einsum "kl,k->kl" c b))) } as sum{d}[2, 3]
return f
denotes einsum "ij,->ij" (einsum "ijk,k->ij" z y) (reduce_sum 0 (reduce_sum 0 (einsum "kl,k->kl" x y)))
)";
  EXPECT_EQ(run_c(written(text), 2), 0);
}

/// What is written of an operation is the same on both sides, so a mistake in it may not show where both have it.
TEST_F(ModulesInC, agree_with_other_words_for_the_same) {
  const std::string trims = R"(retile.spmd/1
mesh i:4
fn main(x : [3{i}12], w : [3]) -> [3{i}10]
h = redistribute x as [3{i}12<0,2>]
r = spmd h { add (trim 0 0 2 h) (trim 0 1 1 h) (trim 0 2 0 h) } as [3{i}10]
return r
denotes einsum "i+k,k->i" x (fill 1 w)
)";
  const std::string strides = R"(retile.spmd/1
mesh d:2
fn main(x : [3]) -> [1{d}2]
a = redistribute x as tile=[1] global=[3] at=[[0],[2]]
y = spmd a { add a (sub a a) } as [1{d}2]
return y
denotes einsum "2i->i" x
)";
  const std::string rows = R"(retile.spmd/1
mesh d:2
fn main(t : [5, 3], c : [2{d}4, 2] below 5) -> [2{d}4, 2, 3]
y = spmd t c { transpose [1,2,0] (take 1 (transpose [1,0] t) c) } as [2{d}4, 2, 3]
return y
denotes take 0 t c
)";
  EXPECT_EQ(run_c(written(rows), 2), 0);
  EXPECT_EQ(run_c(written(trims), 4), 0);
  EXPECT_EQ(run_c(written(strides), 2), 0);
  EXPECT_EQ(run_c(written(module_named("cube")), 3), 0);
}

TEST_F(ModulesInC, find_what_is_wrong) {
  const std::string text = module_named("stencil");
  const std::string program = written(text);
  for (const auto& [what, by] :
       {std::pair("i0 + 2)", "i0 + 1)"), std::pair("(-2.0 *", "(-2.000000001 *"),
        std::pair("return v2_r;", "v2_r[0] *= 1 + 1e-9; return v2_r;")}) {
    SCOPED_TRACE(by);
    EXPECT_EQ(run_c(replaced(program, what, by), 4), 1);
  }
  // An index that an array does not have ends all.
  EXPECT_EQ(run_c(replaced(written(module_named("gathered")), "= {0, 4, 0};", "= {0, 5, 0};"), 2),
            2);
  EXPECT_EQ(run_c(program, 3), 2);
  EXPECT_EQ(run_c(written(replaced(text, "denotes add (sub", "denotes add (add")), 4), 1);
}

TEST(ModulesAsC, need_what_they_denote) {
  EXPECT_EQ(written(replaced(module_named("dot"), "denotes", "# ")),
            "refused: a module without denotes says nothing that a result could be compared with");
}

}  // namespace
}  // namespace retile::spmd
