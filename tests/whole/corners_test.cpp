// Corners of operations: more dimensions than one, numbers of other types, ends of extents.
#include <string>
#include <vector>

#include "tests/whole/saying.h"

namespace retile::whole::tests {
namespace {

std::vector<Said> corners_of_moves() {
  return {
      {"a start of 2^64 - 1", "%x = f32[4] parameter(0)\n",
       "%i = u64[] constant(18446744073709551615)\n"
       "ROOT %r = f32[2] dynamic-slice(%x, %i), dynamic_slice_sizes={2}\n",
       "ROOT %r = f32[2] slice(%x), slice={[2:4]}\n",
       "ROOT %r = f32[2] slice(%x), slice={[0:2]}\n"},
      {"an extent of one is repeated", "%x = f32[1,2] parameter(0)\n",
       "ROOT %r = f32[3,2] broadcast(%x), dimensions={0,1}\n",
       "ROOT %r = f32[3,2] concatenate(%x, %x, %x), dimensions={0}\n",
       "%n = f32[1,2] negate(%x)\nROOT %r = f32[3,2] concatenate(%x, %x, %n), dimensions={0}\n"},
      {"padding with a complex number", "%x = c64[2] parameter(0)\n%z = c64[] parameter(1)\n",
       "%p = c64[3] pad(%x, %z), padding=0_1\nROOT %r = f32[3] imag(%p)\n",
       "%a = f32[2] imag(%x)\n%b = f32[] imag(%z)\nROOT %r = f32[3] pad(%a, %b), padding=0_1\n",
       "%a = f32[2] imag(%x)\n%b = f32[] real(%z)\nROOT %r = f32[3] pad(%a, %b), padding=0_1\n"},
      {"pad takes away a gap and what stands before it",
       "%x = f32[4] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[3] pad(%x, %z), padding=-3_-1_1\n",
       "%n = f32[1] broadcast(%z), dimensions={}\n%a = f32[1] slice(%x), slice={[2:3]}\n"
       "ROOT %r = f32[3] concatenate(%n, %a, %n), dimensions={0}\n",
       "%n = f32[1] broadcast(%z), dimensions={}\n%a = f32[1] slice(%x), slice={[1:2]}\n"
       "ROOT %r = f32[3] concatenate(%n, %a, %n), dimensions={0}\n"},
      {"gather below 0", "%x = f32[4,3] parameter(0)\n",
       "%i = s32[1,1] constant({{-5}})\n"
       "ROOT %r = f32[1,3] gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n",
       "ROOT %r = f32[1,3] slice(%x), slice={[0:1], [0:3]}\n",
       "ROOT %r = f32[1,3] slice(%x), slice={[3:4], [0:3]}\n"},
      {"gather by an index of 2^64 - 1", "%x = f32[4,3] parameter(0)\n",
       "%i = u64[1,1] constant({{18446744073709551615}})\n"
       "ROOT %r = f32[1,3] gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n",
       "ROOT %r = f32[1,3] slice(%x), slice={[3:4], [0:3]}\n",
       "ROOT %r = f32[1,3] slice(%x), slice={[0:1], [0:3]}\n"},
      {"gather by columns of indices, turned around", "%x = f32[4,3] parameter(0)\n",
       "%i = s32[2,2] constant({{2, 0}, {3, 1}})\n"
       "ROOT %r = f32[2] gather(%x, %i), offset_dims={}, collapsed_slice_dims={0,1}, "
       "start_index_map={1,0}, index_vector_dim=0, slice_sizes={1,1}\n",
       "%a = f32[1,1] slice(%x), slice={[3:4], [2:3]}\n%b = f32[1,1] slice(%x), slice={[1:2], "
       "[0:1]}\n%c = f32[2,1] concatenate(%a, %b), dimensions={0}\nROOT %r = f32[2] reshape(%c)\n",
       "%a = f32[1,1] slice(%x), slice={[2:3], [0:1]}\n%b = f32[1,1] slice(%x), slice={[3:4], "
       "[1:2]}\n%c = f32[2,1] concatenate(%a, %b), dimensions={0}\nROOT %r = f32[2] reshape(%c)\n"},
      {"gather of batches behind the vector of indices", "%x = f32[2,3] parameter(0)\n",
       "%i = s32[1,2] constant({{2, 1}})\n"
       "ROOT %r = f32[2] gather(%x, %i), offset_dims={}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={1}, "
       "index_vector_dim=0, slice_sizes={1,1}\n",
       "%a = f32[1,1] slice(%x), slice={[0:1], [2:3]}\n%b = f32[1,1] slice(%x), slice={[1:2], "
       "[1:2]}\n%c = f32[2,1] concatenate(%a, %b), dimensions={0}\nROOT %r = f32[2] reshape(%c)\n",
       "%a = f32[1,1] slice(%x), slice={[1:2], [2:3]}\n%b = f32[1,1] slice(%x), slice={[0:1], "
       "[1:2]}\n%c = f32[2,1] concatenate(%a, %b), dimensions={0}\nROOT %r = f32[2] reshape(%c)\n"},
      {"gather of a window beside a batch", "%x = f32[2,3,2] parameter(0)\n",
       "%i = s32[2,1] constant({{2}, {1}})\n"
       "ROOT %r = f32[2,2] gather(%x, %i), offset_dims={1}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
       "index_vector_dim=1, slice_sizes={1,1,2}\n",
       "%a = f32[1,1,2] slice(%x), slice={[0:1], [2:3], [0:2]}\n%b = f32[1,1,2] slice(%x), "
       "slice={[1:2], [1:2], [0:2]}\n%c = f32[2,1,2] concatenate(%a, %b), dimensions={0}\n"
       "ROOT %r = f32[2,2] reshape(%c)\n",
       "%a = f32[1,1,2] slice(%x), slice={[0:1], [2:3], [0:2]}\n%b = f32[1,1,2] slice(%x), "
       "slice={[1:2], [2:3], [0:2]}\n%c = f32[2,1,2] concatenate(%a, %b), dimensions={0}\n"
       "ROOT %r = f32[2,2] reshape(%c)\n"},
      {"gather of nothing", "%x = f32[4,3] parameter(0)\n",
       "%i = s32[0,1] iota(), iota_dimension=0\n"
       "%g = f32[0,3] gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n"
       "ROOT %r = f32[4,3] concatenate(%g, %x), dimensions={0}\n",
       "ROOT %r = f32[4,3] copy(%x)\n", "ROOT %r = f32[4,3] negate(%x)\n"},
      {"scatter below 0", "%x = f32[3] parameter(0)\n%u = f32[2] parameter(1)\n",
       "%i = s32[2,1] constant({{-1}, {2}})\n"
       "ROOT %r = f32[3] scatter(%x, %i, %u), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%second\n",
       "%a = f32[2] slice(%x), slice={[0:2]}\n%b = f32[1] slice(%u), slice={[1:2]}\n"
       "ROOT %r = f32[3] concatenate(%a, %b), dimensions={0}\n",
       "%a = f32[2] slice(%x), slice={[0:2]}\n%b = f32[1] slice(%u), slice={[0:1]}\n"
       "ROOT %r = f32[3] concatenate(%a, %b), dimensions={0}\n"},
      {"scatter of a window that is partly outside",
       "%x = f32[3] parameter(0)\n%u = f32[2,2] parameter(1)\n",
       "%i = s32[2,1] constant({{2}, {1}})\n"
       "ROOT %r = f32[3] scatter(%x, %i, %u), update_window_dims={1}, inserted_window_dims={}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%second\n",
       "%a = f32[1] slice(%x), slice={[0:1]}\n%b = f32[1,2] slice(%u), slice={[1:2], [0:2]}\n"
       "%c = f32[2] reshape(%b)\nROOT %r = f32[3] concatenate(%a, %c), dimensions={0}\n",
       "%a = f32[2] slice(%x), slice={[0:2]}\n%b = f32[1,1] slice(%u), slice={[0:1], [0:1]}\n"
       "%c = f32[1] reshape(%b)\nROOT %r = f32[3] concatenate(%a, %c), dimensions={0}\n"},
      {"a part behind a tuple", "%x = f32[2] parameter(0)\n%y = f32[2] parameter(1)\n",
       "%a = (f32[2], f32[2]) tuple(%x, %x)\n%b = ((f32[2], f32[2]), f32[2]) tuple(%a, %y)\n"
       "ROOT %r = f32[2] get-tuple-element(%b), index=1\n",
       "ROOT %r = f32[2] copy(%y)\n", "ROOT %r = f32[2] copy(%x)\n"},
  };
}

std::vector<Said> corners_of_products() {
  return {
      {"dot of batches in other places", "%x = f32[2,3] parameter(0)\n%y = f32[3,2] parameter(1)\n",
       "ROOT %r = f32[2] dot(%x, %y), lhs_batch_dims={0}, rhs_batch_dims={1}, "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "%t = f32[2,3] transpose(%y), dimensions={1,0}\n%m = f32[2,3] multiply(%x, %t)\n"
       "%z = f32[] constant(0)\nROOT %r = f32[2] reduce(%m, %z), dimensions={1}, "
       "to_apply=%add_f32\n",
       "%t = f32[2,3] reshape(%y)\n%m = f32[2,3] multiply(%x, %t)\n"
       "%z = f32[] constant(0)\nROOT %r = f32[2] reduce(%m, %z), dimensions={1}, "
       "to_apply=%add_f32\n"},
      {"dot of complex numbers", "%x = c64[2] parameter(0)\n%y = c64[2] parameter(1)\n",
       "ROOT %r = c64[] dot(%x, %y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
       "%p = c64[2] multiply(%x, %y)\n%a = c64[1] slice(%p), slice={[0:1]}\n%b = c64[1] slice(%p), "
       "slice={[1:2]}\n%s = c64[1] add(%a, %b)\nROOT %r = c64[] reshape(%s)\n",
       "%p = c64[2] multiply(%x, %y)\n%a = c64[1] slice(%p), slice={[0:1]}\n%b = c64[1] slice(%p), "
       "slice={[1:2]}\n%s = c64[1] subtract(%a, %b)\nROOT %r = c64[] reshape(%s)\n"},
      {"dot of integers wraps", "%x = s8[2] parameter(0)\n",
       "%h = s8[2] constant({64, 64})\n%k = s8[2] constant({2, 1})\n"
       "%d = s8[] dot(%h, %k), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
       "%b = s8[2] broadcast(%d), dimensions={}\nROOT %r = s8[2] maximum(%x, %b)\n",
       "%c = s8[2] constant({-64, -64})\nROOT %r = s8[2] maximum(%x, %c)\n",
       "%c = s8[2] constant({64, 64})\nROOT %r = s8[2] maximum(%x, %c)\n"},
      {"dot of truth values", "%x = pred[2,16] parameter(0)\n",
       "%t = pred[2] constant({true, true})\n"
       "ROOT %r = pred[16] dot(%x, %t), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
       "%a = pred[1,16] slice(%x), slice={[0:1], [0:16]}\n%b = pred[1,16] slice(%x), "
       "slice={[1:2], [0:16]}\n%o = pred[1,16] or(%a, %b)\nROOT %r = pred[16] reshape(%o)\n",
       "%a = pred[1,16] slice(%x), slice={[0:1], [0:16]}\n%b = pred[1,16] slice(%x), "
       "slice={[1:2], [0:16]}\n%o = pred[1,16] xor(%a, %b)\nROOT %r = pred[16] reshape(%o)\n"},
      {"convolution of two dimensions",
       "%x = f32[1,3,4,1] parameter(0)\n%k = f32[2,2,1,1] parameter(1)\n",
       "ROOT %r = f32[1,2,3,1] convolution(%x, %k), window={size=2x2}, "
       "dim_labels=b01f_01io->b01f\n",
       "%v = f32[4] reshape(%k)\n%s0 = f32[1] slice(%v), slice={[0:1]}\n%s1 = f32[1] slice(%v), "
       "slice={[1:2]}\n%s2 = f32[1] slice(%v), slice={[2:3]}\n%s3 = f32[1] slice(%v), "
       "slice={[3:4]}\n"
       "%k0 = f32[1,2,3,1] broadcast(%s0), dimensions={0}\n%k1 = f32[1,2,3,1] broadcast(%s1), "
       "dimensions={0}\n%k2 = f32[1,2,3,1] broadcast(%s2), dimensions={0}\n"
       "%k3 = f32[1,2,3,1] broadcast(%s3), dimensions={0}\n"
       "%x0 = f32[1,2,3,1] slice(%x), slice={[0:1], [0:2], [0:3], [0:1]}\n"
       "%x1 = f32[1,2,3,1] slice(%x), slice={[0:1], [0:2], [1:4], [0:1]}\n"
       "%x2 = f32[1,2,3,1] slice(%x), slice={[0:1], [1:3], [0:3], [0:1]}\n"
       "%x3 = f32[1,2,3,1] slice(%x), slice={[0:1], [1:3], [1:4], [0:1]}\n"
       "%m0 = f32[1,2,3,1] multiply(%x0, %k0)\n%m1 = f32[1,2,3,1] multiply(%x1, %k1)\n"
       "%m2 = f32[1,2,3,1] multiply(%x2, %k2)\n%m3 = f32[1,2,3,1] multiply(%x3, %k3)\n"
       "%a = f32[1,2,3,1] add(%m0, %m1)\n%b = f32[1,2,3,1] add(%m2, %m3)\n"
       "ROOT %r = f32[1,2,3,1] add(%a, %b)\n",
       "%t = f32[2,2,1,1] transpose(%k), dimensions={1,0,2,3}\nROOT %r = f32[1,2,3,1] "
       "convolution(%x, %t), window={size=2x2}, dim_labels=b01f_01io->b01f\n"},
      {"convolution with gaps of the base alone",
       "%x = f32[1,3,1] parameter(0)\n%k = f32[2,1,1] parameter(1)\n",
       "ROOT %r = f32[1,4,1] convolution(%x, %k), window={size=2 lhs_dilate=2}, "
       "dim_labels=b0f_0io->b0f\n",
       "%z = f32[] constant(0)\n%p = f32[1,5,1] pad(%x, %z), padding=0_0x0_0_1x0_0\n"
       "ROOT %r = f32[1,4,1] convolution(%p, %k), window={size=2}, dim_labels=b0f_0io->b0f\n",
       "%z = f32[] constant(0)\n%p = f32[1,5,1] pad(%x, %z), padding=0_0x1_1x0_0\n"
       "ROOT %r = f32[1,4,1] convolution(%p, %k), window={size=2}, dim_labels=b0f_0io->b0f\n"},
      {"fft of four", "%x = f32[4] parameter(0)\n%z = f32[4] constant({0, 0, 0, 0})\n",
       "%c = c64[4] complex(%x, %z)\n%f = c64[4] fft(%c), fft_type=FFT, fft_length={4}\n"
       "%i = f32[4] imag(%f)\nROOT %r = f32[1] slice(%i), slice={[1:2]}\n",
       "%a = f32[1] slice(%x), slice={[1:2]}\n%b = f32[1] slice(%x), slice={[3:4]}\n"
       "ROOT %r = f32[1] subtract(%b, %a)\n",
       "%a = f32[1] slice(%x), slice={[1:2]}\n%b = f32[1] slice(%x), slice={[3:4]}\n"
       "ROOT %r = f32[1] subtract(%a, %b)\n"},
      {"roots of a transform of the second text alone", "%x = c64[6] parameter(0)\n",
       "ROOT %r = c64[6] copy(%x)\n",
       "%f = c64[6] fft(%x), fft_type=FFT, fft_length={6}\n"
       "ROOT %r = c64[6] fft(%f), fft_type=IFFT, fft_length={6}\n",
       "ROOT %r = c64[6] fft(%x), fft_type=FFT, fft_length={6}\n"},
      {"triangular-solve of batches with a unit diagonal",
       "%a = f32[2,2,2] parameter(0)\n%b = f32[2,2,1] parameter(1)\n",
       "ROOT %r = f32[2,2,1] triangular-solve(%a, %b), left_side=true, lower=true, "
       "unit_diagonal=true, transpose_a=NO_TRANSPOSE\n",
       "%l = f32[2,1,1] slice(%a), slice={[0:2], [1:2], [0:1]}\n"
       "%x0 = f32[2,1,1] slice(%b), slice={[0:2], [0:1], [0:1]}\n"
       "%b1 = f32[2,1,1] slice(%b), slice={[0:2], [1:2], [0:1]}\n"
       "%m = f32[2,1,1] multiply(%l, %x0)\n%x1 = f32[2,1,1] subtract(%b1, %m)\n"
       "ROOT %r = f32[2,2,1] concatenate(%x0, %x1), dimensions={1}\n",
       "ROOT %r = f32[2,2,1] triangular-solve(%a, %b), left_side=true, lower=true, "
       "unit_diagonal=false, transpose_a=NO_TRANSPOSE\n"},
  };
}

std::vector<Said> corners_of_reductions() {
  const std::string both =
      "%both (a: f32[], i: s32[], b: f32[], j: s32[]) -> (f32[], s32[]) {\n  %a = f32[] "
      "parameter(0)\n  %i = s32[] parameter(1)\n  %b = f32[] parameter(2)\n  %j = s32[] "
      "parameter(3)\n  %m = f32[] maximum(%a, %b)\n  %s = s32[] add(%i, %j)\n  ROOT %r = (f32[], "
      "s32[]) tuple(%m, %s)\n}\n";
  return {
      {"the second of two arrays", "%x = f32[2,3] parameter(0)\n%i = s32[2,3] parameter(1)\n",
       "%m = f32[] constant(-inf)\n%z = s32[] constant(7)\n%t = (f32[2], s32[2]) reduce(%x, %i, "
       "%m, %z), dimensions={1}, to_apply=%both\nROOT %r = s32[2] get-tuple-element(%t), index=1\n",
       "%z = s32[] constant(7)\nROOT %r = s32[2] reduce(%i, %z), dimensions={1}, "
       "to_apply=%add_s32\n",
       "%z = s32[] constant(0)\nROOT %r = s32[2] reduce(%i, %z), dimensions={1}, "
       "to_apply=%add_s32\n",
       both},
      {"a sum of the second number twice", "%x = f32[3] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%twice\n",
       "%a = f32[1] slice(%x), slice={[2:3]}\n%b = f32[1] add(%a, %a)\nROOT %r = f32[] "
       "reshape(%b)\n",
       "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%add_f32\n",
       "%twice (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
       "parameter(1)\n  ROOT %r = f32[] add(%b, %b)\n}\n"},
      {"reduce-window of two dimensions", "%x = f32[3,4] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[2,3] reduce-window(%x, %z), window={size=2x2}, to_apply=%add_f32\n",
       "%a = f32[2,3] slice(%x), slice={[0:2], [0:3]}\n%b = f32[2,3] slice(%x), slice={[0:2], "
       "[1:4]}\n%c = f32[2,3] slice(%x), slice={[1:3], [0:3]}\n%d = f32[2,3] slice(%x), "
       "slice={[1:3], [1:4]}\n%s = f32[2,3] add(%a, %b)\n%t = f32[2,3] add(%c, %d)\n"
       "ROOT %r = f32[2,3] add(%s, %t)\n",
       "%a = f32[2,3] slice(%x), slice={[0:2], [0:3]}\n%b = f32[2,3] slice(%x), slice={[0:2], "
       "[1:4]}\nROOT %r = f32[2,3] add(%a, %b)\n"},
      {"select-and-scatter of windows that overlap",
       "%s = f32[2] parameter(0)\n%x = f32[3] constant({1, 2, 0})\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[3] select-and-scatter(%x, %s, %z), window={size=2}, select=%at_least, "
       "scatter=%add_f32\n",
       "%a = f32[1] slice(%s), slice={[0:1]}\n%b = f32[1] slice(%s), slice={[1:2]}\n%c = f32[1] "
       "add(%a, %b)\nROOT %r = f32[3] pad(%c, %z), padding=1_1\n",
       "%b = f32[1] slice(%s), slice={[1:2]}\nROOT %r = f32[3] pad(%b, %z), padding=1_1\n"},
      {"sort of numbers by equal keys", "%x = f32[3] parameter(0)\n",
       "%k = s32[3] constant({1, 1, 0})\n%t = (f32[3], s32[3]) sort(%x, %k), dimensions={0}, "
       "is_stable=true, to_apply=%by_second\nROOT %r = f32[3] get-tuple-element(%t), index=0\n",
       "%a = f32[2] slice(%x), slice={[0:2]}\n%b = f32[1] slice(%x), slice={[2:3]}\n"
       "ROOT %r = f32[3] concatenate(%b, %a), dimensions={0}\n",
       "ROOT %r = f32[3] reverse(%x), dimensions={0}\n",
       "%by_second (a: f32[], b: f32[], i: s32[], j: s32[]) -> pred[] {\n  %a = f32[] "
       "parameter(0)\n  %b = f32[] parameter(1)\n  %i = s32[] parameter(2)\n  %j = s32[] "
       "parameter(3)\n  ROOT %r = pred[] compare(%i, %j), direction=LT\n}\n"},
      {"topk of the smallest", "%x = f32[2,5] parameter(0)\n",
       "%t = (f32[2,2], s32[2,2]) topk(%x), k=2, largest=false\n"
       "ROOT %r = f32[2,2] get-tuple-element(%t), index=0\n",
       "%s = f32[2,5] sort(%x), dimensions={1}, to_apply=%less\n"
       "ROOT %r = f32[2,2] slice(%s), slice={[0:2], [0:2]}\n",
       "%t = (f32[2,2], s32[2,2]) topk(%x), k=2, largest=true\n"
       "ROOT %r = f32[2,2] get-tuple-element(%t), index=0\n"},
      {"topk of integers, by their places", "%x = s32[2,2] parameter(0)\n",
       "%t = (s32[2,1], s32[2,1]) topk(%x), k=1, largest=true\n"
       "ROOT %r = s32[2,1] get-tuple-element(%t), index=1\n",
       "%a = s32[2,1] slice(%x), slice={[0:2], [0:1]}\n%b = s32[2,1] slice(%x), slice={[0:2], "
       "[1:2]}\n%g = pred[2,1] compare(%b, %a), direction=GT\nROOT %r = s32[2,1] convert(%g)\n",
       "%a = s32[2,1] slice(%x), slice={[0:2], [0:1]}\n%b = s32[2,1] slice(%x), slice={[0:2], "
       "[1:2]}\n%g = pred[2,1] compare(%b, %a), direction=LT\nROOT %r = s32[2,1] convert(%g)\n"},
      {"map with a complex constant", "%x = c64[2] parameter(0)\n",
       "ROOT %r = c64[2] map(%x), dimensions={0}, to_apply=%turned\n",
       "%c = c64[2] constant({(1, 2), (1, 2)})\nROOT %r = c64[2] multiply(%x, %c)\n",
       "%c = c64[2] constant({(1, 1), (1, 1)})\nROOT %r = c64[2] multiply(%x, %c)\n",
       "%turned (a: c64[]) -> c64[] {\n  %a = c64[] parameter(0)\n  %c = c64[] constant((1, 2))\n"
       "  ROOT %r = c64[] multiply(%a, %c)\n}\n"},
      {"conditional by a truth value", "%x = f32[2] parameter(0)\n%p = pred[] parameter(1)\n",
       "ROOT %r = f32[2] conditional(%p, %x, %x), true_computation=%same, "
       "false_computation=%negated\n",
       "%n = f32[2] negate(%x)\n%b = pred[2] broadcast(%p), dimensions={}\n"
       "ROOT %r = f32[2] select(%b, %x, %n)\n",
       "%n = f32[2] negate(%x)\n%b = pred[2] broadcast(%p), dimensions={}\n"
       "ROOT %r = f32[2] select(%b, %n, %x)\n",
       "%same (x: f32[2]) -> f32[2] {\n  ROOT %x = f32[2] parameter(0)\n}\n"
       "%negated (x: f32[2]) -> f32[2] {\n  %x = f32[2] parameter(0)\n  ROOT %r = f32[2] "
       "negate(%x)\n}\n"},
      {"conditional of operands of their own",
       "%x = f32[2] parameter(0)\n%y = f32[2] parameter(1)\n%i = s32[] parameter(2)\n",
       "ROOT %r = f32[2] conditional(%i, %x, %y), branch_computations={%same, %as_well}\n",
       "%z = s32[] constant(0)\n%p = pred[] compare(%i, %z), direction=EQ\n"
       "%b = pred[2] broadcast(%p), dimensions={}\nROOT %r = f32[2] select(%b, %x, %y)\n",
       "ROOT %r = f32[2] copy(%x)\n",
       "%same (x: f32[2]) -> f32[2] {\n  ROOT %x = f32[2] parameter(0)\n}\n"
       "%as_well (x: f32[2]) -> f32[2] {\n  ROOT %x = f32[2] parameter(0)\n}\n"},
  };
}

std::vector<Said> corners_of_numbers() {
  const std::string complexes = "%x = c64[3] parameter(0)\n%y = c64[3] parameter(1)\n";
  const std::string parts =
      "%a = f32[3] real(%x)\n%b = f32[3] imag(%x)\n%c = f32[3] real(%y)\n%d = f32[3] imag(%y)\n";
  return {
      {"real part of a product", complexes,
       "%p = c64[3] multiply(%x, %y)\nROOT %r = f32[3] real(%p)\n",
       parts + "%m = f32[3] multiply(%a, %c)\n%n = f32[3] multiply(%b, %d)\n"
               "ROOT %r = f32[3] subtract(%m, %n)\n",
       parts + "%m = f32[3] multiply(%a, %c)\n%n = f32[3] multiply(%b, %d)\n"
               "ROOT %r = f32[3] add(%m, %n)\n"},
      {"complex quotients", complexes,
       "%q = c64[3] divide(%x, %y)\nROOT %r = c64[3] multiply(%q, %y)\n",
       "ROOT %r = c64[3] copy(%x)\n", "ROOT %r = c64[3] copy(%y)\n"},
      {"complex absolute values", complexes, "%v = f32[3] abs(%x)\nROOT %r = f32[3] tanh(%v)\n",
       parts + "%m = f32[3] multiply(%a, %a)\n%n = f32[3] multiply(%b, %b)\n%s = f32[3] add(%m, "
               "%n)\n%v = f32[3] sqrt(%s)\nROOT %r = f32[3] tanh(%v)\n",
       parts + "%m = f32[3] multiply(%a, %a)\n%n = f32[3] multiply(%b, %b)\n%s = f32[3] add(%m, "
               "%n)\nROOT %r = f32[3] tanh(%s)\n"},
      {"complex exponentials", complexes,
       "%e = c64[3] exponential(%x)\nROOT %r = f32[3] imag(%e)\n",
       parts +
           "%e = f32[3] exponential(%a)\n%s = f32[3] sine(%b)\nROOT %r = f32[3] multiply(%e, %s)\n",
       parts + "%e = f32[3] exponential(%a)\n%s = f32[3] cosine(%b)\nROOT %r = f32[3] multiply(%e, "
               "%s)\n"},
      {"complex negatives", complexes, "%n = c64[3] negate(%x)\nROOT %r = c64[3] add(%n, %y)\n",
       "ROOT %r = c64[3] subtract(%y, %x)\n", "ROOT %r = c64[3] subtract(%x, %y)\n"},
      {"complex functions have two parts", complexes,
       "%l = c64[3] log(%x)\nROOT %r = f32[3] imag(%l)\n",
       "%n = c64[3] negate(%x)\n%m = c64[3] negate(%n)\n%l = c64[3] log(%m)\n"
       "ROOT %r = f32[3] imag(%l)\n",
       "%l = c64[3] log(%x)\nROOT %r = f32[3] real(%l)\n"},
      {"complex numbers are compared by both parts", complexes,
       parts + "%z = c64[3] complex(%a, %d)\nROOT %r = pred[3] compare(%x, %z), direction=EQ\n",
       "ROOT %r = pred[3] constant({false, false, false})\n",
       "ROOT %r = pred[3] constant({true, true, true})\n"},
      {"complex numbers differ", complexes, "ROOT %r = pred[3] compare(%x, %y), direction=NE\n",
       "ROOT %r = pred[3] constant({true, true, true})\n",
       "ROOT %r = pred[3] compare(%x, %y), direction=EQ\n"},
      {"is-finite", "%x = f32[] parameter(0)\n",
       "%i = f32[] constant(-inf)\n%a = pred[] is-finite(%i)\n%b = pred[] is-finite(%x)\n"
       "ROOT %r = pred[] xor(%a, %b)\n",
       "ROOT %r = pred[] constant(true)\n", "ROOT %r = pred[] constant(false)\n"},
      {"a large unsigned number has a point", "%x = f32[] parameter(0)\n",
       "%h = u64[] constant(18446744073709551615)\n%f = f32[] convert(%h)\n"
       "ROOT %r = f32[] multiply(%x, %f)\n",
       "%h = s64[] constant(4294967296)\n%f = f32[] convert(%h)\n%g = f32[] multiply(%f, %f)\n"
       "ROOT %r = f32[] multiply(%x, %g)\n",
       "ROOT %r = f32[] negate(%x)\n"},
      {"powers of integers", "%x = s32[2] parameter(0)\n",
       "%b = s32[4] constant({1, -1, -1, 3})\n%e = s32[4] constant({-2, -3, -2, 5})\n"
       "%p = s32[4] power(%b, %e)\n%z = s32[] constant(0)\n"
       "%y = s32[4] pad(%x, %z), padding=1_1\nROOT %r = s32[4] maximum(%p, %y)\n",
       "%p = s32[4] constant({1, -1, 1, 243})\n%z = s32[] constant(0)\n"
       "%y = s32[4] pad(%x, %z), padding=1_1\nROOT %r = s32[4] maximum(%p, %y)\n",
       "%p = s32[4] constant({0, -1, 1, 243})\n%z = s32[] constant(0)\n"
       "%y = s32[4] pad(%x, %z), padding=1_1\nROOT %r = s32[4] maximum(%p, %y)\n"},
      {"negative powers of -1", "%x = s32[2] parameter(0)\n",
       "%b = s32[2] constant({-1, 2})\n%e = s32[2] constant({-3, -1})\n"
       "%p = s32[2] power(%b, %e)\nROOT %r = s32[2] add(%p, %x)\n",
       "%p = s32[2] constant({-1, 0})\nROOT %r = s32[2] add(%p, %x)\n",
       "%p = s32[2] constant({1, 0})\nROOT %r = s32[2] add(%p, %x)\n"},
      {"bits of one size", "%x = s8[2] parameter(0)\n",
       "%h = u8[2] constant({200, 3})\n%b = s8[2] bitcast-convert(%h)\n"
       "ROOT %r = s8[2] maximum(%b, %x)\n",
       "%b = s8[2] constant({-56, 3})\nROOT %r = s8[2] maximum(%b, %x)\n",
       "%b = s8[2] constant({127, 3})\nROOT %r = s8[2] maximum(%b, %x)\n"},
      {"iota wraps", "%x = s32[300] parameter(0)\n",
       "%i = s8[300] iota(), iota_dimension=0\n%w = s32[300] convert(%i)\n"
       "ROOT %r = s32[300] add(%x, %w)\n",
       "%i = s32[300] iota(), iota_dimension=0\n%h = s32[] constant(128)\n"
       "%b = s32[300] broadcast(%h), dimensions={}\n%s = s32[300] add(%i, %b)\n"
       "%n = s32[] constant(255)\n%m = s32[300] broadcast(%n), dimensions={}\n"
       "%t = s32[300] and(%s, %m)\n%w = s32[300] subtract(%t, %b)\n"
       "ROOT %r = s32[300] add(%x, %w)\n",
       "%w = s32[300] iota(), iota_dimension=0\nROOT %r = s32[300] add(%x, %w)\n"},
      {"a wider type keeps what it gets", "%x = f32[2] parameter(0)\n",
       "%w = f64[2] convert(%x)\nROOT %r = f64[2] add(%w, %w)\n",
       "%s = f32[2] add(%x, %x)\nROOT %r = f64[2] convert(%s)\n",
       "%s = f32[2] multiply(%x, %x)\nROOT %r = f64[2] convert(%s)\n"},
      {"numbers of the texts keep their order", "%x = f32[4] parameter(0)\n",
       "%h = f32[4] constant({0.25, 0.25, 0.25, 0.25})\nROOT %r = f32[4] maximum(%x, %h)\n",
       "%l = f32[4] constant({-0.5, -0.5, -0.5, -0.5})\n%a = f32[4] maximum(%x, %l)\n"
       "%h = f32[4] constant({0.25, 0.25, 0.25, 0.25})\nROOT %r = f32[4] maximum(%a, %h)\n",
       "%h = f32[4] constant({0.25, 0.25, 0.25, 0.25})\nROOT %r = f32[4] minimum(%x, %h)\n"},
      {"numbers of the first text keep theirs, too", "%x = f32[4] parameter(0)\n",
       "%l = f32[4] constant({-0.5, -0.5, -0.5, -0.5})\n%a = f32[4] minimum(%x, %l)\n"
       "%h = f32[4] constant({0.75, 0.75, 0.75, 0.75})\nROOT %r = f32[4] minimum(%a, %h)\n",
       "%l = f32[4] constant({-0.5, -0.5, -0.5, -0.5})\nROOT %r = f32[4] minimum(%x, %l)\n",
       "%h = f32[4] constant({0.75, 0.75, 0.75, 0.75})\nROOT %r = f32[4] minimum(%x, %h)\n"},
      {"infinities are equal", "%x = f32[2] parameter(0)\n%y = f32[2] parameter(1)\n",
       "%i = f32[] constant(inf)\n%b = f32[2] broadcast(%i), dimensions={}\n"
       "%m = f32[2] maximum(%b, %x)\nROOT %r = f32[4] concatenate(%m, %y), dimensions={0}\n",
       "%i = f32[2] constant({inf, inf})\nROOT %r = f32[4] concatenate(%i, %y), dimensions={0}\n",
       "%i = f32[2] constant({inf, inf})\nROOT %r = f32[4] concatenate(%y, %i), "
       "dimensions={0}\n"},
      {"truth values are drawn",
       "%x = f32[2] parameter(0)\n%y = f32[2] parameter(1)\n%p = pred[2] parameter(2)\n",
       "ROOT %r = f32[2] select(%p, %x, %y)\n",
       "%n = pred[2] not(%p)\nROOT %r = f32[2] select(%n, %y, %x)\n",
       "ROOT %r = f32[2] copy(%x)\n"},
  };
}

class Corners : public testing::TestWithParam<Said> {};

TEST_P(Corners, are_said_in_other_words) { expect_said(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Moves, Corners, testing::ValuesIn(corners_of_moves()), name_of);
INSTANTIATE_TEST_SUITE_P(Products, Corners, testing::ValuesIn(corners_of_products()), name_of);
INSTANTIATE_TEST_SUITE_P(Reductions, Corners, testing::ValuesIn(corners_of_reductions()), name_of);
INSTANTIATE_TEST_SUITE_P(Numbers, Corners, testing::ValuesIn(corners_of_numbers()), name_of);

/// x with a x = b, or x a = b, for all ways to say which matrix is meant.
TEST(CornersOfSolvers, all_triangles_on_both_sides) {
  const std::string parameters =
      "%a = f32[2,2] parameter(0)\n%b = f32[2,2] parameter(1)\n%i = s32[2,2] iota(), "
      "iota_dimension=0\n%j = s32[2,2] iota(), iota_dimension=1\n%n = f32[2,2] constant({{0, 0}, "
      "{0, 0}})\n";
  for (const bool is_left : {true, false}) {
    for (const bool is_lower : {true, false}) {
      for (const bool is_transposed : {true, false}) {
        const std::string solved =
            "%x = f32[2,2] triangular-solve(%a, %b), left_side=" +
            std::string(is_left ? "true" : "false") + ", lower=" + (is_lower ? "true" : "false") +
            ", unit_diagonal=false, transpose_a=" + (is_transposed ? "TRANSPOSE" : "NO_TRANSPOSE") +
            "\n%p = pred[2,2] compare(%i, %j), direction=" + (is_lower ? "GE" : "LE") +
            "\n%t = f32[2,2] select(%p, %a, %n)\n" +
            (is_transposed ? "%m = f32[2,2] transpose(%t), dimensions={1,0}\n"
                           : "%m = f32[2,2] copy(%t)\n") +
            "ROOT %r = f32[2,2] dot(" + (is_left ? "%m, %x" : "%x, %m") +
            "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
        EXPECT_EQ(answer(module_of(parameters + solved),
                         module_of(parameters + "ROOT %r = f32[2,2] copy(%b)\n")),
                  "right")
            << solved;
      }
    }
  }
}

TEST(CornersOfTypes, what_is_rounded_is_not_what_it_was) {
  const std::string parameters = "%x = f32[3] parameter(0)\n";
  const std::string same = module_of(parameters + "ROOT %r = f32[3] copy(%x)\n");
  for (const std::string rounded :
       {"%n = bf16[3] convert(%x)\nROOT %r = f32[3] convert(%n)\n",
        "ROOT %r = f32[3] reduce-precision(%x), exponent_bits=8, mantissa_bits=7\n"}) {
    EXPECT_EQ(answer(same, module_of(parameters + rounded)),
              "undecided: it differs in exact arithmetic, not in floating point");
  }
}

TEST(CornersOfTypes, bits_of_another_size_are_undecided) {
  const std::string text =
      module_of("%x = f32[3] parameter(0)\nROOT %r = s64[3] bitcast-convert(%x)\n");
  EXPECT_EQ(answer(text, text), "undecided: bits as numbers of another size are not evaluated");
}

TEST(CornersOfFunctions, an_unknown_one_gives_every_element_and_result_a_number_of_its_own) {
  const std::string call =
      "%x = f32[3] parameter(0)\n%t = (f32[3], f32[3]) custom-call(%x), custom_call_target=\"f\"\n";
  const auto part = [&](int index, const std::string& slice) {
    return module_of(call + "%p = f32[3] get-tuple-element(%t), index=" + std::to_string(index) +
                     "\nROOT %r = f32[1] slice(%p), slice={" + slice + "}\n");
  };
  EXPECT_EQ(answer(part(0, "[0:1]"), part(0, "[0:1]")), "right");
  EXPECT_EQ(answer(part(0, "[0:1]"), part(0, "[1:2]")).substr(0, 9), "undecided");
  EXPECT_EQ(answer(part(0, "[0:1]"), part(1, "[0:1]")).substr(0, 9), "undecided");
}

}  // namespace
}  // namespace retile::whole::tests
