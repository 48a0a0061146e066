// What texts of later passes and of other releases have: layouts, source lines, regions along some axes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retile/whole/read.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

std::vector<std::string> sources_of(const std::string& text) {
  const text::Input input{text, "text", true};
  const Result<Module> module = read_hlo(input);
  EXPECT_TRUE(module) << module.error().message;
  std::vector<std::string> out;
  if (!module) return out;
  for (const Instruction& one : module->main().body) out.push_back(one.source);
  return out;
}

TEST(Texts, source_lines_are_those_of_the_user) {
  // Frame 3 lies in a package and was called by frame 2; frame 4 has no caller outside of packages.
  const std::string text = R"(HloModule m

FileNames
1 "/home/me/model.py"
2 "/usr/lib/python3/site-packages/flax/linen.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 end_line=13 line=12 column=4 end_column=5}
2 {file_name_id=2 function_name_id=1 line=99 end_line=99 column=4 end_column=5}
3 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=4 end_column=5}

StackFrames
1 {file_location_id=3 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
3 {file_location_id=2 parent_frame_id=3}
4 {file_location_id=2 parent_frame_id=1}

ENTRY %main {
  %x = f32[4] parameter(0)
  %a = f32[4] add(%x, %x), metadata={op_name="a" stack_frame_id=1}
  %b = f32[4] add(%a, %x), metadata={op_name="b" stack_frame_id=2}
  %c = f32[4] add(%b, %x), metadata={op_name="c" stack_frame_id=3}
  %d = f32[4] add(%c, %x), metadata={op_name="d" stack_frame_id=4}
  %e = f32[4] add(%d, %x), metadata={op_name="e" source_file="/home/me/old.py" source_line=31 source_end_line=32}
  %f = f32[4] add(%e, %x), metadata={op_name="f" stack_frame_id=9}
  ROOT %g = f32[4] add(%f, %x)
}
)";
  EXPECT_EQ(sources_of(text), (std::vector<std::string>{"model.py:7", "model.py:12", "model.py:12",
                                                        "linen.py:99", "old.py:31", "", ""}));
}

TEST(Texts, tables_that_are_none_say_nothing) {
  EXPECT_EQ(sources_of("HloModule m\n\nFileNames\n1 x\n2\n\nFileLocations\n1 {line=-5}\n2 "
                       "{file_name_id=1 line=99999999999999999999}\n\nStackFrames\n1 "
                       "{file_location_id=2 parent_frame_id=-9223372036854775808}\n\nENTRY %main "
                       "{\n%x = f32[4] parameter(0)\nROOT %a = f32[4] add(%x, %x), "
                       "metadata={stack_frame_id=1 source_line=}\n}\n"),
            (std::vector<std::string>{""}));
}

TEST(Texts, a_bitcast_keeps_what_lies_in_memory) {
  const std::string transposed =
      module_of("%x = f32[2,3] parameter(0)\nROOT %r = f32[3,2] transpose(%x), dimensions={1,0}\n");
  const auto cast = [](const std::string& from, const std::string& to) {
    return module_of("%x = f32[2,3]{1,0} parameter(0)\n%c = f32[2,3]" + from +
                     " copy(%x)\nROOT %r = f32[3,2]" + to + " bitcast(%c)\n");
  };
  EXPECT_EQ(answer(transposed, cast("{1,0}", "{0,1}")), "right");
  EXPECT_EQ(answer(transposed, cast("{0,1}", "{1,0}")), "right");
  EXPECT_EQ(answer(transposed, cast("{1,0}", "{1,0}")), "wrong");
  EXPECT_EQ(answer(transposed, cast("{0,1}", "{0,1}")), "wrong");
  EXPECT_NE(answer(transposed, cast("{0,1:T(8,128)}", "{1,0}")).find("tiles of memory"),
            std::string::npos);
  EXPECT_NE(answer(transposed, cast("{0,0}", "{1,0}")).find("no order"), std::string::npos);
}

TEST(Texts, a_bitcast_of_three_dimensions_follows_both_layouts) {
  const std::string before = module_of(
      "%x = f32[2,3,4] parameter(0)\n%t = f32[4,2,3] transpose(%x), dimensions={2,0,1}\n"
      "%s = f32[8,3] reshape(%t)\nROOT %r = f32[3,8] transpose(%s), dimensions={1,0}\n");
  const auto after = [](const std::string& from, const std::string& to) {
    return module_of("%x = f32[2,3,4]" + from + " parameter(0)\nROOT %r = f32[3,8]" + to +
                     " bitcast(%x)\n");
  };
  EXPECT_EQ(answer(before, after("{1,0,2}", "{0,1}")), "right");
  EXPECT_EQ(answer(before, after("{0,1,2}", "{0,1}")), "wrong");
  EXPECT_EQ(answer(before, after("{1,0,2}", "{1,0}")), "wrong");
  EXPECT_EQ(answer(before, after("{2,1,0}", "{0,1}")), "wrong");
}

