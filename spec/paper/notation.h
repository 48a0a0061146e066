/// Sizes and labels: what all headers of this folder share.
///
/// Conventions (the paper's letters):
///   H        mesh, a list of axes                x, y, z   axis names       k, n  axis sizes
///   c{x̄}s    dimension: tile size c, axes x̄ minor to major, global size s
///   τ, σ, ē  types; e_i is dimension i           ī         a point of the index set |H|
///   p        collective                          D         devices, numbered from 0
///   β, φ, f  base offset map |H| → ℕ^r, device map |H| → D, tile map f = β ∘ φ⁻¹
/// A rule is a function that returns an optional; a premise is a line, with its formula beside it.
///
/// Left out: sizes of 2^63 and more. Products are checked; what does not fit has no value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spec {

using Size = std::int64_t;  // a number of elements, devices or positions; never negative
using Index = std::size_t;  // the number of a dimension
using Sizes = std::vector<Size>;
using Name = std::string;

/// The four labels p of Sec. 2.6.
enum class Op { allgather, dynslice, alltoall, allpermute };

/// a · b, or nullopt when it is not below 2^63.
inline std::optional<Size> times(Size a, Size b) {
  Size product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// ∏ sizes (1 for none), or nullopt when it is not below 2^63.
inline std::optional<Size> product(const Sizes& sizes) {
  std::optional<Size> out = 1;
  for (const Size size : sizes) out = out ? times(*out, size) : out;
  return out;
}

}  // namespace spec
