// Texts that are no programs: each is refused with its reason, and none is evaluated.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

struct Refused {
  std::string body;
  std::string message;  ///< a part of it
};

TEST(Refusals, types_that_do_not_fit) {
  const std::vector<Refused> all = {
      {"%x = f32[4] parameter(0)\nROOT %r = f32[5] slice(%x), slice={[0:5]}\n",
       "inside of its operand"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[3] slice(%x), slice={[0:4]}\n", "it makes f32[4]"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[5] reshape(%x)\n", "as many elements"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4,2] broadcast(%x), dimensions={1}\n",
       "an extent that is kept"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4,2] broadcast(%x), dimensions={2}\n",
       "dimensions that are there"},
      {"%x = f32[4,2] parameter(0)\nROOT %r = f32[4,2] transpose(%x), dimensions={0,0}\n",
       "dimensions that are there"},
      {"%x = f32[4] parameter(0)\n%y = f32[5] parameter(1)\nROOT %r = f32[4] add(%x, %y)\n",
       "one shape"},
      {"%x = f32[4] parameter(0)\n%y = s32[4] parameter(1)\nROOT %r = f32[4] add(%x, %y)\n",
       "one type"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] add(%x)\n", "it takes 2"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] add(%x, %x, %x)\n", "it takes 2"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] select(%x, %x, %x)\n", "truth values"},
      {"%x = f32[4] parameter(0)\n%z = f32[] constant(0)\nROOT %r = f32[4] pad(%x, %z), "
       "padding=0_0x0_0\n",
       "another rank"},
      {"%x = f32[4] parameter(0)\n%z = f32[] constant(0)\nROOT %r = f32[4] pad(%x, %z), "
       "padding=-9_0\n",
       "takes away more"},
      {"%x = f32[4] parameter(0)\n%z = f32[] constant(0)\nROOT %r = f32[4] pad(%x, %z), "
       "padding=9223372036854775807_0\n",
       "beyond 2^60"},
      {"%x = f32[4,3] parameter(0)\n%y = f32[4,3] parameter(1)\nROOT %r = f32[4,3] dot(%x, %y), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "one extent"},
      {"%x = f32[4] parameter(0)\n%i = s32[2] constant({0, 1})\nROOT %r = f32[2] dynamic-slice(%x, "
       "%i), dynamic_slice_sizes={2}\n",
       "starts are integers"},
      {"%x = f32[4] parameter(0)\n%i = s32[] constant(0)\nROOT %r = f32[5] dynamic-slice(%x, %i), "
       "dynamic_slice_sizes={5}\n",
       "fits into the operand"},
      {"%x = f32[4] parameter(0)\n%z = f32[] constant(0)\nROOT %r = f32[] reduce(%x, %z), "
       "dimensions={0}, to_apply=%add_s32\n",
       "other types"},
      {"%x = f32[4] parameter(0)\n%z = f32[] constant(0)\nROOT %r = f32[] reduce(%x, %z), "
       "dimensions={1}, to_apply=%add_f32\n",
       "dimensions that are there"},
      {"%x = f32[4] parameter(0)\n%z = f32[] constant(0)\nROOT %r = f32[9] reduce-window(%x, %z), "
       "window={size=2}, to_apply=%add_f32\n",
       "it makes f32[3]"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] sort(%x), dimensions={1}, to_apply=%less\n",
       "along a dimension"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] sort(%x), dimensions={0}, to_apply=%add_f32\n",
       "other types"},
      {"%x = f32[4,3] parameter(0)\n%i = s32[2,1] constant({{0}, {1}})\nROOT %r = f32[2,3] "
       "gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={5}, "
       "index_vector_dim=1, slice_sizes={1,3}\n",
       "dimensions that are there"},
      {"%x = f32[4,3] parameter(0)\n%i = s32[2,1] constant({{0}, {1}})\nROOT %r = f32[2,9] "
       "gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
       "index_vector_dim=1, slice_sizes={1,9}\n",
       "fits into the operand"},
      {"%x = f32[1,4,2] parameter(0)\n%k = f32[3,2,5] parameter(1)\nROOT %r = f32[1,4,5] "
       "convolution(%x, %k), window={size=3}, dim_labels=b0f_0io->b0f\n",
       "as many outputs"},
      {"%x = f32[1,4,2] parameter(0)\n%k = f32[3,2,5] parameter(1)\nROOT %r = f32[1,2,5] "
       "convolution(%x, %k), window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=2\n",
       "groups"},
      {"%x = c64[4] parameter(0)\nROOT %r = c64[4] fft(%x), fft_type=FFT, fft_length={5}\n",
       "extents are the lengths"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[8] all-gather(%x), dimensions={0}, "
       "replica_groups={{0,1}}\n",
       "stands in a group"},
      {"%x = f32[2] constant({1, 2, 3})\nROOT %r = f32[2] add(%x, %x)\n", "3 numbers"},
      {"%x = f32[99999999999,99999999999] parameter(0)\nROOT %r = f32[99999999999,99999999999] "
       "add(%x, %x)\n",
       "2^63"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] frobnicate(%x)\n", "is not read"},
      {"%x = f32[4] parameter(0)\nROOT %r = f32[4] add(%x, %y)\n", "nothing is called"},
      {"%x = f32[4] parameter(1)\nROOT %r = f32[4] add(%x, %x)\n", "parameter 0 is missing"},
  };
  for (const Refused& one : all) {
    const std::string text = module_of(one.body);
    EXPECT_NE(answer(text, text).find(one.message), std::string::npos)
        << one.body << answer(text, text);
  }
}

