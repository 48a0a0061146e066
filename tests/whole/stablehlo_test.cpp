// StableHLO: texts that say the same as HLO in other words, each with a control that must be called wrong; what a region uses of
// outside, what stands in regions per device, a real release's text, and what is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

/// `(%x: tensor<4xf32>) -> tensor<4xf32>` and its operations.
std::string function(const std::string& signature, const std::string& body,
                     const std::string& more = "") {
  return "func.func public @main" + signature + " {\n" + body + "}\n" + more;
}

std::string on(int devices, const std::string& functions, const std::string& meshes = "") {
  return "module @m attributes {mhlo.num_partitions = " + std::to_string(devices) +
         " : i32, mhlo.num_replicas = 1 : i32} {\n" + meshes + functions + "}\n";
}

struct SaidInBoth {
  std::string name;
  std::string signature;
  std::string body;   ///< in StableHLO
  std::string same;   ///< in HLO
  std::string other;  ///< what stands instead of a part of `same`..
  std::string wrong;  ///< .. where it is something else
};

void expect_said(const std::vector<SaidInBoth>& all) {
  for (const SaidInBoth& one : all) {
    const std::string text = on(1, function(one.signature, one.body));
    EXPECT_EQ(answer(text, module_of(one.same)), "right") << one.name;
    const std::string wrong = module_of(replaced(one.same, one.other, one.wrong));
    EXPECT_EQ(answer(text, wrong), "wrong") << one.name;
    EXPECT_EQ(answer(wrong, text), "wrong") << one.name;
  }
}

TEST(Stablehlo, constants) {
  expect_said({
      {"one for all", "(%x: tensor<3xf32>) -> tensor<3xf32>",
       "%c = stablehlo.constant dense<2.5> : tensor<3xf32>\n"
       "%r = stablehlo.add %x, %c : tensor<3xf32>\nreturn %r : tensor<3xf32>\n",
       "%x = f32[3] parameter(0)\n%c = f32[3] constant({2.5, 2.5, 2.5})\n"
       "ROOT %r = f32[3] add(%x, %c)\n",
       "{2.5, 2.5, 2.5}", "{2.5, 2.5, 2.25}"},
      {"a list", "(%x: tensor<2x2xi32>) -> tensor<2x2xi32>",
       "%c = stablehlo.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>\n"
       "%r = stablehlo.add %x, %c : tensor<2x2xi32>\nreturn %r : tensor<2x2xi32>\n",
       "%x = s32[2,2] parameter(0)\n%c = s32[2,2] constant({{1, 2}, {3, -4}})\n"
       "ROOT %r = s32[2,2] add(%x, %c)\n",
       "{3, -4}", "{-4, 3}"},
      {"bytes", "(%x: tensor<2xf32>) -> tensor<2xf32>",
       "%c = stablehlo.constant dense<\"0x0000803F00000040\"> : tensor<2xf32>\n"
       "%r = stablehlo.multiply %x, %c : tensor<2xf32>\nreturn %r : tensor<2xf32>\n",
       "%x = f32[2] parameter(0)\n%c = f32[2] constant({1, 2})\nROOT %r = f32[2] multiply(%x, "
       "%c)\n",
       "{1, 2}", "{2, 1}"},
      {"bits of an infinity", "(%x: tensor<f32>) -> tensor<f32>",
       "%c = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
       "%r = stablehlo.maximum %x, %c : tensor<f32>\nreturn %r : tensor<f32>\n",
       "%x = f32[] parameter(0)\nROOT %r = f32[] copy(%x)\n", "copy", "negate"},
      {"complex numbers", "(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>",
       "%c = stablehlo.constant dense<[(1.0, 2.0), (0.5, -1.0)]> : tensor<2xcomplex<f32>>\n"
       "%r = stablehlo.multiply %x, %c : tensor<2xcomplex<f32>>\n"
       "return %r : tensor<2xcomplex<f32>>\n",
       "%x = c64[2] parameter(0)\n%c = c64[2] constant({(1, 2), (0.5, -1)})\n"
       "ROOT %r = c64[2] multiply(%x, %c)\n",
       "-1", "1"},
      {"bytes of complex numbers", "(%x: tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>",
       "%c = stablehlo.constant dense<\"0x0000803F00000040\"> : tensor<1xcomplex<f32>>\n"
       "%r = stablehlo.multiply %x, %c : tensor<1xcomplex<f32>>\n"
       "return %r : tensor<1xcomplex<f32>>\n",
       "%x = c64[1] parameter(0)\n%c = c64[1] constant({(1, 2)})\n"
       "ROOT %r = c64[1] multiply(%x, %c)\n",
       "(1, 2)", "(2, 1)"},
      {"truth values in bytes", "(%x: tensor<3xf32>) -> tensor<3xf32>",
       "%c = stablehlo.constant dense<\"0x010001\"> : tensor<3xi1>\n"
       "%n = stablehlo.negate %x : tensor<3xf32>\n"
       "%r = stablehlo.select %c, %x, %n : tensor<3xi1>, tensor<3xf32>\n"
       "return %r : tensor<3xf32>\n",
       "%x = f32[3] parameter(0)\n%c = pred[3] constant({true, false, true})\n"
       "%n = f32[3] negate(%x)\nROOT %r = f32[3] select(%c, %x, %n)\n",
       "{true, false, true}", "{true, true, false}"},
  });
}

