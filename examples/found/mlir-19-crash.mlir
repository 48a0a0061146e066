mesh.mesh @mesh(shape = 2x2)
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mesh.shard %arg0 to <@mesh, [[]]> : tensor<2xf32>
  %1 = mesh.shard %0 to <@mesh, [[1, 0]]> annotate_for_users : tensor<2xf32>
  return %1 : tensor<2xf32>
}
