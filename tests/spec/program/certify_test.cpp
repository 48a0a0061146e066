// The limits of the certifier: what counts as work and as kept is what docs/reference/oracle.md says. That it
// certifies nothing false, certify_attack_test.cpp sees.
#include "spec/program/certify.h"

#include <gtest/gtest.h>

#include <string>

#include "spec/program/certify_text.h"

namespace spec::certify_test {
namespace {

/// "certified", the reason why not, or the limit.
std::string outcome(const std::string& text, Size most, Size most_kept) {
  CertificateReader reader(text);
  const auto programs = reader.programs();
  try {
    Certifier(programs.at(0), reader.lines, most, most_kept).run();
    return "certified";
  } catch (const Unproved& why) {
    return why.reason;
  } catch (const TooLarge& what) {
    return what.why;
  }
}

constexpr const char* too_much = "more than 2^32 units of work";
constexpr const char* too_large = "more than 2^29 numbers in tiles to be kept";
constexpr Size plenty = Size{1} << 20;

void takes(const std::string& text, Size work, Size kept) {
  EXPECT_EQ(outcome(text, work, plenty), "certified") << text;
  EXPECT_EQ(outcome(text, work - 1, plenty), too_much) << text;
  EXPECT_EQ(outcome(text, plenty, kept), "certified") << text;
  EXPECT_EQ(outcome(text, plenty, kept - 1), too_large) << text;
}

// A row of n numbers takes n + 1 units when it is written or compared. A line takes one unit for
// every number up to that of the devices, and for each factor a localtype for each of (r + 1)^2
// steps. A row that is kept takes n + 4 numbers.

TEST(Certifier, counts_the_devices_and_the_lines) {
  // 2 devices with rows of 2 numbers; the line, and for the factor 2 the 4 steps with 1 number.
  takes("retile.program/1\ndevices 2\nfrom [2{1:2}4]\nto [4]\nlower_bound 4\npotential [4] 0 4\n",
        2 * 3 + 2 + 4 * 2, 2 * 6);
}

TEST(Certifier, counts_the_tiles_of_bottoms) {
  // 4 devices with rows of 2 numbers; two lines with the factors 2 and 4. The 4 tiles of the bottom
  // are written for the line, because there must be one, and because the bottom ends in c_2; there
  // the devices are compared. The tiles are kept.
  takes(
      "retile.program/1\ndevices 4\nfrom [1{1:4}4]\nto [1{2:2,1:2}4]\nlower_bound 1\n"
      "potential [1] 0 1\nrefuted [1] []\n",
      4 * 3 + 2 * (4 + 2 * 4 * 2) + 3 * 4 + 4 * 3 + 4 * 2, 4 * 6 + 4 * 5);
}

TEST(Certifier, counts_the_tiles_of_every_step) {
  // 4 devices with rows of 4 numbers; six lines with the factors 2 and 4, 9 steps with 2 numbers
  // each. A bottom is written one dimension after the other: 4 rows of none, 4 of 1 number. That
  // happens for the three lines, because there must be one, and for the state that ends in c_2;
  // there the devices are compared. Two steps are taken in the lines, and the same two on from the
  // bottom. The tiles of three lines are kept.
  const Size line = 4 + 2 * 9 * 3, bottom = 4 + 4 * 2, tiles = 4 * 3;
  takes(
      "retile.program/1\ndevices 4\nfrom [1{1:4}4, 4]\nto [4, 1{2:2,1:2}4]\nlower_bound 8\n"
      "potential [4,1] 0 4\npotential [1,4] 4 8\npotential [2,2] 4 8\n"
      "refuted [1,4] []\nrefuted [1,4] [[0,1,4]]\nrefuted [1,4] [[0,1,2]]\n",
      4 * 5 + 6 * line + 5 * bottom + 4 * 5 + 4 * tiles + 3 * tiles, 4 * 8 + 3 * 4 * 6);
}

}  // namespace
}  // namespace spec::certify_test
