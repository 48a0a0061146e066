// retile-run: processes of MPI, and runs of modules.
#include "retile/cli/engines.h"
#include "retile/cli/module_engine.h"
#if RETILE_WITH_MPI
#include "retile/cli/job.h"
#endif

int main(int argc, char** argv) {
  retile::cli::Engines engines;
  engines.modules = retile::cli::run_module;
#if RETILE_WITH_MPI
  engines.job = retile::cli::work_in_job;
#endif
  return retile::cli::main_of(argc, argv, engines);
}
