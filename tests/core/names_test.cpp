#include "retile/core/names.h"

#include <gtest/gtest.h>

#include <string>

namespace names_test {
namespace {

using retile::counted;
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

TEST(Counted, one_and_many) {
  EXPECT_EQ(counted(1, "dimension"), "1 dimension");
  EXPECT_EQ(counted(0, "dimension"), "0 dimensions");
  EXPECT_EQ(counted(2, "axis", "axes"), "2 axes");
}

}  // namespace
}  // namespace names_test
