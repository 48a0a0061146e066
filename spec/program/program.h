/// What a Program is: what each of D devices holds at the start, does, and must hold at the end.
///
/// Device numbers 0..D-1 are positions. Tables of devices are listed or computed ("iota").
/// Left out: the text (text.h) and what the steps mean (check.h).
#pragma once

#include "../layout/grids.h"

namespace spec {

/// Which box of the global array each device holds: all of one shape, placed by digits or a list.
struct Tiling {
  Sizes tile = {}, global = {};
  std::vector<std::vector<Digit>> digits = {};  // per dimension, minor to major
  std::optional<Rows> at = {};                  // if present: row d is the base offset of device d
  std::optional<Layout> layout = {};  // version 2: this and the global shape are all that is meant
};

/// The steps of version 2 that add, or make zeros.
enum class Adding { none, reducescatter, allreduce, unreduce, embed };

/// A step p, or one of `adding`. dynslice cuts along `split`, allgather joins along `concat`,
/// alltoall does both. An exchange is an allpermute of `transfers`: elements move whole, but not
/// tiles.
struct Step {
  Op p = Op::allgather;
  Adding adding = Adding::none;   // if another, p means nothing
  Addition add = Addition::none;  // how elements are added, also those of an exchange
  Index split = 0, concat = 0;
  Table table;                    // groups, part or source, as the keys below and p decide
  std::optional<Size> parts;      // dynslice by part: the table is a row, the part of each device
  std::optional<Rows> pairs;      // allpermute by pairs: no table
  std::optional<Rows> transfers;  // exchange: [target, source, starts in both, extents]; no table
  std::optional<Sizes> tile;      // three claims: the shape of every tile,
  std::optional<Tiling> map;      // and where the tiles lie
  std::optional<Rows> at;
  std::optional<Size> piece;   // version 2: the extent of the pieces that are cut,
  bool balanced = false;       // or their extents differ by one at most
  std::optional<Grid> grid;    // version 2: instead of split and concat
  std::optional<Rows> shapes;  // version 2: of an exchange the new shapes, else a claim beside `at`
};

struct Program {
  Size devices = 0;
  Tiling from, to;
  std::vector<Step> steps;
  Sizes names = {};  // if present, what the devices 0..D-1 are called
  Size version = 1;
  std::optional<Sizes> view =
      {};  // version 2: if present, steps are of the array written with these dimensions
};

/// The shape of the array as steps see it.
inline const Sizes& steps_shape(const Program& program) {
  return program.view ? *program.view : program.from.global;
}

/// Each device's source as a table of one row; of pairs t gets s's, who is no t keeps its own.
inline Table table_of(const Step& step, Size D) {
  if (!step.pairs) return step.table;
  Table out = {{Sizes(static_cast<Index>(D))}, {}, 0, 0};
  Sizes& P = out.listed.front();
  for (Index d = 0; d < P.size(); ++d) P[d] = static_cast<Size>(d);
  for (const Sizes& pair : *step.pairs) P[static_cast<Index>(pair[1])] = pair[0];
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

inline bool splits(const Step& step) {
  if (step.adding != Adding::none) return step.adding == Adding::reducescatter;
  return step.p == Op::dynslice || step.p == Op::alltoall;
}
inline bool joins(const Step& step) {
  return step.adding == Adding::none && (step.p == Op::allgather || step.p == Op::alltoall);
}

/// n: the members of a group, or the parts; a tile that splits does so into n pieces.
inline Size pieces(const Step& step) {
  if (step.p == Op::allpermute) return 1;
  if (step.parts) return *step.parts;
  if (!step.table.stages.empty()) return step.table.length;
  return step.table.listed.empty() ? 0 : static_cast<Size>(step.table.listed.front().size());
}

/// A table that cannot be used: a device that is missing or repeated, or none where rows differ in
/// length.
struct BadTable {
  std::optional<Size> device;
};

/// Groups hold every device once and are of one length; a permutation takes every device once.
inline std::optional<BadTable> bad_table(const Step& step, Size D) {
  if (step.parts || step.transfers) return std::nullopt;
  Sizes gives(static_cast<Index>(D), 0), gets(gives.size(), step.pairs ? 0 : 1);
  bool ragged = false;
  for (const Sizes& pair : step.pairs.value_or(Rows())) {
    ++gives[static_cast<Index>(pair[0])];
    ++gets[static_cast<Index>(pair[1])];
  }
  for (Size r = 0; !step.pairs && r < row_count(step.table); ++r) {
    const Sizes group = row(step.table, r);
    ragged = ragged || (r > 0 && static_cast<Size>(group.size()) != pieces(step));
    for (const Size d : group) ++gives[static_cast<Index>(d)];
  }
  for (Index d = 0; d < gives.size(); ++d) {
    if (gives[d] != gets[d] || gives[d] > 1) return BadTable{static_cast<Size>(d)};
  }
  return ragged ? std::optional(BadTable{}) : std::nullopt;
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
