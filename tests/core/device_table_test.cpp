// Iota chains against a brute-force reading of HLO's definition, and the laws that lowering relies
// on.
#include "retile/core/device_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace retile::device_table_test {
namespace {

/// reshape(shape), transpose, flatten, written with index arithmetic only.
std::vector<Size> stage_by_definition(const std::vector<Size>& in, const IotaStage& stage) {
  const std::size_t rank = stage.shape.size();
  std::vector<Size> out(in.size());
  for (std::size_t p = 0; p < in.size(); ++p) {
    // Input index of position p, then where the transposed array has it.
    std::vector<std::size_t> index(rank);
    std::size_t rest = p;
    for (std::size_t k = rank; k-- > 0;) {
      index[k] = rest % static_cast<std::size_t>(stage.shape[k]);
      rest /= static_cast<std::size_t>(stage.shape[k]);
    }
    std::size_t q = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      const std::size_t old = stage.transpose.empty() ? k : stage.transpose[k];
      q = q * static_cast<std::size_t>(stage.shape[old]) + index[old];
    }
    out[q] = in[p];
  }
  return out;
}

std::vector<Size> list_by_definition(const IotaChain& chain) {
  std::vector<Size> numbers(static_cast<std::size_t>(chain.size()));
  std::iota(numbers.begin(), numbers.end(), Size{0});
  for (const IotaStage& stage : chain.stages()) numbers = stage_by_definition(numbers, stage);
  return numbers;
}

IotaStage arbitrary_stage(Size size) {
  IotaStage stage;
  while (size > 1) {
    std::vector<Size> divisors;
    for (Size d = 1; d <= size; ++d) {
      if (size % d == 0) divisors.push_back(d);
    }
    const Size extent = *rc::gen::elementOf(divisors);
    stage.shape.push_back(extent);
    size /= extent;
    if (stage.shape.size() == 6) stage.shape.back() *= std::exchange(size, 1);
  }
  if (*rc::gen::arbitrary<bool>()) {
    std::vector<std::size_t> order(stage.shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t k = order.size(); k-- > 1;)
      std::swap(order[k], order[*rc::gen::inRange<std::size_t>(0, k + 1)]);
    stage.transpose = order;
  }
  return stage;
}

IotaChain arbitrary_chain(Size size) {
  IotaChain chain(size);
  const int stages = *rc::gen::inRange(0, 4);
  for (int s = 0; s < stages; ++s) chain.append(arbitrary_stage(size));
  RC_CLASSIFY(stages > 1, "more than one stage");
  return chain;
}

Size arbitrary_size() { return *rc::gen::elementOf(std::vector<Size>{1, 2, 6, 8, 12, 24, 30, 36}); }

TEST(IotaChain, example_of_the_program_form) {
  IotaChain chain(30);
  chain.append({{2, 3, 5}, {2, 1, 0}});
  EXPECT_EQ(DeviceTable::iota(chain, 3).to_rows().front(), (std::vector<Size>{0, 15, 5}));
  chain.append({{5, 2, 3}, {0, 2, 1}});
  const auto rows = DeviceTable::iota(chain, 2).to_rows();
  EXPECT_EQ(rows[0], (std::vector<Size>{0, 20}));
  EXPECT_EQ(rows[1], (std::vector<Size>{15, 10}));
  EXPECT_EQ(rows[2], (std::vector<Size>{5, 25}));
}

TEST(IotaChain, stages_merge_where_their_shapes_nest) {
  IotaChain chain(24);
  chain.append({{2, 12}, {1, 0}});
  chain.append({{12, 2}, {1, 0}});
  EXPECT_TRUE(chain.simplified().stages().empty());
  IotaChain apart(30);
  apart.append({{2, 3, 5}, {2, 1, 0}});
  apart.append({{5, 2, 3}, {0, 2, 1}});
  EXPECT_EQ(apart.simplified().stages().size(), 2U);  // 3,2 and 2,3 have no common refinement
}

TEST(IotaChain, neighbours_join_and_ones_go) {
  IotaChain chain(24);
  chain.append({{1, 4, 2, 1, 3}, {4, 0, 1, 3, 2}});
  ASSERT_EQ(chain.simplified().stages().size(), 1U);
  EXPECT_EQ(chain.simplified().stages().front(), (IotaStage{{8, 3}, {1, 0}}));
}

RC_GTEST_PROP(IotaChain, list_and_at_follow_the_definition, ()) {
  const IotaChain chain = arbitrary_chain(arbitrary_size());
  const auto want = list_by_definition(chain);
  RC_ASSERT(chain.list() == want);
  for (Size p = 0; p < chain.size(); ++p)
    RC_ASSERT(chain.at(p) == want[static_cast<std::size_t>(p)]);
}

RC_GTEST_PROP(IotaChain, simplified_is_the_same_bijection, ()) {
  const IotaChain chain = arbitrary_chain(arbitrary_size());
  const IotaChain simple = chain.simplified();
  RC_ASSERT(simple.list() == list_by_definition(chain));
  RC_ASSERT(simple.stages().size() <= chain.stages().size());
  RC_ASSERT(simple.simplified() == simple);
}

