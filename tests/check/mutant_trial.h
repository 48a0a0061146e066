// One mutant of a right Program: replayed explicitly, then judged by all readings with its claims
// and without.
#pragma once

#include <array>
#include <cstddef>
#include <iostream>
#include <map>
#include <span>
#include <string>

#include "check/judge.h"
#include "support/mutants.h"

namespace check_tests {

/// What was seen, per kind of mutation.
struct Tally {
  struct Row {
    Size mutants = 0;
    Size wrong = 0;
    Size at_the_mutated_step = 0;  ///< with claims
    std::map<Reason, Size> with_claims;
    std::map<Reason, Size> without_claims;
  };
  std::array<Row, support::all_mutations.size()> rows;
  std::map<naive::Fault, Size>
      caught;  ///< wrong mutants on which a faulty checker's verdict is another

  void print() const {
    for (const support::Mutation mutation : support::all_mutations) {
      const Row& row = rows[static_cast<std::size_t>(mutation)];
      std::cout << support::name(mutation) << ": " << row.mutants << " mutants, " << row.wrong
                << " wrong, " << row.at_the_mutated_step << " found at the mutated step;";
      for (const auto& [reason, count] : row.with_claims) {
        std::cout << ' ' << retile::reason_name(reason) << ' ' << count;
      }
      std::cout << "; without claims:";
      for (const auto& [reason, count] : row.without_claims) {
        std::cout << ' ' << retile::reason_name(reason) << ' ' << count;
      }
      std::cout << '\n';
    }
  }
};

/// Empty when all is as it must be, else what is not. The mutated Program must be a right one.
inline std::string try_mutant(const support::Mutant& mutant, Tally& tally) {
  auto& row = tally.rows[static_cast<std::size_t>(mutant.mutation)];
  ++row.mutants;
  const Program& claiming = mutant.program;
  const Program silent = support::without_claims(claiming);
  const std::string what = std::string(support::name(mutant.mutation)) + " at step " +
                           std::to_string(mutant.step) + '\n';
  // Of the many mutants of one kind each one is tried in another form of states.
  const auto form =
      std::span(forms_under_test)
          .subspan(static_cast<std::size_t>(row.mutants) % forms_under_test.size(), 1);
  if (const auto fault = disagreement(silent, form); !fault.empty()) return what + fault;
  const Verdict without = retile::check(silent);
  if (naive::ends_right(claiming)) {
    // A mutation that changes nothing, such as two replicas swapped.
    return without.answer == Answer::right
               ? ""
               : what + "the end is right, the verdict is not\n" + retile::to_text(silent);
  }
  ++row.wrong;
  if (without.answer != Answer::wrong)
    return what + "not found without claims\n" + retile::to_text(silent);
  ++row.without_claims[without.wrong->reason];

  if (const auto fault = disagreement(claiming, form); !fault.empty()) return what + fault;
  const Verdict with = retile::check(claiming);
  if (with.answer != Answer::wrong)
    return what + "not found with claims\n" + retile::to_text(claiming);
  ++row.with_claims[with.wrong->reason];
  const auto step = static_cast<std::size_t>(mutant.step);
  const bool at_end = step == claiming.steps.size();
  if (with.wrong->step == mutant.step) {
    ++row.at_the_mutated_step;
  } else if (at_end || claiming.steps[step].claims.map || with.wrong->step < mutant.step) {
    // Where digits cannot say the map there is no claim, and the mutation shows later.
    return what + "found at another step\n" + retile::to_text(claiming) + show(with);
  }
  // The faulty checkers are a control: of the many mutants of one kind a sample is enough.
  if (row.wrong > 64 && row.wrong % 16 != 0) return "";
  for (const naive::Fault fault : naive::all_faults) {
    if (!naive::same_judgement(naive::check(claiming, fault), with)) ++tally.caught[fault];
    if (!naive::same_judgement(naive::check(silent, fault), without)) ++tally.caught[fault];
  }
  return "";
}

}  // namespace check_tests