TEST(Texts, a_bitcast_of_four_dimensions_goes_back_by_the_inverse) {
  const std::string before = module_of(
      "%x = f32[24] parameter(0)\n%m = f32[4,2,3] reshape(%x)\n"
      "ROOT %r = f32[2,3,4] transpose(%m), dimensions={1,2,0}\n");
  const auto after = [](const std::string& to) {
    return module_of("%x = f32[24]{0} parameter(0)\nROOT %r = f32[2,3,4]" + to + " bitcast(%x)\n");
  };
  EXPECT_EQ(answer(before, after("{1,0,2}")), "right");
  EXPECT_EQ(answer(before, after("{0,1,2}")), "wrong");
}

TEST(Texts, a_bitcast_to_another_type_reads_the_same_bits) {
  const auto text = [](const std::string& op) {
    return module_of("%x = f32[2,2] parameter(0)\nROOT %r = s32[2,2]" + op + "(%x)\n");
  };
  EXPECT_EQ(answer(text(" bitcast-convert"), text(" bitcast")), "right");
  EXPECT_EQ(answer(text(" bitcast-convert"), text(" convert")), "wrong");
}

TEST(Texts, a_reciprocal_that_was_rounded_is_whole_again) {
  const auto text = [](const std::string& constant, const std::string& op) {
    return module_of("%x = f32[2] parameter(0)\n%c = f32[] constant(" + constant +
                     ")\n%b = f32[2] broadcast(%c), dimensions={}\n%q = f32[2] " + op +
                     "(%x, %b)\n%d = f32[] constant(0.111111112)\n%e = f32[2] broadcast(%d), "
                     "dimensions={}\nROOT %r = f32[2] add(%q, %e)\n");
  };
  EXPECT_EQ(answer(text("9", "divide"), text("0.111111112", "multiply")), "right");
  EXPECT_EQ(answer(text("0.1", "divide"), text("10", "multiply")), "right");
  EXPECT_EQ(answer(text("9", "divide"), text("0.125", "multiply")), "wrong");
  // Not what it rounds to, but next to it.
  EXPECT_EQ(answer(text("9", "divide"), text("0.11111113", "multiply")),
            "undecided: it differs in exact arithmetic, not in floating point");
}

TEST(Texts, a_constant_that_was_computed_is_what_it_was_computed_of) {
  const auto before = [](const std::string& number) {
    return module_of("%x = f32[2] parameter(0)\n%i = s32[] constant(" + number +
                     ")\n%c = f32[] convert(%i)\n%s = f32[] sqrt(%c)\n%b = f32[2] broadcast(%s), "
                     "dimensions={}\nROOT %r = f32[2] divide(%x, %b)\n");
  };
  const auto after = [](const std::string& number) {
    return module_of("%x = f32[2] parameter(0)\n%s = f32[] constant(" + number +
                     ")\n%b = f32[2] broadcast(%s), dimensions={}\n"
                     "ROOT %r = f32[2] divide(%x, %b)\n");
  };
  EXPECT_EQ(answer(before("8"), after("2.82842708")), "right");
  EXPECT_EQ(answer(before("8"), after("2.82842731")),
            "undecided: it differs in exact arithmetic, not in floating point");
  EXPECT_EQ(answer(before("8"), after("2.83")), "wrong");
  EXPECT_EQ(answer(before("7"), after("2.82842708")), "wrong");
  // In both texts, where the text after has it both ways.
  const auto twice = [](const std::string& text) {
    return replaced(text, "ROOT %r = f32[2] divide(%x, %b)\n",
                    "%q = f32[2] divide(%x, %b)\n%k = f32[] constant(8)\n%t = f32[] sqrt(%k)\n"
                    "%d = f32[2] broadcast(%t), dimensions={}\nROOT %r = f32[2] add(%q, %d)\n");
  };
  EXPECT_EQ(answer(twice(before("8")), twice(after("2.82842708"))), "right");
  const Result<Validation> out = validated(before("8"), after("2.82842708"));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->notes, std::vector<std::string>(
                            {"1 operation on constants was taken as the constant after it"}));
}

