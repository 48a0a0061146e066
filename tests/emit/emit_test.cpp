// Programs in the texts of other systems: their structure, and what is refused.
#include "retile/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "support/values.h"

namespace retile::emit_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Program program(std::string_view mesh, std::string_view from, std::string_view to) {
  return lower(support::value(plan(support::problem(mesh, from, to))));
}

std::string text(std::string_view mesh, std::string_view from, std::string_view to,
                 emit::Form form) {
  return support::value(emit::emit(program(mesh, from, to), form));
}

std::string refusal(const Program& of, emit::Form form) {
  const auto out = emit::emit(of, form);
  return out ? "written" : out.error().message;
}

TEST(Emit, shardy_says_which_devices) {
  Program one = program("x:4", "[1{x}4]", "[4]");
  one.numbers = DeviceNumbers({3, 0, 2, 1});
  const std::string in_order = support::value(emit::emit(one, emit::Form::sdy));
  EXPECT_THAT(in_order, HasSubstr(R"(sdy.mesh @mesh = <["x"=4], device_ids=[3, 0, 2, 1]>)"));
  EXPECT_THAT(in_order, Not(HasSubstr("//")));
  one.numbers = DeviceNumbers({4, 5, 6, 7});
  const std::string of_a_group = support::value(emit::emit(one, emit::Form::sdy));
  EXPECT_THAT(of_a_group, HasSubstr("// devices 4..7, counted as they are listed\nmodule"));
  EXPECT_THAT(of_a_group, Not(HasSubstr("device_ids")));
}

TEST(Emit, shardy_says_a_sharding_for_every_value) {
  EXPECT_EQ(text("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", emit::Form::sdy),
            R"(module @retile {
  sdy.mesh @mesh = <["x"=4, "y"=6]>
  func.func @main(%arg0: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %0 = sdy.all_to_all [{"y":(2)3}: 1->0] %arg0 out_sharding=<@mesh, [{"x", "y":(2)3}, {"y":(1)2}]> : tensor<12x12xf32>
    %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"y", "x":(2)2}, {"x":(1)2}]> : tensor<12x12xf32>
    %2 = sdy.all_to_all [{"x":(2)2}: 0->1] %1 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<12x12xf32>
    return %2 : tensor<12x12xf32>
  }
}
)");
}

TEST(Emit, shardy_adds_by_axes) {
  const std::string sums = text("x:2,y:2", "sum{x}[8]", "[8]", emit::Form::sdy);
  EXPECT_THAT(
      sums,
      HasSubstr(
          R"(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})"));
  EXPECT_THAT(
      sums,
      HasSubstr(
          R"(%0 = sdy.all_slice [{"y"}] %arg0 out_sharding=<@mesh, [{"y"}], unreduced={"x"}>)"));
  EXPECT_THAT(
      sums, HasSubstr(R"(%1 = sdy.reduce_scatter [{"x"}] %0 out_sharding=<@mesh, [{"y", "x"}]>)"));
  EXPECT_THAT(sums, HasSubstr(R"(%2 = sdy.all_gather [{"y", "x"}] %1 out_sharding=<@mesh, [{}]>)"));
  EXPECT_THAT(text("x:2", "max{x}[3]", "[3]", emit::Form::sdy),
              HasSubstr(R"(%0 = sdy.all_reduce max {"x"} %arg0 out_sharding=<@mesh, [{}]>)"));
}

TEST(Emit, without_names_all_devices_are_one_axis) {
  Program of = program("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]");
  of.mesh.reset();
  const std::string out = support::value(emit::emit(of, emit::Form::sdy));
  EXPECT_THAT(out, HasSubstr(R"(sdy.mesh @mesh = <["d"=24]>)"));
  EXPECT_THAT(out, HasSubstr(R"([{"d":(1)4}, {"d":(4)6}])"));
}

