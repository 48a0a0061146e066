#include "retile/core/names.h"

#include <gtest/gtest.h>

#include <string>

namespace names_test {
namespace {

using retile::counted;
using retile::has_control_character;
using retile::name_text;
using retile::shortened;
using retile::shown_name;

TEST(Names, identifiers_stand_bare_and_others_in_quotes) {
  EXPECT_EQ(name_text("x"), "x");
  EXPECT_EQ(name_text("_x.1-a"), "_x.1-a");
  EXPECT_EQ(name_text(""), "\"\"");
  EXPECT_EQ(name_text("1x"), "\"1x\"");
  EXPECT_EQ(name_text("a b"), "\"a b\"");
  EXPECT_EQ(name_text("\xc3\xa9"), "\"\xc3\xa9\"");
}

TEST(Names, long_ones_are_cut_in_messages) {
  const std::string forty(40, 'x');
  EXPECT_EQ(shortened(forty), forty);
  EXPECT_EQ(shortened(forty + "y"), forty + "..");
  EXPECT_EQ(shown_name(forty + "y"), forty + "..");
  EXPECT_EQ(shown_name("a b"), "\"a b\"");
}

TEST(Names, cuts_fall_between_characters) {
  const std::string before(38, 'x');
  const std::string two = "\xC3\xA9";
  const std::string four = "\xF0\x9F\x98\x80";
  EXPECT_EQ(shortened(before + two + "y"), before + two + "..");
  EXPECT_EQ(shortened(before + "x" + two), before + "x..");
  EXPECT_EQ(shortened(before + four), before + "..");
  EXPECT_EQ(shortened(before.substr(1) + four), before.substr(1) + "..");
  EXPECT_EQ(shortened(before.substr(2) + four + "y"), before.substr(2) + four + "..");
  // What is no UTF-8 has no characters to cut.
  const std::string bytes(60, '\x80');
  EXPECT_EQ(shortened(bytes), bytes.substr(0, 40) + "..");
}

TEST(Names, control_characters_are_those_of_unicode) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text{'x', static_cast<char>(byte)};
    EXPECT_EQ(has_control_character(text), byte < 0x20 || byte == 0x7F) << byte;
  }
  for (int second = 0x80; second < 0xC0; ++second) {
    const std::string text{'\xC2', static_cast<char>(second)};
    EXPECT_EQ(has_control_character(text), second < 0xA0) << second;
  }
  EXPECT_FALSE(has_control_character("\xC4\x9B \xE2\x82\x80 \xC2"));
  EXPECT_FALSE(has_control_character(""));
}

TEST(Counted, one_and_many) {
  EXPECT_EQ(counted(1, "dimension"), "1 dimension");
  EXPECT_EQ(counted(0, "dimension"), "0 dimensions");
  EXPECT_EQ(counted(2, "axis", "axes"), "2 axes");
}

}  // namespace
}  // namespace names_test
