// Tile maps as lists of digits, for deciding whether a weak normal form can do without a
// permutation (S4).
//
// A list holds the digits of one dimension, *major to minor*: alltoalls work on its end. A digit is
// * kept: a digit of the device number that source and target both use,
// * lost: one that only the source uses; which one does not matter, it must be gathered in the end,
// * fresh: sliced; it may become any digit that only the target uses, or be gathered again,
// * mixed: a part (value div stride) mod size of a number made of several digits. Popping 3 off
//   digits 2,3 makes such parts; side by side again they turn back into the digits.
//
// On meshes of one prime all digits have that prime's size, and there are no mixed ones.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/problem.h"
#include "retile/core/size.h"

namespace retile {

/// Digits by their numbers in a DigitAlphabet, major to minor.
using DigitList = std::u16string;
/// One list per dimension of a WeakSpace.
using DigitLists = std::vector<DigitList>;

enum class Match { yes, no, unknown };

/// The strides at which any digit of either map begins or ends, and the number of devices;
/// ascending. Where each divides the next, the device number is made of the parts between them.
[[nodiscard]] std::vector<Size> digit_cuts(const Problem& problem);

/// The digits of one problem, and what alltoalls do to lists of them.
class DigitAlphabet {
 public:
  static constexpr char16_t fresh_digit = 0;  ///< one prime: the fresh digit of that size
  static constexpr char16_t lost_digit = 1;

  /// `dims`: the dimensions that lists are kept for.
  DigitAlphabet(const Problem& problem, const std::vector<std::size_t>& dims);

  /// Whether the problem's digits nest in the device number; if not, nothing here may be used.
  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] bool one_prime() const { return prime_ > 0; }
  /// Number of pairs (tile before, tile after) that devices hold: no fewer tiles can tell them
  /// apart.
  [[nodiscard]] Size pairs() const { return pairs_; }

  [[nodiscard]] const DigitLists& source() const { return source_; }
  /// As source(); fresh digits stand for those that only the target uses.
  [[nodiscard]] const DigitLists& target() const { return target_; }

  /// More digits than have numbers: from then on lists mean nothing, and a search must stop.
  [[nodiscard]] bool full() const { return full_; }
  /// What was looked at since the last call, to find out which mixed numbers are new.
  Size take_work() { return std::exchange(work_, 0); }

  /// A kept part of the device number: the number of tiles that the more major parts of its dimension
  /// make, before and after.
  struct Kept {
    std::size_t from_dim = 0;
    std::size_t to_dim = 0;
    Size above_from = 1;
    Size above_to = 1;
  };
  [[nodiscard]] const std::vector<Kept>& kept() const { return kept_; }

  /// Appends a fresh digit of size n.
  void slice(DigitList& list, Size n);
  /// Moves the minor part n of lists[from] to lists[to].
  void move(DigitLists& lists, std::size_t from, std::size_t to, Size n);

  /// Whether the most major parts of size n of a list and of the target's list of dimension i are
  /// the same function of the devices, for some choice of fresh digits. `no` and `yes` are proved.
  [[nodiscard]] Match match(const DigitList& list, std::size_t i, Size n);

  /// One prime: no fewer moves make the target of these lists. Every move breaks one neighbourhood
  /// "on top of" and makes one, so count those that must go and those that must come.
  [[nodiscard]] int least_moves(const DigitLists& lists) const;
  /// The same for any bottom over the source's lists.
  [[nodiscard]] int least_moves_from_source() const;

 private:
  enum class Kind { fresh, lost, kept, mixed };
  struct Letter {
    Kind kind = Kind::fresh;
    std::size_t number = 0;  // mixed: which number it is a part of
    Size stride = 1;
    Size size = 1;
    auto operator<=>(const Letter&) const = default;
  };

  static constexpr std::size_t few_letters = 24;

  char16_t intern(const Letter& letter);
  void append(DigitList& list, Letter letter);
  [[nodiscard]] Letter major_part(const Letter& letter, Size n) const;
  void mix(DigitLists& lists, std::size_t i, Size n);
  void add_list(const Problem& problem, std::size_t dim, bool is_source,
                const std::vector<Size>& cuts, const std::vector<bool>& in_source,
                const std::vector<bool>& in_target, std::vector<Kept>& kept);
  void find_wishes();
  [[nodiscard]] int count_moves(const DigitLists& lists, bool before_slices) const;

  bool usable_ = true;
  Size prime_ = 0;
  Size pairs_ = 1;
  DigitLists source_;
  DigitLists target_;
  std::vector<Kept> kept_;
  std::vector<Letter> letters_;
  std::map<Letter, char16_t> numbers_;  // where there are more than few_letters
  std::vector<DigitList> mixed_;        // what mixed numbers are made of, major to minor
  std::map<DigitList, std::vector<std::size_t>> mixed_of_;  // the numbers made of these, ascending
  bool full_ = false;
  Size work_ = 0;

  // One prime: what the target has below and above a digit. `ground` + i is the floor of dimension
  // i.
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);
  std::vector<std::size_t> below_;  // by letter
  std::vector<std::size_t> above_;  // by letter, then by dimension for the floors
};

/// The alphabet of a problem, made when it is first asked for: many problems are decided without.
class LazyAlphabet {
 public:
  /// Both live longer.
  LazyAlphabet(const Problem& problem, const std::vector<std::size_t>& dims)
      : problem_(problem), dims_(dims) {}

  DigitAlphabet& get() {
    if (!made_) made_.emplace(problem_, dims_);
    return *made_;
  }
  [[nodiscard]] bool is_made() const { return made_.has_value(); }

 private:
  const Problem& problem_;
  const std::vector<std::size_t>& dims_;
  std::optional<DigitAlphabet> made_;
};

}  // namespace retile
