// RETILE_ASSERT: our own mistakes end the process with the facts; a caller's mistakes are Results.
#pragma once

#include <string_view>

namespace retile::detail {

/// Prints the failed condition, its place and `facts` on stderr and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   std::string_view facts);

}  // namespace retile::detail

/// Aborts with `facts` (anything convertible to std::string_view) when `condition` is false. Always
/// on: a wrong plan that goes on running costs more than the test.
#define RETILE_ASSERT(condition, facts) \
  (static_cast<bool>(condition)         \
       ? static_cast<void>(0)           \
       : ::retile::detail::assertion_failed(#condition, __FILE__, __LINE__, (facts)))
