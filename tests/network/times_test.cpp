// What steps take, by hand.
#include "retile/network/times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "retile/network/read.h"
#include "retile/notation/paper/notation.h"
#include "retile/program/forms/text.h"

namespace retile::test::network_times_test {
namespace {

using Bytes = std::vector<Size>;

std::vector<network::StepTime> times(const std::string& program, const std::string& links) {
  const auto read = parse_programs(program, "times");
  EXPECT_TRUE(read) << render(read.error());
  const Program& first = read.value().front();
  const auto made = network::read_network(links, "--network", *first.mesh, first.devices);
  EXPECT_TRUE(made) << render(made.error());
  const auto out = network::times_of(first, made.value(), 2);
  EXPECT_TRUE(out) << render(out.error());
  return out.value();
}

TEST(Times, an_allgather_enters_every_node_once) {
  // Six tiles of 24 elements, two of them of the own node: four come over n, half of them to each.
  const auto got = times(
      "retile.program/1\nmesh n:3,a:2\nfrom [24{a,n}144]\nto [144]\n"
      "allgather dim=0 groups=[1,6]<=[6]\n",
      "n:10B/s:1s,a:100B/s:1ms");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes, (Bytes{144, 96}));
  EXPECT_EQ(got[0].time, 9'600'000'000'000 + 1'000'000'000'000);
}

TEST(Times, an_alltoall_sends_a_piece_to_everybody) {
  const auto got = times(
      "retile.program/1\nmesh n:3,a:2\nfrom [24{a,n}144, 6]\nto [144, 1{a,n}6]\n"
      "alltoall split=1 concat=0 groups=[1,6]<=[6]\n",
      "n:10B/s:1s,a:100B/s:1ms");
  EXPECT_EQ(got[0].bytes, (Bytes{48, 192}));
  EXPECT_EQ(got[0].time, 20'200'000'000'000);
}

TEST(Times, sums_go_as_gathers_the_other_way) {
  const auto scattered = times(
      "retile.program/2\nmesh n:2,a:2\nfrom sum{a,n}[8]\nto [2{a,n}8]\n"
      "reducescatter dim=0 groups=[1,4]<=[4]\n",
      "n:8B/s:0s,a:8B/s:0s");
  EXPECT_EQ(scattered[0].bytes, (Bytes{12}));  // equal links are one
  const auto reduced = times(
      "retile.program/2\nmesh n:2,a:2\nfrom sum{a,n}[8]\nto [8]\n"
      "allreduce groups=[1,4]<=[4]\n",
      "n:4B/s:0s,a:8B/s:0s");
  EXPECT_EQ(reduced[0].bytes, (Bytes{16, 8}));
  EXPECT_EQ(reduced[0].time, 2'000'000'000'000);
}

TEST(Times, boxes_of_an_exchange_are_counted_on_both_ends) {
  // Device 0 sends its tile to all others, of which 1 is beside it.
  const auto got = times(
      "retile.program/2\nmesh n:2,a:2\nfrom [4]@0\nto [4]\n"
      "exchange transfers=[[0,0,0,0,4],[1,0,0,0,4],[2,0,0,0,4],[3,0,0,0,4]] tile=[4]\n",
      "n:8B/s:3s,a:16B/s:2s");
  EXPECT_EQ(got[0].bytes, (Bytes{8, 16}));
  EXPECT_EQ(got[0].time, 5'000'000'000'000);
}

TEST(Times, a_permutation_takes_its_slowest_way) {
  const std::string head = "retile.program/1\nmesh n:2,a:2\nfrom [2{a,n}8]\nto ";
  const auto inside =
      times(head + "[2{1:2,2:2}8]\nallpermute source=[1,0,2,3]\n", "n:1B/s:0s,a:4B/s:0s");
  EXPECT_EQ(inside[0].bytes, (Bytes{4, 0}));
  const auto across =
      times(head + "[2{2:2,1:2}8]\nallpermute source=[0,2,1,3]\n", "n:1B/s:0s,a:4B/s:0s");
  EXPECT_EQ(across[0].bytes, (Bytes{0, 4}));
}

/// Numbers written one by one, as groups of so many or as one list.
std::string written(const std::vector<Size>& numbers, std::size_t columns) {
  std::string out = "[";
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const bool begins = columns > 0 && k % columns == 0;
    out += std::string(k == 0 ? "" : ",") + (begins ? "[" : "") + std::to_string(numbers[k]) +
           (columns > 0 && (k + 1) % columns == 0 ? "]" : "");
  }
  return out + "]";
}

