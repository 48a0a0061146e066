// Counting every `new` of a test program, so that a test can say that there was none.
#pragma once

#include <cstddef>

namespace retile::test {

/// Calls of operator new so far, of any kind, anywhere in the program.
std::size_t allocations();

}  // namespace retile::test
