// Numbers whose value is not known, as digits: what device numbers and indices are for a proof.
//
// A number is a list of digits, minor to major; its value is the sum of every digit times the sizes
// of the digits before it. So div and mod by a cut between two digits only cut the list, and a
// question about all devices speaks of as many variables as there are axes. A cut inside a digit
// splits that digit in two, everywhere. A cut that does not nest with the digits there are (3 in
// digits 2,3) gives the digits around it a second spelling with one equation between the two.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile::symbolic {

/// A number in [0, size): digits minor to major. No digits: the number 0, of size 1.
struct Number {
  std::vector<std::size_t> digits;
};

/// The digits that a question speaks of.
class Digits {
 public:
  /// Any number in [0, size); size >= 1.
  [[nodiscard]] Number any(Size size);
  /// The number 0 as one of [0, size).
  [[nodiscard]] Number zero(Size size);

  [[nodiscard]] Size size(const Number& number) const;

  /// number mod cut and number div cut. Precondition: cut divides the size.
  [[nodiscard]] std::pair<Number, Number> split(const Number& number, Size cut);

  /// low + size(low) * high
  [[nodiscard]] static Number join(const Number& low, const Number& high);

  /// Declarations, ranges and equations of all digits, as SMT-LIB 2 lines.
  [[nodiscard]] std::string declarations() const;
  /// The value as a term of SMT-LIB 2: a sum of digits with constant weights.
  [[nodiscard]] std::string term(const Number& number) const;

 private:
  struct Digit {
    Size size = 1;
    bool is_zero = false;
    bool is_split = false;
    std::size_t low = 0, high = 0;  // when split
  };

  [[nodiscard]] std::size_t add(Size size, bool is_zero);
  void expand(std::size_t digit, std::vector<std::size_t>& out) const;
  /// The digits that are not split.
  [[nodiscard]] std::vector<std::size_t> leaves(const Number& number) const;
  [[nodiscard]] Size product(const std::vector<std::size_t>& digits) const;
  /// Another spelling of `run` with digits that end at `cut`.
  [[nodiscard]] std::vector<std::size_t> respell(const std::vector<std::size_t>& run, Size cut);

  std::vector<Digit> digits_;
  std::vector<std::pair<Number, Number>> equal_;
};

}  // namespace retile::symbolic
