#include <cuda_runtime.h>

#include <cstdint>

#include "retile/exec/cuda/copy_kernels.h"

namespace retile::cuda {
namespace {

/// Where a unit lies. That it is memory of a device, no load or store has to find out.
template <typename Unit>
__device__ __forceinline__ Unit* unit_at(std::uint64_t address) {
  return static_cast<Unit*>(__cvta_global_to_generic(address));
}

/// Places of a group's boxes, source and target, shared by a block.
using Places = ulonglong2[most_group_boxes];

/// The portion's units from the source to the target: each thread has several loads under way
/// before it stores, neighbouring threads take neighbouring units.
template <typename Unit, std::uint32_t dims>
__device__ __forceinline__ void copy_flat_portion(const Group& group, const Places& places,
                                                  const Portion& portion) {
  constexpr std::uint32_t step = block_threads * units_at_once;
  Walk<dims> source(group, group.source_strides, portion.begin + threadIdx.x);
  Walk<dims> target(group, group.target_strides, portion.begin + threadIdx.x);
  for (std::uint32_t begin = portion.begin + threadIdx.x; begin < portion.end; begin += step) {
    Unit units[units_at_once];
#pragma unroll
    for (std::uint32_t k = 0; k < units_at_once; ++k) {
      if (begin + k * block_threads < portion.end) {
        units[k] = *unit_at<const Unit>(places[source.box()].x + source.distance());
      }
      source.next();
    }
#pragma unroll
    for (std::uint32_t k = 0; k < units_at_once; ++k) {
      if (begin + k * block_threads < portion.end) {
        *unit_at<Unit>(places[target.box()].y + target.distance()) = units[k];
      }
      target.next();
    }
  }
}

/// Of any number of dimensions.
template <typename Unit>
__device__ __forceinline__ void copy_deep_portion(const Group& group, const Places& places,
                                                  const Portion& portion) {
  for (std::uint32_t unit = portion.begin + threadIdx.x; unit < portion.end;
       unit += block_threads) {
    const Spot spot = spot_of(group, unit);
    const ulonglong2& place = places[spot.box];
    *unit_at<Unit>(place.y + spot.distance.target) =
        *unit_at<const Unit>(place.x + spot.distance.source);
  }
}

/// Where the number of dimensions is known the loops over them are unrolled, and all that a walk
/// has lies in registers.
template <typename Unit>
__device__ void copy_portion(const Group& group, const Places& places, const Portion& portion) {
  switch (group.dims) {
    case 2:
      return copy_flat_portion<Unit, 2>(group, places, portion);
    case 3:
      return copy_flat_portion<Unit, 3>(group, places, portion);
    case 4:
      return copy_flat_portion<Unit, 4>(group, places, portion);
    default:
      return copy_deep_portion<Unit>(group, places, portion);
  }
}

/// A block for each portion: who is done early gets another, and what is under way lies together.
__global__ void __launch_bounds__(block_threads) copy_boxes(const Batch batch) {
  __shared__ Places places;
  const Portion portion = portion_of(batch, blockIdx.x);
  const Group& group = batch.groups[portion.group];
  if (threadIdx.x < group.extents[Group::box_dim].divisor) {
    const Place& box = batch.boxes[group.first_box + threadIdx.x];
    places[threadIdx.x] = make_ulonglong2(box.source, box.target);
  }
  __syncthreads();
  switch (group.unit_bytes) {
    case 16:
      return copy_portion<uint4>(group, places, portion);
    case 8:
      return copy_portion<std::uint64_t>(group, places, portion);
    case 4:
      return copy_portion<std::uint32_t>(group, places, portion);
    case 2:
      return copy_portion<std::uint16_t>(group, places, portion);
    default:
      return copy_portion<std::uint8_t>(group, places, portion);
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

int find_kernels() {
  cudaFuncAttributes attributes{};
  return static_cast<int>(cudaFuncGetAttributes(&attributes, copy_boxes));
}

int launch_copy(const Batch& batch, void* stream) {
  copy_boxes<<<batch.portions, block_threads, 0, static_cast<cudaStream_t>(stream)>>>(batch);
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
