// Maxima as variables: which are the same, and that those that are not always equal never are.
#include "retile/spmd/maxima.h"

#include <gtest/gtest.h>

#include "retile/spmd/primes.h"
#include "retile/spmd/tensor.h"

namespace retile::spmd::maxima_test {
namespace {

class MaximaTest : public testing::Test {
 protected:
  using Value = Twofold::Value;

  [[nodiscard]] Value max(std::vector<Value> all) { return maxima.of(all); }
  [[nodiscard]] Value relu(Value p) { return max({p, c(0)}); }
  [[nodiscard]] Value add(Value p, Value q) const { return field.add(p, q); }
  [[nodiscard]] Value sub(Value p, Value q) const { return field.sub(p, q); }
  [[nodiscard]] Value neg(Value p) const { return field.sub(c(0), p); }
  [[nodiscard]] Value times(Size k, Value p) const { return field.mul(c(k), p); }
  [[nodiscard]] Value c(Size number) const { return field.from(number); }

  std::mt19937_64 random{7};
  Twofold field{Modular(drawn_prime(random)), Modular(drawn_prime(random))};
  Maxima maxima{field, {{2, 3}, {Size{1} << 61, -(Size{1} << 62)}}, random};
  Value x = field.drawn(random);
  Value y = field.drawn(random);
  Value z = field.drawn(random);
};

TEST_F(MaximaTest, of_the_same_arguments_are_the_same) {
  EXPECT_EQ(max({x}), x);
  EXPECT_EQ(max({x, x, x}), x);
  EXPECT_EQ(max({x, y}), max({y, x}));
  EXPECT_EQ(max({x, y, z}), max({z, x, y, z}));
  EXPECT_EQ(max({max({x, y}), z}), max({x, max({z, y})}));
  EXPECT_EQ(max({max({x, y}), max({y, z})}), max({x, y, z}));
  EXPECT_EQ(max({max({x, y}), x}), max({x, y}));
  EXPECT_EQ(relu(relu(x)), relu(x));
}

TEST_F(MaximaTest, end_in_time) {
  Maxima late(field, {{2}, {}}, random, Deadline::in(0));
  const auto all = [&] {
    for (int k = 0; k < 100000; ++k)
      static_cast<void>(late.of(std::vector<Value>{field.drawn(random), x}));
  };
  EXPECT_THROW(all(), Undecided);
}

TEST_F(MaximaTest, an_argument_that_comes_often_is_opened_once) {
  // Else 2^16 times as many numbers as it has arguments would be looked at: 2^32.
  std::vector<Value> many(std::size_t{1} << 16);
  for (Value& one : many) one = field.drawn(random);
  const Value most = max(many);
  Maxima& here = maxima;
  std::vector<Value> often(std::size_t{1} << 16, most);
  often.push_back(x);
  many.push_back(x);
  EXPECT_EQ(here.of(often), max(many));
}

TEST_F(MaximaTest, of_constants_the_largest_counts) {
  EXPECT_EQ(max({c(1), c(2)}), c(2));
  EXPECT_EQ(max({c(2), c(-3)}), c(2));
  EXPECT_EQ(max({c(-5), c(-3)}), c(-3));
  EXPECT_EQ(max({x, c(1), c(2)}), max({c(2), x}));
  EXPECT_EQ(max({max({x, c(1)}), y, c(2)}), max({x, y, c(2)}));
  EXPECT_NE(max({x, c(1)}), max({x, c(2)}));
  EXPECT_EQ(max({add(x, c(1)), add(x, c(3))}), add(x, c(3)));
  EXPECT_EQ(max({c(Size{1} << 61), c(5)}), c(Size{1} << 61));
  EXPECT_EQ(max({c(-(Size{1} << 62)), c(5)}), c(5));
}

TEST_F(MaximaTest, of_two_move_and_scale_with_them) {
  EXPECT_EQ(max({add(x, z), add(y, z)}), add(max({x, y}), z));
  EXPECT_EQ(relu(x), add(x, relu(neg(x))));
  EXPECT_EQ(add(max({x, y}), neg(max({neg(x), neg(y)}))), add(x, y));
  EXPECT_EQ(relu(times(2, x)), times(2, relu(x)));
  EXPECT_EQ(relu(times(3, y)), times(3, relu(y)));
  EXPECT_EQ(relu(times(-3, y)), times(3, relu(neg(y))));
}

/// The multiple comes first.
TEST_F(MaximaTest, of_two_scale_downwards) {
  const Value large = relu(times(3, x));
  EXPECT_EQ(times(3, relu(x)), large);
  EXPECT_EQ(times(3, relu(neg(x))), relu(times(-3, x)));
}

TEST_F(MaximaTest, of_several_scale_with_them) {
  EXPECT_EQ(max({times(2, x), times(2, y), times(2, z)}), times(2, max({x, y, z})));
  EXPECT_EQ(max({times(3, z), times(3, y), c(3)}), times(3, max({y, z, c(1)})));
  const Value large = max({times(3, x), times(3, y), c(6)});
  EXPECT_EQ(times(3, max({x, y, c(2)})), large);
}

TEST_F(MaximaTest, control_what_differs_for_some_numbers_differs) {
  EXPECT_NE(relu(x), x);
  EXPECT_NE(relu(x), c(0));
  EXPECT_NE(relu(x), relu(neg(x)));
  EXPECT_NE(relu(x), relu(y));
  EXPECT_NE(relu(times(2, x)), relu(x));
  EXPECT_NE(relu(times(-2, x)), times(-2, relu(x)));
  EXPECT_NE(relu(times(5, x)), relu(times(3, x)));
  EXPECT_NE(max({x, y}), max({x, z}));
  EXPECT_NE(max({x, y, z}), max({x, y}));
  EXPECT_NE(max({neg(x), neg(y), neg(z)}), neg(max({x, y, z})));
  EXPECT_NE(max({times(2, x), times(2, y), z}), times(2, max({x, y, z})));
  EXPECT_NE(max({times(2, max({x, y})), z}), max({x, y, z}));
  EXPECT_NE(max({neg(max({x, y})), z}), max({x, y, z}));
  EXPECT_NE(max({x, y}), neg(max({neg(x), neg(y)})));
  EXPECT_NE(field.mul(relu(x), relu(y)), relu(field.mul(x, y)));
}

TEST_F(MaximaTest, so_many_as_there_are_tables_grow) {
  std::vector<Value> inputs, found;
  for (int k = 0; k < 5'000; ++k) inputs.push_back(field.drawn(random));
  for (const Value p : inputs) found.push_back(relu(p));
  for (std::size_t k = 0; k < inputs.size(); ++k) ASSERT_EQ(relu(inputs[k]), found[k]);
  std::vector<Value> turned(inputs.rbegin(), inputs.rend());
  EXPECT_EQ(max(inputs), max(turned));
  turned.pop_back();
  EXPECT_NE(max(inputs), max(turned));
}

}  // namespace
}  // namespace retile::spmd::maxima_test
