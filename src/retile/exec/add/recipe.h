// A sum as a list of things to do with blocks of elements, which stay in the first cache.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/sums.h"

namespace retile::add {

/// The addends of a sum are numbered in the order in which it is written.
class Recipe {
 public:
  explicit Recipe(const std::vector<Term>& terms);

  [[nodiscard]] std::size_t addends() const { return addends_; }
  /// Blocks that it needs at once beside those of the addends.
  [[nodiscard]] Size levels() const { return levels_; }
  [[nodiscard]] Size held_bytes() const {
    return static_cast<Size>(sizeof *this + actions_.capacity() * sizeof(Action));
  }
  /// What held_bytes() never exceeds.
  [[nodiscard]] static Size bound_bytes(Size terms) {
    return static_cast<Size>(sizeof(Recipe)) + terms * static_cast<Size>(sizeof(Action));
  }
  friend bool operator==(const Recipe&, const Recipe&) = default;

  /// Makes the sum of as many elements as all blocks have.
  /// \param addend  (i, k) gives where the block of addend i is; those of k = 0 and k = 1 are there
  ///     at the same time, and until the next one of their k is asked for
  /// \param level   gives where a block may be made
  /// \return where the sum is: in the block of level 0, or the only addend's own
  template <typename Addend, typename Level>
  const std::byte* run(const std::optional<Adder>& adder, std::size_t elements,
                       const Addend& addend, const Level& level) const {
    if (actions_.empty()) return addend(0, 0);
    for (const Action& action : actions_) {
      std::byte* const into = level(action.level);
      switch (action.kind) {
        case Kind::put_sum: {
          const std::byte* const first = addend(action.addend, 0);
          adder->sum(into, first, addend(action.addend + 1, 1), elements);
          break;
        }
        case Kind::add_addend:
          adder->add(into, addend(action.addend, 0), elements);
          break;
        case Kind::add_level:
          adder->add(into, level(action.level + 1), elements);
          break;
        case Kind::put_addend:
          adder->copy(into, addend(action.addend, 0), elements);
          break;
        case Kind::put_neutral:
          adder->clear({into, elements * static_cast<std::size_t>(adder->element_bytes())});
          break;
      }
    }
    return level(0);
  }

 private:
  enum class Kind : std::uint8_t { put_sum, add_addend, add_level, put_addend, put_neutral };
  struct Action {
    Kind kind = Kind::put_neutral;
    std::uint32_t level = 0;
    std::uint32_t addend = 0;
    friend bool operator==(const Action&, const Action&) = default;
  };

  std::vector<Action> actions_;  // none for one addend alone
  std::size_t addends_ = 0;
  Size levels_ = 0;
};

/// Bytes of a block.
inline constexpr Size block_bytes = 8192;

}  // namespace retile::add
