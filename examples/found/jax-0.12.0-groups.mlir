module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32, sdy.output_shardings = #sdy.sharding_per_value<[<mesh<["x"=2], device_ids=[1, 0]>, [{}]>]>, sdy.parameters_shardings = #sdy.sharding_per_value<[<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}]>]>} {
  sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>
  func.func public @main(%arg0: tensor<1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
