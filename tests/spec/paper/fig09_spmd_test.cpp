#include "spec/paper/fig09_spmd.h"

#include <gtest/gtest.h>

#include "local_language.h"
#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::fig09_spmd_test {
namespace {

using Op9 = SpmdOp<Expression>;
using Main9 = Main<Expression>;

const Expression product_of_tiles = matmul(variable("a"), variable("b"));

/// Small numbers in an order that no exchange of rows, columns or tiles keeps.
Array numbers(const Sizes& shape, std::int64_t seed) {
  Array out = {shape, {}};
  for (Size k = 0; k < size_of(shape); ++k)
    out.elements.push_back((k * k + seed * k + k / 7) % 5 - 2);
  return out;
}

Main9 listing_1() {
  const Mesh H = mesh("devices:32");
  const Type y = type(H, "[8{devices}256, 10]");
  return {H,
          {{"x", type(H, "[8{devices}256, 1024]")}, {"p", type(H, "[1024, 10]")}},
          y,
          {{"y", Op9{{"x", "p"}, {"a", "b"}, product_of_tiles, y}}},
          "y"};
}
Main9 listing_2() {
  const Mesh H = mesh("xdev:4,ydev:8");
  const Type y = type(H, "[64{xdev}256, 128{ydev}1024]");
  return {H,
          {{"x", type(H, "[64{xdev}256, 1024]")}, {"p", type(H, "[1024, 128{ydev}1024]")}},
          y,
          {{"y", Op9{{"x", "p"}, {"a", "b"}, product_of_tiles, y}}},
          "y"};
}
Main9 listing_3() {
  const Mesh H = mesh("devs:32");
  const Type w = type(H, "[1{devs}32, 256]");
  return {H,
          {{"x", type(H, "[32, 1024]")},
           {"w1", type(H, "[1024, 64{devs}2048]")},
           {"w2", type(H, "[2048, 256]")}},
          w,
          {{"y", Op9{{"x", "w1"}, {"a", "b"}, product_of_tiles, type(H, "[32, 64{devs}2048]")}},
           {"z", Redistribute{"y", type(H, "[1{devs}32, 2048]")}},
           {"w", Op9{{"z", "w2"}, {"a", "b"}, product_of_tiles, w}}},
          "w"};
}

TEST(Fig09, listings_are_well_typed) {
  for (const Main9& main : {listing_1(), listing_2(), listing_3()}) {
    EXPECT_TRUE(is_well_typed(local_language(), main)) << shown(main.result);
  }
}

/// Real meshes and shapes, every element of the result.
TEST(Fig09, listings_denote_products_of_whole_matrices) {
  for (const Main9& main : {listing_1(), listing_2(), listing_3()}) {
    std::vector<Array> v;
    for (const auto& [x, tau] : main.parameters) {
      v.push_back(numbers(globaltype(tau), static_cast<std::int64_t>(v.size()) + 1));
    }
    Array product = v[0];
    for (Index j = 1; j < v.size(); ++j) product = matrix_product(product, v[j]);
    const auto value = evaluate(local_language(), main, v);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->v, product);
    EXPECT_EQ(value->beta, base_offset_map(main.H, main.result));
  }
}

/// Without the redistribution of Listing 3 the second product has no type.
TEST(Fig09, listing_3_needs_its_redistribution) {
  Main9 main = listing_3();
  main.body[2].op = Op9{{"y", "w2"}, {"a", "b"}, product_of_tiles, main.result};
  EXPECT_FALSE(is_well_typed(local_language(), main));
  main = listing_3();
  main.body[1].op = Redistribute{"y", type(main.H, "[1{devs}32, 1024]")};  // Sec. 2.5
  EXPECT_FALSE(is_well_typed(local_language(), main));
}

TEST(T_SPMD, p1_arguments_are_declared) {
  Main9 main = listing_1();
  std::get<Op9>(main.body[0].op).x[1] = "q";
  EXPECT_FALSE(is_well_typed(local_language(), main));
}
TEST(T_SPMD, p3_the_expression_has_a_type) {
  Main9 main = listing_1();
  std::get<Op9>(main.body[0].op).e = matmul(variable("b"), variable("a"));
  EXPECT_FALSE(is_well_typed(local_language(), main));
  std::get<Op9>(main.body[0].op).e = add(variable("a"), variable("b"));
  EXPECT_FALSE(is_well_typed(local_language(), main));
}
TEST(T_SPMD, p4_the_type_has_the_localtype_of_the_expression) {
  for (const char* wrong : {"[8{devices}256, 20]", "[256, 10]", "[16{devices}512, 10]"}) {
    Main9 main = listing_1();
    main.result = std::get<Op9>(main.body[0].op).tau = type(main.H, wrong);
    EXPECT_FALSE(is_well_typed(local_language(), main)) << wrong;
  }
}
TEST(T_SPMD, p5_the_type_is_well_formed) {
  Main9 main = listing_1();
  main.result = std::get<Op9>(main.body[0].op).tau = type(main.H, "[8{devices}8, 10]");
  EXPECT_FALSE(is_well_typed(local_language(), main));
}

