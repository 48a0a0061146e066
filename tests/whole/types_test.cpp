// What keeps evaluation inside of its arrays: every type, extent and number that does not fit is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

struct Unfit {
  std::string body;
  std::string message;  ///< a part of it
  std::string more = "";
};

void expect_refused(const std::vector<Unfit>& all) {
  for (const Unfit& one : all) {
    const std::string text = module_of(one.body, one.more);
    EXPECT_NE(answer(text, text).find(one.message), std::string::npos)
        << one.body << "  " << answer(text, text) << "\n  instead of: " << one.message;
  }
}

TEST(Types, of_numbers) {
  const std::string f = "%x = f32[4] parameter(0)\n%s = s32[4] parameter(1)\n";
  expect_refused({
      {f + "%p = pred[4] compare(%x, %x), direction=LT\n%q = f32[] constant(0)\n"
           "ROOT %r = f32[4] clamp(%q, %x, %s)\n",
       "clamp takes three arrays of its type"},
      {f + "ROOT %r = pred[4] compare(%x, %s), direction=LT\n", "two arrays of one type"},
      {f + "ROOT %r = pred[4] compare(%x), direction=LT\n", "two arrays of one type"},
      {f + "ROOT %r = f32[4] convert(%x, %x)\n", "one array is converted"},
      {f + "ROOT %r = pred[4] is-finite(%s)\n", "of numbers with a point"},
      {f + "ROOT %r = s32[4] real(%s)\n", "parts of complex numbers"},
      {f + "%c = c64[4] complex(%x, %x)\nROOT %r = c64[4] real(%c)\n", "parts of complex numbers"},
      {f + "ROOT %r = f32[4] complex(%x, %x)\n", "a complex number has two parts"},
      {f + "ROOT %r = s32[4] abs(%x)\n", "operands and result have one type"},
      {f + "ROOT %r = f32[4] negate(%s)\n", "operands and result have one type"},
      {f + "ROOT %r = f32[4] atan2(%x)\n", "it takes 2"},
      {f + "%z = f32[] constant(0)\nROOT %r = f32[4] add(%x, %z)\n", "have one shape"},
      {f + "%z = f32[2] constant({0, 1})\nROOT %r = f32[4] clamp(%z, %x, %z)\n", "have one shape"},
      {f + "ROOT %r = f32[4] reshape(%s)\n", "the elements have another type"},
      {f + "ROOT %r = f32[5] copy(%x)\n", "what it makes has another type"},
      {f + "ROOT %r = s32[4] copy(%x)\n", "what it makes has another type"},
      {f + "ROOT %r = c64[] dot(%x, %x), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
       "numbers of one kind"},
      {"ROOT %r = u32[2] partition-id()\n", "it makes u32[]"},
  });
}

TEST(Types, of_what_is_moved) {
  const std::string f = "%x = f32[4] parameter(0)\n%y = f32[2,3] parameter(1)\n";
  expect_refused({
      {f + "ROOT %r = f32[4] reverse(%x), dimensions={1}\n", "dimensions that are there"},
      {"ROOT %r = s32[4] iota(), iota_dimension=1\n", "along a dimension"},
      {f + "ROOT %r = f32[2,3] broadcast(%y), dimensions={0}\n", "every dimension has a place"},
      {f + "ROOT %r = s32[4] broadcast(%x), dimensions={0}\n", "the elements have another type"},
      {f + "ROOT %r = f32[2] transpose(%y), dimensions={0}\n", "every dimension has a place"},
      {f + "ROOT %r = f32[2] slice(%y), slice={[0:2]}\n", "a slice of another rank"},
      {f + "ROOT %r = f32[5] pad(%x, %x), padding=0_1\n", "a scalar to pad with"},
      {f + "%z = s32[] constant(0)\nROOT %r = f32[5] pad(%x, %z), padding=0_1\n",
       "a scalar to pad with"},
      {f + "ROOT %r = f32[8] concatenate(%x, %x), dimensions={1}\n", "along a dimension"},
      {f + "ROOT %r = f32[6] concatenate(%x, %y), dimensions={0}\n", "arrays of one rank"},
      {f + "%z = f32[2,4] parameter(2)\nROOT %r = f32[4,3] concatenate(%y, %z), dimensions={0}\n",
       "differ along one dimension only"},
      {f + "%i = s32[] constant(0)\nROOT %r = f32[2] dynamic-slice(%y, %i, %i), "
           "dynamic_slice_sizes={2,1}\n",
       "a box of the operand's type and rank"},
      {f + "%i = s32[] constant(0)\nROOT %r = f32[2,1] dynamic-slice(%y, %i), "
           "dynamic_slice_sizes={2,1}\n",
       "it takes 3"},
      {f + "%i = f32[] constant(0)\nROOT %r = f32[2] dynamic-slice(%x, %i), "
           "dynamic_slice_sizes={2}\n",
       "starts are integers"},
      {f + "%i = s32[] constant(0)\n%u = f32[2] constant({1, 2})\nROOT %r = f32[9] "
           "dynamic-update-slice(%x, %u, %i)\n",
       "it makes f32[4]"},
      {f + "%a = (f32[4], f32[2,3]) tuple(%x, %y)\nROOT %r = f32[4] get-tuple-element(%a), "
           "index=2\n",
       "no such part"},
  });
}

