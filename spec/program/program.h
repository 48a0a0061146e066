/// What a Program is: what each of D devices holds at the start, does, and must hold at the end.
///
/// Device numbers 0..D-1 are positions. Tables of devices are listed or computed ("iota").
/// Left out: the text (text.h) and what the steps mean (check.h).
#pragma once

#include "../paper/notation.h"

namespace spec {

using Rows = std::vector<Sizes>;

/// The digit (d div stride) mod size of a device number d.
struct Digit {
  Size stride = 1;
  Size size = 1;
};

/// Which box of the global array each device holds: all of one shape, placed by digits or a list.
struct Tiling {
  Sizes tile, global;
  std::vector<std::vector<Digit>> digits;  // per dimension, minor to major
  std::optional<Rows> at;                  // if present: row d is the base offset of device d
};

/// One stage of an iota: an array of this shape, read with new dimension k = old dimension T_k.
struct Stage {
  Sizes shape, stride;
  std::vector<Index> T;
};

/// Rows of numbers: listed, or an iota cut into `count` rows. A plain list is a table of one row.
struct Table {
  Rows listed;
  std::vector<Stage> stages;  // empty: listed
  Size count = 0, length = 0;
};

/// A step p. dynslice cuts along `split`, allgather joins along `concat`, alltoall does both. An
/// exchange is an allpermute of `transfers`: elements move whole, but not tiles.
struct Step {
  Op p = Op::allgather;
  Index split = 0, concat = 0;
  Table table;                    // groups, part or source, as the keys below and p decide
  std::optional<Size> parts;      // dynslice by part: the table is a row, the part of each device
  std::optional<Rows> pairs;      // allpermute by pairs: no table
  std::optional<Rows> transfers;  // exchange: [target, source, starts in both, extents]; no table
  std::optional<Sizes> tile;      // three claims: the shape of every tile,
  std::optional<Tiling> map;      // and where the tiles lie
  std::optional<Rows> at;
};

struct Program {
  Size devices = 0;
  Tiling from, to;
  std::vector<Step> steps;
};

inline Size row_count(const Table& table) {
  return table.stages.empty() ? static_cast<Size>(table.listed.size()) : table.count;
}

/// Element f of an iota: a stage reads what the one to its right gives, the last reads 0, 1, 2..
inline Size iota_element(const std::vector<Stage>& stages, Size f) {
  for (const Stage& stage : stages) {
    Size old = 0;
    for (Index k = stage.T.size(); k-- > 0;) {
      const Index T_k = stage.T[k];
      old += f % stage.shape[T_k] * stage.stride[T_k];
      f /= stage.shape[T_k];
    }
    f = old;
  }
  return f;
}

inline Sizes row(const Table& table, Size r) {
  if (table.stages.empty()) return table.listed[static_cast<Index>(r)];
  Sizes out(static_cast<Index>(table.length));
  for (Index q = 0; q < out.size(); ++q) {
    out[q] = iota_element(table.stages, r * table.length + static_cast<Size>(q));
  }
  return out;
}

/// The base offset of device d (Fig. 7a): a digit counts in units of what the ones before it cover.
inline Sizes base_offset(const Tiling& tiling, Size d) {
  if (tiling.at) return (*tiling.at)[static_cast<Index>(d)];
  Sizes out(tiling.tile.size(), 0);
  for (Index i = 0; i < out.size(); ++i) {
    Size c = tiling.tile[i];
    for (const Digit& x : tiling.digits[i]) {
      out[i] += c * (d / x.stride % x.size);
      c *= x.size;
    }
  }
  return out;
}

inline bool splits(const Step& step) { return step.p == Op::dynslice || step.p == Op::alltoall; }
inline bool joins(const Step& step) { return step.p == Op::allgather || step.p == Op::alltoall; }

/// n: the members of a group, or the parts; a tile that splits does so into n pieces.
inline Size pieces(const Step& step) {
  if (step.p == Op::allpermute) return 1;
  if (step.parts) return *step.parts;
  if (!step.table.stages.empty()) return step.table.length;
  return step.table.listed.empty() ? 0 : static_cast<Size>(step.table.listed.front().size());
}

/// The piece that a tile c gives to each member, or nullopt when n does not divide it.
inline std::optional<Sizes> piece(const Step& step, Sizes c) {
  if (!splits(step)) return c;
  const Size n = pieces(step);
  if (n == 0 || c[step.split] % n != 0) return std::nullopt;  // c_j mod n = 0
  c[step.split] /= n;                                         // c_j div n
  return c;
}

/// The tile that n pieces c make, or nullopt when it is too large. An exchange says what it makes.
inline std::optional<Sizes> joined(const Step& step, Sizes c) {
  if (!joins(step)) return step.transfers ? step.tile : c;
  const auto c_n = times(c[step.concat], pieces(step));
  if (!c_n) return std::nullopt;
  c[step.concat] = *c_n;  // c_i · n
  return c;
}

}  // namespace spec
