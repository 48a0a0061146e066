// Which extents are divided, and which are not as something looks at single indices along them; and
// mistakes that must be seen at the smaller ones as well.
#include "retile/whole/smaller.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retile/whole/parts.h"
#include "retile/whole/read.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

std::string answer_at(const std::string& before, const std::string& after, Extents extents) {
  const Result<Validation> out =
      validate(before, "before", after, "after", {.draws = 3, .seed = 1, .extents = extents});
  if (!out) return out.error().message;
  std::string text = out->answer == Answer::right   ? "right"
                     : out->answer == Answer::wrong ? "wrong"
                                                    : "undecided: " + out->why;
  for (const auto& [from, to] : out->reduced) {
    text += ", " + std::to_string(from) + " to " + std::to_string(to);
  }
  return text;
}

std::string at_smaller(const std::string& before, const std::string& after) {
  return answer_at(before, after, Extents::reduced);
}

/// A program beside itself.
struct Alone {
  std::string name;
  std::string body;
  std::string expected;
  std::string more = "";
};

void expect_divided(const std::vector<Alone>& all) {
  for (const Alone& one : all) {
    const std::string module = module_of(one.body, one.more);
    EXPECT_EQ(at_smaller(module, module), one.expected) << one.name;
  }
}

const std::string x = "%x = f32[64] parameter(0)\n";
const std::string matrix = "%x = f32[32,64] parameter(0)\n";

