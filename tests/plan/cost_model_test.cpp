// What a cost model promises the search, on every list of factors of a mesh. Each promise that only
// one model keeps is the other's control.
#include "retile/plan/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace retile::cost_model_test {
namespace {

constexpr Size devices = 360;
constexpr Prices paper(CostModel::paper, devices, 4);
constexpr Prices bytes(CostModel::bytes, devices, 4);

/// Every list of at least one factor > 1 whose product divides the number of devices.
void for_each_list(const std::function<void(const std::vector<Size>&)>& visit) {
  std::vector<Size> list;
  const auto extend = [&](const auto& self, Size left) -> void {
    if (!list.empty()) visit(list);
    for (Size n = 2; n <= left; ++n) {
      if (left % n != 0) continue;
      list.push_back(n);
      self(self, left / n);
      list.pop_back();
    }
  };
  extend(extend, devices);
}

Size product(const std::vector<Size>& factors) {
  Size out = 1;
  for (const Size n : factors) out *= n;
  return out;
}

Size alltoalls(const Prices& prices, const std::vector<Size>& factors) {
  Size cost = 0;
  for (const Size n : factors) cost += prices.alltoall(prices.unit(), n);
  return cost;
}

Size gathers(const Prices& prices, const std::vector<Size>& factors) {
  Size cost = 0;
  Size tile = prices.unit();
  for (const Size n : factors) {
    cost += prices.allgather(tile, n);
    tile *= n;
  }
  return cost;
}

TEST(CostModel, prices_are_those_of_fig_11_or_what_others_send) {
  EXPECT_EQ(paper.alltoall(Size{24}, 6), 24);
  EXPECT_EQ(paper.allgather(Size{24}, 6), 144);
  EXPECT_EQ(paper.allpermute(Size{24}), 24);
  EXPECT_EQ(paper.dynslice(Size{24}), 0);
  EXPECT_EQ(paper.element(), 1);
  EXPECT_EQ(bytes.alltoall(Size{24}, 6), 20);
  EXPECT_EQ(bytes.allgather(Size{24}, 6), 120);
  EXPECT_EQ(bytes.allpermute(Size{24}), 24);
  EXPECT_EQ(bytes.dynslice(Size{24}), 0);
  EXPECT_EQ(bytes.element(), 4);
}

TEST(CostModel, prices_grow_with_the_tile_so_that_one_holds_for_a_level) {
  for (const Prices& prices : {paper, bytes}) {
    for (Size n = 2; n <= devices; ++n) {
      if (devices % n != 0) continue;
      for (Size tile = devices; tile <= 5 * devices; tile += devices) {
        const Size parts = tile / prices.unit();
        EXPECT_EQ(prices.alltoall(tile, n), prices.alltoall(prices.unit(), n) * parts);
        EXPECT_EQ(prices.allgather(tile, n), prices.allgather(prices.unit(), n) * parts);
        EXPECT_EQ(prices.allpermute(tile), prices.allpermute(prices.unit()) * parts);
      }
    }
  }
}

TEST(CostModel, several_alltoalls_cost_no_less_than_one_of_their_product) {
  Size lists = 0;
  for_each_list([&](const std::vector<Size>& factors) {
    ++lists;
    for (const Prices& prices : {paper, bytes}) {
      EXPECT_GE(alltoalls(prices, factors), prices.alltoall(prices.unit(), product(factors)));
    }
  });
  EXPECT_GT(lists, 1000);
}

TEST(CostModel, gathers_serve_no_more_dimensions_than_it_says_without_paying_for_alltoalls) {
  const auto holds = [](const Prices& prices, const std::vector<Size>& factors, Size served) {
    const Size unpaid = static_cast<Size>(factors.size()) - served;
    const Size least = prices.allgather(prices.unit(), product(factors)) +
                       std::max(Size{0}, unpaid) * prices.alltoall(prices.unit(), 2);
    return gathers(prices, factors) >= least;
  };
  Size broken = 0;
  for_each_list([&](const std::vector<Size>& factors) {
    const auto rank = static_cast<Size>(factors.size());
    for (const Prices& prices : {paper, bytes}) {
      EXPECT_TRUE(holds(prices, factors, prices.dimensions_served_by_gathers(rank)));
    }
    broken += holds(bytes, factors, paper.dimensions_served_by_gathers(rank)) ? 0 : 1;
  });
  EXPECT_GT(broken, 0) << "what holds in elements does not hold in bytes";
}

TEST(CostModel, paths_of_a_level_differ_by_a_permutation_where_it_says_so) {
  const auto holds = [](const Prices& prices) {
    for (Size n = 2; n <= devices; ++n) {
      if (devices % n != 0) continue;
      const Size permutation = prices.allpermute(prices.unit());
      if (prices.alltoall(prices.unit(), n) % permutation != 0) return false;
      if (prices.allgather(prices.unit(), n) % permutation != 0) return false;
    }
    return true;
  };
  for (const Prices& prices : {paper, bytes}) {
    EXPECT_EQ(holds(prices), prices.differ_by_a_permutation());
  }
}

TEST(CostModel, gathering_and_slicing_can_replace_an_alltoall_and_a_permutation_only_in_bytes) {
  // S3: gather by 2, then slice, against an alltoall by 2 and a permutation.
  const auto replaced = [](const Prices& prices) {
    return prices.allgather(prices.unit(), 2) + prices.dynslice(prices.unit()) <
           prices.alltoall(prices.unit(), 2) + prices.allpermute(prices.unit());
  };
  for (const Prices& prices : {paper, bytes}) {
    EXPECT_EQ(replaced(prices), !prices.normal_forms_suffice());
  }
}

}  // namespace
}  // namespace retile::cost_model_test
