// retile: what most calls are for, without MPI, a BLAS or a solver.
#include "retile/cli/built.h"
#include "retile/cli/engines.h"
#if !RETILE_WITH_BLAS
#include "retile/cli/module_engine.h"
#endif

int main(int argc, char** argv) {
  retile::cli::Engines engines;
#if !RETILE_WITH_BLAS
  engines.modules = retile::cli::run_module;
#endif
  return retile::cli::main_of(argc, argv, engines);
}
