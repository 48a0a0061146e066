sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = sdy.replicated_to_unreduced {"z"} %arg0 out_sharding=<@mesh, [{"x", "y"}, {}], unreduced={"z"}> : tensor<8x8xf32>
  %1 = sdy.sharded_to_unreduced [{"y"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y", "z"}> : tensor<8x8xf32>
  %2 = sdy.reduce_scatter [{}, {"y"}] %1 out_sharding=<@mesh, [{"x"}, {"y"}], unreduced={"z"}> : tensor<8x8xf32>
  %3 = sdy.all_reduce {"z"} %2 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
