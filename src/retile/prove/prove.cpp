#include "retile/prove/prove.h"

#include <utility>

#include "retile/program/grid.h"
#include "retile/prove/encode.h"
#include "retile/prove/examination.h"
#include "retile/prove/prover.h"
#include "retile/prove/solver.h"

namespace retile {

namespace {

/// A proof by looking at every device.
Proof evaluated(const Program& program, const ProveOptions& options) {
  Proof proof;
  proof.method = ProofMethod::evaluation;
  proof.verdict = check(
      program, {.piece_limit = options.piece_limit, .timeout_seconds = options.timeout_seconds});
  if (proof.verdict.answer == Answer::undecided) {
    proof.undecided = proof.verdict.out_of_time ? "the evaluation has no answer in time"
                                                : "the evaluation needs too much memory";
  }
  return proof;
}

}  // namespace

bool solver_is_built() { return true; }

Result<Proof> prove(const Program& program, const ProveOptions& options) {
  if (const auto single = along_one_dim(program)) {
    auto proof = prove(single->program, options);
    if (!proof || proof->verdict.answer != Answer::right) return evaluated(program, options);
    proof->verdict.cost -= single->saved;
    proof->verdict.steps = static_cast<Size>(program.steps.size());
    return proof;
  }
  if (!symbolic::is_regular(program)) return evaluated(program, options);
  auto solvers = Solvers::make(options.solver);
  if (!solvers) return refuse(solvers.error());
  Examination examination(program, options, *std::move(solvers));
  const Decision decision = Prover<symbolic::Encoder>(examination).decide();
  // A sum in which something is wrong, or repeated for no harm, is looked at device by device.
  if (!examination.traces() && decision != Decision::right) return evaluated(program, options);
  return examination.concluded(decision);
}

}  // namespace retile
