#include "retile/core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace retile::detail {

void assertion_failed(const char* condition, const char* file, int line, std::string_view facts) {
  // No formatting library here: whatever broke may be what it needs.
  std::fprintf(stderr, "retile: this should not happen: %s (%s:%d): ", condition, file, line);
  std::fwrite(facts.data(), 1, facts.size(), stderr);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace retile::detail
