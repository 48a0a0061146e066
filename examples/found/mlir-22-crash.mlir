shard.grid @mesh(shape = 2x2)
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %s0 = shard.sharding @mesh split_axes = [[]] : !shard.sharding
  %0 = shard.shard %arg0 to %s0 : tensor<2xf32>
  %s1 = shard.sharding @mesh split_axes = [[1, 0]] : !shard.sharding
  %1 = shard.shard %0 to %s1 annotate_for_users : tensor<2xf32>
  return %1 : tensor<2xf32>
}