TEST(Smaller, what_does_the_same_to_all_elements_does_it_to_a_few) {
  expect_divided({
      {"alone", x + "ROOT %r = f32[64] negate(%x)\n", "right, 64 to 2"},
      {"short ones stay", "%x = f32[3] parameter(0)\nROOT %r = f32[3] negate(%x)\n", "right"},
      {"odd ones keep a divisor", "%x = f32[15] parameter(0)\nROOT %r = f32[15] negate(%x)\n",
       "right, 15 to 3"},
      {"the two of a transpose", matrix + "ROOT %r = f32[64,32] transpose(%x), dimensions={1,0}\n",
       "right, 64 to 2, 32 to 2"},
      {"a product of matrices",
       "%x = f32[8,64] parameter(0)\n%y = f32[64,32] parameter(1)\n"
       "ROOT %r = f32[8,32] dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "right, 64 to 2, 32 to 2, 8 to 2"},
      {"a sum",
       matrix + "%z = f32[] constant(0)\n"
                "ROOT %r = f32[32] reduce(%x, %z), dimensions={1}, to_apply=%add_f32\n",
       "right, 64 to 2, 32 to 2"},
      {"features of a convolution, not its positions",
       "%x = f32[8,10,64] parameter(0)\n%k = f32[3,64,32] parameter(1)\n"
       "ROOT %r = f32[8,8,32] convolution(%x, %k), window={size=3}, dim_labels=b0f_0io->b0f\n",
       "right, 64 to 2, 32 to 2, 8 to 2"},
  });
}

TEST(Smaller, whatever_looks_at_single_indices_needs_them_all) {
  expect_divided({
      {"backwards", matrix + "ROOT %r = f32[32,64] reverse(%x), dimensions={1}\n",
       "right, 32 to 2"},
      {"a sorted dimension",
       matrix + "ROOT %r = f32[32,64] sort(%x), dimensions={1}, to_apply=%less\n",
       "right, 32 to 2"},
      {"windows",
       matrix + "%z = f32[] constant(0)\nROOT %r = f32[32,62] reduce-window(%x, %z), "
                "window={size=1x3}, to_apply=%add_f32\n",
       "right, 32 to 2"},
      {"a transform",
       "%x = c64[32,64] parameter(0)\n"
       "ROOT %r = c64[32,64] fft(%x), fft_type=FFT, fft_length={64}\n",
       "right, 32 to 2"},
      {"a solved system",
       "%a = f32[32,4,4] parameter(0)\n%b = f32[32,4,8] parameter(1)\nROOT %r = f32[32,4,8] "
       "triangular-solve(%a, %b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE\n",
       "right, 32 to 2"},
      {"strides", matrix + "ROOT %r = f32[32,32] slice(%x), slice={[0:32], [0:64:2]}\n",
       "right, 32 to 2"},
      {"gaps",
       matrix + "%z = f32[] constant(0)\nROOT %r = f32[32,127] pad(%x, %z), "
                "padding=0_0x0_0_1\n",
       "right, 32 to 2"},
      {"a table",
       "%x = f32[4] parameter(0)\n%c = f32[4] constant({1, 2, 3, 4})\n"
       "ROOT %r = f32[4] add(%x, %c)\n",
       "right"},
      {"numbers with a point that count",
       x + "%i = f32[64] iota(), iota_dimension=0\nROOT %r = f32[64] add(%x, %i)\n", "right"},
      {"what nobody understands",
       matrix + "ROOT %r = f32[32,64] custom-call(%x), custom_call_target=\"f\"\n", "right"},
      {"drawn numbers",
       "%a = f32[] constant(0)\n%b = f32[] constant(1)\n"
       "ROOT %r = f32[64] rng(%a, %b), distribution=rng_uniform\n",
       "right"},
      {"rows that data name",
       matrix + "%i = s32[8,1] parameter(1)\nROOT %r = f32[8,64] gather(%x, %i), "
                "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                "index_vector_dim=1, slice_sizes={1,64}\n",
       "right, 64 to 2, 8 to 2"},
      {"rows that are added where data name",
       matrix + "%i = s32[8,1] parameter(1)\n%u = f32[8,64] parameter(2)\n"
                "ROOT %r = f32[32,64] scatter(%x, %i, %u), update_window_dims={1}, "
                "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                "to_apply=%add_f32\n",
       "right, 64 to 2, 8 to 2"},
      {"the largest few",
       matrix + "%t = (f32[32,8], s32[32,8]) topk(%x), k=8, largest=true\n"
                "ROOT %r = f32[32,8] get-tuple-element(%t), index=0\n",
       "right, 32 to 2"},
  });
}

TEST(Smaller, boxes_begin_behind_multiples) {
  expect_divided({
      {"a slice", x + "ROOT %r = f32[32] slice(%x), slice={[16:48]}\n", "right, 64 to 4, 32 to 2"},
      {"one that begins elsewhere", x + "ROOT %r = f32[32] slice(%x), slice={[1:33]}\n", "right"},
      {"padding", x + "%z = f32[] constant(0)\nROOT %r = f32[80] pad(%x, %z), padding=16_0\n",
       "right, 80 to 5, 64 to 4"},
      {"odd padding", x + "%z = f32[] constant(0)\nROOT %r = f32[80] pad(%x, %z), padding=7_9\n",
       "right"},
      {"put together",
       x + "%y = f32[32] parameter(1)\nROOT %r = f32[96] concatenate(%y, %x), dimensions={0}\n",
       "right, 96 to 6, 64 to 4, 32 to 2"},
      {"put together behind an odd one",
       x + "%y = f32[3] parameter(1)\nROOT %r = f32[67] concatenate(%y, %x), dimensions={0}\n",
       "right"},
      {"a constant start",
       x + "%i = s32[] constant(16)\n"
           "ROOT %r = f32[32] dynamic-slice(%x, %i), dynamic_slice_sizes={32}\n",
       "right, 64 to 4, 32 to 2"},
      {"an odd start",
       x + "%i = s32[] constant(5)\n"
           "ROOT %r = f32[32] dynamic-slice(%x, %i), dynamic_slice_sizes={32}\n",
       "right"},
      {"a start that is computed",
       x + "%a = s32[] constant(8)\n%b = s32[] constant(24)\n%i = s32[] add(%a, %b)\n"
           "ROOT %r = f32[32] dynamic-slice(%x, %i), dynamic_slice_sizes={32}\n",
       "right, 64 to 8, 32 to 4"},
      {"a start that is multiplied",
       x + "%n = s32[] parameter(1)\n%k = s32[] constant(16)\n%i = s32[] multiply(%n, %k)\n"
           "ROOT %r = f32[16] dynamic-slice(%x, %i), dynamic_slice_sizes={16}\n",
       "right, 64 to 8, 16 to 2"},
      {"one constant for two dimensions",
       "%x = f32[64,60] parameter(0)\n%i = s32[] constant(12)\n%j = s32[] constant(4)\n"
       "ROOT %r = f32[32,12] dynamic-slice(%x, %j, %i), dynamic_slice_sizes={32,12}\n",
       "right, 64 to 16, 60 to 10, 32 to 8, 12 to 2"},
      {"data as a start",
       x + "%i = s32[] parameter(1)\n"
           "ROOT %r = f32[32] dynamic-slice(%x, %i), dynamic_slice_sizes={32}\n",
       "right"},
      {"data as a start of all",
       x + "%i = s32[] parameter(1)\n"
           "ROOT %r = f32[64] dynamic-slice(%x, %i), dynamic_slice_sizes={64}\n",
       "right, 64 to 2"},
      {"an update",
       x + "%y = f32[32] parameter(1)\n%i = s32[] constant(16)\n"
           "ROOT %r = f32[64] dynamic-update-slice(%x, %y, %i)\n",
       "right, 64 to 4, 32 to 2"},
      {"a remainder",
       x + "%i = s32[] constant(48)\n%k = s32[] constant(32)\n%m = s32[] remainder(%i, %k)\n"
           "ROOT %r = f32[16] dynamic-slice(%x, %m), dynamic_slice_sizes={16}\n",
       "right, 64 to 8, 16 to 2"},
      {"a product of a number and one that counts",
       x + "%i = s32[] constant(4)\n%m = s32[] multiply(%i, %i)\n"
           "ROOT %r = f32[16] dynamic-slice(%x, %m), dynamic_slice_sizes={16}\n",
       "right, 64 to 16, 16 to 4"},
      {"a product of two that count",
       x + "%i = s32[] constant(4)\n%j = s32[] add(%i, %i)\n%m = s32[] multiply(%j, %j)\n"
           "%a = f32[16] dynamic-slice(%x, %m), dynamic_slice_sizes={16}\n"
           "%b = f32[16] dynamic-slice(%x, %j), dynamic_slice_sizes={16}\n"
           "ROOT %r = f32[16] add(%a, %b)\n",
       "right"},
      {"bits",
       x + "%i = s32[] constant(48)\n%k = s32[] constant(32)\n%m = s32[] and(%i, %k)\n"
           "ROOT %r = f32[16] dynamic-slice(%x, %m), dynamic_slice_sizes={16}\n",
       "right"},
  });
}

TEST(Smaller, parts_of_a_dimension_are_dimensions) {
  expect_divided({
      {"merged", "%x = f32[8,64] parameter(0)\nROOT %r = f32[512] reshape(%x)\n",
       "right, 512 to 4, 64 to 2, 8 to 2"},
      {"split and transposed",
       "%x = f32[512] parameter(0)\n%s = f32[8,64] reshape(%x)\n"
       "ROOT %r = f32[64,8] transpose(%s), dimensions={1,0}\n",
       "right, 512 to 4, 64 to 2, 8 to 2"},
      {"split in two ways",
       "%x = f32[512] parameter(0)\n%s = f32[8,64] reshape(%x)\n%t = f32[32,16] reshape(%x)\n"
       "ROOT %r = (f32[8,64], f32[32,16]) tuple(%s, %t)\n",
       "right, 512 to 8, 64 to 4, 32 to 4, 16 to 2, 8 to 2"},
      {"split in ways that have no parts in common",
       "%x = f32[24] parameter(0)\n%s = f32[4,6] reshape(%x)\n%t = f32[6,4] reshape(%x)\n"
       "ROOT %r = (f32[4,6], f32[6,4]) tuple(%s, %t)\n",
       "right"},
      {"whole rows of a merged one",
       "%x = f32[8,64] parameter(0)\n%m = f32[512] reshape(%x)\n"
       "ROOT %r = f32[256] slice(%m), slice={[128:384]}\n",
       "right, 512 to 8, 256 to 4, 64 to 2, 8 to 4"},
      {"parts of rows of a merged one",
       "%x = f32[8,64] parameter(0)\n%m = f32[512] reshape(%x)\n"
       "ROOT %r = f32[256] slice(%m), slice={[32:288]}\n",
       "right"},
      {"a part that is backwards",
       "%x = f32[512] parameter(0)\n%s = f32[8,64] reshape(%x)\n"
       "ROOT %r = f32[8,64] reverse(%s), dimensions={1}\n",
       "right, 512 to 128, 8 to 2"},
  });
}

TEST(Smaller, places_may_be_compared) {
  const std::string mask =
      "%x = f32[64,64] parameter(0)\n%z = f32[] constant(0)\n"
      "%zs = f32[64,64] broadcast(%z), dimensions={}\n"
      "%i = s32[64,64] iota(), iota_dimension=0\n%j = s32[64,64] iota(), iota_dimension=1\n";
  const auto masked = [&](const std::string& condition) {
    return mask + condition + "ROOT %r = f32[64,64] select(%m, %x, %zs)\n";
  };
  expect_divided({
      {"a triangle", masked("%m = pred[64,64] compare(%i, %j), direction=GE\n"), "right, 64 to 4"},
      {"from a row on",
       masked("%c = s32[] constant(16)\n%cs = s32[64,64] broadcast(%c), dimensions={}\n"
              "%k = s32[64,64] add(%j, %cs)\n"
              "%m = pred[64,64] compare(%i, %k), direction=GE\n"),
       "right, 64 to 16"},
      {"from the next row on",
       masked("%c = s32[] constant(1)\n%cs = s32[64,64] broadcast(%c), dimensions={}\n"
              "%k = s32[64,64] add(%j, %cs)\n"
              "%m = pred[64,64] compare(%i, %k), direction=GE\n"),
       "right"},
      {"the difference of two",
       masked("%c = s32[] constant(32)\n%cs = s32[64,64] broadcast(%c), dimensions={}\n"
              "%k = s32[64,64] subtract(%i, %j)\n"
              "%m = pred[64,64] compare(%k, %cs), direction=LT\n"),
       "right"},
      {"the sum of two",
       masked("%c = s32[] constant(32)\n%cs = s32[64,64] broadcast(%c), dimensions={}\n"
              "%k = s32[64,64] add(%i, %j)\n"
              "%m = pred[64,64] compare(%k, %cs), direction=LT\n"),
       "right"},
      {"how far it is to the end",
       masked("%c = s32[] constant(32)\n%cs = s32[64,64] broadcast(%c), dimensions={}\n"
              "%k = s32[64,64] subtract(%cs, %i)\n"
              "%m = pred[64,64] compare(%k, %j), direction=LT\n"),
       "right"},
      {"compared with data",
       "%x = s32[64] parameter(0)\n%i = s32[64] iota(), iota_dimension=0\n"
       "ROOT %r = pred[64] compare(%i, %x), direction=EQ\n",
       "right"},
      {"as a result", "ROOT %r = s32[64] iota(), iota_dimension=0\n", "right"},
      {"as data",
       "%x = f32[64] parameter(0)\n%i = s32[64] iota(), iota_dimension=0\n"
       "%f = f32[64] convert(%i)\nROOT %r = f32[64] add(%x, %f)\n",
       "right"},
  });
}

TEST(Smaller, loops_and_branches_have_the_dimensions_of_what_they_take) {
  const std::string loop =
      "%i = s32[] parameter(0)\n%v = f32[64] parameter(1)\n%t = (s32[], f32[64]) tuple(%i, %v)\n"
      "%w = (s32[], f32[64]) while(%t), condition=%c, body=%b\n"
      "ROOT %r = f32[64] get-tuple-element(%w), index=1\n";
  const auto computations = [](const std::string& step) {
    return "%c (p: (s32[], f32[64])) -> pred[] {\n  %p = (s32[], f32[64]) parameter(0)\n"
           "  %i = s32[] get-tuple-element(%p), index=0\n  %n = s32[] constant(3)\n"
           "  ROOT %r = pred[] compare(%i, %n), direction=LT\n}\n"
           "%b (p: (s32[], f32[64])) -> (s32[], f32[64]) {\n  %p = (s32[], f32[64]) parameter(0)\n"
           "  %i = s32[] get-tuple-element(%p), index=0\n"
           "  %v = f32[64] get-tuple-element(%p), index=1\n  %o = s32[] constant(1)\n"
           "  %k = s32[] add(%i, %o)\n" +
           step + "  ROOT %r = (s32[], f32[64]) tuple(%k, %s)\n}\n";
  };
  const std::string branch =
      "%x = f32[64] parameter(0)\n%p = pred[] parameter(1)\n"
      "ROOT %r = f32[64] conditional(%p, %x, %x), true_computation=%a, false_computation=%b\n";
  const auto branches = [](const std::string& one) {
    return "%a {\n  %x = f32[64] parameter(0)\n  ROOT %r = f32[64] " + one +
           "\n}\n%b {\n  %x = f32[64] parameter(0)\n  ROOT %r = f32[64] negate(%x)\n}\n";
  };
  expect_divided({
      {"a loop", loop, "right, 64 to 2", computations("  %s = f32[64] negate(%v)\n")},
      {"a loop that reverses", loop, "right",
       computations("  %s = f32[64] reverse(%v), dimensions={0}\n")},
      {"a loop that reads a part of what it takes", loop, "right, 64 to 4, 32 to 2",
       computations("  %h = f32[32] slice(%v), slice={[16:48]}\n  %z = f32[] constant(0)\n"
                    "  %q = f32[] reduce(%h, %z), dimensions={0}, to_apply=%add_f32\n"
                    "  %s = f32[64] broadcast(%q), dimensions={}\n")},
      {"a branch", branch, "right, 64 to 2", branches("copy(%x)")},
      {"a branch that reverses", branch, "right", branches("reverse(%x), dimensions={0}")},
  });
}

std::string tiled_on(int devices, const std::string& name, const std::string& body) {
  return "HloModule m, num_partitions=" + std::to_string(devices) + "\n" + scalar_computations() +
         "ENTRY %" + name + " {\n" + body + "}\n";
}

/// Rows of 64 in four tiles, put together again.
struct Tiled {
  std::string name;
  std::string after;
  std::string expected;
};

TEST(Smaller, tiles_are_divided_as_their_arrays_are) {
  const std::string before = tiled_on(4, "main",
                                      "%x = f32[64,8] parameter(0), sharding={devices=[4,1]<=[4]}\n"
                                      "ROOT %r = f32[64,8] negate(%x), sharding={replicated}\n");
  const std::string tile = "%x = f32[16,8] parameter(0)\n%n = f32[16,8] negate(%x)\n";
  const std::string gather =
      "all-gather(%n), channel_id=1, replica_groups={{0,1,2,3}}, "
      "dimensions={0}, use_global_device_ids=true\n";
  const std::string place =
      "%z = f32[] constant(0)\n%b = f32[64,8] broadcast(%z), dimensions={}\n%i = s32[] "
      "constant(0)\n%p = u32[] partition-id()\n%q = s32[] convert(%p)\n%k = s32[] constant(";
  const std::string put =
      ")\n%o = s32[] multiply(%q, %k)\n"
      "%u = f32[64,8] dynamic-update-slice(%b, %n, %o, %i)\n"
      "ROOT %r = f32[64,8] all-reduce(%u), channel_id=1, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, to_apply=%add_f32\n";
  const std::string sizes = ", 64 to 8, 8 to 2";
  const std::vector<Tiled> all = {
      {"gathered", "ROOT %r = f32[64,8] " + gather, "right" + sizes},
      {"gathered in another order",
       "ROOT %r = f32[64,8] " + replaced(gather, "{0,1,2,3}", "{0,2,1,3}"), "wrong" + sizes},
      {"put in their places", place + "16" + put, "right" + sizes},
      {"put in other places", place + "8" + put, "wrong, 64 to 8, 8 to 2"},
      {"put in places nobody cuts at", place + "15" + put, "wrong, 8 to 2"},
      {"without a sign", "ROOT %r = f32[64,8] " + replaced(gather, "%n", "%x"), "wrong" + sizes},
  };
  for (const Tiled& one : all) {
    const std::string after = tiled_on(4, "main_spmd", tile + one.after);
    EXPECT_EQ(at_smaller(before, after), one.expected) << one.name;
    EXPECT_EQ(answer_at(before, after, Extents::full), one.expected.substr(0, 5)) << one.name;
  }
}

TEST(Smaller, tiles_that_are_cut_unevenly_stay_what_they_are) {
  const std::string before =
      tiled_on(4, "main",
               "%x = f32[40,10] parameter(0), sharding={devices=[1,4]<=[4]}\n"
               "ROOT %r = f32[40,10] negate(%x), sharding={devices=[1,4]<=[4]}\n");
  const std::string after =
      tiled_on(4, "main_spmd", "%x = f32[40,3] parameter(0)\nROOT %r = f32[40,3] negate(%x)\n");
  EXPECT_EQ(at_smaller(before, after), "right, 40 to 2");
}

/// Two programs that are not the same: smaller extents must not hide it.
TEST(Smaller, mistakes_stay_mistakes) {
  const std::string square = "%x = f32[64,64] parameter(0)\n%y = f32[64,64] parameter(1)\n";
  const auto product = [&](const std::string& operands) {
    return module_of(square + "ROOT %r = f32[64,64] dot(" + operands +
                     "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  };
  EXPECT_EQ(at_smaller(product("%x, %y"), product("%y, %x")), "wrong, 64 to 2");
  const auto masked = [&](const std::string& direction) {
    return module_of(
        square +
        "%i = s32[64,64] iota(), iota_dimension=0\n%j = s32[64,64] iota(), iota_dimension=1\n"
        "%m = pred[64,64] compare(%i, %j), direction=" +
        direction + "\nROOT %r = f32[64,64] select(%m, %x, %y)\n");
  };
  EXPECT_EQ(at_smaller(masked("GE"), masked("GT")), "wrong, 64 to 4");
  const auto last_row = [&](const std::string& number) {
    return module_of(square + "%i = s32[64,64] iota(), iota_dimension=0\n%c = s32[] constant(" +
                     number +
                     ")\n%cs = s32[64,64] broadcast(%c), dimensions={}\n"
                     "%m = pred[64,64] compare(%i, %cs), direction=LT\n"
                     "ROOT %r = f32[64,64] select(%m, %x, %y)\n");
  };
  EXPECT_EQ(at_smaller(last_row("64"), last_row("63")), "wrong, 64 to 2");
  EXPECT_EQ(at_smaller(last_row("64"), last_row("32")), "wrong, 64 to 8, 64 to 2");
}

/// Whoever counts elements finds fewer of them, so all of them are looked at, if they can be.
TEST(Smaller, numbers_of_elements_may_be_what_differs) {
  const auto mean = [](const std::string& extent, const std::string& number) {
    return module_of("%x = f32[" + extent + "] parameter(0)\n%z = f32[] constant(0)\n" +
                     "%s = f32[] reduce(%x, %z), dimensions={0}, to_apply=%add_f32\n" + number +
                     "ROOT %r = f32[] divide(%s, %n)\n");
  };
  const auto said = [](const std::string& extent) {
    return "%n = f32[] constant(" + extent + ")\n";
  };
  const auto counted = [](const std::string& extent) {
    return "%o = f32[] constant(1)\n%os = f32[" + extent +
           "] broadcast(%o), dimensions={}\n"
           "%n = f32[] reduce(%os, %z), dimensions={0}, to_apply=%add_f32\n";
  };
  const std::string n = "64";
  EXPECT_EQ(at_smaller(mean(n, said(n)), mean(n, counted(n))), "right");
  EXPECT_EQ(at_smaller(mean(n, said("128")), mean(n, counted(n))), "wrong");
  EXPECT_EQ(at_smaller(mean(n, said(n)), mean(n, said(n))), "right, 64 to 2");
  EXPECT_EQ(at_smaller(mean(n, counted(n)), mean(n, counted(n))), "right, 64 to 2");
  const std::string whole_said = "%c = s32[] constant(64)\n%n = f32[] convert(%c)\n";
  const std::string whole_counted =
      "%o = s32[] constant(1)\n%os = s32[64] broadcast(%o), dimensions={}\n%y = s32[] constant(0)\n"
      "%c = s32[] reduce(%os, %y), dimensions={0}, to_apply=%add_s32\n%n = f32[] convert(%c)\n";
  EXPECT_EQ(at_smaller(mean(n, whole_said), mean(n, whole_counted)), "right");
  const std::string cube =
      "%x = f32[4,4,4] parameter(0)\n%z = f32[] constant(0)\n%y = s32[] constant(0)\n"
      "%s = f32[] reduce(%x, %z), dimensions={0,1,2}, to_apply=%add_f32\n"
      "%o = s32[] constant(1)\n%os = s32[4,4,4] broadcast(%o), dimensions={}\n";
  const std::string quotient = "%n = f32[] convert(%c)\nROOT %r = f32[] divide(%s, %n)\n";
  EXPECT_EQ(at_smaller(module_of(cube + "%c = s32[] constant(64)\n" + quotient),
                       module_of(cube +
                                 "%c = s32[] reduce(%os, %y), dimensions={0,1,2}, "
                                 "to_apply=%add_s32\n" +
                                 quotient)),
            "right");
  // Nobody sees that each of these is 1.
  const std::string unseen =
      "%e = pred[64] compare(%x, %x), direction=EQ\n%os = s32[64] convert(%e)\n"
      "%y = s32[] constant(0)\n%c = s32[] reduce(%os, %y), dimensions={0}, to_apply=%add_s32\n"
      "%n = f32[] convert(%c)\n";
  EXPECT_EQ(at_smaller(mean(n, whole_said), mean(n, unseen)), "right");
  const std::string many = "1048576";
  const Result<Validation> large =
      validate(mean(many, said(many)), "before", mean(many, counted(many)), "after",
               {.seed = 1, .most_bytes = 1 << 20, .extents = Extents::reduced});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->answer, Answer::undecided);
  EXPECT_EQ(large->why, "with smaller extents it differs, but a constant may count elements");
}

TEST(Smaller, is_what_takes_long) {
  const std::string large =
      "%x = f32[4096,4096] parameter(0)\nROOT %r = f32[4096,4096] dot(%x, %x), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  EXPECT_EQ(answer_at(module_of(large), module_of(large), Extents::automatic), "right, 4096 to 8");
  const std::string small = module_of(x + "ROOT %r = f32[64] negate(%x)\n");
  EXPECT_EQ(answer_at(small, small, Extents::automatic), "right");
  EXPECT_EQ(answer_at(small, small, Extents::full), "right");
}

/// A transformer block with a causal mask as JAX cuts it for 2 x 4 devices.
TEST(Smaller, mistakes_in_a_block_of_real_size) {
  const std::string before = text_of("block.before.hlo");
  const std::string after = text_of("block.after.hlo");
  const std::string sizes = ", 16384 to 32, 4096 to 8, 2048 to 8, 128 to 8";
  EXPECT_EQ(answer_at(before, after, Extents::automatic), "right" + sizes);
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"direction=GE", "direction=GT"},
      {"compare(%iota.13, %iota.15)", "compare(%iota.15, %iota.13)"},
      {"replica_groups=[2,4]<=[8]", "replica_groups=[2,4]<=[4,2]T(1,0)"},
      {"add(%param, %all-reduce)", "add(%param, %dot.5)"},
      {"add(%sharding_constraint.15, %all-reduce.1)", "add(%param, %all-reduce.1)"},
      {"dot(%sharding_constraint.13, %sharding_constraint.14)",
       "dot(%sharding_constraint.14, %sharding_constraint.13)"},
      {"dot(%mul.47, %param.3)", "dot(%mul.47, %param.2)"},
      {"dot(%mul.47, %param.4)", "dot(%param, %param.4)"},
  };
  for (const auto& [old, other] : mistakes) {
    EXPECT_EQ(answer_at(before, replaced(after, old, other), Extents::automatic), "wrong" + sizes)
        << other;
  }
}