/// Of all permutations of 8 numbers, chains of one stage list those of every factorization.
TEST(IotaChain, lists_of_one_stage_are_found_and_no_others) {
  std::set<std::vector<Size>> listed;
  for (const Shape& shape : {Shape{8}, Shape{2, 4}, Shape{4, 2}, Shape{2, 2, 2}}) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      listed.insert(stage_by_definition({0, 1, 2, 3, 4, 5, 6, 7}, {shape, order}));
    } while (std::next_permutation(order.begin(), order.end()));
  }
  std::vector<Size> numbers{0, 1, 2, 3, 4, 5, 6, 7};
  std::size_t found = 0;
  do {
    const auto chain = chain_of(numbers);
    ASSERT_EQ(chain.has_value(), listed.count(numbers) == 1) << testing::PrintToString(numbers);
    if (!chain) continue;
    ++found;
    EXPECT_EQ(list_by_definition(*chain), numbers);
    EXPECT_LE(chain->stages().size(), 1U);
  } while (std::next_permutation(numbers.begin(), numbers.end()));
  EXPECT_EQ(found, listed.size());
}

RC_GTEST_PROP(IotaChain, what_a_stage_lists_is_found_again, ()) {
  IotaChain chain(arbitrary_size());
  chain.append(arbitrary_stage(chain.size()));
  const auto found = chain_of(chain.list());
  RC_ASSERT(found.has_value());
  RC_ASSERT(*found == chain.simplified());
}

/// Of chains that do not commute, which random ones rarely are.
TEST(IotaChain, compose_is_the_outer_one_after_the_inner) {
  IotaChain turn(24);
  turn.append({{2, 3, 4}, {1, 2, 0}});
  IotaChain swap(24);
  swap.append({{2, 3, 4}, {0, 2, 1}});
  const IotaChain both = compose(turn, swap);
  ASSERT_NE(both.list(), compose(swap, turn).list());
  for (Size p = 0; p < 24; ++p) {
    EXPECT_EQ(both.at(p), turn.at(swap.at(p)));
    EXPECT_EQ(turn.inverse().at(turn.at(p)), p);
  }
}

RC_GTEST_PROP(IotaChain, inverse_and_compose, ()) {
  const Size size = arbitrary_size();
  const IotaChain a = arbitrary_chain(size);
  const IotaChain b = arbitrary_chain(size);
  const IotaChain both = compose(a, b);
  for (Size p = 0; p < size; ++p) {
    RC_ASSERT(a.inverse().at(a.at(p)) == p);
    RC_ASSERT(both.at(p) == a.at(b.at(p)));
  }
  RC_ASSERT(compose(a, a.inverse()).simplified().list() == IotaChain(size).list());
}

RC_GTEST_PROP(IotaChain, control_a_wrong_transpose_is_seen, ()) {
  IotaChain right(6);
  right.append({{2, 3}, {1, 0}});
  IotaChain wrong(6);
  wrong.append({{3, 2}, {1, 0}});
  RC_ASSERT(right.list() != wrong.list());
}

TEST(DeviceTable, rows_lists_and_iotas_read_alike) {
  const DeviceTable iota = DeviceTable::iota(IotaChain(6), 2);
  const DeviceTable rows = DeviceTable::rows({{0, 1}, {2, 3}, {4, 5}});
  EXPECT_EQ(iota.to_rows(), rows.to_rows());
  EXPECT_EQ(iota.entries(), rows.entries());
  EXPECT_EQ(iota.columns(), 2);
  EXPECT_EQ(rows.columns(), 2);
  EXPECT_EQ(rows.row_count(), 3);
  EXPECT_EQ(rows.at(3), iota.at(3));
  EXPECT_EQ(DeviceTable::list({2, 0, 1}).to_rows(), (std::vector<std::vector<Size>>{{2, 0, 1}}));
}

TEST(DeviceTable, ragged_and_empty_rows_are_kept) {
  const DeviceTable ragged = DeviceTable::rows({{0, 1}, {2}});
  EXPECT_TRUE(ragged.ragged());
  EXPECT_EQ(ragged.to_rows(), (std::vector<std::vector<Size>>{{0, 1}, {2}}));
  EXPECT_FALSE(DeviceTable::rows({{0, 1}, {2, 3}}).ragged());
  EXPECT_EQ(DeviceTable::rows({}).size(), 0);
  EXPECT_EQ(DeviceTable::rows({{}, {}}).row_count(), 2);
}

TEST(IotaChain, mistakes_of_our_own_end_the_process) {
  IotaChain chain(6);
  EXPECT_DEATH(chain.append({{2, 2}, {}}), "extents must multiply");
  EXPECT_DEATH(chain.append({{2, 3}, {0, 0}}), "permutation");
}

}  // namespace
}  // namespace retile::device_table_test
