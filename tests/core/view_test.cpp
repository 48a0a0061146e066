// Views of an array in which what is dealt out is cut evenly, held against the elements of every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/layout.h"

namespace retile::view_test {
namespace {

/// The numbers of the elements of a device, in the order in which they stand in its tile.
std::vector<Size> elements_of(const Layout& layout, Size device) {
  std::vector<Size> out = {0};
  const auto stretches = layout.stretches(device);
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    std::vector<Size> longer;
    for (const Size before : out) {
      for (const Stretch& one : stretches[i]) {
        for (Size at = one.begin; at < one.end; ++at)
          longer.push_back(before * layout.global()[i] + at);
      }
    }
    out = std::move(longer);
  }
  return out;
}

/// The digits of a number below `count` in the device number: the lowest ones, or its factors the other way
/// round.
std::vector<std::vector<Digit>> spellings(Size devices, Size count) {
  if (count == 1) return {{}};
  std::vector<std::vector<Digit>> out = {{{1, count}}};
  if (devices > count) out.push_back({{devices / count, count}});
  for (Size first = 2; first < count; ++first) {
    if (count % first == 0) out.push_back({{count / first, first}, {1, count / first}});
  }
  return out;
}

/// Whether each of the numbers divides the next, and the last the array.
bool is_chain(std::vector<Size> numbers, Size global) {
  std::sort(numbers.begin(), numbers.end());
  numbers.push_back(global);
  for (std::size_t k = 1; k < numbers.size(); ++k) {
    if (numbers[k] % numbers[k - 1] != 0) return false;
  }
  return true;
}

/// An end of one dimension: blocks that are dealt out to so many tiles.
struct Dealt {
  Size block;
  Size count;
  [[nodiscard]] Layout layout(Size devices, Size global, std::vector<Digit> digits) const {
    return Layout::numbered(devices, {Cuts::dealt(count, {{global, block}})}, {std::move(digits)})
        .value();
  }
};

TEST(View, both_ends_are_even_in_it_and_hold_the_same_elements_in_the_same_order) {
  std::size_t views = 0;
  std::size_t without = 0;
  for (const Size devices : {1, 2, 3, 4, 6, 8, 12}) {
    for (Size global = 1; global <= 36; ++global) {
      std::vector<Dealt> ends;
      for (Size count = 1; count <= devices; ++count) {
        for (Size block = 1; block <= global && devices % count == 0; ++block) {
          // Of longer arrays only those in whole rounds.
          if (global < 12 || global % (block * count) == 0) ends.push_back({block, count});
        }
      }
      for (const Dealt& one : ends) {
        for (const Dealt& other : ends) {
          const auto digits = spellings(devices, one.count);
          const Layout from =
              one.layout(devices, global, digits[(views + without) % digits.size()]);
          const Layout to = other.layout(devices, global, spellings(devices, other.count).back());
          const auto shape = common_view(from, to);
          const bool deals = !from.in_boxes() || !to.in_boxes();
          if (!deals) {
            EXPECT_EQ(shape, Shape{global});
            continue;
          }
          std::vector<Size> numbers = {1};
          for (const Dealt* end : {&one, &other}) {
            numbers.push_back(end->count == 1 ? global : end->block);
            numbers.push_back(end->count == 1 ? global : end->block * end->count);
          }
          ASSERT_EQ(shape.has_value(), is_chain(numbers, global))
              << global << ": " << one.block << " to " << one.count << ", " << other.block << " to "
              << other.count;
          ++(shape ? views : without);
          for (const Layout* end : {&from, &to}) {
            if (!shape) continue;
            const auto view = end->viewed(*shape);
            ASSERT_TRUE(view && view->is_even() && view->global() == *shape);
            for (Size d = 0; d < devices; ++d)
              EXPECT_EQ(elements_of(*view, d), elements_of(*end, d));
          }
        }
      }
    }
  }
  EXPECT_GT(views, 2'000U);
  EXPECT_GT(without, 10'000U);
}

TEST(View, dimensions_have_views_of_their_own_and_what_is_not_dealt_out_stays_as_it_is) {
  const Cuts ragged = Cuts::blocks(2, 2, 3);
  const auto from = Layout::numbered(8, {Cuts::dealt(2, {{8, 2}}), ragged, Cuts::even(12, 1)},
                                     {{{1, 2}}, {{2, 2}}, {}}, {{}, {1, 0}, {}});
  const auto to = Layout::numbered(8, {Cuts::even(4, 2), ragged, Cuts::dealt(2, {{12, 3}})},
                                   {{{2, 2}}, {{1, 2}}, {{4, 2}}}, {{}, {}, {}});
  ASSERT_TRUE(from && to);
  const Shape shape = {2, 2, 2, 3, 2, 2, 3};
  EXPECT_EQ(common_view(*from, *to), shape);
  for (const Layout* end : {&*from, &*to}) {
    const auto view = end->viewed(shape);
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->cuts()[3], ragged);
    EXPECT_EQ(view->halos().empty(), end->halos().empty());
    for (Size d = 0; d < 8; ++d) EXPECT_EQ(elements_of(*view, d), elements_of(*end, d)) << d;
  }
}

TEST(View, equal_sections_are_rounds_and_addends_stay) {
  // Two sections of 4, each cut into 2 and 2.
  const auto sections = Layout::numbered(4, {Cuts::dealt(2, {{4, 2}, {8, 2}})}, {{{1, 2}}})
                            .value()
                            .with_addends(Addition::sum, {{2, 2}});
  ASSERT_TRUE(sections.has_value());
  const auto view = sections->viewed({2, 2, 2});
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->tile(), (Shape{2, 1, 2}));
  EXPECT_EQ(view->addends(), sections->addends());
  // The array is whole rounds, but a section is not.
  const auto half = Layout::numbered(2, {Cuts::dealt(2, {{6, 2}, {16, 2}})}, {{{1, 2}}});
  EXPECT_FALSE(common_view(*half, *half));
  // Whole rounds, but not of one length.
  const auto unequal = Layout::numbered(2, {Cuts::dealt(2, {{2, 1}, {6, 2}})}, {{{1, 2}}});
  EXPECT_FALSE(common_view(*unequal, *unequal));
}

TEST(View, what_is_no_view_is_refused) {
  const Layout dealt = Dealt{2, 2}.layout(2, 8, {{1, 2}});
  for (const Shape& shape : {Shape{}, Shape{8}, Shape{2, 2}, Shape{2, 2, 2, 2}, Shape{2, 2, 3},
                             Shape{4, 2}, Shape{2, 4}, Shape{0, 2, 2}, Shape{2, 2, -2}}) {
    const auto view = dealt.viewed(shape);
    EXPECT_EQ(view.has_value(), shape == Shape{8});
    if (!view) {
      EXPECT_EQ(view.error().rule, "WF-VIEW");
    }
  }
  EXPECT_TRUE(dealt.viewed({2, 1, 2, 2}));  // an extent of 1 cuts nothing
  const auto listed = Layout::listed(2, {8}, {4}, {0, 4});
  EXPECT_FALSE(listed->viewed({8}));
  EXPECT_FALSE(common_view(*listed, dealt));
  EXPECT_FALSE(common_view(dealt, *listed));
  const auto with_halo = Layout::numbered(2, {Cuts::even(4, 2)}, {{{1, 2}}}, {{1, 0}});
  EXPECT_FALSE(with_halo->viewed({2, 4}));
  EXPECT_TRUE(with_halo->viewed({8}));
}

}  // namespace
}  // namespace retile::view_test