TEST(Emit, stablehlo_moves_the_tiles_of_devices) {
  EXPECT_EQ(text("data:4,model:2", "[2{data}8, 4{model}8]", "[8, 2{data}8]", emit::Form::stablehlo),
            R"(// mesh data:4,model:2
// from [2{data}8, 4{model}8]
// to [8, 2{data}8]
module @retile attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4xf32>) -> tensor<8x2xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 0], [4, 1], [2, 2], [6, 3], [1, 4], [5, 5], [3, 6], [7, 7]]> : tensor<8x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<8x2xf32>
    return %2 : tensor<8x2xf32>
  }
}
)");
}

TEST(Emit, stablehlo_slices_by_a_table) {
  const std::string out = text("x:4,y:2", "[2{x}8, 6]", "[1{y,x}8, 6]", emit::Form::stablehlo);
  EXPECT_THAT(out,
              HasSubstr("%0 = stablehlo.constant dense<[0, 1, 0, 1, 0, 1, 0, 1]> : tensor<8xi32>"));
  EXPECT_THAT(out, HasSubstr("%1 = stablehlo.partition_id : tensor<ui32>"));
  EXPECT_THAT(out, HasSubstr("stablehlo.dynamic_slice %arg0, %3, %4, sizes = [1, 6]"));
}

