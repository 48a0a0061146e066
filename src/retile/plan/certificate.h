// Certificates: why nothing is cheaper than a plan's lower bound, in lines that can be checked one
// by one, without a search and without trusting the planner.
//
// A *potential* of a tile shape is the least cost of a weak sequence from there to the target, and
// the least with a permutation on the way; shapes without one are at least as dear as the lower
// bound. A *refutation* is a state that slices, alltoalls and gathers can come to below the lower
// bound: it is not the target, whatever the slices are, and what can follow below the lower bound
// is refuted too. Both are found here by plain searches that share nothing with the planner's.
//
// Among steps along several dimensions no lines are needed: so few costs are possible (S13) that the
// oracle tries all that could be cheaper.
//
// Of plans between addends there are potentials alone, of a tile shape and the number of addends.
// They prove W; and no line is needed for a bound that is not above the new tile (PS5).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/plan/plan.h"

namespace retile {

struct Certificate {
  struct Potential {
    Shape tile;
    Size cost = 0;
    Size permuted = 0;
  };
  /// What is sliced, and the steps after that: from_dim, to_dim, factor; a gather has to_dim =
  /// rank.
  struct Refutation {
    Shape bottom;
    std::vector<std::array<Size, 3>> steps;
  };
  /// The least cost from a tile shape, where a device holds one of so many addends.
  struct OfAddends {
    Shape tile;
    Size addends = 1;
    Size cost = 0;
  };
  Size lower_bound = 0;
  Scope scope = Scope::one_dim;            ///< among which steps
  std::vector<Potential> potentials;       ///< by tile shape, ascending
  std::vector<Refutation> refutations;     ///< bottom by bottom, cheapest first
  std::vector<OfAddends> of_addends = {};  ///< by tile shape and addends, ascending
};

struct CertificateOptions {
  std::size_t most_lines = std::size_t{1} << 17;
  /// How much the searches may look at: steps, and for refutations tiles (one kept counts as 16,
  /// as it takes memory).
  Size search_limit = Size{1} << 30;
};

/// The proof of plan.lower_bound in the plan's scope, on at most 2^20 devices. A plan that may have no
/// steps along several dimensions gets one among those along one.
/// \error unsupported (costs in bytes, or a memory limit: what is proved is the paper's problem),
/// limit_reached
/// \paper S1, S3, S4, S13, PS1, PS5 (docs/ledger/statements.md); Theorems 6.4, 6.5
[[nodiscard]] Result<Certificate> certify(const Plan& plan, const CertificateOptions& options = {});

/// The options for a plan that certify() takes: those of addends are of steps along one dimension.
[[nodiscard]] PlanOptions certifiable(const Problem& problem, PlanOptions options);

/// The lines `scope`, `lower_bound`, `potential`, `refuted` and `addends`, which stand behind the plan's Program
/// (`certificate_text` in retile/program/forms/text.h).
[[nodiscard]] std::string to_text(const Certificate& certificate);

}  // namespace retile