TEST(Types, of_gathers_and_scatters) {
  const std::string f =
      "%x = f32[4,3] parameter(0)\n%i = s32[2,1] parameter(1)\n%u = f32[2,3] parameter(2)\n";
  const auto gather = [&](const std::string& result, const std::string& what,
                          const std::string& operands = "%x, %i") {
    return f + "ROOT %r = f32" + result + " gather(" + operands + "), " + what + "\n";
  };
  const std::string row = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, ";
  const auto scatter = [&](const std::string& result, const std::string& operands) {
    return f + "%h = f32[2,2] parameter(3)\n%v = s32[2,3] parameter(4)\nROOT %r = " + result +
           " scatter(" + operands +
           "), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%add_f32\n";
  };
  expect_refused({
      {gather("[2,3]", row + "index_vector_dim=1, slice_sizes={1,3}", "%x, %u"),
       "indices are integers"},
      {gather("[2,3]", row + "index_vector_dim=1, slice_sizes={1}"), "sizes for all dimensions"},
      {gather("[2,3]", row + "index_vector_dim=1, slice_sizes={1,2}"),
       "sizes are those of the result"},
      {gather("[2,4]", row + "index_vector_dim=1, slice_sizes={1,4}"), "fits into the operand"},
      {gather("[2,3]",
              "offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,3}"),
       "in the window, or collapsed"},
      {gather("[2,3]",
              "offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,3}"),
       "dimensions that are there"},
      {gather("[2,3]",
              "offset_dims={1}, collapsed_slice_dims={7}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,3}"),
       "dimensions that are there"},
      {gather("[2,3]", row + "index_vector_dim=5, slice_sizes={1,3}"), "stand along a dimension"},
      {gather("[2,1,3]",
              "offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0,1}, "
              "index_vector_dim=2, slice_sizes={1,3}"),
       "an index for each dimension"},
      {gather("[3,3]", row + "index_vector_dim=1, slice_sizes={1,3}"), "a box for each index"},
      {gather("[2]",
              "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
              "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
              "slice_sizes={1,1}"),
       "batches of one extent"},
      {gather("[2]",
              "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
              "operand_batching_dims={0}, start_indices_batching_dims={}, index_vector_dim=1, "
              "slice_sizes={1,1}"),
       "as many dimensions of batches"},
      {"%x = f32[2,3] parameter(0)\n%i = s32[2,1] parameter(1)\nROOT %r = f32[2] gather(%x, %i), "
       "offset_dims={}, collapsed_slice_dims={1}, start_index_map={0}, operand_batching_dims={0}, "
       "start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}\n",
       "a batch has no index"},
      {scatter("f32[3,3]", "%x, %i, %u"), "it makes f32[4,3]"},
      {scatter("f32[4,3]", "%x, %i, %v"), "arrays of one shape"},
      {f + "%h = f32[2,2] parameter(3)\nROOT %r = (f32[4,3], f32[4,3]) scatter(%x, %x, %i, %u, "
           "%h), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%add_f32\n",
       "arrays of one shape"},
  });
}

