// Pictures say who holds what. That they can be looked at, eyes have judged; here, that they are true.
#include "retile/draw/svg.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"

namespace retile::svg_test {
namespace {

Program lowered(const std::string& mesh, const std::string& from, const std::string& to) {
  return lower(plan(parse_problem(mesh, from, to).value()).value());
}

std::string picture(const Program& program) { return to_svg(program).value(); }

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// The words of all texts of one class, in order.
std::vector<std::string> texts(const std::string& svg, const std::string& kind) {
  std::vector<std::string> out;
  const std::regex text("<text class='" + kind + "'[^>]*>([^<]*)</text>");
  for (std::sregex_iterator i(svg.begin(), svg.end(), text), end; i != end; ++i) {
    out.push_back((*i)[1]);
  }
  return out;
}

/// Whether every element is closed and every attribute quoted.
bool is_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z]+)((?: [a-zA-Z:-]+='[^'<]*')*)(/?)>");
  std::size_t end = 0;
  for (std::sregex_iterator i(svg.begin(), svg.end(), tag), last; i != last; ++i) {
    const auto begin = static_cast<std::size_t>(i->position());
    if (svg.substr(end, begin - end).find('<') != std::string::npos) return false;
    end = begin + static_cast<std::size_t>(i->length());
    if ((*i)[1].length() > 0) {
      if (open.empty() || open.back() != (*i)[2]) return false;
      open.pop_back();
    } else if ((*i)[4].length() == 0) {
      open.push_back((*i)[2]);
    }
  }
  return open.empty() && svg.substr(end) == "\n";
}

TEST(Svg, example_3_1_shows_every_device_in_each_of_three_panels) {
  const std::string svg = picture(lowered("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"));
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(texts(svg, "title"),
            (std::vector<std::string>{"before", "largest in between", "after"}));
  EXPECT_EQ(texts(svg, "note"),
            (std::vector<std::string>{"tile 3 x 2: 6 elements", "tile 1 x 6: 6 elements",
                                      "tile 2 x 3: 6 elements"}));
  EXPECT_EQ(texts(svg, "step"), (std::vector<std::string>{"alltoall", "alltoall", "allpermute"}));
  EXPECT_EQ(count(svg, "class='tile'"), 3U * 24);
  std::map<std::string, int> shown;
  for (const std::string& number : texts(svg, "number")) ++shown[number];
  ASSERT_EQ(shown.size(), 24U);
  for (const auto& [device, times] : shown) EXPECT_EQ(times, 3) << device;
}

TEST(Svg, tiles_lie_where_their_devices_hold_them) {
  // Rows of tiles from above, in a row from the left: the device d = 2x + y holds row x, column y;
  // afterwards row y, column x.
  const std::string svg = picture(lowered("x:2,y:2", "[4{x}8, 4{y}8]", "[4{y}8, 4{x}8]"));
  EXPECT_EQ(texts(svg, "number"),
            (std::vector<std::string>{"0", "1", "2", "3", "0", "2", "1", "3"}));
}

TEST(Svg, replicas_share_a_tile_in_bands) {
  const std::string svg = picture(lowered("x:2,y:2", "[8]", "[4{x}8]"));
  EXPECT_EQ(count(svg, "class='tile'"), 1U + 2);
  EXPECT_EQ(texts(svg, "note"),
            (std::vector<std::string>{"tile 8: 8 elements, each on 4 devices",
                                      "tile 4: 4 elements, each on 2 devices"}));
  EXPECT_EQ(texts(svg, "number"),
            (std::vector<std::string>{"0", "1", "2", "3", "0", "1", "2", "3"}));
  EXPECT_EQ(count(svg, "class='d2'"), 2U);  // one colour in both panels
}

TEST(Svg, what_is_cut_short_says_so) {
  const std::string svg = picture(lowered("x:4096", "[1{x}4096]", "[4096]"));
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(count(svg, "4096 tiles in all"), 1U);
  EXPECT_LT(count(svg, "class='tile'"), 64U);
  // A tile that many devices hold shows a few of them.
  EXPECT_NE(svg.find(">3..</text>"), std::string::npos);
}

TEST(Svg, any_rank_is_drawn) {
  EXPECT_TRUE(is_well_formed(picture(lowered("x:2", "[]", "[]"))));
  const std::string svg =
      picture(lowered("a:2,b:2", "[1{a}2, 3, 1{b}2, 2]", "[2, 3, 1{a}2, 1{b}2]"));
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_GT(count(svg, "class='tile'"), 4U);
}

TEST(Svg, a_foreign_program_is_drawn_where_it_says_where_its_tiles_lie) {
  const std::string head = "retile.program/1\ndevices 2\nfrom [2{1:2}4]\nto [2{1:2}4]\n";
  const std::string step = "allpermute source=[1,0]";
  const auto said = parse_programs(head + step + " map=[2{1:2}4]\n" + step + "\n").value();
  EXPECT_TRUE(to_svg(said.front()).has_value());
  const auto silent = parse_programs(head + step + "\n" + step + "\n").value();
  ASSERT_FALSE(to_svg(silent.front()).has_value());
  EXPECT_EQ(to_svg(silent.front()).error().code, Code::unsupported);
}

TEST(Svg, tiles_that_differ_are_drawn_as_large_as_they_are) {
  Program program;
  program.devices = 4;
  const std::vector<Digit> all{{.stride = 1, .size = 4}};
  program.from = Layout::numbered(4, {Cuts::blocks(3, 4, 10)}, {all}).value();
  program.to = Layout::rooted(4, {10}, 2);
  const std::string svg = picture(program);
  std::vector<std::string> widths;
  const std::regex cell("<rect class='tile'[^>]* width='([0-9.]+)'");
  for (std::sregex_iterator i(svg.begin(), svg.end(), cell), end; i != end; ++i) {
    widths.push_back((*i)[1]);
  }
  EXPECT_EQ(widths, (std::vector<std::string>{"74.4", "74.4", "74.4", "24.8", "248"}));
  EXPECT_EQ(texts(svg, "number"), (std::vector<std::string>{"0", "1", "2", "3", "2"}));
  EXPECT_EQ(texts(svg, "note"), (std::vector<std::string>{"tiles up to 3: 3 elements",
                                                          "tile 10: 10 elements, 3 of 4 empty"}));
}

TEST(Svg, how_many_hold_a_tile_is_said_where_it_is_true_of_all) {
  Program program;
  program.devices = 4;
  program.from = Layout::numbered(4, {Cuts::blocks(3, 2, 5)}, {{{.stride = 2, .size = 2}}}).value();
  program.to = Layout::listed(4, {4}, {2}, {0, 0, 0, 2}).value();
  EXPECT_EQ(texts(picture(program), "note"),
            (std::vector<std::string>{"tiles up to 3: 3 elements, each on 2 devices",
                                      "tile 2: 2 elements"}));
}

TEST(Svg, boxes_are_counted_where_a_device_holds_several) {
  EXPECT_EQ(
      texts(picture(without_steps(parse_problem("x:2", "[1@{x}4]", "[2{x}4]").value())), "note"),
      (std::vector<std::string>{"tiles up to 2: 2 elements, 4 boxes", "tile 2: 2 elements"}));
}

TEST(Svg, too_many_devices_are_refused) {
  const Program program = lowered("x:2097152", "[1{x}2097152]", "[1{x}2097152]");
  ASSERT_FALSE(to_svg(program).has_value());
  EXPECT_EQ(to_svg(program).error().code, Code::limit_reached);
}

}  // namespace
}  // namespace retile::svg_test
