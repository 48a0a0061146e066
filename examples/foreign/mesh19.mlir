// MLIR 19: types of tiles; mesh.shard says what the argument and the result are.
module {
  mesh.mesh @m(shape = 2x4)
  func.func @main(%arg0: tensor<8x8xf32>) -> tensor<2x32xf32> {
    %0 = mesh.shard %arg0 to <@m, [[0], [1]]> : tensor<8x8xf32>
    %all_to_all = mesh.all_to_all %0 on @m mesh_axes = [1] split_axis = 0 concat_axis = 1 : tensor<8x8xf32> -> tensor<2x32xf32>
    %1 = mesh.shard %all_to_all to <@m, [[0, 1]]> annotate_for_users : tensor<2x32xf32>
    return %1 : tensor<2x32xf32>
  }
}
