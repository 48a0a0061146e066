// Without shardings: options say the ends. A function that another calls is not judged by itself.
module @calls {
  func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<2x8xf32> {
    %0 = func.call @rows(%arg0) : (tensor<4x4xf32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  func.func private @rows(%a: tensor<4x4xf32>) -> tensor<2x8xf32> {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %padded = stablehlo.pad %a, %c, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x5xf32>
    %left = "stablehlo.slice"(%padded) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x5xf32>) -> tensor<4x2xf32>
    %right = stablehlo.slice %padded [0:4, 2:4:1] : (tensor<4x5xf32>) -> tensor<4x2xf32>
    %both = stablehlo.concatenate %left, %right, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
    %t = stablehlo.transpose %both, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = "stablehlo.transpose"(%t) <{permutation = array<i64: 1, 0>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %moved = "stablehlo.all_to_all"(%u) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<2x8xf32>
    return %moved : tensor<2x8xf32>
  }
}
