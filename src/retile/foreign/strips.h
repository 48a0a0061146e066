// Dimensions in strips: stretches so long that no operation cuts them. Room-internal.
//
// A dimension is digits, as reshapes write it: 12 = 3 x 4 has a slow digit of 3 and a fast one of 4. Every
// digit is cut into strips. What one operation cuts is cut wherever else the same elements stand, until
// nothing more is to be cut; then a strip moves as one element does.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile::foreign {

/// A dimension, by its number.
using DimId = std::size_t;

/// A digit of a dimension; 0 is the fastest.
struct DigitId {
  DimId dim = 0;
  std::size_t digit = 0;
  friend bool operator==(const DigitId&, const DigitId&) = default;
};

/// Thrown where there are too many strips, or where finding them takes too long.
struct TooFine {};

class Strips {
 public:
  /// A dimension in one strip so far.
  DimId add(Size extent);

  /// A stretch of one dimension is that of another: the same elements. Only where they are elements of the
  /// array (`moved`) it matters along which dimension of it they follow each other.
  /// Precondition: it lies inside of both.
  void tie(DimId one, Size at, DimId other, Size to, Size extent, bool moved);
  /// A dimension is a factor of another, whose places count `weight` there. Precondition: extents >= 2.
  void factor(DimId part, DimId whole, Size weight, bool moved);
  /// Something is cut there.
  void cut(DimId dim, Size at) { tie(dim, 0, add(at), 0, at, false); }
  /// Every place is a strip by itself.
  void cut_everywhere(DimId dim) {
    dims_[dim].everywhere = true;
    dims_[dim].limit = 1;
  }

  /// Cuts until nothing more is to be cut.
  /// \param most_work  cuts that are looked at: 2^26 take some tenths of a second. Throws TooFine.
  void close(std::size_t most_work);

  // Afterwards.

  /// How many places are left of a dimension.
  [[nodiscard]] Size count(DimId dim) const;
  /// How many of these are before a place. Precondition: something is cut there.
  [[nodiscard]] Size before(DimId dim, Size place) const;
  /// The first place of one that is left.
  [[nodiscard]] Size first(DimId dim, Size left) const;

  [[nodiscard]] std::size_t digits(DimId dim) const { return dims_[dim].suffixes.size() + 1; }
  /// How far apart places are that differ by one in a digit.
  [[nodiscard]] Size weight(DigitId digit) const { return dims_[digit.dim].weight(digit.digit); }
  /// How long the strip of a digit is that one of the places that are left lies in.
  [[nodiscard]] Size length(DigitId digit, Size left) const;
  /// Whether a digit has a strip of several places.
  [[nodiscard]] bool is_long(DigitId digit) const;
  /// Digits along which the same moved elements follow each other have one number.
  [[nodiscard]] std::size_t kin(DigitId digit) const;

 private:
  struct Dim {
    Size extent = 1;
    /// From here on no suffix parts digits: something is cut across it.
    Size limit = std::numeric_limits<Size>::max();
    std::vector<Size> suffixes = {};  ///< where a digit begins, but 1; each divides the next
    bool everywhere = false;
    std::vector<std::vector<Size>> cuts = {};  ///< of every digit, its ends too
    /// Those that are put among many others at once.
    std::vector<std::pair<std::size_t, Size>> waiting = {};
    std::size_t changes = 0;
    std::size_t first_digit = 0;  ///< its number among those of all dimensions

    [[nodiscard]] Size weight(std::size_t digit) const {
      return digit == 0 ? 1 : suffixes[digit - 1];
    }
    [[nodiscard]] Size top_weight() const { return weight(suffixes.size()); }
    [[nodiscard]] std::vector<Size>& top() { return cuts.back(); }
    [[nodiscard]] bool loses_suffixes() const { return limit < extent; }
  };
  /// A tie, or where a weight stands a factor.
  struct Relation {
    DimId one = 0, other = 0;
    Size at = 0, to = 0, extent = 0;
    Size weight = 0;
    bool moved = false;
    /// The sum of changes of its dimensions that it was applied to; 0: none.
    std::size_t seen = 0;
  };

  void relate(const Relation& relation);
  template <typename Apply>
  void until_nothing_changes(const Apply& apply);
  void work(std::size_t steps);

  void lower(DimId dim, Size limit);
  void admit(DimId dim, Size suffix);
  void tie_suffixes(const Relation& tie);
  void factor_suffixes(const Relation& factor);

  void begin_cuts();
  void begin_cuts(Dim& dim);
  void cut_at_ends();
  void put_waiting(DimId dim);
  void merge(DimId dim, std::size_t digit, const std::vector<Size>& cuts);
  void same_cuts(DigitId one, DigitId other);
  void tie_cuts(const Relation& tie);
  void factor_cuts(const Relation& factor);
  void factor_top(const Relation& factor);

  /// Shows the pairs of digits that are the same in both dimensions, but for those that a tie takes a
  /// stretch of.
  template <typename See>
  void same_digits(const Relation& relation, const See& see) const;
  /// The two slowest digits, where a stretch of one is one of the other.
  [[nodiscard]] std::optional<Size> common_top(const Relation& tie) const;
  void number_kin();
  [[nodiscard]] std::size_t root(std::size_t digit) const;
  [[nodiscard]] std::size_t number(DigitId digit) const {
    return dims_[digit.dim].first_digit + digit.digit;
  }

  std::vector<Dim> dims_;
  std::vector<Relation> relations_;
  std::vector<DimId> waiting_;
  std::size_t cuts_ = 0;
  std::size_t work_ = 0;
  std::size_t most_work_ = 0;
  std::vector<std::size_t> parents_;  // of digits, up to the one that all kin have
};

}  // namespace retile::foreign
