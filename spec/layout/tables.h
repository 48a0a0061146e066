/// Tables of devices: listed, or computed ("iota").
#pragma once

#include "../paper/notation.h"

namespace spec {

using Rows = std::vector<Sizes>;

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

}  // namespace spec
