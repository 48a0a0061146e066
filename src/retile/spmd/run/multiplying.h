// Products of two matrices by a BLAS: blas.cpp where the build has one, without_blas.cpp where not.
#pragma once

#include <type_traits>

#include "retile/spmd/arithmetic.h"
#include "retile/spmd/products.h"

namespace retile::spmd {

[[nodiscard]] bool blas_is_built();

/// Overwrites `out` with the product of the operands x and y. Precondition: blas_is_built().
void multiply(const MatrixProduct& product, const float* x, const float* y, float* out);
void multiply(const MatrixProduct& product, const double* x, const double* y, double* out);

/// Numbers of a machine's type, products of matrices by a BLAS. \tparam T  float or double
template <typename T>
struct Multiplying : Machine<T> {
  static bool multiplies() { return blas_is_built(); }
  static void multiply(const MatrixProduct& product, const T* x, const T* y, T* out) {
    spmd::multiply(product, x, y, out);
  }
};

/// What runs compute in.
template <typename T>
using Fastest = std::conditional_t<std::is_floating_point_v<T>, Multiplying<T>, Machine<T>>;

}  // namespace retile::spmd
