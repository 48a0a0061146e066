// All pairs of ways to cut one dimension of a few extents over a few devices: even, uneven, whole, dealt out in blocks of
// every size, and in two sections. The one exchange between them is carried out on lists of indices, and what a device
// holds is a filter over all of them.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "exec/exchange/solved.h"

namespace retile::all_dealt_test {
namespace {

using exchange_tests::solve;
using exchange_tests::Solved;
using exchange_tests::transfers_of;

#ifdef RETILE_SLOW_TESTS
constexpr Size most_devices = 12;
constexpr Size most_extent = 30;
constexpr Size most_extent_of_two_axes = 13;
#else
constexpr Size most_devices = 5;
constexpr Size most_extent = 9;
constexpr Size most_extent_of_two_axes = 6;
#endif

using Indices = std::vector<Size>;

/// Axes of a mesh that cut a dimension.
struct Axes {
  std::string names;                  // none: nothing is cut
  Size count = 1;                     // of tiles
  std::function<Size(Size)> tile_of;  // the number of a device's tile
};

/// One way to cut a dimension.
struct Way {
  std::string text;
  std::vector<Indices> held;  // by device
};

Size ceil(Size n, Size count) { return (n + count - 1) / count; }

/// The indices whose tile is a device's, by the tile of each.
Way way(std::string text, const Axes& axes, Size devices, Size extent,
        const std::function<Size(Size)>& tile_of) {
  Way out{"[" + std::move(text) + "]", {}};
  for (Size d = 0; d < devices; ++d) {
    Indices& held = out.held.emplace_back();
    for (Size i = 0; i < extent; ++i) {
      if (tile_of(i) == axes.tile_of(d)) held.push_back(i);
    }
  }
  return out;
}

/// All ways over some axes.
void add_ways(const Axes& axes, Size devices, Size extent, std::vector<Way>& out) {
  const Size n = axes.count;
  const std::string in = "{" + axes.names + "}";
  const std::string whole = std::to_string(extent);
  const auto add = [&](std::string text, const std::function<Size(Size)>& tile_of) {
    out.push_back(way(std::move(text), axes, devices, extent, tile_of));
  };
  const Size least = ceil(extent, n);
  add(std::to_string(least) + in + whole, [=](Size i) { return i / least; });
  if (n == 1) return;
  for (Size block = 1; block <= extent; ++block) {
    add(std::to_string(block) + "@" + in + whole, [=](Size i) { return i / block % n; });
  }
  for (Size first = 1; first < extent; ++first) {
    const Size rest = extent - first;
    const std::string sections = std::to_string(first) + "+" + std::to_string(rest);
    const auto place = [=](Size i) { return i < first ? i : i - first; };
    add(std::to_string(ceil(first, n) + ceil(rest, n)) + in + sections,
        [=](Size i) { return place(i) / ceil(i < first ? first : rest, n); });
    const Size block = 1 + first % 3;
    add(std::to_string(block) + "@" + in + sections, [=](Size i) { return place(i) / block % n; });
  }
}

/// What the devices hold after the steps, which are one exchange or none; -1 where nothing was put.
std::vector<Indices> moved(const Program& program, const Way& from, const Way& to) {
  if (program.steps.empty()) return from.held;
  std::vector<Indices> out;
  for (const Indices& held : to.held) out.emplace_back(held.size(), -1);
  for (const Transfer& transfer : transfers_of(program)) {
    for (Size l = 0; l < transfer.shape[0]; ++l) {
      const auto target = static_cast<std::size_t>(transfer.target_start[0] + l);
      const auto source = static_cast<std::size_t>(transfer.source_start[0] + l);
      Size& there = out[static_cast<std::size_t>(transfer.target)].at(target);
      EXPECT_EQ(there, -1) << "an element is put twice";
      there = from.held[static_cast<std::size_t>(transfer.source)].at(source);
    }
  }
  return out;
}

/// Whether every plan is right; how many of them are one exchange of tiles of several boxes.
std::size_t solved(const std::string& mesh, const std::vector<Way>& ways) {
  std::size_t several = 0;
  for (const Way& from : ways) {
    for (const Way& to : ways) {
      const Solved it = solve(mesh.c_str(), from.text, to.text);
      if (testing::Test::HasFailure()) return 0;
      if (it.program.from.in_boxes() && it.program.to.in_boxes()) continue;
      ++several;
      EXPECT_EQ(moved(it.program, from, to), to.held) << from.text << " to " << to.text;
      EXPECT_EQ(it.program.steps.empty(), from.held == to.held) << from.text << " to " << to.text;
      if (testing::Test::HasFailure()) return 0;
    }
  }
  return several;
}

TEST(AllDealt, pairs_over_one_axis) {
  std::size_t several = 0;
  for (Size devices = 2; devices <= most_devices; ++devices) {
    const Axes axis{"p", devices, [](Size d) { return d; }};
    for (Size extent = 1; extent <= most_extent; ++extent) {
      std::vector<Way> ways;
      add_ways({"", 1, [](Size) { return Size{0}; }}, devices, extent, ways);
      add_ways(axis, devices, extent, ways);
      several += solved("p:" + std::to_string(devices), ways);
      if (HasFailure()) return;
    }
  }
  std::cout << several << " pairs\n";
  EXPECT_GT(several, 5'000U);
}

TEST(AllDealt, pairs_over_two_axes) {
  std::size_t several = 0;
  for (Size a = 2; 2 * a <= most_devices; ++a) {
    for (Size b = 2; a * b <= most_devices; ++b) {
      const std::vector<Axes> all = {
          {"", 1, [](Size) { return Size{0}; }},
          {"a", a, [=](Size d) { return d / b; }},
          {"b", b, [=](Size d) { return d % b; }},
          {"b,a", a * b, [](Size d) { return d; }},
          {"a,b", a * b, [=](Size d) { return d % b * a + d / b; }},
      };
      for (Size extent = 1; extent <= most_extent_of_two_axes; extent += 1 + extent / 4) {
        std::vector<Way> ways;
        for (const Axes& axes : all) add_ways(axes, a * b, extent, ways);
        several += solved("a:" + std::to_string(a) + ",b:" + std::to_string(b), ways);
        if (HasFailure()) return;
      }
    }
  }
  std::cout << several << " pairs\n";
  EXPECT_GT(several, 5'000U);
}

TEST(AllDealt, a_filter_that_deals_otherwise_is_noticed) {
  const Axes axis{"p", 3, [](Size d) { return d; }};
  std::vector<Way> ways;
  add_ways(axis, 3, 9, ways);
  const Way& by_2 = ways[2];
  ASSERT_EQ(by_2.text, "[2@{p}9]");
  EXPECT_EQ(by_2.held, (std::vector<Indices>{{0, 1, 6, 7}, {2, 3, 8}, {4, 5}}));
  const Program program = solve("p:3", "[1@{p}9]", by_2.text).program;
  const Way by_1 = way("1@{p}9", axis, 3, 9, [](Size i) { return i % 3; });
  EXPECT_EQ(moved(program, by_1, by_2), by_2.held);
  const Way turned = way("1@{p}9", axis, 3, 9, [](Size i) { return (i + 1) % 3; });
  EXPECT_NE(moved(program, turned, by_2), by_2.held);
}

}  // namespace
}  // namespace retile::all_dealt_test