TEST(Stablehlo, what_moves_elements) {
  expect_said({
      {"slice", "(%x: tensor<8x3xf32>) -> tensor<3x3xf32>",
       "%r = stablehlo.slice %x [1:7:2, 0:3] : (tensor<8x3xf32>) -> tensor<3x3xf32>\n"
       "return %r : tensor<3x3xf32>\n",
       "%x = f32[8,3] parameter(0)\n"
       "ROOT %r = f32[3,3] slice(%x), slice={[1:7:2], [0:3]}\n",
       "[1:7:2]", "[0:6:2]"},
      {"pad", "(%x: tensor<3xf32>, %z: tensor<f32>) -> tensor<8xf32>",
       "%r = stablehlo.pad %x, %z, low = [1], high = [2], interior = [1] : (tensor<3xf32>, "
       "tensor<f32>) -> tensor<8xf32>\nreturn %r : tensor<8xf32>\n",
       "%x = f32[3] parameter(0)\n%z = f32[] parameter(1)\n"
       "ROOT %r = f32[8] pad(%x, %z), padding=1_2_1\n",
       "1_2_1", "2_1_1"},
      {"concatenate, transpose and reverse", "(%x: tensor<2x3xf32>) -> tensor<3x4xf32>",
       "%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
       "%v = stablehlo.reverse %t, dims = [0] : tensor<3x2xf32>\n"
       "%r = stablehlo.concatenate %t, %v, dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> "
       "tensor<3x4xf32>\nreturn %r : tensor<3x4xf32>\n",
       "%x = f32[2,3] parameter(0)\n%t = f32[3,2] transpose(%x), dimensions={1,0}\n"
       "%v = f32[3,2] reverse(%t), dimensions={0}\n"
       "ROOT %r = f32[3,4] concatenate(%t, %v), dimensions={1}\n",
       "dimensions={0}", "dimensions={1}"},
      {"dynamic slices", "(%x: tensor<8xf32>, %s: tensor<i32>) -> tensor<8xf32>",
       "%p = stablehlo.dynamic_slice %x, %s, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> "
       "tensor<3xf32>\n%n = stablehlo.negate %p : tensor<3xf32>\n"
       "%r = stablehlo.dynamic_update_slice %x, %n, %s : (tensor<8xf32>, tensor<3xf32>, "
       "tensor<i32>) -> tensor<8xf32>\nreturn %r : tensor<8xf32>\n",
       "%x = f32[8] parameter(0)\n%s = s32[] parameter(1)\n"
       "%p = f32[3] dynamic-slice(%x, %s), dynamic_slice_sizes={3}\n%n = f32[3] negate(%p)\n"
       "ROOT %r = f32[8] dynamic-update-slice(%x, %n, %s)\n",
       "negate", "copy"},
      {"iota, broadcast and reshape", "(%x: tensor<6xi32>) -> tensor<2x3xi32>",
       "%i = stablehlo.iota dim = 1 : tensor<2x3xi32>\n"
       "%p = stablehlo.reshape %x : (tensor<6xi32>) -> tensor<2x3xi32>\n"
       "%c = stablehlo.constant dense<[5, 7]> : tensor<2xi32>\n"
       "%b = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>\n"
       "%s = stablehlo.add %p, %i : tensor<2x3xi32>\n"
       "%r = stablehlo.multiply %s, %b : tensor<2x3xi32>\nreturn %r : tensor<2x3xi32>\n",
       "%x = s32[6] parameter(0)\n%i = s32[2,3] constant({{0, 1, 2}, {0, 1, 2}})\n"
       "%p = s32[2,3] reshape(%x)\n%b = s32[2,3] constant({{5, 5, 5}, {7, 7, 7}})\n"
       "%s = s32[2,3] add(%p, %i)\nROOT %r = s32[2,3] multiply(%s, %b)\n",
       "{7, 7, 7}", "{7, 7, 5}"},
      {"gather", "(%x: tensor<5x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32>",
       "%r = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = "
       "[1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
       "indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<5x4xf32>, "
       "tensor<3x1xi32>) -> tensor<3x4xf32>\nreturn %r : tensor<3x4xf32>\n",
       "%x = f32[5,4] parameter(0)\n%i = s32[3,1] parameter(1)\n"
       "%z = s32[3,1] constant({{0},{0},{0}})\n%k = s32[3,1] add(%i, %z)\n"
       "ROOT %r = f32[3,4] gather(%x, %k), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n",
       "{0},{0},{0}", "{0},{0},{1}"},
      {"scatter", "(%x: tensor<5xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> tensor<5xf32>",
       "%r = \"stablehlo.scatter\"(%x, %i, %u) <{indices_are_sorted = false, "
       "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({\n"
       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = stablehlo.add %a, %b : tensor<f32>\n"
       "stablehlo.return %s : tensor<f32>\n}) : (tensor<5xf32>, tensor<2x1xi32>, tensor<2xf32>) "
       "-> tensor<5xf32>\nreturn %r : tensor<5xf32>\n",
       "%x = f32[5] parameter(0)\n%i = s32[2,1] parameter(1)\n%u = f32[2] parameter(2)\n"
       "ROOT %r = f32[5] scatter(%x, %i, %u), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%add_f32\n",
       "%add_f32", "%multiply_f32"},
  });
}