TEST(Types, of_products) {
  const std::string f = "%x = f32[1,4,2] parameter(0)\n%k = f32[3,2,5] parameter(1)\n";
  const auto convolution = [&](const std::string& result, const std::string& window,
                               const std::string& more = "") {
    return f + "ROOT %r = f32" + result + " convolution(%x, %k), window={" + window +
           "}, dim_labels=b0f_0io->b0f" + more + "\n";
  };
  expect_refused({
      {"%x = f32[2,3] parameter(0)\n%y = f32[2,3] parameter(1)\nROOT %r = f32[3,3] dot(%x, %y), "
       "lhs_contracting_dims={0}, rhs_contracting_dims={}\n",
       "as many dimensions of both factors"},
      {"%x = f32[2,3] parameter(0)\n%y = f32[2,2] parameter(1)\nROOT %r = f32[2,3] dot(%x, %y), "
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={0}, "
       "rhs_contracting_dims={1}\n",
       "dimensions that are there, each once"},
      {convolution("[1,1,5]", "size=4"), "the kernel is the window"},
      {convolution("[1,3,5]", "size=3"), "as many outputs as windows"},
      {convolution("[1,2,4]", "size=3"), "features of the output in groups"},
      {convolution("[2,2,5]", "size=3"), "batches in groups"},
      {convolution("[1,2,5]", "size=3", ", batch_group_count=5"), "batches in groups"},
      {"%x = f32[1,4,2] parameter(0)\n%k = f32[3,3,5] parameter(1)\nROOT %r = f32[1,2,5] "
       "convolution(%x, %k), window={size=3}, dim_labels=b0f_0io->b0f\n",
       "features of the input in groups"},
      {"%x = f32[1,4,2] parameter(0)\n%k = f32[3,2] parameter(1)\nROOT %r = f32[1,2,5] "
       "convolution(%x, %k), window={size=3}, dim_labels=b0f_0io->b0f\n",
       "input, kernel and output of one rank"},
      {convolution("[1,2,5]", "size=3 pad=9223372036854775807_0"), "numbers below 2^31"},
      {"%x = c64[4] parameter(0)\nROOT %r = f32[4] fft(%x), fft_type=FFT, fft_length={4}\n",
       "spectra are complex"},
      {"%x = f32[4] parameter(0)\nROOT %r = c64[4] fft(%x), fft_type=FFT, fft_length={4}\n",
       "spectra are complex"},
      {"%x = c64[4] parameter(0)\nROOT %r = c64[4] fft(%x), fft_type=FFT, fft_length={4,4}\n",
       "lengths of the last dimensions"},
      {"%a = f32[3,2] parameter(0)\n%b = f32[2,2] parameter(1)\nROOT %r = f32[2,2] "
       "triangular-solve(%a, %b), left_side=true, lower=true, unit_diagonal=false, "
       "transpose_a=NO_TRANSPOSE\n",
       "as many equations as unknowns"},
      {"%a = f32[3,3] parameter(0)\n%b = f32[2,2] parameter(1)\nROOT %r = f32[2,2] "
       "triangular-solve(%a, %b), left_side=true, lower=true, unit_diagonal=false, "
       "transpose_a=NO_TRANSPOSE\n",
       "as many equations as unknowns"},
      {"%a = f32[2] parameter(0)\n%b = f32[2] parameter(1)\nROOT %r = f32[2] "
       "triangular-solve(%a, %b), left_side=true, lower=true, unit_diagonal=false, "
       "transpose_a=NO_TRANSPOSE\n",
       "matrices of one rank"},
      {"%a = f32[1,2,2] parameter(0)\n%b = f32[4,2,2] parameter(1)\nROOT %r = f32[4,2,2] "
       "triangular-solve(%a, %b), left_side=true, lower=true, unit_diagonal=false, "
       "transpose_a=NO_TRANSPOSE\n",
       "as many systems"},
  });
}

