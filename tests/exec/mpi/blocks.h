// Blocks of processes that are taken for nodes: put under the library at the one place where it asks
// MPI who shares memory.
#pragma once

#include "retile/core/size.h"

namespace retile::test {

/// While it lives, of the processes that share memory only those are told that they do which lie in
/// one block of so many (process / block); 0: all. The same on all processes.
class Blocks {
 public:
  explicit Blocks(Size block);
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();

 private:
  Size before_;
};

/// Whether MPI says that it cannot find out who shares memory. Never, unless a program has a function
/// of its own.
[[nodiscard]] bool split_type_fails();

}  // namespace retile::test
