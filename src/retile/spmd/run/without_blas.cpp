// What stands in for blas.cpp where no BLAS was found.
#include "multiplying.h"
#include "retile/core/assert.h"

namespace retile::spmd {

bool blas_is_built() { return false; }

void multiply(const MatrixProduct&, const float*, const float*, float*) {
  RETILE_ASSERT(false, "no BLAS is built in");
}
void multiply(const MatrixProduct&, const double*, const double*, double*) {
  RETILE_ASSERT(false, "no BLAS is built in");
}

}  // namespace retile::spmd
