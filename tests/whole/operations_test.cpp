// Every operation beside another way to say what it does, and beside a way that is wrong.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/whole/saying.h"

namespace retile::whole::tests {
namespace {

std::vector<Said> moving() {
  return {
      {"pad", "%x = f32[2] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[6] pad(%x, %z), padding=1_2_1\n",
       "%a = f32[1] slice(%x), slice={[0:1]}\n%b = f32[1] slice(%x), slice={[1:2]}\n"
       "%n = f32[1] broadcast(%z), dimensions={}\n"
       "ROOT %r = f32[6] concatenate(%n, %a, %n, %b, %n, %n), dimensions={0}\n",
       "%a = f32[1] slice(%x), slice={[0:1]}\n%b = f32[1] slice(%x), slice={[1:2]}\n"
       "%n = f32[1] broadcast(%z), dimensions={}\n"
       "ROOT %r = f32[6] concatenate(%n, %a, %b, %n, %n, %n), dimensions={0}\n"},
      {"pad takes away", "%x = f32[5] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[3] pad(%x, %z), padding=-1_-1\n",
       "ROOT %r = f32[3] slice(%x), slice={[1:4]}\n",
       "ROOT %r = f32[3] slice(%x), slice={[0:3]}\n"},
      {"pad takes away between gaps", "%x = f32[3] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[5] pad(%x, %z), padding=-2_0_2\n",
       "%n = f32[1] broadcast(%z), dimensions={}\n%a = f32[1] slice(%x), slice={[1:2]}\n"
       "%b = f32[1] slice(%x), slice={[2:3]}\n"
       "ROOT %r = f32[5] concatenate(%n, %a, %n, %n, %b), dimensions={0}\n",
       "%n = f32[1] broadcast(%z), dimensions={}\n%a = f32[1] slice(%x), slice={[1:2]}\n"
       "%b = f32[1] slice(%x), slice={[2:3]}\n"
       "ROOT %r = f32[5] concatenate(%n, %n, %a, %n, %b), dimensions={0}\n"},
      {"reverse", "%x = f32[2,3] parameter(0)\n",
       "ROOT %r = f32[2,3] reverse(%x), dimensions={1}\n",
       "%a = f32[2,1] slice(%x), slice={[0:2], [2:3]}\n%b = f32[2,1] slice(%x), slice={[0:2], "
       "[1:2]}\n"
       "%c = f32[2,1] slice(%x), slice={[0:2], [0:1]}\n"
       "ROOT %r = f32[2,3] concatenate(%a, %b, %c), dimensions={1}\n",
       "ROOT %r = f32[2,3] reverse(%x), dimensions={0,1}\n"},
      {"transpose", "%x = f32[2,3] parameter(0)\n",
       "%t = f32[3,2] transpose(%x), dimensions={1,0}\nROOT %r = f32[6] reshape(%t)\n",
       "%a = f32[2,3] slice(%x), slice={[0:2], [0:3]}\n%t = f32[3,2] transpose(%a), "
       "dimensions={1,0}\nROOT %r = f32[6] reshape(%t)\n",
       "ROOT %r = f32[6] reshape(%x)\n"},
      {"slice with steps", "%x = f32[7] parameter(0)\n",
       "ROOT %r = f32[3] slice(%x), slice={[1:7:2]}\n",
       "%a = f32[6] slice(%x), slice={[1:7]}\n%b = f32[3,2] reshape(%a)\n"
       "%c = f32[3,1] slice(%b), slice={[0:3], [0:1]}\nROOT %r = f32[3] reshape(%c)\n",
       "%a = f32[6] slice(%x), slice={[1:7]}\n%b = f32[3,2] reshape(%a)\n"
       "%c = f32[3,1] slice(%b), slice={[0:3], [1:2]}\nROOT %r = f32[3] reshape(%c)\n"},
      {"dynamic-slice is clamped", "%x = f32[4] parameter(0)\n",
       "%i = s32[] constant(9)\nROOT %r = f32[2] dynamic-slice(%x, %i), dynamic_slice_sizes={2}\n",
       "ROOT %r = f32[2] slice(%x), slice={[2:4]}\n",
       "ROOT %r = f32[2] slice(%x), slice={[1:3]}\n"},
      {"dynamic-slice below 0", "%x = f32[4] parameter(0)\n",
       "%i = s32[] constant(-9)\nROOT %r = f32[2] dynamic-slice(%x, %i), dynamic_slice_sizes={2}\n",
       "ROOT %r = f32[2] slice(%x), slice={[0:2]}\n",
       "ROOT %r = f32[2] slice(%x), slice={[1:3]}\n"},
      {"dynamic-update-slice", "%x = f32[4] parameter(0)\n%u = f32[2] parameter(1)\n",
       "%i = s32[] constant(3)\nROOT %r = f32[4] dynamic-update-slice(%x, %u, %i)\n",
       "%a = f32[2] slice(%x), slice={[0:2]}\nROOT %r = f32[4] concatenate(%a, %u), "
       "dimensions={0}\n",
       "%a = f32[2] slice(%x), slice={[2:4]}\nROOT %r = f32[4] concatenate(%a, %u), "
       "dimensions={0}\n"},
      {"gather", "%x = f32[4,3] parameter(0)\n",
       "%i = s32[2,1] constant({{2}, {7}})\n"
       "ROOT %r = f32[2,3] gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n",
       "ROOT %r = f32[2,3] slice(%x), slice={[2:4], [0:3]}\n",
       "ROOT %r = f32[2,3] slice(%x), slice={[1:3], [0:3]}\n"},
      {"gather of batches", "%x = f32[2,3] parameter(0)\n",
       "%i = s32[2,1] constant({{2}, {0}})\n"
       "ROOT %r = f32[2] gather(%x, %i), offset_dims={}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
       "index_vector_dim=1, slice_sizes={1,1}\n",
       "%a = f32[1,1] slice(%x), slice={[0:1], [2:3]}\n%b = f32[1,1] slice(%x), slice={[1:2], "
       "[0:1]}\n%c = f32[2,1] concatenate(%a, %b), dimensions={0}\nROOT %r = f32[2] reshape(%c)\n",
       "%a = f32[1,1] slice(%x), slice={[0:1], [0:1]}\n%b = f32[1,1] slice(%x), slice={[1:2], "
       "[0:1]}\n%c = f32[2,1] concatenate(%a, %b), dimensions={0}\nROOT %r = f32[2] reshape(%c)\n"},
      {"scatter adds, and leaves out what lies outside",
       "%x = f32[3] parameter(0)\n%u = f32[3] parameter(1)\n",
       "%i = s32[3,1] constant({{1}, {1}, {3}})\n"
       "ROOT %r = f32[3] scatter(%x, %i, %u), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%add_f32\n",
       "%a = f32[1] slice(%u), slice={[0:1]}\n%b = f32[1] slice(%u), slice={[1:2]}\n"
       "%s = f32[1] add(%a, %b)\n%z = f32[] constant(0)\n%p = f32[3] pad(%s, %z), padding=1_1\n"
       "ROOT %r = f32[3] add(%x, %p)\n",
       "%a = f32[1] slice(%u), slice={[0:1]}\n%z = f32[] constant(0)\n"
       "%p = f32[3] pad(%a, %z), padding=1_1\nROOT %r = f32[3] add(%x, %p)\n"},
  };
}

std::vector<Said> products() {
  return {
      {"dot of batches", "%x = f32[2,3,4] parameter(0)\n%y = f32[2,4,5] parameter(1)\n",
       "ROOT %r = f32[2,3,5] dot(%x, %y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
       "%a = f32[2,3,5,4] broadcast(%x), dimensions={0,1,3}\n%t = f32[2,5,4] transpose(%y), "
       "dimensions={0,2,1}\n%b = f32[2,3,5,4] broadcast(%t), dimensions={0,2,3}\n"
       "%m = f32[2,3,5,4] multiply(%a, %b)\n%z = f32[] constant(0)\n"
       "ROOT %r = f32[2,3,5] reduce(%m, %z), dimensions={3}, to_apply=%add_f32\n",
       "%a = f32[2,3,5,4] broadcast(%x), dimensions={0,1,3}\n%t = f32[2,5,4] reshape(%y)\n"
       "%b = f32[2,3,5,4] broadcast(%t), dimensions={0,2,3}\n%m = f32[2,3,5,4] multiply(%a, "
       "%b)\n%z = f32[] constant(0)\n"
       "ROOT %r = f32[2,3,5] reduce(%m, %z), dimensions={3}, to_apply=%add_f32\n"},
      {"convolution", "%x = f32[1,4,2] parameter(0)\n%k = f32[3,2,5] parameter(1)\n",
       "ROOT %r = f32[1,4,5] convolution(%x, %k), window={size=3 pad=1_1}, "
       "dim_labels=b0f_0io->b0f\n",
       "%z = f32[] constant(0)\n%p = f32[1,6,2] pad(%x, %z), padding=0_0x1_1x0_0\n"
       "%a = f32[1,4,2] slice(%p), slice={[0:1], [0:4], [0:2]}\n%b = f32[1,4,2] slice(%p), "
       "slice={[0:1], [1:5], [0:2]}\n%c = f32[1,4,2] slice(%p), slice={[0:1], [2:6], [0:2]}\n"
       "%k0 = f32[1,2,5] slice(%k), slice={[0:1], [0:2], [0:5]}\n%k1 = f32[1,2,5] slice(%k), "
       "slice={[1:2], [0:2], [0:5]}\n%k2 = f32[1,2,5] slice(%k), slice={[2:3], [0:2], [0:5]}\n"
       "%l0 = f32[2,5] reshape(%k0)\n%l1 = f32[2,5] reshape(%k1)\n%l2 = f32[2,5] reshape(%k2)\n"
       "%d0 = f32[1,4,5] dot(%a, %l0), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
       "%d1 = f32[1,4,5] dot(%b, %l1), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
       "%d2 = f32[1,4,5] dot(%c, %l2), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
       "%s = f32[1,4,5] add(%d0, %d1)\nROOT %r = f32[1,4,5] add(%s, %d2)\n",
       "%v = f32[3,2,5] reverse(%k), dimensions={0}\n"
       "ROOT %r = f32[1,4,5] convolution(%x, %v), window={size=3 pad=1_1}, "
       "dim_labels=b0f_0io->b0f\n"},
      {"convolution turned around", "%x = f32[1,4,2] parameter(0)\n%k = f32[3,2,5] parameter(1)\n",
       "ROOT %r = f32[1,2,5] convolution(%x, %k), window={size=3 rhs_reversal=1}, "
       "dim_labels=b0f_0io->b0f\n",
       "%v = f32[3,2,5] reverse(%k), dimensions={0}\n"
       "ROOT %r = f32[1,2,5] convolution(%x, %v), window={size=3}, dim_labels=b0f_0io->b0f\n",
       "ROOT %r = f32[1,2,5] convolution(%x, %k), window={size=3}, dim_labels=b0f_0io->b0f\n"},
      {"convolution with gaps", "%x = f32[1,3,1] parameter(0)\n%k = f32[2,1,1] parameter(1)\n",
       "ROOT %r = f32[1,2,1] convolution(%x, %k), window={size=2 stride=2 lhs_dilate=2 "
       "rhs_dilate=2}, dim_labels=b0f_0io->b0f\n",
       "%z = f32[] constant(0)\n%p = f32[1,5,1] pad(%x, %z), padding=0_0x0_0_1x0_0\n"
       "%g = f32[3,1,1] pad(%k, %z), padding=0_0_1x0_0x0_0\n"
       "ROOT %r = f32[1,2,1] convolution(%p, %g), window={size=3 stride=2}, "
       "dim_labels=b0f_0io->b0f\n",
       "%z = f32[] constant(0)\n%p = f32[1,5,1] pad(%x, %z), padding=0_0x0_0_1x0_0\n"
       "%g = f32[3,1,1] pad(%k, %z), padding=1_0x0_0x0_0\n"
       "ROOT %r = f32[1,2,1] convolution(%p, %g), window={size=3 stride=2}, "
       "dim_labels=b0f_0io->b0f\n"},
      {"convolution of groups of features",
       "%x = f32[1,3,4] parameter(0)\n%k = f32[1,2,6] parameter(1)\n",
       "ROOT %r = f32[1,3,6] convolution(%x, %k), window={size=1}, dim_labels=b0f_0io->b0f, "
       "feature_group_count=2\n",
       "%a = f32[1,3,2] slice(%x), slice={[0:1], [0:3], [0:2]}\n%b = f32[1,3,2] slice(%x), "
       "slice={[0:1], [0:3], [2:4]}\n%k0 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [0:3]}\n"
       "%k1 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [3:6]}\n"
       "%c = f32[1,3,3] convolution(%a, %k0), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "%d = f32[1,3,3] convolution(%b, %k1), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "ROOT %r = f32[1,3,6] concatenate(%c, %d), dimensions={2}\n",
       "%a = f32[1,3,2] slice(%x), slice={[0:1], [0:3], [0:2]}\n%b = f32[1,3,2] slice(%x), "
       "slice={[0:1], [0:3], [2:4]}\n%k0 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [0:3]}\n"
       "%k1 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [3:6]}\n"
       "%c = f32[1,3,3] convolution(%b, %k0), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "%d = f32[1,3,3] convolution(%a, %k1), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "ROOT %r = f32[1,3,6] concatenate(%c, %d), dimensions={2}\n"},
      {"convolution of groups of batches",
       "%x = f32[4,3,2] parameter(0)\n%k = f32[1,2,6] parameter(1)\n",
       "ROOT %r = f32[2,3,6] convolution(%x, %k), window={size=1}, dim_labels=b0f_0io->b0f, "
       "batch_group_count=2\n",
       "%a = f32[2,3,2] slice(%x), slice={[0:2], [0:3], [0:2]}\n%b = f32[2,3,2] slice(%x), "
       "slice={[2:4], [0:3], [0:2]}\n%k0 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [0:3]}\n"
       "%k1 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [3:6]}\n"
       "%c = f32[2,3,3] convolution(%a, %k0), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "%d = f32[2,3,3] convolution(%b, %k1), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "ROOT %r = f32[2,3,6] concatenate(%c, %d), dimensions={2}\n",
       "%a = f32[2,3,2] slice(%x), slice={[0:4:2], [0:3], [0:2]}\n%b = f32[2,3,2] slice(%x), "
       "slice={[1:4:2], [0:3], [0:2]}\n%k0 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [0:3]}\n"
       "%k1 = f32[1,2,3] slice(%k), slice={[0:1], [0:2], [3:6]}\n"
       "%c = f32[2,3,3] convolution(%a, %k0), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "%d = f32[2,3,3] convolution(%b, %k1), window={size=1}, dim_labels=b0f_0io->b0f\n"
       "ROOT %r = f32[2,3,6] concatenate(%c, %d), dimensions={2}\n"},
      {"triangular-solve", "%a = f32[3,3] parameter(0)\n%b = f32[3,2] parameter(1)\n",
       "%i = s32[3,3] iota(), iota_dimension=0\n%j = s32[3,3] iota(), iota_dimension=1\n"
       "%low = pred[3,3] compare(%i, %j), direction=GE\n%z = f32[] constant(0)\n"
       "%n = f32[3,3] broadcast(%z), dimensions={}\n%l = f32[3,3] select(%low, %a, %n)\n"
       "%x = f32[3,2] triangular-solve(%a, %b), left_side=true, lower=true, "
       "unit_diagonal=false, transpose_a=NO_TRANSPOSE\n"
       "ROOT %r = f32[3,2] dot(%l, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "ROOT %r = f32[3,2] copy(%b)\n", "ROOT %r = f32[3,2] negate(%b)\n"},
      {"complex numbers", "%x = c64[4] parameter(0)\n%y = c64[4] parameter(1)\n",
       "%p = c64[4] multiply(%x, %y)\nROOT %r = f32[4] imag(%p)\n",
       "%a = f32[4] real(%x)\n%b = f32[4] imag(%x)\n%c = f32[4] real(%y)\n%d = f32[4] imag(%y)\n"
       "%m = f32[4] multiply(%a, %d)\n%n = f32[4] multiply(%b, %c)\nROOT %r = f32[4] add(%m, %n)\n",
       "%a = f32[4] real(%x)\n%b = f32[4] imag(%x)\n%c = f32[4] real(%y)\n%d = f32[4] imag(%y)\n"
       "%m = f32[4] multiply(%a, %c)\n%n = f32[4] multiply(%b, %d)\nROOT %r = f32[4] add(%m, "
       "%n)\n"},
      {"fft and back", "%x = c64[2,6] parameter(0)\n",
       "%f = c64[2,6] fft(%x), fft_type=FFT, fft_length={6}\n"
       "ROOT %r = c64[2,6] fft(%f), fft_type=IFFT, fft_length={6}\n",
       "ROOT %r = c64[2,6] copy(%x)\n", "ROOT %r = c64[2,6] reverse(%x), dimensions={1}\n"},
      {"fft of real numbers and back", "%x = f32[3,4] parameter(0)\n",
       "%f = c64[3,3] fft(%x), fft_type=RFFT, fft_length={3,4}\n"
       "ROOT %r = f32[3,4] fft(%f), fft_type=IRFFT, fft_length={3,4}\n",
       "ROOT %r = f32[3,4] copy(%x)\n", "ROOT %r = f32[3,4] negate(%x)\n"},
      {"fft of two", "%x = c64[2] parameter(0)\n",
       "ROOT %r = c64[2] fft(%x), fft_type=FFT, fft_length={2}\n",
       "%a = c64[1] slice(%x), slice={[0:1]}\n%b = c64[1] slice(%x), slice={[1:2]}\n"
       "%s = c64[1] add(%a, %b)\n%d = c64[1] subtract(%a, %b)\n"
       "ROOT %r = c64[2] concatenate(%s, %d), dimensions={0}\n",
       "%a = c64[1] slice(%x), slice={[0:1]}\n%b = c64[1] slice(%x), slice={[1:2]}\n"
       "%s = c64[1] add(%a, %b)\n%d = c64[1] subtract(%b, %a)\n"
       "ROOT %r = c64[2] concatenate(%s, %d), dimensions={0}\n"},
  };
}

std::vector<Said> reductions() {
  return {
      {"reduce-window", "%x = f32[5] parameter(0)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[3] reduce-window(%x, %z), window={size=3 stride=2 pad=1_1}, "
       "to_apply=%add_f32\n",
       "%p = f32[7] pad(%x, %z), padding=1_1\n%a = f32[3] slice(%p), slice={[0:5:2]}\n"
       "%b = f32[3] slice(%p), slice={[1:6:2]}\n%c = f32[3] slice(%p), slice={[2:7:2]}\n"
       "%s = f32[3] add(%a, %b)\nROOT %r = f32[3] add(%s, %c)\n",
       "%p = f32[7] pad(%x, %z), padding=1_1\n%a = f32[3] slice(%p), slice={[0:5:2]}\n"
       "%b = f32[3] slice(%p), slice={[1:6:2]}\nROOT %r = f32[3] add(%a, %b)\n"},
      {"reduce of two arrays", "%x = f32[2,3] parameter(0)\n%i = s32[2,3] parameter(1)\n",
       "%m = f32[] constant(-inf)\n%z = s32[] constant(0)\n%t = (f32[2], s32[2]) reduce(%x, %i, "
       "%m, "
       "%z), dimensions={1}, to_apply=%both\nROOT %r = f32[2] get-tuple-element(%t), index=0\n",
       "%m = f32[] constant(-inf)\nROOT %r = f32[2] reduce(%x, %m), dimensions={1}, "
       "to_apply=%maximum_f32\n",
       "%m = f32[] constant(inf)\nROOT %r = f32[2] reduce(%x, %m), dimensions={1}, "
       "to_apply=%minimum_f32\n",
       "%both (a: f32[], i: s32[], b: f32[], j: s32[]) -> (f32[], s32[]) {\n  %a = f32[] "
       "parameter(0)\n  %i = s32[] parameter(1)\n  %b = f32[] parameter(2)\n  %j = s32[] "
       "parameter(3)\n  %m = f32[] maximum(%a, %b)\n  %s = s32[] add(%i, %j)\n  ROOT %r = (f32[], "
       "s32[]) tuple(%m, %s)\n}\n"},
      {"select-and-scatter",
       "%x = f32[4] parameter(0)\n%s = f32[2] parameter(1)\n%z = f32[] constant(0)\n",
       "ROOT %r = f32[4] select-and-scatter(%x, %s, %z), window={size=2 stride=2}, "
       "select=%at_least, scatter=%add_f32\n",
       "%a = f32[2] slice(%x), slice={[0:4:2]}\n%b = f32[2] slice(%x), slice={[1:4:2]}\n"
       "%first = pred[2] compare(%a, %b), direction=GE\n%n = f32[2] broadcast(%z), dimensions={}\n"
       "%l = f32[2] select(%first, %s, %n)\n%m = f32[2] select(%first, %n, %s)\n"
       "%l1 = f32[2,1] reshape(%l)\n%m1 = f32[2,1] reshape(%m)\n"
       "%c = f32[2,2] concatenate(%l1, %m1), dimensions={1}\nROOT %r = f32[4] reshape(%c)\n",
       "%a = f32[2] slice(%x), slice={[0:4:2]}\n%b = f32[2] slice(%x), slice={[1:4:2]}\n"
       "%first = pred[2] compare(%a, %b), direction=LT\n%n = f32[2] broadcast(%z), dimensions={}\n"
       "%l = f32[2] select(%first, %s, %n)\n%m = f32[2] select(%first, %n, %s)\n"
       "%l1 = f32[2,1] reshape(%l)\n%m1 = f32[2,1] reshape(%m)\n"
       "%c = f32[2,2] concatenate(%l1, %m1), dimensions={1}\nROOT %r = f32[4] reshape(%c)\n"},
      {"sort", "%x = f32[2,3] parameter(0)\n",
       "ROOT %r = f32[2,3] sort(%x), dimensions={0}, to_apply=%less\n",
       "%a = f32[1,3] slice(%x), slice={[0:1], [0:3]}\n%b = f32[1,3] slice(%x), slice={[1:2], "
       "[0:3]}\n%l = f32[1,3] minimum(%a, %b)\n%m = f32[1,3] maximum(%a, %b)\n"
       "ROOT %r = f32[2,3] concatenate(%l, %m), dimensions={0}\n",
       "%a = f32[1,3] slice(%x), slice={[0:1], [0:3]}\n%b = f32[1,3] slice(%x), slice={[1:2], "
       "[0:3]}\n%l = f32[1,3] minimum(%a, %b)\n%m = f32[1,3] maximum(%a, %b)\n"
       "ROOT %r = f32[2,3] concatenate(%m, %l), dimensions={0}\n"},
      {"topk", "%x = f32[2,5] parameter(0)\n",
       "%t = (f32[2,2], s32[2,2]) topk(%x), k=2, largest=true\n"
       "ROOT %r = f32[2,2] get-tuple-element(%t), index=0\n",
       "%s = f32[2,5] sort(%x), dimensions={1}, to_apply=%less\n%v = f32[2,5] reverse(%s), "
       "dimensions={1}\nROOT %r = f32[2,2] slice(%v), slice={[0:2], [0:2]}\n",
       "%s = f32[2,5] sort(%x), dimensions={1}, to_apply=%less\n"
       "ROOT %r = f32[2,2] slice(%s), slice={[0:2], [0:2]}\n"},
      {"map", "%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\n",
       "ROOT %r = f32[3] map(%x, %y), dimensions={0}, to_apply=%multiply_f32\n",
       "ROOT %r = f32[3] multiply(%x, %y)\n", "ROOT %r = f32[3] add(%x, %y)\n"},
      {"while", "%x = f32[3] parameter(0)\n",
       "%z = s32[] constant(0)\n%t = (s32[], f32[3]) tuple(%z, %x)\n%w = (s32[], f32[3]) "
       "while(%t), condition=%goes_on, body=%doubles\nROOT %r = f32[3] get-tuple-element(%w), "
       "index=1\n",
       "%a = f32[3] add(%x, %x)\n%b = f32[3] add(%a, %a)\nROOT %r = f32[3] add(%b, %b)\n",
       "%a = f32[3] add(%x, %x)\nROOT %r = f32[3] add(%a, %a)\n",
       "%goes_on (t: (s32[], f32[3])) -> pred[] {\n  %t = (s32[], f32[3]) parameter(0)\n  %i = "
       "s32[] "
       "get-tuple-element(%t), index=0\n  %n = s32[] constant(3)\n  ROOT %r = pred[] compare(%i, "
       "%n), direction=LT\n}\n"
       "%doubles (t: (s32[], f32[3])) -> (s32[], f32[3]) {\n  %t = (s32[], f32[3]) parameter(0)\n  "
       "%i = s32[] get-tuple-element(%t), index=0\n  %x = f32[3] get-tuple-element(%t), index=1\n  "
       "%one = s32[] constant(1)\n  %j = s32[] add(%i, %one)\n  %y = f32[3] add(%x, %x)\n  ROOT %r "
       "= "
       "(s32[], f32[3]) tuple(%j, %y)\n}\n"},
      {"conditional", "%x = f32[3] parameter(0)\n%i = s32[] parameter(1)\n",
       "ROOT %r = f32[3] conditional(%i, %x, %x, %x), branch_computations={%once, %twice, "
       "%never}\n",
       "%one = s32[] constant(1)\n%zero = s32[] constant(0)\n%is0 = pred[] compare(%i, %zero), "
       "direction=EQ\n%is1 = pred[] compare(%i, %one), direction=EQ\n%d = f32[3] add(%x, %x)\n"
       "%n = f32[3] negate(%x)\n%l = f32[3] select(%is1, %d, %n)\nROOT %r = f32[3] select(%is0, "
       "%x, "
       "%l)\n",
       "%one = s32[] constant(1)\n%zero = s32[] constant(0)\n%is0 = pred[] compare(%i, %zero), "
       "direction=EQ\n%is1 = pred[] compare(%i, %one), direction=EQ\n%d = f32[3] add(%x, %x)\n"
       "%n = f32[3] negate(%x)\n%l = f32[3] select(%is0, %d, %n)\nROOT %r = f32[3] select(%is1, "
       "%x, "
       "%l)\n",
       "%once (x: f32[3]) -> f32[3] {\n  ROOT %x = f32[3] parameter(0)\n}\n"
       "%twice (x: f32[3]) -> f32[3] {\n  %x = f32[3] parameter(0)\n  ROOT %r = f32[3] add(%x, "
       "%x)\n}\n"
       "%never (x: f32[3]) -> f32[3] {\n  %x = f32[3] parameter(0)\n  ROOT %r = f32[3] "
       "negate(%x)\n}\n"},
  };
}

std::vector<Said> numbers() {
  return {
      {"quotients", "%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\n",
       "%q = f32[3] divide(%x, %y)\nROOT %r = f32[3] multiply(%q, %y)\n",
       "ROOT %r = f32[3] copy(%x)\n", "ROOT %r = f32[3] copy(%y)\n"},
      {"constants are dyadic", "%x = f32[] parameter(0)\n",
       "%h = f32[] constant(0.375)\nROOT %r = f32[] multiply(%x, %h)\n",
       "%e = f32[] constant(8)\n%n = f32[] constant(3)\n%m = f32[] multiply(%x, %n)\n"
       "ROOT %r = f32[] divide(%m, %e)\n",
       "%e = f32[] constant(8)\n%n = f32[] constant(5)\n%m = f32[] multiply(%x, %n)\n"
       "ROOT %r = f32[] divide(%m, %e)\n"},
      {"softmax forgets what is masked", "%x = f32[3] parameter(0)\n",
       "%m = f32[] constant(-inf)\n%p = f32[4] pad(%x, %m), padding=0_1\n%e = f32[4] "
       "exponential(%p)\n%z = f32[] constant(0)\nROOT %r = f32[] reduce(%e, %z), dimensions={0}, "
       "to_apply=%add_f32\n",
       "%e = f32[3] exponential(%x)\n%z = f32[] constant(0)\nROOT %r = f32[] reduce(%e, %z), "
       "dimensions={0}, to_apply=%add_f32\n",
       "%e = f32[3] exponential(%x)\n%z = f32[] constant(1)\nROOT %r = f32[] reduce(%e, %z), "
       "dimensions={0}, to_apply=%add_f32\n"},
      {"clamp", "%x = f32[4] parameter(0)\n",
       "%l = f32[] constant(-0.25)\n%h = f32[] constant(0.25)\nROOT %r = f32[4] clamp(%l, %x, "
       "%h)\n",
       "%l = f32[] constant(-0.25)\n%h = f32[] constant(0.25)\n%a = f32[4] broadcast(%l), "
       "dimensions={}\n%b = f32[4] broadcast(%h), dimensions={}\n%m = f32[4] maximum(%a, %x)\n"
       "ROOT %r = f32[4] minimum(%m, %b)\n",
       "%h = f32[] constant(0.25)\n%b = f32[4] broadcast(%h), dimensions={}\n"
       "ROOT %r = f32[4] minimum(%x, %b)\n"},
      {"integers wrap", "%x = u8[4] parameter(0)\n",
       "%h = u8[] constant(128)\n%b = u8[4] broadcast(%h), dimensions={}\n%s = u8[4] add(%x, %b)\n"
       "ROOT %r = u8[4] add(%s, %b)\n",
       "ROOT %r = u8[4] copy(%x)\n", "ROOT %r = u8[4] not(%x)\n"},
      {"powers", "%x = f32[4] parameter(0)\n",
       "%n = f32[4] constant({3, 3, 3, 3})\nROOT %r = f32[4] power(%x, %n)\n",
       "%s = f32[4] multiply(%x, %x)\nROOT %r = f32[4] multiply(%s, %x)\n",
       "ROOT %r = f32[4] multiply(%x, %x)\n"},
      {"what is narrowed and widened is known where it is whole", "%x = s8[4] parameter(0)\n",
       "%f = f32[4] convert(%x)\n%b = bf16[4] convert(%f)\n%w = f32[4] convert(%b)\n"
       "ROOT %r = s8[4] convert(%w)\n",
       "ROOT %r = s8[4] copy(%x)\n", "ROOT %r = s8[4] negate(%x)\n"},
      {"no number", "%x = f32[2] parameter(0)\n",
       "%i = f32[] constant(inf)\n%b = f32[2] broadcast(%i), dimensions={}\n%d = f32[2] "
       "subtract(%b, %b)\n%s = f32[2] add(%x, %d)\nROOT %r = pred[2] compare(%s, %s), "
       "direction=NE\n",
       "ROOT %r = pred[2] constant({true, true})\n", "ROOT %r = pred[2] constant({true, false})\n"},
  };
}

class Saying : public testing::TestWithParam<Said> {};

TEST_P(Saying, the_same_in_other_words_is_right_and_something_else_wrong) {
  expect_said(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Moving, Saying, testing::ValuesIn(moving()), name_of);
INSTANTIATE_TEST_SUITE_P(Products, Saying, testing::ValuesIn(products()), name_of);
INSTANTIATE_TEST_SUITE_P(Reductions, Saying, testing::ValuesIn(reductions()), name_of);
INSTANTIATE_TEST_SUITE_P(Numbers, Saying, testing::ValuesIn(numbers()), name_of);

TEST(Operations, reductions_begin_with_their_initial_value) {
  for (const char* dim : {"0", "1"}) {
    const std::string reduced = std::string("), dimensions={") + dim + "}, to_apply=%add_f32\n";
    const std::string begin =
        "%x = f32[2,2] parameter(0)\n%z = f32[] constant(0)\n%i = f32[] constant(5)\n";
    const std::string of_five = module_of(begin + "ROOT %r = f32[2] reduce(%x, %i" + reduced);
    const std::string of_zero = module_of(begin + "ROOT %r = f32[2] reduce(%x, %z" + reduced);
    EXPECT_EQ(answer(of_five, module_of(begin + "%s = f32[2] reduce(%x, %z" + reduced +
                                        "%b = f32[2] broadcast(%i), dimensions={}\n"
                                        "ROOT %r = f32[2] add(%s, %b)\n")),
              "right");
    EXPECT_EQ(answer(of_five, of_zero), "wrong");
  }
}

TEST(Operations, what_differs_in_exact_arithmetic_alone_is_undecided) {
  const std::string parameters = "%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\n";
  EXPECT_EQ(
      answer(module_of(parameters + "%s = f32[3] add(%x, %y)\nROOT %r = f32[3] exponential(%s)\n"),
             module_of(parameters + "%a = f32[3] exponential(%x)\n%b = f32[3] exponential(%y)\n"
                                    "ROOT %r = f32[3] multiply(%a, %b)\n")),
      "undecided: it differs in exact arithmetic, not in floating point");
}

TEST(Operations, results_that_never_are_numbers_show_nothing) {
  const std::string parameters =
      "%x = f32[3] parameter(0)\n%n = f32[] constant(nan)\n"
      "%b = f32[3] broadcast(%n), dimensions={}\n";
  EXPECT_EQ(answer(module_of(parameters + "ROOT %r = f32[3] add(%x, %b)\n"),
                   module_of(parameters + "ROOT %r = f32[3] multiply(%x, %b)\n")),
            "undecided: result 0 is no finite number in any draw");
}

TEST(Operations, every_branch_is_taken) {
  const std::string branches =
      "%a (x: f32[3]) -> f32[3] {\n  ROOT %x = f32[3] parameter(0)\n}\n"
      "%b (x: f32[3]) -> f32[3] {\n  %x = f32[3] parameter(0)\n  ROOT %r = f32[3] negate(%x)\n}\n";
  const auto with = [&](const std::string& list) {
    return module_of(
        "%x = f32[3] parameter(0)\n%i = s32[] parameter(1)\n"
        "ROOT %r = f32[3] conditional(%i, %x, %x, %x, %x, %x, %x, %x), "
        "branch_computations={" +
            list + "}\n",
        branches);
  };
  const std::string before = with("%a, %a, %a, %a, %a, %a, %a");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(answer(before, before, seed), "right");
    EXPECT_EQ(answer(before, with("%a, %a, %a, %a, %b, %a, %a"), seed), "wrong");
  }
  // A branch that nothing chooses is named.
  const auto never = module_of(
      "%x = f32[3] parameter(0)\n%i = s32[] constant(0)\n"
      "ROOT %r = f32[3] conditional(%i, %x, %x), "
      "branch_computations={%a, %b}\n",
      branches);
  const Result<Validation> out = validated(never, never);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->answer, Answer::right);
  EXPECT_EQ(out->notes.size(), 1U);
}

TEST(Operations, an_unknown_function_is_one_of_all_that_it_gets) {
  const std::string parameters = "%x = f32[3] parameter(0)\n%y = f32[3] parameter(1)\n";
  const auto calls = [&](const std::string& name, const std::string& operands) {
    return module_of(parameters + "ROOT %r = f32[3] custom-call(" + operands +
                     "), custom_call_target=\"" + name + "\"\n");
  };
  const Result<Validation> same = validated(calls("f", "%x, %y"), calls("f", "%x, %y"));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->answer, Answer::right);
  ASSERT_EQ(same->unknown.size(), 1U);
  EXPECT_EQ(same->unknown[0].first, "custom-call");
  for (const auto& other : {calls("g", "%x, %y"), calls("f", "%y, %x")}) {
    EXPECT_EQ(answer(calls("f", "%x, %y"), other).substr(0, 9), "undecided");
  }
}

}  // namespace
}  // namespace retile::whole::tests
