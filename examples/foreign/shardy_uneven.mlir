// Tiles of 6 over 6, 12 and 4 devices begin at other places: one collective needs what others hold.
sdy.mesh @mesh = <["x"=6, "y"=2, "z"=4]>
func.func @main(%arg0: tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x":(1)3}]>}) {
  %0 = sdy.all_to_all [{"y"}: 1->0] %arg0 out_sharding=<@mesh, [{"x", "y"}, {}]> : tensor<6x12xf32>
  %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"y", "x":(3)2, "x":(1)3}, {}]> : tensor<6x12xf32>
  %2 = sdy.all_to_all [{"x":(1)3}: 0->1] %1 out_sharding=<@mesh, [{"y", "x":(3)2}, {"x":(1)3}]> : tensor<6x12xf32>
  %3 = sdy.all_gather [{"x":(3)2}, {}] %2 out_sharding=<@mesh, [{"y"}, {"x":(1)3}]> : tensor<6x12xf32>
  return %3 : tensor<6x12xf32>
}
