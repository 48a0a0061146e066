#include "retile/foreign/typing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions.h"
#include "retile/foreign/element.h"

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
      {"f32[4,6] copy(p)", "f32[4,6] copy(p, p)", "takes 1 operands, not 2"},
      {"f64[4,6] convert(p)", "bf16[4,6] convert(p)", "a conversion of elements from f32 to bf16"},
      {"f64[4,6] convert(p)", "s32[4,6] convert(p)", "a conversion of elements"},
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
       "s32[1] dynamic-slice(t, z), dynamic_slice_sizes={1}", "an offset that depends"},
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

TEST(Typing, parts_that_do_not_divide) {
  const auto text = [](const std::string& extents) {
    return module_of(3, "p = f32[" + extents + "] parameter(0)\nROOT r = f32[" + extents +
                            "] all-to-all(p), channel_id=1, replica_groups={{0,1,2}}, "
                            "dimensions={0}");
  };
  EXPECT_EQ(refusal_of(text("6")), "");
  EXPECT_NE(refusal_of(text("4")).find("cuts 4 elements into 3 parts"), std::string::npos);
}

TEST(Typing, elements_are_what_comes_of_the_parameter_and_what_is_no_integer) {
  const Function function = testing::function_of(
      module_of(2,
                "p = s32[4] parameter(0)\nt = s32[4] constant({1,2,3,4})\nz = f32[] constant(0)\n"
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

TEST(Elements, have_their_kinds) {
  using Form = ElementKind::Form;
  EXPECT_EQ(element_kind("pred").form, Form::truth);
  EXPECT_EQ(element_kind("i1").form, Form::truth);
  EXPECT_EQ(element_kind("s32").form, Form::integer);
  EXPECT_EQ(element_kind("u8").bits, 8);
  EXPECT_FALSE(element_kind("ui16").is_signed);
  EXPECT_EQ(element_kind("index").bits, 64);
  EXPECT_EQ(element_kind("f32").form, Form::other);
  EXPECT_EQ(element_kind("bf16").bytes(), 2);
  EXPECT_EQ(element_kind("f8e4m3fn").bytes(), 1);
  EXPECT_EQ(element_kind("c64").bytes(), 8);
  EXPECT_EQ(element_kind("complex<f32>").bytes(), 8);
  EXPECT_EQ(element_kind("s99999999999999999999").form, Form::other);
  EXPECT_EQ(wrapped(255, element_kind("s8")), -1);
  EXPECT_EQ(wrapped(-1, element_kind("u8")), 255);
  EXPECT_EQ(wrapped(-7, element_kind("pred")), 1);
}

}  // namespace typing_test
}  // namespace retile::foreign
