// Elements added to elements: sums, maxima and minima of all element types that are numbers.
//
// Integers wrap. A floating sum is rounded to the element type. What is no number wins against
// every number, and every sum, maximum or minimum that is none is one and the same: quiet, without
// sign and without more. Of zeros the maximum is +0 where one of them is, and the minimum -0. So
// maxima and minima do not depend on an order, and sums on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "retile/core/addition.h"
#include "retile/core/element_type.h"
#include "retile/core/result.h"

namespace retile::add {

class Adder {
 public:
  /// \error unsupported (maxima and minima of complex numbers, a stack, elements that are no numbers
  ///     or have 16 bytes each)
  [[nodiscard]] static Result<Adder> make(Addition addition, const ElementType& type);

  [[nodiscard]] Size element_bytes() const;
  /// into[i] = into[i] and more[i], added. The two do not overlap; they may lie anywhere.
  void add(std::byte* into, const std::byte* more, std::size_t elements) const;
  /// into[i] = one[i] and other[i], added; as above.
  void sum(std::byte* into, const std::byte* one, const std::byte* other,
           std::size_t elements) const;
  void copy(std::byte* into, const std::byte* from, std::size_t elements) const;
  /// Writes what changes nothing: zeros for sums, the least value for maxima, the largest for minima.
  void clear(std::span<std::byte> tile) const;

  /// All adders have numbers below `count`, for those who need a function for each.
  static constexpr std::size_t count = 14 * 3;
  [[nodiscard]] std::size_t number() const { return number_; }
  /// Precondition: the number of an adder.
  [[nodiscard]] static Adder numbered(std::size_t number) { return Adder(number); }

 private:
  explicit Adder(std::size_t number) : number_(number) {}
  std::size_t number_;
};

}  // namespace retile::add
