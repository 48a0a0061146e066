// The table of operations against its readers and types: every row is read in both languages, needs the
// attributes that the table says it needs, and has the types that the table says it may have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "functions.h"
#include "retile/foreign/reader.h"
#include "retile/operations/table.h"

namespace retile::foreign {
namespace operations_test {

using operations::Effect;
using operations::Id;
using operations::Row;
using testing::module_of;
using testing::refusal_of;

/// What readers of moves know.
std::span<const Row> rows() { return operations::rows().first(operations::moved_count); }
/// And what stands in whole programs alone.
std::span<const Row> other_rows() { return operations::rows().subspan(operations::moved_count); }

const std::string body =
    "HloModule test, num_partitions=2\n%add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    " ROOT c = f32[] add(a, b)\n}\nENTRY e {\n p = f32[4,6] parameter(0)\n"
    " t = s32[4] constant({1,2,3,4})\n i = s32[] constant(1)\n z = f32[] constant(0)\n"
    " id = u32[] partition-id()\n"
    " c = pred[] constant(true)\n u = (f32[4,6]) tuple(p)\n";

/// What an operation takes, by the values of `body`; of what is of numbers alone, nothing.
std::string instruction(Id id) {
  static const std::string groups =
      ", channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true";
  static const std::map<Id, std::string> out = {
      {Id::parameter, "f32[] parameter(1)"},
      {Id::constant, "s32[2] constant({1, 2})"},
      {Id::iota, "s32[2,3] iota(), iota_dimension=1"},
      {Id::partition_id, "u32[] partition-id()"},
      {Id::replica_id, "u32[] replica-id()"},
      {Id::tuple, "(f32[4,6]) tuple(p)"},
      {Id::get_tuple_element, "f32[4,6] get-tuple-element(u), index=0"},
      {Id::optimization_barrier, "f32[4,6] opt-barrier(p)"},
      {Id::call, "f32[] call(z, z), to_apply=%add"},
      {Id::copy, "f32[4,6] copy(p)"},
      {Id::bitcast, "f32[24] bitcast(p)"},
      {Id::reshape, "f32[24] reshape(p)"},
      {Id::transpose, "f32[6,4] transpose(p), dimensions={1,0}"},
      {Id::reverse, "f32[4,6] reverse(p), dimensions={1}"},
      {Id::slice, "f32[2,6] slice(p), slice={[0:4:2], [0:6]}"},
      {Id::pad, "f32[5,6] pad(p, z), padding=1_0x0_0"},
      {Id::concatenate, "f32[8,6] concatenate(p, p), dimensions={0}"},
      {Id::broadcast, "f32[2,4,6] broadcast(p), dimensions={1,2}"},
      {Id::dynamic_slice, "f32[2,6] dynamic-slice(p, i, i), dynamic_slice_sizes={2,6}"},
      {Id::dynamic_update_slice, "f32[4,6] dynamic-update-slice(p, p, i, i)"},
      {Id::select, "f32[4,6] select(c, p, p)"},
      {Id::convert, "f64[4,6] convert(p)"},
      {Id::compare, "pred[4] compare(t, t), direction=LT"},
      {Id::clamp, "s32[4] clamp(i, t, i)"},
      {Id::all_gather, "f32[8,6] all-gather(p), dimensions={0}" + groups},
      {Id::all_to_all,
       "f32[4,6] all-to-all(p), dimensions={0}, channel_id=1, "
       "replica_groups={{0,1}}"},
      {Id::collective_permute,
       "f32[4,6] collective-permute(p), channel_id=1, "
       "source_target_pairs={{0,1},{1,0}}"},
      {Id::all_reduce, "f32[4,6] all-reduce(p), to_apply=%add" + groups},
      {Id::reduce_scatter, "f32[2,6] reduce-scatter(p), dimensions={0}, to_apply=%add" + groups},
  };
  const auto found = out.find(id);
  return found == out.end() ? "" : found->second;
}

std::string hlo(const std::string& instruction) {
  return refusal_of(body + " ROOT r = " + instruction + "\n}\n");
}

/// Without an attribute; the list as it was where it has none.
std::string without(const std::string& text, std::string_view attribute) {
  const std::size_t begin = text.find(fmt::format(", {}=", attribute));
  if (begin == std::string::npos) return text;
  std::size_t end = begin + 2;
  int depth = 0;
  while (end < text.size() && (depth > 0 || text[end] != ',')) {
    if (text[end] == '{') ++depth;
    if (text[end] == '}') --depth;
    ++end;
  }
  return text.substr(0, begin) + text.substr(end);
}

TEST(Operations, are_all_read_from_hlo_with_the_attributes_that_they_need) {
  int needed = 0;
  for (const Row& row : rows()) {
    if (row.arithmetic) continue;
    const std::string right = instruction(row.id);
    ASSERT_FALSE(right.empty()) << row.hlo;
    EXPECT_NE(right.find(fmt::format(" {}(", row.hlo)), std::string::npos) << right;
    EXPECT_EQ(hlo(right), "") << right;
    EXPECT_NE(hlo(right + ", window={size=2}").find("with window is not read"), std::string::npos)
        << right;
    EXPECT_EQ(hlo(right + ", metadata={op_name=\"x\"}"), "") << right;
    for (const operations::Attribute& one : row.attributes) {
      if (!one.missing.empty() || one.hlo.empty()) continue;
      const std::string text = without(right, one.hlo);
      EXPECT_NE(text, right) << one.hlo;
      EXPECT_NE(hlo(text), "") << text;
      ++needed;
    }
  }
  EXPECT_GE(needed, 15);
}

/// A number of a type, as HLO writes it.
std::string number_of(const std::string& type) {
  if (type == "pred") return "true";
  return type == "c64" ? "(1, 0)" : "1";
}

TEST(Operations, of_hlo_may_be_called_as_one) {
  const std::string call = instruction(Id::call);
  EXPECT_EQ(hlo(call + ", is_composite=true"), "");
  EXPECT_EQ(hlo("f32[] add(z, z), is_composite=true"), "add with is_composite is not read");
}

TEST(Operations, have_the_types_of_the_table) {
  int taken = 0;
  int refused = 0;
  for (const Row& row : rows()) {
    if (!row.arithmetic && row.id != Id::compare && row.id != Id::clamp) continue;
    for (const std::string type : {"pred", "s32", "u32", "f32", "c64"}) {
      const ElementKind kind = element_kind(type);
      std::string operands;
      for (std::size_t k = 0; k < row.operands.size(); ++k) operands += k > 0 ? ", a" : "a";
      const std::string text =
          fmt::format("a = {0}[] constant({1})\nROOT r = {2}[] {3}({4}){5}", type, number_of(type),
                      row.id == Id::compare ? "pred" : type, row.hlo, operands,
                      row.id == Id::compare ? ", direction=EQ" : "");
      // What has no words is followed as elements.
      const bool followed = kind.has_words() || row.effect != Effect::calculates;
      const bool may = row.operands[0].types.has(kind) && followed;
      EXPECT_EQ(refusal_of(module_of(2, text)).empty(), may) << text;
      ++(may ? taken : refused);
    }
  }
  EXPECT_GT(taken, 50);
  EXPECT_GT(refused, 25);
}

TEST(Operations, of_numbers_are_refused_for_elements) {
  for (const Row& row : rows()) {
    if (!row.arithmetic || !row.operands[0].types.real) continue;
    const bool one = row.operands.size() == 1;
    const std::string text = fmt::format("f32[4,6] {}({})", row.hlo, one ? "p" : "p, p");
    EXPECT_EQ(hlo(text).empty(), row.effect == Effect::adds) << text;
  }
}

TEST(Operations, that_decide_must_be_known) {
  const std::string flags = "q = pred[4,6] parameter(0)\nx = s32[4] constant({1,2,3,4})\n";
  EXPECT_NE(refusal_of(module_of(2, flags + "ROOT r = pred[4,6] select(q, q, q)"))
                .find("a choice that depends"),
            std::string::npos);
  EXPECT_NE(refusal_of(module_of(2,
                                 "q = s32[] parameter(0)\nx = s32[4] constant({1,2,3,4})\n"
                                 "ROOT r = s32[1] dynamic-slice(x, q), dynamic_slice_sizes={1}"))
                .find("an offset that depends"),
            std::string::npos);
  EXPECT_NE(refusal_of(module_of(2,
                                 "q = s32[4] parameter(0)\n"
                                 "ROOT r = pred[4] compare(q, q), direction=EQ"))
                .find("a comparison that depends"),
            std::string::npos);
}

/// What StableHLO calls an operation in its own form, of the values of `stablehlo` below.
std::string operation(Id id) {
  static const std::string groups =
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = "
      "dense<[[0, 1]]> : tensor<1x2xi64>";
  static const std::string global = groups + ", use_global_device_ids";
  static const std::string adds =
      " ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n %c9 = stablehlo.add %a, %b : tensor<f32>\n "
      "stablehlo.return %c9 : tensor<f32>\n}) : (tensor<4x6xf32>) -> ";
  static const std::map<Id, std::string> out = {
      {Id::constant, "stablehlo.constant dense<1> : tensor<4xi32>"},
      {Id::iota, "stablehlo.iota dim = 0 : tensor<4xi32>"},
      {Id::partition_id, "stablehlo.partition_id : tensor<ui32>"},
      {Id::replica_id, "stablehlo.replica_id : tensor<ui32>"},
      {Id::optimization_barrier, "stablehlo.optimization_barrier %p : tensor<4x6xf32>"},
      {Id::reshape, "stablehlo.reshape %p : (tensor<4x6xf32>) -> tensor<24xf32>"},
      {Id::transpose,
       "stablehlo.transpose %p, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>"},
      {Id::reverse, "stablehlo.reverse %p, dims = [1] : tensor<4x6xf32>"},
      {Id::slice, "stablehlo.slice %p [0:4:2, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>"},
      {Id::pad,
       "stablehlo.pad %p, %z, low = [1, 0], high = [0, 0], interior = [0, 0] : "
       "(tensor<4x6xf32>, tensor<f32>) -> tensor<5x6xf32>"},
      {Id::concatenate,
       "stablehlo.concatenate %p, %p, dim = 0 : (tensor<4x6xf32>, "
       "tensor<4x6xf32>) -> tensor<8x6xf32>"},
      {Id::broadcast,
       "stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<4x6xf32>) -> "
       "tensor<2x4x6xf32>"},
      {Id::dynamic_slice,
       "stablehlo.dynamic_slice %p, %i, %i, sizes = [2, 6] : "
       "(tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>"},
      {Id::dynamic_update_slice,
       "stablehlo.dynamic_update_slice %p, %p, %i, %i : (tensor<4x6xf32>, tensor<4x6xf32>, "
       "tensor<i32>, tensor<i32>) -> tensor<4x6xf32>"},
      {Id::select, "stablehlo.select %c, %p, %p : tensor<i1>, tensor<4x6xf32>"},
      {Id::convert, "stablehlo.convert %p : (tensor<4x6xf32>) -> tensor<4x6xf64>"},
      {Id::compare,
       "stablehlo.compare LT, %t, %t, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>"},
      {Id::clamp,
       "stablehlo.clamp %i, %t, %i : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> "
       "tensor<4xi32>"},
      {Id::all_gather, "\"stablehlo.all_gather\"(%p) <{all_gather_dim = 0 : i64, " + global +
                           "}> : (tensor<4x6xf32>) -> tensor<8x6xf32>"},
      {Id::all_to_all,
       "\"stablehlo.all_to_all\"(%p) <{concat_dimension = 1 : i64, split_dimension = 0 : i64, "
       "split_count = 2 : i64, " +
           groups + "}> : (tensor<4x6xf32>) -> tensor<2x12xf32>"},
      {Id::collective_permute,
       "\"stablehlo.collective_permute\"(%p) <{channel_handle = #stablehlo.channel_handle<handle "
       "= 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : "
       "(tensor<4x6xf32>) -> tensor<4x6xf32>"},
      {Id::all_reduce,
       "\"stablehlo.all_reduce\"(%p) <{" + global + "}>" + adds + "tensor<4x6xf32>"},
      {Id::reduce_scatter, "\"stablehlo.reduce_scatter\"(%p) <{scatter_dimension = 0 : i64, " +
                               global + "}>" + adds + "tensor<2x6xf32>"},
  };
  const auto found = out.find(id);
  return found == out.end() ? "" : found->second;
}

std::string stablehlo(const std::string& operation) {
  const std::string text =
      "module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%p: "
      "tensor<4x6xf32>) -> tensor<4x6xf32> {\n %t = stablehlo.constant dense<[1, 2, 3, 4]> : "
      "tensor<4xi32>\n %i = stablehlo.constant dense<1> : tensor<i32>\n %id = "
      "stablehlo.partition_id : tensor<ui32>\n %z = stablehlo.constant "
      "dense<0.0> : tensor<f32>\n %c = stablehlo.constant dense<true> : tensor<i1>\n %r = " +
      operation + "\n return %p : tensor<4x6xf32>\n}\n}\n";
  const text::Input input{.text = text, .source = "test", .numbered = true};
  const auto functions = read(input, Language::mlir, {});
  return functions ? "" : functions.error().message;
}

TEST(Operations, are_all_read_from_stablehlo_under_their_names) {
  for (const Row& row : rows()) {
    if (row.stablehlo.empty()) continue;
    std::string text = operation(row.id);
    if (row.arithmetic) {
      const bool of_truth = row.operands[0].types == operations::Types{.truth = true};
      ASSERT_FALSE(of_truth);
      text = fmt::format("stablehlo.{} %t{} : tensor<4xi32>", row.stablehlo,
                         row.operands.size() == 2 ? ", %t" : "");
    }
    ASSERT_FALSE(text.empty()) << row.stablehlo;
    EXPECT_NE(text.find(fmt::format("stablehlo.{}", row.stablehlo)), std::string::npos) << text;
    EXPECT_EQ(stablehlo(text), "") << text;
  }
  EXPECT_NE(stablehlo("stablehlo.tan %p : tensor<4x6xf32>"), "");
  EXPECT_NE(stablehlo("stablehlo.copy %p : tensor<4x6xf32>"), "");
}

TEST(Operations, of_whole_programs_are_not_read_here) {
  int refused = 0;
  for (const Row& row : other_rows()) {
    const std::string text = fmt::format("f32[4,6] {}(p)", row.hlo);
    EXPECT_EQ(hlo(text), fmt::format("{} is not read", row.hlo));
    EXPECT_EQ(hlo(text + ", metadata={op_name=\"x\"}"), fmt::format("{} is not read", row.hlo));
    std::vector<std::string> names(row.others.begin(), row.others.end());
    if (!row.stablehlo.empty()) names.push_back(fmt::format("stablehlo.{}", row.stablehlo));
    for (const std::string& name : names) {
      const std::string want = fmt::format("{} is not read", name);
      EXPECT_EQ(stablehlo(name + " %p : tensor<4x6xf32>"), want);
      EXPECT_EQ(stablehlo("\"" + name + "\"(%p) : (tensor<4x6xf32>) -> tensor<4x6xf32>"), want);
      ++refused;
    }
  }
  EXPECT_GT(refused, 45);
}

TEST(Operations, of_stablehlo_compare_by_the_type_of_their_operands) {
  const auto compare = [](const std::string& type, const std::string& order) {
    return stablehlo("stablehlo.constant dense<1> : tensor<" + type +
                     ">\n %s = stablehlo.compare LT, %r, %r, " + order + " : (tensor<" + type +
                     ">, tensor<" + type + ">) -> tensor<i1>");
  };
  EXPECT_EQ(compare("i32", "SIGNED"), "");
  EXPECT_EQ(compare("ui32", "UNSIGNED"), "");
  EXPECT_EQ(compare("i32", "UNSIGNED"), "a comparison of signed numbers as UNSIGNED");
  EXPECT_EQ(compare("ui32", "SIGNED"), "a comparison of unsigned numbers as SIGNED");
  EXPECT_NE(compare("i32", "FLOAT"), "");
  EXPECT_NE(compare("i32", "TOTALORDER"), "");
}

}  // namespace operations_test
}  // namespace retile::foreign
