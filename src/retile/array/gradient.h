// The backward pass of statements: statements that work out the gradient of what they return.
#pragma once

#include <string>
#include <vector>

#include "retile/array/statements.h"

namespace retile::array {

struct GradientOptions {
  /// Of which array, the only one that is returned where it is empty.
  std::string of = {};
  /// Arrays; none: all inputs that it depends on.
  std::vector<std::string> with_respect_to = {};
  /// Arrays that count as given, although they are worked out.
  std::vector<std::string> constant = {};
  /// Whether the array itself is returned, too.
  bool value = false;
};

struct Gradient {
  std::string of;
  std::string cotangent;  ///< the new input
  /// An array and the array that is its gradient.
  std::vector<std::pair<std::string, std::string>> gradients;
  std::string program;  ///< `retile.array/1`
};

/// The statements, and behind them those of the gradient of
///
///   L = sum over all i of of[i] * cotangent[i],
///
/// where the cotangent is a new input. Every array x that L depends on gets dx, the derivatives of L by its
/// elements: chain rule, backwards [Griewank, Walther 2008, chapter 3]. What the statements have written to
/// arrays is read and not worked out again. Statements that no gradient needs are left out.
///
/// Where a maximum or minimum has several arguments that are equal to it, the derivative is shared among
/// them equally; that of relu at 0 is 0; step and equal have none.
/// \param input  what the statements were read from
/// \error bad_argument (no such array, nothing to derive), unsupported (a read whose derivative would have to be
///     written at other indices than all of an array, each once), limit_reached
[[nodiscard]] Result<Gradient> gradient(const text::Input& input, const Statements& statements,
                                        const GradientOptions& options);

}  // namespace retile::array
