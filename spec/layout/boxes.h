/// Layouts: which box of the global array each device holds, where boxes need not be alike.
///
/// Devices stand at the positions of a mesh. The digits of its position give a device the number
/// of its tile in each dimension, and the cuts (cuts.h) say which indices that tile has. The box
/// is their product. Other spellings of a layout name one device, or list the boxes.
#pragma once

#include <memory>

#include "cuts.h"
#include "tables.h"

namespace spec {

/// The digit (p div stride) mod size of a number p.
struct Digit {
  Size stride = 1;
  Size size = 1;
};

/// How an array is given by several: as their sum, their maximum, their minimum, or as all of them.
enum class Addition { none, sum, max, min, stack };

/// C{x̄}n
struct LayoutDim {
  Cuts C;
  std::vector<Digit> xs;  // minor to major
  Size n = 1;
};

struct Layout {
  std::vector<LayoutDim> dims;
  Size positions = 0;                  // of the mesh, or without one as many as there are devices
  std::shared_ptr<const Table> order;  // if there: a row, the device at each position; else p is p
  std::optional<Size> root;            // if present: this device holds everything, and no other
  std::optional<Rows> at, shapes;  // if present: row d is where the box of device d begins, and its
                                   // extents; the dims say n alone
  Addition addition = Addition::none;
  std::vector<Digit> zs = {};  // with an addition: the digits of the number of a device's addend
};

/// For each dimension the indices that a device holds, ascending; an empty box has none in any. Of tiles that
/// are dealt out they need not follow one another.
using Box = std::vector<Sizes>;

/// A box takes one, and one more for each of its dimensions.
constexpr Size most_sides = Size{1} << 22;
constexpr TooLarge too_many_sides = {"more than 2^22 devices and sides of their boxes"};

/// t: the mixed-radix number of the digits x̄ of p, the first the fastest.
inline Size tile_number(const std::vector<Digit>& xs, Size p) {
  Size t = 0, unit = 1;
  for (const Digit& x : xs) {
    t += p / x.stride % x.size * unit;
    unit *= x.size;
  }
  return t;
}

/// N = ∏ k, or nullopt when it is not below 2^63.
inline std::optional<Size> tile_count(const std::vector<Digit>& xs) {
  Sizes k;
  for (const Digit& x : xs) k.push_back(x.size);
  return product(k);
}

/// Whether an index of chunks is in an earlier tile than one before it. Throws TooLarge above 2^28 indices.
inline bool falls(const Cuts& C, Size N, Size n) {
  if (C.L.empty()) return false;
  if (n > most_tags_in_all) throw too_many_tags;
  Size last = 0;
  for (Size i = 0; i < n; ++i) {
    const Size t = tile_of(C.L, C.t, N, i);
    if (t < last) return true;
    last = t;
  }
  return false;
}

/// Whether a dimension may give a tile several stretches of indices: dealt out in more than one round, in
/// sections, or by chunks whose tiles do not follow one another.
inline bool deals(const Layout& L) {
  return std::any_of(L.dims.begin(), L.dims.end(), [](const LayoutDim& dim) {
    const Size N = tile_count(dim.xs).value();
    const bool has_rounds = dim.C.mark == '@' && !covers(dim.C.c, N, dim.n);
    return N > 1 && (has_rounds || !dim.C.sections.empty() || falls(dim.C, N, dim.n));
  });
}

/// Sorted by stride, s·k divides the next s, and the last s·k divides P: no digit stands twice.
inline bool are_digits_of(Size P, std::vector<Digit> all) {
  const auto by_stride = [](const Digit& a, const Digit& b) { return a.stride < b.stride; };
  std::sort(all.begin(), all.end(), by_stride);
  all.push_back({P, 1});
  for (Index a = 0; a + 1 < all.size(); ++a) {
    const auto end = times(all[a].stride, all[a].size);
    if (!end || all[a + 1].stride % *end != 0) return false;
  }
  return true;
}

/// The indices from `begin` on, `extent` many.
inline Sizes range(Size begin, Size extent) {
  if (extent > most_tags_in_all) throw too_many_tags;
  Sizes out;
  for (Size i = 0; i < extent; ++i) out.push_back(begin + i);
  return out;
}

/// box(d) for every device d. Throws TooLarge above 2^22 sides or 2^28 indices.
inline std::vector<Box> boxes(const Layout& L, Size D) {
  const Index r = L.dims.size();
  const auto sides = times(D, static_cast<Size>(r) + 1);
  if (!sides || *sides > most_sides) throw too_many_sides;
  std::vector<Box> out(static_cast<Index>(D), Box(r));
  Size room = most_tags_in_all;
  const auto hold = [&](Size d, Box box) {
    const auto is_empty = [](const Sizes& side) { return side.empty(); };
    if (std::any_of(box.begin(), box.end(), is_empty)) return;  // all empty boxes are equal
    for (const Sizes& side : box) room -= static_cast<Size>(side.size());
    if (room < 0) throw too_many_tags;
    out[static_cast<Index>(d)] = std::move(box);
  };
  for (Index d = 0; L.at && d < out.size(); ++d) {
    Box box;
    for (Index i = 0; i < r; ++i) box.push_back(range((*L.at)[d][i], (*L.shapes)[d][i]));
    hold(static_cast<Size>(d), std::move(box));
  }
  if (L.root) {
    Box box;
    for (const LayoutDim& dim : L.dims) box.push_back(range(0, dim.n));
    hold(*L.root, std::move(box));
  }
  if (L.at || L.root) return out;
  std::vector<std::vector<Sizes>> by_number;
  for (const LayoutDim& dim : L.dims) {
    by_number.push_back(tiles(dim.C, tile_count(dim.xs).value(), dim.n));
  }
  const Sizes order = L.order ? row(*L.order, 0) : Sizes();
  for (Size p = 0; p < L.positions; ++p) {
    Box box;
    for (Index i = 0; i < r; ++i) {
      box.push_back(by_number[i][static_cast<Index>(tile_number(L.dims[i].xs, p))]);
    }
    hold(L.order ? order[static_cast<Index>(p)] : p, std::move(box));  // φ
  }
  return out;
}

}  // namespace spec
