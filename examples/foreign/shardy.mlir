// Printed by the pass sdy-reshard-to-collectives of jaxlib 0.10.2.
module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x"}]>}) {
    %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"y":(2)2}, {"x", "y":(1)2}]> : tensor<16x24xf32>
    %1 = sdy.all_gather [{}, {"y":(1)2}] %0 out_sharding=<@mesh, [{"y":(2)2}, {"x"}]> : tensor<16x24xf32>
    return %1 : tensor<16x24xf32>
  }
}
