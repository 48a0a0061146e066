// A box of bytes from one place to another, both with strides. Plain stores, run by run.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "retile/core/size.h"

namespace retile::team {

/// Where the elements of a box lie: bytes from one index to the next, per dimension.
using Strides = std::span<const Size>;

/// memcpy, as a policy that tests can replace.
struct PlainStore {
  void operator()(std::byte* target, const std::byte* source, std::size_t bytes) const {
    std::memcpy(target, source, bytes);
  }
};

/// The dimensions that are left when the innermost ones have become one run.
template <typename Store>
struct BoxLoops {
  std::span<const Size> shape;
  Strides from, to;
  std::size_t run;
  const Store& store;

  void copy(std::size_t dimension, const std::byte* source, std::byte* target) const {
    if (dimension + 1 == shape.size()) {
      switch (run) {
        case 1:
          return runs<1>(source, target);
        case 2:
          return runs<2>(source, target);
        case 4:
          return runs<4>(source, target);
        case 8:
          return runs<8>(source, target);
        case 16:
          return runs<16>(source, target);
        default:
          return runs<0>(source, target);
      }
    }
    for (Size k = 0; k < shape[dimension]; ++k) {
      copy(dimension + 1, source + k * from[dimension], target + k * to[dimension]);
    }
  }

  /// The last dimension; a run of known length is a load and a store.
  template <std::size_t known>
  void runs(const std::byte* source, std::byte* target) const {
    const std::size_t last = shape.size() - 1;
    for (Size k = 0; k < shape[last]; ++k) {
      store(target + k * to[last], source + k * from[last], known == 0 ? run : known);
    }
  }
};

/// Copies the box of `shape` (extents >= 1) elements.
template <typename Store>
void copy_box(std::span<const Size> shape, Size element_bytes, const std::byte* source,
              Strides source_strides, std::byte* target, Strides target_strides,
              const Store& store) {
  Size run = element_bytes;
  std::size_t rank = shape.size();
  while (rank > 0 && (shape[rank - 1] == 1 ||
                      (source_strides[rank - 1] == run && target_strides[rank - 1] == run))) {
    run *= shape[--rank];
  }
  if (rank == 0) {
    store(target, source, static_cast<std::size_t>(run));
    return;
  }
  BoxLoops<Store>{shape.first(rank), source_strides, target_strides, static_cast<std::size_t>(run),
                  store}
      .copy(0, source, target);
}

}  // namespace retile::team
