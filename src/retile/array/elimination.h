// The least sum of terms, each of one or two variables of few values: by eliminating one variable after
// the other. Exact; what it takes grows with how many variables hang together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "retile/core/size.h"
#include "retile/core/wide.h"

namespace retile::array {

using Wide = UInt128;

/// What is summed up: the first of these decides, of equal ones the next, and so on.
struct Weight {
  Wide first = 0;
  Size second = 0;
  Size third = 0;
  [[nodiscard]] static Weight infinite() { return {~Wide{0}, 0, 0}; }
  [[nodiscard]] bool is_infinite() const { return first == ~Wide{0}; }
  friend bool operator==(const Weight&, const Weight&) = default;
  friend bool operator<(const Weight& a, const Weight& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.second != b.second ? a.second < b.second : a.third < b.third;
  }
  /// Infinite where one is, or where a part has no room for its sum.
  friend Weight operator+(const Weight& a, const Weight& b);
};

/// A term of two variables.
struct Pair {
  std::size_t row = 0;  ///< variable
  std::size_t column = 0;
  std::vector<Weight> table;  ///< row by row
};

class Elimination {
 public:
  /// \param alone  by variable and value
  Elimination(std::vector<std::vector<Weight>> alone, std::vector<Pair> pairs);

  /// So many sums are made at most, and terms have at most so many entries together.
  static constexpr Size most_work = Size{1} << 31;
  static constexpr Size most_entries = Size{1} << 22;
  /// How many sums solve() makes; nothing where there are too many.
  [[nodiscard]] std::optional<Size> work() const;

  /// A value for every variable; nothing where every sum is infinite.
  /// Precondition (asserted): work()
  [[nodiscard]] std::optional<std::vector<std::size_t>> solve() const;
  /// \param alone  in the place of those that were given
  [[nodiscard]] std::optional<std::vector<std::size_t>> solve(
      const std::vector<std::vector<Weight>>& alone) const;

  [[nodiscard]] const std::vector<std::vector<Weight>>& alone() const { return alone_; }

 private:
  /// \param pack  a weight as a Number
  template <typename Number, typename Pack>
  [[nodiscard]] std::optional<std::vector<std::size_t>> solved(
      const std::vector<std::vector<Weight>>& alone, const Pack& pack) const;

  std::vector<std::vector<Weight>> alone_;
  std::vector<Pair> pairs_;
  /// In which order variables go, each with those that it hangs together with then.
  struct Step {
    std::size_t variable = 0;
    std::vector<std::size_t> others;
  };
  std::vector<Step> order_;
  std::optional<Size> work_;
};

}  // namespace retile::array