TEST(Types, of_reductions) {
  const std::string f =
      "%x = f32[4] parameter(0)\n%y = f32[5] parameter(1)\n%z = f32[] constant(0)\n";
  const std::string two =
      "%two (a: f32[], b: f32[], c: f32[], d: f32[]) -> (f32[], f32[]) {\n  %a = f32[] "
      "parameter(0)\n  %b = f32[] parameter(1)\n  %c = f32[] parameter(2)\n  %d = f32[] "
      "parameter(3)\n  ROOT %r = (f32[], f32[]) tuple(%a, %b)\n}\n";
  expect_refused({
      {f + "ROOT %r = f32[] reduce(%x), dimensions={0}, to_apply=%add_f32\n",
       "as many arrays as first values and results"},
      {f + "ROOT %r = (f32[], f32[]) reduce(%x, %y, %z, %z), dimensions={0}, to_apply=%two\n",
       "arrays of one shape", two},
      {f + "ROOT %r = f32[] reduce(%x, %y), dimensions={0}, to_apply=%add_f32\n",
       "a scalar to begin with"},
      {f + "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%two\n", "other types", two},
      {f + "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%less\n", "other types"},
      {f + "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%one\n", "other types",
       "%one (a: f32[]) -> f32[] {\n  ROOT %a = f32[] parameter(0)\n}\n"},
      {f + "ROOT %r = f32[3] reduce-window(%x, %z), window={size=2x2}, to_apply=%add_f32\n",
       "a window of another rank"},
      {f + "ROOT %r = f32[4] reduce-window(%x, %z), window={size=2}, to_apply=%add_f32\n",
       "it makes f32[3]"},
      {f + "ROOT %r = f32[4] select-and-scatter(%x, %y, %z), window={size=2}, select=%at_least, "
           "scatter=%add_f32\n",
       "as many numbers as windows"},
      {f + "%s = s32[3] parameter(2)\nROOT %r = f32[4] select-and-scatter(%x, %s, %z), "
           "window={size=2}, select=%at_least, scatter=%add_f32\n",
       "arrays of one type"},
      {f + "ROOT %r = f32[4] map(%x, %y), dimensions={0}, to_apply=%add_f32\n",
       "arrays of one shape"},
      {f + "ROOT %r = (f32[4], f32[5]) sort(%x, %y), dimensions={0}, to_apply=%four\n",
       "arrays of one shape",
       "%four (a: f32[], b: f32[], c: f32[], d: f32[]) -> pred[] {\n  %a = f32[] parameter(0)\n  "
       "%b = f32[] parameter(1)\n  %c = f32[] parameter(2)\n  %d = f32[] parameter(3)\n  ROOT %r = "
       "pred[] compare(%a, %b), direction=LT\n}\n"},
      {f + "ROOT %t = (f32[6], s32[6]) topk(%x), k=6, largest=true\n", "no more than there are"},
      {f + "ROOT %t = (f32[2], s32[1]) topk(%x), k=2, largest=true\n", "an index for each number"},
      {"%x = c64[4] parameter(0)\nROOT %t = (c64[2], s32[2]) topk(%x), k=2, largest=true\n",
       "numbers along the last dimension"},
  });
}

TEST(Types, of_loops_and_branches) {
  const std::string f = "%x = f32[4] parameter(0)\n%y = f32[5] parameter(1)\n";
  const std::string more =
      "%on (x: f32[4]) -> pred[] {\n  %x = f32[4] parameter(0)\n  ROOT %r = pred[] "
      "constant(false)\n}\n"
      "%on_five (x: f32[5]) -> pred[] {\n  %x = f32[5] parameter(0)\n  ROOT %r = pred[] "
      "constant(false)\n}\n"
      "%on_many (x: f32[4]) -> pred[2] {\n  %x = f32[4] parameter(0)\n  ROOT %r = pred[2] "
      "constant({false, false})\n}\n"
      "%same (x: f32[4]) -> f32[4] {\n  ROOT %x = f32[4] parameter(0)\n}\n"
      "%grows (x: f32[4]) -> f32[8] {\n  %x = f32[4] parameter(0)\n  ROOT %r = f32[8] "
      "concatenate(%x, %x), dimensions={0}\n}\n";
  const std::string loop = "ROOT %r = f32[4] while(%x), condition=";
  const std::string choice = "ROOT %r = f32[4] conditional(";
  expect_refused({
      {f + loop + "%on_five, body=%same\n", "take what the loop takes", more},
      {f + loop + "%on, body=%grows\n", "the body makes what it takes", more},
      {f + "ROOT %r = f32[8] while(%x), condition=%on, body=%same\n",
       "the loop makes what it takes", more},
      {f + loop + "%on_many, body=%same\n", "the condition is a truth value", more},
      {f + "%i = s32[] constant(0)\n" + choice +
           "%i, %y, %x), branch_computations={%same, %same}\n",
       "a branch takes what it is given", more},
      {f + "%i = s32[] constant(0)\n" + choice +
           "%i, %x, %x), branch_computations={%same, %grows}\n",
       "all branches make the same types", more},
      {f + "%i = s32[] constant(0)\n" + choice +
           "%i, %x, %x, %x), branch_computations={%same, %same}\n",
       "as many operands as the branches take", more},
      {f + "%i = s32[2] constant({0, 1})\n" + choice +
           "%i, %x, %x), branch_computations={%same, %same}\n",
       "a number chooses", more},
      {f + "%i = pred[] constant(true)\n" + choice +
           "%i, %x, %x, %x), branch_computations={%same, %same, %same}\n",
       "branches", more},
  });
}

