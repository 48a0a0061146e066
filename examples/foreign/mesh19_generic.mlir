"builtin.module"() ({
  "mesh.mesh"() <{shape = array<i64: 2, 4>, sym_name = "m"}> : () -> ()
  "func.func"() <{function_type = (tensor<16x8xf32>) -> tensor<16x8xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x8xf32>):
    %0 = "builtin.unrealized_conversion_cast"(%arg0) : (tensor<16x8xf32>) -> tensor<16x2xf32>
    %1 = "mesh.shard"(%0) <{shard = #mesh.shard<@m, [[], [1]], partial = sum[0]>}> : (tensor<16x2xf32>) -> tensor<16x2xf32>
    %2 = "mesh.all_gather"(%1) <{gather_axis = 1 : index, mesh = @m, mesh_axes = array<i16: 1>}> : (tensor<16x2xf32>) -> tensor<16x8xf32>
    %3 = "mesh.reduce_scatter"(%2) <{mesh = @m, mesh_axes = array<i16: 0>, reduction = #mesh.partial<sum>, scatter_axis = 0 : index}> : (tensor<16x8xf32>) -> tensor<8x8xf32>
    %4 = "mesh.shard"(%3) <{annotate_for_users, shard = #mesh.shard<@m, [[0]]>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = "builtin.unrealized_conversion_cast"(%4) : (tensor<8x8xf32>) -> tensor<16x8xf32>
    "func.return"(%4) : (tensor<8x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
