#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "exec/npy/files.h"
#include "retile/exec/npy/npy.h"

namespace retile::npy_header_test {
namespace {

using test::npy_header;
using testing::HasSubstr;

Result<NpyHeader> parse(const std::string& bytes) {
  return parse_npy_header(std::as_bytes(std::span(bytes.data(), bytes.size())), "a.npy");
}

std::string dictionary(std::string_view descr, std::string_view order, std::string_view shape) {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

struct GoodDescr {
  const char* descr;
  Size bytes;
};

class GoodDescrs : public testing::TestWithParam<GoodDescr> {};

TEST_P(GoodDescrs, have_their_size) {
  const auto type = npy_element_type(GetParam().descr);
  ASSERT_TRUE(type) << render(type.error());
  EXPECT_EQ(type->bytes, GetParam().bytes);
  const auto header = parse(
      npy_header(1, dictionary("'" + std::string(GetParam().descr) + "'", "False", "(3, 4)")));
  ASSERT_TRUE(header) << render(header.error());
  EXPECT_EQ(header->descr, GetParam().descr);
  EXPECT_EQ(header->type.bytes, GetParam().bytes);
  EXPECT_EQ(header->shape, (Shape{3, 4}));
}

INSTANTIATE_TEST_SUITE_P(
    Npy, GoodDescrs,
    testing::Values(GoodDescr{"|b1", 1}, GoodDescr{"|i1", 1}, GoodDescr{"|u1", 1},
                    GoodDescr{"<i2", 2}, GoodDescr{">u2", 2}, GoodDescr{"<f2", 2},
                    GoodDescr{"|V2", 2}, GoodDescr{"<V2", 2}, GoodDescr{"<i4", 4},
                    GoodDescr{">f4", 4}, GoodDescr{"=f4", 4}, GoodDescr{"f4", 4},
                    GoodDescr{">i8", 8}, GoodDescr{"<u8", 8}, GoodDescr{"<f8", 8},
                    GoodDescr{"<c8", 8}, GoodDescr{"<m8", 8}, GoodDescr{"<c16", 16},
                    GoodDescr{"<f16", 16}, GoodDescr{"<M8[ns]", 8}, GoodDescr{"<m8[25s]", 8},
                    GoodDescr{"<M8[Y]", 8}, GoodDescr{">M8[as]", 8}, GoodDescr{"<M8[D/2]", 8},
                    GoodDescr{"<m8[generic]", 8}));

class BadDescrs : public testing::TestWithParam<const char*> {};

TEST_P(BadDescrs, are_refused_with_a_reason) {
  const auto type = npy_element_type(GetParam());
  ASSERT_FALSE(type);
  EXPECT_EQ(type.error().code, Code::bad_file);
  const auto header =
      parse(npy_header(1, dictionary("'" + std::string(GetParam()) + "'", "False", "(3, 4)")));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, Code::bad_file);
  EXPECT_EQ(header.error().source, "a.npy");
}

INSTANTIATE_TEST_SUITE_P(Npy, BadDescrs,
                         testing::Values("", "<", "|O", "O", "|O8", "|S4", "<U4", "|V4", "|V3",
                                         "|V2[x", "<f", "<f3", "<f04", "<f4 ", " <f4", "<x4",
                                         "<i16", "<c32", "<c4", "<b2", "<f4[ns]", "<M8ns", "<M4",
                                         "<<f4", "<f99999999999999999999", "<f-4", "\x80\x81",
                                         // What stands behind a time travels and is written.
                                         "<M8[]", "<M8[ns", "<M8ns]", "<M8[n]", "<M8[0s]",
                                         "<M8[-1s]", "<M8[s/]", "<M8[s/0]", "<M8[s/2/2]",
                                         "<M8[2generic]", "<M8[s][s]", "<M8[ s]", "<M8[s]\n",
                                         "<M8[\n16 128 2 4 4 ]", "<M8[\r\nfoo]", "<M8['+'ns]",
                                         "<M8[\x1b[31mX]", "<m8[9999999999s]"));

struct GoodHeader {
  const char* dictionary;
  Shape shape;
};

class GoodHeaders : public testing::TestWithParam<GoodHeader> {};

TEST_P(GoodHeaders, are_read_in_all_versions) {
  for (const int version : {1, 2, 3}) {
    const std::string bytes = npy_header(version, GetParam().dictionary);
    const auto header = parse(bytes + "data");
    ASSERT_TRUE(header) << render(header.error());
    EXPECT_EQ(header->shape, GetParam().shape);
    EXPECT_EQ(header->descr, "<f4");
    EXPECT_EQ(header->data_offset_bytes, static_cast<Size>(bytes.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Npy, GoodHeaders,
    testing::Values(
        GoodHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", {3, 4}},
        GoodHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", {3, 4}},
        GoodHeader{"{'shape':(3,4),'descr':\"<f4\",'fortran_order':False}", {3, 4}},
        GoodHeader{"  { 'descr' : '<f4' , 'fortran_order' :False,\t'shape': ( 3 , 4 , ) , }     ",
                   {3, 4}},
        GoodHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", {}},
        GoodHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", {7}},
        GoodHeader{"{'descr': '<f4', 'fortran_order': True, 'shape': (7,), }", {7}},
        GoodHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (7L, 2L), }", {7, 2}},
        GoodHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4, 5, 6, 7), }",
                   {1, 2, 3, 4, 5, 6, 7}}));

struct BadHeader {
  const char* dictionary;
  const char* reason;
};

class BadHeaders : public testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaders, are_refused_with_their_reason) {
  for (const int version : {1, 2, 3}) {
    const auto header = parse(npy_header(version, GetParam().dictionary) + "data");
    ASSERT_FALSE(header) << GetParam().dictionary;
    EXPECT_EQ(header.error().code, Code::bad_file);
    EXPECT_THAT(header.error().message, HasSubstr(GetParam().reason));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Npy, BadHeaders,
    testing::Values(
        BadHeader{"", "dictionary"}, BadHeader{"[]", "dictionary"},
        BadHeader{"{}", "lacks the key"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False}", "lacks the key `shape`"},
        BadHeader{"{'fortran_order': False, 'shape': (3,)}", "lacks the key `descr`"},
        BadHeader{"{'descr': '<f4', 'shape': (3,)}", "lacks the key `fortran_order`"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}", "do not have"},
        BadHeader{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
                  "twice"},
        BadHeader{"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}", "Fortran order"},
        BadHeader{"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "neither True nor False"},
        BadHeader{"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}", "structured"},
        BadHeader{"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,)}", "structured"},
        BadHeader{"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "objects"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", "empty"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0)}", "empty"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "negative"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "tuple"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "tuple"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", "tuple"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "number"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "`,` or `)`"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,)}", "`,` or `)`"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,", "number"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
                  "2^63"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
                  "2^63"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                  "2^63"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,)}",
                  "2^63"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951,)}",
                  "2^63"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
                  "nothing may follow"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "`,` or `}`"},
        BadHeader{"{'descr': '<f4'; 'fortran_order': False}", "`,` or `}`"},
        BadHeader{"{'descr', '<f4'}", "`:`"}, BadHeader{"{'descr': '<f4}", "not closed"},
        BadHeader{"{descr: 1}", "quoted"}, BadHeader{"{'desc\\x72': '<f4'}", "escape"},
        BadHeader{"{'\x80': '<f4'}", "byte 0x80"}));

