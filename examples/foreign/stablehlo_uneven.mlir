// Ten elements over 4 devices, tiles of 3, then over 2, tiles of 5: what lies behind the end is masked, every
// tile is put in its place, the whole is added, cut off and sliced.
#loc = loc("ten")
module @ten attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @m = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<10xf32>) -> tensor<10xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"x", "y"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x", "y"} (%arg1: tensor<3xf32>) {
      %starts = stablehlo.constant dense<"0x00000000030000000600000009000000"> : tensor<4xi32>
      %ends = stablehlo.constant dense<[[0, 0], [5, 5]]> : tensor<2x2xi32>
      %none = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %id = stablehlo.partition_id : tensor<ui32> loc(#loc)
      %one = stablehlo.dynamic_slice %starts, %id, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
      %start = stablehlo.reshape %one : (tensor<1xi32>) -> tensor<i32>
      %iota = stablehlo.iota dim = 0 : tensor<3xi32>
      %from = stablehlo.broadcast_in_dim %start, dims = [] : (tensor<i32>) -> tensor<3xi32>
      %global = stablehlo.add %iota, %from : tensor<3xi32>
      %ten = stablehlo.constant dense<10> : tensor<3xi32>
      %inside = stablehlo.compare LT, %global, %ten, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
      %zeros = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %masked = stablehlo.select %inside, %arg1, %zeros : tensor<3xi1>, tensor<3xf32>
      %empty = stablehlo.constant dense<0.000000e+00> : tensor<12xf32>
      %put = stablehlo.dynamic_update_slice %empty, %masked, %start : (tensor<12xf32>, tensor<3xf32>, tensor<i32>) -> tensor<12xf32>
      %sum = "stablehlo.all_reduce"(%put) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<12xf32>) -> tensor<12xf32>
      %cut = stablehlo.slice %sum [0:10] : (tensor<12xf32>) -> tensor<10xf32>
      %row = stablehlo.reshape %ends : (tensor<2x2xi32>) -> tensor<4xi32>
      %two = stablehlo.dynamic_slice %row, %id, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
      %end = stablehlo.reshape %two : (tensor<1xi32>) -> tensor<i32>
      %fenced = stablehlo.optimization_barrier %cut : tensor<10xf32>
      %tile = stablehlo.dynamic_slice %fenced, %end, sizes = [5] : (tensor<10xf32>, tensor<i32>) -> tensor<5xf32>
      sdy.return %tile : tensor<5xf32>
    } : (tensor<10xf32>) -> tensor<10xf32>
    return %0 : tensor<10xf32>
  }
}
