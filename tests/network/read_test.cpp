// Networks as text, and what is refused.
#include "retile/network/read.h"

#include <gtest/gtest.h>

#include <string>

#include "retile/core/diagnostic.h"
#include "retile/notation/paper/notation.h"

namespace retile::test::network_read_test {
namespace {

Result<network::Network> read(const std::string& text, const std::string& mesh = "n:4,a:2,b:3",
                              bool in_lines = false) {
  const Mesh made = parse_mesh(mesh).value();
  return network::read_network(text, "--network", made, made.device_count(), in_lines);
}

TEST(Read, levels_go_from_the_inside_out) {
  const auto made = read("n:50GB/s:15us, *:450GB/s:5us").value();
  ASSERT_EQ(made.levels().size(), 2U);
  EXPECT_EQ(made.levels()[0].name, "*");
  EXPECT_EQ(made.levels()[0].link, (network::Link{450'000'000'000, 5'000'000}));
  EXPECT_EQ(made.levels()[0].digits, (std::vector<Digit>{{1, 6}}));
  EXPECT_EQ(made.levels()[1].digits, (std::vector<Digit>{{6, 4}}));
  EXPECT_EQ(made.domain_size(1), 6);
  EXPECT_EQ(made.level_between(0, 5), 0U);
  EXPECT_EQ(made.level_between(0, 6), 1U);
}

TEST(Read, groups_of_successive_devices) {
  const auto made = read("6:1.5GB/s:0.5us,12:8Gbit/s:2us,*:1KiB/s:1s").value();
  ASSERT_EQ(made.levels().size(), 3U);
  EXPECT_EQ(made.levels()[0].link, (network::Link{1'500'000'000, 500'000}));
  EXPECT_EQ(made.levels()[1].link.bytes_per_second, 1'000'000'000);
  EXPECT_EQ(made.levels()[1].digits, (std::vector<Digit>{{6, 2}}));
  EXPECT_EQ(made.levels()[2].digits, (std::vector<Digit>{{12, 2}}));
}

TEST(Read, equal_links_are_one_and_a_file_has_lines) {
  const auto made =
      read("// a rack\nn:1GB/s:1us,\na:2GB/s:1us,\nb:1GB/s:1us\n", "n:4,a:2,b:3", true).value();
  ASSERT_EQ(made.levels().size(), 2U);
  EXPECT_EQ(made.levels()[1].digits, (std::vector<Digit>{{1, 3}, {6, 4}}));
}

std::string message(const std::string& text) {
  const auto made = read(text);
  return made ? "read" : render(made.error());
}

TEST(Read, refuses_with_a_place) {
  EXPECT_EQ(message("q:1GB/s:1us,*:1GB/s:1us"),
            "error: --network: the mesh has no axis q\n  q:1GB/s:1us,*:1GB/s:1us\n  ^\n"
            "note: its axes are n, a, b\n");
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected an axis"},
           {"n:0GB/s:1us,*:1GB/s:1us", "at least one byte"},
           {"n:-1GB/s:1us,*:1GB/s:1us", "negative"},
           {"n:1GB/s:1us", "devices that differ in a, b have no link"},
           {"n:1GB/s:1us,n:1GB/s:1us,*:1GB/s:1us", "n stands twice"},
           {"*:1GB/s:1us,*:1GB/s:1us", "* stands twice"},
           {"n:1GB/s:1us,*:2GB/s:2us", "n is slower than *, and has less latency"},
           {"n:1GB:1us", "expected '/s'"},
           {"n:1XB/s:1us", "XB is no unit of a bandwidth"},
           {"n:1GB/s:1h", "h is no unit of a latency"},
           {"n:99999999999TB/s:1us,*:1GB/s:1us", "a bandwidth is too large"},
           {"n:99999999999999999999B/s:1us,*:1GB/s:1us", "63 bits"},
           {"5:1GB/s:1us,*:1GB/s:1us", "24 devices are not groups of 5"},
           {"4:1GB/s:1us,6:1GB/s:1us,*:1GB/s:1us", "a group of 6 is not made of groups of 4"},
           {"6:1GB/s:1us,a:1GB/s:1us", "not both"},
           {"6:1GB/s:1us", "devices of different groups have no link"},
           {"6:1GB/s:1us,*:2GB/s:1us", "a larger group is faster"},
           {"n:1GB/s:1us,*:1GB/s:1us x", "expected the end"}}) {
    EXPECT_NE(message(text).find(part), std::string::npos) << text << "\n" << message(text);
    EXPECT_NE(message(text).find("^"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace retile::test::network_read_test
