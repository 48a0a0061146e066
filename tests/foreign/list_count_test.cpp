// Texts that say much in few words: what they list is counted before it is written out.
#include <gtest/gtest.h>

#include <string>

#include "functions.h"
#include "retile/foreign/reader.h"

namespace retile::foreign {
namespace {

using testing::refusal_of;

/// All-gathers of 2^20 groups of one device each, which are as many lists.
std::string gathers(int count) {
  std::string out =
      "HloModule m, num_partitions=1048576\nENTRY e {\n p = f32[1] parameter(0), "
      "sharding={replicated}\n";
  for (int k = 0; k < count; ++k) {
    out += " a" + std::to_string(k) +
           " = f32[1] all-gather(p), channel_id=1, use_global_device_ids=true, "
           "replica_groups=[1048576,1]<=[1048576], dimensions={0}\n";
  }
  return out + " ROOT r = f32[1] copy(p), sharding={replicated}\n}\n";
}

Result<std::vector<Function>> read_mlir(const std::string& text) {
  return read({.text = text, .source = "test", .numbered = true}, Language::mlir, {});
}

TEST(ListCount, what_one_text_lists_is_bounded) {
  EXPECT_EQ(refusal_of(gathers(9)), "");
  const std::string words = "the operations list devices in more than 2^26 numbers";
  EXPECT_EQ(refusal_of(gathers(10)), words);
  // Two modules are one text.
  EXPECT_EQ(refusal_of(gathers(5) + gathers(5)), words);
}

TEST(ListCount, boxes_of_devices_count) {
  std::string text =
      "sdy.mesh @m = <[\"x\"=1048576]>\nfunc.func @f(%0: tensor<1048576xf32> {sdy.sharding = "
      "#sdy.sharding<@m, [{}]>}) -> (tensor<1048576xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) "
      "{\n";
  for (int k = 0; k < 20; k += 2) {
    text += " %" + std::to_string(k + 1) + " = sdy.all_slice [{\"x\"}] %" + std::to_string(k) +
            " out_sharding=<@m, [{\"x\"}]> : tensor<1048576xf32>\n %" + std::to_string(k + 2) +
            " = sdy.all_gather [{\"x\"}] %" + std::to_string(k + 1) +
            " out_sharding=<@m, [{}]> : tensor<1048576xf32>\n";
  }
  const auto read = read_mlir(text + " return %20 : tensor<1048576xf32>\n}\n");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::limit_reached) << render(read.error());
}

TEST(ListCount, one_number_is_no_list_of_devices) {
  const auto read = read_mlir(
      "module attributes {mhlo.num_partitions = 2 : i32} {\n func.func @main(%a: tensor<8xf32>) -> "
      "tensor<8xf32> {\n  %0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, "
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> "
      ": "
      "tensor<16777216x1xi64>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<8xf32>\n  "
      "return "
      "%0 : tensor<8xf32>\n }\n}\n");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, "one number for all of the groups' devices");
}

TEST(ListCount, an_attribute_stands_once_among_many) {
  for (const int count : {3, 15, 16, 17, 100}) {
    std::string text =
        "HloModule m, num_partitions=2\nENTRY e {\n p = f32[8] parameter(0)\n ROOT r = f32[8] "
        "copy(p)";
    for (int k = 0; k < count; ++k) text += ", a" + std::to_string(k) + "=1";
    EXPECT_EQ(refusal_of(text + "\n}\n"), "copy with a0 is not read") << count;
    EXPECT_EQ(refusal_of(text + ", a1=2\n}\n"), "a1 stands twice") << count;
    EXPECT_EQ(refusal_of(text + ", b=1, b=2\n}\n"), "b stands twice") << count;
  }
}

}  // namespace
}  // namespace retile::foreign
