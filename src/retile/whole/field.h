// Numbers with a point as elements of a field of prime size, and functions without algebra as
// functions of which nothing is known. Room-internal.
//
// The prime, the order and the functions are drawn in each run, so that no module can be made for
// them. Sums, products and quotients are exact. What is larger than what is one order, drawn as well:
// maxima, sorts and masks need no more of it than that it is one.
#pragma once

#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/wide.h"
#include "retile/operations/table.h"
#include "retile/spmd/modular.h"
#include "retile/spmd/primes.h"

namespace retile::whole {

using operations::Comparison;
using operations::ElementKind;
using operations::Id;
using operations::Order;
using operations::Word;

class Field {
 public:
  /// \param root_order  the prime is 1 modulo it: roots of 1 of that order are there
  /// \param literals  numbers of the texts, which keep their own order among all others: else what is
  ///     bounded by one and compared with another would be above it, or below, as a whole
  Field(std::uint64_t seed, Size root_order, std::vector<double> literals = {})
      : Field(std::mt19937_64(seed), root_order, std::move(literals)) {}

  static constexpr bool is_exact = true;
  static constexpr Word infinity = std::numeric_limits<Word>::min() + 1;
  static constexpr Word minus_infinity = std::numeric_limits<Word>::min() + 2;
  static constexpr Word no_number = std::numeric_limits<Word>::min() + 3;

  [[nodiscard]] std::uint64_t prime() const { return numbers_.modulus(); }
  [[nodiscard]] static bool is_finite(Word a) { return a >= 0; }
  [[nodiscard]] Word from(std::int64_t number) const { return word(numbers_.from(number)); }
  [[nodiscard]] Word from_unsigned(std::uint64_t number) const {
    const Word high = from(static_cast<std::int64_t>(number >> 32U));
    const Word low = from(static_cast<std::int64_t>(number & 0xffffffffU));
    return add(mul(high, from(std::int64_t{1} << 32U)), low);
  }
  /// The number that a literal is: m 2^e as an element of the field.
  [[nodiscard]] Word of_literal(double real) const;
  /// An argument, each as likely as the others.
  [[nodiscard]] Word drawn(std::mt19937_64& random) const { return word(numbers_.drawn(random)); }

  [[nodiscard]] Word add(Word a, Word b) const {
    if ((a | b) < 0) return add_special(a, b);
    return word(numbers_.add(value(a), value(b)));
  }
  [[nodiscard]] Word sub(Word a, Word b) const {
    if ((a | b) < 0) return add_special(a, neg(b));
    return word(numbers_.sub(value(a), value(b)));
  }
  [[nodiscard]] Word mul(Word a, Word b) const {
    if ((a | b) < 0) return mul_special(a, b);
    return word(numbers_.mul(value(a), value(b)));
  }
  [[nodiscard]] Word div(Word a, Word b) const;
  [[nodiscard]] Word neg(Word a) const {
    if (a < 0) return a == infinity ? minus_infinity : a == minus_infinity ? infinity : a;
    return word(numbers_.sub(0, value(a)));
  }

  /// Whether a stands before b in the order.
  [[nodiscard]] bool less(Word a, Word b) const {
    if ((a | b) < 0) return rank_special(a) < rank_special(b);
    return place(a) < place(b);
  }
  [[nodiscard]] bool compared(Comparison comparison, Order order, Word a, Word b) const {
    const bool is_none = (a == no_number || b == no_number) && order != Order::total;
    switch (comparison) {
      case Comparison::eq:
        return !is_none && a == b;
      case Comparison::ne:
        return is_none || a != b;
      case Comparison::lt:
        return !is_none && less(a, b);
      case Comparison::le:
        return !is_none && !less(b, a);
      case Comparison::gt:
        return !is_none && less(b, a);
      case Comparison::ge:
        return !is_none && !less(a, b);
    }
    RETILE_ASSERT(false, "a comparison");
    return false;
  }
  /// The larger one; what is no number where one of both is none.
  [[nodiscard]] Word max(Word a, Word b) const {
    if (a == no_number || b == no_number) return no_number;
    return less(a, b) ? b : a;
  }
  [[nodiscard]] Word min(Word a, Word b) const {
    if (a == no_number || b == no_number) return no_number;
    return less(b, a) ? b : a;
  }

  /// The number that a literal is, or an integer of at most 2^24: nobody knows what others are.
  [[nodiscard]] std::optional<double> known(Word a) const;

