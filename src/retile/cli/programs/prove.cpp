// retile-prove: proofs by a solver.
#include "retile/cli/engines.h"
#include "retile/cli/proof_engine.h"

int main(int argc, char** argv) {
  return retile::cli::main_of(argc, argv, {.proofs = retile::cli::prove_programs});
}
