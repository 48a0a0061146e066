// Tile maps: what pop and push do, held against the definition t := t div n, t := t*n + e on every
// device.
#include "retile/core/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "retile/notation/paper/notation.h"

namespace retile::layout_test {
namespace {

Layout map_of(const char* mesh_text, const char* type_text) {
  const Mesh mesh = parse_mesh(mesh_text).value();
  return layout_of(mesh, parse_type(type_text, mesh).value());
}

/// t_i per device and dimension.
std::vector<Size> tiles_of(const Layout& map) {
  std::vector<Size> out = map.base_offsets();
  for (std::size_t k = 0; k < out.size(); ++k) out[k] /= map.tile()[k % map.rank()];
  return out;
}

TEST(Layout, base_offsets_of_the_running_example) {
  const Layout map = map_of("x:4,y:6", "[3{x}12, 2{y}12]");
  const auto at = map.base_offsets();
  for (Size d = 0; d < 24; ++d) {
    EXPECT_EQ(at[static_cast<std::size_t>(2 * d)], 3 * (d / 6));
    EXPECT_EQ(at[static_cast<std::size_t>(2 * d + 1)], 2 * (d % 6));
    EXPECT_EQ(map.base_offset(d), (Shape{3 * (d / 6), 2 * (d % 6)}));
  }
}

TEST(Layout, pop_within_digits_stays_compact) {
  Layout map = map_of("x:4,y:6", "[3{x}12, 2{y}12]");
  EXPECT_EQ(map.pop(1, 3), (std::vector<Digit>{{1, 3}}));
  EXPECT_TRUE(map.is_compact());
  EXPECT_EQ(map.digits()[1], (std::vector<Digit>{{3, 2}}));
  EXPECT_EQ(map.tile(), (Shape{3, 6}));
  map.push(0, {{1, 3}});
  EXPECT_EQ(map.digits()[0], (std::vector<Digit>{{1, 3}, {6, 4}}));
  EXPECT_EQ(map.tile(), (Shape{1, 6}));
}

TEST(Layout, pop_across_digits_orders_the_positions) {
  Layout map = map_of("a:2,b:3,c:5", "[1{a,b}6, 3{c}15]");
  const auto before = tiles_of(map);
  EXPECT_EQ(map.pop(0, 3), (std::vector<Digit>{{1, 3}}));
  EXPECT_FALSE(map.is_compact());
  const auto after = tiles_of(map);
  for (std::size_t d = 0; d < 30; ++d) {
    EXPECT_EQ(after[2 * d], before[2 * d] / 3);
    EXPECT_EQ(after[2 * d + 1], before[2 * d + 1]);
  }
  EXPECT_EQ(map.pop(0, 2).size(), 1U);
  EXPECT_TRUE(map.compacted().is_compact());  // only c is left, which digits of d can say
  EXPECT_TRUE(map.compacted().equivalent(map));
}

TEST(Layout, equal_functions_are_equivalent_in_any_form) {
  const Layout compact = map_of("x:2,y:2", "[1{x}2, 1{y}2]");
  const Layout listed = Layout::listed(4, {2, 2}, {1, 1}, {0, 0, 0, 1, 1, 0, 1, 1}).value();
  const Layout other = Layout::listed(4, {2, 2}, {1, 1}, {0, 0, 1, 0, 0, 1, 1, 1}).value();
  EXPECT_TRUE(compact.equivalent(listed));
  EXPECT_TRUE(listed.equivalent(compact));
  EXPECT_FALSE(compact.equivalent(other));
  EXPECT_FALSE(compact.equivalent(map_of("x:2,y:2", "[1{y}2, 1{x}2]")));
  EXPECT_TRUE(map_of("x:2,y:3", "[1{y,x}6]").equivalent(map_of("z:6", "[1{z}6]")));
}

TEST(Layout, make_refuses_what_is_no_tiling) {
  EXPECT_TRUE(Layout::compact(8, {8}, {2}, {{{2, 4}}}));
  EXPECT_FALSE(Layout::compact(8, {8}, {2}, {{{2, 2}}}));  // 2 * 2 is not 8
  EXPECT_FALSE(Layout::compact(8, {8}, {2}, {{{4, 4}}}));  // reaches past the devices
  EXPECT_FALSE(Layout::compact(8, {4, 4}, {2, 2}, {{{1, 2}}, {{1, 2}}}));  // a digit twice
  EXPECT_TRUE(Layout::compact(8, {4, 4}, {2, 2}, {{{1, 2}}, {{2, 2}}}));
  EXPECT_FALSE(Layout::compact(12, {4, 3}, {2, 1}, {{{3, 2}}, {{4, 3}}}));  // 3*2 does not divide 4
  EXPECT_FALSE(Layout::compact(8, {0}, {0}, {{}}));
  EXPECT_FALSE(
      Layout::compact(8, {Size{1} << 40, Size{1} << 40}, {Size{1} << 40, Size{1} << 40}, {{}, {}}));
  EXPECT_FALSE(Layout::listed(2, {4}, {2}, {0, 3}));  // leaves the array
  EXPECT_TRUE(Layout::listed(2, {4}, {2}, {0, 1}));   // overlaps, which is allowed
  EXPECT_FALSE(Layout::listed(2, {4}, {2}, {0}));
  EXPECT_FALSE(Layout::listed(2, {4}, {5}, {0, 0}));
}

/// A balanced map with digits in random places, all of mesh 2,3,2,5.
Layout arbitrary_map(std::size_t rank) {
  const std::vector<Size> sizes{2, 3, 2, 5};
  std::vector<std::vector<Digit>> digits(rank);
  Shape tile(rank);
  for (Size& extent : tile) extent = *rc::gen::elementOf(std::vector<Size>{1, 2, 6, 30, 60});
  Size stride = 1;
  for (const Size size : sizes) {
    const auto dim = *rc::gen::inRange<std::size_t>(0, rank + 1);
    if (dim < rank) {
      auto& list = digits[dim];
      list.insert(*rc::gen::arbitrary<bool>() ? list.begin() : list.end(), Digit{stride, size});
    }
    stride *= size;
  }
  Shape global = tile;
  for (std::size_t i = 0; i < rank; ++i) {
    for (const Digit& digit : digits[i]) global[i] *= digit.size;
  }
  return Layout::compact(stride, global, tile, digits).value();
}

RC_GTEST_PROP(Layout, pop_and_push_follow_the_definition, ()) {
  const auto rank = *rc::gen::inRange<std::size_t>(1, 4);
  Layout map = arbitrary_map(rank);
  bool across = false;
  for (int step = *rc::gen::inRange(1, 6); step-- > 0;) {
    const auto i = *rc::gen::inRange<std::size_t>(0, rank);
    const Size count = map.global()[i] / map.tile()[i];
    std::vector<Size> divisors;
    for (Size n = 1; n <= count; ++n) {
      if (count % n == 0) divisors.push_back(n);
    }
    const Size n = *rc::gen::elementOf(divisors);
    const auto j = *rc::gen::inRange<std::size_t>(0, rank);
    const auto before = tiles_of(map);
    const auto popped = map.pop(i, n);
    const bool back = map.tile()[j] % n == 0;
    if (back) map.push(j, popped);
    across = across || !map.is_compact();
    const auto after = tiles_of(map);
    for (std::size_t d = 0; d < static_cast<std::size_t>(map.devices()); ++d) {
      auto want = std::vector<Size>(before.begin() + static_cast<std::ptrdiff_t>(d * rank),
                                    before.begin() + static_cast<std::ptrdiff_t>((d + 1) * rank));
      const Size digit = want[i] % n;
      want[i] /= n;
      if (back) want[j] = want[j] * n + digit;
      for (std::size_t k = 0; k < rank; ++k) RC_ASSERT(after[d * rank + k] == want[k]);
    }
    RC_ASSERT(map.compacted().base_offsets() == map.base_offsets());
  }
  RC_CLASSIFY(across, "a factor was popped across digits");
}

/// A chain of one or two random transpositions.
IotaChain arbitrary_names(Size devices) {
  IotaChain chain(devices);
  for (int stages = *rc::gen::inRange(1, 3); stages-- > 0;) {
    std::vector<Size> divisors;
    for (Size n = 1; n <= devices; ++n) {
      if (devices % n == 0) divisors.push_back(n);
    }
    const Size rows = *rc::gen::elementOf(divisors);
    chain.append({{rows, devices / rows}, {1, 0}});
  }
  return chain;
}

RC_GTEST_PROP(Layout, renamed_devices_hold_what_they_held, ()) {
  const Layout map = arbitrary_map(*rc::gen::inRange<std::size_t>(1, 4));
  const IotaChain names = arbitrary_names(map.devices());
  const Layout listed =
      Layout::listed(map.devices(), map.global(), map.tile(), map.base_offsets()).value();
  const Layout renamed = map.renamed(names);
  const Layout renamed_list = listed.renamed(names);
  for (Size p = 0; p < map.devices(); ++p) {
    RC_ASSERT(renamed.base_offset(p) == map.base_offset(names.at(p)));
    RC_ASSERT(renamed_list.base_offset(p) == map.base_offset(names.at(p)));
  }
  RC_ASSERT(renamed.renamed(names.inverse()).equivalent(map));
  RC_CLASSIFY(!renamed.is_compact(), "no digits of the new numbers");
}

TEST(Layout, renamed_by_its_own_order_is_compact) {
  Layout map = Layout::compact(12, {12}, {1}, {{{4, 3}, {1, 4}}}).value();
  map.pop(0, 2);  // across the digits
  ASSERT_FALSE(map.is_compact());
  EXPECT_TRUE(map.renamed(map.order()).is_compact());
}

TEST(Layout, pull_takes_parts_of_digits_out_of_the_middle) {
  Layout map = Layout::compact(64, {32, 2}, {1, 1}, {{{16, 4}, {1, 8}}, {{8, 2}}}).value();
  map.pull(0, {{2, 2}});
  EXPECT_EQ(map.tile(), (Shape{2, 1}));
  EXPECT_EQ(map.digits()[0], (std::vector<Digit>{{16, 4}, {1, 2}, {4, 2}}));
  map.pull(0, {{32, 2}, {4, 2}});
  EXPECT_EQ(map.tile(), (Shape{8, 1}));
  EXPECT_EQ(map.digits()[0], (std::vector<Digit>{{16, 2}, {1, 2}}));
}

TEST(Layout, pull_reaches_over_several_digits) {
  Layout map = Layout::compact(16, {16}, {1}, {{{4, 4}, {1, 4}}}).value();
  map.pull(0, {{2, 4}});
  EXPECT_EQ(map.digits()[0], (std::vector<Digit>{{8, 2}, {1, 2}}));
}

TEST(Layout, stacked_addends_are_the_last_dimension) {
  const Layout whole = Layout::compact(12, {6}, {3}, {{{6, 2}}}).value();
  const Layout sums = whole.with_addends(Addition::sum, {{1, 2}}).value();
  const Layout stacked = sums.stacked(4).value();
  EXPECT_EQ(stacked.global(), (Shape{6, 4}));
  EXPECT_EQ(stacked.tile(), (Shape{3, 2}));
  EXPECT_EQ(stacked.digits()[1], (std::vector<Digit>{{1, 2}}));
  EXPECT_FALSE(stacked.addends());
  EXPECT_EQ(stacked.unstacked(Addition::sum), sums);
  EXPECT_EQ(whole.stacked(2).value().unstacked(Addition::sum), whole);
  const Layout most = Layout::compact(2, {Size{1} << 62}, {Size{1} << 62}, {{}}).value();
  EXPECT_EQ(most.stacked(2).error().code, Code::size_overflow);
}

RC_GTEST_PROP(Layout, used_and_unused_digits_make_up_the_device_number, ()) {
  const Layout map = arbitrary_map(*rc::gen::inRange<std::size_t>(0, 4));
  Size product = 1;
  for (const Digit& digit : map.unused()) product *= digit.size;
  for (const auto& list : map.digits()) {
    for (const Digit& digit : list) product *= digit.size;
  }
  RC_ASSERT(product == map.devices());
}

}  // namespace
}  // namespace retile::layout_test
