// Several dimensions at once, and a mesh in another order of devices.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=3]>
sdy.mesh @turned = <["x"=2, "y"=2, "z"=3], device_ids=[6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]>
func.func @main(%arg0: tensor<12x12x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}) -> (tensor<12x12x6x4xf32> {sdy.sharding = #sdy.sharding<@turned, [{}, {}, {"x"}, {}]>}) {
  %0 = sdy.all_slice [{}, {}, {"z"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}, {"z"}, {}]> : tensor<12x12x6x4xf32>
  %1 = sdy.all_to_all [{"x"}: 0->2, {"y"}: 1->3] %0 out_sharding=<@mesh, [{}, {}, {"z", "x"}, {"y"}]> : tensor<12x12x6x4xf32>
  %2 = sdy.collective_permute %1 out_sharding=<@turned, [{}, {}, {"x", "z"}, {"y"}]> : tensor<12x12x6x4xf32>
  %3 = sdy.all_gather [{}, {}, {"z"}, {"y"}] %2 out_sharding=<@turned, [{}, {}, {"x"}, {}]> : tensor<12x12x6x4xf32>
  return %3 : tensor<12x12x6x4xf32>
}
