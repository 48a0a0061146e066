"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}], function_type = (tensor<16x24xf32>) -> tensor<16x24xf32>, res_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x"}]>}], sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x24xf32>):
    %0 = "sdy.collective_permute"(%arg0) <{out_sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x", "y":(1)2}]>}> : (tensor<16x24xf32>) -> tensor<16x24xf32>
    %1 = "sdy.all_gather"(%0) <{gathering_axes = #sdy<list_of_axis_ref_lists[{}, {"y":(1)2}]>, out_sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x"}]>}> : (tensor<16x24xf32>) -> tensor<16x24xf32>
    "func.return"(%1) : (tensor<16x24xf32>) -> ()
  }) : () -> ()
}) : () -> ()
