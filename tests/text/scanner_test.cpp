#include "retile/text/scanner.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace scanner_test {
namespace {

using retile::text::Input;
using retile::text::number_place;
using retile::text::Place;
using retile::text::Scanner;

std::string in(const Place& place) {
  return std::string(place.input->text.substr(place.span.begin, place.span.end - place.span.begin));
}

/// Code and diagnostic of reading `text`, or `read`.
std::string refusal(std::string_view text, const std::function<void(Scanner&)>& read,
                    bool numbered = false) {
  const Input input{.text = text, .source = "here", .numbered = numbered};
  const auto result = retile::text::result_of([&] {
    Scanner scanner(input);
    read(scanner);
    return 0;
  });
  if (result) return "read";
  return std::string(code_name(result.error().code)) + "\n" + render(result.error());
}

void read_number(Scanner& scanner) { static_cast<void>(scanner.number()); }
void read_size(Scanner& scanner) { static_cast<void>(scanner.size("the size of axis x")); }
void read_name(Scanner& scanner) { static_cast<void>(scanner.name("the name of an axis")); }

TEST(Scanner, reads_tokens_with_their_places) {
  const Input input{.text = " x.1-a : 12\t,\"a b\"=007 ", .source = ""};
  Scanner scanner(input);
  const auto word = scanner.word("a word");
  EXPECT_EQ(word.value, "x.1-a");
  EXPECT_EQ(in(word.place), "x.1-a");
  EXPECT_TRUE(scanner.accept(":"));
  EXPECT_FALSE(scanner.accept(","));
  const auto number = scanner.number();
  EXPECT_EQ(number.value, 12);
  EXPECT_EQ(in(number.place), "12");
  scanner.expect(",");
  EXPECT_TRUE(scanner.sees_name());
  EXPECT_FALSE(scanner.sees_word());
  const auto quoted = scanner.name("a name");
  EXPECT_EQ(quoted.value, "a b");
  EXPECT_EQ(in(quoted.place), "\"a b\"");
  scanner.expect("=");
  EXPECT_EQ(scanner.size("a size").value, 7);
  EXPECT_TRUE(scanner.done());
  scanner.expect_end();
  EXPECT_EQ(scanner.peek(), -1);
}

TEST(Scanner, knows_a_stride_from_a_number) {
  const auto sees = [](std::string_view text) {
    const Input input{.text = text, .source = ""};
    Scanner scanner(input);
    return scanner.sees_stride();
  };
  EXPECT_TRUE(sees("6:4"));
  EXPECT_TRUE(sees(" 6 :4"));
  EXPECT_FALSE(sees("6"));
  EXPECT_FALSE(sees("6}"));
  EXPECT_FALSE(sees("x:4"));
  EXPECT_FALSE(sees(""));
}

TEST(Scanner, stays_within_its_range) {
  const Input input{.text = "12345:6", .source = ""};
  Scanner scanner(input, {1, 3});
  EXPECT_FALSE(scanner.sees_stride());
  EXPECT_EQ(scanner.number().value, 23);
  EXPECT_TRUE(scanner.done());
  Scanner word(input, {0, 0});
  EXPECT_EQ(in(word.rest()), "");
}

TEST(Scanner, says_what_it_expected_and_what_it_found) {
  EXPECT_EQ(refusal("x", read_size),
            "syntax\nerror: here: expected the size of axis x, found 'x'\n  x\n  ^\n");
  EXPECT_EQ(refusal(" xyz.1 ", read_number),
            "syntax\nerror: here: expected a number, found 'xyz.1'\n   xyz.1 \n   ^~~~~\n");
  EXPECT_EQ(refusal(" ", read_name),
            "syntax\nerror: here: expected the name of an axis, found the end\n   \n   ^\n");
  EXPECT_EQ(refusal("1", read_name),
            "syntax\nerror: here: expected the name of an axis, found '1'\n  1\n  ^\n");
  EXPECT_EQ(refusal("\xc3\xa9.", read_name),
            "syntax\nerror: here: expected the name of an axis, found '\xc3\xa9'\n  \xc3\xa9.\n  "
            "^\n");
  EXPECT_EQ(refusal("\xff", read_name),
            "syntax\nerror: here: expected the name of an axis, found the byte 0xFF\n  ?\n  ^\n");
  EXPECT_EQ(refusal("x y",
                    [](Scanner& scanner) {
                      scanner.expect("x");
                      scanner.expect_end("after 'x'", {"nothing may follow"});
                    }),
            "syntax\nerror: here: expected the end after 'x', found 'y'\n  x y\n    ^\n"
            "note: nothing may follow\n");
}

TEST(Scanner, a_found_word_of_megabytes_is_cut) {
  const std::string longest(1 << 20, 'a');
  const std::string said = refusal(longest, read_number);
  EXPECT_LT(said.size(), 300U);
  EXPECT_NE(said.find("found '" + longest.substr(0, 40) + "..'"), std::string::npos);
}

TEST(Scanner, numbers_are_below_2_63_and_have_no_sign) {
  EXPECT_EQ(refusal("9223372036854775807", read_number), "read");
  EXPECT_EQ(refusal("9223372036854775808", read_number),
            "bad_number\nerror: here: this number does not fit in 63 bits\n  9223372036854775808\n"
            "  ^~~~~~~~~~~~~~~~~~~\nnote: the largest number is 9223372036854775807\n");
  EXPECT_EQ(refusal("18446744073709551617", read_size),
            "bad_number\nerror: here: the size of axis x does not fit in 63 bits\n"
            "  18446744073709551617\n  ^~~~~~~~~~~~~~~~~~~~\n"
            "note: the largest number is 9223372036854775807\n");
  EXPECT_EQ(refusal("-12", read_number),
            "bad_number\nerror: here: this number cannot be negative\n  -12\n  ^~~\n"
            "note: sizes, offsets and device numbers are never negative\n");
  EXPECT_EQ(refusal("-12", read_size),
            "bad_number\nerror: here: the size of axis x cannot be negative\n  -12\n  ^~~\n"
            "note: sizes are whole numbers from 1\n");
  EXPECT_EQ(refusal("-", read_number),
            "syntax\nerror: here: expected a number, found '-'\n  -\n  ^\n");
  EXPECT_EQ(refusal("+1", read_number),
            "syntax\nerror: here: this number is written without a sign\n  +1\n  ^~\n"
            "note: sizes, offsets and device numbers are never negative\n");
  EXPECT_EQ(refusal("+1", read_size),
            "syntax\nerror: here: the size of axis x is written without a sign\n  +1\n  ^~\n"
            "note: sizes are whole numbers from 1\n");
  EXPECT_EQ(refusal("+", read_number),
            "syntax\nerror: here: expected a number, found '+'\n  +\n  ^\n");
}

TEST(Scanner, sizes_begin_at_1_and_numbers_at_0) {
  EXPECT_EQ(refusal("0", read_number), "read");
  EXPECT_EQ(refusal("1", read_size), "read");
  EXPECT_EQ(refusal("0", read_size),
            "bad_number\nerror: here: the size of axis x must be at least 1, not 0\n  0\n  ^\n"
            "note: sizes are whole numbers from 1\n");
}

TEST(Scanner, quoted_names_end_on_their_line) {
  EXPECT_EQ(refusal("\"x y,:{}#\"", read_name), "read");
  EXPECT_EQ(refusal("\"\"", read_name), "read");
  const std::string open = "note: a name stands between two double quotes on one line\n";
  EXPECT_EQ(refusal("\"x", read_name),
            "syntax\nerror: here: a quoted name has no closing quote\n  \"x\n  ^~\n" + open);
  EXPECT_EQ(refusal("\"x\ny\"", read_name, true),
            "syntax\nerror: here:1: a quoted name has no closing quote\n  \"x\n  ^~\n" + open);
}

TEST(Scanner, notes_are_only_made_for_refusals) {
  int made = 0;
  const auto notes = [&made] {
    ++made;
    return std::vector<std::string>{"a note"};
  };
  const Input input{.text = "12 x 3", .source = ""};
  Scanner scanner(input);
  static_cast<void>(scanner.size("a size", notes));
  static_cast<void>(scanner.name("a name", notes));
  EXPECT_EQ(made, 0);
  EXPECT_EQ(refusal("x", [&](Scanner& other) { static_cast<void>(other.size("a size", notes)); }),
            "syntax\nerror: here: expected a size, found 'x'\n  x\n  ^\nnote: a note\n");
  EXPECT_EQ(made, 1);
}

TEST(Place, a_line_of_a_text_is_shown_with_its_number) {
  const auto second = [](Scanner& scanner) {
    fail(scanner.at({3, 6}), {.code = retile::Code::bad_program, .message = "wrong"});
  };
  EXPECT_EQ(refusal("ab\ncde\r\nf", second, true),
            "bad_program\nerror: here:2: wrong\n  cde\n  ^~~\n");
  const auto far = [](Scanner& scanner) {
    fail(scanner.at({100, 200}), {.code = retile::Code::bad_program, .message = "wrong"});
  };
  EXPECT_EQ(refusal("ab\ncde", far, true), "bad_program\nerror: here:2: wrong\n  cde\n     ^\n");
}

TEST(Place, an_argument_is_shown_whole_and_an_empty_one_as_quotes) {
  EXPECT_EQ(refusal("a\nb c",
                    [](Scanner& scanner) {
                      fail(scanner.at({4, 5}), {.code = retile::Code::syntax, .message = "wrong"});
                    }),
            "syntax\nerror: here: wrong\n  a b c\n      ^\n");
  EXPECT_EQ(refusal("", read_number),
            "syntax\nerror: here: expected a number, found the end\n  \"\"\n  ^~\n");
}

TEST(Place, columns_count_from_the_beginning_of_the_line) {
  const Input lines{.text = "ab\ncd", .source = "", .numbered = true};
  Scanner scanner(lines, {3, 5});
  scanner.expect("c");
  EXPECT_EQ(scanner.column(), 1U);
  const Input argument{.text = "ab", .source = ""};
  Scanner other(argument);
  scanner.expect("d");
  EXPECT_EQ(scanner.column(), 2U);
  EXPECT_EQ(other.column(), 0U);
}

TEST(Place, numbers_of_a_value_are_found_again) {
  const Input input{.text = "at=[[0,12],[],[345]]", .source = ""};
  const Place value{&input, {3, 20}};
  EXPECT_EQ(in(number_place(value, 0)), "0");
  EXPECT_EQ(in(number_place(value, 1)), "12");
  EXPECT_EQ(in(number_place(value, 2)), "345");
  EXPECT_EQ(in(number_place(value, 3)), "[[0,12],[],[345]]");
}

TEST(Place, a_refusal_made_elsewhere_gets_its_place) {
  EXPECT_EQ(refusal("abc",
                    [](Scanner& scanner) {
                      fail_with(scanner.at({1, 2}), {.code = retile::Code::unknown_axis,
                                                     .message = "no b",
                                                     .rule = "WF-DIM",
                                                     .notes = {"try a"}});
                    }),
            "unknown_axis\nerror: here: no b [WF-DIM]\n  abc\n   ^\nnote: try a\n");
}

std::string json_text(std::string_view text) {
  const Input input{.text = text, .source = "here"};
  Scanner scanner(input);
  return scanner.json_text("a name").value;
}

TEST(Scanner, reads_texts_of_json) {
  EXPECT_EQ(json_text(R"( "a 'b' é" )"), "a 'b' é");
  EXPECT_EQ(json_text(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json_text(R"("\u0041\u00e9\u20AC\ud83d\ude00.")"), "Aé€😀.");
  const Input input{.text = R"("a\u0041", 1)", .source = "here"};
  Scanner scanner(input);
  EXPECT_EQ(in(scanner.json_text("a name").place), R"("a\u0041")");
  EXPECT_TRUE(scanner.accept(","));
}

TEST(Scanner, refuses_what_is_no_text_of_json) {
  const auto read = [](Scanner& scanner) { static_cast<void>(scanner.json_text("a name")); };
  for (const char* const text :
       {"'a'", "a", "\"a", "\"a\nb\"", "\"a\tb\"", R"("\x")", R"("\u12")", R"("\u12g4")", R"("\)",
        R"("\ud83d")", R"("\ud83d\u0041")", R"("\ude00")", R"("\u+123")", R"("\u 123")", R"("\)"}) {
    EXPECT_EQ(refusal(text, read).substr(0, 6), "syntax") << text;
  }
}

}  // namespace
}  // namespace scanner_test
