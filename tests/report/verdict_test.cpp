// What is said of a verdict on a Program, a function of another system and a module: text and JSON.
#include "retile/report/verdict.h"

#include <gtest/gtest.h>

#include <string>

#include "retile/foreign/judge_text.h"
#include "retile/program/forms/text.h"
#include "retile/report/foreign.h"
#include "retile/report/module.h"
#include "retile/report/sentences.h"

namespace retile::report::verdict_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- Programs -----------------------------------------------------------------------------------

Verdict checked(const std::string& lines) {
  return check(parse_programs("retile.program/2\nmesh x:2\n" + lines, "test").value().front());
}

/// The JSON from `first_wrong_step` on.
std::string wrong_json(const Verdict& verdict) {
  const std::string all = json_of(verdict).dump();
  return all.substr(all.find("\"first_wrong_step\""));
}

const std::string gather = "from [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]";

TEST(ProgramReports, of_what_is_right_have_the_figures) {
  const Verdict right = checked(gather + "\n");
  EXPECT_EQ(text_of(right), "right: cost 4, height 4 (bound 4), 1 step");
  EXPECT_EQ(json_of(right).dump(),
            "{\"schema\":\"retile.verdict/1\",\"right\":true,\"within_bound\":true,\"height\":4,"
            "\"bound\":4,\"cost\":4,\"steps\":1}");
}

TEST(ProgramReports, say_that_it_is_over_the_bound_where_that_counts) {
  const Verdict over = checked(
      "from [2{x}4]\nto [2{x}4]\nallgather dim=0 groups=[[0,1]]\ndynslice dim=0 groups=[[0,1]]\n");
  EXPECT_EQ(text_of(over), "right: cost 4, height 4 (bound 2), 2 steps");
  EXPECT_EQ(text_of(over, true), "right, but over the bound: cost 4, height 4 (bound 2), 2 steps");
}

TEST(ProgramReports, name_an_element_in_the_place_of_another) {
  const Verdict wrong = checked("from [2{x}4]\nto [2{x}4]\nallpermute source=[1,0]\n");
  EXPECT_EQ(text_of(wrong),
            "wrong at step 1 (end): device 0 holds element [2] at [0], expected [0]");
  EXPECT_EQ(wrong_json(wrong),
            "\"first_wrong_step\":1,\"reason\":\"end\",\"device\":0,\"at\":[0],\"element\":[0],"
            "\"found\":[2]}");
}

TEST(ProgramReports, name_what_a_step_leaves_without_a_place) {
  const Verdict wrong = checked("from [2{x}4]\nto [4]\nallgather dim=0 groups=[[0]]\n");
  EXPECT_EQ(text_of(wrong),
            "wrong at step 0 (groups): device 1 is missing or stands in more than one place; after "
            "it element [2] at [0] of device 1 has no place, or several");
  EXPECT_EQ(wrong_json(wrong),
            "\"first_wrong_step\":0,\"reason\":\"groups\",\"device\":1,\"at\":[0],\"element\":[2],"
            "\"found\":null}");
}

TEST(ProgramReports, name_what_a_tile_of_another_shape_lacks_or_has_too_much) {
  const Verdict lacks =
      checked("from [2{x}4]\nto [2{x}4]\nallpermute source=[1,0] tile=[3] at=[[1],[1]]\n");
  EXPECT_EQ(text_of(lacks),
            "wrong at step 0 (tile_claim): the tile has another shape than claimed; device 0 lacks "
            "element [3] at [2]");
  EXPECT_TRUE(has(wrong_json(lacks), "\"at\":[2],\"element\":[3],\"found\":null}"));
  const Verdict spare = checked(gather + " tile=[3]\n");
  EXPECT_EQ(text_of(spare),
            "wrong at step 0 (tile_claim): the tile has another shape than claimed; device 0 holds "
            "element [3] at [3], where none is expected");
  EXPECT_TRUE(has(wrong_json(spare), "\"at\":[3],\"element\":null,\"found\":[3]}"));
}

TEST(ProgramReports, name_the_place_that_transfers_do_not_write_once) {
  const Verdict wrong =
      checked("from [2{x}4]\nto [2{x}4]\nexchange tile=[2] transfers=[[0,0,0,0,2]]\n");
  EXPECT_EQ(text_of(wrong),
            "wrong at step 0 (transfers): device 1 at [0]: a box that begins here leaves the tile, "
            "or not exactly one transfer writes this element");
  EXPECT_EQ(wrong_json(wrong),
            "\"first_wrong_step\":0,\"reason\":\"transfers\",\"device\":1,\"at\":[0],"
            "\"element\":null,\"found\":null}");
}

