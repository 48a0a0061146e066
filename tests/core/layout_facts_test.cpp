// What is asked of layouts whatever their forms, held against their boxes.
#include "retile/core/layout_facts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace retile::layout_facts_test {
namespace {

using Digits = std::vector<std::vector<Digit>>;

Layout numbered(Size devices, std::vector<Cuts> cuts, Digits digits, std::vector<Halo> halos = {}) {
  return Layout::numbered(devices, std::move(cuts), std::move(digits), std::move(halos)).value();
}

/// Layouts over four devices, in every form.
std::vector<Layout> layouts() {
  const Digits minor = {{{1, 2}}};
  const Digits all = {{{1, 4}}};
  IotaChain odd_first(4);
  odd_first.append({{2, 2}, {1, 0}});
  return {
      Layout::compact(4, {8}, {4}, minor).value(),
      Layout::compact(4, {8}, {2}, all).value(),
      Layout::compact(4, {8}, {2}, all).value().renamed(odd_first),
      Layout::compact(4, {8}, {8}, {{}}).value(),
      Layout::compact(4, {8}, {4}, minor).value().with_addends(Addition::sum, {{2, 2}}).value(),
      numbered(4, {Cuts::blocks(3, 4, 8)}, all),
      numbered(4, {Cuts::balanced(4, 7)}, all),
      numbered(4, {Cuts::listed({0, 3, 3, 5, 8})}, all),
      numbered(4, {Cuts::even(4, 2)}, minor, {{1, 0}}),
      numbered(4, {Cuts::dealt(2, {{8, 2}})}, minor),
      Layout::listed(4, {8}, {4}, {0, 2, 0, 4}).value(),
      Layout::listed_boxes(4, {8}, {0, 2, 0, 3}, {4, 0, 4, 3}).value(),
      Layout::rooted(4, {8}, 1),
  };
}

/// Two tiles over six devices, of which no digits of the device number say who has which.
Layout scattered() {
  IotaChain turned(6);
  turned.append({{2, 3}, {1, 0}});
  return Layout::compact(6, {6}, {3}, {{{1, 2}}}).value().renamed(turned);
}

bool is_empty(const Layout& layout, Size device) { return layout.tile_size(device) == 0; }

TEST(LayoutFacts, DevicesHaveOneNumberWhereTheyHaveOneTile) {
  for (const Layout& layout : layouts()) {
    const std::vector<std::size_t> number = tile_by_device(layout);
    ASSERT_EQ(number.size(), 4U);
    std::size_t next = 0;
    for (Size d = 0; d < 4; ++d) {
      const std::size_t own = number[static_cast<std::size_t>(d)];
      EXPECT_LE(own, next) << "numbers are counted as they come";
      if (own == next) ++next;
      for (Size other = 0; other < d; ++other) {
        // Tiles of cuts that hold nothing are told apart.
        if (is_empty(layout, d) && is_empty(layout, other)) continue;
        EXPECT_EQ(own == number[static_cast<std::size_t>(other)],
                  layout.parts(d) == layout.parts(other))
            << d << " and " << other;
      }
    }
  }
}

TEST(LayoutFacts, TilesOfArrayWithoutDimensionsAreOne) {
  EXPECT_EQ(tile_by_device(Layout::compact(3, {}, {}, {}).value()),
            (std::vector<std::size_t>{0, 0, 0}));
}

TEST(LayoutFacts, TilesThatOverlapAreForetold) {
  bool seen = false;
  for (const Layout& layout : layouts()) {
    if (!layout.in_boxes()) continue;
    for (Size d = 1; d < 4; ++d) {
      for (Size other = 0; other < d; ++other) {
        const Box a = layout.box(d);
        const Box b = layout.box(other);
        const bool meet = a.at[0] < b.at[0] + b.extent[0] && b.at[0] < a.at[0] + a.extent[0];
        if (!meet || a == b) continue;
        EXPECT_TRUE(may_overlap(layout));
        seen = true;
      }
    }
  }
  EXPECT_TRUE(seen);
  EXPECT_FALSE(may_overlap(layouts()[0]));
}

TEST(LayoutFacts, EmptyTilesBetweenOthersAreForetold) {
  EXPECT_TRUE(may_skip(Cuts::listed({0, 3, 3, 5, 8})));
  for (const Cuts& cuts : {Cuts::even(2, 4), Cuts::blocks(3, 4, 8), Cuts::blocks(2, 5, 3),
                           Cuts::balanced(4, 7), Cuts::balanced(5, 3)}) {
    EXPECT_FALSE(may_skip(cuts));
    for (Size t = 1; t < cuts.count(); ++t) {
      EXPECT_FALSE(cuts.width(t - 1) == 0 && cuts.width(t) > 0);
    }
  }
}

TEST(LayoutFacts, TilesAreMadeOfFinerOnes) {
  EXPECT_EQ(tiles_in_each(Cuts::even(4, 2), Cuts::even(1, 8)), 4);
  EXPECT_EQ(tiles_in_each(Cuts::even(8, 1), Cuts::even(2, 4)), 4);
  EXPECT_EQ(tiles_in_each(Cuts::even(2, 4), Cuts::even(2, 4)), 1);
  EXPECT_EQ(tiles_in_each(Cuts::even(2, 4), Cuts::even(4, 2)), std::nullopt);
  EXPECT_EQ(tiles_in_each(Cuts::even(3, 4), Cuts::even(2, 6)), std::nullopt);
  EXPECT_EQ(tiles_in_each(Cuts::blocks(4, 2, 7), Cuts::blocks(2, 4, 7)), std::nullopt);
  EXPECT_EQ(tiles_in_each(Cuts::even(4, 2), Cuts::listed({0, 1, 4, 7, 8})), std::nullopt);
}

TEST(LayoutFacts, WhoHoldsNoBoxOfTheArrayIsNamed) {
  const std::vector<Layout> all = layouts();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const char* const why = k == 4   ? "one of them is a sum"
                            : k == 9 ? "a device has several boxes of one"
                                     : nullptr;
    for (const auto& [from, to] : {std::pair(&all[k], &all[0]), std::pair(&all[0], &all[k])}) {
      const auto found = no_box_each(*from, *to);
      ASSERT_EQ(found.has_value(), why != nullptr);
      EXPECT_EQ(found.value_or(""), why == nullptr ? "" : why);
    }
  }
}

TEST(LayoutFacts, TypesOfThePaperAreTold) {
  const std::vector<Layout> all = layouts();
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(is_paper_type(all[k]), k < 5) << k;
  }
  EXPECT_FALSE(is_paper_type(scattered()));
}

TEST(LayoutFacts, DevicesAreRenamedSoThatDigitsSayBothEnds) {
  const Layout whole = Layout::compact(6, {6}, {6}, {{}}).value();
  ASSERT_FALSE(scattered().is_compact());
  // The order of either end will do, the other one's where its own does not.
  for (const auto& [from, to] : {std::pair(scattered(), whole), std::pair(whole, scattered())}) {
    const auto renamed = renamed_to_digits(from, to);
    ASSERT_TRUE(renamed.has_value());
    EXPECT_TRUE(renamed->from.is_compact() && renamed->to.is_compact());
    for (Size position = 0; position < 6; ++position) {
      const Size device = renamed->device_at.at(position);
      EXPECT_EQ(renamed->from.box(position), from.box(device));
      EXPECT_EQ(renamed->to.box(position), to.box(device));
    }
  }
  EXPECT_FALSE(renamed_to_digits(scattered(), Layout::rooted(6, {6}, 1)).has_value());
}

}  // namespace
}  // namespace retile::layout_facts_test
