#include <cblas.h>

#include <utility>

#include "multiplying.h"

namespace retile::spmd {

namespace {

CBLAS_TRANSPOSE turned(bool is_turned) { return is_turned ? CblasTrans : CblasNoTrans; }

/// What both types of elements share; `gemm` is the BLAS's function.
template <typename T, typename Gemm>
void multiply_by(Gemm gemm, const MatrixProduct& p, const T* x, const T* y, T* out) {
  if (p.swapped) std::swap(x, y);
  const int rows = static_cast<int>(p.rows);
  const int columns = static_cast<int>(p.columns);
  const int inner = static_cast<int>(p.inner);
  gemm(CblasRowMajor, turned(p.first_turned), turned(p.second_turned), rows, columns, inner, T{1},
       x, p.first_turned ? rows : inner, y, p.second_turned ? inner : columns, T{0}, out, columns);
}

}  // namespace

bool blas_is_built() { return true; }

void multiply(const MatrixProduct& product, const float* x, const float* y, float* out) {
  multiply_by(cblas_sgemm, product, x, y, out);
}
void multiply(const MatrixProduct& product, const double* x, const double* y, double* out) {
  multiply_by(cblas_dgemm, product, x, y, out);
}

}  // namespace retile::spmd