TEST(ProgramReports, say_what_is_wrong_where_no_element_shows_it) {
  const Verdict wrong = checked("from [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1],[]]\n");
  EXPECT_EQ(text_of(wrong), "wrong at step 0 (groups): the groups differ in length");
  EXPECT_EQ(wrong_json(wrong),
            "\"first_wrong_step\":0,\"reason\":\"groups\",\"device\":null,\"at\":null,"
            "\"element\":null,\"found\":null}");
}

TEST(ProgramReports, count_addends) {
  const Verdict missing = checked("from sum{x}[4]\nto sum{x}[4]\nallpermute source=[0,0]\n");
  EXPECT_FALSE(has(wrong_json(missing), "addend"));
  Verdict wrong = missing;
  wrong.wrong = Wrong{1, Reason::addends, {0, Witness::OtherAddend{{2}, {3}, 1, 0}}};
  EXPECT_EQ(text_of(wrong),
            "wrong at step 1 (addends): device 0: element [3] at [2] lacks addend 1");
  EXPECT_EQ(wrong_json(wrong),
            "\"first_wrong_step\":1,\"reason\":\"addends\",\"device\":0,\"at\":[2],\"element\":[3],"
            "\"found\":null,\"addend\":1,\"times\":0}");
  const Verdict replicas = checked("from sum{x}[4]\nto [4]\n");
  EXPECT_EQ(text_of(replicas),
            "wrong at step 0 (replicas): device 1: element [0] at [0] lacks addend 0; its replica "
            "on device 0 has addend 0 once");
  EXPECT_TRUE(
      has(wrong_json(replicas), "\"addend\":0,\"times\":0,\"replica\":0,\"replica_times\":1}"));
}

TEST(ProgramReports, of_what_is_undecided_say_why) {
  Verdict undecided;
  EXPECT_TRUE(has(text_of(undecided), "undecided (limit): the replay needs more than its limit"));
  undecided.out_of_time = true;
  EXPECT_EQ(text_of(undecided), "undecided (limit): no verdict in time");
  EXPECT_TRUE(has(json_of(undecided).dump(), "\"right\":null"));
  EXPECT_TRUE(has(json_of(undecided).dump(), "\"reason\":\"limit\"}"));
}

// ---- Functions of other systems -----------------------------------------------------------------

const std::string hlo =
    "HloModule m, num_partitions=2\nENTRY e {\n p = f32[4] parameter(0)\n ROOT r = f32[8] "
    "all-gather(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
    "use_global_device_ids=true\n}\n";
const std::string other_hlo = std::string(hlo).replace(hlo.find("{{0,1}}"), 7, "{{1,0}}");

foreign::JudgedFunction judged(const std::string& text, const std::string& to = "[8]",
                               bool explains = true) {
  const foreign::EndTexts ends{.mesh = "x:2", .from = "[4{x}8]", .to = to};
  return foreign::judge_text(text, "m", ends, {.explains = explains}).value().front();
}

TEST(ForeignReports, of_what_is_right_have_our_plan_beside_the_figures) {
  EXPECT_EQ(text_of(judged(hlo), hlo),
            "m: right: cost 8, height 8 (bound 8), receives 4 elements (16 bytes); our plan: cost "
            "8, height 8\n  taken as a reshard: the result is the argument\n");
  const std::string json = json_of(judged(hlo)).dump();
  EXPECT_TRUE(has(json, "\"from\":\"[4{x}8]\",\"to\":\"[8]\"")) << json;
  EXPECT_TRUE(has(json, "\"optimum\":{\"cost\":8,\"height\":8,\"optimal\":true")) << json;
  EXPECT_FALSE(has(text_of(judged(hlo, "[8]", false), hlo), "our plan"));
}

TEST(ForeignReports, of_what_is_wrong_show_the_line_and_the_element) {
  const foreign::JudgedFunction wrong = judged(other_hlo);
  const std::string text = text_of(wrong, other_hlo);
  EXPECT_TRUE(has(text,
                  "m: wrong at line 4 (all-gather r): device 0 holds element [4] at [0], expected "
                  "[0]\n  4 | ROOT r = f32[8] all-gather(p)"))
      << text;
  const std::string json = json_of(wrong).dump();
  EXPECT_TRUE(has(json,
                  "\"reason\":\"end\",\"device\":0,\"at\":[0],\"element\":[0],\"found\":[4],"
                  "\"addend\":null,\"times\":null,\"replica\":null"))
      << json;
}

foreign::JudgedFunction wrong_by(foreign::Mismatch mismatch) {
  foreign::JudgedFunction out = judged(other_hlo);
  out.verdict.mismatch = std::move(mismatch);
  return out;
}