TEST(Texts, what_was_computed_may_be_a_constant_that_was_there) {
  // 0.1 times 4000 is 400 in 32 bits and 400.000006 in 64.
  const std::string head = "%x = f32[] parameter(0)\n%h = f32[] constant(0.5)\n";
  const std::string before = module_of(
      head +
      "%a = f32[] constant(0.1)\n%b = f32[] constant(4000)\n%p = f32[] multiply(%a, %b)\n%c = "
      "f32[] constant(399)\n%s = f32[] subtract(%p, %c)\n%t = f32[] multiply(%s, %h)\nROOT %r = "
      "f32[] multiply(%x, %t)\n");
  EXPECT_EQ(answer(before, module_of(head + "ROOT %r = f32[] multiply(%x, %h)\n")),
            "undecided: it differs in exact arithmetic, not in floating point");
}

TEST(Texts, a_constant_of_few_digits_was_not_rounded) {
  const auto text = [](const std::string& number, const std::string& result) {
    return module_of("%x = f32[] parameter(0)\n%c = f32[] constant(" + number +
                     ")\n%p = f32[] multiply(%x, %c)\nROOT %r = f32[] " + result + "(%p, %x)\n");
  };
  // They differ by a millionth.
  const std::string before = text("0.000001", "add");
  EXPECT_EQ(answer(before, text("2", "subtract")), "wrong");
  EXPECT_EQ(answer(before, text("2.00000024", "subtract")),
            "undecided: it differs in exact arithmetic, not in floating point");
}

TEST(Texts, what_shows_where_no_number_is_below_0_is_confirmed) {
  const auto chosen = [](const std::string& result) {
    return module_of(
        "%x = f32[64] parameter(0)\n%z = f32[] constant(0)\n%sum = f32[] reduce(%x, %z), "
        "dimensions={0}, to_apply=%sum_of\n%most = f32[] constant(30)\n%large = pred[] "
        "compare(%sum, %most), direction=GT\n%n = f32[] negate(%sum)\nROOT %r = f32[] " +
            result + "\n",
        "%sum_of (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
        "parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}\n");
  };
  EXPECT_EQ(answer(chosen("select(%large, %n, %sum)"), chosen("copy(%sum)")), "wrong");
}

TEST(Texts, a_sort_may_compare_bits) {
  const auto sorted = [](const std::string& comparator, const std::string& body) {
    return module_of(
        "%x = f32[40] parameter(0)\nROOT %r = f32[40] sort(%x), dimensions={0}, "
        "is_stable=true, to_apply=%" +
            comparator + "\n",
        body);
  };
  const auto by_bits = [](const std::string& direction) {
    return "%by_bits (a: f32[], b: f32[]) -> pred[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
           "parameter(1)\n  %z = s32[] constant(0)\n  %m = s32[] constant(2147483647)\n"
           "  %i = s32[] bitcast(%a)\n  %j = s32[] bitcast(%b)\n  %x = s32[] xor(%m, %i)\n"
           "  %y = s32[] xor(%m, %j)\n  %p = pred[] compare(%i, %z), direction=LT\n"
           "  %q = pred[] compare(%j, %z), direction=LT\n  %s = s32[] select(%p, %x, %i)\n"
           "  %t = s32[] select(%q, %y, %j)\n  ROOT %r = pred[] compare(%s, %t), direction=" +
           direction + "\n}\n";
  };
  EXPECT_EQ(answer(sorted("less", ""), sorted("by_bits", by_bits("LT"))), "right");
  EXPECT_EQ(answer(sorted("less", ""), sorted("by_bits", by_bits("GT"))), "wrong");
}

TEST(Texts, parts_of_complex_constants_may_have_been_computed) {
  const auto text = [](const std::string& number) {
    return module_of("%x = c64[] parameter(0)\n%c = c64[] constant((0, " + number +
                     "))\nROOT %r = c64[] multiply(%x, %c)\n");
  };
  EXPECT_EQ(answer(text("0.1"), text("0.1")), "right");
  EXPECT_EQ(answer(text("0.1"), text("0.1000001")),
            "undecided: it differs in exact arithmetic, not in floating point");
  EXPECT_EQ(answer(text("0.1"), text("0.101")), "wrong");
}

std::string on_four(const std::string& name, const std::string& body) {
  return "HloModule m, num_partitions=4\n" + scalar_computations() + "ENTRY %" + name + " {\n" +
         body + "}\n";
}
/// The sum over x of an array that x and y cut, in a region along x.
std::string region(const std::string& whole, const std::string& inner, const std::string& end) {
  return on_four("main",
                 "%x = f32[4,4] parameter(0), sharding={" + whole +
                     "}\n%t = f32[2,4] custom-call(%x), custom_call_target=\"SPMDFullToShardShape\""
                     ", sharding={" +
                     inner +
                     "}\n%s = f32[2,4] all-reduce(%t), replica_groups={{0,2},{1,3}}, "
                     "channel_id=1, use_global_device_ids=true, to_apply=%add_f32, sharding={" +
                     inner +
                     "}\nROOT %r = f32[2,4] custom-call(%s), custom_call_target="
                     "\"SPMDShardToFullShape\", sharding={" +
                     end + "}\n");
}

