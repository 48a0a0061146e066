// Walks through the values that a failing case may shrink to.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <optional>
#include <string>

namespace support {

struct ShrinkWalk {
  std::size_t values = 0;  ///< looked at, the drawn ones included
  std::string fault;       ///< of the first value that is not valid
};

/// Draws `draws` values; of each looks at its shrinks, of one of those at its shrinks, and so on
/// down to a value that shrinks no further. `fault(value)` is empty for a valid value.
template <typename T, typename Fault>
ShrinkWalk walk_shrinks(const rc::Gen<T>& gen, std::size_t draws, std::uint64_t seed,
                        const Fault& fault, std::size_t width = 24, std::size_t depth = 40) {
  ShrinkWalk out;
  rc::Random random(seed);
  const auto valid = [&](const T& value) {
    ++out.values;
    out.fault = fault(value);
    return out.fault.empty();
  };
  for (std::size_t n = 0; n < draws; ++n) {
    // Sizes as in a run of a hundred cases.
    rc::Shrinkable<T> current = gen(random.split(), static_cast<int>(n % 100));
    if (!valid(current.value())) return out;
    for (std::size_t level = 0; level < depth; ++level) {
      auto shrinks = current.shrinks();
      std::optional<rc::Shrinkable<T>> next;
      std::size_t taken = 0;
      const std::size_t follow = random.split().next() % width;
      while (taken < width) {
        auto shrink = shrinks.next();
        if (!shrink) break;
        if (!valid(shrink->value())) return out;
        if (taken <= follow) next.emplace(std::move(*shrink));
        ++taken;
      }
      if (!next) break;
      current = std::move(*next);
    }
  }
  return out;
}

}  // namespace support
