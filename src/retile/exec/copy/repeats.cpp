#include "retile/exec/copy/repeats.h"

#include <cstddef>

#include "retile/core/walk.h"

namespace retile::copy {
namespace {

/// Whether b stands behind a in the same tiles, nowhere before it.
bool follows(const Transfer& a, const Transfer& b) {
  if (a.source != b.source || a.target != b.target || a.shape != b.shape) return false;
  bool from_on = false;
  bool to_on = false;
  for (std::size_t k = 0; k < a.shape.size(); ++k) {
    if (b.source_start[k] < a.source_start[k] || b.target_start[k] < a.target_start[k]) {
      return false;
    }
    from_on = from_on || b.source_start[k] > a.source_start[k];
    to_on = to_on || b.target_start[k] > a.target_start[k];
  }
  return from_on && to_on;
}

/// Whether b lies from a as d lies from c, in both tiles. Of tiles of fewer than 2^63 elements no
/// difference is too large.
bool same_step(const Transfer& a, const Transfer& b, const Transfer& c, const Transfer& d) {
  for (std::size_t k = 0; k < a.shape.size(); ++k) {
    if (b.source_start[k] - a.source_start[k] != d.source_start[k] - c.source_start[k] ||
        b.target_start[k] - a.target_start[k] != d.target_start[k] - c.target_start[k]) {
      return false;
    }
  }
  return true;
}

/// The longest row that begins here.
Repeats row_at(std::span<const Transfer* const> transfers) {
  Repeats out{.first = transfers[0], .last_row = transfers[0]};
  if (transfers.size() < 2 || !follows(*transfers[0], *transfers[1])) return out;
  out.next = transfers[1];
  std::size_t count = 2;
  while (count < transfers.size() && follows(*transfers[count - 1], *transfers[count]) &&
         same_step(*out.first, *out.next, *transfers[count - 1], *transfers[count])) {
    ++count;
  }
  out.inner = static_cast<Size>(count);
  return out;
}

/// Whether a row is one more of those.
bool continues(const Repeats& rows, const Repeats& row) {
  if (row.inner == 1 || row.inner != rows.inner || !follows(*rows.last_row, *row.first) ||
      !same_step(*rows.first, *rows.next, *row.first, *row.next)) {
    return false;
  }
  return rows.outer == 1 || same_step(*rows.first, *rows.next_row, *rows.last_row, *row.first);
}

}  // namespace

std::vector<Repeats> repeats_of(std::span<const Transfer* const> transfers) {
  std::vector<Repeats> out;
  while (!transfers.empty()) {
    const Repeats row = row_at(transfers);
    transfers = transfers.subspan(static_cast<std::size_t>(row.inner));
    if (out.empty() || !continues(out.back(), row)) {
      out.push_back(row);
      continue;
    }
    Repeats& rows = out.back();
    if (rows.outer == 1) rows.next_row = row.first;
    rows.last_row = row.first;
    ++rows.outer;
  }
  return out;
}

Size step_of(const Transfer& from, const Transfer& to, Shape Transfer::*start,
             const Shape& strides) {
  return offset_of(to.*start, strides) - offset_of(from.*start, strides);
}

Shape byte_strides(const Shape& tile, Size element_bytes) {
  Shape out = strides_of(tile);
  for (Size& stride : out) stride *= element_bytes;
  return out;
}

}  // namespace retile::copy