TEST(Refusals, computations_that_call_themselves) {
  const std::string text =
      "HloModule m\n%f (x: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  ROOT %r = f32[] "
      "call(%x), "
      "to_apply=%f\n}\nENTRY %main {\n  %x = f32[] parameter(0)\n  ROOT %r = f32[] call(%x), "
      "to_apply=%f\n}\n";
  EXPECT_NE(answer(text, text).find("deeper than"), std::string::npos) << answer(text, text);
}

TEST(Refusals, texts_that_do_not_go_together) {
  const std::string one = module_of("%x = f32[4] parameter(0)\nROOT %r = f32[4] add(%x, %x)\n");
  const std::string two = module_of(
      "%x = f32[4] parameter(0)\n%y = f32[4] parameter(1)\nROOT %r = f32[4] add(%x, %y)\n");
  const std::string other = module_of("%x = f32[3] parameter(0)\nROOT %r = f32[3] add(%x, %x)\n");
  EXPECT_EQ(answer(one, two), "1 parameter before, but 2 parameters after");
  EXPECT_EQ(answer(one, other), "parameter 0 is f32[3] after, but a tile of f32[4] is [4]");
}

TEST(Refusals, a_loop_without_end_is_undecided) {
  const std::string text = module_of(
      "%x = f32[] parameter(0)\nROOT %r = f32[] while(%x), condition=%always, body=%same\n",
      "%always (x: f32[]) -> pred[] {\n  %x = f32[] parameter(0)\n  ROOT %r = pred[] "
      "constant(true)\n}\n"
      "%same (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}\n");
  const Result<Validation> out =
      validate(text, "before", text, "after", {.seed = 1, .timeout_seconds = 0.05});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->answer, Answer::undecided);
  EXPECT_EQ(out->why, "the time is over");
}

TEST(Refusals, texts_without_words_or_with_bytes) {
  const std::string layer = text_of("layer.after.hlo");
  EXPECT_EQ(answer(" \n\t\n", layer), "the file is empty");
  EXPECT_EQ(answer(layer, std::string("\n\0\x01", 3) + layer),
            "this is a protobuf or another binary, not a text");
  EXPECT_EQ(answer("\n\r\t" + text_of("layer.before.hlo"), layer), "right");
}

TEST(Refusals, other_tiles_than_the_text_before_says_have_a_reason) {
  const std::string before = text_of("layer.before.hlo");
  const std::string after = text_of("layer.after.hlo");
  using Notes = std::vector<std::string>;
  const auto notes = [](const std::string& a, const std::string& b) {
    const auto out = validated(a, b);
    return out ? Notes{"none is refused"} : out.error().notes;
  };
  const Notes swapped = {"it is larger after the pass: BEFORE and AFTER may be swapped"};
  EXPECT_EQ(notes(after, before), swapped);
  const std::string sharding = ", sharding={mesh['x'=2], [{}, {'x'}]}, metadata={op_name=\"w\"}";
  const Notes unsaid = {
      "the text before says no sharding of parameter 1: retile validate --from says it"};
  EXPECT_EQ(notes(replaced(before, sharding, ""), after), unsaid);
  const std::string other = replaced(sharding, "[{}, {'x'}]", "[{'x'}, {}]");
  EXPECT_EQ(notes(replaced(before, sharding, other), after), Notes());
}

TEST(Refusals, memory_that_is_used_up_is_said_with_what_allows_more) {
  ValidateOptions options{.seed = 1, .most_bytes = Size{3} << 19U, .extents = Extents::full};
  const auto why = [&] {
    const auto out = validate(text_of("block.before.hlo"), "before", text_of("block.after.hlo"),
                              "after", options);
    return out ? out->why : out.error().message;
  };
  EXPECT_EQ(why(),
            "the devices hold more than 1 MiB of numbers; --memory 6MiB allows twice as many");
  options.most_bytes = Size{1} << 28U;
  EXPECT_EQ(why(),
            "the devices hold more than 256 MiB of numbers; --memory 1GiB allows twice as many");
}

}  // namespace
}  // namespace retile::whole::tests