TEST(Emit, hlo_splits_a_dimension_of_its_own) {
  EXPECT_EQ(
      text("x:2", "[3{x}6, 4]", "[6, 2{x}4]", emit::Form::hlo),
      R"(HloModule retile, entry_computation_layout={(f32[3,4]{1,0})->f32[6,2]{1,0}}, num_partitions=2

// mesh x:2
// from [3{x}6, 4]
// to [6, 2{x}4]
ENTRY %main_spmd (param: f32[3,4]) -> f32[6,2] {
  %param = f32[3,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  %reshape.1 = f32[3,2,2]{2,1,0} reshape(%param)
  %all-to-all.2 = f32[3,2,2]{2,1,0} all-to-all(%reshape.1), channel_id=1, replica_groups=[1,2]<=[2], dimensions={1}
  %transpose.3 = f32[2,3,2]{2,1,0} transpose(%all-to-all.2), dimensions={1,0,2}
  %reshape.4 = f32[6,2]{1,0} reshape(%transpose.3)
  ROOT %end = f32[6,2]{1,0} copy(%reshape.4), sharding={devices=[1,2]<=[2]}
}
)");
}

TEST(Emit, hlo_adds_by_a_computation) {
  const std::string out = text("x:4", "max{x}[8]", "[2{x}8]", emit::Form::hlo);
  EXPECT_THAT(out, HasSubstr("%maximum (a: f32[], b: f32[]) -> f32[] {"));
  EXPECT_THAT(out, HasSubstr("%reduce-scatter.1 = f32[2]{0} reduce-scatter(%param), channel_id=1, "
                             "replica_groups=[1,4]<=[4], use_global_device_ids=true, "
                             "dimensions={0}, to_apply=%maximum"));
}

TEST(Emit, elements_are_what_somebody_says) {
  const auto written = [](const char* from, const char* to, emit::Form form, const char* element) {
    auto out = emit::emit(program("x:4", from, to), form, operations::element_kind(element));
    return out ? *out : out.error().message;
  };
  const char* const hlo_text = "%param = bf16[2]{0} parameter(0)";
  EXPECT_THAT(written("[2{x}8]", "[8]", emit::Form::hlo, "bf16"), HasSubstr(hlo_text));
  for (const emit::Form form : {emit::Form::sdy, emit::Form::stablehlo, emit::Form::hlo,
                                emit::Form::mlir19, emit::Form::mlir22}) {
    const std::string of_sums = written("sum{x}[8]", "[2{x}8]", form, "s16");
    EXPECT_THAT(of_sums, HasSubstr(form == emit::Form::hlo ? "s16[" : "xi16>"));
    EXPECT_THAT(of_sums, Not(HasSubstr("f32")));
    EXPECT_EQ(written("sum{x}[8]", "[8]", form, "pred"), "truth values have no sum");
    EXPECT_EQ(written("max{x}[8]", "[8]", form, "c64"),
              "complex numbers have no maximum and no minimum");
  }
  EXPECT_THAT(written("max{x}[8]", "[8]", emit::Form::hlo, "pred"), HasSubstr("pred[] maximum("));
  EXPECT_EQ(written("[2{x}8]", "[8]", emit::Form::hlo, "tf32"), "hlo has no such type of elements");
  EXPECT_THAT(written("[2{x}8]", "[8]", emit::Form::stablehlo, "tf32"), HasSubstr("xtf32>"));
}

TEST(Emit, mlir_moves_along_axes_by_number) {
  EXPECT_EQ(text("x:2,y:4", "[1{y,x}8, 4]", "[4{x}8, 1{y}4]", emit::Form::mlir19),
            R"(// mesh x:2,y:4
// from [1{y,x}8, 4]
// to [4{x}8, 1{y}4]
module {
  mesh.mesh @mesh(shape = 2x4)
  func.func @main(%arg0: tensor<1x4xf32>) -> tensor<4x1xf32> {
    %0 = mesh.all_to_all %arg0 on @mesh mesh_axes = [1] split_axis = 1 concat_axis = 0 : tensor<1x4xf32> -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
}
)");
  const std::string later = text("x:2,y:4", "max{x}[8]", "[2{y}8]", emit::Form::mlir22);
  EXPECT_THAT(later, HasSubstr("shard.grid @mesh(shape = 2x4)"));
  EXPECT_THAT(later, HasSubstr("shard.all_slice %arg0 on @mesh grid_axes = [1] slice_axis = 0 :"));
  EXPECT_THAT(later, HasSubstr("shard.all_reduce %0 on @mesh grid_axes = [0] reduction = max :"));
}

TEST(Emit, jax_and_c_move_in_groups) {
  const std::string python = text("x:2,y:2", "[2{y,x}8]", "[4{x}8]", emit::Form::jax);
  EXPECT_THAT(python, HasSubstr(R"(FROM = (("a0", ), (4, ), (("a0", ), )))"));
  EXPECT_THAT(python, HasSubstr(R"(TO = (("a0", "a1", ), (2, 2, ), (("a0", ), )))"));
  EXPECT_THAT(python, HasSubstr("x = lax.all_gather(x, \"d\", axis=0, "
                                "axis_index_groups=[[0, 1], [2, 3]], tiled=True)"));
  const std::string c = text("x:2,y:2", "[2{y,x}8]", "[4{x}8]", emit::Form::mpi_c);
  EXPECT_THAT(c, HasSubstr("tile = allgather(tile, (const int64_t[]){2}, 0, 2, (const int[]){0, 0, "
                           "1, 1}, (const int[]){0, 1, 0, 1});"));
}

TEST(Emit, what_a_form_cannot_say_is_refused_by_step) {
  const Program exchange = support::value(direct(support::problem("x:2", "[4{x}8]", "[8]")));
  EXPECT_EQ(refusal(exchange, emit::Form::sdy), "step 1 (exchange) is no collective");
  EXPECT_EQ(refusal(exchange, emit::Form::stablehlo), "StableHLO has no exchange");
  EXPECT_EQ(refusal(exchange, emit::Form::mpi_c), "written");
  const Program swap = program("x:2,y:2", "[4{x}8, 4{y}8]", "[4{y}8, 4{x}8]");
  EXPECT_EQ(refusal(swap, emit::Form::mlir19),
            "step 1 (allpermute) is no collective of the dialect mesh");
  const Program uneven = program("x:2,y:2", "[3{y,x}11]", "[6{x}11]");
  EXPECT_EQ(refusal(uneven, emit::Form::stablehlo),
            "tiles that are not all alike are not written as StableHLO yet");
  EXPECT_EQ(refusal(uneven, emit::Form::sdy), "written");
  const auto as_c = emit::emit(uneven, emit::Form::mpi_c);
  ASSERT_FALSE(as_c);
  EXPECT_THAT(render(as_c.error()), HasSubstr("note: `lower --direct` writes one exchange"));
}

}  // namespace
}  // namespace retile::emit_test
