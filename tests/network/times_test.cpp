// What steps take, by hand.
#include "retile/network/times.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retile/network/read.h"
#include "retile/notation/paper/notation.h"
#include "retile/program/forms/text.h"

namespace retile::test::network_times_test {
namespace {

using Bytes = std::vector<Size>;

std::vector<network::StepTime> times(const std::string& program, const std::string& links) {
  const Program read = parse_programs(program, "times").value().front();
  const auto made = network::read_network(links, "--network", *read.mesh, read.devices);
  return network::times_of(read, made.value(), 2).value();
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

TEST(Times, a_slice_takes_none) {
  const auto got =
      times("retile.program/1\nmesh n:2\nfrom [4]\nto [2{n}4]\ndynslice dim=0 groups=[1,2]<=[2]\n",
            "n:1B/s:1s");
  EXPECT_EQ(got[0].time, 0);
}

}  // namespace
}  // namespace retile::test::network_times_test
