#include "retile/prove/prove.h"

#include <utility>

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
  if (has_addends(program)) {
    return refuse({.code = Code::unsupported,
                   .message = "a Program with addends is not proved for all devices yet",
                   .notes = {"retile check replays it"}});
  }
  if (!is_even(program)) {
    return refuse({.code = Code::unsupported,
                   .message = "tiles that are not all alike are not proved for all devices yet",
                   .notes = {"retile check replays them"}});
  }
  if (!symbolic::is_regular(program)) return evaluated(program, options);
  auto solvers = Solvers::make(options.solver);
  if (!solvers) return refuse(solvers.error());
  Examination examination(program, options, *std::move(solvers));
  return examination.concluded(Prover<symbolic::Encoder>(examination).decide());
}

}  // namespace retile
