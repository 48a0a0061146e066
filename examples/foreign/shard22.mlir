// MLIR 22: the same dialect under its new name.
shard.grid @g(shape = 3x2)
func.func @main(%arg0: tensor<2x6xf32>) -> tensor<6x2xf32> {
  %from = shard.sharding @g split_axes = [[0], []] : !shard.sharding
  %0 = shard.shard %arg0 to %from : tensor<2x6xf32>
  %1 = shard.all_slice %0 on @g grid_axes = [1] slice_axis = 0 : tensor<2x6xf32> -> tensor<1x6xf32>
  %2 = shard.shift %1 on @g grid_axes = [1] shift_axis = 1 offset = 1 rotate : tensor<1x6xf32> -> tensor<1x6xf32>
  %3 = shard.shift %2 on @g grid_axes = [1] shift_axis = 1 offset = -1 rotate : tensor<1x6xf32> -> tensor<1x6xf32>
  %4 = shard.all_gather %3 on @g grid_axes = [1] gather_axis = 0 : tensor<1x6xf32> -> tensor<2x6xf32>
  %5 = shard.all_to_all %4 on @g grid_axes = [0] split_axis = 1 concat_axis = 0 : tensor<2x6xf32> -> tensor<6x2xf32>
  %to = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %6 = shard.shard %5 to %to annotate_for_users : tensor<6x2xf32>
  return %6 : tensor<6x2xf32>
}
