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

TEST(Read, json_has_the_levels_that_json_prints) {
  const std::string inner =
      R"({"name": "*", "bytes_per_second": 450000000000, "latency_ps": 5000000})";
  const std::string outer =
      R"({"name": "n", "latency_ps": 15000000, "bytes_per_second": 50000000000})";
  const auto expected = read("n:50GB/s:15us, *:450GB/s:5us").value();
  for (const std::string& text :
       {R"({"levels": [)" + inner + "," + outer + "]}",
        R"( {"schema": "retile.network/1", "levels": [)" + outer + ",\n" + inner + "] }"}) {
    const auto made = read(text).value();
    ASSERT_EQ(made.levels().size(), 2U);
    for (std::size_t l = 0; l < 2; ++l) {
      EXPECT_EQ(made.levels()[l].name, expected.levels()[l].name);
      EXPECT_EQ(made.levels()[l].link, expected.levels()[l].link);
      EXPECT_EQ(made.levels()[l].digits, expected.levels()[l].digits);
    }
  }
  // Equal links have their names joined, and groups are numbers.
  const auto joined =
      read(
          R"({"levels":[{"name":"b,n","bytes_per_second":1,"latency_ps":0},{"name":"a","bytes_per_second":2,"latency_ps":0}]})")
          .value();
  EXPECT_EQ(joined.levels()[1].digits, (std::vector<Digit>{{1, 3}, {6, 4}}));
  const auto groups =
      read(
          R"({"levels":[{"name":"6","bytes_per_second":2,"latency_ps":0},{"name":"*","bytes_per_second":1,"latency_ps":0}]})")
          .value();
  EXPECT_EQ(groups.levels()[1].digits, (std::vector<Digit>{{6, 4}}));
}

std::string message(const std::string& text) {
  const auto made = read(text);
  return made ? "read" : render(made.error());
}

TEST(Read, refuses_with_a_place) {
  EXPECT_EQ(message("q:1GB/s:1us,*:1GB/s:1us"),
            "error: --network: the mesh has no axis q\n  q:1GB/s:1us,*:1GB/s:1us\n  ^\n"
            "note: its axes are n, a, b\n");
  for (
      const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
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
          {"n:1GB/s:1us,*:1GB/s:1us x", "expected the end"},
          {"{", "expected a key"},
          {"{}", "a network has levels"},
          {R"({"levels": []})", "devices that differ in n, a, b have no link"},
          {R"({"levels": {}})", "expected '['"},
          {R"({"levels": [}]})", "expected '{'"},
          {R"({"levels": [{}]})", "a level has a name, bytes_per_second and latency_ps"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1}]})", "a level has a name"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 0, "latency_ps": 0}]})", "at least 1"},
          {R"({"levels": [{"name": "*", "bytes_per_second": -1, "latency_ps": 0}]})", "negative"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1.5, "latency_ps": 0}]})", "expected"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1, "latency_ps": NaN}]})",
           "expected a number"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1, "latency_ps": 9223372036854775808}]})",
           "63 bits"},
          {R"({"levels": [{"name": "q", "bytes_per_second": 1, "latency_ps": 0}]})", "no axis q"},
          {R"({"levels": [{"name": "", "bytes_per_second": 1, "latency_ps": 0}]})", "no axis"},
          {R"({"levels": [{"name": "n,", "bytes_per_second": 1, "latency_ps": 0}]})", "no axis"},
          {R"({"levels": [{"name": "0", "bytes_per_second": 1, "latency_ps": 0}]})",
           "0 is no number of devices"},
          {R"({"levels": [{"name": "99999999999999999999", "bytes_per_second": 1, "latency_ps": 0}]})",
           "is no number of devices"},
          {R"({"levels": [{"name": "5", "bytes_per_second": 1, "latency_ps": 0}]})",
           "not groups of 5"},
          {R"({"levels": [{"name": "*,*", "bytes_per_second": 1, "latency_ps": 0}]})",
           "* stands twice"},
          {R"({"levels": [{"name": "n", "name": "a", "bytes_per_second": 1, "latency_ps": 0}]})",
           "a second name"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1, "latency_ps": 0, "x": 1}]})",
           "x is no key of a level"},
          {R"({"levels": [], "levels": []})", "a second levels"},
          {R"({"time_ps": 1})", "time_ps is no key of a network"},
          {R"({"schema": "retile.plan/1"})", "the schema of a network is retile.network/1"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1, "latency_ps": 0}]} x)",
           "expected the end"},
          {R"({"levels": [{"name": "*", "bytes_per_second": 1, "latency_ps": 0}])",
           "expected ',' or '}'"}}) {
    EXPECT_NE(message(text).find(part), std::string::npos) << text << "\n" << message(text);
    EXPECT_NE(message(text).find("^"), std::string::npos) << text;
  }
}

TEST(Read, whatever_is_damaged_is_read_or_refused_at_its_place) {
  std::size_t refused = 0;
  std::size_t all = 0;
  for (
      const std::string text :
      {"n:50GB/s:15us, *:1.5GB/s:0.5us", "6:1GB/s:1us,*:8Mbit/s:2ns",
       R"({"levels": [{"name": "n,a", "bytes_per_second": 5, "latency_ps": 7}, {"name": "b", "bytes_per_second": 5, "latency_ps": 7}]})"}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const std::string other :
           {"", "0", "9999999999", "-", ",", ":", "{", "\"", "*", "\xff"}) {
        const auto made = read(std::string(text).replace(at, 1, other), "n:4,a:2,b:3", true);
        ++all;
        if (made) continue;
        ++refused;
        EXPECT_FALSE(made.error().source.empty()) << other;
        EXPECT_NE(render(made.error()).find('^'), std::string::npos) << other;
      }
    }
  }
  EXPECT_GT(refused, all / 2);
  EXPECT_LT(refused, all);
}

}  // namespace
}  // namespace retile::test::network_read_test
