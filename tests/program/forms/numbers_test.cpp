// Programs of devices that are called by other numbers than 0..D-1.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/program_bridge.h"

namespace retile::numbers_test {
namespace {

/// Of the devices 9, 2, 5 and 3, with every kind of table.
constexpr const char* of_all_tables = R"(retile.program/2
devices [9,2,5,3]
from [2{2:2}4, 4]
to [4, 4]@5
dynslice dim=1 parts=4 part=[0,3,1,2] tile=[2,1]
allgather dim=1 groups=[[9,2],[5,3]] tile=[2,2]
alltoall split=1 concat=1 groups=[[9,5],[2,3]] tile=[2,2]
allpermute source=[2,9,5,3] tile=[2,2]
allpermute pairs=[[5,9],[3,3]] tile=[2,2]
exchange transfers=[[5,9,0,0,0,0,2,2],[5,2,2,2,0,0,2,2],[5,3,0,2,0,0,2,2],[5,5,2,0,0,0,2,2]] shapes=[[0,0],[0,0],[4,4],[0,0]]
)";

/// The same of the devices 0 to 3.
constexpr const char* counted = R"(retile.program/2
devices 4
from [2{2:2}4, 4]
to [4, 4]@2
dynslice dim=1 parts=4 part=[0,3,1,2] tile=[2,1]
allgather dim=1 groups=[[0,1],[2,3]] tile=[2,2]
alltoall split=1 concat=1 groups=[[0,2],[1,3]] tile=[2,2]
allpermute source=[1,0,2,3] tile=[2,2]
allpermute pairs=[[2,0],[3,3]] tile=[2,2]
exchange transfers=[[2,0,0,0,0,0,2,2],[2,1,2,2,0,0,2,2],[2,3,0,2,0,0,2,2],[2,2,2,0,0,0,2,2]] shapes=[[0,0],[0,0],[4,4],[0,0]]
)";

TEST(Numbers, stand_in_all_tables_of_devices) {
  const Program named = parse_programs(of_all_tables).value().front();
  Program plain = parse_programs(counted).value().front();
  EXPECT_EQ(named.numbers.list(), (std::vector<Size>{9, 2, 5, 3}));
  plain.numbers = named.numbers;
  EXPECT_EQ(named, plain);
  const std::string text = to_text(named);
  for (const char* step :
       {"part=[0,3,1,2]", "groups=[[9,2],[5,3]]", "groups=[[9,5],[2,3]]", "source=[2,9,5,3]",
        "pairs=[[5,9],[3,3]]", "transfers=[[5,9,0,0,0,0,2,2],[5,2,2,2,0,0,2,2]"}) {
    EXPECT_NE(text.find(step), std::string::npos) << step << "\n" << text;
  }
  EXPECT_EQ(parse_programs(text).value().front(), named);
  EXPECT_EQ(parse_program_json(to_json(named)).value(), named);
  const spec::Programs theirs = spec::parse_programs(text);
  ASSERT_FALSE(theirs.error) << theirs.error->message;
  EXPECT_EQ(theirs.programs.front().names, named.numbers.list());
  const spec::Program by_place = spec::parse_programs(counted).programs.front();
  for (std::size_t k = 0; k < by_place.steps.size(); ++k) {
    const spec::Step& step = theirs.programs.front().steps[k];
    EXPECT_EQ(step.table.listed, by_place.steps[k].table.listed) << k;
    EXPECT_EQ(step.pairs, by_place.steps[k].pairs) << k;
    EXPECT_EQ(step.transfers, by_place.steps[k].transfers) << k;
  }
  const Verdict verdict = check(named);
  EXPECT_TRUE(support::same_judgement(verdict, spec::check(theirs.programs.front())));
}

TEST(Numbers, are_written_as_one_range_where_they_are_one) {
  const auto line = [](const char* devices) {
    const auto made = parse_programs(std::string("retile.program/1\ndevices ") + devices +
                                     "\nfrom [2]\nto [2]\n");
    if (!made) return made.error().message;
    const std::string text = to_text(made->front());
    EXPECT_FALSE(spec::parse_programs(text).error) << text;
    const std::size_t begin = text.find("devices ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(line("[4,5,6]"), "devices 4..6");
  EXPECT_EQ(line("[0,1,7,8,3]"), "devices [0,1,7,8,3]");
  EXPECT_EQ(line("4 .. 6"), "devices 4..6");
  EXPECT_EQ(line("[4,6,5,7]"), "devices [4,6,5,7]");
  EXPECT_EQ(line("0..2"), "devices 3");
  EXPECT_EQ(line("7..7"), "devices [7]");
  EXPECT_EQ(line("[5,4]"), "devices [5,4]");
  EXPECT_EQ(line("3"), "devices 3");
  EXPECT_EQ(line("[1,2,1]"), "device 1 stands twice");
  EXPECT_EQ(line("[1,2147483648]"), "a device beyond 2^31");
  EXPECT_EQ(line("[]"), "a Program has at least one device");
}

/// Both readers refuse it.
std::string refusal(const std::string& text) {
  EXPECT_TRUE(spec::parse_programs(text).error) << text;
  const auto made = parse_programs(text);
  return made ? "read" : made.error().message;
}

TEST(Numbers, that_no_device_has_are_refused) {
  const std::string head = "retile.program/2\ndevices [4,6]\nmesh x:2\nfrom [1{x}2]\n";
  EXPECT_EQ(refusal(head + "to [2]@1\n"), "device 1 does not exist");
  EXPECT_EQ(refusal(head + "to [2]\nallgather dim=0 groups=[[0,1]]\n"), "device 0 does not exist");
  EXPECT_EQ(refusal(head + "to [2]\nallpermute source=[4,5]\n"), "device 5 does not exist");
  EXPECT_EQ(refusal(head + "to [2]\nallpermute pairs=[[6,1]]\n"), "device 1 does not exist");
  EXPECT_EQ(refusal(head + "to [2]\nexchange transfers=[[4,0,0,0,1]] tile=[2]\n"),
            "device 0 does not exist");
  EXPECT_EQ(
      refusal("retile.program/2\ndevices [4,6]\nmesh x:2 order=[6,4]\nfrom [1{x}2]\nto [2]\n"),
      "a mesh of devices that are listed has no order");
  EXPECT_EQ(refusal("retile.program/1\ndevices [4,6]\nmesh x:3\nfrom [1{x}3]\nto [3]\n"),
            "this mesh says 3 devices, but devices said 2");
}

TEST(Numbers, are_those_of_a_verdict) {
  const std::string text =
      "retile.program/2\ndevices [7,5]\nmesh x:2\nfrom sum{x}[2]\nto [2]\n"
      "allreduce groups=[[5],[7]]\n";
  const Program program = parse_programs(text).value().front();
  const Verdict verdict = check(program);
  ASSERT_TRUE(verdict.wrong);
  const auto* addend = std::get_if<Witness::OtherAddend>(&verdict.wrong->witness.sign);
  ASSERT_NE(addend, nullptr);
  ASSERT_TRUE(addend->replica);
  EXPECT_EQ(verdict.wrong->witness.device, 5);
  EXPECT_EQ(addend->replica->device, 7);
  const spec::Verdict theirs = spec::check(spec::parse_programs(text).programs.front());
  ASSERT_TRUE(theirs.wrong);
  EXPECT_EQ(theirs.wrong->device, 5);
  EXPECT_EQ(theirs.wrong->replica, 7);
}

}  // namespace
}  // namespace retile::numbers_test
