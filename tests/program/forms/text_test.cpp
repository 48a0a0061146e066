#include "retile/program/forms/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "program/forms/twins.h"
#include "retile/notation/paper/notation.h"
#include "support/program_generators.h"
#include "support/samples.h"

namespace text_test {
namespace {

using retile::Code;
using retile::Diagnostic;
using retile::parse_programs;
using retile::Program;
using testing::Contains;
using testing::HasSubstr;
using twins::header;
using twins::over_six;

Program read(const std::string& text) { return twins::only(parse_programs(text, "test"), text); }

Diagnostic refused(const std::string& text) {
  auto out = parse_programs(text, "test");
  if (out) throw std::runtime_error("was accepted: " + text);
  return out.error();
}

// ---- Twins --------------------------------------------------------------------------------------

class TextRule : public testing::TestWithParam<twins::Twin> {};

TEST_P(TextRule, accepts_the_good_twin) {
  const auto got = parse_programs(GetParam().good);
  EXPECT_TRUE(got.has_value()) << GetParam().good << (got ? "" : render(got.error()));
}

TEST_P(TextRule, refuses_the_bad_twin_at_its_place) {
  const auto bad = twins::unmarked(GetParam().bad);
  const auto got = parse_programs(bad.text, "file");
  ASSERT_FALSE(got.has_value()) << bad.text;
  const Diagnostic& diagnostic = got.error();
  SCOPED_TRACE(render(diagnostic));
  EXPECT_EQ(code_name(diagnostic.code), code_name(GetParam().code));
  EXPECT_EQ(diagnostic.source, "file:" + std::to_string(bad.line));
  EXPECT_EQ(diagnostic.input, bad.line_text);
  EXPECT_EQ(diagnostic.where.begin, bad.span.begin);
  EXPECT_EQ(diagnostic.where.end, bad.span.end);
  EXPECT_FALSE(diagnostic.message.empty());
  EXPECT_NE(diagnostic.message.back(), '.');
}

std::string test_name(const testing::TestParamInfo<twins::Twin>& drawn) {
  std::string out;
  for (const char c : drawn.param.name) {
    const bool word = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
    out += word ? c : '_';
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Twins, TextRule, testing::ValuesIn(twins::all()), test_name);

TEST(Twins, cover_every_code_that_the_text_form_can_give) {
  std::set<Code> seen;
  for (const auto& twin : twins::all()) seen.insert(twin.code);
  for (const Code code :
       {Code::syntax, Code::bad_number, Code::size_overflow, Code::empty_mesh, Code::duplicate_axis,
        Code::too_many_devices, Code::unknown_axis, Code::axis_used_twice, Code::axis_size_mismatch,
        Code::ill_formed_type, Code::rank_mismatch, Code::globaltype_mismatch, Code::bad_program,
        Code::bad_device, Code::bad_dimension}) {
    EXPECT_EQ(seen.count(code), 1U) << code_name(code);
  }
}

// ---- Repairs ------------------------------------------------------------------------------------

TEST(Repair, names_the_nearest_key) {
  EXPECT_THAT(refused(over_six("alltoall spilt=0 concat=1 groups=[]")).notes,
              Contains("did you mean split?"));
  EXPECT_THAT(refused(over_six("alltoall qqqqqq=0")).notes,
              Not(Contains(HasSubstr("did you mean"))));
}
TEST(Repair, names_the_nearest_step) {
  EXPECT_THAT(refused(over_six("allgahter dim=0")).notes, Contains("did you mean allgather?"));
  EXPECT_THAT(refused(over_six("AllToAll dim=0")).notes, Contains("did you mean alltoall?"));
}
TEST(Repair, names_the_axes_of_the_mesh) {
  const auto notes = refused(header("mesh devs:2,hosts:3\nfrom [3{dev}6]\nto [6]")).notes;
  EXPECT_THAT(notes, Contains("the mesh has the axes devs and hosts; did you mean devs?"));
}
TEST(Repair, gives_a_tile_that_fits) {
  EXPECT_THAT(refused(header("mesh x:4\nfrom [2{x}12]\nto [12]")).notes,
              Contains("axis x has size 4; 3{x}12 is well formed"));
  EXPECT_THAT(refused(header("devices 4\nfrom [2{1:2,2:2}12]\nto [12]")).notes,
              Contains("3{1:2,2:2}12 is well formed"));
  EXPECT_THAT(refused(header("mesh x:5\nfrom [2{x}12]\nto [12]")).notes,
              Contains("axis x has size 5, and 5 does not divide 12; 2{x}10 is well formed"));
}
TEST(Repair, says_which_devices_exist) {
  EXPECT_THAT(refused(over_six("allgather dim=0 groups=[[6]]")).notes,
              Contains("the devices are 0 to 5"));
}
TEST(Repair, renders_with_a_caret) {
  EXPECT_EQ(
      render(refused(header("mesh x:4\nfrom [2{x}12]\nto [12]"))),
      "error: test:3: tile size times axis sizes must equal the global size: 2 * 4 = 8, not 12 "
      "[WF-DIM]\n"
      "  from [2{x}12]\n"
      "        ^~~~~~\n"
      "note: axis x has size 4; 3{x}12 is well formed\n");
}
TEST(Repair, completes_a_dimension) {
  EXPECT_THAT(refused(header("mesh x:4,y:6\nfrom [3{x,1:2}]\nto [12]")).notes,
              Contains("3{x,1:2}24 is well formed"));
}
// One mistake has one message, whoever reads it.
TEST(Voice, of_types_and_of_tilings_is_one) {
  const retile::Mesh mesh = retile::parse_mesh("x:4,y:6").value();
  for (const std::string tiling :
       {"[", "[3", "[3{x", "[3{x}", "[3{x}]", "[3{x}12", "[3{z}12]", "[4{x}12]", "[0{x}12]",
        "[3{x}-12]", "[3{x:5}12]", "[3{x}12, 3{x}12]", "[1{x,x}16]", "[3{\"x}12]", "[3{xy}12]",
        "[9223372036854775808]", "[12] 12", "[4294967296, 4294967296]", "[13{}12]"}) {
    const Diagnostic of_type = retile::parse_type(tiling, mesh).error();
    const Diagnostic of_tiling = refused(header("mesh x:4,y:6\nfrom " + tiling + "\nto []"));
    EXPECT_EQ(of_type.message, of_tiling.message) << tiling;
    EXPECT_EQ(of_type.code, of_tiling.code) << tiling;
    EXPECT_EQ(of_type.rule, of_tiling.rule) << tiling;
  }
  for (const std::string axes :
       {"", "x", "x:", "x:0", "x:4,", "x:4 y", "x:4,x:2", "1:2", "x:-1", "\"x:4", "x:2147483649"}) {
    const Diagnostic of_mesh = retile::parse_mesh(axes).error();
    const Diagnostic of_line = refused(header("mesh " + axes + "\nfrom []\nto []"));
    EXPECT_EQ(of_mesh.message, of_line.message) << axes;
    EXPECT_EQ(of_mesh.code, of_line.code) << axes;
    EXPECT_EQ(of_mesh.notes, of_line.notes) << axes;
  }
}
TEST(Repair, a_text_without_a_name_still_counts_lines) {
  EXPECT_EQ(parse_programs("retile.program/1\nnonsense").error().source, "line 2");
}

// ---- What is read -------------------------------------------------------------------------------

const char* const example_3_1 =
    "retile.program/1\n"
    "mesh x:4,y:6\n"
    "from [3{x}12, 2{y}12]\n"
    "to [2{y}12, 3{x}12]\n"
    "alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]\n"
    "allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, "
    "6{12:2}12]\n"
    "alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]\n";
const char* const replication =
    "retile.program/1\n"
    "mesh a:2,b:2,c:2             # c replicates at the start, b at the end; cost 6, no "
    "permutation\n"
    "from [4, 1{a,b}4]\n"
    "to [1{a,c}4, 4]\n"
    "dynslice dim=0 groups=[4,2]<=[8] tile=[2,1] map=[2{c}4, 1{a,b}4]\n"
    "alltoall split=0 concat=1 groups=[[0,4],[1,5],[2,6],[3,7]] tile=[1,2] map=[1{a,c}4, 2{b}4]\n"
    "allgather dim=1 groups=[4,2]<=[2,2,2]T(0,2,1) tile=[1,4] map=[1{a,c}4, 4]\n";
const char* const out_of_order =
    "retile.program/1\n"
    "mesh a:2,b:3,c:5             # moves the factor 3 although a:2 is minor-most\n"
    "from [1{a,b}6, 3{c}15]\n"
    "to [6, 15]\n"
    "alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]           # "
    "[[0,15,5],[20,10,25],[1,16,6],..]\n"
    "allgather dim=0 groups=[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0) tile=[6,1]    # "
    "[[0,20],[15,10],[5,25],..]\n"
    "allgather dim=1 groups=[2,15]<=[5,2,3]T(1,0,2)<=[2,3,5]T(2,1,0) tile=[6,15] map=[6, 15]\n";

/// Comments and the blanks before them go; nothing else.
std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    at = end + 1;
  }
  return out;
}

TEST(CanonicalText, example_3_1_prints_as_it_is_written) {
  EXPECT_EQ(to_text(read(example_3_1)), example_3_1);
}
TEST(CanonicalText, replication_prints_as_it_is_written) {
  EXPECT_EQ(to_text(read(replication)), without_comments(replication));
}
TEST(CanonicalText, unequal_sizes_out_of_order_print_as_they_are_written) {
  EXPECT_EQ(to_text(read(out_of_order)), without_comments(out_of_order));
}
TEST(CanonicalText, three_programs_in_one_file) {
  const auto all = parse_programs(std::string(example_3_1) + replication + out_of_order);
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0], read(example_3_1));
  EXPECT_EQ((*all)[1], read(replication));
  EXPECT_EQ((*all)[2], read(out_of_order));
}
TEST(CanonicalText, the_tables_are_those_of_the_comments) {
  const Program program = read(out_of_order);
  const auto rows = [&](std::size_t step) {
    const auto& op = program.steps.at(step).op;
    if (const auto* alltoall = std::get_if<retile::Alltoall>(&op))
      return alltoall->groups.to_rows();
    return std::get<retile::Allgather>(op).groups.to_rows();
  };
  using Row = std::vector<retile::Size>;
  EXPECT_EQ(rows(0)[0], (Row{0, 15, 5}));
  EXPECT_EQ(rows(0)[1], (Row{20, 10, 25}));
  EXPECT_EQ(rows(0)[2], (Row{1, 16, 6}));
  EXPECT_EQ(rows(1)[0], (Row{0, 20}));
  EXPECT_EQ(rows(1)[1], (Row{15, 10}));
  EXPECT_EQ(rows(1)[2], (Row{5, 25}));
}

