#include "retile/foreign/typing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "functions.h"

namespace retile::foreign {
namespace typing_test {

using testing::module_of;
using testing::refusal_of;

/// An instruction on `p`, an array [4,6] of two devices, a table `t` of 4 numbers and a number `i`.
std::string refusal(const std::string& instruction) {
  return refusal_of(module_of(2,
                              "p = f32[4,6] parameter(0)\nt = s32[4] constant({1,2,3,4})\n"
                              "i = s32[] constant(1)\nz = f32[] constant(0)\nROOT r = " +
                                  instruction));
}

struct Case {
  std::string right;  ///< is accepted
  std::string wrong;
  std::string words;  ///< of the refusal
};

TEST(Typing, every_rule_has_its_refusal) {
  const std::string groups = ", channel_id=1, replica_groups={{0,1}}";
  const std::string global = ", use_global_device_ids=true";
  const std::vector<Case> cases = {
      {"f32[4,6] copy(p)", "f32[4,5] copy(p)", "makes f32[4,6] here"},
      {"f32[4,6] copy(p)", "f64[4,6] copy(p)", "elements of type f32"},
      {"f32[4,6] copy(p)", "f32[4,6] copy(p, p)", "takes 1 operand, not 2"},
      {"f64[4,6] convert(p)", "bf16[4,6] convert(p)", "a conversion of elements from f32 to bf16"},
      {"f64[4,6] convert(p)", "s32[4,6] convert(p)", "a conversion of elements"},
      {"f32[4,6] reverse(p), dimensions={0}", "f32[4,6] reverse(p), dimensions={0,0}",
       "turned around twice"},
      {"s32[4] clamp(i, t, t)", "f32[4,6] clamp(z, p, z)", "clamp of elements"},
      {"s32[4] shift-left(t, t)", "f32[] shift-left(z, z)", "takes integers as operand 0"},
      {"f32[24] reshape(p)", "f32[25] reshape(p)", "makes f32[25] of f32[4,6]"},
      {"f32[6,4] transpose(p), dimensions={1,0}", "f32[4,6] transpose(p), dimensions={1,0}",
       "makes f32[6,4] here"},
      {"f32[6,4] transpose(p), dimensions={1,0}", "f32[6,6] transpose(p), dimensions={1,1}",
       "stands twice"},
      {"f32[6,4] transpose(p), dimensions={1,0}", "f32[6,4] transpose(p), dimensions={1}",
       "for each of 2 dimensions"},
      {"f32[2,6] slice(p), slice={[0:4:2],[0:6]}", "f32[2,6] slice(p), slice={[0:5:2],[0:6]}",
       "a slice 0:5 of 4 elements"},
      {"f32[5,6] pad(p, z), padding=1_0x0_0", "f32[6,6] pad(p, z), padding=1_0x0_0",
       "makes f32[5,6] here"},
      {"f32[5,6] pad(p, z), padding=1_0x0_0", "f32[5,6] pad(p, z), padding=-9_1x0_0",
       "takes away more than there is"},
      {"f32[5,6] pad(p, z), padding=1_0x0_0", "f32[5,6] pad(p, p), padding=1_0x0_0", "a scalar"},
      {"f32[5,6] pad(p, z), padding=1_0x0_0",
       "f32[5,6] pad(p, z), padding=4611686018427387904_0x0_0", "does not fit"},
      {"f32[8,6] concatenate(p, p), dimensions={0}", "f32[9,6] concatenate(p, p), dimensions={0}",
       "makes f32[8,6] here"},
      {"f32[2,4,6] broadcast(p), dimensions={1,2}", "f32[2,6,4] broadcast(p), dimensions={1,2}",
       "cannot make"},
      {"s32[1] dynamic-slice(t, i), dynamic_slice_sizes={1}",
       "s32[5] dynamic-slice(t, i), dynamic_slice_sizes={5}", "a slice of 5 elements of 4"},
      {"s32[1] dynamic-slice(t, i), dynamic_slice_sizes={1}",
       "s32[1] dynamic-slice(t, i, i), dynamic_slice_sizes={1}", "for each of 1 dimensions"},
      {"s32[1] dynamic-slice(t, i), dynamic_slice_sizes={1}",
       "s32[1] dynamic-slice(t, z), dynamic_slice_sizes={1}", "takes integers as operand 1"},
      {"s32[1] dynamic-slice(t, i), dynamic_slice_sizes={1}",
       "s32[1] dynamic-slice(t, t), dynamic_slice_sizes={1}",
       "operand 1 of dynamic-slice is a scalar"},
      {"f32[] reshape(z)", "s32[1] dynamic-slice(t, p), dynamic_slice_sizes={1}",
       "an offset that depends"},
      {"s32[4] dynamic-update-slice(t, t, i)", "f32[4,6] dynamic-update-slice(p, t, i, i)",
       "elements of type s32"},
      {"pred[4] compare(t, t), direction=EQ", "pred[4,6] compare(p, p), direction=EQ",
       "a comparison that depends"},
      {"pred[4] compare(t, t), direction=EQ", "s32[4] compare(t, t), direction=EQ",
       "makes truth values"},
      {"s32[4] add(t, t)", "f32[4,6] subtract(p, p)", "subtract of elements"},
      {"f32[4,6] add(p, p)", "f32[4,6] multiply(p, p)", "multiply of elements"},
      {"f32[8,6] all-gather(p), dimensions={0}" + groups + global,
       "f32[4,6] all-gather(p), dimensions={0}" + groups + global, "makes f32[8,6] here"},
      {"f32[4,6] all-to-all(p), dimensions={0}" + groups,
       "f32[4,6] all-to-all(p), dimensions={2}" + groups, "dimension 2 of an array of rank 2"},
      {"f32[4,6] collective-permute(p), channel_id=1, source_target_pairs={{0,1}}",
       "f32[4,6] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,1}}",
       "target twice"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(refusal(one.right), "") << one.right;
    EXPECT_NE(refusal(one.wrong).find(one.words), std::string::npos) << one.wrong << "\n"
                                                                     << refusal(one.wrong);
  }
}

TEST(Typing, a_constant_has_a_number_for_every_place) {
  const auto refused = [](const std::string& numbers) {
    const std::string text =
        "func.func @f() -> tensor<4xi32> {\n  %0 = \"stablehlo.constant\"() <{value = dense<[" +
        numbers + ">}> : () -> tensor<4xi32>\n  return %0 : tensor<4xi32>\n}\n";
    const text::Input input{.text = text, .source = "test", .numbered = true};
    const auto functions = read(input, Language::mlir, {});
    return functions ? "" : functions.error().message;
  };
  EXPECT_EQ(refused("1, 2, 3, 4]> : tensor<4xi32"), "");
  EXPECT_EQ(refused("1, 2, 3]> : tensor<3xi32"), "3 numbers for i32[4]");
  EXPECT_EQ(refused("1, 2, 3, 4, 5]> : tensor<5xi32"), "5 numbers for i32[4]");
  EXPECT_EQ(refusal("s32[4] constant({1, 2, 3, 4})"), "");
  EXPECT_EQ(refusal("s32[4] constant({1, 2, 3})"), "a constant with 3 numbers where there are 4");
  EXPECT_EQ(refusal("s32[4] constant({1, 2, 3, 4, 5})"),
            "a constant with 5 numbers where there are 4");
}

TEST(Typing, parts_that_do_not_divide) {
  const auto text = [](const std::string& extents) {
    return module_of(3, "p = f32[" + extents + "] parameter(0)\nROOT r = f32[" + extents +
                            "] all-to-all(p), channel_id=1, replica_groups={{0,1,2}}, "
                            "dimensions={0}");
  };
  EXPECT_EQ(refusal_of(text("6")), "");
  EXPECT_NE(refusal_of(text("4")).find("cuts 4 elements into 3 parts"), std::string::npos);
}

TEST(Typing, elements_are_what_comes_of_the_parameter_and_what_is_no_number) {
  const Function function = testing::function_of(module_of(
      2,
      "p = s32[4] parameter(0)\nt = s32[4] constant({1,2,3,4})\nz = c64[] constant((0, 0))\n"
      "i = s32[] constant(0)\nd = s32[4] dynamic-slice(t, i), dynamic_slice_sizes={4}\n"
      "ROOT r = s32[4] add(p, t)"));
  EXPECT_EQ(values_of_elements(function),
            std::vector<bool>({true, false, true, false, false, true}));
}

TEST(Typing, places_point_into_the_line) {
  const text::Input input{.text = "one\ntwo three\n", .source = "t", .numbered = true};
  const text::Place place = place_in(input, {.line = 2, .column = 5});
  EXPECT_EQ(input.text.substr(place.span.begin, place.span.end - place.span.begin), "three");
  EXPECT_LE(place_in(input, {.line = 9, .column = 9}).span.end, input.text.size());
}

TEST(Typing, conversions_of_elements_lose_nothing) {
  const auto refused = [](const std::string& from, const std::string& wide) {
    return refusal_of(module_of(2, "p = " + from + "[4] parameter(0)\nw = " + wide +
                                       "[4] convert(p)\nROOT r = " + from + "[4] convert(w)"));
  };
  for (const auto& [from, wide] :
       std::vector<std::pair<std::string, std::string>>{{"f16", "f32"},
                                                        {"bf16", "f32"},
                                                        {"s8", "s16"},
                                                        {"u8", "s16"},
                                                        {"s16", "f32"},
                                                        {"pred", "s8"},
                                                        {"f8e8m0fnu", "bf16"},
                                                        {"f4e2m1fn", "f16"},
                                                        {"f32", "c64"}}) {
    EXPECT_EQ(refused(from, wide), "") << from << " " << wide;
  }
  for (const auto& [from, narrow] :
       std::vector<std::pair<std::string, std::string>>{{"f16", "bf16"},
                                                        {"bf16", "f16"},
                                                        {"s8", "u16"},
                                                        {"u8", "s8"},
                                                        {"s32", "f32"},
                                                        {"f32", "s64"},
                                                        {"f8e8m0fnu", "f16"},
                                                        {"f4e2m1fn", "f8e8m0fnu"},
                                                        {"c64", "f64"}}) {
    EXPECT_NE(refused(from, narrow).find("a conversion of elements"), std::string::npos)
        << from << " " << narrow;
  }
}

TEST(Typing, sums_of_integers_are_no_sums_of_numbers_with_a_point) {
  const auto text = [](const std::string& wide) {
    return "HloModule m, num_partitions=2\nadd {\n a = " + wide + "[] parameter(0)\n b = " + wide +
           "[] parameter(1)\n ROOT c = " + wide +
           "[] add(a, b)\n}\nENTRY e {\n p = s8[4] parameter(0)\n w = " + wide +
           "[4] convert(p)\n s = " + wide +
           "[4] all-reduce(w), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, "
           "to_apply=add\n ROOT r = s8[4] convert(s)\n}\n";
  };
  EXPECT_EQ(refusal_of(text("s32")), "");
  EXPECT_NE(refusal_of(text("f32")).find("a conversion of sums"), std::string::npos);
}

}  // namespace typing_test
}  // namespace retile::foreign