TEST(ForeignReports, of_other_tiles_say_whose_they_are) {
  foreign::JudgedFunction all =
      wrong_by({.fault = foreign::Fault::tile, .tile = {4}, .expected = {8}});
  EXPECT_TRUE(
      has(text_of(all, other_hlo), "the result is a tile [4], but a tile of the end is [8]\n"));
  EXPECT_TRUE(has(json_of(all).dump(), "\"reason\":\"tile\",\"device\":null,\"at\":null"));
  all.verdict.is_claim = true;
  EXPECT_TRUE(has(text_of(all, other_hlo), "a tile of what it claims is [8]\n"));
  EXPECT_TRUE(has(json_of(all).dump(), "\"reason\":\"claim\""));
  const auto one =
      wrong_by({.fault = foreign::Fault::tile, .device = 7, .tile = {3}, .expected = {4}});
  EXPECT_TRUE(has(text_of(one, other_hlo),
                  "rank 7 ends with a tile [3], but its tile of the end is [4]\n"));
  EXPECT_TRUE(has(json_of(one).dump(), "\"device\":7,\"at\":null"));
}

TEST(ForeignReports, count_addends_and_parts_of_them) {
  foreign::Mismatch some{.fault = foreign::Fault::addends, .device = 1, .at = {2}, .element = {3}};
  some.addend = 0;
  some.times = 0;
  const auto text = [&some] { return text_of(wrong_by(some), other_hlo); };
  EXPECT_TRUE(has(text(), "device 1: element [3] at [2] lacks addend 0\n")) << text();
  some.times = 2;
  EXPECT_TRUE(has(text(), "has addend 0 2 times\n")) << text();
  some.parts = 4;
  EXPECT_TRUE(has(text(), "has addend 0 2/4 times\n")) << text();
  EXPECT_TRUE(
      has(json_of(wrong_by(some)).dump(), "\"addend\":0,\"times\":\"2/4\",\"replica\":null"));
  some.replica = 0;
  EXPECT_TRUE(has(text(), "[3] at [2] is another sum than on device 0, its replica\n")) << text();
}

// ---- Modules ------------------------------------------------------------------------------------

const std::string module_text =
    "retile.spmd/1\nmesh d:2\nfn main(x : [2{d}4]) -> [4]\ny = redistribute x as [4]\nreturn y\n";

TEST(ModuleReports, name_the_redistributions_and_what_the_verdict_rests_on) {
  const text::Input input{module_text, "m", true};
  const auto module = spmd::read_module(input);
  ASSERT_TRUE(module) << module.error().message;
  spmd::ModuleVerdict verdict = spmd::judge(*module, {.seed = 1}).value();
  const std::string text = text_of(*module, verdict);
  EXPECT_TRUE(has(
      text,
      "right: 1 statement, 1 redistribution, cost 4\n  y: allgather [alltoallv]; right: cost 4, "
      "height 4 (bound 4), 1 step\n  replicas (no denotes): agree modulo the prime "))
      << text;
  const std::string json = json_of(*module, verdict).dump();
  EXPECT_TRUE(has(json,
                  "\"redistributions\":[{\"value\":\"y\",\"right\":true,\"cost\":4,"
                  "\"height\":4,\"bound\":4,\"solver\":\"alltoallv\",\"steps\":[\"allgather\"]}]"))
      << json;
  verdict.answer = Answer::wrong;
  verdict.wrong = spmd::WrongModule{
      .reason = "replicas", .statement = 0, .device = 1, .element = Shape{2, 3}, .addend = 5};
  EXPECT_TRUE(has(text_of(*module, verdict),
                  "wrong at y (replicas): device 1 holds another element [2, 3] of addend 5 than a "
                  "device before it\n"));
  EXPECT_TRUE(has(json_of(*module, verdict).dump(),
                  "\"wrong\":{\"reason\":\"replicas\",\"statement\":\"y\",\"device\":1,"
                  "\"element\":[2,3],\"addend\":5,\"returned\":null},\"undecided\":null"));
  verdict.answer = Answer::undecided;
  verdict.wrong = std::nullopt;
  verdict.why_undecided = "no time";
  EXPECT_TRUE(has(text_of(*module, verdict), "undecided: no time\n"));
  EXPECT_TRUE(has(json_of(*module, verdict).dump(),
                  "\"right\":null,\"wrong\":null,\"undecided\":\"no time\""));
}

TEST(ModuleReports, name_the_solver_of_the_thesis) {
  const std::string text =
      "retile.spmd/1\nmesh d:2\nfn main(x : [4]@0) -> [2{d}4]\ny = redistribute x as [2{d}4]\n"
      "return y\n";
  const text::Input input{text, "m", true};
  const auto module = spmd::read_module(input);
  ASSERT_TRUE(module) << module.error().message;
  const spmd::ModuleVerdict verdict = spmd::judge(*module, {.seed = 1}).value();
  EXPECT_TRUE(has(text_of(*module, verdict), " [scatterv]; right: ")) << text_of(*module, verdict);
  EXPECT_TRUE(has(json_of(*module, verdict).dump(), "\"solver\":\"scatterv\""));
}

}  // namespace
}  // namespace retile::report::verdict_test