TEST(Types, of_collectives) {
  const auto refused = [](const std::string& body) {
    const std::string text =
        "HloModule m, num_partitions=2\n" + scalar_computations() +
        "ENTRY %main_spmd {\n%x = f32[4] parameter(0)\n%y = f32[3] parameter(1)\n" + body + "}\n";
    return answer(text, text);
  };
  const std::string groups = ", replica_groups={{0,1}}, channel_id=1";
  const std::string all = groups + ", use_global_device_ids=true";
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"ROOT %r = f32[8] all-gather(%x), dimensions={1}" + all + "\n", "along a dimension"},
      {"ROOT %r = f32[4] all-gather(%x), dimensions={0}" + all + "\n", "it makes f32[8]"},
      {"ROOT %r = f32[1] reduce-scatter(%y), dimensions={0}, to_apply=%add_f32" + all + "\n",
       "parts of one extent"},
      {"ROOT %r = f32[4] all-reduce(%x), to_apply=%add_s32" + all + "\n", "other types"},
      {"ROOT %r = f32[3] all-to-all(%y), dimensions={0}" + groups + "\n", "parts of one extent"},
      {"ROOT %r = (f32[4]) all-to-all(%x)" + groups + "\n", "it takes 2"},
      {"ROOT %r = f32[4] collective-permute(%x), source_target_pairs={{0,1},{1,1}}, "
       "channel_id=1\n",
       "target"},
  };
  for (const auto& [body, message] : faults) {
    EXPECT_NE(refused(body).find(message), std::string::npos) << body << "  " << refused(body);
  }
}

TEST(Types, of_texts) {
  const std::string f = "%x = f32[4] parameter(0)\n";
  expect_refused({
      {f + "%a = f32[4] add(%x, %x)\n%a = f32[4] add(%x, %x)\nROOT %r = f32[4] copy(%a)\n",
       "defined twice"},
      {f + "ROOT %r = f32[4] add(%x, %x), frob=3\n", "is not read"},
      {f + "ROOT %r = f32[8] all-gather-done(%x)\n", "nothing of this name has begun"},
  });
  const std::string body =
      "ENTRY %main {\n%x = f32[4] parameter(0)\nROOT %r = f32[4] copy(%x)\n}\n";
  const std::string many = "HloModule m, num_partitions=5000\n" + body;
  EXPECT_EQ(answer(many, many), "more than 4096 devices");
  const std::string s32 = module_of("%x = s32[4] parameter(0)\nROOT %r = s32[4] copy(%x)\n");
  const std::string f32 = module_of("%x = f32[4] parameter(0)\nROOT %r = f32[4] copy(%x)\n");
  EXPECT_EQ(answer(f32, s32), "parameter 0 is f32[4] before, but s32[4] after");
  const std::string two =
      module_of("%x = f32[4] parameter(0)\nROOT %r = (f32[4], f32[4]) tuple(%x, %x)\n");
  EXPECT_EQ(answer(f32, two), "1 result before, but 2 results after");
  EXPECT_EQ(answer(two, f32), "2 results before, but 1 result after");
}

}  // namespace
}  // namespace retile::whole::tests
