#include "retile/text/words.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace words_test {
namespace {

using retile::text::enumerate;
using retile::text::nearest;

TEST(Nearest, most_of_the_longer_word_stays) {
  EXPECT_EQ(nearest("xdev", {"ydev", "xdevs"}), "ydev");  // the first of equals
  EXPECT_EQ(nearest("xdevs", {"hosts", "xdev"}), "xdev");
  EXPECT_EQ(nearest("gruops", {"dim", "groups"}), "groups");
  EXPECT_EQ(nearest("x", {"y"}), std::nullopt);
  EXPECT_EQ(nearest("ab", {"ac"}), std::nullopt);
  EXPECT_EQ(nearest("abc", {"abd"}), "abd");
  EXPECT_EQ(nearest("t", {"from", "to"}), "to");  // half a word is enough if it is the beginning
  EXPECT_EQ(nearest("T", {"from", "to"}), "to");
  EXPECT_EQ(nearest("o", {"from", "to"}), std::nullopt);
  EXPECT_EQ(nearest("to", {"t"}), std::nullopt);
  EXPECT_EQ(nearest("f", {"from"}), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(nearest("", {""}), std::nullopt);
}

TEST(Nearest, the_case_of_letters_is_no_change) {
  EXPECT_EQ(nearest("AllToAll", {"allgather", "alltoall"}), "alltoall");
  EXPECT_EQ(nearest("X", {"x"}), "x");
}

TEST(Nearest, long_words_and_long_lists_take_no_time) {
  const std::string longest(64, 'a');
  EXPECT_EQ(nearest(longest, {longest}), longest);
  EXPECT_EQ(nearest(longest + "a", {longest}), std::nullopt);
  EXPECT_EQ(nearest(longest, {longest + "a"}), std::nullopt);
  std::vector<std::string> many(200, "other");
  many.emplace_back("axis");
  EXPECT_EQ(nearest("axes", many), std::nullopt);
  many.erase(many.begin());
  EXPECT_EQ(nearest("axes", many), "axis");
}

TEST(Enumerate, ends_in_and) {
  EXPECT_EQ(enumerate({}), "");
  EXPECT_EQ(enumerate({"x"}), "x");
  EXPECT_EQ(enumerate({"x", "y"}), "x and y");
  EXPECT_EQ(enumerate({"x", "y", "z"}), "x, y and z");
  EXPECT_EQ(enumerate({"x", "y", "z"}, "or"), "x, y or z");
}

TEST(Enumerate, long_lists_are_cut) {
  const std::vector<std::string> eight(8, "x");
  EXPECT_EQ(enumerate(eight), "x, x, x, x, x, x, x and x");
  const std::vector<std::string> nine(9, "x");
  EXPECT_EQ(enumerate(nine), "x, x, x, x, x, x, x and 2 more");
  EXPECT_EQ(enumerate(nine, "or", 9), "x, x, x, x, x, x, x, x or x");
}

}  // namespace
}  // namespace words_test
