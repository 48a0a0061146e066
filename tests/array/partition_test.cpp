// Statements that are cut: what `retile partition` prints, and whether it denotes the statements. The
// oracle's judge decides on what is printed; nothing of the room is trusted. What the clause `denotes`
// says is compared with the statements by every iteration point.
#include "retile/array/partition.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"
#include "spec/programs/thesis.h"
#include "support/samples.h"

namespace retile::array::partition_test {
namespace {

/// What is printed for these lines, or the first line of what is refused.
std::string module_of(const std::string& lines) {
  const std::string text = "retile.array/1\n" + lines;
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  if (!statements) return statements.error().source + ": " + statements.error().message;
  const auto module = partition(*statements);
  return module ? *module : module.error().source + ": " + module.error().message;
}
std::string judged(const std::string& module) {
  try {
    const auto verdict = spec::spmd::judge(spec::spmd::parse_module(module));
    if (!verdict.decided) return verdict.why_undecided;
    return verdict.right ? "right" : verdict.wrong->reason;
  } catch (const spec::ParseError& error) {
    return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
  }
}
void expect_line(const std::string& module, const std::string& line) {
  EXPECT_NE(("\n" + module).find("\n" + line + "\n"), std::string::npos) << line << "\nin\n"
                                                                         << module;
}
/// A module that the judge calls right.
std::string right(const std::string& lines) {
  const std::string out = module_of(lines);
  EXPECT_EQ(judged(out), "right") << out;
  return out;
}

// The examples of the design, by their names there.

TEST(Partition, G1_sum_of_arrays) {
  expect_line(right("array x[4,8,16] y[8,16]\nr[i0,i1,i2] = x[i0,i1,i2] + y[i1,i2]\n"
                    "schedule r i0:2,i1:2,i2:1\nreturn r\n"),
              "fn main(x : [2{i0}4, 4{i1}8, 16], y : [4{i1}8, 16]) -> [2{i0}4, 4{i1}8, 16]");
}
TEST(Partition, G2_reduction) {
  expect_line(right("array x[16,8]\nr[o] += x[o,i]\nschedule r o:2,i:4\nreturn r\n"),
              "fn main(x : [8{o}16, 2{i}8]) -> sum{i}[8{o}16]");
}
TEST(Partition, G3_and_G4_products) {
  const auto product = [](const std::string& shapes, const std::string& schedule) {
    return right("array " + shapes + "\nc[i,j] += a[i,k] * b[k,j]\nschedule c " + schedule +
                 "\nreturn c\n");
  };
  expect_line(product("a[8,8] b[8,8]", "i:1,k:4,j:1"),
              "fn main(a : [8, 2{k}8], b : [2{k}8, 8]) -> sum{k}[8, 8]");
  expect_line(product("a[8,8] b[8,8]", "i:2,k:2,j:2"),
              "fn main(a : [4{i}8, 4{k}8], b : [4{k}8, 4{j}8]) -> sum{k}[4{i}8, 4{j}8]");
  expect_line(product("a[7,5] b[5,6]", "i:2,k:2,j:2"),
              "fn main(a : [4{i}7, 3{k}5], b : [3{k}5, 3{j}6]) -> sum{k}[4{i}7, 3{j}6]");
  expect_line(product("a[7,5] b[5,6]", "i:3,k:4,j:1"),
              "fn main(a : [3{i}7, 2{k}5], b : [2{k}5, 6]) -> sum{k}[3{i}7, 6]");
}
TEST(Partition, G5_rows_and_their_ends) {
  const std::string module =
      right("array row[10]\nb[i] = row[i+1] - row[i]\nschedule b i:2\nreturn b\n");
  expect_line(module, "fn main(row : [5{i}10<0,1>]) -> [5{i}9]");
  expect_line(module, "b = spmd row { sub (trim 0 1 0 row) (trim 0 0 1 row) } as [5{i}9]");
}
TEST(Partition, G6_stencil) {
  expect_line(right("array x[12] : [3{i}12]\nr[i] = x[i] - 2x[i+1] + x[i+2]\nschedule r i:4\n"
                    "return r\n"),
              "x_1 = redistribute x as [3{i}12<0,2>]");
}
TEST(Partition, G7_convolution) {
  expect_line(right("array x[9] w[4]\nr[i] += x[i+k] * w[k]\nschedule r i:2,k:2\nreturn r\n"),
              "fn main(x : tile=[4] global=[9] at=[[0],[2],[3],[5]] shapes=[[4],[4],[4],[4]], "
              "w : [2{k}4]) -> sum{k}[3{i}6]");
}
TEST(Partition, G8_third_listing) {
  const std::string lines =
      "array x[8,4] w1[4,16] w2[16,3]\ny[i,j] += x[i,k] * w1[k,j]\nz[i,j] += y[i,k] * w2[k,j]\n"
      "schedule y i:1,k:1,j:8\nschedule z i:8,k:1,j:1\nreturn z\n";
  const std::string module = right(lines);
  expect_line(module, "y = spmd x w1 { einsum \"ik,kj->ij\" x w1 } as [8, 2{j}16]");
  expect_line(module, "y_1 = redistribute y as [1{j}8, 16]");
}
TEST(Partition, the_mlp_of_the_talk_by_its_tactics) {
  const std::string lines =
      "array x[4,6] w[6,6] u[6,6]\nh[i,j] += x[i,k] * w[k,j]\ny[i,j] += h[i,k] * u[k,j]\nreturn y\n"
      "tactic tile x 0 by r:2\ntactic tile w 1 by s:2\n";
  const std::string typed =
      "fn main(x : [2{r}4, 6], w : [6, 3{s}6], u : [3{s}6, 6]) -> sum{s}[2{r}4, 6]";
  expect_line(right(lines + "tactic propagate\n"), typed);
  expect_line(right(lines + "tactic tile u 0 by s:2\ntactic propagate\n"), typed);
}
TEST(Partition, roots_scatter_and_gather) {
  const std::string module =
      right("array x[6] at root\nr[i] = 3 * x[i]\nschedule r i:3\nreturn r at root\n");
  expect_line(module, "fn main(x : [6]@0) -> [6]@0");
  expect_line(module, "x_1 = redistribute x as [2{i}6]");
  expect_line(module, "r_1 = redistribute r as [6]@0");
}
TEST(Partition, maxima_and_minima) {
  EXPECT_NE(right("array x[4,4]\nr[i] max= x[i,k] - x[k,i]\nschedule r i:2,k:2\nreturn r\n")
                .find("max{k}[2{i}4]"),
            std::string::npos);
  EXPECT_NE(
      right("array x[4,6]\nr[i] min= x[i,k]\nschedule r i:2,k:2\nreturn r\n").find("min{k}[2{i}4]"),
      std::string::npos);
}

TEST(Partition, long_sums_are_not_deep) {
  std::string chain = "array x[4]\nr[i] = x[i]";
  for (int k = 0; k < 200; ++k) chain += " + 2x[i]";
  expect_line(right(chain + "\nschedule r i:2\nreturn r\n"), "fn main(x : [2{i}4]) -> [2{i}4]");
}

/// Attention over heads as Megatron cuts it, without softmax: every device has its heads, and one sum joins
/// them.
TEST(Partition, heads_and_batches) {
  const std::string lines =
      "array x[2,2,2] wq[2,2,2] wk[2,2,2] wv[2,2,2] wo[2,2,2]\n"
      "q[b,h,i,j] += x[b,i,k] * wq[k,h,j]\n"
      "l[b,h,i,j] += x[b,i,k] * wk[k,h,j]\n"
      "v[b,h,i,j] += x[b,i,k] * wv[k,h,j]\n"
      "s[b,h,i,j] += q[b,h,i,k] * l[b,h,j,k]\n"
      "o[b,h,i,j] += s[b,h,i,k] * v[b,h,k,j]\n"
      "y[b,i,j] += o[b,h,i,e] * wo[h,e,j]\n";
  const auto schedules = [](const std::string& of_heads) {
    std::string out;
    for (const char name : std::string("qlvsoy")) {
      out += std::string("schedule ") + name + " " + of_heads + "\n";
    }
    return out;
  };
  const std::string by_heads = right(lines + schedules("h:2") + "return y : [2,2,2]\n");
  expect_line(by_heads, "y_1 = redistribute y as [2,2,2]");
  EXPECT_EQ(by_heads.find(" redistribute "), by_heads.rfind(" redistribute "));
  right(lines + schedules("b:2,h:2") + "return y : [2,2,2]\n");
}
/// With scale and softmax: heads stay where they are, and one sum joins them. By keys, two sums and a
/// maximum join what is cut.
TEST(Partition, attention) {
  const std::string lines =
      "array q[2,2,2] l[2,2,2] v[2,2,2]\n"
      "s[h,i,j] += q[h,i,k] * l[h,j,k]\n"
      "t[h,i,j] = s[h,i,j] / sqrt(2)\n"
      "m[h,i] max= t[h,i,j]\n"
      "e[h,i,j] = exp(t[h,i,j] - m[h,i])\n"
      "z[h,i] += e[h,i,j]\n"
      "p[h,i,j] = e[h,i,j] / z[h,i]\n"
      "o[h,i,d] += p[h,i,j] * v[h,j,d]\n";
  const auto scheduled = [&](const std::string& by) {
    std::string out = lines;
    for (const char name : std::string("stmezpo")) {
      out += std::string("schedule ") + name + " " + by + "\n";
    }
    return out + "return o\n";
  };
  const std::string by_heads = right(scheduled("h:2"));
  EXPECT_EQ(by_heads.find("redistribute"), std::string::npos);
  const std::string by_keys = right(scheduled("j:2"));
  expect_line(by_keys, "m_1 = redistribute m as [2, 2]");
  expect_line(by_keys, "z_1 = redistribute z as [2, 2]");
  EXPECT_NE(by_keys.find("as max{j}[2, 2]"), std::string::npos);
  EXPECT_NE(by_keys.find("-> sum{j}[2, 2, 2]"), std::string::npos);
}
TEST(Partition, strides_and_indices) {
  const std::string module = right("array x[8]\nr[i] = x[2*i]\nschedule r i:2\nreturn r\n");
  expect_line(module, "fn main(x : tile=[3] global=[8] at=[[0],[4]] shapes=[[3],[3]]) -> [2{i}4]");
  expect_line(module, "r = spmd x { einsum \"2i->i\" x } as [2{i}4]");
  expect_line(
      right("array x[9]\nr[i] = x[2*i] - x[2*i+1]\nschedule r i:2\nreturn r\n"),
      "r = spmd x { sub (einsum \"2i->i\" (trim 0 0 1 x)) (einsum \"2i->i\" (trim 0 1 0 x)) } as "
      "[2{i}4]");
  expect_line(right("array x[4,3]\nr[i] = x[i,0]\nschedule r i:2\nreturn r\n"),
              "r = spmd x { reduce_sum 1 (trim 1 0 2 x) } as [2{i}4]");
  expect_line(right("array x[11] w[3]\nr[i] += x[2*i+k] * w[k]\nschedule r i:1\nreturn r\n"),
              "r = spmd x w { einsum \"2i+k,k->i\" x w } as [5]");
}
TEST(Partition, elements_at_indices_of_another_array) {
  const std::string sparse = right(
      "array val[8,3] col[8,3] x[6] : [2{i}6]\nb[i] += val[i,k] * x[col[i,k]]\nschedule b i:4\n"
      "return b\n");
  expect_line(sparse,
              "fn main(val : [2{i}8, 3], col : [2{i}8, 3] below 6, x : [2{i}6]) -> [2{i}8]");
  expect_line(sparse, "x_1 = redistribute x as [6]");
  expect_line(sparse,
              "b = spmd val col x_1 { einsum \"ik,ik->i\" val (take 0 x_1 col) } as [2{i}8]");
  // The variable cuts the indices, and of a table no rows, but columns.
  expect_line(right("array t[5,4] w[6]\nr[i,j] = t[w[i],j]\nschedule r i:2,j:2\nreturn r\n"),
              "fn main(t : [5, 2{j}4], w : [3{i}6] below 5) -> [3{i}6, 2{j}4]");
  // One index of it, its neighbours, and indices of indices.
  expect_line(right("array x[4] c[3,2]\nr[i] = x[c[i,1]]\nschedule r i:3\nreturn r\n"),
              "r = spmd c x { take 0 x (reduce_sum 1 (trim 1 1 0 c)) } as [1{i}3]");
  expect_line(
      right("array x[4] c[5]\nr[i] = x[c[i+1]] - x[c[i]]\nschedule r i:2\nreturn r\n"),
      "r = spmd c x { sub (take 0 x (trim 0 1 0 c)) (take 0 x (trim 0 0 1 c)) } as [2{i}4]");
  const std::string inner =
      right("array x[4] p[7] q[5]\nr[i] = x[p[q[i]]]\nschedule r i:5\nreturn r\n");
  expect_line(inner, "fn main(x : [4], p : [7] below 4, q : [1{i}5] below 7) -> [1{i}5]");
  expect_line(inner, "r = spmd q p x { take 0 x (take 0 p q) } as [1{i}5]");
  // What says how far a variable goes beside an index.
  expect_line(
      right("array t[5,4] w[6] v[2]\nr[i] += t[i,w[k+l]] * v[l]\nschedule r k:5\nreturn r\n"),
      "r = spmd w t v { einsum \"ik+l,l->i\" (take 1 t w) v } as sum{k}[5]");
  // As a number, too; in a layout; a single one.
  right("array x[4] c[4] : [2{i}4]\nr[i] = x[c[i]] * c[i]\nschedule r i:2\nreturn r : [4]\n");
  right("array x[1] c[1]\nr[i] = x[c[i]]\nreturn r\n");
  right("array x[4] c[]\nr[] = x[c[]]\nreturn r\n");
}
TEST(Partition, ranges_are_those_that_are_declared) {
  const std::string module =
      right("array x[4]\nr[i] += x[i] for n:6\nschedule r i:2,n:2\nreturn r\n");
  expect_line(module, "fn main(x : [2{i}4], n : [3{n}6]) -> sum{n}[2{i}4]");
  expect_line(module, "r = spmd x n { einsum \"i,n->i\" x (fill 1 n) } as sum{n}[2{i}4]");
  expect_line(right("array n[4]\nr[i] += n[i] for n:6\nreturn r\n"),
              "fn main(n : [4], n_1 : [6]) -> [4]");
  expect_line(right("array x[8]\nr[i] = x[i] for i:3\nreturn r\n"),
              "r = spmd x { trim 0 0 5 x } as [3]");
  const auto begins = [](const std::string& lines, const std::string& start) {
    EXPECT_EQ(module_of(lines).substr(0, start.size()), start) << lines;
  };
  expect_line(right("array for[4]\nr[i] = 2 for[i] + 2 for i:3\nreturn r\n"),
              "fn main(for : [4]) -> [3]");
  begins("array x[8]\nr[i] = x[i] for i:9\nreturn r\n", "a:3: this reaches beyond");
  begins("array x[8]\nr[i] = x[i] for i:0\nreturn r\n", "a:3: ");
  begins("array x[8]\nr[i] = x[i] for i:2,i:2\nreturn r\n", "a:3: i has a range already");
  begins("array x[8]\nr[i] = x[i] for n:2\nreturn r\n", "a:3: with = every variable");
  begins("array x[8]\nr[i] += x[i] for n:2,n:3\nreturn r\n", "a:3: n has a range already");
  begins("array x[8]\nr[i] += n[i] for n:2\nreturn r\n", "a:3: there is no array n here");
  begins("array x[8]\nr[i] += x[i] for n:2\nt[i] = n[i]\nreturn t\n",
         "a:4: there is no array n here");
}
TEST(Partition, numbers_where_there_are_no_variables) {
  expect_line(right("array x[4]\ns[] += x[i]\nm[] = s[] / 4 - 1\nschedule s i:2\nreturn m\n"),
              "m = spmd s_1 { sub (div s_1 (fill 4 s_1)) (fill 1 s_1) } as []");
  expect_line(right("array x[4]\nm[] = x[3] + 2\nreturn m\n"),
              "m = spmd x { add (reduce_sum 0 (trim 0 3 0 x)) (fill 2 (reduce_sum 0 (trim 0 3 0 "
              "x))) } as []");
  EXPECT_EQ(module_of("m[] = 2\nreturn m\n").substr(0, 27), "a:2: a number alone has no ");
}
TEST(Partition, functions_stand_as_they_are_written) {
  expect_line(right("array x[4] y[4]\nr[i] = -exp(x[i]) / sqrt(y[i])\nschedule r i:2\nreturn r\n"),
              "r = spmd x y { div (neg (exp x)) (sqrt y) } as [2{i}4]");
  expect_line(
      right("array x[4] y[4]\nr[i] = x[i] / y[i] / x[i] * y[i]\nschedule r i:2\nreturn r\n"),
      "r = spmd x y { mul (div (div x y) x) y } as [2{i}4]");
  expect_line(right("array x[4] y[4]\nr[i] = max(x[i], -y[i], x[i] - - y[i])\nschedule r i:2\n"
                    "return r\n"),
              "r = spmd x y { max x (scale -1 y) (sub x (scale -1 y)) } as [2{i}4]");
  expect_line(right("array exp[4] max[4]\nr[i] = min(exp[i], max[i])\nschedule r i:2\nreturn r\n"),
              "r = spmd exp max { min exp max } as [2{i}4]");
}
TEST(Partition, axes_on_one_dimension_stand_in_the_order_of_tactics) {
  // Parameters cut by both axes, and what they are multiplied with by one: FSDP and tensor parallelism.
  const std::string product = "array a[8,4] b[4,8]\nc[i,j] += a[i,k] * b[k,j]\nreturn c\n";
  expect_line(right(product + "tactic tile b 1 by t:2\ntactic tile b 1 by f:4\ntactic propagate\n"),
              "fn main(a : [8, 4], b : [4, 1{t,f}8]) -> [8, 1{t,f}8]");
  expect_line(right(product + "tactic tile b 1 by f:4\ntactic tile b 1 by t:2\ntactic propagate\n"),
              "fn main(a : [8, 4], b : [4, 1{f,t}8]) -> [8, 1{f,t}8]");
  // The second time an axis says the same.
  expect_line(right(product + "tactic tile b 1 by t:2\ntactic tile c 1 by f:2\n"
                              "tactic tile c 1 by t:2\ntactic propagate\n"),
              "fn main(a : [8, 4], b : [4, 2{t,f}8]) -> [8, 2{t,f}8]");
}
TEST(Partition, conflicts_name_both_causes) {
  const std::string product = "array a[4,4] b[4,4]\nc[i,j] += a[i,k] * b[k,j]\nreturn c\n";
  EXPECT_EQ(
      module_of(product + "tactic tile a 0 by r:2\ntactic tile c 0 by s:2\n"
                          "tactic tile b 1 by s:2\ntactic propagate\n"),
      "a:7: variable j of c wants axis s, which variable i of c has by r:2 on a 0, s:2 on c 0");
  EXPECT_EQ(
      module_of(product + "tactic tile a 0 by r:2\ntactic tile b 1 by r:2\ntactic propagate\n"),
      "a:6: variable j of c wants axis r, which variable i of c has by r:2 on a 0");
}

TEST(Partition, wrong_texts_are_refused) {
  const auto begins = [](const std::string& lines, const std::string& start) {
    EXPECT_EQ(module_of(lines).substr(0, start.size()), start) << lines;
  };
  begins("", "a:2: the last line must be return");
  begins("array x[4]\nr[i] = y[i]\nreturn r\n", "a:3: there is no array y here");
  begins("array x[4]\nr[i,j] = x[i]\nreturn r\n", "a:3: nothing says how far variable j");
  begins("array x[4] y[5]\nr[i] = x[i] + y[i]\nreturn r\n", "a:3: variable i goes over 5 here");
  begins("array x[4]\nr[i] = x[i,i]\nreturn r\n", "a:3: x has 1 dimensions, not 2");
  begins("array x[4]\nr[i] = x[i-1]\nreturn r\n", "a:3: this reaches beyond");
  begins("array x[4]\nr[i+1] = x[i]\nreturn r\n", "a:3: what is written has a different");
  begins("array x[4,4]\nr[i] = x[i,k]\nreturn r\n", "a:3: with = every variable");
  begins("array x[4] r[5]\nr[i] = x[i]\nreturn r\n", "a:3: variable i goes over");
  begins("array x[4] y[4]\nr[i] = x[3-i] + y[i]\nreturn r\n",
         "a:3: a variable with a factor below 1");
  begins("array x[9999]\nr[i] = x[4097*i]\nreturn r\n",
         "a:3: a variable with a factor below 1 or above 4096");
  begins("array x[4]\nr[i] = x[i+4]\nreturn r\n", "a:3: this reaches beyond");
  begins("array x[4,4]\nr[i] = x[i,4]\nreturn r\n", "a:3: this reaches beyond");
  begins("array x[4]\nr[i] = max(x[i])\nreturn r\n", "a:3: expected ','");
  begins("array x[4]\nr[i] = exp(x[i],x[i])\nreturn r\n", "a:3: expected ')'");
  begins("array x[4]\nr[i] = x[i] /\nreturn r\n", "a:3: expected");
  begins("array x[4]\nr[i] = tan(x[i])\nreturn r\n", "a:3: there is no array tan here");
  std::string many = "array x[4]\nr[i] = max(x[i]";
  for (int k = 0; k < 64; ++k) many += ",x[i]";
  begins(many + ")\nreturn r\n", "a:3: more than 64 operands");
  std::string minus = "array x[4]\nr[i] = ";
  for (int k = 0; k < 100'000; ++k) minus += "-";
  begins(minus + "x[i]\nreturn r\n", "a:3: more than 1024 factors");
  begins("array x[4]\nr[i] = x[:]\nreturn r\n", "a:3: a whole dimension");
  const std::string indices = "array x[4] y[5] c[4] d[4,4]\n";
  begins(indices + "r[i] = x[c[i]] + y[c[i]]\nreturn r\n",
         "a:3: c has indices below 4 elsewhere, and here of a dimension of 5");
  begins(indices + "p[i] = 2c[i]\nr[i] = x[p[i]]\nreturn r\n",
         "a:4: p is written by a statement, and indices are elements of inputs");
  begins("array x[4] c[4] z[4]\nr[i] = x[c[i]]\nc[i] = z[i]\nreturn r\n",
         "a:4: c is an array of indices, and these are inputs");
  begins(indices + "r[c[i]] += x[i]\nreturn r\n", "a:3: what is written has no indices");
  begins(indices + "r[i] = x[c[i]+1]\nreturn r\n", "a:3: an element of an array of indices is");
  begins(indices + "r[i] = x[1+c[i]]\nreturn r\n", "a:3: an element of an array of indices is");
  begins(indices + "r[i] = x[2*c[i]]\nreturn r\n", "a:3: an element of an array of indices is");
  begins(indices + "r[i] = x[c[i]*2]\nreturn r\n", "a:3: an element of an array of indices is");
  begins(indices + "r[i] = x[d[i]]\nreturn r\n", "a:3: d has 2 dimensions, not 1");
  begins(indices + "r[i] = x[q[i]]\nreturn r\n", "a:3: there is no array q here");
  begins(indices + "r[i] = x[c[i+1]] for i:4\nreturn r\n", "a:3: this reaches beyond");
  begins(indices + "r[i] = x[c[j]]\nreturn r\n", "a:3: nothing says how far variable i");
  begins(indices + "r[i] = x[c[i]\nreturn r\n", "a:3: ");
  begins(indices + "r[i] = x[c[i],]\nreturn r\n", "a:3: ");
  std::string inside = indices + "r[i] = ";
  for (int k = 0; k < 100'000; ++k) inside += "c[";
  begins(inside + "\nreturn r\n", "a:3: more than 8 indirect subscripts");
  begins("array x[4]\nr[i] = x[i]\nr[i] += x[i]\nreturn r\n", "a:4: an array is written by one");
  begins("array x[4]\nr[i] = r[i]\nreturn r\n", "a:3: this is read before");
  begins("array x[4]\nr[i] = x[i]\nschedule q i:2\nreturn r\n", "a:4: no statement writes q");
  begins("array x[4]\nr[i] = x[i]\nschedule r j:2\nreturn r\n", "a:4: the statement has no");
  begins("array x[4]\nr[i] = x[i]\nreturn r\nreturn r\n", "a:5: nothing but tactics");
  begins("array x[4]\nr[i] = x[i]\nreturn r\ntactic tile x 0 by r:2\n", "a:5: the last tactic");
  const std::string tail = "\nr[i] = x[i]\nschedule r i:2\nreturn r";
  begins("array x[4] : [2{q}4]" + tail + "\n", "a:2: the mesh has no axis q");
  begins("array x[4] : [2{i}4]]" + tail + "\n", "a:2: ");
  begins("array x[4] : [3{i}5]" + tail + "\n", "a:2: this is a layout of an array of shape [5]");
  begins("array x[4]" + tail + " : [5]\n", "a:5: this is a layout of an array of shape [5]");
  begins("array x[4]" + tail + " :\n", "a:5: ");
  begins("array x[] at root\nr[] = x[]\nreturn r\n", "a:2: every device holds the one element");
  begins("array x[]\nr[] = x[]\nreturn r at root\n", "a:4: every device holds the one element");
  begins("array x[3] w[2]\nr[i] += x[i+k] * w[k]\nschedule r i:3,k:3\nreturn r\n",
         "a:3: a sum of variables that have no value");
  begins("array x[5,3]\nr[i] max= x[k,i]\nschedule r k:4\nreturn r\n", "a:3: a piece without work");
  std::string deep = "array x[4]\nr[i] = ";
  for (int k = 0; k < 100'000; ++k) deep += "(";
  begins(deep + "\nreturn r\n", "a:3: more than 64 brackets");
  std::string chain = "array x[4]\nr[i] = x[i]";
  for (int k = 0; k < 100'000; ++k) chain += "+x[i]";
  begins(chain + "\nreturn r\n", "a:3: more than 1024 factors");
  begins("array x[9223372036854775807]\nr[i] = x[i+9223372036854775807]\nreturn r\n",
         "a:3: this reaches beyond");
  begins("array x[9223372036854775807]\nr[i] = x[9223372036854775806-i]\nreturn r\n",
         "a:3: nothing says how far");
  begins("array x[9223372036854775807]\nr[i] = x[i-9223372036854775807]\nreturn r\n",
         "a:3: this reaches beyond");
  begins("array x[4]\nr[i] = x[9223372036854775807*i+9223372036854775807]\nreturn r\n",
         "a:3: this reaches beyond");
}

// The constraint of an access.

TEST(Constraint, is_the_box_around_what_is_touched) {
  std::size_t compared = 0;
  for (Size n = 1; n <= 5; ++n) {
    for (Size m = 1; m <= 4; ++m) {
      for (Size p = 1; p <= 6; ++p) {
        for (Size code = 0; code < 7 * 7 * 3; ++code) {
          const Size f = code % 7 - 3, g = code / 7 % 7 - 3, c = code / 49;
          Subscript subscript = {{}, c};
          if (f != 0) subscript.factors.emplace_back(0, f);
          if (g != 0) subscript.factors.emplace_back(1, g);
          for (Size t = 0; t < p; ++t) {
            const auto values = spec::thesis::rank_tiling(n, p, t);
            const Interval piece = piece_of(n, p, t);
            ASSERT_EQ(static_cast<Size>(values.size()), piece.end - piece.begin);
            if (values.empty()) continue;
            ASSERT_EQ(values.front(), piece.begin);
            const auto box = spec::thesis::box_around(
                spec::thesis::touched({{c, {f, g}}}, {values, spec::thesis::rank_tiling(m, 1, 0)}));
            const Interval found = constraint({subscript}, {piece, {0, m}});
            ASSERT_EQ(std::pair(found.begin, found.end), box[0]);
            ++compared;
          }
        }
      }
    }
  }
  std::cout << compared << " boxes\n";
  EXPECT_GT(compared, 10'000U);
}

// Random statements.

#ifdef RETILE_SLOW_TESTS
constexpr int statements_drawn = 20'000;
#else
constexpr int statements_drawn = support::samples(7'000);
#endif

using Random = std::mt19937_64;
Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}

/// r[..] += a[..] * b[..], or = a[..] + b[..], with plain subscripts, sums and shifts.
struct Drawn {
  std::string lines;
  std::vector<spec::thesis::Subscripts> reads;
  spec::Sizes extents;  // of the variables
  std::vector<std::size_t> out;
  bool sums = false;
};

Drawn drawn(Random& random) {
  const std::string names = "ijk";
  Drawn out;
  const auto variables = static_cast<std::size_t>(1 + below(random, 3));
  for (std::size_t v = 0; v < variables; ++v) out.extents.push_back(1 + below(random, 4));
  out.sums = below(random, 2) == 0;
  for (std::size_t v = 0; v < variables; ++v) {
    if (!out.sums || below(random, 2) == 0) out.out.push_back(v);
  }
  std::string declared = "array", right;
  for (const char* name : {"a", "b"}) {
    spec::thesis::Subscripts access;
    std::string shape, subscripts;
    for (std::size_t v = 0; v < variables; ++v) {
      spec::thesis::AffineSum s = {0, spec::Sizes(variables, 0)};
      s.factors[v] = 1;
      Size extent = out.extents[v];
      std::string text = names.substr(v, 1);
      if (name[0] == 'b') {
        const Size what = below(random, 4);
        if (what == 0) continue;  // b lacks the variable
        if (what == 1) {
          s.constant = 1 + below(random, 2);
          extent += s.constant + below(random, 2);
          text += "+" + std::to_string(s.constant);
        }
      }
      access.push_back(s);
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
      subscripts += (subscripts.empty() ? "" : ",") + text;
    }
    declared += std::string(" ") + name + "[" + shape + "]";
    right += std::string(right.empty() ? ""
                         : out.sums    ? " * "
                                       : " + ") +
             name + "[" + subscripts + "]";
    out.reads.push_back(access);
  }
  if (!out.sums && out.reads[1].size() == variables) {  // the same array without its shifts
    spec::thesis::Subscripts plain = out.reads[0];
    std::string subscripts;
    for (std::size_t v = 0; v < variables; ++v) {
      subscripts += (v > 0 ? "," : "") + names.substr(v, 1);
    }
    right += " + b[" + subscripts + "]";
    out.reads.push_back(plain);
  }
  std::string left, schedule;
  for (const std::size_t v : out.out) left += (left.empty() ? "" : ",") + names.substr(v, 1);
  Size devices = 1;
  for (std::size_t v = 0; v < variables; ++v) {
    const Size pieces = std::min<Size>(1 + below(random, 4), 12 / devices);
    devices *= pieces;
    schedule += (schedule.empty() ? "" : ",") + names.substr(v, 1) + ":" + std::to_string(pieces);
  }
  out.lines = declared + "\nr[" + left + "] " + (out.sums ? "+= " : "= ") + right +
              "\nschedule r " + schedule + "\nreturn r\n";
  return out;
}

/// The value of `denotes` on numbers against the statement at every iteration point.
void expect_denoted(const Drawn& drawn, const std::string& module) {
  using spec::spmd::Polynomial;
  const auto parsed = spec::spmd::parse_module(module);
  spec::spmd::Variables variables;
  std::map<std::string, spec::spmd::PolynomialTensor> arrays;
  for (const auto& [name, layout] : parsed.parameters) {
    arrays[name] = spec::tensor_of<Polynomial>(
        spec::spmd::global_shape(layout), [&](const spec::Sizes&) { return variables.fresh(); });
  }
  spec::Sizes shape;
  for (const std::size_t v : drawn.out) shape.push_back(drawn.extents[v]);
  auto wanted = spec::spmd::zeros(shape);
  spec::for_each_index(drawn.extents, [&](const spec::Sizes& point) {
    const auto read = [&](const char* name, std::size_t r) {
      const auto& x = arrays.at(name);
      return x.elements[spec::position(x.shape, spec::thesis::index_at(drawn.reads[r], point))];
    };
    spec::Sizes at;
    for (const std::size_t v : drawn.out) at.push_back(point[v]);
    const Polynomial a = read("a", 0), b = read("b", 1);
    Polynomial& there = wanted.elements[spec::position(shape, at)];
    there += drawn.sums ? a * b : a + b;
    if (drawn.reads.size() > 2) there += read("b", 2);
  });
  EXPECT_EQ(spec::spmd::values_of(*parsed.denotes, arrays, variables)[0], wanted) << module;
}

/// What is read twice is defined once, so that what is denoted does not double with each statement.
TEST(Partition, what_is_read_several_times_is_denoted_once) {
  std::string doubling = "array x0[4]\n";
  for (int k = 1; k < 40; ++k) {
    const std::string x = "x" + std::to_string(k - 1) + "[i]";
    doubling += "x" + std::to_string(k) + "[i] = " + x + " - relu(" + x + ")\n";
  }
  const std::string module = right(doubling + "schedule x1 i:2\nreturn x39\n");
  EXPECT_LT(module.size(), 10'000U);
  expect_line(module, "denotes {");
  expect_line(module, "x39 = sub x38 (relu x38)");
}

TEST(Partition, random_statements_are_denoted) {
  Random random(3);
  std::size_t with_halo = 0, listed = 0, partial = 0;
  for (int round = 0; round < statements_drawn; ++round) {
    const Drawn statement = drawn(random);
    SCOPED_TRACE(statement.lines);
    spec::spmd::Polynomial::terms_left = spec::spmd::most_terms;
    const std::string module = right(statement.lines);
    if (module.empty() || judged(module) != "right") continue;
    expect_denoted(statement, module);
    with_halo += module.find('<') != std::string::npos ? 1U : 0U;
    listed += module.find("tile=") != std::string::npos ? 1U : 0U;
    partial += module.find("sum{") != std::string::npos ? 1U : 0U;
  }
  std::cout << with_halo << " with halos, " << listed << " with listed boxes, " << partial
            << " partial\n";
  EXPECT_GT(with_halo, 10U);
  EXPECT_GT(listed, 10U);
  EXPECT_GT(partial, 10U);
}

}  // namespace
}  // namespace retile::array::partition_test
