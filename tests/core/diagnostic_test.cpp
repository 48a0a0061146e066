#include "retile/core/diagnostic.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace diagnostic_test {
namespace {

using retile::Code;
using retile::Diagnostic;
using retile::render;
using retile::Span;

/// The diagnostic of a line of input, and nothing else.
std::string shown(std::string input, Span where) {
  return render({.code = Code::syntax, .message = "m", .input = std::move(input), .where = where});
}

TEST(Diagnostic, looks_as_documented) {
  const Diagnostic diagnostic{
      .code = Code::ill_formed_type,
      .message = "tile size times axis sizes must equal the global size: 32 * 4 = 128, not 256",
      .rule = "WF-DIM",
      .input = "[32{xdev}256, 1024]",
      .where = {1, 12},
      .notes = {"axis xdev has size 4; 64{xdev}256 is well formed"}};
  EXPECT_EQ(render(diagnostic),
            "error: tile size times axis sizes must equal the global size: 32 * 4 = 128, not 256 "
            "[WF-DIM]\n"
            "  [32{xdev}256, 1024]\n"
            "   ^~~~~~~~~~~\n"
            "note: axis xdev has size 4; 64{xdev}256 is well formed\n");
}

TEST(Diagnostic, a_source_stands_before_the_message) {
  EXPECT_EQ(render({.code = Code::syntax, .message = "m", .source = "plan.txt:12"}),
            "error: plan.txt:12: m\n");
}

TEST(Diagnostic, without_input_there_is_no_caret) {
  EXPECT_EQ(render({.code = Code::file_error, .message = "m", .notes = {"n", "o"}}),
            "error: m\nnote: n\nnote: o\n");
}

TEST(Diagnostic, an_empty_span_points_at_one_place) {
  EXPECT_EQ(shown("ab", {0, 0}), "error: m\n  ab\n  ^\n");
  EXPECT_EQ(shown("ab", {1, 1}), "error: m\n  ab\n   ^\n");
  EXPECT_EQ(shown("ab", {2, 2}), "error: m\n  ab\n    ^\n");
}

TEST(Diagnostic, a_span_outside_the_input_points_at_its_end) {
  EXPECT_EQ(shown("ab", {7, 9}), "error: m\n  ab\n    ^\n");
  EXPECT_EQ(shown("ab", {1, 9}), "error: m\n  ab\n   ^\n");
  EXPECT_EQ(shown("ab", {1, 0}), "error: m\n  ab\n   ^\n");
}

TEST(Diagnostic, control_characters_are_one_blank_each) {
  EXPECT_EQ(shown("\ta\x1b[31mb\n", {8, 9}), "error: m\n   a [31mb \n          ^\n");
  EXPECT_EQ(shown(std::string("a\0b", 3), {2, 3}), "error: m\n  a b\n    ^\n");
  EXPECT_EQ(shown("\x7f\xc2\x9b!", {3, 4}),
            "error: m\n    !\n    ^\n");  // DEL, and CSI as one character of two bytes
}

TEST(Diagnostic, format_characters_cannot_turn_the_line_around) {
  EXPECT_EQ(shown("\xe2\x80\xae!", {3, 4}), "error: m\n   !\n   ^\n");  // U+202E
}

TEST(Diagnostic, a_character_of_several_bytes_takes_its_columns) {
  EXPECT_EQ(shown("\xc3\xa9x", {2, 3}), "error: m\n  \xc3\xa9x\n   ^\n");
  EXPECT_EQ(shown("\xe7\xbd\x91x", {3, 4}), "error: m\n  \xe7\xbd\x91x\n    ^\n");  // two columns
  EXPECT_EQ(shown("\xe7\xbd\x91x", {0, 3}), "error: m\n  \xe7\xbd\x91x\n  ^~\n");
  EXPECT_EQ(shown("e\xcc\x81x", {3, 4}), "error: m\n  e\xcc\x81x\n   ^\n");  // a combining accent
  EXPECT_EQ(shown("\xc3\xa9x", {1, 2}), "error: m\n  \xc3\xa9x\n  ^\n");     // inside a character
}

TEST(Diagnostic, bytes_that_are_no_utf8_are_question_marks) {
  EXPECT_EQ(shown("a\xff"
                  "b",
                  {2, 3}),
            "error: m\n  a?b\n    ^\n");
  EXPECT_EQ(shown("\xc3", {0, 1}), "error: m\n  ?\n  ^\n");                    // cut off
  EXPECT_EQ(shown("\xc0\x80", {0, 2}), "error: m\n  ??\n  ^~\n");              // overlong
  EXPECT_EQ(shown("\xed\xa0\x80", {2, 3}), "error: m\n  ???\n    ^\n");        // a surrogate
  EXPECT_EQ(shown("\xf4\x90\x80\x80", {3, 4}), "error: m\n  ????\n     ^\n");  // above U+10FFFF
}

TEST(Diagnostic, message_source_and_notes_are_cleaned_like_the_input) {
  EXPECT_EQ(render({.code = Code::unknown_axis,
                    .message = "no axis \x1b[2J",
                    .rule = "R\n",
                    .source = "a\nb",
                    .notes = {"\xff"}}),
            "error: a b: no axis  [2J [R ]\nnote: ?\n");
}

TEST(Diagnostic, a_line_of_96_columns_is_shown_whole) {
  const std::string line(96, 'a');
  EXPECT_EQ(shown(line, {95, 96}), "error: m\n  " + line + "\n  " + std::string(95, ' ') + "^\n");
}

TEST(Diagnostic, a_longer_line_is_cut_around_the_caret) {
  std::string line(1000, 'a');
  line[500] = 'B';
  EXPECT_EQ(shown(line, {500, 502}), "error: m\n  ..." + std::string(40, 'a') + "B" +
                                         std::string(49, 'a') + "...\n  " + std::string(43, ' ') +
                                         "^~\n");
  EXPECT_EQ(shown(line, {0, 1}), "error: m\n  " + std::string(90, 'a') + "...\n  ^\n");
  EXPECT_EQ(shown(line, {1000, 1000}),
            "error: m\n  ..." + std::string(40, 'a') + "\n  " + std::string(43, ' ') + "^\n");
}

TEST(Diagnostic, a_long_span_ends_with_the_shown_part) {
  const std::string line(1000, 'a');
  EXPECT_EQ(shown(line, {0, 1000}),
            "error: m\n  " + std::string(90, 'a') + "...\n  ^" + std::string(89, '~') + "\n");
}

TEST(Diagnostic, a_long_line_is_never_cut_inside_a_character) {
  for (std::size_t padding = 0; padding < 4; ++padding) {
    std::string line(padding, 'a');
    for (int i = 0; i < 2000; ++i) line += "\xe7\xbd\x91";
    for (std::size_t at = 0; at < line.size(); at += 7) {
      const std::string out = shown(line, {at, at + 1});
      ASSERT_EQ(out.find('?'), std::string::npos) << padding << ' ' << at;
      ASSERT_LT(out.size(), 500U);
    }
  }
}

TEST(Diagnostic, every_code_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (const Code code : retile::all_codes()) names.insert(retile::code_name(code));
  EXPECT_EQ(names.size(), retile::all_codes().size());
  // The enumeration's last value: whoever adds one must add it to all_codes() as well.
  EXPECT_EQ(retile::all_codes().size(), static_cast<std::size_t>(Code::cuda_error) + 1);
  for (std::size_t i = 0; i < retile::all_codes().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(retile::all_codes()[i]), i);
  }
}

}  // namespace
}  // namespace diagnostic_test
