// The text of MLIR: its tokens, its tree, and what Shardy's collectives are made of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/foreign/judge_text.h"
#include "retile/foreign/mlir/lexer.h"
#include "retile/foreign/mlir/tree.h"
#include "retile/text/place.h"

namespace retile::foreign::mlir {
namespace mlir_test {

using Kind = TokenKind;
using Tokens = std::vector<std::pair<TokenKind, std::string>>;

/// All tokens of a text.
Tokens tokens(const std::string& text) {
  const text::Input input{.text = text, .source = "test", .numbered = true};
  Lexer lexer(input, {0, text.size()});
  Tokens out;
  while (!lexer.sees(Kind::end)) {
    out.emplace_back(lexer.next().kind, lexer.text());
    lexer.take();
  }
  return out;
}

/// What `read` refuses with, as `message at column`, counted from 0; empty where it does not.
template <typename Read>
std::string refusal(Read&& read) {
  const auto out = text::result_of([&] {
    static_cast<void>(read());
    return true;
  });
  if (out) return "";
  const Diagnostic& why = out.error();
  return why.message + " at " + std::to_string(why.where.begin);
}

/// The bracket at the beginning of a text.
std::string bracket(const std::string& text) {
  const text::Input input{.text = text, .source = "test", .numbered = true};
  Lexer lexer(input, {0, text.size()});
  return std::string(lexer.text_of(lexer.take_balanced().span));
}

TEST(MlirLexer, a_name_and_its_mark_are_one_token) {
  EXPECT_EQ(tokens("%0 @main #a.b !t ^bb0 @\"a b\" sdy.all_gather"),
            Tokens({{Kind::value, "%0"},
                    {Kind::symbol, "@main"},
                    {Kind::hash, "#a.b"},
                    {Kind::exclamation, "!t"},
                    {Kind::caret, "^bb0"},
                    {Kind::symbol, "@\"a b\""},
                    {Kind::word, "sdy.all_gather"}}));
  EXPECT_EQ(
      tokens("%a-b %a->b"),
      Tokens({{Kind::value, "%a-b"}, {Kind::value, "%a"}, {Kind::sign, "->"}, {Kind::word, "b"}}));
  EXPECT_EQ(tokens("# % ::"), Tokens({{Kind::sign, "#"}, {Kind::sign, "%"}, {Kind::sign, "::"}}));
}

TEST(MlirLexer, numbers_end_where_they_stop_being_numbers) {
  EXPECT_EQ(tokens("12 -3 0x1F 1.5 -2.5e-3 2.0E7"), Tokens({{Kind::integer, "12"},
                                                            {Kind::integer, "-3"},
                                                            {Kind::integer, "0x1F"},
                                                            {Kind::real, "1.5"},
                                                            {Kind::real, "-2.5e-3"},
                                                            {Kind::real, "2.0E7"}}));
  EXPECT_EQ(tokens("4x8xf32"), Tokens({{Kind::integer, "4"}, {Kind::word, "x8xf32"}}));
  EXPECT_EQ(tokens("0xg"), Tokens({{Kind::integer, "0"}, {Kind::word, "xg"}}));
  EXPECT_EQ(tokens("1. 2.0e+"), Tokens({{Kind::integer, "1"},
                                        {Kind::sign, "."},
                                        {Kind::real, "2.0"},
                                        {Kind::word, "e"},
                                        {Kind::sign, "+"}}));
}

TEST(MlirLexer, reads_over_blanks_and_comments) {
  EXPECT_EQ(tokens("a // b \"\n\tc\r\n/ d // end"),
            Tokens({{Kind::word, "a"}, {Kind::word, "c"}, {Kind::sign, "/"}, {Kind::word, "d"}}));
  EXPECT_EQ(tokens("// alone"), Tokens());
}

TEST(MlirLexer, a_text_ends_at_its_quote) {
  EXPECT_EQ(tokens(R"("a\"b\\" c)"), Tokens({{Kind::text, R"("a\"b\\")"}, {Kind::word, "c"}}));
  EXPECT_EQ(refusal([] { return tokens("ab \"cd"); }),
            "a text in quotes has no closing quote at 3");
  EXPECT_EQ(refusal([] { return tokens("\"cd\n\""); }),
            "a text in quotes has no closing quote at 0");
  EXPECT_EQ(refusal([] { return tokens("@\"cd"); }), "a text in quotes has no closing quote at 1");
}

TEST(MlirLexer, brackets_close_as_they_open) {
  EXPECT_EQ(bracket("<[{\"x>\"}, {}]> b"), "<[{\"x>\"}, {}]>");
  EXPECT_EQ(bracket("<(a) -> b> c"), "<(a) -> b>");
  EXPECT_EQ(bracket("[a // ]\n] c"), "[a // ]\n]");
  EXPECT_EQ(refusal([] { return bracket("([)]"); }), "expected ']', found ')' at 2");
  EXPECT_EQ(refusal([] { return bracket("([]"); }), "a bracket that is not closed at 0");
  EXPECT_NE(refusal([] { return bracket("a"); }), "");
}

/// The only operation of a text.
Op op_of(const std::string& text) {
  const text::Input input{.text = text, .source = "test", .numbered = true};
  std::vector<Ops> parts = parse(input);
  EXPECT_EQ(parts.size(), 1);
  EXPECT_EQ(parts.front().size(), 1);
  return std::move(parts.front().front());
}

/// The numbers of an attribute `a = ..`.
std::vector<std::int64_t> numbers(const std::string& attribute) {
  const Op op = op_of("\"t.op\"() {a = " + attribute + "} : () -> ()");
  return find_in(op.attributes, "a")->numbers;
}
std::string refused(const std::string& attribute) {
  const std::string why = refusal([&] { return numbers(attribute); });
  return why.substr(0, why.rfind(" at "));
}

TEST(MlirTree, of_an_operation_in_its_generic_form) {
  const Op op = op_of(
      "%r:2, %s = \"t.op\"(%a, %b#1) <{k = 3 : i64}> ({\n^bb0(%c: index):\n  \"t.in\"(%c) : "
      "(index) -> ()\n}) {l, m = @n} : (i1, tensor<0x8x?xf32>) -> (f32, f32, index) loc(\"a\")");
  EXPECT_EQ(op.name, "t.op");
  ASSERT_EQ(op.results.size(), 2);
  EXPECT_EQ(op.results[0].count, 2);
  EXPECT_EQ(op.results[1].name, "%s");
  ASSERT_EQ(op.operands.size(), 2);
  EXPECT_EQ(op.operands[0].number, 0);
  EXPECT_EQ(op.operands[1].number, 1);
  EXPECT_EQ(find_in(op.attributes, "k")->number, 3);
  EXPECT_EQ(find_in(op.attributes, "l")->kind, Attribute::Kind::unit);
  EXPECT_EQ(find_in(op.attributes, "m")->text, "n");
  EXPECT_EQ(find_in(op.attributes, "o"), nullptr);
  ASSERT_EQ(op.operand_types.size(), 2);
  EXPECT_EQ(op.operand_types[1].extents, Shape({0, 8, 0}));
  EXPECT_FALSE(op.operand_types[1].is_known);
  EXPECT_TRUE(op.operand_types[0].is_known);
  EXPECT_EQ(op.result_types.size(), 3);
  ASSERT_EQ(op.regions.size(), 1);
  ASSERT_EQ(op.regions[0].blocks.size(), 1);
  EXPECT_EQ(op.regions[0].blocks[0].arguments.size(), 1);
  EXPECT_EQ(op.regions[0].blocks[0].ops.front().name, "t.in");
}

TEST(MlirTree, of_parts_that_know_nothing_of_each_other) {
  const std::string use = "\"t.op\"() {a = #k} : () -> ()\n";
  const std::string text = "#k = 7 : i64\n" + use + "// ----- next\n#k = 8 : i64\n" + use;
  const text::Input input{.text = text, .source = "test", .numbered = true};
  const auto parts = parse(input);
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(find_in(parts[0].front().attributes, "a")->number, 7);
  EXPECT_EQ(find_in(parts[1].front().attributes, "a")->number, 8);
  const std::string apart = "#k = 7 : i64\n// -----\n" + use;
  const text::Input other{.text = apart, .source = "test", .numbered = true};
  EXPECT_EQ(refusal([&] { return parse(other); }), "no alias #k is known at 14");
}

TEST(MlirNumbers, in_rows_and_alike) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers("dense<[[1, -2], [0x10, 4]]> : tensor<2x2xi64>"), Numbers({1, -2, 16, 4}));
  EXPECT_EQ(numbers("dense<7> : tensor<2x2xi64>"), Numbers({7}));
  EXPECT_EQ(numbers("dense<[true, false]> : tensor<2xi1>"), Numbers({1, 0}));
  EXPECT_EQ(numbers("dense<[0.0e5, 1.0]> : tensor<2xf32>"), Numbers({0, operations::word_of(1)}));
  EXPECT_EQ(numbers("dense<[0x7FC0, -1.5]> : tensor<2xbf16>").back(), operations::word_of(-1.5));
  EXPECT_EQ(numbers("dense<[(0.0, 0.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>"), Numbers({0, 1}));
  EXPECT_EQ(numbers("dense<[255, -128]> : tensor<2xi8>"), Numbers({-1, -128}));
  EXPECT_EQ(refused("dense<256> : tensor<i8>"), "256 is no value of i8");
  EXPECT_EQ(refused("dense<-1> : tensor<ui8>"), "-1 is no value of ui8");
  EXPECT_EQ(refused("dense<1.5> : tensor<i8>"), "a number with a point is no i8");
  EXPECT_EQ(numbers("array<i64: 3, -4>"), Numbers({3, -4}));
  EXPECT_EQ(numbers("[5, 6]"), Numbers({5, 6}));
  EXPECT_EQ(numbers("array<i64>"), Numbers());
  EXPECT_EQ(refused("dense<[[1, 2], [3]]> : tensor<2x2xi64>"), "1 entry where a row has 2");
  EXPECT_EQ(refused("dense<[1, 2]> : tensor<3xi64>"),
            "the type has other extents than the numbers");
  EXPECT_EQ(refused("18446744073709551616"), "this number does not fit in 64 bits");
  EXPECT_EQ(refused("-9223372036854775809"), "this number does not fit in 64 bits");
  EXPECT_EQ(refused("tensor<9223372036854775808xf32>"), "an extent does not fit in 63 bits");
}

TEST(MlirNumbers, in_bytes_the_lowest_first) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers("dense<\"0x0100FEFF\"> : tensor<2xi16>"), Numbers({1, -2}));
  EXPECT_EQ(numbers("dense<\"0x0100FEFF\"> : tensor<2xui16>"), Numbers({1, 65534}));
  EXPECT_EQ(numbers("dense<\"0x0000803F00000000\"> : tensor<2xf32>"),
            Numbers({operations::word_of(1), 0}));
  EXPECT_EQ(numbers("dense<\"0x0500\"> : tensor<9xi1>"), Numbers({1, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(refused("dense<\"0x01000\"> : tensor<2xi16>"), "no bytes in hexadecimal");
  EXPECT_EQ(refused("dense<\"0x01G0\"> : tensor<1xi16>"), "no bytes in hexadecimal");
  EXPECT_EQ(refused("dense<\"0x010002000300\"> : tensor<2xi16>"),
            "not as many bytes as the type has");
}

TEST(MlirTree, is_not_deeper_than_the_stack) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  EXPECT_EQ(refused(nested(60)), "");
  EXPECT_EQ(refused(nested(64)), "brackets are nested deeper than 64");
  EXPECT_EQ(refused(nested(100'000)), "brackets are nested deeper than 64");
}

/// The verdict on one of Shardy's collectives between two shardings.
Verdict shardy(const std::string& from, const std::string& op, const std::string& to,
               const std::string& type = "tensor<8x8xf32>") {
  const std::string text = "sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\nfunc.func @main(%arg0: " + type +
                           " {sdy.sharding = #sdy.sharding<@m, " + from + ">}) -> (" + type +
                           " {sdy.sharding = #sdy.sharding<@m, " + to + ">}) {\n  %0 = " + op +
                           " %arg0 out_sharding=<@m, " + to + "> : " + type +
                           "\n  return %0 : " + type + "\n}\n";
  const auto judged = judge_text(text, "test.mlir");
  EXPECT_TRUE(judged.has_value()) << (judged ? "" : render(judged.error()));
  if (!judged || judged->size() != 1) return {};
  return judged->front().verdict;
}

TEST(MlirShardy, axes_of_a_list_go_from_major_to_minor) {
  const Verdict gather =
      shardy("[{\"y\", \"x\"}, {}]", "sdy.all_gather [{\"x\"}, {}]", "[{\"y\"}, {}]");
  EXPECT_EQ(gather.right, true);
  EXPECT_EQ(gather.cost, 16);
  EXPECT_EQ(gather.received, 8);
  const std::string both = "[{\"y\", \"x\"}, {}]";
  EXPECT_EQ(shardy("[{}, {}]", "sdy.all_slice [{\"y\", \"x\"}, {}]", both).right, true);
  EXPECT_EQ(shardy("[{}, {}]", "sdy.all_slice [{\"x\", \"y\"}, {}]", both).right, false);
  const Verdict part =
      shardy("[{\"y\"}, {}]", "sdy.all_gather [{\"y\":(2)2}, {}]", "[{\"y\":(1)2}, {}]");
  EXPECT_EQ(part.right, true);
  EXPECT_EQ(part.cost, 32);
}

TEST(MlirShardy, a_claim_that_does_not_hold_is_the_first_wrong_value) {
  const Verdict verdict =
      shardy("[{\"x\"}, {}]", "sdy.all_to_all [{\"x\"}: 0->1]", "[{}, {\"y\":(1)2}]");
  EXPECT_EQ(verdict.right, false);
  EXPECT_TRUE(verdict.is_claim);
  ASSERT_TRUE(verdict.first_wrong.has_value());
  EXPECT_EQ(verdict.first_wrong->name, "%0");
  EXPECT_EQ(verdict.first_wrong->place.line, 3);
  ASSERT_TRUE(verdict.mismatch.has_value());
  EXPECT_EQ(verdict.reason(), "claim");
}

TEST(MlirShardy, uneven_tiles_hold_nothing_behind_the_end) {
  const std::string type = "tensor<5x6xf32>";
  const Verdict verdict = shardy("[{\"y\"}, {}]", "sdy.all_gather [{\"y\"}, {}]", "[{}, {}]", type);
  EXPECT_EQ(verdict.right, true);
  EXPECT_EQ(verdict.bound, 30);
  EXPECT_EQ(shardy("[{\"y\"}, {}]", "sdy.all_to_all [{\"y\"}: 0->1]", "[{}, {\"y\"}]", type).right,
            true);
}

TEST(JudgeText, ends_are_on_as_many_devices_as_the_function) {
  const auto judged = judge_text(
      "sdy.mesh @m = <[\"x\"=4]>\nsdy.mesh @half = <[\"x\"=2]>\n"
      "func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) -> "
      "(tensor<4xf32> {sdy.sharding = #sdy.sharding<@half, [{}]>}) {\n  %0 = sdy.all_gather "
      "[{\"x\"}] %a out_sharding=<@m, [{}]> : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n",
      "test.mlir");
  ASSERT_FALSE(judged.has_value());
  EXPECT_EQ(judged.error().message, "this is of 2 devices, but the function of 4 devices");
}

TEST(JudgeText, points_at_what_is_not_read) {
  const auto reshard = judge_text(
      "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = "
      "sdy.reshard %a <@m, [{}]> : tensor<4xf32>\n}\n",
      "test.mlir");
  ASSERT_FALSE(reshard.has_value());
  EXPECT_EQ(reshard.error().code, Code::unsupported);
  EXPECT_NE(render(reshard.error()).find("test.mlir:2"), std::string::npos);
  const auto nothing = judge_text("retile.program/1\n", "test.mlir");
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().code, Code::syntax);
}

TEST(JudgeText, ends_that_are_said_go_before_those_of_the_text) {
  const std::string text =
      "sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4xf32> {sdy.sharding = "
      "#sdy.sharding<@m, [{\"x\"}]>}) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n";
  const auto judged = judge_text(text, "test.mlir", {.mesh = "x:2", .to = "[4]"});
  ASSERT_FALSE(judged.has_value());
  EXPECT_EQ(judged.error().message, "the result is a tile 2, but a tile of the end is 4");
  const auto right = judge_text(text, "test.mlir", {.mesh = "x:2", .to = "[2{x}4]"});
  ASSERT_TRUE(right.has_value()) << render(right.error());
  EXPECT_EQ(right->front().verdict.right, true);
  EXPECT_EQ(right->front().name, "main");
  EXPECT_EQ(right->front().devices, 2);
  const auto bad = judge_text(text, "test.mlir", {.mesh = "x:"});
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(render(bad.error()).find("--mesh"), std::string::npos);
}

TEST(JudgeText, ends_that_are_said_again_change_no_verdict) {
  const std::string text =
      "sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4x4xf32> {sdy.sharding = "
      "#sdy.sharding<@m, [{\"x\"}, {}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, "
      "[{}, {\"x\"}]>}) {\n  %0 = sdy.collective_permute %a out_sharding=<@m, [{}, {\"x\"}]> : "
      "tensor<4x4xf32>\n  return %0 : tensor<4x4xf32>\n}\n";
  const auto bare = judge_text(text, "test.mlir");
  ASSERT_TRUE(bare.has_value()) << render(bare.error());
  EXPECT_EQ(bare->front().verdict.right, false);
  const auto again =
      judge_text(text, "test.mlir", {.from = "{devices=[2,1]<=[2]}", .to = "{devices=[1,2]<=[2]}"});
  ASSERT_TRUE(again.has_value()) << render(again.error());
  EXPECT_EQ(again->front().verdict.right, false);
  const auto other = judge_text(text, "test.mlir", {.to = "{replicated}"});
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message, "the result is a tile 2,4, but a tile of the end is 4,4");
}

/// The names of the functions that are judged.
std::vector<std::string> judged_of(const std::string& text) {
  const auto judged =
      judge_text(text, "test.mlir", {.mesh = "x:2", .from = "[2{x}4]", .to = "[4]"});
  EXPECT_TRUE(judged.has_value()) << (judged ? "" : render(judged.error()));
  std::vector<std::string> out;
  if (!judged) return out;
  for (const auto& one : *judged) out.push_back(one.name);
  return out;
}

TEST(JudgeText, private_functions_that_nobody_calls_are_left_out_beside_others) {
  const auto function = [](const std::string& head) {
    return "func.func " + head +
           "(%a: tensor<2xf32>) -> tensor<4xf32> {\n  %r = \"stablehlo.all_gather\"(%a) "
           "<{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, "
           "type "
           "= 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : "
           "(tensor<2xf32>) -> tensor<4xf32>\n  return %r : tensor<4xf32>\n}\n";
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(judged_of(function("private @one") + function("@two")), Names({"two"}));
  EXPECT_EQ(judged_of(function("public @one") + function("nested @two") + function("@three")),
            Names({"one", "two", "three"}));
  EXPECT_EQ(judged_of(function("private @one") + function("private @two")), Names({"one", "two"}));
}

/// A sum of two devices' arrays by this operation of StableHLO.
std::string reduced_by(const std::string& name, const std::string& element) {
  const std::string array = "tensor<4x" + element + ">";
  const std::string scalar = "tensor<" + element + ">";
  return "module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%p: " + array +
         ") -> " + array +
         " {\n  %r = \"stablehlo.all_reduce\"(%p) <{channel_handle = #stablehlo.channel_handle<"
         "handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, "
         "use_global_device_ids}> ({\n  ^bb0(%a: " +
         scalar + ", %b: " + scalar + "):\n    %c = stablehlo." + name + " %a, %b : " + scalar +
         "\n    stablehlo.return %c : " + scalar + "\n  }) : (" + array + ") -> " + array +
         "\n  return %r : " + array + "\n}\n}\n";
}

TEST(JudgeText, truth_values_are_reduced_by_or_and_by_and) {
  const auto right = [](const std::string& text, const std::string& from) -> std::optional<bool> {
    const auto judged = judge_text(text, "test.mlir", {.mesh = "x:2", .from = from, .to = "[4]"});
    if (!judged || judged->size() != 1) return std::nullopt;
    return judged->front().verdict.right;
  };
  for (const std::string name : {"or", "maximum"}) {
    EXPECT_EQ(right(reduced_by(name, "i1"), "max{x}[4]"), true) << name;
    EXPECT_EQ(right(reduced_by(name, "i1"), "min{x}[4]"), false) << name;
  }
  for (const std::string name : {"and", "minimum"}) {
    EXPECT_EQ(right(reduced_by(name, "i1"), "min{x}[4]"), true) << name;
    EXPECT_EQ(right(reduced_by(name, "i1"), "max{x}[4]"), false) << name;
  }
  EXPECT_EQ(right(reduced_by("or", "i32"), "max{x}[4]"), std::nullopt);  // bit by bit
  EXPECT_EQ(right(reduced_by("and", "i32"), "min{x}[4]"), std::nullopt);
  EXPECT_EQ(right(reduced_by("maximum", "i32"), "max{x}[4]"), true);
}

}  // namespace mlir_test
}  // namespace retile::foreign::mlir
