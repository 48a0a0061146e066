// What is said of a verdict, to people and to programs.
#include <gtest/gtest.h>

#include <string>

#include "retile/report/folder.h"
#include "retile/report/validation.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Validation found() {
  Validation out;
  out.answer = Answer::wrong;
  out.difference = Difference{.result = 1,
                              .device = 2,
                              .at = {3, 4},
                              .element = {5, 6},
                              .expected = "0.5",
                              .found = "0.25",
                              .draw = 7,
                              .integers = {{.name = "%i", .numbers = {8, 9}}},
                              .differing = 10,
                              .elements = 12};
  out.blame = Blame{.lost = {.value = "%a", .opcode = "tanh", .line = 13, .source = "m.py:14"},
                    .last = Spot{.value = "%b", .opcode = "dot", .line = 15}};
  out.draws = 3;
  out.unknown = {{"custom-call", 16}};
  return out;
}

TEST(Reports, of_a_wrong_program_say_where_it_is_wrong) {
  Validation out = found();
  const std::string text = report::text_of(out);
  EXPECT_TRUE(has(text,
                  "wrong: result 1 on device 2 at [3,4]: 0.25 instead of 0.5, element [5,6] of the "
                  "result\n  10 of 12 elements of that device differ\n  with %i = 8,9\n"))
      << text;
  EXPECT_TRUE(has(text, "  lost: tanh %a, line 13 (m.py:14) of the text before\n")) << text;
  EXPECT_TRUE(has(text, "was last there at dot %b, line 15 of the text after\n")) << text;
  EXPECT_TRUE(has(text, "custom-call was taken as a function of which nothing is known, 16 times"))
      << text;
  EXPECT_FALSE(has(text, "inside the extents")) << text;
  out.is_right_inside = true;
  EXPECT_TRUE(
      has(report::text_of(out), "no difference was found with integers inside the extents"));
  out.blame->last = std::nullopt;
  EXPECT_FALSE(has(report::text_of(out), "was last there"));
}

TEST(Reports, of_an_undecided_program_name_what_was_lost) {
  Validation out = found();
  out.answer = Answer::undecided;
  out.why = "it differs";
  EXPECT_TRUE(has(report::text_of(out), "  lost: tanh %a, line 13 (m.py:14) of the text before\n"));
  EXPECT_TRUE(has(report::text_of(out), "0.25 instead of 0.5"));
  out.difference->found = out.difference->expected;  // as numbers of a field are said
  EXPECT_TRUE(
      has(report::text_of(out), "  result 1 on device 2 at [3,4], element [5,6] of the result\n"));
}

TEST(Reports, of_passes_that_the_time_did_not_reach_count_them) {
  JudgedModule module{.name = "module_0000 jit_f", .texts = 4, .missing = {}, .pairs = {}};
  Validation late;
  late.why = out_of_time;
  Validation open;
  open.why = "it differs";
  for (const Validation& one : {open, late, late}) {
    module.pairs.push_back(
        {.before = {}, .after = {}, .pass = "cse", .validation = one, .refused = std::nullopt});
  }
  const std::string text = report::passes_text_of(module);
  EXPECT_TRUE(has(text, "undecided: 4 texts; 1 pair judged, 0 of equal texts\n")) << text;
  EXPECT_TRUE(has(text, "  cse: undecided: it differs\n")) << text;
  EXPECT_TRUE(has(text, "  the time is over: 2 pairs were not judged\n")) << text;
  EXPECT_FALSE(has(text, "undecided: the time is over")) << text;
}

TEST(Reports, of_several_modules_count_them) {
  const auto judged = [](Answer answer) {
    JudgedModule out{.name = "m", .texts = 2, .missing = {}, .pairs = {}};
    Validation validation;
    validation.answer = answer;
    out.pairs.push_back({.before = {},
                         .after = {},
                         .pass = "cse",
                         .validation = validation,
                         .refused = std::nullopt});
    return out;
  };
  JudgedModule unread = judged(Answer::right);
  unread.has_ends = false;
  unread.pairs.back().validation = std::nullopt;
  unread.pairs.back().refused = Diagnostic{.code = Code::syntax, .message = "an end of it"};
  unread.pairs.back().refused->notes = {"a repair"};
  JudgedModule missing{.name = "m", .missing = "no text", .pairs = {}};
  EXPECT_EQ(report::summary_text_of({judged(Answer::wrong)}), "");
  EXPECT_EQ(report::summary_text_of({judged(Answer::right), judged(Answer::right)}),
            "2 modules: 2 right\n");
  EXPECT_EQ(report::summary_text_of({judged(Answer::undecided), missing, judged(Answer::wrong),
                                     unread, judged(Answer::right)}),
            "5 modules: 1 right, 1 wrong, 1 undecided, 1 not read, 1 not judged\n");
  EXPECT_EQ(report::text_of(unread), "m: not read: an end of it\n  a repair\n");
}

TEST(Reports, as_json_have_the_same) {
  Validation out = found();
  const std::string json = report::json_of(out).dump();
  for (const std::string part :
       {"\"schema\":\"retile.validation/1\"", "\"answer\":\"wrong\"", "\"why\":null",
        "\"line\":null", "\"text\":null", "\"result\":1", "\"device\":2", "\"at\":[3,4]",
        "\"element\":[5,6]", "\"expected\":\"0.5\"", "\"found\":\"0.25\"", "\"draw\":7",
        "\"integers\":{\"%i\":[8,9]}", "\"differing\":10", "\"elements\":12",
        "\"right_inside\":null", "\"source\":\"m.py:14\"", "\"source\":null",
        "\"unknown\":{\"custom-call\":16}"}) {
    EXPECT_TRUE(has(json, part)) << part << "\n" << json;
  }
  out.is_right_inside = false;
  EXPECT_TRUE(has(report::json_of(out).dump(), "\"right_inside\":false"));
}

TEST(Reports, of_what_is_undecided_say_which_line_of_which_text) {
  Validation out;
  out.why = "devices go different ways";
  out.line = 17;
  out.in_after = true;
  EXPECT_TRUE(has(report::text_of(out),
                  "undecided: devices go different ways (line 17 of the text after)\n"));
  EXPECT_TRUE(has(report::json_of(out).dump(),
                  "\"why\":\"devices go different ways\",\"line\":17,\"text\":\"after\""));
  out.in_after = false;
  EXPECT_TRUE(has(report::text_of(out), "(line 17 of the text before)"));
  EXPECT_TRUE(has(report::json_of(out).dump(), "\"text\":\"before\""));
}

}  // namespace
}  // namespace retile::whole::tests