// ---- Parts --------------------------------------------------------------------------------------

TEST(Parts, of_one_size_are_one) {
  Parts parts;
  const PartList a = parts.fresh(64);
  const PartList b = parts.fresh(64);
  parts.unify(a, b);
  parts.cut_at(a, 24);
  EXPECT_EQ(parts.factor(b, 2), 8);
}

TEST(Parts, of_another_size_are_a_tile_of_it) {
  Parts parts;
  const PartList whole = parts.fresh(64);
  const PartList tile = parts.fresh(16);
  parts.unify(whole, tile, true);
  EXPECT_EQ(parts.factor(whole, 2), 8);
  EXPECT_EQ(parts.factor(tile, 2), 8);
  EXPECT_EQ(parts.factor(tile, 1), 16);
}

TEST(Parts, have_divisors_that_all_their_members_have) {
  Parts parts;
  const PartList whole = parts.fresh(36);
  const PartList tile = parts.fresh(9);
  parts.unify(whole, tile, true);
  EXPECT_EQ(parts.factor(whole, 2), 3);  // 36 / 4 would leave 9 / 4
}

PartList merged(const PartList& major, const PartList& minor) {
  PartList out = major;
  out.insert(out.end(), minor.begin(), minor.end());
  return out;
}

TEST(Parts, stay_frozen_where_they_are_cut) {
  Parts parts;
  const PartList whole = parts.fresh(64);
  parts.freeze(whole);
  const PartList major = parts.fresh(4);
  const PartList minor = parts.fresh(16);
  parts.unify(whole, merged(major, minor));
  EXPECT_EQ(parts.factor(major, 1), 1);
  EXPECT_EQ(parts.factor(minor, 1), 1);
}