TEST(NpyHeader, the_start_of_the_file_must_be_right) {
  const std::string good = npy_header(1, dictionary("'<f4'", "False", "(3,)"));
  EXPECT_TRUE(parse(good));
  const auto message = [](const std::string& bytes) {
    const auto header = parse(bytes);
    return header ? std::string("accepted") : header.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("no .npy file"));
  EXPECT_THAT(message("PK\x03\x04 this is a zip"), HasSubstr("no .npy file"));
  EXPECT_THAT(message(good.substr(0, 6)), HasSubstr("ends inside"));
  EXPECT_THAT(message(good.substr(0, 9)), HasSubstr("ends inside"));
  EXPECT_THAT(message(good.substr(0, good.size() - 1)), HasSubstr("claims"));
  for (const char version : {'\0', '\4', '\x7f'}) {
    std::string other = good;
    other[6] = version;
    EXPECT_THAT(message(other), HasSubstr("version"));
  }
  std::string minor = good;
  minor[7] = 1;
  EXPECT_THAT(message(minor), HasSubstr("version"));
}

TEST(NpyHeader, lies_about_its_length_are_found) {
  std::string longer = npy_header(1, dictionary("'<f4'", "False", "(3,)"));
  longer[9] = '\x7f';
  EXPECT_FALSE(parse(longer));
  std::string shorter = npy_header(1, dictionary("'<f4'", "False", "(3,)"));
  shorter[8] = static_cast<char>(shorter[8] - 10);
  EXPECT_FALSE(parse(shorter));
  std::string huge = npy_header(2, dictionary("'<f4'", "False", "(3,)"));
  huge[11] = '\x7f';
  const auto header = parse(huge);
  ASSERT_FALSE(header);
  EXPECT_THAT(header.error().message, HasSubstr("claims to be"));
}

TEST(NpyHeader, what_is_made_can_be_read_and_is_aligned) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{12, 12}, Shape(40, 1)}) {
    NpyHeader header = test::header_of(">c16", shape);
    const auto bytes = make_npy_header(header);
    EXPECT_EQ(bytes.size() % 64, 0U);
    const auto read = parse_npy_header(bytes, "");
    ASSERT_TRUE(read) << render(read.error());
    EXPECT_EQ(*read, header);
    EXPECT_EQ(header.data_offset_bytes, static_cast<Size>(bytes.size()));
  }
}

TEST(NpyHeader, thousands_of_dimensions_need_version_2) {
  NpyHeader header = test::header_of("<f4", Shape(30000, 1));
  const auto bytes = make_npy_header(header);
  EXPECT_EQ(std::to_integer<int>(bytes[6]), 2);
  const auto read = parse_npy_header(bytes, "");
  ASSERT_TRUE(read) << render(read.error());
  EXPECT_EQ(*read, header);
}

TEST(NpyHeader, every_named_element_type_is_read_from_its_descr) {
  for (const NamedElementType& named : named_element_types()) {
    const auto read = npy_element_type(npy_descr(named.type));
    ASSERT_TRUE(read) << named.name;
    EXPECT_EQ(*read, named.type) << named.name;
  }
  EXPECT_EQ(npy_descr({ElementKind::brain_floating, 2}), "|V2");
  EXPECT_EQ(npy_descr({ElementKind::datetime, 8}).substr(1), "M8");
}

RC_GTEST_PROP(NpyHeader, no_changed_byte_makes_it_crash, ()) {
  std::string bytes = npy_header(*rc::gen::inRange(1, 4), dictionary("'<f4'", "False", "(3, 4)"));
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const auto header = parse(bytes);
  RC_CLASSIFY(header.has_value(), "still a header");
  if (header) {
    RC_ASSERT(header->data_offset_bytes <= static_cast<Size>(bytes.size()));
    for (const Size extent : header->shape) RC_ASSERT(extent >= 1);
    RC_ASSERT(header->file_bytes() >= header->data_offset_bytes);
  }
}

}  // namespace
}  // namespace retile::npy_header_test