TEST(Stablehlo, what_calculates) {
  expect_said({
      {"compare", "(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1>",
       "%r = stablehlo.compare LT, %x, %y, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> "
       "tensor<4xi1>\nreturn %r : tensor<4xi1>\n",
       "%x = s32[4] parameter(0)\n%y = s32[4] parameter(1)\n"
       "ROOT %r = pred[4] compare(%y, %x), direction=GT\n",
       "GT", "GE"},
      {"compare in its generic form", "(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1>",
       "%r = \"stablehlo.compare\"(%x, %y) <{comparison_direction = "
       "#stablehlo<comparison_direction GE>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>\n"
       "return %r : tensor<4xi1>\n",
       "%x = s32[4] parameter(0)\n%y = s32[4] parameter(1)\n"
       "ROOT %r = pred[4] compare(%x, %y), direction=GE\n",
       "GE", "GT"},
      {"clamp and convert", "(%x: tensor<3xi32>) -> tensor<3xi64>",
       "%l = stablehlo.constant dense<0> : tensor<i32>\n"
       "%h = stablehlo.constant dense<3> : tensor<i32>\n"
       "%c = stablehlo.clamp %l, %x, %h : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> "
       "tensor<3xi32>\n%r = stablehlo.convert %c : (tensor<3xi32>) -> tensor<3xi64>\n"
       "return %r : tensor<3xi64>\n",
       "%x = s32[3] parameter(0)\n%l = s32[3] constant({0,0,0})\n%h = s32[3] constant({3,3,3})\n"
       "%a = s32[3] maximum(%x, %l)\n%b = s32[3] minimum(%a, %h)\n"
       "ROOT %r = s64[3] convert(%b)\n",
       "{3,3,3}", "{3,3,2}"},
      {"square and erf of chlo", "(%x: tensor<3xf32>) -> tensor<3xf32>",
       "%s = chlo.square %x : tensor<3xf32> -> tensor<3xf32>\n"
       "%r = chlo.erf %s : tensor<3xf32> -> tensor<3xf32>\nreturn %r : tensor<3xf32>\n",
       "%x = f32[3] parameter(0)\n%s = f32[3] multiply(%x, %x)\nROOT %r = f32[3] erf(%s)\n",
       "multiply(%x, %x)", "add(%x, %x)"},
      {"top_k of chlo", "(%x: tensor<2x5xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)",
       "%r:2 = chlo.top_k(%x, k = 2) : tensor<2x5xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)\n"
       "return %r#0, %r#1 : tensor<2x2xf32>, tensor<2x2xi32>\n",
       "%x = f32[2,5] parameter(0)\n"
       "ROOT %r = (f32[2,2], s32[2,2]) topk(%x), k=2, largest=true\n",
       "largest=true", "largest=false"},
      {"a complex number's parts", "(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32>",
       "%c = stablehlo.complex %x, %y : tensor<3xcomplex<f32>>\n"
       "%a = stablehlo.real %c : (tensor<3xcomplex<f32>>) -> tensor<3xf32>\n"
       "%b = stablehlo.imag %c : (tensor<3xcomplex<f32>>) -> tensor<3xf32>\n"
       "%r = stablehlo.subtract %a, %b : tensor<3xf32>\nreturn %r : tensor<3xf32>\n",
       "%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\n"
       "ROOT %r = f32[3] subtract(%x, %y)\n",
       "subtract(%x, %y)", "subtract(%y, %x)"},
      {"fft", "(%x: tensor<2x8xcomplex<f32>>) -> tensor<2x8xcomplex<f32>>",
       "%r = stablehlo.fft %x, type = IFFT, length = [8] : (tensor<2x8xcomplex<f32>>) -> "
       "tensor<2x8xcomplex<f32>>\nreturn %r : tensor<2x8xcomplex<f32>>\n",
       "%x = c64[2,8] parameter(0)\n"
       "ROOT %r = c64[2,8] fft(%x), fft_type=IFFT, fft_length={8}\n",
       "IFFT", "FFT"},
      {"fft in its generic form", "(%x: tensor<8xf32>) -> tensor<5xcomplex<f32>>",
       "%r = \"stablehlo.fft\"(%x) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type "
       "RFFT>}> : (tensor<8xf32>) -> tensor<5xcomplex<f32>>\nreturn %r : tensor<5xcomplex<f32>>\n",
       "%x = f32[8] parameter(0)\n%y = f32[8] copy(%x)\n"
       "ROOT %r = c64[5] fft(%y), fft_type=RFFT, fft_length={8}\n",
       "copy", "negate"},
      {"triangular_solve", "(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32>",
       "%r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, transpose_a "
       "= "
       "#stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, "
       "tensor<3x2xf32>) -> tensor<3x2xf32>\nreturn %r : tensor<3x2xf32>\n",
       "%a = f32[3,3] parameter(0)\n%b = f32[3,2] parameter(1)\n"
       "ROOT %r = f32[3,2] triangular-solve(%a, %b), left_side=true, lower=true, "
       "transpose_a=NO_TRANSPOSE\n",
       "NO_TRANSPOSE", "TRANSPOSE"},
  });
}

const std::string adds =
    "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = stablehlo.add %a, %b : "
    "tensor<f32>\nstablehlo.return %s : tensor<f32>\n})";

