// A wrong pair of texts made smaller: what both programs have in common on the way to the mistake becomes
// arguments, and what lies behind it goes away.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/whole/draft.h"
#include "retile/whole/moves.h"
#include "retile/whole/validate.h"

namespace retile::whole {

/// Two programs, whose parameters and results go together by their numbers.
struct DraftPair {
  Draft before;
  Draft after;
};

struct ShrunkPair {
  DraftPair pair;
  Validation given;  ///< of the pair as it was
  Validation left;
  SearchEnd end;
};

/// The smallest pair of programs that is still wrong; a pair that is not wrong stays as it is.
/// \param options  their limit of time is that of the whole search, which then ends with what it has
/// \param asks  called before each question with the number of those before
/// \error as validate
[[nodiscard]] Result<ShrunkPair> shrunk_pair(DraftPair pair, const ValidateOptions& options,
                                             Size most_questions,
                                             const std::function<void(Size)>& asks = {});

// What the search is made of.

/// Takes away what no result of either needs; parameters go where neither needs them.
void drop_unused(DraftPair& pair);
/// Makes an array of the entry its only result.
/// \param value  `x`, or `x#1`
/// \param sharding  of the result; none: nothing is said of it
void make_result(Draft& draft, const std::string& value, const std::string& sharding);

/// Parameters in the place of what both have in common, with the operation that went wrong as the result
/// where it is found.
[[nodiscard]] std::vector<Move<DraftPair>> cuts_of(const DraftPair& pair,
                                                   const ValidateOptions& options);
/// All other ways to make a pair smaller, by their kinds.
[[nodiscard]] std::vector<Kind<DraftPair>> kinds_for_pairs();

}  // namespace retile::whole
