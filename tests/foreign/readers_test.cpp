// What the readers refuse as the peers' own verifiers do, what they refuse because nobody has
// partitioned it, and what they take apart.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "functions.h"
#include "retile/foreign/judge_text.h"

namespace retile::foreign {
namespace readers_test {

using testing::function_of;
using testing::module_of;
using testing::refusal_of;

/// Why a text is refused, or the verdicts on its functions: `right`, `wrong`, `rearranged`.
std::string said(std::string_view text, const EndTexts& ends = {}) {
  const auto judged = judge_text(text, "test", ends);
  if (!judged) return judged.error().message;
  std::string out;
  for (const JudgedFunction& one : *judged) {
    if (!out.empty()) out += ", ";
    out += one.verdict.right.value_or(false) ? "right"
           : one.verdict.is_rearranged       ? "rearranged"
           : one.verdict.right.has_value()   ? "wrong"
                                             : one.verdict.limit;
  }
  return out;
}

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

const std::string before = "this text is from before the partitioner: ";
bool is_unpartitioned(const std::string& text, const EndTexts& ends = {}) {
  return has(said(text, ends), before);
}

/// Two rows of each of two devices, gathered by some instructions.
std::string gather(const std::string& instructions) {
  return module_of(
      2, " p = f32[2,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}\n" + instructions);
}
const std::string root =
    " ROOT r = f32[4,4]{1,0} all-gather(b), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
    "use_global_device_ids=true, sharding={replicated}";

TEST(HloReader, a_bitcast_keeps_the_order_of_rows) {
  EXPECT_EQ(said(gather(" b = f32[2,4]{1,0} bitcast(p)\n" + root)), "right");
  for (const std::string lines :
       {" b = f32[2,4]{0,1} bitcast(p)\n", " b = f32[2,4]{1,0:T(2,128)} bitcast(p)\n",
        " c = f32[2,4]{0,1} copy(p)\n b = f32[2,4]{1,0} bitcast(c)\n",
        " c = f32[2,4]{1,0:T(8,128)} copy(p)\n b = f32[2,4]{1,0} bitcast(c)\n"}) {
    EXPECT_TRUE(has(said(gather(lines + root)), "not row by row")) << lines;
  }
  EXPECT_EQ(said(gather(" c = f32[2,4]{0,1} copy(p)\n b = f32[2,4]{1,0} copy(c)\n" + root)),
            "right");
}

TEST(HloReader, channels_and_groups_are_as_the_verifier_has_them) {
  const auto end = [](const std::string& attributes) {
    return said(gather(" ROOT r = f32[4,4] all-gather(p), dimensions={0}" + attributes +
                       ", sharding={replicated}"));
  };
  const std::string groups = ", replica_groups={{0,1}}";
  const std::string global = ", use_global_device_ids=true";
  EXPECT_EQ(end(", channel_id=1" + groups + global), "right");
  for (const std::string none : {", channel_id=0", ", channel_id=-1"}) {
    EXPECT_EQ(end(none + groups + global), "use_global_device_ids without channel_id");
  }
  EXPECT_EQ(end(groups + global), "use_global_device_ids without channel_id");
  EXPECT_TRUE(has(end(", channel_id=1, replica_groups={}" + global), "not empty"));
  EXPECT_TRUE(has(end(", channel_id=1, replica_groups={{}}" + global), "not empty"));
  EXPECT_TRUE(has(said(module_of(2,
                                 " p = f32[2] parameter(0)\n ROOT r = f32[2] all-to-all(p), "
                                 "channel_id=1, replica_groups={}, dimensions={0}")),
                  "not empty"));
}

TEST(HloReader, a_device_sends_once) {
  const auto permute = [](const std::string& pairs) {
    return refusal_of(module_of(4,
                                " p = f32[2] parameter(0)\n ROOT r = f32[2] collective-permute(p), "
                                "channel_id=1, source_target_pairs=" +
                                    pairs));
  };
  EXPECT_EQ(permute("{{0,1},{1,0}}"), "");
  EXPECT_EQ(permute("{{0,1},{0,2}}"), "0 is a source twice");
}

TEST(HloReader, a_channel_that_is_not_positive_is_none) {
  // XLA 0.12 run on two replicas of one partition each, and the other way round: then numbers of replicas go beyond.
  const auto on = [](const std::string& devices, const std::string& collective) {
    return refusal_of("HloModule m, " + devices + "\nENTRY e_spmd {\n p = f32[2] parameter(0)\n" +
                      collective + "\n}\n");
  };
  const std::vector<std::string> collectives = {
      " ROOT r = f32[2] collective-permute(p)CHANNEL, source_target_pairs={{0,1},{1,0}}",
      " ROOT r = f32[4] all-gather(p)CHANNEL, replica_groups={{0,1}}, dimensions={0}",
      " ROOT r = f32[2] all-to-all(p)CHANNEL, replica_groups={{0,1}}, dimensions={0}"};
  for (const std::string& collective : collectives) {
    for (const std::string channel : {"", ", channel_id=0", ", channel_id=-3"}) {
      std::string text = collective;
      text.replace(text.find("CHANNEL"), 7, channel);
      EXPECT_EQ(on("replica_count=2", text), "") << text;
      EXPECT_TRUE(has(on("num_partitions=2", text), "but there is 1 replica")) << text;
    }
  }
}

/// Why a reduction by this computation is refused.
std::string reduction(const std::string& computation, const std::string& type = "f32") {
  return refusal_of("HloModule m, num_partitions=2\na {\n" + computation +
                    "}\nENTRY e {\n p = " + type + "[2] parameter(0)\n ROOT r = " + type +
                    "[2] all-reduce(p), channel_id=1, replica_groups={{0,1}}, "
                    "use_global_device_ids=true, to_apply=a\n}\n");
}

TEST(HloReader, a_reduction_is_one_operation_of_its_two_parameters) {
  const std::string both = " x = f32[] parameter(0)\n y = f32[] parameter(1)\n";
  EXPECT_EQ(reduction(both + " ROOT s = f32[] add(x, y)\n"), "");
  EXPECT_EQ(reduction(both + " ROOT s = f32[] maximum(y, x)\n"), "");
  const std::string no =
      "a reduction that is no addition, maximum or minimum of its two parameters";
  EXPECT_EQ(reduction(both + " ROOT s = f32[] add(x, x)\n"), no);
  EXPECT_EQ(reduction(both + " ROOT s = f32[] add(x, z)\n"), no);
  EXPECT_EQ(reduction(both + " ROOT s = f32[] add(v, w)\n"), no);
  EXPECT_EQ(reduction(both + " ROOT s = f32[] subtract(x, y)\n"), no);
  EXPECT_EQ(
      reduction(" x = f32[] parameter(0)\n y = f32[] parameter(0)\n ROOT s = f32[] add(x, y)\n"),
      no);
  EXPECT_EQ(reduction(both + " u = f32[] add(x, y)\n ROOT s = f32[] add(u, y)\n"), no);
  EXPECT_EQ(reduction(both + " ROOT s = s32[] and(x, y)\n"), no);
  for (const std::string type : {"s8", "bf16", "f64"}) {
    EXPECT_TRUE(has(reduction(both + " ROOT s = f32[] add(x, y)\n", type),
                    "whose computation has another type"))
        << type;
  }
  EXPECT_TRUE(has(reduction(both + " ROOT s = bf16[] add(x, y)\n"), "another type"));
  EXPECT_TRUE(has(reduction(" x = f32[2] parameter(0)\n y = f32[2] parameter(1)\n ROOT s = f32[2] "
                            "add(x, y)\n"),
                  "another type"));
  EXPECT_EQ(
      reduction(" x = pred[] parameter(0)\n y = pred[] parameter(1)\n ROOT s = pred[] and(x, y)\n",
                "pred"),
      "");
}

TEST(HloReader, parameters_have_numbers) {
  const std::string p = " a = f32[2] parameter(";
  EXPECT_EQ(refusal_of(module_of(2, p + "0)\n ROOT r = f32[2] copy(a)")), "");
  EXPECT_EQ(refusal_of(module_of(2, p + "1)\n ROOT r = f32[2] copy(a)")), "parameter 0 is missing");
  EXPECT_EQ(refusal_of(module_of(2, p + "0)\n b = f32[2] parameter(0)\n ROOT r = f32[2] copy(a)")),
            "a second parameter 0");
}

const std::string two =
    "HloModule two, num_partitions=2\nENTRY e_spmd {\n"
    " b = f32[4] parameter(1), sharding={devices=[2]<=[2]}\n"
    " a = f32[2,4] parameter(0), sharding={devices=[2,1]<=[2]}\n"
    " g = (f32[4,4], f32[4,4]) all-gather(a, a), channel_id=1, replica_groups={{0,1}}, "
    "dimensions={0}, use_global_device_ids=true\n"
    " h = f32[8] all-gather(b), channel_id=2, replica_groups={{1,0}}, dimensions={0}, "
    "use_global_device_ids=true\n"
    " ROOT t = (f32[4,4], f32[8]) tuple(g#1, h), sharding={{replicated}, {replicated}}\n}\n";

TEST(Arrays, each_result_is_judged_by_what_makes_it) {
  EXPECT_EQ(said(two), "right, rearranged");
  const auto judged = judge_text(two, "test");
  ASSERT_TRUE(judged.has_value()) << render(judged.error());
  EXPECT_EQ(judged->at(0).from.global(), Shape({4, 4}));
  EXPECT_EQ(judged->at(1).from.global(), Shape({8}));
  EXPECT_EQ(judged->at(1).name, "two, array 1");
  EXPECT_EQ(judged->at(0).verdict.cost, 16);
  EXPECT_EQ(judged->at(1).verdict.cost, 8);
  std::string stays = two;
  stays.replace(stays.find("tuple(g#1, h)"), 13, "tuple(a, h)");
  stays.replace(stays.find("{{replicated}, "), 15, "{{devices=[2,1]<=[2]}, ");
  EXPECT_EQ(said(stays), "right, rearranged");
}

TEST(Arrays, a_result_says_of_which_parameter_it_is_made_where_that_has_another_number) {
  const std::string head = "HloModule two, num_partitions=2\nENTRY e_spmd {\n";
  const std::string end = ", sharding={devices=[2]<=[2]}\n";
  const auto notes = [&](const std::string& results) {
    const auto judged =
        judge_text(head + " a = f32[4] parameter(0)" + end + " b = f32[4] parameter(1)" + end +
                       " ROOT t = (f32[4], f32[4]) tuple(" + results +
                       "), sharding={{devices=[2]<=[2]}, {devices=[2]<=[2]}}\n}\n",
                   "test", {.shape = "8"});
    EXPECT_TRUE(judged.has_value()) << render(judged.error());
    std::vector<std::vector<std::string>> out;
    for (const auto& one : *judged) out.push_back(one.notes);
    return out;
  };
  using Notes = std::vector<std::vector<std::string>>;
  EXPECT_EQ(notes("a, b"), Notes({{}, {}}));
  EXPECT_EQ(notes("a, a"), Notes({{}, {"result 1 is made of parameter 0"}}));
  EXPECT_EQ(notes("b, a"),
            Notes({{"result 0 is made of parameter 1"}, {"result 1 is made of parameter 0"}}));
}

TEST(Sums, of_truth_values_are_or_however_often_one_is_added) {
  const auto twice = [](const std::string& element, const std::string& from) {
    const std::string scalar = element + "[] ";
    return said("HloModule m, num_partitions=2\nadd {\n x = " + scalar +
                    "parameter(0)\n y = " + scalar + "parameter(1)\n ROOT r = " + scalar +
                    "add(x, y)\n}\nENTRY e_spmd {\n p = " + element +
                    "[4] parameter(0)\n s = " + element +
                    "[4] all-reduce(p), channel_id=1, replica_groups={{0,1}}, "
                    "use_global_device_ids=true, to_apply=add\n ROOT t = " +
                    element + "[4] add(s, s)\n}\n",
                {.mesh = "x:2", .from = from, .to = "[4]"});
  };
  EXPECT_EQ(twice("pred", "[4]"), "right");
  EXPECT_EQ(twice("pred", "sum{x}[4]"), "right");
  EXPECT_EQ(twice("s8", "[4]"), "wrong");
  EXPECT_EQ(twice("s8", "sum{x}[4]"), "wrong");
}

TEST(Sums, in_few_bits_are_not_made_wider) {
  const auto widened = [](const std::string& sum, const std::string& behind) {
    return said(
        "HloModule m, num_partitions=2\nadd {\n x = s8[] parameter(0)\n y = s8[] "
        "parameter(1)\n ROOT r = s8[] " +
            sum +
            "(x, y)\n}\nENTRY e_spmd {\n p = s8[4] parameter(0)\n s = s8[4] "
            "all-reduce(p), channel_id=1, replica_groups={{0,1}}, "
            "use_global_device_ids=true, to_apply=add\n" +
            behind + "}\n",
        {.mesh = "x:2", .from = (sum == "add" ? "sum{x}[4]" : "max{x}[4]"), .to = "[4]"});
  };
  EXPECT_EQ(widened("add", " ROOT t = s32[4] convert(s)\n"), "a conversion of sums from s8 to s32");
  EXPECT_EQ(widened("maximum", " ROOT t = s32[4] convert(s)\n"), "right");
}

TEST(Sums, of_truth_values_by_or_are_those_of_the_ends) {
  EXPECT_EQ(said("HloModule m, num_partitions=2\nor {\n x = pred[] parameter(0)\n y = pred[] "
                 "parameter(1)\n ROOT r = pred[] or(x, y)\n}\nENTRY e_spmd {\n p = pred[4] "
                 "parameter(0)\n ROOT s = pred[4] all-reduce(p), channel_id=1, "
                 "replica_groups={{0,1}}, use_global_device_ids=true, to_apply=or\n}\n",
                 {.mesh = "x:2", .from = "sum{x}[4]", .to = "[4]"}),
            "right");
}

TEST(HloReader, computations_are_as_the_parser_of_xla_has_them) {
  const auto module = [](const std::string& add, const std::string& result,
                         const std::string& before_root = "") {
    const std::string adds =
        "f (a: f32[], b: f32[]) -> " + add +
        " {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] add(x, y)\n}\n";
    return said("HloModule m, num_partitions=2\n" + adds + "ENTRY e_spmd (p: f32[2]) -> " + result +
                    " {\n p = f32[2] parameter(0)\n" + before_root +
                    " ROOT s = f32[2] all-reduce(p), channel_id=1, replica_groups={{0,1}}, "
                    "use_global_device_ids=true, to_apply=f\n}\n",
                {.mesh = "x:2", .from = "sum{x}[2]", .to = "[2]"});
  };
  EXPECT_EQ(module("f32[]", "f32[2]{0}"), "right");
  const std::string another = "the computation makes another type than it says";
  EXPECT_EQ(module("f32[]", "f32[3]"), another);
  EXPECT_EQ(module("f32[]", "bf16[2]"), another);
  EXPECT_EQ(module("f32[]", "(f32[2])"), another);
  EXPECT_EQ(module("f32[4]", "f32[2]"), another);
  EXPECT_EQ(module("f32[]", "f32[2]", " ROOT c = f32[2] copy(p)\n"),
            "a second ROOT of a computation");
  EXPECT_EQ(refusal_of("HloModule m\nf {\n a = f32[] parameter(0)\n}\n%f {\n a = f32[] "
                       "parameter(0)\n}\nENTRY e {\n a = f32[] parameter(0)\n}\n"),
            "a second computation of this name");
}

TEST(HloReader, types_of_operands_and_layouts_are_those_of_the_values) {
  const auto copied = [](const std::string& operand, const std::string& layout = "") {
    return said(
        "HloModule m, num_partitions=2\nENTRY e_spmd {\n p = f32[2] parameter(0)\n ROOT c = "
        "f32[2]" +
            layout + " copy(" + operand + ")\n}\n",
        {.mesh = "x:2", .from = "[2]", .to = "[2]"});
  };
  EXPECT_EQ(copied("p"), "right");
  EXPECT_EQ(copied("f32[2]{0} %p"), "right");
  EXPECT_EQ(copied("f32[2]{0:T(256)} p"), "right");
  EXPECT_EQ(copied("f32[3] p"), "p has another type");
  EXPECT_EQ(copied("bf16[2] p"), "p has another type");
  EXPECT_EQ(copied("(f32[2]) p"), "p has another type");
  EXPECT_EQ(copied("p", "{1,0}"), "a layout of another rank");
}

TEST(Mlir, what_the_parser_and_the_verifier_refuse) {
  const std::string text =
      "module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%p: tensor<4xf32>) -> "
      "tensor<4xf32> {\n %0 = \"stablehlo.all_gather\"(%p) <{all_gather_dim = 0 : i64, "
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = "
      "dense<[[0], [1]]> : tensor<2x1xi64>, use_global_device_ids}> : (tensor<4xf32>) -> "
      "tensor<4xf32>\n return %0 : tensor<4xf32>\n}\n}\n";
  const auto changed = [&](const std::string& old, const std::string& now) {
    std::string out = text;
    out.replace(out.find(old), old.size(), now);
    return said(out, {.mesh = "x:2", .from = "[4]", .to = "[4]"});
  };
  EXPECT_EQ(changed("}>", "}>"), "right");
  EXPECT_EQ(changed("}>", ", all_gather_dim = 0 : i64}>"), "all_gather_dim stands twice");
  EXPECT_EQ(changed("2x1xi64", "2x1xi32"), "numbers of devices are of the type i64");
  EXPECT_EQ(changed("device_ids}", "device_ids = false}"),
            "use_global_device_ids stands without a value");
  EXPECT_EQ(changed("return %0 : tensor<4xf32>\n",
                    "return %0 : tensor<4xf32>\n %1 = stablehlo.add %0, %0 : tensor<4xf32>\n"),
            "something stands behind what ends a block");
}

TEST(MlirShardy, a_result_has_the_mesh_of_its_operand) {
  EXPECT_EQ(
      said("sdy.mesh @m = <[\"x\"=2]>\nsdy.mesh @n = <[\"z\"=2]>\nfunc.func @main(%a: "
           "tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) -> tensor<8xf32> {\n "
           "%0 = sdy.all_gather [{\"x\"}] %a out_sharding=<@n, [{}]> : tensor<8xf32>\n return "
           "%0 : tensor<8xf32>\n}\n"),
      "the result has another mesh than the operand");
}

TEST(Mlir, what_is_returned_has_the_type_that_is_said) {
  const auto stablehlo = [](const std::string& result, const std::string& returned,
                            const std::string& call = "tensor<4xf32>") {
    return said(
        "module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%p: "
        "tensor<4xf32>) -> " +
            result + " {\n %0 = call @g(%p) : (tensor<4xf32>) -> " + call +
            "\n return %0 : " + returned +
            "\n}\nfunc.func private @g(%p: tensor<4xf32>) -> "
            "tensor<4xf32> {\n return %p : tensor<4xf32>\n}\n}\n",
        {.mesh = "x:2", .from = "[4]", .to = "[4]"});
  };
  EXPECT_EQ(stablehlo("tensor<4xf32>", "tensor<4xf32>"), "right");
  EXPECT_EQ(stablehlo("tensor<4xf32>", "tensor<4xf64>"), "what is returned has another type");
  EXPECT_EQ(stablehlo("tensor<4xf64>", "tensor<4xf32>"),
            "the function says another type of its result than it returns");
  EXPECT_EQ(stablehlo("tensor<4xf32>", "tensor<4xf32>", "tensor<2x2xf32>"),
            "the call says another type of its result");
  const auto grid = [](const std::string& result, const std::string& returned) {
    return said("shard.grid @g(shape = 2)\nfunc.func @main(%a: tensor<4xf32>) -> " + result +
                    " {\n %0 = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0 : "
                    "tensor<4xf32> -> tensor<8xf32>\n return %0 : " +
                    returned + "\n}\n",
                {.mesh = "x:2", .from = "[4{x}8]", .to = "[8]"});
  };
  EXPECT_EQ(grid("tensor<8xf32>", "tensor<8xf32>"), "right");
  EXPECT_EQ(grid("tensor<8xf32>", "tensor<8xi32>"), "what is returned has another type");
  EXPECT_EQ(grid("tensor<16xf32>", "tensor<8xf32>"), "right") << "MLIR's passes leave it so";
  EXPECT_EQ(grid("tensor<8xf64>", "tensor<8xf32>"),
            "the function says another type of its result than it returns");
  const auto manual = [](const std::string& result, const std::string& returned) {
    return said(
        "sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: tensor<8xf32>) -> " + result +
        " {\n  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{\"x\"}]>] "
        "out_shardings=[<@m, [{\"x\"}]>] manual_axes={\"x\"} (%p: tensor<4xf32>) {\n    "
        "sdy.return %p : tensor<4xf32>\n  } : (tensor<8xf32>) -> tensor<8xf32>\n return %0 : " +
        returned + "\n}\n");
  };
  EXPECT_EQ(manual("tensor<8xf32>", "tensor<8xf32>"), "right");
  EXPECT_EQ(manual("tensor<8xf32>", "tensor<4xf32>"), "what is returned has another type");
  EXPECT_EQ(manual("tensor<8xi32>", "tensor<8xf32>"),
            "the function says another type of its result than it returns");
}

/// A reduction of Shardy, of addends that an argument has.
std::string shardy_reduction(const std::string& addends, const std::string& op,
                             const std::string& result = "tensor<8xf32>") {
  return said(
      "sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: tensor<8xf32> {sdy.sharding = "
      "#sdy.sharding<@m, [{}]" +
      addends + ">}) -> (" + result +
      " {sdy.sharding = "
      "#sdy.sharding<@m, [{}]>}) {\n %0 = sdy.all_reduce " +
      op + "{\"x\"} %a out_sharding=<@m, [{}]> : tensor<8xf32>\n return %0 : tensor<8xf32>\n}\n");
}

TEST(MlirShardy, a_reduction_without_a_word_is_a_sum) {
  EXPECT_EQ(shardy_reduction(", unreduced={\"x\"}", ""), "right");
  EXPECT_EQ(shardy_reduction(", unreduced=max{\"x\"}", "max"), "right");
  EXPECT_TRUE(has(shardy_reduction(", unreduced=max{\"x\"}", ""), "and this reduces by sum"));
  EXPECT_TRUE(has(shardy_reduction(", unreduced={\"x\"}", "max"), "and this reduces by max"));
  EXPECT_EQ(shardy_reduction("", "max"), "right") << "all hold the same";
  EXPECT_EQ(shardy_reduction("", ""), "wrong");
  EXPECT_EQ(shardy_reduction("", "max", "tensor<8xf64>"),
            "the function says another type of its result than it returns");
}

TEST(StableHlo, a_reduction_is_of_the_type_of_its_operands) {
  const auto reduced = [](const std::string& region, const std::string& result) {
    return said(
        "module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%p: tensor<4xi8>) -> "
        "tensor<4x" +
            result +
            "> {\n %0 = \"stablehlo.all_reduce\"(%p) <{channel_handle = "
            "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : "
            "tensor<1x2xi64>, use_global_device_ids}> ({\n ^bb0(%a: tensor<" +
            region + ">, %b: tensor<" + region + ">):\n %s = stablehlo.add %a, %b : tensor<" +
            region + ">\n stablehlo.return %s : tensor<" + region +
            ">\n }) : (tensor<4xi8>) -> tensor<4x" + result + ">\n return %0 : tensor<4x" + result +
            ">\n}\n}\n",
        {.mesh = "x:2", .from = "sum{x}[4]", .to = "[4]"});
  };
  EXPECT_EQ(reduced("i8", "i8"), "right");
  for (const std::string region : {"f32", "i32", "ui8", "1xi8"}) {
    EXPECT_TRUE(has(reduced(region, "i8"), "whose region has another type")) << region;
  }
}

TEST(Sums, may_be_made_of_an_array) {
  const auto kept = [](const std::string& to) {
    return said(
        "HloModule m, num_partitions=2\nENTRY e_spmd {\n p = f32[4] parameter(0)\n ROOT "
        "r = f32[4] copy(p)\n}\n",
        {.mesh = "x:2", .from = "[4]", .to = to});
  };
  EXPECT_EQ(kept("max{x}[4]"), "right");
  EXPECT_EQ(kept("sum{x}[4]"), "wrong") << "the sum is twice the array";
  EXPECT_EQ(kept("stack{x}[4]"), "no redistribution makes addends: from holds the array itself");
}

TEST(ManualComputation, is_all_that_its_function_does) {
  const auto returned = [](const std::string& behind) {
    return said(
        "sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{}]>] "
        "out_shardings=[<@m, [{}]>] manual_axes={\"x\"} (%p: tensor<8xf32>) {\n"
        "    sdy.return %p : tensor<8xf32>\n"
        "  } : (tensor<8xf32>) -> tensor<8xf32>\n" +
        behind + " : tensor<8xf32>\n}\n");
  };
  const std::string why =
      "a manual computation that is not all that a function of one argument does";
  EXPECT_EQ(returned("  return %0"), "right");
  EXPECT_EQ(returned("  return %a"), why);
  EXPECT_EQ(returned("  %1 = stablehlo.reverse %0, dims = [0] : tensor<8xf32>\n  return %1"), why);
}

TEST(Arrays, options_say_one_end_for_all_or_one_for_each) {
  EXPECT_EQ(said(two, {.mesh = "x:2", .from = "[2{x}4,4]; [4{x}8]", .to = "[4,4];[8]"}),
            "right, rearranged");
  EXPECT_EQ(said(two, {.mesh = "x:2", .shape = "4,4;8", .from = "P('x')"}), "right, rearranged");
  EXPECT_EQ(said(two, {.mesh = "x:2", .from = "[2{x}4,4]; [4{x}8]; [8]"}),
            "--from says 3 arrays, but this function moves 2 arrays");
}

TEST(Arrays, a_result_of_several_parameters_moves_no_array) {
  std::string text = two;
  text.replace(text.find("tuple(g#1, h)"), 13, "tuple(g#1, k)");
  text.insert(text.find(" ROOT t"), " k = f32[8] concatenate(b, a2), dimensions={0}\n");
  text.insert(text.find(" g = "),
              " a1 = f32[8] reshape(a)\n a2 = f32[4] slice(a1), slice={[0:4]}\n");
  EXPECT_EQ(said(text), "result 1 is made of 2 parameters: what is judged are moves of one array");
}

TEST(Judge, a_result_that_holds_each_element_once_elsewhere_is_rearranged) {
  const auto roll = [](const std::string& pairs, const std::string& parts) {
    return said(module_of(4,
                          " p = f32[2] parameter(0)\n s = f32[1] slice(p), slice={[1:2]}\n"
                          " c = f32[1] collective-permute(s), channel_id=1, "
                          "source_target_pairs=" +
                              pairs +
                              "\n t = f32[1] slice(p), slice={[0:1]}\n"
                              " ROOT r = f32[2] concatenate(" +
                              parts + "), dimensions={0}"),
                {.mesh = "x:4", .from = "[2{x}8]", .to = "[2{x}8]"});
  };
  const std::string ring = "{{0,1},{1,2},{2,3},{3,0}}";
  EXPECT_EQ(roll(ring, "c, t"), "rearranged");
  EXPECT_EQ(roll(ring, "c, c"), "wrong");                   // some are there twice
  EXPECT_EQ(roll("{{0,1},{1,2},{2,3}}", "c, t"), "wrong");  // zeros came in
  EXPECT_EQ(roll("{{0,0},{1,1},{2,2},{3,3}}", "t, c"), "right");
  // Two devices that hold the same place do not agree.
  EXPECT_EQ(
      said(module_of(2,
                     " p = f32[2] parameter(0)\n i = u32[] partition-id()\n"
                     " one = u32[] constant(1)\n f = pred[] compare(i, one), direction=EQ\n"
                     " a = f32[1] slice(p), slice={[0:1]}\n b = f32[1] slice(p), slice={[1:2]}\n"
                     " x = f32[1] select(f, a, b)\n y = f32[1] select(f, b, a)\n"
                     " ROOT r = f32[2] concatenate(x, y), dimensions={0}"),
           {.mesh = "x:2", .from = "[2]", .to = "[2]"}),
      "wrong");
}

TEST(Judge, numbers_are_no_elements) {
  EXPECT_EQ(said(module_of(2,
                           " p = s32[2] parameter(0), sharding={replicated}\n"
                           " i = u32[] partition-id()\n"
                           " ROOT r = s32[2] iota(), iota_dimension=0, sharding={replicated}")),
            "wrong");
}

TEST(Ends, a_result_of_another_shape_is_no_reshard) {
  const auto end = [](const std::string& line) {
    return said(gather(" b = f32[4,4] all-gather(p), channel_id=1, replica_groups={{0,1}}, "
                       "dimensions={0}, use_global_device_ids=true\n ROOT r = " +
                       line),
                {.mesh = "x:2", .from = "[2{x}4,4]", .to = "[4,4]"});
  };
  EXPECT_EQ(end("f32[4,4] copy(b)"), "right");
  EXPECT_EQ(end("f32[2,4] slice(b), slice={[0:2],[0:4]}"),
            "the result is a tile 2,4, but a tile of the end is 4,4");
  EXPECT_TRUE(has(end("f32[16] reshape(b)"), "the result has another shape than the argument"));
}

// ---- Before the partitioner -----------------------------------------------------------------------

/// A copy of four rows between these shardings, on the way another instruction.
std::string hlo(const std::string& name, const std::string& way, const std::string& end = "[4,1]") {
  return "HloModule m, num_partitions=4\nENTRY " + name +
         " {\n a = f32[4,4] parameter(0), sharding={devices=[4,1]<=[4]}\n b = f32[4,4] " + way +
         "\n ROOT c = f32[4,4] copy(b), sharding={devices=" + end + "<=[4]}\n}\n";
}

TEST(BeforeHlo, a_sharding_on_the_way_shows_it) {
  EXPECT_TRUE(is_unpartitioned(hlo("m", "copy(a), sharding={replicated}")));
  EXPECT_TRUE(is_unpartitioned(hlo("m_spmd", "copy(a), sharding={replicated}")));
  EXPECT_EQ(said(hlo("m_spmd", "copy(a)")), "right");
}

TEST(BeforeHlo, a_call_of_a_sharding_shows_it) {
  for (const std::string target :
       {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding"}) {
    const std::string call = "custom-call(a), custom_call_target=\"" + target + "\"";
    EXPECT_TRUE(is_unpartitioned(hlo("m_spmd", call))) << target;
  }
  EXPECT_EQ(said(hlo("m_spmd", "custom-call(a), custom_call_target=\"Shard\"")),
            "custom-call is not read");
}

TEST(BeforeHlo, nothing_of_one_device_shows_it) {
  const std::string transposed = "transpose(a), dimensions={1,0}";
  EXPECT_TRUE(is_unpartitioned(hlo("m", transposed)));
  EXPECT_TRUE(is_unpartitioned(hlo("m", "sine(a)")));
  EXPECT_TRUE(is_unpartitioned(hlo("m", "copy(a)", "[1,4]")));
  std::string turned = hlo("m", "copy(a)");
  turned.replace(turned.rfind("<=[4]"), 5, "<=[2,2]T(1,0)");
  EXPECT_TRUE(is_unpartitioned(turned));
  EXPECT_EQ(said(hlo("m", "copy(a)")), "right");
  EXPECT_EQ(said(hlo("m_spmd", transposed)), "rearranged");
  EXPECT_EQ(said(hlo("m", transposed), {.shape = "16,4"}), "rearranged");
  EXPECT_EQ(said(hlo("m", transposed), {.mesh = "x:4", .from = "[4{x}16,4]", .to = "[4{x}16,4]"}),
            "rearranged");
  EXPECT_TRUE(is_unpartitioned(hlo("m", transposed), {.shape = "4,4"}));
}

/// A function of Shardy's over x:4, from rows to an end.
std::string shardy(const std::string& end, const std::string& lines) {
  return "sdy.mesh @m = <[\"x\"=4]>\nfunc.func @f(%a: tensor<4x4xf32> {sdy.sharding = "
         "#sdy.sharding<@m, [{\"x\"}, {}]>}) -> (tensor<4x4xf32> {sdy.sharding = "
         "#sdy.sharding<@m, [" +
         end + "]>}) {\n" + lines + "}\n";
}
const std::string rows = "{\"x\"}, {}";
const std::string columns = "{}, {\"x\"}";

TEST(BeforeMlir, shardings_and_nothing_of_one_device_show_it) {
  const std::string nothing = "  return %a : tensor<4x4xf32>\n";
  EXPECT_TRUE(is_unpartitioned(shardy(columns, nothing)));
  EXPECT_EQ(said(shardy(rows, nothing)), "right");
  const std::string turn =
      "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  return %0 : tensor<4x4xf32>\n";
  EXPECT_TRUE(is_unpartitioned(shardy(rows, turn)));
  EXPECT_EQ(said(shardy(rows, turn), {.shape = "16,4"}), "rearranged");
  EXPECT_TRUE(is_unpartitioned(shardy(rows, "  %0 = stablehlo.sine %a : tensor<4x4xf32>\n")));
  EXPECT_FALSE(is_unpartitioned(shardy(rows, "  %0 = stablehlo.sine %a : tensor<4x4xf32>\n"),
                                {.shape = "16,4"}));
}

TEST(BeforeMlir, what_leaves_a_reshard_to_others_shows_it) {
  const std::string gather =
      "  %1 = sdy.all_gather [{\"x\"}, {}] %a out_sharding=<@m, [{}, {}]> : "
      "tensor<4x4xf32>\n  return %1 : tensor<4x4xf32>\n";
  EXPECT_EQ(said(shardy("{}, {}", gather)), "right");
  for (const std::string op : {"sdy.reshard", "sdy.sharding_constraint"}) {
    EXPECT_TRUE(is_unpartitioned(
        shardy("{}, {}", "  %0 = " + op + " %a <@m, [{}, {}]> : tensor<4x4xf32>\n" + gather)));
    EXPECT_TRUE(
        is_unpartitioned(shardy("{}, {}", "  %0 = \"" + op +
                                              "\"(%a) <{sharding = #sdy.sharding<@m, [{}, {}]>}> : "
                                              "(tensor<4x4xf32>) -> tensor<4x4xf32>\n" +
                                              gather)));
  }
  // Said of the operation, whatever else in the text is not read.
  const std::string call =
      "  %0 = \"stablehlo.custom_call\"(%a) <{call_target_name = \"Sharding\"}> : "
      "(tensor<4x4xf32>) -> tensor<4x4xf32>\n";
  EXPECT_EQ(said(shardy("{}, {}", call + gather)), before + "a sharding is called, Sharding");
}

TEST(BeforeMlir, a_sharding_on_the_way_shows_it) {
  const auto barrier = [](const std::string& name, const std::string& rest) {
    return shardy(
        rows, "  %0 = stablehlo.optimization_barrier %a {" + name + "} : tensor<4x4xf32>\n" + rest);
  };
  const std::string back = "  return %0 : tensor<4x4xf32>\n";
  const std::string sharding = "sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {\"x\"}]>]>";
  EXPECT_TRUE(has(said(barrier(sharding, back)), "neither argument nor result"));
  EXPECT_TRUE(
      has(said(barrier("mhlo.sharding = \"{replicated}\"", back)), "neither argument nor result"));
  EXPECT_EQ(
      said(barrier(sharding,
                   "  %1 = sdy.all_to_all [{\"x\"}: 0->1] %0 out_sharding=<@m, [{}, {\"x\"}]> : "
                   "tensor<4x4xf32>\n  %2 = sdy.all_to_all [{\"x\"}: 1->0] %1 "
                   "out_sharding=<@m, [{\"x\"}, {}]> : tensor<4x4xf32>\n"
                   "  return %2 : tensor<4x4xf32>\n")),
      "right");
}

TEST(BeforeMlir, a_mesh_shard_that_changes_without_a_collective_shows_it) {
  const auto chain = [](const std::string& second, const std::string& third) {
    return "mesh.mesh @m(shape = 4)\nfunc.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
           "  %0 = mesh.shard %a to <@m, [[0]]> : tensor<4x4xf32>\n"
           "  %1 = mesh.shard %0 to <@m, [" +
           second +
           "]> annotate_for_users : tensor<4x4xf32>\n"
           "  %2 = mesh.shard %1 to <@m, [" +
           third +
           "]> : tensor<4x4xf32>\n"
           "  return %2 : tensor<4x4xf32>\n}\n";
  };
  EXPECT_EQ(said(chain("[0]", "[0]"), {.shape = "16,4"}), "right");
  EXPECT_TRUE(is_unpartitioned(chain("[]", "[0]")));
  EXPECT_TRUE(is_unpartitioned(chain("[0]", "[], [0]")));
  const std::string moved =
      "mesh.mesh @m(shape = 4)\nfunc.func @f(%a: tensor<4x4xf32>) -> tensor<1x16xf32> {\n"
      "  %0 = mesh.shard %a to <@m, [[], [0]]> : tensor<4x4xf32>\n"
      "  %1 = mesh.all_to_all %0 on @m mesh_axes = [0] split_axis = 0 concat_axis = 1 : "
      "tensor<4x4xf32> -> tensor<1x16xf32>\n"
      "  %2 = mesh.shard %1 to <@m, [[0]]> annotate_for_users : tensor<1x16xf32>\n"
      "  %3 = mesh.shard %2 to <@m, [@]> : tensor<1x16xf32>\n  return %3 : tensor<1x16xf32>\n}\n";
  const auto with = [&](const std::string& last) {
    return std::string(moved).replace(moved.find("[@]"), 3, "[" + last + "]");
  };
  EXPECT_EQ(said(with("[0]")), "right");
  EXPECT_TRUE(is_unpartitioned(with("[]")));
}

// ---- Shardy's verifier, StableHLO's channels ------------------------------------------------------

TEST(ShardyReader, moves_name_each_dimension_once_and_sources_in_order) {
  const auto moves = [](const std::string& list, const std::string& from, const std::string& to) {
    const std::string type = "tensor<4x4x4x4xf32>";
    return said("sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\nfunc.func @f(%a: " + type +
                " {sdy.sharding = #sdy.sharding<@m, [" + from + "]>}) -> " + type +
                " {\n  %0 = sdy.all_to_all [" + list + "] %a out_sharding=<@m, [" + to +
                "]> : " + type + "\n  return %0 : " + type + "\n}\n");
  };
  const std::string from = "{\"x\"}, {\"y\"}, {}, {}";
  EXPECT_EQ(moves("{\"x\"}: 0->2, {\"y\"}: 1->3", from, "{}, {}, {\"x\"}, {\"y\"}"), "right");
  EXPECT_EQ(moves("{\"x\"}: 0->3, {\"y\"}: 1->2", from, "{}, {}, {\"y\"}, {\"x\"}"), "right");
  EXPECT_TRUE(has(moves("{\"y\"}: 1->3, {\"x\"}: 0->2", from, "{}, {}, {\"x\"}, {\"y\"}"),
                  "stands behind 1"));
  EXPECT_TRUE(has(moves("{\"x\"}: 0->2, {\"y\"}: 1->2", from, "{}, {}, {\"x\", \"y\"}, {}"),
                  "in two moves"));
  EXPECT_TRUE(
      has(moves("{\"x\"}: 0->1, {\"y\"}: 1->2", from, "{}, {\"x\"}, {\"y\"}, {}"), "in two moves"));
  EXPECT_TRUE(
      has(moves("{\"x\"}: 0->1, {\"y\"}: 1->0", from, "{\"y\"}, {\"x\"}, {}, {}"), "in two moves"));
  EXPECT_TRUE(has(moves("{\"y\"}: 0->1, {\"x\"}: 0->2", "{\"x\", \"y\"}, {}, {}, {}",
                        "{}, {\"y\"}, {\"x\"}, {}"),
                  "in two moves"));
}

TEST(ShardyReader, parts_that_are_one_part_are_written_as_one) {
  const std::string gather =
      "  %0 = sdy.all_gather [{@}, {}] %a out_sharding=<@m, [{}, {}]> : "
      "tensor<4x4xf32>\n  return %0 : tensor<4x4xf32>\n";
  const auto with = [&](const std::string& axes) {
    return said(shardy("{}, {}", std::string(gather).replace(gather.find("@}"), 1, axes)));
  };
  EXPECT_EQ(with("\"x\""), "right");
  EXPECT_EQ(with("\"x\":(1)2, \"x\":(2)2"), "two parts of an axis that are one part");
  EXPECT_EQ(
      said(shardy("{\"x\":(1)2, \"x\":(2)2}, {}",
                  "  %0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<4x4xf32>\n"
                  "  return %0 : tensor<4x4xf32>\n"),
           {.shape = "4,4"}),
      "two parts of an axis that are one part");
}

TEST(ShardyReader, a_reduction_of_no_addends_adds_what_all_hold) {
  const auto reduce = [](const std::string& axes, const std::string& from, const std::string& to) {
    return said(
        "sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\nfunc.func @f(%a: tensor<4xf32> {sdy.sharding = "
        "#sdy.sharding<@m, [" +
        from + ">}) -> tensor<4xf32> {\n  %0 = sdy.all_reduce {" + axes +
        "} %a out_sharding=<@m, [" + to + "> : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n");
  };
  EXPECT_EQ(reduce("\"y\"", "{\"x\"}], unreduced={\"y\"}", "{\"x\"}]"), "right");
  EXPECT_EQ(reduce("\"y\"", "{\"x\"}]", "{\"x\"}]"), "wrong");
  EXPECT_EQ(reduce("\"x\"", "{\"x\"}]", "{\"x\"}]"), "the operand is cut along these axes");
  EXPECT_EQ(reduce("\"x\", \"y\"", "{}], unreduced={\"x\", \"y\"}", "{}]"), "right");
  EXPECT_EQ(reduce("\"y\", \"x\"", "{}], unreduced={\"x\", \"y\"}", "{}]"),
            "axes of a reduction stand in the order of the mesh");
}

TEST(TileReader, a_channel_means_partitions) {
  const auto module = [](const std::string& partitions, const std::string& replicas,
                         const std::string& channel) {
    return said("module attributes {mhlo.num_partitions = " + partitions +
                    " : i32, mhlo.num_replicas = " + replicas +
                    " : i32} {\n  func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n    %0 = "
                    "\"stablehlo.collective_permute\"(%a) <{" +
                    channel +
                    "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : "
                    "(tensor<2xf32>) -> tensor<2xf32>\n    return %0 : tensor<2xf32>\n  }\n}\n",
                {.mesh = "x:2", .from = "[2{x}4]", .to = "[2{x}4]"});
  };
  const std::string channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, ";
  EXPECT_EQ(module("2", "1", channel), "rearranged");
  EXPECT_EQ(module("1", "2", ""), "rearranged");
  EXPECT_EQ(module("1", "2", channel), "numbers of partitions in a program of several replicas");
  EXPECT_EQ(module("2", "1", ""), "numbers of replicas in a program of several partitions");
}

TEST(TileReader, a_device_sends_once) {
  const auto pairs = [](const std::string& list) {
    return said(
        "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = "
        "\"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<" +
            list +
            "> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : "
            "tensor<2xf32>\n}\n",
        {.mesh = "x:3", .from = "[2{x}6]", .to = "[2{x}6]"});
  };
  EXPECT_EQ(pairs("[[0, 1], [1, 0]]"), "wrong");
  EXPECT_EQ(pairs("[[0, 1], [0, 2]]"), "0 is a source twice");
}

}  // namespace readers_test
}  // namespace retile::foreign