TEST(Stablehlo, products_and_sums) {
  expect_said({
      {"dot_general", "(%x: tensor<5x2x3xf32>, %y: tensor<5x3x4xf32>) -> tensor<5x2x4xf32>",
       "%r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x "
       "[1], "
       "precision = [DEFAULT, DEFAULT] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> "
       "tensor<5x2x4xf32>\nreturn %r : tensor<5x2x4xf32>\n",
       "%x = f32[5,2,3] parameter(0)\n%y = f32[5,3,4] parameter(1)\n%z = f32[5,2,3] copy(%x)\n"
       "ROOT %r = f32[5,2,4] dot(%z, %y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
       "copy", "negate"},
      {"dot_general in its generic form",
       "(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>) -> tensor<3x3xf32>",
       "%r = \"stablehlo.dot_general\"(%x, %y) <{dot_dimension_numbers = "
       "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : "
       "(tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\nreturn %r : tensor<3x3xf32>\n",
       "%x = f32[3,3] parameter(0)\n%y = f32[3,3] parameter(1)\n"
       "ROOT %r = f32[3,3] dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "lhs_contracting_dims={1}", "lhs_contracting_dims={0}"},
      {"dot", "(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>) -> tensor<3x3xf32>",
       "%r = stablehlo.dot %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "return %r : tensor<3x3xf32>\n",
       "%x = f32[3,3] parameter(0)\n%y = f32[3,3] parameter(1)\n"
       "ROOT %r = f32[3,3] dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "rhs_contracting_dims={0}", "rhs_contracting_dims={1}"},
      {"reduce by the name of an operation",
       "(%x: tensor<3x4xf32>, %z: tensor<f32>) -> tensor<3xf32>",
       "%r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : "
       "(tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>\nreturn %r : tensor<3xf32>\n",
       "%x = f32[3,4] parameter(0)\n%z = f32[] parameter(1)\n"
       "ROOT %r = f32[3] reduce(%x, %z), dimensions={1}, to_apply=%maximum_f32\n",
       "%maximum_f32", "%minimum_f32"},
      {"reduce in its generic form", "(%x: tensor<3x3xf32>, %z: tensor<f32>) -> tensor<3xf32>",
       "%r = \"stablehlo.reduce\"(%x, %z) <{dimensions = array<i64: 0>}> " + adds +
           " : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>\nreturn %r : tensor<3xf32>\n",
       "%x = f32[3,3] parameter(0)\n%z = f32[] parameter(1)\n"
       "ROOT %r = f32[3] reduce(%x, %z), dimensions={0}, to_apply=%add_f32\n",
       "dimensions={0}", "dimensions={1}"},
      {"reduce_window", "(%x: tensor<4x6xf32>, %z: tensor<f32>) -> tensor<4x3xf32>",
       "%r = \"stablehlo.reduce_window\"(%x, %z) <{padding = dense<[[0, 0], [1, 0]]> : "
       "tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, "
       "2>}> " +
           adds +
           " : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x3xf32>\nreturn %r : tensor<4x3xf32>\n",
       "%x = f32[4,6] parameter(0)\n%z = f32[] parameter(1)\n"
       "ROOT %r = f32[4,3] reduce-window(%x, %z), window={size=1x3 stride=1x2 pad=0_0x1_0}, "
       "to_apply=%add_f32\n",
       "pad=0_0x1_0", "pad=0_0x0_1"},
      {"convolution", "(%x: tensor<2x5x3xf32>, %k: tensor<3x3x4xf32>) -> tensor<2x5x4xf32>",
       "%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = "
       "{stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} "
       "{batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = "
       "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x5x3xf32>, "
       "tensor<3x3x4xf32>) -> tensor<2x5x4xf32>\nreturn %r : tensor<2x5x4xf32>\n",
       "%x = f32[2,5,3] parameter(0)\n%k = f32[3,3,4] parameter(1)\n"
       "ROOT %r = f32[2,5,4] convolution(%x, %k), window={size=3 pad=1_1}, "
       "dim_labels=b0f_0io->b0f\n",
       "0io", "i0o"},
      {"convolution in its generic form",
       "(%x: tensor<1x7x2xf32>, %k: tensor<3x2x2xf32>) -> tensor<1x3x2xf32>",
       "%r = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = "
       "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = "
       "dense<[[1, 0]]> : tensor<1x2xi64>, window_reversal = array<i1: true>, window_strides = "
       "array<i64: 2>}> : (tensor<1x7x2xf32>, tensor<3x2x2xf32>) -> tensor<1x3x2xf32>\n"
       "return %r : tensor<1x3x2xf32>\n",
       "%x = f32[1,7,2] parameter(0)\n%k = f32[3,2,2] parameter(1)\n"
       "ROOT %r = f32[1,3,2] convolution(%x, %k), window={size=3 stride=2 pad=1_0 "
       "rhs_reversal=1}, dim_labels=b0f_0io->b0f\n",
       "rhs_reversal=1", "rhs_reversal=0"},
      {"select_and_scatter",
       "(%x: tensor<6xf32>, %u: tensor<3xf32>, %z: tensor<f32>) -> tensor<6xf32>",
       "%r = \"stablehlo.select_and_scatter\"(%x, %u, %z) <{padding = dense<0> : tensor<1x2xi64>, "
       "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({\n"
       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.compare GE, %a, %b, FLOAT : "
       "(tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n}, {\n"
       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = stablehlo.add %a, %b : tensor<f32>\n"
       "stablehlo.return %s : tensor<f32>\n}) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> "
       "tensor<6xf32>\nreturn %r : tensor<6xf32>\n",
       "%x = f32[6] parameter(0)\n%u = f32[3] parameter(1)\n%z = f32[] parameter(2)\n"
       "ROOT %r = f32[6] select-and-scatter(%x, %u, %z), window={size=2 stride=2}, "
       "select=%at_least, scatter=%add_f32\n",
       "%at_least", "%less"},
      {"sort", "(%x: tensor<2x5xf32>) -> tensor<2x5xf32>",
       "%r = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({\n"
       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.compare LT, %a, %b, TOTALORDER : "
       "(tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n}) : "
       "(tensor<2x5xf32>) -> tensor<2x5xf32>\nreturn %r : tensor<2x5xf32>\n",
       "%x = f32[2,5] parameter(0)\n"
       "ROOT %r = f32[2,5] sort(%x), dimensions={1}, to_apply=%less\n",
       "%less", "%at_least"},
  });
}

TEST(Stablehlo, a_reduction_of_two_arrays_has_their_firsts_first) {
  const std::string where =
      "%w (a: f32[], i: s32[], b: f32[], k: s32[]) -> (f32[], s32[]) {\n%a = f32[] parameter(0)\n"
      "%i = s32[] parameter(1)\n%b = f32[] parameter(2)\n%k = s32[] parameter(3)\n"
      "%c = pred[] compare(%a, %b), direction=GT\n%v = f32[] select(%c, %a, %b)\n"
      "%p = s32[] select(%c, %i, %k)\nROOT %r = (f32[], s32[]) tuple(%v, %p)\n}\n";
  const std::string text = on(
      1,
      function("(%x: tensor<3x4xf32>, %n: tensor<3x4xi32>, %z: tensor<f32>, %m: tensor<i32>) -> "
               "(tensor<3xf32>, tensor<3xi32>)",
               "%r:2 = stablehlo.reduce(%x init: %z), (%n init: %m) across dimensions = [1] : "
               "(tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, "
               "tensor<3xi32>)\n reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %k: "
               "tensor<i32>) {\n%c = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, "
               "tensor<f32>) -> tensor<i1>\n%v = stablehlo.select %c, %a, %b : tensor<i1>, "
               "tensor<f32>\n%p = stablehlo.select %c, %i, %k : tensor<i1>, tensor<i32>\n"
               "stablehlo.return %v, %p : tensor<f32>, tensor<i32>\n}\n"
               "return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>\n"));
  const std::string same = module_of(
      "%x = f32[3,4] parameter(0)\n%n = s32[3,4] parameter(1)\n%z = f32[] parameter(2)\n"
      "%m = s32[] parameter(3)\n"
      "ROOT %r = (f32[3], s32[3]) reduce(%x, %n, %z, %m), dimensions={1}, to_apply=%w\n",
      where);
  EXPECT_EQ(answer(text, same), "right");
  EXPECT_EQ(answer(text, replaced(same, "select(%c, %i, %k)", "select(%c, %k, %i)")), "wrong");
}

TEST(Stablehlo, a_loop_takes_what_its_regions_use_of_outside) {
  // Both regions use a value of outside, and each one that the other does not.
  const std::string loop =
      "%r:2 = stablehlo.while(%i = %c0, %v = %x) : tensor<i32>, tensor<3xf32>\ncond {\n"
      "%c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "stablehlo.return %c : tensor<i1>\n} do {\n%k = stablehlo.add %i, %c1 : tensor<i32>\n"
      "%w = stablehlo.multiply %v, %y : tensor<3xf32>\n"
      "stablehlo.return %k, %w : tensor<i32>, tensor<3xf32>\n}\n";
  const auto text = [&](const std::string& body) {
    return on(1, function("(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32>",
                          "%c0 = stablehlo.constant dense<0> : tensor<i32>\n"
                          "%c1 = stablehlo.constant dense<1> : tensor<i32>\n"
                          "%n = stablehlo.constant dense<3> : tensor<i32>\n" +
                              body + "return %r#1 : tensor<3xf32>\n"));
  };
  const std::string same = module_of(
      "%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\n%a = f32[3] multiply(%x, %y)\n"
      "%b = f32[3] multiply(%a, %y)\nROOT %r = f32[3] multiply(%b, %y)\n");
  EXPECT_EQ(answer(text(loop), same), "right");
  EXPECT_EQ(answer(text(replaced(loop, "multiply %v, %y", "multiply %y, %v")), same), "right");
  EXPECT_EQ(answer(text(replaced(loop, "multiply %v, %y", "multiply %v, %v")), same), "wrong");
  EXPECT_EQ(answer(text(replaced(loop, "add %i, %c1", "add %i, %n")), same), "wrong");
}

TEST(Stablehlo, branches_take_what_they_use_of_outside) {
  const auto text = [](const std::string& first, const std::string& second) {
    return on(1, function("(%p: tensor<i32>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> "
                          "tensor<3xf32>",
                          "%r = \"stablehlo.case\"(%p) ({\nstablehlo.return " + first +
                              " : tensor<3xf32>\n}, {\n%n = stablehlo.negate " + second +
                              " : tensor<3xf32>\nstablehlo.return %n : tensor<3xf32>\n}) : "
                              "(tensor<i32>) -> tensor<3xf32>\nreturn %r : tensor<3xf32>\n"));
  };
  const std::string same = module_of(
      "%p = s32[] parameter(0)\n%x = f32[3] parameter(1)\n%y = f32[3] parameter(2)\n"
      "%z = s32[] constant(0)\n%c = pred[] compare(%p, %z), direction=EQ\n"
      "%n = f32[3] negate(%x)\nROOT %r = f32[3] select(%c, %y, %n)\n");
  EXPECT_EQ(answer(text("%y", "%x"), same), "right");
  EXPECT_EQ(answer(text("%x", "%x"), same), "wrong");
  EXPECT_EQ(answer(text("%y", "%y"), same), "wrong");
  const std::string by_truth =
      on(1, function("(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32>",
                     "%r = \"stablehlo.if\"(%p) ({\nstablehlo.return %x : tensor<3xf32>\n}, {\n"
                     "stablehlo.return %y : tensor<3xf32>\n}) : (tensor<i1>) -> tensor<3xf32>\n"
                     "return %r : tensor<3xf32>\n"));
  const std::string chosen = module_of(
      "%p = pred[] parameter(0)\n%x = f32[3] parameter(1)\n%y = f32[3] parameter(2)\n"
      "ROOT %r = f32[3] select(%p, %x, %y)\n");
  EXPECT_EQ(answer(by_truth, chosen), "right");
  EXPECT_EQ(answer(by_truth, replaced(chosen, "%p, %x, %y", "%p, %y, %x")), "wrong");
}

TEST(Stablehlo, functions_stand_where_they_are_called) {
  const std::string twice =
      "func.func private @f(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, "
      "tensor<3xf32>) {\n%s = stablehlo.subtract %a, %b : tensor<3xf32>\n"
      "return %s, %a : tensor<3xf32>, tensor<3xf32>\n}\n";
  const std::string text =
      on(1, function("(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32>",
                     "%s:2 = call @f(%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, "
                     "tensor<3xf32>)\n%r:2 = func.call @f(%s#1, %s#0) : (tensor<3xf32>, "
                     "tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)\n"
                     "return %r#0 : tensor<3xf32>\n",
                     twice));
  const std::string same =
      module_of("%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\nROOT %r = f32[3] copy(%y)\n");
  EXPECT_EQ(answer(text, same), "right");
  EXPECT_EQ(answer(text, replaced(same, "copy(%y)", "copy(%x)")), "wrong");
}

TEST(Stablehlo, functions_that_HLO_cannot_name_are_unknown_number_by_number) {
  const std::string mesh = "sdy.mesh @m = <[\"x\"=2]>\n";
  const std::string sharded = " {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}";
  const auto text = [&](const std::string& name, const std::string& extent) {
    const std::string type = "tensor<" + extent + "xf32>";
    return on(
        2,
        function("(%x: " + type + sharded + ") -> (" + type + sharded + ")",
                 "%r = " + name + " %x : " + type + " -> " + type + "\nreturn %r : " + type + "\n"),
        mesh);
  };
  for (const std::string name : {"chlo.erfc", "chlo.erf_inv", "chlo.lgamma"}) {
    const Result<Validation> out = validated(text(name, "4"), text(name, "2"));
    ASSERT_TRUE(out);
    EXPECT_EQ(out->answer, Answer::right) << out->why;
    ASSERT_EQ(out->unknown.size(), 1U);
    EXPECT_EQ(out->unknown[0].first, name);
  }
  EXPECT_EQ(answer(text("chlo.erfc", "4"), text("chlo.erf_inv", "2")),
            "undecided: it differs in exact arithmetic, and cannot be tried in floating point: "
            "chlo.erfc is not evaluated in floating point");
  // Widening changes no number, so it may stand on either side of what is done to numbers one by one;
  // but not beside a function that is another one for another type.
  const std::string wide = "tensor<2xf64>";
  const std::string narrow = "tensor<2xf32>";
  const auto around = [&](const std::string& name, bool is_wide) {
    const std::string widened = "stablehlo.convert %" + std::string(is_wide ? "x" : "a") + " : (" +
                                narrow + ") -> " + wide + "\n";
    const std::string type = is_wide ? wide : narrow;
    const std::string own = name + " %" + (is_wide ? "a" : "x") + " : " + type +
                            (name == "chlo.erfc" ? " -> " + type : "") + "\n";
    return on(1, function("(%x: " + narrow + ") -> " + wide,
                          "%a = " + (is_wide ? widened : own) +
                              "%r = " + (is_wide ? own : widened) + "return %r : " + wide + "\n"));
  };
  EXPECT_EQ(answer(around("stablehlo.negate", true), around("stablehlo.negate", false)), "right");
  EXPECT_EQ(answer(around("chlo.erfc", true), around("chlo.erfc", false)),
            "undecided: it differs in exact arithmetic, and cannot be tried in floating point: "
            "chlo.erfc is not evaluated in floating point");
}

TEST(Stablehlo, calls_of_the_unknown_say_how_operands_lie) {
  const auto text = [](const std::string& order) {
    return on(1, function("(%x: tensor<3x2xf32>, %s: tensor<f32>) -> tensor<3x2xf32>",
                          "%r = stablehlo.custom_call @solve(%x, %s) {backend_config = \"\", "
                          "operand_layouts = [dense<[" +
                              order +
                              "]> : tensor<2xindex>, dense<> : tensor<0xindex>], result_layouts = "
                              "[dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x2xf32>, "
                              "tensor<f32>) -> tensor<3x2xf32>\nreturn %r : tensor<3x2xf32>\n"));
  };
  const std::string same = module_of(
      "%x = f32[3,2] parameter(0)\n%s = f32[] parameter(1)\nROOT %r = f32[3,2] custom-call(%x, "
      "%s), custom_call_target=\"solve\", operand_layout_constraints={f32[3,2]{0,1}, f32[]}\n");
  EXPECT_EQ(answer(text("0, 1"), same), "right");
  EXPECT_NE(answer(text("1, 0"), same), "right");
  EXPECT_NE(answer(replaced(text("0, 1"), ", dense<> : tensor<0xindex>]", "]"), same)
                .find("a layout for every operand"),
            std::string::npos);
}

TEST(Stablehlo, calls_of_the_unknown_are_those_of_HLO) {
  const std::string text =
      on(1, function("(%x: tensor<3xf32>) -> tensor<3xf32>",
                     "%r = stablehlo.custom_call @solve(%x) {backend_config = \"\", "
                     "mhlo.backend_config = {side = 76 : ui8}} : (tensor<3xf32>) -> tensor<3xf32>\n"
                     "return %r : tensor<3xf32>\n"));
  const std::string same = module_of(
      "%x = f32[3] parameter(0)\nROOT %r = f32[3] custom-call(%x), custom_call_target=\"solve\", "
      "backend_config={side = 76 : ui8}\n");
  EXPECT_EQ(answer(text, same), "right");
  EXPECT_NE(answer(text, replaced(same, "76", "77")), "right");
  EXPECT_NE(answer(text, replaced(same, "solve", "other")), "right");
  const std::string bits = on(
      1,
      function("(%x: tensor<2xui64>) -> tensor<4xui32>",
               "%r:2 = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY : (tensor<2xui64>) -> "
               "(tensor<2xui64>, tensor<4xui32>)\nreturn %r#1 : tensor<4xui32>\n"));
  const std::string drawn = module_of(
      "%x = u64[2] parameter(0)\n%b = (u64[2], u32[4]) rng-bit-generator(%x), "
      "algorithm=rng_three_fry\nROOT %r = u32[4] get-tuple-element(%b), index=1\n");
  EXPECT_EQ(answer(bits, drawn), "right");
  EXPECT_EQ(answer(bits, replaced(drawn, "three_fry", "philox")), "wrong");
  const std::string root =
      on(1, function("(%x: tensor<3x3xf32>) -> tensor<3x3xf32>",
                     "%r = stablehlo.cholesky %x, lower = true : tensor<3x3xf32>\n"
                     "return %r : tensor<3x3xf32>\n"));
  const std::string lower =
      module_of("%x = f32[3,3] parameter(0)\nROOT %r = f32[3,3] cholesky(%x), lower=true\n");
  EXPECT_EQ(answer(root, lower), "right");
  EXPECT_NE(answer(root, replaced(lower, "true", "false")), "right");
}

TEST(Stablehlo, rounding_by_a_format) {
  const std::string text = on(1, function("(%x: tensor<3xf32>) -> tensor<3xf32>",
                                          "%r = stablehlo.reduce_precision %x, format = e5m10 : "
                                          "tensor<3xf32>\nreturn %r : tensor<3xf32>\n"));
  const std::string same = module_of(
      "%x = f32[3] parameter(0)\n"
      "ROOT %r = f32[3] reduce-precision(%x), exponent_bits=5, mantissa_bits=10\n");
  EXPECT_EQ(answer(text, same), "right");
  EXPECT_NE(answer(text, replaced(same, "mantissa_bits=10", "mantissa_bits=7")), "right");
}

// Devices.

const std::string mesh_of_two = "sdy.mesh @mesh = <[\"x\"=2]>\n";

/// The sum of squares over a row, of which each device has a part.
std::string by_hand(const std::string& sum) {
  return on(
      2,
      function("(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> "
               "(tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})",
               "%r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {\"x\"}]>] "
               "out_shardings=[<@mesh, [{}]>] manual_axes={\"x\"} (%t: tensor<4x3xf32>) {\n"
               "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%m = chlo.square %t : tensor<4x3xf32> -> tensor<4x3xf32>\n"
               "%s = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = "
               "[1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>\n" +
                   sum +
                   "sdy.return %a : tensor<4xf32>\n} : (tensor<4x6xf32>) -> tensor<4xf32>\n"
                   "return %r : tensor<4xf32>\n"),
      mesh_of_two);
}
std::string summed(const std::string& groups) {
  return "%a = \"stablehlo.all_reduce\"(%s) <{channel_handle = #stablehlo.channel_handle<handle = "
         "1, "
         "type = 1>, replica_groups = " +
         groups + ", use_global_device_ids}> " +
         "({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%o = stablehlo.add %p, %q : tensor<f32>\n"
         "stablehlo.return %o : tensor<f32>\n}) : (tensor<4xf32>) -> tensor<4xf32>\n";
}
const std::string squares =
    "%x = f32[4,6] parameter(0)\n%z = f32[] constant(0)\n%m = f32[4,6] multiply(%x, %x)\n"
    "ROOT %r = f32[4] reduce(%m, %z), dimensions={1}, to_apply=%add_f32\n";

TEST(Stablehlo, a_region_per_device) {
  const std::string same = module_of(squares);
  EXPECT_EQ(answer(by_hand(summed("dense<[[0, 1]]> : tensor<1x2xi64>")), same), "right");
  EXPECT_EQ(answer(by_hand(summed("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
                                  "[#stablehlo.axis_ref<name = \"x\">]>")),
                   same),
            "right");
  EXPECT_EQ(answer(by_hand(summed("dense<[[0], [1]]> : tensor<2x1xi64>")), same), "wrong");
}

TEST(Stablehlo, a_region_that_is_manual_along_one_of_two_axes) {
  const auto text = [](const std::string& groups) {
    std::string out = by_hand(summed(groups));
    out = replaced(out, "= 2 : i32", "= 4 : i32");
    return replaced(replaced(out, "<[\"x\"=2]>", "<[\"x\"=2, \"y\"=2]>"),
                    "in_shardings=[<@mesh, [{}, {\"x\"}]>]",
                    "in_shardings=[<@mesh, [{\"y\"}, {\"x\"}]>]");
  };
  const std::string same = module_of(squares);
  EXPECT_EQ(answer(text("dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"), same), "right");
  EXPECT_EQ(answer(text("dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"), same), "wrong");
}

TEST(Stablehlo, an_all_to_all_from_one_dimension_to_another) {
  const auto text = [](const std::string& cut, const std::string& joined, const std::string& from,
                       const std::string& to) {
    return on(
        2,
        function("(%x: tensor<4x6xf32>) -> tensor<4x6xf32>",
                 "%r = sdy.manual_computation(%x) in_shardings=[<@mesh, [" + from +
                     "]>] out_shardings=[<@mesh, [" + to +
                     "]>] manual_axes={\"x\"} (%t: tensor<2x6xf32>) {\n"
                     "%a = \"stablehlo.all_to_all\"(%t) <{channel_handle = "
                     "#stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = " +
                     joined +
                     " : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count "
                     "= 2 : i64, split_dimension = " +
                     cut +
                     " : i64}> : (tensor<2x6xf32>) -> tensor<4x3xf32>\n"
                     "sdy.return %a : tensor<4x3xf32>\n} : (tensor<4x6xf32>) -> "
                     "tensor<4x6xf32>\nreturn %r : tensor<4x6xf32>\n"),
        mesh_of_two);
  };
  const std::string same = module_of("%x = f32[4,6] parameter(0)\nROOT %r = f32[4,6] copy(%x)\n");
  EXPECT_EQ(answer(text("1", "0", "{\"x\"}, {}", "{}, {\"x\"}"), same), "right");
  EXPECT_EQ(answer(text("1", "0", "{\"x\"}, {}", "{}, {\"x\"}"), replaced(same, "copy", "negate")),
            "wrong");
  EXPECT_EQ(answer(text("0", "1", "{\"x\"}, {}", "{}, {\"x\"}"), same),
            "the result has other extents");
}

TEST(Stablehlo, a_real_text_before_the_partitioner) {
  const std::string lowered = text_of("layer.lowered.mlir");
  const std::string after = text_of("layer.after.hlo");
  EXPECT_EQ(answer(lowered, text_of("layer.before.hlo")), "right");
  EXPECT_EQ(answer(lowered, after), "right");
  EXPECT_EQ(answer(lowered, replaced(after, " all-reduce(", " copy(")), "wrong");
  EXPECT_EQ(answer(replaced(lowered, "stablehlo.tanh", "stablehlo.logistic"), after), "wrong");
}

TEST(Stablehlo, lines_of_the_user_are_found_through_locations) {
  const std::string lowered = text_of("layer.lowered.mlir");
  const auto lost = [&](const std::string& text) {
    const Result<Validation> out =
        validated(text, replaced(text_of("layer.after.hlo"), " all-reduce(", " copy("));
    if (!out) return out.error().message;
    return out->blame ? out->blame->lost.source : std::string("nothing");
  };
  EXPECT_EQ(lost(lowered), "model.py:10");
  // Each alias stands for another one, and the last one has no line, or does not end.
  EXPECT_EQ(lost(replaced(lowered, "\"model.py\":10:32 to :51", "unknown")), "");
  EXPECT_EQ(lost(replaced(lowered, "\"main.<locals>.<lambda>\"(#loc8)", "#loc13")), "");
  EXPECT_EQ(lost(replaced(lowered, "#loc8 =", "#loc88 =")), "");
}

TEST(Stablehlo, modules_of_other_numbers_of_devices_do_not_go_together) {
  const std::string ids = function("() -> tensor<ui32>",
                                   "%r = stablehlo.partition_id : tensor<ui32>\n"
                                   "return %r : tensor<ui32>\n");
  EXPECT_EQ(answer(on(2, ids), on(2, ids)), "right");
  EXPECT_EQ(answer(on(2, ids), on(4, ids)), "2 devices before, but 4 devices after");
  EXPECT_EQ(answer(on(1, ids), on(4, ids)), "wrong");
}

TEST(Stablehlo, tiles_of_devices_say_how_they_are_cut) {
  const auto global = [](const std::string& end) {
    return on(2,
              function("(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> "
                       "(tensor<4xf32>" +
                           end + ")",
                       "%r = stablehlo.negate %x : tensor<4xf32>\nreturn %r : tensor<4xf32>\n"),
              mesh_of_two);
  };
  const auto local = [](const std::string& operation, const std::string& end) {
    return on(2,
              function("(%x: tensor<2xf32>) -> (tensor<2xf32>" + end + ")",
                       "%r = stablehlo." + operation +
                           " %x : tensor<2xf32>\nreturn %r : tensor<2xf32>\n"),
              mesh_of_two);
  };
  const std::string cut = " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}";
  const std::string by_hlo = " {mhlo.sharding = \"{devices=[2]<=[2]}\"}";
  const std::string turned = " {mhlo.sharding = \"{devices=[2]1,0}\"}";
  EXPECT_EQ(answer(global(cut), local("negate", "")), "right");
  EXPECT_EQ(answer(global(by_hlo), local("negate", "")), "right");
  EXPECT_EQ(answer(global(turned), local("negate", "")), "wrong");
  EXPECT_EQ(answer(global(""), local("negate", cut)), "right");
  EXPECT_EQ(answer(global(""), local("abs", cut)), "wrong");
  EXPECT_EQ(answer(global(""), local("negate", "")),
            "result 0 is f32[2] after, but a tile of f32[4] is [4]");
}

// What is refused.

TEST(Stablehlo, what_is_not_read_is_refused_by_name_and_line) {
  struct RefusedText {
    std::string body;
    std::string message;
    std::size_t line;
  };
  const std::vector<RefusedText> all = {
      {"%r = chlo.conj %x : tensor<4xf32> -> tensor<4xf32>\n", "chlo.conj is not read", 3},
      {"%r = chlo.erfc %x : tensor<4xf32> -> tensor<2xf32>\n", "operands of the result's type", 3},
      {"%y = stablehlo.negate %x : tensor<4xf32>\n%r = \"stablehlo.nothing\"(%y) : "
       "(tensor<4xf32>) -> tensor<4xf32>\n",
       "stablehlo.nothing is not read", 4},
      {"%r = stablehlo.add %x, %y : tensor<4xf32>\n", "no value of this name is known here", 3},
      {"%r = stablehlo.negate %x : tensor<5xf32>\n", "%x has another type", 3},
      {"%r = \"stablehlo.negate\"(%x) : (tensor<4xf32>) -> tensor<5xf32>\n",
       "operands and result have one shape", 3},
      {"%r = \"stablehlo.negate\"(%x) {strange = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>\n",
       "stablehlo.negate with strange is not read", 3},
      {"%r = call @none(%x) : (tensor<4xf32>) -> tensor<4xf32>\n",
       "no function of this name is known", 3},
      {"%r = call @main(%x, %o) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>\n",
       "calls in each other deeper", 3},
      {"%r = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: tensor<f32>):\n"
       "%s = stablehlo.add %a, %o : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : "
       "(tensor<4xf32>) -> tensor<4xf32>\n",
       "uses values of outside", 3},
      {"%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32>\n",
       "without a region of one block", 3},
      {"%r = \"stablehlo.tuple\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n",
       "stablehlo.tuple is not read", 3},
      {"%r = stablehlo.fft %x, type = DFT, length = [4] : (tensor<4xf32>) -> tensor<4xf32>\n",
       "FFT, IFFT, RFFT or IRFFT", 3},
      {"%r = stablehlo.reduce_precision %x, format = 5m2 : tensor<4xf32>\n", "", 3},
  };
  for (const RefusedText& one : all) {
    const std::string text = on(1, function("(%x: tensor<4xf32>, %o: tensor<f32>) -> tensor<4xf32>",
                                            one.body + "return %r : tensor<4xf32>\n"));
    const Result<Validation> out = validated(text, text);
    ASSERT_FALSE(out) << one.body;
    EXPECT_NE(out.error().message.find(one.message), std::string::npos) << out.error().message;
    EXPECT_EQ(out.error().source, "before:" + std::to_string(one.line)) << one.body;
  }
}

TEST(Stablehlo, a_text_is_one_module_of_one_function_to_begin_with) {
  const std::string one =
      "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\nreturn %x : tensor<4xf32>\n}\n";
  const std::string other = replaced(one, "@f", "@g");
  EXPECT_EQ(answer(one, one), "right");
  EXPECT_EQ(answer(one + other, one), "two functions that no other calls");
  EXPECT_EQ(answer(on(1, one) + on(1, other), one), "one module is expected");
  EXPECT_EQ(answer(on(1000000, one), one), "more than 4096 devices");
  EXPECT_EQ(answer(one, replaced(one, "return %x : tensor<4xf32>", "")),
            "a block that nothing ends");
}

}  // namespace
}  // namespace retile::whole::tests