TEST(Times, tables_in_digits_are_as_those_written_one_by_one) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  int crossing = 0;
  for (int k = 0; k < 3000; ++k) {
    // Devices, turned as a mesh is; and levels that need not end where its axes do.
    IotaStage stage;
    Size devices = 1;
    for (std::size_t d = 0; d < 2 + below(3); ++d) {
      stage.shape.push_back(static_cast<Size>(2 + below(3)));
      stage.transpose.push_back(d);
      devices *= stage.shape.back();
    }
    std::shuffle(stage.transpose.begin(), stage.transpose.end(), random);
    std::vector<Size> sizes;
    for (Size n = 2; n < devices; ++n) {
      if (devices % n == 0 && (sizes.empty() || n % sizes.back() == 0) && below(2) == 0)
        sizes.push_back(n);
    }
    std::string links;
    Size rate = 1000;
    for (const Size size : sizes) {
      links += std::to_string(size) + ":" + std::to_string(rate) + "B/s:0s,";
      rate /= 2;
    }
    links += "*:1B/s:0s";
    IotaChain chain(devices);
    chain.append(stage);
    const std::string all = std::to_string(devices);
    std::string shape;
    std::string turned;
    for (std::size_t d = 0; d < stage.shape.size(); ++d) {
      shape += (d == 0 ? "" : ",") + std::to_string(stage.shape[d]);
      turned += (d == 0 ? "" : ",") + std::to_string(stage.transpose[d]);
    }
    const std::string iota = "<=[" + shape + "]T(" + turned + ")";
    const auto end = [&](Size tile) {
      const std::string cut = "{1:" + std::to_string(36 * devices / tile) + "}";
      return "[" + std::to_string(tile) + (tile < 36 * devices ? cut : "") +
             (tile < 36 * devices ? std::to_string(36 * devices) : "") + "]\n";
    };
    std::size_t columns = 2 + below(static_cast<std::size_t>(devices) - 1);
    while (static_cast<std::size_t>(devices) % columns != 0) --columns;
    const std::string count = std::to_string(columns);
    const std::string rows = std::to_string(static_cast<std::size_t>(devices) / columns);
    const auto same = [&](Size tile, const std::string& step, const std::string& in_digits,
                          const std::string& listed) {
      const std::string head =
          "retile.program/1\nmesh d:" + all + "\nfrom " + end(36) + "to " + end(tile);
      const auto got = times(head + step + in_digits + "\n", links);
      EXPECT_EQ(got[0].bytes, times(head + step + listed + "\n", links)[0].bytes)
          << head << step << in_digits << ' ' << links;
      crossing += std::count(got[0].bytes.begin(), got[0].bytes.end(), 0) == 0 ? 1 : 0;
    };
    same(36, "allpermute source=", "[" + all + "]" + iota, written(chain.list(), 0));
    if (columns > 1) {
      same(36 * static_cast<Size>(columns),
           "allgather dim=0 groups=", "[" + rows + "," + count + "]" + iota,
           written(chain.list(), columns));
    }
  }
  EXPECT_GT(crossing, 1000);
}