/// E25: as printed, every x_i has the type τ of the result. Then no listing has a type.
TEST(T_SPMD, E25_the_printed_premise_rejects_the_listings) {
  for (const Main9& main : {listing_1(), listing_2(), listing_3()}) {
    const auto& op = std::get<Op9>(main.body[0].op);
    bool printed = true;
    Gamma gamma;
    for (const auto& [x, tau] : main.parameters) gamma[x] = tau;
    for (const Name& x : op.x) printed = printed && gamma.at(x) == op.tau;  // x̄ : τ ∈ Γ
    EXPECT_FALSE(printed);
    EXPECT_EQ(t_spmd(local_language(), main.H, gamma, op), op.tau);
  }
}

/// Footnote 2, on a small version of Listing 2: T-SPMD allows every type with the right localtype;
/// each is another array, or none because devices disagree, and only one is the product.
TEST(D_SPMD, other_types_denote_other_arrays_or_nothing) {
  const Mesh H = mesh("xdev:2,ydev:3");
  const Array x = numbers({4, 4}, 1), p = numbers({4, 9}, 2), product = matrix_product(x, p);
  const Type tau_x = type(H, "[2{xdev}4, 4]"), tau_p = type(H, "[4, 3{ydev}9]");
  const Gamma gamma = {{"x", tau_x}, {"p", tau_p}};
  const Delta delta = {{"x", {x, *base_offset_map(H, tau_x)}},
                       {"p", {p, *base_offset_map(H, tau_p)}}};
  std::size_t types = 0, without_value = 0, products = 0;
  for (const Size s_0 : {2, 4, 6, 12}) {
    for (const Size s_1 : {3, 6, 9, 18}) {
      for (const Type& tau : all_types(H, {s_0, s_1})) {
        const Op9 op = {{"x", "p"}, {"a", "b"}, product_of_tiles, tau};
        if (localtype(tau) != Sizes{2, 3}) {
          EXPECT_FALSE(t_spmd(local_language(), H, gamma, op)) << to_text(tau);
          continue;
        }
        EXPECT_TRUE(t_spmd(local_language(), H, gamma, op)) << to_text(tau);
        const auto value = d_spmd(local_language(), H, delta, op);
        ++types;
        // All six tiles differ, so a type with replicas, where devices must agree, has no value.
        EXPECT_EQ(value.has_value(), axes(tau).size() == 2) << to_text(tau);
        without_value += value ? 0U : 1U;
        const bool is_product = value && value->v == product;
        EXPECT_EQ(is_product, to_text(tau) == "[2{xdev}4, 3{ydev}9]") << to_text(tau);
        products += is_product ? 1U : 0U;
      }
    }
  }
  std::cout << types << " types, " << without_value << " without a value\n";
  EXPECT_EQ(types, 11U);
  EXPECT_EQ(without_value, 5U);
  EXPECT_EQ(products, 1U);
}

/// Where devices agree, a replicated result has a value.
TEST(D_SPMD, replicas_that_agree_have_a_value) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[2{x}4]");
  const Array v = numbers({4}, 3);
  const Op9 op = {
      {"v", "v"}, {"a", "b"}, add(variable("a"), multiply(variable("a"), variable("b"))), tau};
  const auto value = d_spmd(local_language(), H, {{"v", {v, *base_offset_map(H, tau)}}}, op);
  ASSERT_TRUE(value);
  for (Index k = 0; k < 4; ++k) {
    EXPECT_EQ(value->v.elements[k], v.elements[k] + v.elements[k] * v.elements[k]);
  }
}

TEST(Fig09, tiles_are_cut_in_c_order) {
  const Array v = {{2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(tile(v, {0, 2}, {2, 2}), (Array{{2, 2}, {2, 3, 6, 7}}));
  EXPECT_EQ(tile(v, {1, 0}, {1, 4}), (Array{{1, 4}, {4, 5, 6, 7}}));
  EXPECT_EQ(tile(v, {1, 0}, {2, 4}), std::nullopt);
  EXPECT_EQ(tile(v, {0}, {2}), std::nullopt);
  EXPECT_EQ(tile({{}, {5}}, {}, {}), (Array{{}, {5}}));
}

}  // namespace
}  // namespace spec::fig09_spmd_test