  /// Of exponential, tanh, floor, ..
  [[nodiscard]] Word unary(Id id, Word a) const;
  /// Of power, atan2, remainder.
  [[nodiscard]] Word binary(Id id, Word a, Word b) const;
  /// What is known of an operation on numbers that has no algebra: nothing but that it is a function.
  [[nodiscard]] Word unknown(std::uint64_t function, std::span<const Word> arguments) const;
  /// The same, and a machine's number.
  [[nodiscard]] std::uint64_t hash(std::uint64_t function, std::span<const Word> arguments) const;
  // The same for many numbers.

  /// \param out  all of them; it lies apart from `a`
  void unary(Id id, std::span<const Word> a, Word* out) const;
  /// a[k] / b[k] with one inverse for many of them (Montgomery 1987).
  void divide(std::span<const Word> a, const Word* b, Word* out) const;

  /// Whether `converted` gives all numbers back as they are.
  [[nodiscard]] static bool is_kept(const ElementKind& from, const ElementKind& to) {
    return operations::holds_all_of(to, from);
  }
  /// To another type with a point.
  [[nodiscard]] Word converted(Word a, const ElementKind& from, const ElementKind& to) const;
  [[nodiscard]] Word rounded(Word a, Size exponent_bits, Size mantissa_bits) const;
  /// To an integer or a truth value.
  [[nodiscard]] Word to_integer(Word a, const ElementKind& to) const;
  /// Bits of a number, and the number of bits. Those of two numbers are in the numbers' order.
  [[nodiscard]] Word to_bits(Word a, const ElementKind& from) const;
  [[nodiscard]] Word of_bits(Word bits, const ElementKind& to) const;

  /// A root of 1 of this order: the power of `number` of the first one.
  /// Precondition: the order divides root_order.
  [[nodiscard]] Word root(Size order, Size number) const;
  /// The real and the imaginary part of that root.
  [[nodiscard]] std::array<Word, 2> root_parts(Size order, Size number) const;

  /// out[m * columns + n]: the sum of products of row m of x and row n of y, of `depth` numbers each.
  /// Precondition: all are finite.
  void products(const Word* x, Size rows, const Word* y, Size columns, Size depth, Word* out) const;
  /// Whether all are finite, so that `products` may be asked.
  [[nodiscard]] static bool are_finite(std::span<const Word> words) {
    Word all = 0;
    for (const Word one : words) all |= one;
    return all >= 0;
  }

  /// The integer of at most 2^24 that this is, where it is one.
  [[nodiscard]] std::optional<std::int64_t> small(Word a) const;

 private:
  Field(std::mt19937_64 random, Size root_order, std::vector<double> literals);

  static std::uint64_t value(Word a) { return static_cast<std::uint64_t>(a); }
  static Word word(std::uint64_t a) { return static_cast<Word>(a); }
  /// -infinity below all numbers, infinity above, and what is no number above that.
  [[nodiscard]] static int rank_special(Word a) {
    return a == minus_infinity ? -1 : a == infinity ? 1 : a == no_number ? 2 : 0;
  }
  [[nodiscard]] static Word add_special(Word a, Word b);
  [[nodiscard]] Word mul_special(Word a, Word b) const;
  /// A function of which nothing is known, of machine numbers.
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    const UInt128 product = static_cast<UInt128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }
  /// Of a number in the order, which says nothing of the number. Without `begin_`, 0 would be the least
  /// of all.
  [[nodiscard]] std::uint64_t place(Word a) const {
    if (may_be_literal_[value(a) % may_be_literal_.size()]) {
      const auto found = literals_.find(a);
      if (found != literals_.end()) return found->second.place;
    }
    return mixed(mixed(value(a) ^ begin_, order_), key_);
  }
  void place_literals(std::mt19937_64& random, std::vector<double> literals);
  [[nodiscard]] Word bits_in_order(Word a, const operations::FloatFormat& format) const;
  [[nodiscard]] bool is_negative(Word a) const { return less(a, neg(a)); }

  template <Size rows, Size columns>
  void products_of(const Word* x, const Word* y, Size depth, Word* out, Size step) const;

  spmd::Modular numbers_;
  Word one_ = 0;
  std::uint64_t half_ = 0;
  std::uint64_t order_ = 1;  // of numbers that are compared
  std::uint64_t begin_ = 0;
  struct Known {
    std::uint64_t place = 0;
    double number = 0;
  };
  std::unordered_map<Word, Known> literals_;  // and where each of them stands
  std::vector<Known> in_order_;               // the same ones
  std::bitset<1024> may_be_literal_;          // by the rest of a number
  std::uint64_t key_ = 0;                     // of functions without algebra
  Size root_order_ = 1;
  std::uint64_t root_ = 1;  // of that order
};

}  // namespace retile::whole
