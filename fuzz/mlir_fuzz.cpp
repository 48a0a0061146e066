// Texts of MLIR: read and judged, and again with comments between the lines.
//
// An input is a text as `retile check` takes it: examples/foreign/*.mlir.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/judged.h"

const fuzz::Target fuzz::target = {"mlir", 0.3};

namespace {

using retile::foreign::Language;

/// The text with a comment behind every line.
std::string commented(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += " // \"{[(<\n";
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  std::string once;
  const bool any = fuzz::judged(text, Language::mlir, once);
  fuzz::tally(any ? "judged" : once.substr(0, once.find(':')));
  std::string twice;
  const bool again = fuzz::judged(commented(text), Language::mlir, twice);
  if (fuzz::control() && any) twice += "otherwise";
  // A place in a message may be a comment's.
  if (any) fuzz::reached();
  fuzz::require(any == again, "comments make a text another", text);
  fuzz::require(!any || once == twice, "comments change a verdict:\n" + once + twice, text);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "sdy.all_gather [{\"x\"}, {}] %0 out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>\n",
    "sdy.all_to_all [{\"x\"}: 0->1] %0 out_sharding=<@m, [{}, {\"x\"}]> : tensor<8x8xf32>\n",
    "sdy.collective_permute",
    "sdy.reduce_scatter",
    "sdy.sharded_to_unreduced",
    "sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\n",
    "device_ids=[3, 2, 1, 0]",
    "\"x\":(1)2",
    "\"y\":(2)2",
    ", unreduced={\"y\"}",
    "{sdy.sharding = #sdy.sharding<@m, [{\"x\"}, {}]>}",
    "func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {\n",
    "module @m attributes {mhlo.num_partitions = 4 : i32} {\n",
    "  return %0 : tensor<8x8xf32>\n}\n",
    "%0 = ",
    "%1",
    "%arg0",
    "stablehlo.slice %0 [0:2, 1:4:2] : (tensor<8x8xf32>) -> tensor<2x2xf32>\n",
    "stablehlo.reshape %0 : (tensor<8x8xf32>) -> tensor<64xf32>\n",
    "stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>\n",
    "dense<\"0x00000000\"> : tensor<1xi32>",
    "stablehlo.partition_id : tensor<ui32>\n",
    "\"stablehlo.all_reduce\"",
    "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>",
    "#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = \"x\">]>",
    "mesh.mesh @m(shape = 2x2)\n",
    "mesh.all_slice %0 on @m mesh_axes = [1] slice_axis = 0 : tensor<8x8xf32> -> tensor<4x8xf32>\n",
    "mesh.shard %0 to <@m, [[0], [1]]> : tensor<8x8xf32>\n",
    "shard.sharding @m split_axes = [[0]] : !shard.sharding\n",
    "array<i64: 0, 1>",
    "<{",
    "}>",
    "#a = dense<0> : tensor<2xi64>\n",
    "loc(#a)",
    "// -----\n",
    "-1",
    "0",
    "1",
    "9223372036854775807",
    "?",
    "x",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "->",
    ":",
};

/// A reshard that is right.
static std::string fresh(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const bool rows = random() % 2 == 0;
  const std::string extents = random() % 2 == 0 ? "8x8xf32" : "5x6xf32";
  const std::string type = "tensor<" + extents + ">";
  const std::string from = rows ? "[{\"x\"}, {}]" : "[{}, {\"y\", \"x\"}]";
  const std::string to = rows ? "[{}, {\"x\"}]" : "[{\"x\"}, {\"y\"}]";
  const std::string move = rows ? "0->1" : "1->0";
  return "sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\nfunc.func @main(%arg0: " + type +
         " {sdy.sharding = #sdy.sharding<@m, " + from + ">}) -> " + type +
         " {\n  %0 = sdy.all_to_all [{\"x\"}: " + move + "] %arg0 out_sharding=<@m, " + to +
         "> : " + type + "\n  return %0 : " + type + "\n}\n";
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