TEST(Parts, are_cut_where_all_members_can_be) {
  Parts parts;
  const PartList whole = parts.fresh(12);
  const PartList tile = parts.fresh(6);
  parts.unify(whole, tile, true);
  parts.unify(whole, merged(parts.fresh(3), parts.fresh(4)));  // the tile has no 4
  EXPECT_EQ(parts.factor(tile, 1), 1);
}

TEST(Parts, that_a_tile_lacks_are_frozen) {
  for (const bool is_first : {true, false}) {
    Parts parts;
    const PartList major = parts.fresh(4);
    const PartList minor = parts.fresh(16);
    const PartList whole = merged(major, minor);
    const PartList tile = parts.fresh(16);
    is_first ? parts.unify(whole, tile, true) : parts.unify(tile, whole, true);
    EXPECT_EQ(parts.factor(major, 1), 1);
    EXPECT_EQ(parts.factor(minor, 1), 8);
  }
}

TEST(Parts, are_cut_where_one_is_made_of_two) {
  Parts parts;
  const PartList whole = parts.fresh(64);
  const PartList major = parts.fresh(4);
  const PartList minor = parts.fresh(16);
  parts.unify(whole, merged(major, minor));
  parts.freeze(minor);
  EXPECT_EQ(parts.resolved(whole).size(), 2U);
  EXPECT_EQ(parts.factor(whole, 2), 2);
  parts.cut_at(whole, 8);  // in the middle of a row
  EXPECT_EQ(parts.factor(major, 1), 1);
}

TEST(Parts, keep_two_of_the_longest) {
  Parts parts;
  const PartList alone = parts.fresh(64);
  EXPECT_EQ(parts.factor(alone, 1), 32);
  EXPECT_EQ(parts.factor(alone, 8), 8);
  EXPECT_EQ(parts.factor(parts.fresh(1), 1), 1);
}

}  // namespace
}  // namespace retile::whole::tests