TEST(Text, reads_every_part_of_a_step) {
  const Program program =
      read(over_six("dynslice part=[0,1,0,1,0,1] parts=2 dim=1 tile=[3,2]\n"
                    "alltoall split=1 concat=0 groups=[[0,1],[2,3],[4,5]] "
                    "at=[[0,0],[0,1],[0,0],[0,1],[0,0],[0,1]]\n"
                    "allpermute pairs=[[0,1],[1,0],[5,5]] map=[3{x}6, 4]\n"
                    "allpermute source=[0,1,2,3,5,4]"));
  ASSERT_EQ(program.steps.size(), 4U);
  const auto& dynslice = std::get<retile::Dynslice>(program.steps[0].op);
  EXPECT_EQ(dynslice.dim, 1U);
  EXPECT_EQ(std::get<retile::PartList>(dynslice.pieces).parts, 2);
  EXPECT_EQ(std::get<retile::PartList>(dynslice.pieces).part,
            retile::DeviceTable::list({0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(program.steps[0].claims.tile, (retile::Shape{3, 2}));
  const auto& alltoall = std::get<retile::Alltoall>(program.steps[1].op);
  EXPECT_EQ(alltoall.split, 1U);
  EXPECT_EQ(alltoall.concat, 0U);
  EXPECT_EQ(alltoall.groups.row_count(), 3);
  EXPECT_EQ(program.steps[1].claims.at,
            (std::vector<retile::Size>{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(std::get<retile::PairList>(std::get<retile::Allpermute>(program.steps[2].op).source),
            (retile::PairList{{0, 1}, {1, 0}, {5, 5}}));
  EXPECT_EQ(program.steps[2].claims.map, program.from);
  EXPECT_EQ(std::get<retile::DeviceTable>(std::get<retile::Allpermute>(program.steps[3].op).source),
            retile::DeviceTable::list({0, 1, 2, 3, 5, 4}));
  EXPECT_EQ(op_name(program.steps[0]), "dynslice");
  EXPECT_EQ(op_name(program.steps[1]), "alltoall");
  EXPECT_EQ(op_name(program.steps[2]), "allpermute");
  EXPECT_EQ(op_name(read(over_six("allgather dim=0 groups=[]")).steps[0]), "allgather");
}

TEST(Text, a_table_that_lists_0_1_2_in_order_has_no_stage) {
  const Program program = read(over_six("allpermute source=[6]<=[6]"));
  const auto& source = std::get<retile::Allpermute>(program.steps[0].op).source;
  EXPECT_EQ(std::get<retile::DeviceTable>(source),
            retile::DeviceTable::iota(retile::IotaChain(6), 6));
}

TEST(Text, pythons_repr_of_nested_lists_is_a_table) {
  EXPECT_EQ(read(over_six("allgather dim=0 groups=[[0, 1, 2], [3, 4, 5]]")),
            read(over_six("allgather dim=0 groups=[[0,1,2],[3,4,5]]")));
}

TEST(Text, quoted_and_bare_names_are_one_axis) {
  EXPECT_EQ(read(header("mesh \"x\":2\nfrom [3{x}6]\nto [3{\"x\":2}6]")),
            read(header("mesh x:2\nfrom [3{\"x\"}6]\nto [3{x}6]")));
}

TEST(Text, quoted_names_may_hold_anything_but_quotes) {
  const Program program =
      read(header("mesh \"a # b\\\":2,\"\":3\nfrom [3{\"a # b\\\"}6]\nto [2{\"\"}6]"));
  EXPECT_EQ(program.mesh->axes()[0].name, "a # b\\");
  EXPECT_EQ(program.mesh->axes()[1].name, "");
  EXPECT_EQ(read(to_text(program)), program);
}

TEST(Text, meshes_name_axes_and_nothing_else) {
  const Program named = read(header("mesh x:2,y:3\nfrom [3{x}6]\nto [2{y}6]"));
  const Program numbered = read(header("devices 6\nfrom [3{3:2}6]\nto [2{1:3}6]"));
  EXPECT_EQ(named.from, numbered.from);
  EXPECT_EQ(named.to, numbered.to);
  EXPECT_EQ(named.devices, numbered.devices);
  EXPECT_EQ(to_text(numbered), header("devices 6\nfrom [3{3:2}6]\nto [2{1:3}6]"));
}

TEST(Text, a_second_mesh_names_the_target_and_the_claims) {
  const std::string text =
      header("mesh x:2,y:3\nfrom [3{x}6]\nmesh z:6\nto [1{z}6]\nallpermute pairs=[] map=[1{z}6]");
  const Program program = read(text);
  EXPECT_EQ(to_text(*program.mesh), "x:2,y:3");
  EXPECT_EQ(to_text(*program.mesh_to), "z:6");
  EXPECT_EQ(to_text(program), text);
}

TEST(Text, a_second_mesh_alone) {
  const std::string text = header("devices 6\nfrom [6]\nmesh z:6\nto [1{z}6]");
  const Program program = read(text);
  EXPECT_FALSE(program.mesh.has_value());
  EXPECT_EQ(to_text(program), text);
}

TEST(Text, meshes_in_unusual_places_keep_their_meaning) {
  // to is read with the first mesh, from and the claim with the second.
  const Program program = read(header(
      "mesh x:2,y:3\nto [3{x}6]\nmesh x:3,y:2\nfrom [2{x}6]\nallpermute pairs=[] map=[3{y}6]"));
  EXPECT_EQ(program.to.digits()[0], (std::vector<retile::Digit>{{3, 2}}));
  EXPECT_EQ(program.from.digits()[0], (std::vector<retile::Digit>{{2, 3}}));
  EXPECT_EQ(program.steps[0].claims.map->digits()[0], (std::vector<retile::Digit>{{1, 2}}));
  EXPECT_EQ(read(to_text(program)), program);
  // A mesh below both names the claims only.
  const Program below =
      read(header("devices 6\nfrom [6]\nto [6]\nmesh x:6\nallpermute pairs=[] map=[1{x}6]"));
  EXPECT_EQ(read(to_text(below)), below);
}

TEST(Text, listed_tilings_print_as_they_are_written) {
  const std::string text = header(
      "devices 2\nfrom tile=[1,2] global=[2,2] at=[[0,0],[1,0]]\nto tile=[2,2] global=[2,2] "
      "at=[[0,0],[0,0]]");
  EXPECT_EQ(to_text(read(text)), text);
  const std::string scalar = header(
      "devices 2\nfrom tile=[] global=[] at=[[],[]]\nto []\nallpermute pairs=[] tile=[] "
      "at=[[],[]]");
  EXPECT_EQ(to_text(read(scalar)), scalar);
}

TEST(Text, a_tile_map_that_digits_cannot_say_prints_by_offsets) {
  // Popping 3 off the digits 2,3 of a dimension: the tiles are no digits of the device number any
  // more.
  Program program = read(header("devices 6\nfrom [1{3:2,1:3}6]\nto [6]"));
  static_cast<void>(program.from.pop(0, 3));
  ASSERT_FALSE(program.from.is_compact());
  program.to = program.from;
  program.steps.push_back(read(over_six("allpermute pairs=[]")).steps[0]);
  program.steps[0].claims.map = program.from;
  const Program back = read(to_text(program));
  EXPECT_TRUE(back.from.is_listed());
  EXPECT_EQ(back.from.base_offsets(), program.from.base_offsets());
  EXPECT_EQ(back.steps[0].claims.at, program.from.base_offsets());
}

TEST(Text, one_step_prints_as_a_line) {
  const Program program =
      read(over_six("dynslice dim=0 parts=2 part=[0,1,0,1,0,1] map=[3{x}6, 4]"));
  EXPECT_EQ(to_text(program.steps[0], &*program.mesh),
            "dynslice dim=0 parts=2 part=[0,1,0,1,0,1] map=[3{x}6, 4]");
  EXPECT_EQ(to_text(program.steps[0], nullptr),
            "dynslice dim=0 parts=2 part=[0,1,0,1,0,1] map=[3{3:2}6, 4]");
  const Program at =
      read(over_six("allpermute pairs=[] tile=[1,1] at=[[0,0],[0,1],[0,2],[0,3],[0,4],[0,5]]"));
  EXPECT_EQ(to_text(at.steps[0], nullptr),
            "allpermute pairs=[] tile=[1,1] at=[[0,0],[0,1],[0,2],[0,3],[0,4],[0,5]]");
}

TEST(Text, tables_print_as_the_form_writes_them) {
  retile::IotaChain chain(12);
  EXPECT_EQ(groups_to_text(retile::DeviceTable::iota(chain, 3)), "[4,3]<=[12]");
  EXPECT_EQ(list_to_text(retile::DeviceTable::iota(chain, 12)), "[12]<=[12]");
  chain.append({.shape = {3, 4}, .transpose = {1, 0}});
  chain.append({.shape = {12}, .transpose = {}});
  EXPECT_EQ(groups_to_text(retile::DeviceTable::iota(chain, 3)), "[4,3]<=[12]<=[3,4]T(1,0)");
  EXPECT_EQ(groups_to_text(retile::DeviceTable::rows({{0, 1}, {}, {2}})), "[[0,1],[],[2]]");
  EXPECT_EQ(groups_to_text(retile::DeviceTable::rows({})), "[]");
  EXPECT_EQ(list_to_text(retile::DeviceTable::list({})), "[]");
  EXPECT_EQ(list_to_text(retile::DeviceTable::list({2, 0})), "[2,0]");
}

// ---- Size and rubbish ---------------------------------------------------------------------------

double seconds(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(parse_programs(text));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string repeated(const std::string& piece, std::size_t count) {
  std::string out;
  out.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += piece;
  return out;
}

TEST(Rubbish, megabytes_are_refused_quickly) {
  constexpr std::size_t count = support::instrumented ? 100'000 : 300'000;
  std::string axes = "x0:1";
  std::string used = "x0";
  for (int i = 1; i < 20'000; ++i) {
    axes += ",x" + std::to_string(i) + ":1";
    used += ",x" + std::to_string(i);
  }
  const std::vector<std::string> texts = {
      repeated("[", count),
      repeated("\n", count),
      repeated("retile.program/1\n", count / 10),
      header("from " + repeated("[", count)),
      header("devices 1\nfrom [" + repeated("1,", count) + "1]\nto []"),
      header("devices 1\nfrom [1{" + repeated("1:1,", count) + "1:1}1]\nto [2]"),
      header("mesh " + axes + "\nfrom [1{" + used + "}1]\nto [2]"),
      header("mesh " + repeated("x", count) + ":1\nfrom [1{y}1]\nto [1]"),
      header("mesh \"" + repeated("x#", count)),
      over_six("allgather dim=0 groups=[" + repeated("[0],", count) + "[9]]"),
      over_six("allpermute source=[6]" + repeated("<=[6]", count) + "<=[7]"),
      over_six("allpermute source=[6]<=[" + repeated("1,", count) + "7]"),
      over_six("allpermute tile=[" + repeated("9", count) + "]"),
      over_six("allpermute " + repeated("tile=[] ", count)),
      over_six(repeated("a", count)),
      over_six("allgather " + repeated("b", count) + "=1"),
      over_six(repeated("allpermute pairs=[]\n", count / 20) + "x"),
      std::string(count, '\0'),
      repeated("\xFF\x80", count),
  };
  for (const std::string& text : texts) {
    const auto got = parse_programs(text, "rubbish");
    ASSERT_FALSE(got.has_value()) << text.substr(0, 80);
    EXPECT_LT(got.error().message.size(), 400U) << text.substr(0, 80);
    EXPECT_LT(render(got.error()).size(), 4000U) << text.substr(0, 80);
    EXPECT_LT(seconds(text), 30.0) << text.substr(0, 80);  // quadratic time would be minutes
  }
}

TEST(Rubbish, random_bytes_never_crash) {
  std::size_t refused_count = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    const auto choose = support::seeded(seed);
    std::string text = choose(2) == 0 ? "" : "retile.program/1\ndevices 2\nfrom [2]\nto [2]\n";
    const auto length = choose(200);
    for (retile::Size i = 0; i < length; ++i) text += static_cast<char>(choose(256));
    if (!parse_programs(text)) ++refused_count;
  }
  EXPECT_GT(refused_count, 1'900U);
}

TEST(Size, a_table_of_65536_devices_is_read_and_printed) {
  std::string text =
      "retile.program/1\ndevices 65536\nfrom [65536]\nto [65536]\nallpermute source=[0";
  for (int d = 1; d < 65536; ++d) text += "," + std::to_string(d);
  text += "]\n";
  EXPECT_EQ(to_text(read(text)), text);
}

TEST(Size, two_billion_devices_need_no_table) {
  const std::string text = header(
      "devices 2147483648\nfrom [1{1:2147483648}2147483648]\nto [2147483648]\n"
      "allgather dim=0 groups=[1,2147483648]<=[2147483648]");
  EXPECT_EQ(to_text(read(text)), text);
}

}  // namespace
}  // namespace text_test
