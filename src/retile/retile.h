// The library: from a problem to a plan, to a Program, to a verdict or a proof. This header is all
// that a user of these includes; <retile/mpi.h> moves data.
//
//   parse_problem, parse_mesh, parse_type   the paper's notation
//   plan, certify                           the cheapest sequence, and its lower bound in writing
//   lower, program_of                       a plan's Program, step by step for every device
//   to_text, to_json, parse_any             Programs as text and JSON
//   check                                   the verdict on a Program
//   prove                                   the same for all devices at once, by a solver
//   foreign::judge_text                     verdicts on what XLA, JAX, MLIR and DTensor print
//
// Functions return Result<T>, a value or a Diagnostic; render() prints the latter.
#pragma once

#include "retile/check/check.h"
#include "retile/foreign/judge_text.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/prove/prove.h"
