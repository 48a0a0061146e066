// Version 2 of the forms: Programs whose tiles differ.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "program/forms/twins.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/program/program_hash.h"

namespace version_2_test {
namespace {

using retile::Code;
using retile::parse_programs;
using retile::Program;
using retile::Size;
using twins::Twin;

/// A Program over p:4 with these lines below its header.
std::string two(const std::string& lines) { return "retile.program/2\n" + lines + "\n"; }
std::string steps(const std::string& lines) {
  return two("mesh p:4\nfrom [3{p}10]\nto [3{p}10]\n" + lines);
}
std::string over(const std::string& keys) {
  return steps("allgather_dims " + keys + " groups=[1,4]<=[4]");
}
const std::string rows = "[[0,0,0,0,3],[1,1,0,0,3],[2,2,0,0,3],[3,3,0,0,1]]";

std::vector<Twin> all() {
  return {
      {"tiles are the ones that make so many", steps(""),
       two("mesh p:4\nfrom [«2{p}10»]\nto [3{p}10]"), Code::ill_formed_type},
      {"blocks suffice", two("mesh p:4\nfrom [4~{p}10]\nto [10]"),
       two("mesh p:4\nfrom [«2~{p}10»]\nto [10]"), Code::ill_formed_type},
      {"cuts never fall", two("mesh p:2\nfrom [(0,3,10){p}10]\nto [10]"),
       two("mesh p:2\nfrom [(0,11,«10»){p}10]\nto [10]"), Code::ill_formed_type},
      {"cuts begin with 0", two("mesh p:2\nfrom [(0,3,10){p}10]\nto [10]"),
       two("mesh p:2\nfrom [(«1»,3,10){p}10]\nto [10]"), Code::ill_formed_type},
      {"cuts end with the global size", two("mesh p:2\nfrom [(0,3,10){p}10]\nto [10]"),
       two("mesh p:2\nfrom [(0,3,«9»){p}10]\nto [10]"), Code::ill_formed_type},
      {"tiles have cuts", two("mesh p:2\nfrom [(0,3,10){p}10]\nto [10]"),
       two("mesh p:2\nfrom [«(0,3){p}10»]\nto [10]"), Code::ill_formed_type},
      {"halos are no longer than the array", two("mesh p:2\nfrom [5{p}10<10,0>]\nto [10]"),
       two("mesh p:2\nfrom [5{p}10«<11,0>»]\nto [10]"), Code::bad_number},
      {"halos have two numbers", two("mesh p:2\nfrom [5{p}10<1,0>]\nto [10]"),
       two("mesh p:2\nfrom [5{p}10<1«>»]\nto [10]"), Code::syntax},
      {"parts divide their axis", two("mesh p:6\nfrom [5{p:(3)2}10]\nto [10]"),
       two("mesh p:6\nfrom [3{p:(3)«4»}10]\nto [10]"), Code::axis_size_mismatch},
      {"parts do not overlap", two("mesh p:6\nfrom [5{p:(1)2}10, 4{p:(2)3}10]\nto [10, 10]"),
       two("mesh p:6\nfrom [5{«p:(1)2»}10, 4{p:(1)3}10]\nto [10, 10]"), Code::axis_used_twice},
      {"rooted layouts are on a device", two("mesh p:2\nfrom [10]@1\nto [10]"),
       two("mesh p:2\nfrom [10]@«2»\nto [10]"), Code::bad_device},
      {"rooted layouts are not cut", two("mesh p:2\nfrom [10]@1\nto [10]"),
       two("mesh p:2\nfrom [«5{p}10»]@1\nto [10]"), Code::ill_formed_type},
      {"blocks of one device are whole", two("mesh p:2\nfrom [12~{}10]@1\nto [10]"),
       two("mesh p:2\nfrom [«9~{}10»]@1\nto [10]"), Code::ill_formed_type},
      {"orders list every position", two("mesh p:2 order=[1,0]\nfrom [10]\nto [10]"),
       two("mesh p:2 order=«[1]»\nfrom [10]\nto [10]"), Code::bad_program},
      {"iotas list every position", two("mesh p:4 order=[4]<=[2,2]T(1,0)\nfrom [10]\nto [10]"),
       two("mesh p:4 order=[«2»]<=[2]\nfrom [10]\nto [10]"), Code::bad_program},
      {"iotas list no more than that", two("mesh p:4 order=[4]<=[2,2]T(1,0)\nfrom [10]\nto [10]"),
       two("mesh p:4 order=[«6»]<=[3,2]T(1,0)\nfrom [10]\nto [10]"), Code::bad_program},
      {"orders list nobody twice", two("mesh p:2 order=[1,0]\nfrom [10]\nto [10]"),
       two("mesh p:2 order=[1,«1»]\nfrom [10]\nto [10]"), Code::bad_program},
      {"orders list devices", two("mesh p:2 order=[1,0]\nfrom [10]\nto [10]"),
       two("mesh p:2 order=[1,«2»]\nfrom [10]\nto [10]"), Code::bad_program},
      {"meshes have no more positions than devices",
       two("mesh p:2\ndevices 3\nfrom [5{p}10]\nto [10]@0"),
       two("mesh «p:4»\ndevices 3\nfrom [5{p}10]\nto [10]@0"), Code::bad_program},
      {"all meshes agree, also those that another one follows at once",
       two("mesh p:4\nmesh a:2,b:2\nfrom [3{a,b}10]\nto [10]"),
       two("mesh p:2\nmesh «a:2,b:2»\nfrom [3{a,b}10]\nto [10]"), Code::bad_program},
      {"orders of all meshes are read",
       two("mesh p:4 order=[3,2,1,0]\nmesh a:2,b:2\nfrom [3{a,b}10]\nto [10]"),
       two("mesh p:4 order=[3,2,1,«1»]\nmesh a:2,b:2\nfrom [3{a,b}10]\nto [10]"),
       Code::bad_program},
      {"a view has the elements of the array",
       two("mesh p:2\nfrom [4{p}8]\nto [2@{p}8]\nview [2,2,2]"),
       two("mesh p:2\nfrom [4{p}8]\nto [2@{p}8]\nview «[2,2,3]»"), Code::ill_formed_type},
      {"blocks end where dimensions of a view do",
       two("mesh p:2\nview [2,2,2]\nfrom [4{p}8]\nto [2@{p}8]"),
       two("mesh p:2\nview «[4,2]»\nfrom [4{p}8]\nto [2@{p}8]"), Code::ill_formed_type},
      {"rounds end there, too", two("mesh p:2\nfrom [8]\nto [1@{p}8]\nview [4,2]"),
       two("mesh p:2\nfrom [8]\nto [1@{p}8]\nview «[2,4]»"), Code::ill_formed_type},
      {"rounds of a view are whole", two("mesh p:2\nfrom [12]\nto [3@{p}12]\nview [2,2,3]"),
       two("mesh p:2\nfrom [12]\nto [4@{p}12]\nview «[3,4]»"), Code::ill_formed_type},
      {"blocks of a view are alike", two("mesh p:2\nfrom [2~{p}4]\nto [4]\nview [2,2]"),
       two("mesh p:2\nfrom [3~{p}4]\nto [4]\nview «[2,2]»"), Code::ill_formed_type},
      {"what a view does not split may be cut as it likes",
       two("mesh p:2\nfrom [2{p}3, 4]\nto [3, 1@{p}4]\nview [3,2,2]"),
       two("mesh p:2\nfrom [2{p}3, 4]\nto [3, 1@{p}4]\nview «[3,1,2,2,1]»"), Code::ill_formed_type},
      {"lists of tiles have no view", two("devices 2\nfrom [8]\nto [8]\nview [8]"),
       two("devices 2\nfrom tile=[4] global=[8] at=[[0],[4]]\nto [8]\nview «[8]»"),
       Code::ill_formed_type},
      {"a view is said once", two("mesh p:2\nfrom [8]\nto [1@{p}8]\nview [4,2]"),
       two("mesh p:2\nfrom [8]\nview [4,2]\nto [1@{p}8]\nview «[4,2]»"), Code::bad_program},
      {"claims are of the view",
       two("mesh p:2\nfrom [8]\nto [1@{p}8]\nview [4,2]\ndynslice dim=1 groups=[[0,1]] map=[4, "
           "1{p}2]"),
       two("mesh p:2\nfrom [8]\nto [1@{p}8]\nview [4,2]\ndynslice dim=1 groups=[[0,1]] "
           "map=«[8]»"),
       Code::rank_mismatch},
      {"shapes have a row per device",
       two("devices 2\nfrom tile=[7] global=[10] at=[[0],[3]] shapes=[[3],[7]]\nto [10]"),
       two("devices 2\nfrom tile=[7] global=[10] at=[[0],[3]] shapes=«[[3]]»\nto [10]"),
       Code::bad_program},
      {"tile is the largest extent",
       two("devices 2\nfrom tile=[7] global=[10] at=[[0],[3]] shapes=[[3],[7]]\nto [10]"),
       two("devices 2\nfrom tile=«[8]» global=[10] at=[[0],[3]] shapes=[[3],[7]]\nto [10]"),
       Code::ill_formed_type},
      {"empty tiles are zeros",
       two("devices 2\nfrom tile=[10,2] global=[10,2] at=[[0,0],[0,0]] "
           "shapes=[[10,2],[0,0]]\nto [10,2]"),
       two("devices 2\nfrom tile=[10,2] global=[10,2] at=[[0,0],[0,0]] "
           "shapes=[[10,2],[«0»,2]]\nto [10,2]"),
       Code::bad_program},
      {"a piece has an element", steps("dynslice dim=0 groups=[4,1]<=[4] piece=3"),
       steps("dynslice dim=0 groups=[4,1]<=[4] piece=«0»"), Code::bad_number},
      {"steps along several dimensions have one", over("dims=[0,0] counts=[2,2]"),
       over("dims=[] counts=«[]»"), Code::bad_program},
      {"each count has a dimension", over("dims=[0,0] counts=[2,2]"),
       over("dims=«[0]» counts=[2,2]"), Code::bad_program},
      {"counts are at least 1", over("dims=[0,0] counts=[4,1]"), over("dims=[0,0] counts=[4,«0»]"),
       Code::bad_number},
      {"counts have a product", over("dims=[0,0] counts=[4294967296,2147483647]"),
       over("dims=[0,0] counts=«[4294967296,2147483648]»"), Code::bad_number},
      {"each of these dimensions is one of the array", over("dims=[0,0] counts=[2,2]"),
       over("dims=[0,«1»] counts=[2,2]"), Code::bad_dimension},
      {"alltoalls along several dimensions put together along some",
       steps("alltoall_dims splits=[0,0] concats=[0,0] counts=[2,2] groups=[1,4]<=[4]"),
       steps("«alltoall_dims» splits=[0,0] counts=[2,2] groups=[1,4]<=[4]"), Code::bad_program},
      {"alltoalls along several dimensions put together as often as they cut",
       steps("alltoall_dims splits=[0,0] concats=[0,0] counts=[2,2] groups=[1,4]<=[4]"),
       steps("alltoall_dims splits=[0,0] concats=«[0]» counts=[2,2] groups=[1,4]<=[4]"),
       Code::bad_program},
      {"version 1 has no steps along several dimensions", over("dims=[0] counts=[4]"),
       "retile.program/1\nmesh p:4\nfrom [3{p}12]\nto [12]\n«allgather_dims» dims=[0] counts=[4] "
       "groups=[1,4]<=[4]\n",
       Code::bad_program},
      {"a piece has an extent or is balanced",
       steps("dynslice dim=0 groups=[4,1]<=[4] piece=balanced"),
       steps("dynslice dim=0 groups=[4,1]<=[4] piece=«even»"), Code::syntax},
      {"only what cuts has pieces", steps("allgather dim=0 groups=[4,1]<=[4]"),
       steps("allgather dim=0 groups=[4,1]<=[4] «piece»=3"), Code::bad_program},
      {"shapes stand beside at",
       steps("allpermute pairs=[] at=[[0],[3],[6],[9]] shapes=[[3],[3],[3],[1]]"),
       steps("allpermute pairs=[] shapes=«[[3],[3],[3],[1]]»"), Code::bad_program},
      {"an exchange has tile or shapes",
       steps("exchange transfers=" + rows + " shapes=[[3],[3],[3],[1]]"),
       steps("«exchange» transfers=" + rows + " tile=[3] shapes=[[3],[3],[3],[1]]"),
       Code::bad_program},
      {"version 1 has no short tiles", two("mesh p:4\nfrom [3{p}10]\nto [10]"),
       "retile.program/1\nmesh p:4\nfrom [«3{p}10»]\nto [10]\n", Code::ill_formed_type},
      {"version 1 has no blocks", two("mesh p:4\nfrom [3~{p}12]\nto [12]"),
       "retile.program/1\nmesh p:4\nfrom [«3~{p}12»]\nto [12]\n", Code::bad_program},
      {"version 1 has no balanced tiles", two("mesh p:4\nfrom [3={p}10]\nto [10]"),
       "retile.program/1\nmesh p:4\nfrom [«3={p}12»]\nto [12]\n", Code::bad_program},
      {"version 1 has no pieces", steps("dynslice dim=0 groups=[4,1]<=[4] piece=3"),
       "retile.program/1\nmesh p:4\nfrom [3{p}12]\nto [3{p}12]\ndynslice dim=0 groups=[4,1]<=[4] "
       "«piece»=3\n",
       Code::bad_program},
  };
}

class Version2 : public testing::TestWithParam<Twin> {};

TEST_P(Version2, accepts_the_good_twin_and_prints_it_back) {
  const std::string& good = GetParam().good;
  const auto got = parse_programs(good);
  ASSERT_TRUE(got.has_value()) << good << (got ? "" : render(got.error()));
  const Program& program = got->front();
  EXPECT_EQ(twins::only(parse_programs(to_text(program)), good), program) << to_text(program);
  EXPECT_EQ(retile::parse_program_json(to_json(program)).value(), program) << to_json(program);
}

TEST_P(Version2, refuses_the_bad_twin_at_its_place) {
  const auto bad = twins::unmarked(GetParam().bad);
  const auto got = parse_programs(bad.text, "file");
  ASSERT_FALSE(got.has_value()) << bad.text;
  SCOPED_TRACE(render(got.error()));
  EXPECT_EQ(code_name(got.error().code), code_name(GetParam().code));
  EXPECT_EQ(got.error().input, bad.line_text);
  EXPECT_EQ(got.error().where.begin, bad.span.begin);
  EXPECT_EQ(got.error().where.end, bad.span.end);
}

std::string test_name(const testing::TestParamInfo<Twin>& drawn) {
  std::string out;
  for (const char c : drawn.param.name)
    out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}
INSTANTIATE_TEST_SUITE_P(Twins, Version2, testing::ValuesIn(all()), test_name);

TEST(Version2, what_needs_nothing_new_is_version_1) {
  const Program program = twins::only(
      parse_programs(two("mesh p:4\nfrom [3{p}12]\nto [12]\nallgather dim=0 groups=[1,4]<=[4]")),
      "");
  EXPECT_EQ(to_text(program).substr(0, 17), "retile.program/1\n");
  EXPECT_EQ(traits_of(program).version, 1);
}

TEST(Version2, what_needs_version_2_is_named) {
  const std::string even = "mesh p:4\nfrom [3{p}12]\nto [12]\n";
  const std::string gather = "allgather dim=0 groups=[1,4]<=[4]";
  const std::string differ = "tiles that are not all alike";
  const std::vector<std::pair<std::string, std::string>> programs{
      {even + gather, ""},
      {"mesh p:4\nfrom [3{p}10]\nto [10]\n" + gather, differ},
      {even + gather + " at=[[0],[0],[0],[0]] shapes=[[12],[12],[12],[12]]", differ},
      {"mesh p:4\nfrom [12]\nto [3{p}12]\ndynslice dim=0 groups=[1,4]<=[4] piece=3", differ},
      {"mesh p:4\nfrom sum{p}[12]\nto [12]\nallreduce groups=[1,4]<=[4]", "addends"},
      {"mesh p:4\nfrom [12]\nto [12]\nunreduce groups=[1,4]<=[4]", "addends"},
      {even + "allgather_dims dims=[0] counts=[4] groups=[1,4]<=[4]",
       "steps along several dimensions"}};
  for (const auto& [text, words] : programs) {
    const auto traits = traits_of(twins::only(parse_programs(two(text)), ""));
    EXPECT_EQ(traits.beyond_first_version().value_or(""), words) << text;
    EXPECT_EQ(traits.version, words.empty() ? 1 : 2) << text;
    EXPECT_EQ(traits.alike, words != differ) << text;
  }
}

TEST(Version2, a_step_is_as_new_as_its_newest_key) {
  const auto first_step = [](const std::string& text) {
    return twins::only(parse_programs(two(text)), "").steps.front();
  };
  const std::string slice = "mesh p:4\nfrom [12]\nto [3{p}12]\ndynslice dim=0 groups=[1,4]<=[4]";
  EXPECT_EQ(since(first_step(slice).op), 1);
  EXPECT_EQ(since(first_step(slice + " piece=3").op), 2);
}

TEST(Version2, an_order_says_who_holds_the_tile_of_a_position) {
  const Program program = twins::only(
      parse_programs(two("mesh p:3 order=[4,0,2]\ndevices 5\nfrom [4{p}10]\nto [10]@2")), "");
  EXPECT_EQ(program.from.base_offsets(), (std::vector<Size>{4, 0, 8, 0, 0}));
  EXPECT_EQ(program.from.extents(), (std::vector<Size>{4, 0, 2, 0, 4}));
  EXPECT_EQ(program.to.extents(), (std::vector<Size>{0, 0, 10, 0, 0}));
}

TEST(Version2, an_order_of_all_devices_keeps_even_tiles_even) {
  const Program program = twins::only(
      parse_programs(two("mesh x:2,y:3 order=[6]<=[3,2]T(1,0)\nfrom [2{x}4, 1{y}3]\nto [4, 3]")),
      "");
  EXPECT_TRUE(program.from.is_even());
  // Position 2x + .. is device [0,2,4,1,3,5][p].
  EXPECT_EQ(program.from.base_offset(1), (retile::Shape{2, 0}));
  EXPECT_EQ(program.from.base_offset(2), (retile::Shape{0, 1}));
}

TEST(Version2, steps_see_the_view_and_the_forms_say_the_array) {
  const Program program =
      twins::only(parse_programs(two("mesh p:2\nview [2,2,2]\nfrom [4{p}8]\nto [2@{p}8]\n"
                                     "alltoall split=1 concat=0 groups=[[0,1]] map=[2, 1{p}2, 2]")),
                  "");
  EXPECT_EQ(program.from.global(), (retile::Shape{2, 2, 2}));
  EXPECT_EQ(program.array_from().global(), retile::Shape{8});
  EXPECT_EQ(program.array_to().stretches(1).front().size(), 2U);
  const std::string printed = to_text(program);
  EXPECT_EQ(printed, two("mesh p:2\nfrom [4{p}8]\nto [2@{p}8]\nview [2,2,2]\n"
                         "alltoall split=1 concat=0 groups=[[0,1]] map=[2, 1{p}2, 2]"));
  EXPECT_EQ(twins::only(parse_programs(printed), printed), program);
  EXPECT_EQ(retile::parse_program_json(to_json(program)), program);
  // Who sends other tiles of one view does something else.
  Program other = program;
  other.array->from = other.array->to;
  EXPECT_NE(hash_of(other), hash_of(program));
}

TEST(Version2, orders_are_read_alone) {
  EXPECT_EQ(retile::parse_order("[3,1,0,2]", 4).value().entries(), (std::vector<Size>{3, 1, 0, 2}));
  EXPECT_EQ(retile::parse_order(" [6]<=[3,2]T(1,0) ", 6).value().entries(),
            (std::vector<Size>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(retile::parse_order("[2147483647]", 1).value().entries(),
            (std::vector<Size>{2147483647}));
  const auto code = [](const char* text, Size positions) {
    const auto read = retile::parse_order(text, positions, "--order");
    return read ? "accepted" : std::string(code_name(read.error().code));
  };
  EXPECT_EQ(code("[0,1]", 3), "bad_program");
  EXPECT_EQ(code("[0,1,1]", 3), "bad_program");
  EXPECT_EQ(code("[2147483648]", 1), "bad_program");
  EXPECT_EQ(code("[-1,0]", 2), "bad_number");
  EXPECT_EQ(code("[99999999999999999999,0]", 2), "bad_number");
  EXPECT_EQ(code("[3]<=[2]", 3), "bad_program");
  EXPECT_EQ(code("[0,1]x", 2), "syntax");
  EXPECT_EQ(code("[4294967296]<=[2147483648,2]", 4), "bad_program");
  const auto iota = retile::parse_order("[6]<=[3,2]T(1,0)", 4, "--order");
  EXPECT_EQ(render(iota.error()),
            "error: --order: order has 6 entries, the mesh has 4 positions\n"
            "  [6]<=[3,2]T(1,0)\n   ^\n"
            "note: order lists the device at each position of the mesh, each once\n");
  EXPECT_EQ(code("", 2), "syntax");
}

TEST(Version2, a_range_in_an_order_stands_for_its_numbers) {
  EXPECT_EQ(retile::parse_order("[4..7, 0 .. 2, 3]", 8).value().entries(),
            (std::vector<Size>{4, 5, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(retile::parse_order("[5..5]", 1).value().entries(), (std::vector<Size>{5}));
  const auto place = [](const std::string& text, Size positions) {
    const auto read = retile::parse_order(text, positions, "--order");
    if (read) return std::string("read");
    const retile::Span where = read.error().where;
    return text.substr(where.begin, where.end - where.begin);
  };
  EXPECT_EQ(place("[3..0]", 4), "0");
  EXPECT_EQ(place("[0..2147483647]", 4), "2147483647");
  EXPECT_EQ(place("[0..2, 3..4]", 4), "4");
  EXPECT_EQ(place("[0..2, 1]", 4), "1");
  EXPECT_EQ(place("[4, 0..2, 4]", 5), "4");
  EXPECT_EQ(place("[0..2147483648]", 4), "2147483648");
  // A Program lists its devices.
  EXPECT_FALSE(parse_programs(two("mesh p:4 order=[0..3]\nfrom [3{p}10]\nto [10]")).has_value());
}

TEST(Version2Text, every_tiling_is_of_the_mesh_above_it) {
  const auto read =
      retile::parse_programs(two("mesh p:2 order=[1,0]\nto [5{p}10]\nmesh p:2\nfrom [5{p}10]"));
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_EQ(read->front().from.base_offsets(), (std::vector<Size>{0, 5}));
  EXPECT_EQ(read->front().to.base_offsets(), (std::vector<Size>{5, 0}));
}

TEST(Version2Json, each_end_has_its_order) {
  const auto read = retile::parse_program_json(
      R"({"schema":"retile.program/2","devices":2,"mesh":[["p",2]],"order":[1,0],)"
      R"("mesh_to":[["p",2]],"order_to":[0,1],"from":"[5{p}10]","to":"[5{p}10]","steps":[]})");
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_EQ(read->from.base_offsets(), (std::vector<Size>{5, 0}));
  EXPECT_EQ(read->to.base_offsets(), (std::vector<Size>{0, 5}));
}

}  // namespace
}  // namespace version_2_test
