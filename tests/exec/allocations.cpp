// In a file of its own: where the compiler sees both sides of these functions it mistakes them for
// a mismatch.
#include "exec/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};
std::atomic<std::size_t> live{0};
std::atomic<std::size_t> most{0};
thread_local int left = -1;
thread_local std::size_t too_many = 0;

/// Counts a call; null where it is to fail.
void* allocate(std::size_t size) {
  ++count;
  if (left == 0 || (too_many > 0 && size >= too_many)) return nullptr;
  if (left > 0) --left;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  const std::size_t now = live += malloc_usable_size(memory);
  std::size_t before = most;
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return memory;
}

void release(void* memory) {
  live -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

std::size_t retile::test::allocations() { return count; }
std::size_t retile::test::allocated_bytes() { return live; }
std::size_t retile::test::most_allocated_bytes() { return most; }
void retile::test::forget_most_allocated() { most = live.load(); }
void retile::test::fail_after(int allowed) { left = allowed; }
void retile::test::fail_from(std::size_t bytes) { too_many = bytes; }

void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
