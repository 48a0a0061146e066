#include "spec/program/text.h"

#include <gtest/gtest.h>

#include <string>

namespace spec::text_test {
namespace {

/// A Program of one step over x:2,y:3 that only has to be one, not to be right.
std::string with_step(const std::string& step) {
  return "retile.program/1\nmesh x:2,y:3\nfrom [6{x}12, 12]\nto [12, 12]\n" + step + "\n";
}
std::string with_header(const std::string& header) { return "retile.program/1\n" + header + "\n"; }

bool is_program(const std::string& text) { return !parse_programs(text).error; }

Program only(const std::string& text) {
  const Programs read = parse_programs(text);
  EXPECT_FALSE(read.error) << read.error->line << ":" << read.error->column << ": "
                           << read.error->message;
  EXPECT_EQ(read.programs.size(), 1U);
  return read.programs.empty() ? Program() : read.programs.front();
}

Rows all_rows(const Table& table) {
  Rows out;
  for (Size r = 0; r < row_count(table); ++r) out.push_back(row(table, r));
  return out;
}
Rows groups_of(const std::string& table, const std::string& devices) {
  return all_rows(only("retile.program/1\ndevices " + devices +
                       "\nfrom [1]\nto [1]\nallgather dim=0 groups=" + table + "\n")
                      .steps[0]
                      .table);
}

TEST(ProgramText, the_smallest_program) {
  const Program program = only("retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]");
  EXPECT_EQ(program.devices, 2);
  EXPECT_EQ(program.from.tile, (Sizes{2}));
  EXPECT_EQ(program.to.global, (Sizes{4}));
  EXPECT_TRUE(program.steps.empty());
}

TEST(ProgramText, line_ends_blanks_and_comments_are_free) {
  EXPECT_TRUE(is_program("retile.program/1\r\nmesh x:2\r\nfrom [2{x}4]\r\nto [4]\r\n"));
  EXPECT_TRUE(
      is_program("\n # c \n\t retile.program/1 # c\n\nmesh x : 2 # c\n  from[2 { x } 4 ]\n"
                 "to\t[ 4 ]#c\n\n#"));
  EXPECT_TRUE(is_program(with_step("allgather dim = 0 groups = [ [ 0 , 3 ] , [1,4],[2,5] ]")));
  EXPECT_TRUE(is_program(with_step("allgather dim=0groups=[2,3]<=[6]tile=[12,12]")));
  EXPECT_TRUE(is_program(with_step("allgather groups=[3,2] <= [2,3] T (1,0) dim=0")));
  EXPECT_TRUE(is_program(
      "# \x01 \xff binary in a comment \r x\nretile.program/1\ndevices 1\nfrom [1]\nto [1]"));
}

TEST(ProgramText, names) {
  EXPECT_TRUE(is_program(with_header("mesh _a.B-9:2\nfrom [2{_a.B-9}4]\nto [4]")));
  EXPECT_TRUE(is_program(with_header("mesh \"x y#,}:\":2\nfrom [2{\"x y#,}:\"}4]\nto [4]")));
  EXPECT_TRUE(is_program(with_header("mesh \"x\":2\nfrom [2{x}4]\nto [4]")));
  EXPECT_TRUE(is_program(with_header("mesh x:2\nfrom [2{\"x\":2}4]\nto [4]")));
  EXPECT_TRUE(is_program(with_header("mesh \"\":2\nfrom [2{\"\"}4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh \"x:2\nfrom [4]\nto [4]")));
  EXPECT_TRUE(is_program(with_header("mesh \"\xC2\xA0\xC4\x9B\":2\nfrom [4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh \"x\x1B[31m\":2\nfrom [4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh \"\x7F\":2\nfrom [4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh \"\xC2\x9B\":2\nfrom [4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh 9x:2\nfrom [4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh \xc3\xa9:2\nfrom [4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh \"x\":2,x:3\nfrom [4]\nto [4]")));
}

TEST(ProgramText, axes_are_digits_of_the_row_major_device_number) {
  const Program program =
      only(with_header("mesh x:4,y:6\nfrom [3{x}12, 2{y}12]\nto [3{6:4}12, 2{1:6}12]"));
  for (Size d = 0; d < 24; ++d) {
    EXPECT_EQ(base_offset(program.from, d), (Sizes{3 * (d / 6), 2 * (d % 6)}));
    EXPECT_EQ(base_offset(program.to, d), base_offset(program.from, d));
  }
  const Program half = only(with_header("mesh x:4\nfrom [2{2:2,1:2}8]\nto [2{x}8]"));
  EXPECT_EQ(base_offset(half.from, 1),
            (Sizes{4}));  // minor to major: stride 2 counts 2, stride 1 counts 4
  EXPECT_EQ(base_offset(half.from, 2), (Sizes{2}));
}

TEST(ProgramText, axes_of_size_1_are_dropped) {
  EXPECT_TRUE(is_program(with_header("mesh u:1,x:2\nfrom [2{u,x,u}4, 1{u}1]\nto [4, 1]")));
  EXPECT_TRUE(is_program(with_header("devices 2\nfrom [2{7:1,1:2}4]\nto [4]")));
  EXPECT_FALSE(is_program(with_header("mesh u:2,x:2\nfrom [1{u,x,u}8, 1{u}2]\nto [8, 2]")));
}

TEST(ProgramText, the_iota_of_hlo) {
  EXPECT_EQ(groups_of("[2,3]<=[6]", "6"), (Rows{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(groups_of("[3,2]<=[2,3]T(1,0)", "6"), (Rows{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(groups_of("[10,3]<=[2,3,5]T(2,1,0)", "30")[2], (Sizes{1, 16, 6}));
  EXPECT_EQ(groups_of("[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0)", "30")[1], (Sizes{15, 10}));
  EXPECT_EQ(groups_of("[2,3]<=[6]<=[3,2]T(1,0)", "6"), (Rows{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(groups_of("[1,1]<=[]", "1"), (Rows{{0}}));
}

TEST(ProgramText, T_names_every_dimension_of_its_stage_once) {
  const auto is_read = [](const std::string& T) {
    return is_program(
        with_header("devices 6\nfrom [1]\nto [1]\nallpermute source=[6]<=[2,3]T" + T));
  };
  EXPECT_TRUE(is_read("(0,1)"));
  EXPECT_TRUE(is_read("(1,0)"));
  for (const char* T : {"(0)", "(0,0)", "(1,1)", "(0,2)", "(0,1,1)", "(0,1,2)", "()",
                        "(0,9223372036854775807)", "(0,-1)"}) {
    EXPECT_FALSE(is_read(T)) << T;
  }
}

/// A transposition of 2^18 dimensions is read at once; quadratic work would take minutes.
TEST(ProgramText, T_of_very_many_dimensions) {
  const Size m = Size{1} << 18;
  std::string shape = "2", T = std::to_string(m - 1);
  for (Size k = m - 1; k-- > 0;) {
    shape += ",1";
    T += "," + std::to_string(k);
  }
  EXPECT_EQ(groups_of("[1,2]<=[" + shape + "]T(" + T + ")", "2"), (Rows{{0, 1}}));
}

/// Against an array that is reshaped and transposed element by element.
TEST(ProgramText, iota_agrees_with_explicit_transposition) {
  const Sizes shape = {2, 3, 5};
  std::vector<Index> T = {0, 1, 2};
  do {
    std::string text = "[6,5]<=[2,3,5]T(" + std::to_string(T[0]) + "," + std::to_string(T[1]) +
                       "," + std::to_string(T[2]) + ")";
    Sizes flat;
    Sizes u(3);
    for (u[0] = 0; u[0] < shape[T[0]]; ++u[0]) {
      for (u[1] = 0; u[1] < shape[T[1]]; ++u[1]) {
        for (u[2] = 0; u[2] < shape[T[2]]; ++u[2]) {
          Sizes v(3);
          for (Index k = 0; k < 3; ++k) v[T[k]] = u[k];
          flat.push_back((v[0] * 3 + v[1]) * 5 + v[2]);
        }
      }
    }
    Sizes read;
    for (const Sizes& group : groups_of(text, "30"))
      read.insert(read.end(), group.begin(), group.end());
    EXPECT_EQ(read, flat) << text;
  } while (std::next_permutation(T.begin(), T.end()));
}

TEST(ProgramText, explicit_tilings) {
  const std::string to = "\nto [4]";
  const Program program = only(with_header("from tile=[2] global=[4] at=[[0],[2]]" + to));
  EXPECT_EQ(program.devices, 2);
  EXPECT_EQ(base_offset(program.from, 1), (Sizes{2}));
  EXPECT_TRUE(is_program(with_header("from tile=[] global=[] at=[[],[]]\nto []")));
  EXPECT_TRUE(is_program(with_header("from tile=[2] global=[4] at=[[0],[0]]" + to)));  // no cover
  for (const char* bad :
       {"tile=[2] at=[[0]] global=[4]", "tile=[2] global=[4]", "tile=[2] global=[4] at=[]",
        "tile=[2] global=[4] at=[[3]]", "tile=[5] global=[4] at=[[0]]",
        "tile=[0] global=[4] at=[[0]]", "tile=[2] global=[4,4] at=[[0]]",
        "tile=[2] global=[4] at=[[0,0]]", "tile=[2] global=[4] at=[0]",
        "tile=[2] global=[0] at=[[0]]", "tile=[2] global=[4] at=[[9223372036854775807]]",
        "tile=[1,1,1] global=[4294967296,4294967296,2] at=[[0,0,0]]"}) {
    EXPECT_FALSE(is_program(with_header("from " + std::string(bad) + to))) << bad;
  }
}

TEST(ProgramText, several_programs_and_meshes) {
  const std::string one =
      "retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]\n";
  EXPECT_EQ(parse_programs(one + one).programs.size(), 2U);
  EXPECT_FALSE(is_program(one + "retile.program/1\n"));
  EXPECT_FALSE(is_program("retile.program/1\n" + one));
  EXPECT_TRUE(is_program(with_header("mesh x:4\nfrom [2{x}8]\nmesh a:2,b:2\nto [2{a,b}8]")));
  EXPECT_TRUE(is_program(with_header("mesh x:4\nto [2{x}8]\nfrom [8]")));
  EXPECT_FALSE(is_program(with_header("mesh x:4\nfrom [2{x}8]\nmesh a:2,b:2\nto [2{x}8]")));
  EXPECT_FALSE(is_program(with_header("mesh x:4\nfrom [2{x}8]\nmesh a:2,b:3\nto [8]")));
  EXPECT_FALSE(is_program(with_header("mesh x:4\nmesh x:4\nmesh x:4\nfrom [8]\nto [8]")));
  // axes do not leak into the next Program
  EXPECT_FALSE(is_program(one + "retile.program/1\ndevices 2\nfrom [2{x}4]\nto [4]\n"));
}

const char* const rejected_headers[] = {
    "",
    "mesh x:2",
    "mesh x:2\nfrom [4]",
    "mesh x:2\nto [4]",
    "from [4]\nto [4]",
    "mesh x:2\nfrom [4]\nto [5]",
    "mesh x:2\nfrom [4]\nto [4, 1]",
    "mesh x:2\nfrom [4]\nfrom [4]\nto [4]",
    "mesh x:2\nfrom [4]\nto [4]\nto [4]",
    "mesh\nfrom [4]\nto [4]",
    "mesh x\nfrom [4]\nto [4]",
    "mesh x:0\nfrom [4]\nto [4]",
    "mesh x:-2\nfrom [4]\nto [4]",
    "mesh x:+2\nfrom [4]\nto [4]",
    "mesh x:2,\nfrom [4]\nto [4]",
    "mesh x:2 y:2\nfrom [4]\nto [4]",
    "mesh x:2,x:2\nfrom [4]\nto [4]",
    "mesh u:1,u:1\nfrom [4]\nto [4]",
    "mesh x:2147483649\nfrom [4]\nto [4]",
    "mesh x:65536,y:65536\nfrom [4]\nto [4]",
    "mesh x:9223372036854775808\nfrom [4]\nto [4]",
    "mesh x:99999999999999999999\nfrom [4]\nto [4]",
    "devices 0\nfrom [4]\nto [4]",
    "devices 2147483649\nfrom [4]\nto [4]",
    "devices 2\ndevices 2\nfrom [4]\nto [4]",
    "devices 2\nmesh x:3\nfrom [4]\nto [4]",
    "devices 3\nfrom tile=[2] global=[4] at=[[0],[2]]\nto [4]",
    "mesh x:2\nfrom [2{y}4]\nto [4]",
    "mesh x:2\nfrom [2{x:3}4]\nto [4]",
    "mesh x:2\nfrom [2{x}5]\nto [5]",
    "mesh x:2\nfrom [2{x}]\nto [4]",
    "mesh x:2\nfrom [2{x\nto [4]",
    "mesh x:2\nfrom [2x}4]\nto [4]",
    "mesh x:2\nfrom [2{x}4\nto [4]",
    "mesh x:2\nfrom 2{x}4]\nto [4]",
    "mesh x:2\nfrom [2{x}4]]\nto [4]",
    "mesh x:2\nfrom [2{x,}4]\nto [4]",
    "mesh x:2\nfrom [2{x}4,]\nto [4]",
    "mesh x:2\nfrom [{x}4]\nto [4]",
    "mesh x:2\nfrom [0]\nto [0]",
    "mesh x:2\nfrom [0{x}0]\nto [0{x}0]",
    "mesh x:2\nfrom [-1]\nto [-1]",
    "mesh x:2\nfrom [1{x,x}4]\nto [4]",
    "mesh x:2\nfrom [1{x}2, 1{x}2]\nto [2, 2]",
    "mesh x:2\nfrom [1{x}2, 1{1:2}2]\nto [2, 2]",
    "mesh x:2\nfrom [99999999999999999999]\nto [4]",
    "mesh x:2\nfrom [4611686018427387904{x}9223372036854775807]\nto [9223372036854775807]",
    "mesh x:4\nfrom [4611686018427387904{x}4]\nto [4]",
    "mesh x:2\nfrom [4294967296, 4294967296]\nto [4294967296, 4294967296]",
    "devices 4\nfrom [2{1:3}6]\nto [6]",
    "devices 12\nfrom [1{1:2}2, 1{3:2}2]\nto [2, 2]",  // 3 is no multiple of 2
    "devices 12\nfrom [1{3:2}2, 1{1:2}2]\nto [2, 2]",
    "devices 6\nfrom [1{1:2,3:2}4]\nto [4]",
    "devices 8\nfrom [1{1:4,2:2}8]\nto [8]",
    "devices 4\nfrom [2{0:2}4]\nto [4]",
    "devices 4\nfrom [2{1:0}4]\nto [4]",
    "devices 4\nfrom [2{1}4]\nto [4]",
    "devices 4\nfrom [1{9223372036854775807:2}2]\nto [2]",
    "devices 4\nfrom [1{8:2}2]\nto [2]",
    "mesh x:2\nfrom [4]\nto [4]\nmesh",
    "mesh x:2\nfrom [4]\nto [4]\nallgather",
    "mesh x:2\nfrom [4]\nto [4] rubbish",
    "mesh x:2\nfrom [4] to [4]",
    "mesh x:2\nfrom [4]\nto [4]\nfoo",
    "Mesh x:2\nfrom [4]\nto [4]",
    "mesh x:2\nfrom [4]\nto [4]\nallgather dim=0 groups=[[0,1]]\nmesh x:2",
    "mesh x:2\nfrom [4]\nto [4]\nallgather dim=0 groups=[[0,1]]\ndevices 2",
    "mesh x:2\nfrom [4]\nallgather dim=0 groups=[[0,1]]\nto [4]",
};

TEST(ProgramText, header_table) {
  const char* accepted[] = {
      "devices 2\nfrom [4]\nto [4]",
      "devices 2\nmesh x:2\nfrom [4]\nto [4]",
      "from [2{1:2}4]\nto [4]\ndevices 2",
      "devices 2147483648\nfrom [4]\nto [4]",
      "mesh x:2147483648\nfrom [4]\nto [4]",
      "mesh x:002\nfrom [2{x:02}0004]\nto [4]",
      "mesh x:2\nfrom []\nto []",
      "mesh x:2\nfrom [9223372036854775807]\nto [9223372036854775807]",
      "devices 4\nfrom [2{1:2}4, 2{2:2}4]\nto [4, 4]",
      "devices 12\nfrom [1{1:3}3, 1{3:2}2]\nto [3, 2]",
      "devices 2\nmesh x:2\nfrom [2{x}4]\nto tile=[4] global=[4] at=[[0],[0]]",
  };
  for (const char* text : accepted) EXPECT_TRUE(is_program(with_header(text))) << text;
  for (const char* text : rejected_headers) EXPECT_FALSE(is_program(with_header(text))) << text;
}

TEST(ProgramText, file_table) {
  for (const std::string text :
       {"", "\n", "# nothing\n", "mesh x:2\n", "x\nretile.program/1\ndevices 1\nfrom [1]\nto [1]",
        "retile.program/2\n", "retile.program/10\ndevices 1\nfrom [1]\nto [1]", "retile.program\n",
        "retile.program /1\ndevices 1\nfrom [1]\nto [1]",
        "retile.program/1 devices 1\nfrom [1]\nto [1]",
        "RETILE.program/1\ndevices 1\nfrom [1]\nto [1]",
        "\xef\xbb\xbfretile.program/1\ndevices 1\nfrom [1]\nto [1]",
        "retile.program/1\ndevices 1\rfrom [1]\rto [1]", "\"retile.program/1\"\n"}) {
    EXPECT_FALSE(is_program(text)) << text;
  }
  EXPECT_FALSE(
      is_program("retile.program/1\ndevices 1" + std::string(1, '\0') + "\nfrom [1]\nto [1]"));
  EXPECT_TRUE(is_program("retile.program/1\ndevices 1\nfrom [1]\nto [1]"));
}

const char* const rejected_steps[] = {
    "allgather",
    "allgather dim=0",
    "allgather groups=[1,6]<=[6]",
    "allgather dim=0 groups=[1,6]<=[6] dim=0",
    "allgather dim=0 dim=1 groups=[1,6]<=[6]",
    "allgather dim=2 groups=[1,6]<=[6]",
    "allgather dim=-1 groups=[1,6]<=[6]",
    "allgather dim=9223372036854775808 groups=[1,6]<=[6]",
    "allgather dim=0 groups=[1,6]<=[6] parts=2",
    "allgather split=0 groups=[1,6]<=[6]",
    "allgather Dim=0 groups=[1,6]<=[6]",
    "allgather dim 0 groups=[1,6]<=[6]",
    "allgather dim==0 groups=[1,6]<=[6]",
    "allgather dim=0, groups=[1,6]<=[6]",
    "allgather dim=x groups=[1,6]<=[6]",
    "allgather dim=0 groups=[1,6]<=[6] rubbish",
    "allgather dim=0 groups=[1,6]<=[6] rubbish=1",
    "allgather dim=0 groups=[[0,1,2,3,4,6]]",
    "allgather dim=0 groups=[[0,1,2,3,4,-5]]",
    "allgather dim=0 groups=[[0,1,2,3,4,5]",
    "allgather dim=0 groups=[[0,1,2,3,4,5",
    "allgather dim=0 groups=[[0,1,2],[3,4,5],]",
    "allgather dim=0 groups=[0,1,2,3,4,5]",
    "allgather dim=0 groups=[6]<=[6]",
    "allgather dim=0 groups=[1,2,3]<=[6]",
    "allgather dim=0 groups=[[1,6]]<=[6]",
    "allgather dim=0 groups=[]<=[6]",
    "allgather dim=0 groups=[1,6]<=",
    "allgather dim=0 groups=[1,6]<[6]",
    "allgather dim=0 groups=[1,6]< =[6]",
    "allgather dim=0 groups=[1,6]=>[6]",
    "allgather dim=0 groups=[1,6]<=[5]",
    "allgather dim=0 groups=[1,6]<=[6]<=[2,2]",
    "allgather dim=0 groups=[1,12]<=[12]",
    "allgather dim=0 groups=[0,6]<=[0]",
    "allgather dim=0 groups=[0,6]<=[6]",
    "allgather dim=0 groups=[4294967296,4294967296]<=[6]",
    "allgather dim=0 groups=[1,6]<=[4294967296,4294967296]",
    "allgather dim=0 groups=[1,6]<=[2,3]T(0)",
    "allgather dim=0 groups=[1,6]<=[2,3]T(0,0)",
    "allgather dim=0 groups=[1,6]<=[2,3]T(0,2)",
    "allgather dim=0 groups=[1,6]<=[2,3]T(0,1,2)",
    "allgather dim=0 groups=[1,6]<=[2,3]T()",
    "allgather dim=0 groups=[1,6]<=[2,3]T(1,0",
    "allgather dim=0 groups=[1,6]<=[2,3]T",
    "allgather dim=0 groups=[1,6]<=[2,3]t(1,0)",
    "allgather dim=0 groups=[1,6]<=[2,3]T(9223372036854775807,0)",
    "alltoall split=1 groups=[1,6]<=[6]",
    "alltoall dim=1 groups=[1,6]<=[6]",
    "alltoall split=1 concat=2 groups=[1,6]<=[6]",
    "alltoall split=1 concat=0 source=[0,1,2,3,4,5]",
    "dynslice dim=1",
    "dynslice dim=1 parts=2",
    "dynslice dim=1 part=[0,1,0,1,0,1]",
    "dynslice dim=1 parts=2 part=[0,1,0,1,0,1] groups=[1,6]<=[6]",
    "dynslice dim=1 parts=2 part=[0,1,0,1,0]",
    "dynslice dim=1 parts=2 part=[0,1,0,1,0,2]",
    "dynslice dim=1 part=[0,1,0,1,0,2] parts=2",
    "dynslice dim=1 parts=0 part=[0,0,0,0,0,0]",
    "dynslice dim=1 parts=2 part=[6]<=[6]",
    "dynslice dim=1 parts=6 part=[3]<=[3]",
    "dynslice dim=1 parts=2 part=[]",
    "dynslice dim=1 parts=2 part=[[0,1,0,1,0,1]]",
    "allpermute",
    "allpermute source=[0,1,2,3,4,6]",
    "allpermute source=[[0,1,2,3,4,5]]",
    "allpermute source=[1,6]<=[6]",
    "allpermute source=[5,4,3,2,1,0] pairs=[]",
    "allpermute source=[5,4,3,2,1,0] dim=0",
    "allpermute pairs=[0,1]",
    "allpermute pairs=[[0]]",
    "allpermute pairs=[[0,1,2]]",
    "allpermute pairs=[[]]",
    "allpermute pairs=[[0,6]]",
    "allpermute pairs=[2,3]<=[6]",
    "allgather dim=0 groups=[1,6]<=[6] tile=12",
    "allgather dim=0 groups=[1,6]<=[6] tile=[12",
    "allgather dim=0 groups=[1,6]<=[6] tile=[12] tile=[12]",
    "allgather dim=0 groups=[1,6]<=[6] map=[12, 13]",
    "allgather dim=0 groups=[1,6]<=[6] map=[12]",
    "allgather dim=0 groups=[1,6]<=[6] map=[12, 6{z}12]",
    "allgather dim=0 groups=[1,6]<=[6] map=[6{x}12, 6{x}12]",
    ("allgather dim=0 groups=[1,6]<=[6] map=tile=[12,12] global=[12,12] "
     "at=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]"),
    "allgather dim=0 groups=[1,6]<=[6] at=[[0,0]]",
    "allgather dim=0 groups=[1,6]<=[6] at=[[0],[0],[0],[0],[0],[0]]",
    "allgather dim=0 groups=[1,6]<=[6] at=[]",
    "reshape",
    "exchange dim=0",
    "exchange transfers=[]",
    "exchange tile=[12,12]",
    "exchange tile=[12] transfers=[]",
    "exchange tile=[12,0] transfers=[]",
    "exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1]]",
    "exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1,1,1]]",
    "exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1,0]]",
    "exchange tile=[1,1] transfers=[[0,0,0,0,0,0,0,1]]",
    "exchange tile=[1,1] transfers=[[6,0,0,0,0,0,1,1]]",
    "exchange tile=[1,1] transfers=[[0,6,0,0,0,0,1,1]]",
    "allreduce",
    "reducescatter",
    "transpose",
    "pad",
    "concat",
    "ALLGATHER dim=0 groups=[1,6]<=[6]",
    "\"allgather\" dim=0 groups=[1,6]<=[6]",
};

TEST(ProgramText, step_table) {
  const char* accepted[] = {
      "allgather dim=0 groups=[[0,3],[1,4],[2,5]]",
      "allgather groups=[3,2]<=[2,3]T(1,0) dim=0",
      "alltoall split=1 concat=0 groups=[1,6]<=[6]",
      "alltoall split=1 concat=1 groups=[1,6]<=[6]",
      "dynslice dim=1 groups=[1,6]<=[6]",
      "dynslice dim=1 parts=2 part=[0,1,0,1,0,1]",
      "dynslice dim=1 parts=6 part=[6]<=[6]",
      "dynslice dim=1 parts=9223372036854775807 part=[0,0,0,0,0,9223372036854775806]",
      "allpermute source=[5,4,3,2,1,0]",
      "allpermute source=[6]<=[2,3]T(1,0)",
      "allpermute source=[]",        // a Program, but wrong: bijection
      "allpermute source=[0,0]",     // likewise
      "allpermute source=[2]<=[2]",  // likewise
      "allpermute pairs=[]",
      "exchange transfers=[] tile=[1,1]",
      "exchange tile=[1,9] transfers=[[5,0,9,9,9,9,9,9]] map=[12, 12]",
      "allpermute pairs=[[0,1],[1,0]]",
      "allpermute pairs=[[0,1],[0,1]]",      // wrong: bijection
      "allgather dim=0 groups=[]",           // wrong: groups
      "allgather dim=0 groups=[[]]",         // wrong: groups
      "allgather dim=0 groups=[[0],[1,2]]",  // wrong: groups
      "allgather dim=0 groups=[2,2]<=[4]",   // wrong: groups
      "allgather dim=0 groups=[1,6]<=[6] tile=[]",
      "allgather dim=0 groups=[1,6]<=[6] tile=[0,1,2]",
      "allgather dim=0 groups=[1,6]<=[6] map=[12, 2{y,x}12]",
      "allgather dim=0 groups=[1,6]<=[6] map=[12, 4{1:3}12] tile=[12,4]",
      ("allgather dim=0 groups=[1,6]<=[6] "
       "at=[[0,0],[0,0],[0,0],[0,0],[0,0],[9223372036854775807,0]]"),
      "# nothing",
  };
  for (const char* text : accepted) EXPECT_TRUE(is_program(with_step(text))) << text;
  for (const char* text : rejected_steps) EXPECT_FALSE(is_program(with_step(text))) << text;
}

/// What was a slip in version 1 is one in version 2, but for types that are uneven there.
TEST(ProgramText, slips_are_slips_in_version_2) {
  const auto as_2 = [](std::string text) { return text.replace(text.find("/1"), 2, "/2"); };
  std::vector<std::string> accepted;
  Index count = 0;
  for (const char* text : rejected_headers) {
    ++count;
    if (is_program(as_2(with_header(text)))) accepted.emplace_back(text);
  }
  for (const char* text : rejected_steps) {
    ++count;
    if (is_program(as_2(with_step(text)))) accepted.emplace_back(text);
  }
  const std::string huge = "9223372036854775807";
  EXPECT_EQ(accepted, (std::vector<std::string>{"mesh x:2\nfrom [4611686018427387904{x}" + huge +
                                                "]\nto [" + huge + "]"}));
  EXPECT_GT(count, 150U);
  EXPECT_TRUE(is_program(as_2(with_header("mesh x:2\nfrom [2{x}4]\nto [4]"))));
}

TEST(ProgramText, rank_0_has_no_dimension) {
  EXPECT_TRUE(is_program(
      "retile.program/1\ndevices 2\nfrom []\nto []\nallpermute source=[1,0] tile=[] map=[]\n"));
  EXPECT_FALSE(
      is_program("retile.program/1\ndevices 2\nfrom []\nto []\nallgather dim=0 groups=[[0,1]]\n"));
}

/// Every prefix of a right Program is a Program (when cut between lines) or an error, and every
/// single byte may be damaged: nothing crashes, and an error lies inside the text.
TEST(ProgramText, truncated_and_damaged_programs_are_errors_or_programs) {
  const std::string text =
      "retile.program/1\nmesh x:4,\"y\":6\nfrom [3{x}12, 2{y}12]\nto [2{y}12, 3{x}12]\n"
      "alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]\n"
      "allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6]\n"
      "allpermute pairs=[[0,1],[1,0]]\ndynslice dim=0 parts=2 "
      "part=[0,0,0,0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1,1,1,1]\n";
  std::size_t programs = 0, errors = 0;
  const auto look = [&](const std::string& damaged) {
    const Programs read = parse_programs(damaged);
    if (!read.error) {
      ++programs;
      return;
    }
    ++errors;
    ASSERT_GE(read.error->line, 1U);
    ASSERT_GE(read.error->column, 1U);
    ASSERT_LE(read.error->line, 9U);
    ASSERT_LE(read.error->column, damaged.size() + 1);
    ASSERT_FALSE(read.error->message.empty());
    ASSERT_TRUE(read.programs.empty());
  };
  for (std::size_t n = 0; n <= text.size(); ++n) look(text.substr(0, n));
  for (std::size_t n = 0; n < text.size(); ++n) {
    look(text.substr(0, n) + text.substr(n + 1));
    for (const char c : {'\0', '\n', '\r', ' ', '"', '#', '9', '[', ']', ',', '{', '}', '=', '<',
                         'T', 'x', '\xff'}) {
      std::string damaged = text;
      damaged[n] = c;
      look(damaged);
    }
  }
  std::cout << programs << " programs, " << errors << " errors\n";
  EXPECT_GT(programs, 100U);
  EXPECT_GT(errors, 1000U);
}

TEST(ProgramText, errors_point_at_the_place) {
  const auto place = [](const std::string& text) {
    const auto error = parse_programs(text).error;
    return error ? std::to_string(error->line) + ":" + std::to_string(error->column) : "none";
  };
  EXPECT_EQ(place(with_header("mesh x:4\nfrom [3{z}12]\nto [12]")), "3:9");
  EXPECT_EQ(place(with_header("mesh x:4\nfrom [3{x}13]\nto [12]")), "3:7");
  EXPECT_EQ(place(with_step("allgather dim=7 groups=[1,6]<=[6]")), "5:11");
  EXPECT_EQ(place(with_step("allgather dim=0 groups=[[0,1,2,3,4,6]]")), "5:36");
  EXPECT_EQ(place(with_step("allgather dim=0 groups=[[0,1,2,3,4,5]")), "5:38");
  EXPECT_EQ(place(""), "1:1");
  EXPECT_EQ(place(with_step("")), "none");
}

TEST(ProgramText, deep_and_long_input_is_no_danger) {
  EXPECT_FALSE(is_program(with_step("allgather dim=0 groups=" + std::string(1000000, '['))));
  EXPECT_FALSE(is_program(with_header("mesh x:2\nfrom " + std::string(1000000, '{') + "\nto [4]")));
  EXPECT_FALSE(is_program(std::string(1000000, 'a')));
  EXPECT_FALSE(is_program(std::string(1000000, '\n')));
  std::string ones = "[1";
  for (int k = 0; k < 100000; ++k) ones += ",1";
  EXPECT_TRUE(is_program(with_header("mesh x:2\nfrom " + ones + "]\nto " + ones + "]")));
  std::string axes = "mesh a0:1";
  for (int k = 1; k < 100000; ++k) axes += ",a" + std::to_string(k) + ":1";
  EXPECT_TRUE(is_program(with_header(axes + "\nfrom [4]\nto [4]")));
}

}  // namespace
}  // namespace spec::text_test
