// How many random cases a test draws.
#pragma once

namespace support {

/// Whether the sanitizers watch the rooms that a test calls.
#if defined(RETILE_SANITIZED)
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif

/// All of them, and fewer under AddressSanitizer, which takes several times as long for each and
/// looks at the accesses of the code, of which few cases make most: a sixth with
/// `scripts/test --all`, else one of 24.
template <typename Count>
[[nodiscard]] constexpr Count samples(Count all) {
#if defined(RETILE_FEW_SAMPLES)
  return all < 24 ? Count{1} : all / 24;
#else
  return instrumented ? all / 6 : all;
#endif
}

}  // namespace support
