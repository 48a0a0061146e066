// Numbers drawn by a seed that is a text, the same on every platform.
//
// They are those of Python's random.Random(text): problems drawn by either are the same, so figures
// about problems that were once drawn there stay true.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile::problems {

/// The Mersenne Twister MT19937, and Python's ways to make of it what is wanted.
class Drawing {
 public:
  explicit Drawing(std::string_view seed);

  /// randint: a number in [low, high]. Precondition: low <= high, less than 2^31 numbers.
  [[nodiscard]] Size between(Size low, Size high);
  /// random() < part: whether it is so in that part of all cases.
  [[nodiscard]] bool happens(double part);
  /// sample(range(count), 2): two different numbers below `count`. Precondition: count >= 2.
  [[nodiscard]] std::pair<Size, Size> two_below(Size count);
  /// choice. Precondition: not empty.
  template <typename List>
  [[nodiscard]] const auto& one_of(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::uint32_t>(list.size())))];
  }
  /// shuffle.
  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t k = list.size(); k-- > 1;) {
      std::swap(list[k], list[static_cast<std::size_t>(below(static_cast<std::uint32_t>(k + 1)))]);
    }
  }

 private:
  static constexpr std::size_t words = 624;

  void seed_by(const std::vector<std::uint32_t>& key);
  void twist();
  /// 32 bits.
  std::uint32_t next();
  /// A number below `limit`, by as few bits as hold it. Precondition: limit >= 1.
  Size below(std::uint32_t limit);

  std::array<std::uint32_t, words> state_{};
  std::size_t used_ = words;  ///< of the state
};

}  // namespace retile::problems
