#include <cuda_runtime.h>

#include <cstdint>

#include "retile/exec/cuda/copy_kernels.h"

namespace retile::cuda {
namespace {

/// The portion's units from the source to the target: each thread has several loads under way
/// before it stores, neighbouring threads take neighbouring units.
template <typename Unit>
__device__ __forceinline__ void copy_portion(const Box& box, std::uint32_t dims,
                                             const Portion& portion) {
  constexpr std::uint32_t step = block_threads * units_at_once;
  for (std::uint32_t begin = portion.begin + threadIdx.x; begin < portion.end; begin += step) {
    Unit units[units_at_once];
    std::uint64_t targets[units_at_once];
#pragma unroll
    for (std::uint32_t k = 0; k < units_at_once; ++k) {
      const std::uint32_t unit = begin + k * block_threads;
      if (unit >= portion.end) continue;
      const Place place = place_of(box, unit, dims);
      units[k] = *reinterpret_cast<const Unit*>(place.source);
      targets[k] = place.target;
    }
#pragma unroll
    for (std::uint32_t k = 0; k < units_at_once; ++k) {
      const std::uint32_t unit = begin + k * block_threads;
      if (unit < portion.end) *reinterpret_cast<Unit*>(targets[k]) = units[k];
    }
  }
}

/// Where the number of dimensions is known the loop over them is unrolled, and the box, a copy of
/// its own, lies in registers.
template <typename Unit, std::uint32_t dims>
__device__ void copy_flat_portion(const Box box, const Portion& portion) {
  copy_portion<Unit>(box, dims, portion);
}

template <typename Unit>
__device__ void copy_portion(const Box& box, const Portion& portion) {
  switch (box.dims) {
    case 1:
      return copy_flat_portion<Unit, 1>(box, portion);
    case 2:
      return copy_flat_portion<Unit, 2>(box, portion);
    case 3:
      return copy_flat_portion<Unit, 3>(box, portion);
    default:
      return copy_portion<Unit>(box, box.dims, portion);
  }
}

__global__ void __launch_bounds__(block_threads) copy_boxes(const Batch batch) {
  for (std::uint32_t number = blockIdx.x; number < batch.portions; number += gridDim.x) {
    const Portion portion = portion_of(batch, number);
    const Box& box = batch.boxes[portion.box];
    switch (box.unit_bytes) {
      case 16:
        copy_portion<uint4>(box, portion);
        break;
      case 8:
        copy_portion<std::uint64_t>(box, portion);
        break;
      case 4:
        copy_portion<std::uint32_t>(box, portion);
        break;
      case 2:
        copy_portion<std::uint16_t>(box, portion);
        break;
      default:
        copy_portion<std::uint8_t>(box, portion);
    }
  }
}

__device__ std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::int64_t element_step() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// An element of 8 bytes or less as a number, one of 16 as two.
template <typename Element>
__device__ PatternWords words_of(const Element& element) {
  return {static_cast<std::uint64_t>(element), 0};
}
template <>
__device__ PatternWords words_of(const ulonglong2& element) {
  return {element.x, element.y};
}

template <typename Element>
__device__ Element element_of(const PatternWords& words) {
  return static_cast<Element>(words.low);
}
template <>
__device__ ulonglong2 element_of(const PatternWords& words) {
  return make_ulonglong2(words.low, words.high);
}

template <typename Element>
__global__ void fill(const PatternTile tile, Element* memory) {
  for (std::int64_t i = first_element(); i < tile.elements; i += element_step()) {
    memory[i] = element_of<Element>(pattern_words(global_index(tile, i), sizeof(Element)));
  }
}

template <typename Element>
__global__ void find_mismatch(const PatternTile tile, const Element* memory,
                              unsigned long long* first) {
  for (std::int64_t i = first_element(); i < tile.elements; i += element_step()) {
    const PatternWords wanted = pattern_words(global_index(tile, i), sizeof(Element));
    const PatternWords there = words_of(memory[i]);
    if (there.low != wanted.low || there.high != wanted.high) {
      atomicMin(first, static_cast<unsigned long long>(i));
      return;  // later elements of this thread have larger numbers
    }
  }
}

/// Calls function(element), of the type whose size that is.
template <typename Function>
void of_element(std::uint32_t element_bytes, const Function& function) {
  switch (element_bytes) {
    case 16:
      return function(ulonglong2{});
    case 8:
      return function(std::uint64_t{});
    case 4:
      return function(std::uint32_t{});
    case 2:
      return function(std::uint16_t{});
    default:
      return function(std::uint8_t{});
  }
}

}  // namespace

int copy_blocks_per_multiprocessor(int* blocks) {
  return static_cast<int>(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, copy_boxes, block_threads, 0));
}

int launch_copy(const Batch& batch, unsigned blocks, void* stream) {
  copy_boxes<<<blocks, block_threads, 0, static_cast<cudaStream_t>(stream)>>>(batch);
  return static_cast<int>(cudaGetLastError());
}

int launch_fill(const PatternTile& tile, void* memory, unsigned blocks, void* stream) {
  of_element(tile.element_bytes, [&](auto element) {
    fill<<<blocks, block_threads, 0, static_cast<cudaStream_t>(stream)>>>(
        tile, static_cast<decltype(element)*>(memory));
  });
  return static_cast<int>(cudaGetLastError());
}

int launch_find_mismatch(const PatternTile& tile, const void* memory, std::uint64_t* first,
                         unsigned blocks, void* stream) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  of_element(tile.element_bytes, [&](auto element) {
    find_mismatch<<<blocks, block_threads, 0, static_cast<cudaStream_t>(stream)>>>(
        tile, static_cast<const decltype(element)*>(memory),
        reinterpret_cast<unsigned long long*>(first));
  });
  return static_cast<int>(cudaGetLastError());
}

}  // namespace retile::cuda