TEST(Times, groups_that_a_link_cuts_unlike_count_as_the_busiest_one) {
  // Devices 2 and 3 have the link between groups of three to themselves; the others are side by side.
  const std::string head = "retile.program/1\nmesh x:3,y:2\nfrom [2{y}4, 4]\nto ";
  const std::string links = "3:100B/s:1s,*:10B/s:2s";
  const auto gathered = times(head + "[4, 4]\nallgather dim=0 groups=[3,2]<=[6]\n", links);
  EXPECT_EQ(gathered[0].bytes, (Bytes{16, 16}));
  EXPECT_EQ(gathered[0].time, 3'600'000'000'000);
  // The first pair is within a group of four, and the second one is not.
  const auto apart = times(
      "retile.program/1\nmesh x:2,y:2,z:3\nfrom [2{y}4, 4]\nto [4, 4]\n"
      "allgather dim=0 groups=[6,2]<=[2,2,3]T(0,2,1)\n",
      "4:100B/s:1s,*:10B/s:2s");
  EXPECT_EQ(apart[0].bytes, (Bytes{16, 16}));
  // Of three devices with y = 0 two are together, so what the third one sends comes over the outer link.
  const auto moved = times(
      "retile.program/1\nmesh x:3,y:2\nfrom [2{x}6, 3]\nto [6, 1{x}3]\n"
      "alltoall split=1 concat=0 groups=[2,3]<=[3,2]T(1,0)\n",
      links);
  EXPECT_EQ(moved[0].bytes, (Bytes{0, 8}));
  EXPECT_EQ(moved[0].time, 2'800'000'000'000);
}

TEST(Times, the_slower_link_counts_wherever_its_axis_stands) {
  const std::string head = "retile.program/1\nmesh n:2,a:2\nfrom [2{a,n}8]\nto ";
  const std::string links = "a:1B/s:0s,n:4B/s:0s";
  // Devices 0 and 3 differ in both axes.
  const auto both =
      times(head + "[2{a,n}8]\nallpermute source=[3,1,2,0]\nallpermute source=[3,1,2,0]\n", links);
  EXPECT_EQ(both[0].bytes, (Bytes{0, 4}));
  const auto swapped = times(head + "[2{2:2,1:2}8]\nallpermute source=[0,2,1,3]\n", links);
  EXPECT_EQ(swapped[0].bytes, (Bytes{0, 4}));
}

TEST(Times, are_added_up_and_refused_where_they_do_not_fit) {
  EXPECT_EQ(network::time_of({{{}, 3}, {{}, 4}}).value(), 7);
  const Size most = std::numeric_limits<Size>::max();
  EXPECT_EQ(network::time_of({{{}, most}, {{}, 0}}).value(), most);
  EXPECT_EQ(network::time_of({{{}, most}, {{}, 1}}).error().code, Code::size_overflow);
}

TEST(Times, no_devices_without_end_are_looked_at) {
  const auto refused = [](const std::string& mesh, const std::string& rest,
                          const std::string& links) {
    const Program read =
        parse_programs("retile.program/1\nmesh " + mesh + "\n" + rest, "times").value().front();
    const auto made = network::read_network(links, "--network", *read.mesh, read.devices);
    const auto got = network::times_of(read, made.value(), 1);
    return got ? "" : got.error().message;
  };
  // In digits as many as one likes are counted.
  EXPECT_EQ(refused("x:2147483648",
                    "from [1{x}2147483648]\nto [2147483648]\n"
                    "allgather dim=0 groups=[1,2147483648]<=[2147483648]\n",
                    "*:1GB/s:1us"),
            "");
  EXPECT_EQ(refused("x:1073741824,y:2",
                    "from [1{y}2]\nto [1{y}2]\n"
                    "allpermute source=[2147483648]<=[2147483648]\n",
                    "*:1GB/s:1us"),
            "");
  // Where a link ends within an axis, devices are looked at.
  const std::string links = "2:2GB/s:1us,*:1GB/s:1us";
  const std::string words = "links are counted of at most 2^20 devices that talk to each other";
  EXPECT_EQ(refused("x:536870912,y:3",
                    "from [1{y}3]\nto [3]\n"
                    "allgather dim=0 groups=[536870912,3]<=[1610612736]\n",
                    links),
            words);
  EXPECT_EQ(refused("x:536870912,y:3",
                    "from [1{y}3]\nto [1{y}3]\n"
                    "allpermute source=[1610612736]<=[536870912,3]T(1,0)\n",
                    links),
            words);
}

TEST(Times, a_slice_takes_none) {
  const auto got =
      times("retile.program/1\nmesh n:2\nfrom [4]\nto [2{n}4]\ndynslice dim=0 groups=[1,2]<=[2]\n",
            "n:1B/s:1s");
  EXPECT_EQ(got[0].time, 0);
}

}  // namespace
}  // namespace retile::test::network_times_test