TEST(Texts, a_region_along_some_axes_is_whole_along_the_others) {
  const auto after = [](const std::string& groups) {
    return on_four("main_spmd",
                   "%x = f32[2,2] parameter(0)\nROOT %r = f32[2,2] all-reduce(%x), "
                   "replica_groups={" +
                       groups + "}, channel_id=1, use_global_device_ids=true, to_apply=%add_f32\n");
  };
  const std::string by_axes =
      region("mesh['x'=2,'y'=2], [{'x'}, {'y'}]", "mesh['x'=2,'y'=2], [{}, {'y'}], manual={'x'}",
             "mesh['x'=2,'y'=2], [{}, {'y'}]");
  const std::string by_lists =
      region("devices=[2,2]<=[4]", "devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual}",
             "devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate");
  for (const std::string& before : {by_axes, by_lists}) {
    EXPECT_EQ(answer(before, after("{0,2},{1,3}")), "right");
    EXPECT_EQ(answer(before, after("{0,1},{2,3}")), "wrong");
    EXPECT_EQ(answer(before, after("{0,2},{3,1}")), "right");
  }
}

TEST(Texts, shardings_are_given_where_the_text_says_none) {
  const std::string before =
      on_four("main",
              "%x = f32[4] parameter(0)\n%y = f32[4] parameter(1), sharding={devices=[4]<=[4]}\n"
              "ROOT %r = f32[4] add(%x, %y)\n");
  const std::string after =
      on_four("main_spmd",
              "%x = f32[1] parameter(0)\n%y = f32[1] parameter(1)\nROOT %r = f32[1] add(%x, %y)\n");
  const auto given = [&](const std::vector<std::string>& from, const std::vector<std::string>& to) {
    const Result<Validation> out =
        validate(before, "before", after, "after", {.seed = 1, .from = from, .to = to});
    if (!out) return out.error().message;
    return std::string(out->answer == Answer::right ? "right" : "wrong");
  };
  const std::string ordered = "{devices=[4]<=[4]}";
  const std::string turned = "{devices=[4]3,2,1,0}";
  EXPECT_EQ(given({ordered, ""}, {ordered}), "right");
  EXPECT_EQ(given({turned, ""}, {ordered}), "wrong");
  EXPECT_EQ(given({ordered, turned}, {ordered}), "right") << "the text says its own";
  EXPECT_EQ(given({ordered}, {ordered}), "1 sharding for 2 arguments");
  EXPECT_EQ(given({}, {}), "parameter 0 is f32[1] after, but a tile of f32[4] is [4]");
}

TEST(Texts, a_region_whose_axis_cuts_behind_another_is_refused) {
  const auto text = [](const std::string& dims) {
    return on_four("main", "%x = f32[4] parameter(0), sharding={mesh['x'=2,'y'=2], [" + dims +
                               "]}\n%t = f32[2] custom-call(%x), custom_call_target="
                               "\"SPMDFullToShardShape\", sharding={mesh['x'=2,'y'=2], [{'y'}], "
                               "manual={'x'}}\nROOT %r = f32[4] custom-call(%t), "
                               "custom_call_target=\"SPMDShardToFullShape\", sharding="
                               "{mesh['x'=2,'y'=2], [{'x','y'}]}\n");
  };
  EXPECT_EQ(answer(text("{'x','y'}"), text("{'x','y'}")), "right");
  EXPECT_EQ(answer(text("{'y','x'}"), text("{'y','x'}")), "a region whose axes cut behind others");
}

TEST(Texts, custom_top_k_is_the_operation) {
  const auto text = [](const std::string& made) {
    return module_of("%x = f32[2,5] parameter(0)\n%k = (f32[2,3], s32[2,3]) " + made +
                     "\nROOT %v = f32[2,3] get-tuple-element(%k), index=0\n");
  };
  const std::string before = text("topk(%x), k=3, largest=true");
  const auto custom = [&](const std::string& less) {
    return text("custom-call(%x), custom_call_target=\"TopK\", called_computations={%" + less +
                "}, backend_config={is_stable = true, order = \"TOTAL\"}");
  };
  EXPECT_EQ(answer(before, custom("at_least")), "right");
  EXPECT_EQ(answer(before, custom("less")), "wrong");
}

}  // namespace
}  // namespace retile::whole::tests
