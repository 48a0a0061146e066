// Counting every `new` of a test program, so that a test can say that there was none; and letting
// one fail.
#pragma once

#include <cstddef>

namespace retile::test {

/// Calls of operator new so far, of any kind, anywhere in the program.
std::size_t allocations();

/// Bytes that are allocated now by operator new, anywhere in the program, as malloc rounds them.
std::size_t allocated_bytes();
/// The most of them since the last call of forget_most_allocated().
std::size_t most_allocated_bytes();
void forget_most_allocated();

/// Lets this thread's operator new fail after `allowed` more calls; never with a negative number.
void fail_after(int allowed);

/// Lets this thread's operator new fail for so many bytes or more; never with 0.
void fail_from(std::size_t bytes);

}  // namespace retile::test
