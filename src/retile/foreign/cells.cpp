#include "retile/foreign/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "retile/core/assert.h"

namespace retile::foreign {
namespace {

/// One loop of a copy.
struct Loop {
  Size extent = 1;
  Size from = 0;
  Size to = 0;
};

/// The loops of a box, outermost first, as few as they can be.
std::vector<Loop> loops_of(const Piece& piece) {
  std::vector<Loop> out;
  for (std::size_t k = 0; k < piece.extents.size(); ++k) {
    const Loop loop{piece.extents[k], piece.from.strides[k], piece.to.strides[k]};
    if (loop.extent == 1) continue;
    if (!out.empty() && out.back().from == loop.from * loop.extent &&
        out.back().to == loop.to * loop.extent) {
      out.back() = {out.back().extent * loop.extent, loop.from, loop.to};
    } else {
      out.push_back(loop);
    }
  }
  if (out.empty()) out.push_back({.extent = 1, .from = 1, .to = 1});
  return out;
}

/// A cell as it is.
struct Kept {
  template <typename T>
  T operator()(T cell) const {
    return cell;
  }
};
/// A number that becomes a tag.
struct Tagged {
  Content content;
  Tag operator()(std::int64_t word) const { return tag_of(word, content); }
};

/// The innermost loop.
template <typename From, typename To, typename Change>
void copy_row(const From* from, To* to, const Loop& loop, const Change& change) {
  if constexpr (std::is_same_v<From, To>) {
    if (loop.from == 1 && loop.to == 1) {
      std::copy_n(from, loop.extent, to);
      return;
    }
  }
  for (Size k = 0; k < loop.extent; ++k) to[k * loop.to] = change(from[k * loop.from]);
}

template <typename From, typename To, typename Change>
void copy_box(const From* from, To* to, const std::vector<Loop>& loops, const Change& change) {
  const std::size_t outer = loops.size() - 1;
  std::vector<Size> at(outer, 0);
  while (true) {
    copy_row(from, to, loops.back(), change);
    std::size_t k = outer;
    while (k > 0) {
      --k;
      from += loops[k].from;
      to += loops[k].to;
      if (++at[k] < loops[k].extent) break;
      from -= loops[k].from * loops[k].extent;
      to -= loops[k].to * loops[k].extent;
      at[k] = 0;
      if (k == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace

void Budget::take(Size bytes) {
  if (bytes > most_ - used_) {
    throw LimitReached{
        fmt::format("the devices hold more than {} MiB of tags; a smaller array on the same mesh "
                    "takes fewer",
                    most_ / (Size{1} << 20))};
  }
  used_ += bytes;
}

Cells::Cells(Budget& budget, Content content, Size count, std::int64_t fill)
    : budget_(&budget), content_(content) {
  const Size each = are_tags() ? Size{sizeof(Tag)} : Size{sizeof(std::int64_t)};
  const auto bytes = checked_mul(count, each);
  if (!bytes) throw LimitReached{"a tile has too many elements"};
  budget.take(*bytes);
  bytes_ = *bytes;
  if (are_tags()) {
    of_.emplace<Tags>(static_cast<std::size_t>(count), static_cast<Tag>(fill));
  } else {
    of_.emplace<Numbers>(static_cast<std::size_t>(count), fill);
  }
}

Cells::~Cells() { budget_->give_back(bytes_); }

Shape strides_of(const Shape& extents) {
  Shape out(extents.size(), 1);
  for (std::size_t k = extents.size(); k-- > 1;) out[k - 1] = out[k] * extents[k];
  return out;
}

Size dot(const Shape& a, const Shape& b) {
  Size out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out += a[i] * b[i];
  return out;
}

Shape index_at(Size number, const Shape& extents) {
  Shape out(extents.size());
  for (std::size_t k = extents.size(); k-- > 0; number /= extents[k]) out[k] = number % extents[k];
  return out;
}

Lane lane_at(const Shape& start, const Shape& extents) {
  Lane out{.offset = 0, .strides = strides_of(extents)};
  for (std::size_t k = 0; k < start.size(); ++k) out.offset += start[k] * out.strides[k];
  return out;
}

void copy(const Piece& piece, Cells& target) {
  if (std::find(piece.extents.begin(), piece.extents.end(), 0) != piece.extents.end()) return;
  const std::vector<Loop> loops = loops_of(piece);
  if (!target.are_tags()) {
    copy_box(piece.source->numbers().data() + piece.from.offset,
             target.numbers().data() + piece.to.offset, loops, Kept{});
  } else if (piece.source->are_tags()) {
    copy_box(piece.source->tags().data() + piece.from.offset,
             target.tags().data() + piece.to.offset, loops, Kept{});
  } else {
    copy_box(piece.source->numbers().data() + piece.from.offset,
             target.tags().data() + piece.to.offset, loops, Tagged{piece.source->content()});
  }
}

}  // namespace retile::foreign
