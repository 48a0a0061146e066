// How many random cases a test draws.
#pragma once

namespace support {

/// Whether the sanitizers watch the rooms that a test calls.
#if defined(RETILE_SANITIZED)
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif

/// All of them, and a sixth under AddressSanitizer, which takes several times as long for each and
/// looks at the accesses of the code, of which few cases make most.
template <typename Count>
[[nodiscard]] constexpr Count samples(Count all) {
  return instrumented ? all / 6 : all;
}

}  // namespace support
