// Whether a pass changed what a whole program computes: translation validation of the texts before and
// after it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"
#include "retile/whole/movement.h"
#include "retile/whole/spot.h"

namespace retile::whole {

/// At which extents two texts are compared.
enum class Extents {
  automatic,  ///< as they are, unless that would take long
  full,
  reduced,  ///< as short as they can be
};

struct ValidateOptions {
  Size draws = 3;
  std::uint64_t seed = 0;
  Size most_bytes = Size{1} << 30;
  double timeout_seconds = std::numeric_limits<double>::infinity();
  Extents extents = Extents::automatic;
  /// Shardings of the arguments and of the results, where the text before says none: none, or one for
  /// each, of which empty ones say nothing.
  std::vector<std::string> from = {};
  std::vector<std::string> to = {};
  std::optional<PlacedMesh> mesh = {};  ///< of these shardings, where they bring none
  bool blames = true;                   ///< else a wrong answer says no more than what differs
  bool judges = true;                   ///< else nothing is compared, and the answer is `undecided`
  bool explains = false;                ///< says what the text after moves
};

enum class Answer { right, wrong, undecided };

/// Why it is undecided, where the time was over.
inline constexpr std::string_view out_of_time = "the time is over";

/// An integer argument of a draw, where it has few elements.
struct ArgumentValue {
  std::string name;
  std::vector<std::int64_t> numbers;
};

/// Where the program after the pass holds something else.
struct Difference {
  std::size_t result = 0;
  Size device = 0;
  Shape at;       ///< in the device's tile
  Shape element;  ///< of the result before the pass
  std::string expected;
  std::string found;
  Size draw = 0;
  std::vector<ArgumentValue> integers;  ///< of the draw that showed it
  Size differing = 0;                   ///< elements of this result on this device
  Size elements = 0;                    ///< of how many
};

/// Where the program after the pass lost its way.
struct Blame {
  Spot lost;  ///< before: the first value that the wrong result needs and that no device holds
  std::optional<Spot> last =
      {};  ///< after: the last operation that makes something `lost` is made of
  /// After: the first operation that makes the result right, were what it makes `meant`, a value before.
  std::optional<Spot> nearest = {};
  std::optional<Spot> meant = {};
};

struct Validation {
  Answer answer = Answer::undecided;
  std::string why;        ///< where it is undecided
  std::size_t line = 0;   ///< of the operation that decides it, or 0
  bool in_after = false;  ///< in which text that line is
  std::optional<Difference> difference;
  std::optional<Blame> blame;
  /// Of a wrong one with integer arguments: whether nothing was found with integers that lie inside of
  /// the extents that the program indexes.
  std::optional<bool> is_right_inside;
  Size devices = 1;
  std::size_t results = 0;
  std::size_t arguments = 0;
  std::size_t instructions_before = 0;
  std::size_t instructions_after = 0;
  Size draws = 0;
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> primes;  ///< of every draw
  /// -log2 of the probability that a draw does not tell apart formulas that differ on the way that it
  /// took; nothing where no bound below 1 is known.
  std::optional<double> draw_bits;
  /// How the two texts were compared: `partitioned`, `same shapes`.
  std::string comparison;
  std::vector<std::pair<std::string, Size>> unknown;  ///< operations of which nothing is known
  /// Extents of the text before that were divided, and what became of them.
  std::vector<std::pair<Size, Size>> reduced;
  std::vector<std::string> notes;
  bool is_judged = true;             ///< else `answer` says nothing
  std::optional<Movement> movement;  ///< where it was asked for
  std::string unexplained;           ///< or why there is none
};

/// \error as the readers of both texts; unsupported, bad_argument (texts that do not go together)
[[nodiscard]] Result<Validation> validate(std::string_view before, const std::string& before_name,
                                          std::string_view after, const std::string& after_name,
                                          const ValidateOptions& options);

/// Whether a text is a program that can be validated.
/// \error as the reader
[[nodiscard]] Result<void> readable(std::string_view text, const std::string& name);

}  // namespace retile::whole
